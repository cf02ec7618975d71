"""Feedback by flatness: it undoes the model, its errors decay as its poles say, and its bounds."""
from dataclasses import replace

from laws_and_motions import LAWS, MOTOR
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring, Rigid
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback


def arm(law, motor=MOTOR):
    robot = hd.load_robot('twolink')
    return replace(robot, actuators=Actuators(
        robot.joint_names, (JointActuator(law, motor), JointActuator(law, motor))))


def state_of(robot, q, stiffness):
    torque = FeedForward(robot).torque(q)
    motors = MotorSide(robot.actuators).evaluate(q, torque, stiffness)
    return q[:2].copy(), motors[:2].copy(), motors[3].copy()


@pytest.mark.parametrize('name', [name for name in LAWS if name != 'rigid'])
@pytest.mark.parametrize('seed', range(3))
def test_on_the_reference_it_is_the_feed_forward(name, seed):
    """For each law: the state gives q̈ and q⃛, and no error leaves the feed-forward alone."""
    robot = arm(LAWS[name])
    random = np.random.default_rng(seed)
    q = random.normal(size=(5, 2)) * [[0.5], [0.3], [0.3], [1.0], [5.0]]
    stiffness = robot.actuators.constant_stiffness().copy()
    if robot.actuators.variable.any():
        stiffness[0] *= 1.3
        stiffness[1:] = random.normal(size=(2, 2)) * [[50.0], [200.0]]
    links, motors, torque = state_of(robot, q, stiffness)
    feedback = FlatnessFeedback(robot, poles=40.0)
    found = feedback.motor_torque(q, links, motors, stiffness)
    assert feedback.motion[:4] == pytest.approx(q[:4], rel=1e-9, abs=1e-9)
    assert feedback.motion[4] == pytest.approx(q[4], abs=1e-14 * 40.0**4)  # round-off by k₀
    assert found == pytest.approx(torque, abs=1e-8 * np.abs(torque).max())
    assert not feedback.limited.any()


def test_an_error_decays_as_the_poles_say():
    """Integrated with the links' own q⁗, the error of each joint obeys its linear equation."""
    robot = arm(LinearSpring(800.0))
    poles = np.array([-10.0, -20.0, -8.0 + 6.0j, -8.0 - 6.0j])
    feedback = FlatnessFeedback(robot, poles=poles)
    still = np.zeros((5, 2))
    motion = np.zeros((5, 2))
    motion[:4] = np.random.default_rng(5).normal(size=(4, 2)) * [[0.1], [1.0], [5.0], [20.0]]
    links, motors, _ = state_of(robot, motion, robot.actuators.constant_stiffness())
    feedback.motor_torque(still, links, motors)
    equation = np.real(np.poly(poles))[::-1]  # of e, ė, ë, e⃛, e⁗
    assert equation @ feedback.motion == pytest.approx(0.0, abs=1e-7 * np.abs(motion).max() * 1e4)
    assert feedback.motion[4] == pytest.approx(-equation[:4] @ motion[:4], rel=1e-7)


def test_what_the_motors_cannot_is_cut_and_said():
    robot = arm(LinearSpring(800.0), Motor(0.4, max_effort=5.0))
    feedback = FlatnessFeedback(robot)
    far = np.zeros((5, 2))
    far[0] = 1.0
    links, motors, _ = state_of(robot, np.zeros((5, 2)), robot.actuators.constant_stiffness())
    torque = feedback.motor_torque(far, links, motors)
    assert np.abs(torque).max() == 5.0
    assert feedback.limited.any()


@pytest.mark.parametrize(('law', 'words'), [
    (Rigid(), 'has no spring'), (LinearSpring(800.0, damping=1.0), 'has a damper')])
def test_joints_without_such_feedback_are_named(law, words):
    with pytest.raises(hd.HodynError, match=f'joint1.*{words}'):
        FlatnessFeedback(arm(law))


@pytest.mark.parametrize('poles', [-3.0, [1.0, -1.0, -1.0, -1.0], [-1.0 + 1.0j] * 4, [-1.0] * 3])
def test_poles_that_are_none_are_refused(poles):
    with pytest.raises(hd.HodynError, match='poles'):
        FlatnessFeedback(arm(LinearSpring(800.0)), poles)


def test_a_state_that_is_none_says_so():
    feedback = FlatnessFeedback(arm(LinearSpring(800.0)))
    given = {
        'reference': np.zeros((5, 2)), 'q': np.zeros((2, 2)), 'theta': np.zeros((2, 2)),
        'stiffness': np.full((3, 2), 800.0)}
    feedback.motor_torque(**given)
    for name, value in given.items():
        with pytest.raises(hd.HodynError, match=rf'{name}\[0, 0\] is nan: not finite'):
            feedback.motor_torque(**given | {name: np.full_like(value, np.nan)})
    with pytest.raises(hd.HodynError, match='ahead is inf: not finite'):
        feedback.motor_torque(**given, ahead=np.inf)


READ_ONLY = np.zeros((5, 2))
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize('q', [
    READ_ONLY, np.zeros((5, 4))[:, ::2], np.zeros((2, 5)).T, np.zeros((5, 2)).tolist()])
def test_arrays_that_kernels_do_not_take_are_refused_with_what_does(q):
    robot = arm(LinearSpring(800.0))
    feedforward = FeedForward(robot)
    torque, wrenches = np.zeros((3, 2)), np.zeros((3, 2, 6))
    feedback, state = FlatnessFeedback(robot), np.zeros((2, 2))
    for call in (
            lambda q: feedforward.torque(q), lambda q: feedforward.torque(q, wrenches=wrenches),
            lambda q: feedforward.motor_side.evaluate(q, torque),
            lambda q: feedback.motor_torque(q, state, state)):
        with pytest.raises(TypeError, match=(
                r'must be a writeable, C-contiguous, aligned array of float64, got .*: '
                r"np\.array\(\w+, dtype=float, order='C'\) makes one")):
            call(q)
        call(np.array(q, dtype=float, order='C'))
