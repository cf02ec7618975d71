"""Feedback by flatness: it undoes the model, its errors decay as its poles say, and its bounds."""
from controllers import driven
from laws_and_motions import LAWS, MOTOR
import numpy as np
import pytest
from rigid_bodies import one_body
from scipy.integrate import solve_ivp
from scipy.linalg import expm

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    LinearSpring,
    Rigid,
)
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.flatness_feedback import FlatnessFeedback


def arm(law, motor=MOTOR):
    return driven(hd.load_robot('twolink'), JointActuator(law, motor))


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
    still, motion = np.zeros((2, 5, 2))
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


GRAVITY, MASS, LEVER, INERTIA, ROTOR = 9.81, 2.0, 0.4, 0.5, 0.3


def spring(law, x):
    """Return force and stiffness of each tendon of a pendulum, as its law is written."""
    if isinstance(law, AntagonisticExponential):
        a, b = law.scale, law.rate
        return a * (np.exp(b * x) - 1.0), a * b * np.exp(b * x)
    return 0.5 * law.coefficient * x**2, law.coefficient * x


@pytest.mark.parametrize('law', [
    AntagonisticExponential(3.0, 8.0, 1200.0), AntagonisticQuadratic(4e3, 1200.0)])
def test_position_and_stiffness_of_a_pendulum_decay_as_the_poles_say(law):
    """Its equations are written here, and integrated by SciPy with the feedback in the loop."""
    pendulum = one_body(
        'revolute', MASS, [LEVER, 0.0, 0.0], np.array([0.1, INERTIA - MASS * LEVER**2, 0.1]),
        gravity=[0.0, 0.0, -GRAVITY])
    robot = driven(pendulum, JointActuator(law, Motor(ROTOR)))
    poles, of_stiffness = np.array([-9.0, -14.0, -7.0 + 5.0j, -7.0 - 5.0j]), [-12.0, -20.0]
    feedback = FlatnessFeedback(robot, poles, of_stiffness)

    def wanted(t):
        """Return q_d … q⁗_d, (5, 1), and σ_d, σ̇_d, σ̈_d, (3, 1)."""
        phase = np.arange(5) * np.pi / 2.0
        return (
            (0.3 * 2.0**np.arange(5) * np.sin(2.0 * t + phase))[:, np.newaxis],
            (150.0 * 3.0**np.arange(3) * np.cos(3.0 * t + phase[:3])
             + [1300.0, 0.0, 0.0])[:, np.newaxis])

    def springs(y):
        x = np.array([y[2] - y[0], y[0] - y[4]])
        rate = np.array([y[3] - y[1], y[1] - y[5]])
        return (*spring(law, x), rate)

    def slope(t, y):
        (pull, push), _, _ = springs(y)
        q, sigma = wanted(t)
        torque = feedback.motor_torque(
            q, y[:2, np.newaxis].copy(), np.array([y[[2, 4]], y[[3, 5]]]), sigma)
        weight = -MASS * GRAVITY * LEVER * np.cos(y[0])
        return np.array([
            y[1], (pull - push - weight) / INERTIA, y[3], (torque[0] - pull) / ROTOR,
            y[5], (torque[1] + push) / ROTOR])

    def errors(t, y):
        """Return e … e⃛ of the position, and the errors of σ and σ̇."""
        (pull, push), stiff, rate = springs(y)
        weight, change = MASS * GRAVITY * LEVER * np.array([-np.cos(y[0]), np.sin(y[0]) * y[1]])
        q, sigma = wanted(t)
        curvature = law.rate * stiff if isinstance(law, AntagonisticExponential) else (
            np.full(2, law.coefficient))
        position = [
            y[0], y[1], (pull - push - weight) / INERTIA,
            ((stiff[0] * rate[0] - stiff[1] * rate[1]) - change) / INERTIA]
        return (
            position - q[:4, 0], [stiff.sum(), (curvature * rate).sum()] - sigma[:2, 0])

    start = np.array([0.05, 0.1, 0.05 + 0.16, 0.0, 0.05 - 0.15, 0.2])
    times = np.linspace(0.0, 1.0, 41)
    run = solve_ivp(slope, (0.0, 1.0), start, 'DOP853', times, rtol=1e-10, atol=1e-11)
    assert run.success
    found = [errors(t, y) for t, y in zip(times, run.y.T, strict=True)]
    for k, roots in enumerate((poles, of_stiffness)):
        equation = np.eye(len(roots), k=1)
        equation[-1] = -np.real(np.poly(roots))[:0:-1]
        expected = np.array([expm(equation * t) @ found[0][k] for t in times])
        assert np.abs(expected[0, 0]) > (0.04, 50.0)[k]
        np.testing.assert_allclose(
            [each[k][0] for each in found], expected[:, 0],
            atol=1e-6 * np.abs(expected[:, 0]).max())


@pytest.mark.parametrize(('law', 'poles', 'words'), [
    (Rigid(), None, 'joint1.*has no spring'),
    (LinearSpring(800.0, damping=1.0), None, 'joint1.*has a damper'),
    *((LinearSpring(800.0), poles, 'poles') for poles in (
        -3.0, np.inf, [1.0, -1.0, -1.0, -1.0], [-1.0 + 1.0j] * 4, [-1.0] * 3)),
])
def test_joints_without_such_feedback_and_poles_that_are_none_are_named(law, poles, words):
    with pytest.raises(hd.HodynError, match=words):
        FlatnessFeedback(arm(law), *([] if poles is None else [poles]))


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
                r"pass (\w+) = np\.array\(\1, dtype=float, order='C'\)$")):
            call(q)
        call(np.array(q, dtype=float, order='C'))
