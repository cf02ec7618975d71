"""The elastic arm in MuJoCo against our dynamics, and the feed-forward that it must undo."""
from dataclasses import replace

from laws_and_motions import LAWS, MOTOR
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import fit_plan
from hodyn_ros.simulation.example_motion import home

pytest.importorskip('mujoco')
from hodyn_ros.simulation.elastic_arm import ElasticArm

STIFFNESS = np.array([1500.0, 1800.0, 1200.0, 1500.0, 900.0, 900.0, 900.0])
MIXED = [
    LAWS['linear'], LinearSpring(2000.0, 5.0), LAWS['hardening'], LAWS['variable'],
    LAWS['rigid'], LAWS['exponential'], LAWS['quadratic'],
]


def panda(*laws, motor=MOTOR):
    robot = hd.load_robot('panda')
    return replace(robot, actuators=Actuators(
        robot.joint_names, tuple(JointActuator(law, motor) for law in laws)))


def motion(robot, duration, reach=0.4):
    start = home(robot)
    return fit_plan([0.0, duration], np.array([start, start + reach * np.cos(range(robot.n))]))


@pytest.mark.slow
def test_forward_dynamics_of_the_feed_forward_is_the_plan():
    robot = panda(*MIXED)
    plan, feedforward = motion(robot, 0.5), FeedForward(robot)
    sigma = fit_plan([0.0, 0.3, 0.5], np.array([STIFFNESS, 1.2 * STIFFNESS, 0.9 * STIFFNESS]))
    errors = []
    for hold in (4e-4, 2e-4):
        arm = ElasticArm(robot, plan.ends[0])
        arm.reset(plan.ends[0], STIFFNESS)
        starts = hold * np.arange(round(plan.duration / hold))
        # From rest on, where dampers are relaxed.
        middles = np.concatenate([[0.0], starts + 0.5 * hold])
        q = plan.evaluate(middles)
        motors = feedforward.motor_side.along(
            middles, q, feedforward.torque(q), sigma.evaluate(middles)[:, :3])[1:]
        stiffness = sigma.evaluate(starts)[:, :3]
        error = 0.0
        for k, t in enumerate(starts):
            error = max(error, np.abs(arm.q - plan.evaluate(t)[0]).max())
            arm.step(motors[k, 3], hold, stiffness[k])
        errors.append(error)
    # Open loop, all that is left is torques held: a fourth of it with steps of half the length.
    assert errors[1] < 5e-7
    assert errors[1] < 0.3 * errors[0]


def test_the_springs_and_motors_of_mujoco_are_the_laws():
    import mujoco

    robot = panda(*[LinearSpring(1000.0, 3.0)] * 7, motor=Motor(0.4))
    arm = ElasticArm(robot, home(robot))
    model, data = arm.model, arm.data
    rng = np.random.default_rng(1)
    q, theta = rng.normal(size=(2, 7))
    rate = rng.normal(size=14)
    data.qpos[:] = np.concatenate([q, theta])
    data.qvel[:] = rate
    mujoco.mj_forward(model, data)
    force = 1000.0 * (theta - q) + 3.0 * (rate[7:] - rate[:7])
    assert np.abs(data.qfrc_passive - np.concatenate([force, -force])).max() < 1e-12 * 3000
    mass = np.zeros((14, 14))
    for column, unit in zip(mass.T, np.eye(14), strict=True):
        product = np.zeros(14)
        mujoco.mj_mulM(model, data, product, unit)
        column[:] = product
    assert np.allclose(mass[7:], np.hstack([np.zeros((7, 7)), 0.4 * np.eye(7)]), atol=1e-10)
    motions = np.zeros((8, 3, 7))
    motions[:, 0] = q
    motions[1:, 2] = np.eye(7)
    torque = hd.inverse_dynamics(robot, motions)[:, 0]
    assert np.abs(mass[:7, :7] - (torque[1:] - torque[0])).max() < 1e-13 * np.abs(mass).max()


@pytest.mark.parametrize('name', ['panda', 'iiwa14'])
@pytest.mark.filterwarnings('ignore:.*triangle inequality')
def test_the_arm_rests_where_it_is_put(name):
    robot = hd.load_robot(name)
    robot = replace(robot, actuators=Actuators(
        robot.joint_names, (JointActuator(LinearSpring(1000.0), Motor(0.4)),) * 7))
    rest = home(robot) + 0.3
    arm = ElasticArm(robot, rest)
    gravity = hd.inverse_dynamics(robot, np.array([rest, 0 * rest, 0 * rest]))[0]
    assert np.abs(arm.theta - rest - gravity / 1000.0).max() < 1e-15
    for _ in range(50):
        arm.step(gravity, 1e-3)
    # The inertias of the iiwa14 that MuJoCo accepts have the published masses and centres.
    assert np.abs(arm.q - rest).max() < 1e-12


def test_friction_of_links_takes_its_power():
    robot = panda(*[LAWS['rigid']] * 7, motor=Motor(0.1)).with_gravity([0, 0, 0])
    free, rough = (
        ElasticArm(one, home(robot)) for one in (replace(robot, friction=None), robot))
    power = []
    for arm in (free, rough):
        arm.qd[:] = 0.5
        arm.step(np.zeros(7), 1e-3)
        momentum = hd.inverse_dynamics(robot, np.array([arm.q, 0 * arm.q, arm.qd]))[0]
        power.append(0.5 * arm.qd @ (momentum + 0.1 * arm.qd))
    motion = np.zeros((4, 7))
    motion[1] = 0.5
    lost = 1e-3 * 0.5 * robot.friction.torque(motion)[0].sum()
    assert power[0] - power[1] == pytest.approx(lost, rel=0.02)


def test_what_cannot_be_simulated_is_named():
    with pytest.raises(ValueError, match="robot 'panda' has no actuators"):
        ElasticArm(hd.load_robot('panda'), np.zeros(7))
    weightless = panda(*[LAWS['linear']] * 7, motor=Motor(0.0))
    with pytest.raises(ValueError, match="motor 'joint1' has no inertia"):
        ElasticArm(weightless, home(weightless))
