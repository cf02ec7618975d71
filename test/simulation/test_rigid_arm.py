"""The simulated arm against our model: agreement of two codes that share nothing."""
from contextlib import nullcontext
from dataclasses import replace
import sys
import warnings

import numpy as np
import pytest
from rigid_bodies import one_body

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring, Rigid
from hodyn_ros.actuators.motors import Motor

pytest.importorskip('mujoco')
from hodyn_ros.simulation.elastic_arm import ElasticArm
from hodyn_ros.simulation.rigid_arm import SimulatedArm


def load(name):
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        return hd.load_robot(name)


def prismatic_arm():
    """A revolute joint off its frame's origin, then a slide along a slanted axis."""
    turned = [[0.6, -0.8, 0, 0.3], [0.8, 0.6, 0, -0.1], [0, 0, 1, 0.2], [0, 0, 0, 1]]
    inertia = [[0.02, 0.001, 0], [0.001, 0.03, -0.002], [0, -0.002, 0.025]]
    return hd.load_robot({
        'name': 'rp', 'bodies': [
            {'name': 'a', 'parent': -1, 'type': 'revolute', 'placement': turned,
             'axis': [0, 0.6, 0.8], 'point': [0.1, 0.2, -0.1], 'mass': 2.0,
             'com': [0.1, 0, 0.05], 'inertia': inertia},
            {'name': 'b', 'parent': 0, 'type': 'prismatic', 'placement': turned,
             'axis': [0.8, 0, 0.6], 'mass': 1.0, 'com': [0, 0.1, 0.05], 'inertia': inertia},
        ]})


def without_last_mass(rotors):
    """Return an arm whose last link has no mass, with the inertias of its rotors."""
    robot = hd.load_robot('twolink')
    nothing = replace(robot.bodies[-1], mass=0.0, inertia=np.zeros((3, 3)))
    return replace(robot, bodies=(*robot.bodies[:-1], nothing), rotor_inertia=rotors)


def our_mass_matrix(robot, q):
    motions = np.zeros((robot.n + 1, 3, robot.n))
    motions[:, 0] = q
    motions[1:, 2] = np.eye(robot.n)
    torque = hd.inverse_dynamics(robot, motions)[:, 0]
    return torque[1:] - torque[0]


@pytest.mark.parametrize(('name', 'tolerance'), [
    # The nearest inertias that MuJoCo accepts are not quite the published ones of the iiwa14.
    ('panda', 1e-13), ('fr3', 1e-13), ('iiwa14', 1e-4), ('ur10e', 1e-13),
    ('twolink', 1e-11), ('rp', 1e-13)])
def test_mass_matrix_and_bias_are_those_of_the_model(name, tolerance):
    robot = prismatic_arm() if name == 'rp' else load(name)
    arm = SimulatedArm(robot, np.zeros(robot.n))
    rng = np.random.default_rng(1)
    for _ in range(5):
        arm.q[:] = rng.uniform(-2, 2, robot.n)
        arm.qd[:] = rng.uniform(-2, 2, robot.n)
        mass = our_mass_matrix(robot, arm.q)
        bias = hd.inverse_dynamics(robot, np.array([arm.q, arm.qd, np.zeros(robot.n)]))[0]
        assert np.abs(arm.mass_matrix() - mass).max() < tolerance * np.abs(mass).max()
        assert np.abs(arm.bias_torque() - bias).max() < tolerance * np.abs(bias).max()


def test_gravity_torque_holds_the_arm():
    robot = load('panda')
    rest = np.array([0.3, 0.5, -0.2, -1.5, 0.1, 1.8, 0.4])
    arm = SimulatedArm(robot, rest)
    gravity = hd.inverse_dynamics(robot, np.array([rest, 0 * rest, 0 * rest]))[0]
    for _ in range(100):
        arm.step(gravity, 1e-3)
    assert np.abs(arm.q - rest).max() < 1e-12
    arm.step(np.zeros(7), 1e-3)
    assert np.abs(arm.qd).max() > 1e-3


def test_joint_that_mujoco_lacks_is_named():
    with pytest.raises(ValueError, match=r"joint 'jbody' is helical"):
        SimulatedArm(one_body('helical', pitch=0.01), np.zeros(1))


@pytest.mark.parametrize('rotors', [None, np.array([0.1, 0.0])])
def test_joint_that_moves_no_mass_is_named(rotors):
    robot = without_last_mass(rotors)
    with pytest.raises(ValueError, match=rf'{robot.joint_names[-1]}.* the simulation needs a'):
        SimulatedArm(robot, np.zeros(robot.n))
    moved = without_last_mass(np.array([0.0, 0.1]))
    arm = SimulatedArm(moved, np.zeros(moved.n))
    arm.step(np.zeros(moved.n), 1e-2)
    assert np.isfinite(arm.q).all()


@pytest.mark.parametrize(('law', 'is_named'), [
    (LinearSpring(1000.0), True), (Rigid(), False)])
def test_behind_a_spring_a_joint_needs_a_mass(law, is_named):
    robot = without_last_mass(None)
    robot = replace(robot, actuators=Actuators(
        robot.joint_names, (JointActuator(law, Motor(0.1)),) * robot.n))
    with (pytest.raises(ValueError, match=r'joint2.* the simulation needs a') if is_named
          else nullcontext()):
        ElasticArm(robot, np.zeros(robot.n)).step(np.zeros(robot.n), 1e-2)


def test_without_mujoco_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, 'mujoco', None)
    with pytest.raises(ImportError, match=r"pip install 'hodyn_ros\[sim\]'"):
        SimulatedArm(load('panda'), np.zeros(7))
