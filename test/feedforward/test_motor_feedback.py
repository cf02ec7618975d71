"""Full-state feedback in the node: an elastic arm in MuJoCo closes the loop."""
from controllers import driven, limited
from elastic_worlds import BANDWIDTH, FADE, PERIOD, ElasticWorld, scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from laws_and_motions import LAWS
import numpy as np
import pytest
from scipy.linalg import expm

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.motor_feedback import MotorFeedback
from hodyn_ros.feedforward.settings import MotorFeedbackSettings
from hodyn_ros.feedforward.transitions import State

pytest.importorskip('mujoco')

POLES = 20.0


def arm(law='linear'):
    """Return an arm that its weight bends, with limits."""
    robot = limited(
        hd.load_robot('twolink'), velocity=3.0, acceleration=20.0, jerk=500.0, effort=80.0,
        effort_rate=2000.0)
    return driven(robot, JointActuator(LAWS[law], Motor(0.2)))


def acting(robot, *others, **options):
    """Return a world whose feedback acts with its whole share."""
    world = ElasticWorld(robot, *others, poles=POLES, **options)
    world.run(FADE + 0.6)
    assert world.feedback._share.published[0] == 1.0
    return world


def measured_error(world):
    """Return e … e⃛ of each link, (4, n), by forward dynamics of the arm's state."""
    torque, theta_rate = world.arm.spring_torque()[0], world.arm.theta_rate
    along = []
    for step in (-1e-6, 2e-6, -1e-6):  # of the arm along its velocities, there and back
        world.arm.q[:] += step * world.arm.qd
        world.arm._state[0, world.robot.n:] += step * theta_rate
        along.append(np.array(world.arm.spring_torque()[0]))
    rate = (along[1] - along[0]) / 2e-6
    state = np.array([world.arm.q, world.arm.qd])
    motion = hd.forward_dynamics(world.robot, state, np.array([torque, rate]))
    return np.vstack([state, motion]) - world.supervisor.controller.q[:4]


@pytest.mark.slow
@pytest.mark.parametrize('law', ['linear', 'hardening', 'exponential', 'quadratic'])
def test_an_error_of_the_arm_decays_as_the_poles_say(law):
    world = acting(arm(law), bound=200.0, period=2.5e-4)
    world.arm.qd[:] += [0.02, -0.03]
    start = measured_error(world)
    gains = np.poly([-POLES] * 4)[:0:-1]
    equation = np.vstack([np.eye(4)[1:], -gains])
    times = world.period * np.arange(1, 1601)
    expected = np.array([(expm(equation * t) @ start)[0] for t in times])
    found = world.run(0.4)
    assert np.abs(found - expected).max() < 0.03 * np.abs(expected).max()
    assert world.feedback.why == ''


def test_with_an_exact_model_nothing_is_corrected():
    world = acting(arm())
    world.follow(np.array([0.4, -0.3]), 1.0)
    assert np.abs(world.run(1.2)).max() < 1e-4
    assert 0.0 < np.abs(world.correction).max() < 1e-2


@pytest.mark.parametrize('by', [0.8, 1.2])
def test_a_wrong_stiffness_moves_the_arm_no_further_than_the_bound_allows(by):
    """The driver's motor loop carries at most the bound; without the feedback it carries none."""
    robot = arm()
    bound = 5.0
    world = acting(robot, scaled(robot, by), bound=bound, has_loop=True)
    world.follow(world.home + 0.3, 1.0)
    error = world.run(2.0)
    stiffness = BANDWIDTH**2 * robot.actuators.motors[:, 0]
    assert np.abs(world.correction).max() == bound
    assert 'is at its bound' in world.report[1]
    sag = 0.25 * np.abs(world.arm.spring_torque()[0]).max() / 1000.0
    assert np.abs(error).max() < 1.1 * (bound / stiffness).max() + sag


SENT = {
    'nothing': lambda arm, stamp: None,
    'not finite': lambda arm, stamp: (arm.theta * np.nan, arm.theta_rate, stamp),
    'infinite velocity': lambda arm, stamp: (arm.theta, arm.theta_rate + np.inf, stamp),
    'no velocity': lambda arm, stamp: (arm.theta, None, stamp),
    'late': lambda arm, stamp: (arm.theta, arm.theta_rate, stamp - 50_000_000),
    'ahead': lambda arm, stamp: (arm.theta, arm.theta_rate, stamp + 50_000_000),
    'of another clock': lambda arm, stamp: (arm.theta, arm.theta_rate, 1),
    'stopped': lambda arm, stamp: (arm.theta, arm.theta_rate, 1_000_000_000_000),
    'swapped': lambda arm, stamp: (arm.theta[::-1].copy(), arm.theta_rate[::-1].copy(), stamp),
    'frozen': lambda arm, stamp: (np.array([0.1, 0.2]), np.zeros(2), stamp),
    'of the rotor': lambda arm, stamp: (100.0 * arm.theta, 100.0 * arm.theta_rate, stamp),
    'huge': lambda arm, stamp: (arm.theta + 1e6, arm.theta_rate, stamp),
    'too few': lambda arm, stamp: (arm.theta[:1], arm.theta_rate[:1], stamp),
    'noisy': lambda arm, stamp: (
        arm.theta + 1e-2 * np.sin(stamp * 1e-3 + np.arange(2)), arm.theta_rate, stamp),
}


@pytest.mark.parametrize(('sent', 'words'), [
    ('nothing', 'no motor states come any more'), ('late', 'is 0.05 s older'),
    ('ahead', 'is 0.05 s newer'), ('not finite', 'its spring cannot give'),
    ('of the rotor', 'check units (link-side), zeros'),
    ('infinite velocity', 'its spring cannot give'), ('too few', 'theta has shape (1,)')])
def test_motor_states_that_cannot_be_used_fade_the_correction_out(sent, words):
    world = acting(arm(), has_loop=True)
    world.arm.qd[:] += 0.1
    world.run(0.02)
    assert world.correction.any()
    begin = np.abs(world.correction).max()
    world.run(0.1 * FADE, send=SENT[sent])
    assert np.abs(world.correction).max() > 0.3 * begin
    world.run(FADE + 0.3, send=SENT[sent])
    assert not world.correction.any()
    assert words in world.report[1]
    assert any(text.startswith('no motor feedback: ') for text in world.logged)
    world.run(FADE + 1.2)
    assert world.feedback.why == ''
    assert world.correction.any()
    assert world.report == ('holding', '')


@pytest.mark.parametrize(('send', 'words'), [
    (lambda kept: lambda arm, stamp: (*kept.setdefault('state', (
        arm.theta.copy(), arm.theta_rate.copy())), stamp), 'or do the motors not move?'),
    *(pytest.param(lambda kept, tick=tick: lambda arm, stamp: (
        arm.theta.copy(), 0.0 * arm.theta_rate, stamp - stamp % tick),
        'velocities of the motor states are 0 though their positions move', marks=marks)
      for tick, marks in ((1, pytest.mark.siege), (2_000_000, ())))])
def test_motor_states_that_contradict_the_motion_are_not_used(send, words):
    """With fresh stamps they drove the correction to its bound."""
    world = acting(arm(), has_loop=True, bound=5.0)
    world.follow(world.home + 1.0, 2.0)
    world.run(2.5, send=send({}))
    assert words in world.report[1]
    assert not world.correction.any()
    world.run(3.0)
    assert world.feedback.why == ''
    assert world.report == ('holding', '')


def test_motors_at_rest_are_no_motors_that_stand_still():
    """Encoders may repeat their values exactly, also once the arm is held elsewhere."""
    world = acting(arm(), has_loop=True)

    def coarse(arm, stamp):
        return np.round(arm.theta, 2), np.round(arm.theta_rate, 1) + 0.0, stamp

    world.follow(world.home + 0.3, 1.0)
    world.run(3.0, send=coarse)
    assert 'frozen' not in world.report[1]
    assert not any('frozen' in line for line in world.logged)


def test_velocities_of_before_a_gap_say_nothing_about_the_motion_in_it():
    """An encoder with a dead band was refused for ever when it came back at rest."""
    world = acting(arm(), has_loop=True)

    def at_rest(arm, stamp):
        return arm.theta.copy(), np.zeros(2), stamp

    world.run(0.2, send=at_rest)
    world.follow(world.home + 0.3, 1.0)
    world.run(2.0, send=SENT['nothing'])
    world.run(FADE + 0.6, send=at_rest)
    assert world.feedback.why == ''


def test_other_units_or_names_of_motors_at_rest_are_no_motion():
    """It was said that they had moved; the units were not asked about."""
    world = acting(arm(), has_loop=True)

    def at_rest(change):
        return lambda arm, stamp: (change(arm.theta).copy(), np.zeros(2), stamp)

    world.run(0.2, send=at_rest(lambda theta: theta))
    world.run(FADE + 0.6, send=at_rest(lambda theta: 100.0 * theta))
    assert 'check units (link-side), zeros and names' in world.feedback.why
    world.run(FADE + 0.6, send=at_rest(lambda theta: theta))
    assert world.feedback.why == ''
    world.run(0.01, send=at_rest(lambda theta: theta[::-1]))
    assert 'their positions move' not in world.feedback.why


def test_a_rejected_motor_state_is_the_reason_why_none_is_used():
    world = acting(arm(), has_loop=True)
    with pytest.raises(hd.HodynError, match='it has no stamp'):
        world.supervisor.take_motors(*np.zeros((2, 2)), 0, world.at)
    for _ in range(round(FADE / world.period)):
        world.supervisor.reject_motors('2 nodes publish it')
        world.cycle(send=SENT['nothing'])
    assert 'no motor feedback: motor states are rejected: 2 nodes publish it' in world.report[1]
    world.run(0.5, send=SENT['nothing'])
    assert 'no motor states come any more' in world.feedback.why
    world.run(FADE + 1.2)
    assert world.report == ('holding', '')


def test_a_lost_message_or_two_do_not_show():
    world = acting(arm(), bound=200.0)
    world.arm.qd[:] += 0.02
    world.run(0.05)
    for _ in range(3):
        world.run(0.003, send=SENT['nothing'])
        assert world.feedback.why == ''
        world.run(0.002)


@pytest.mark.parametrize('how', ['lost', 'hold', 'deactivated'])
def test_it_fades_out_whenever_the_reference_is_not_followed_or_held(how):
    world = acting(arm(), has_loop=True, bound=1.0)
    world.follow(world.home + 1.0, 2.0)
    world.run(1.0)
    world.arm.qd[:] += 0.3
    world.run(0.005)
    assert world.correction.any()
    if how == 'lost':
        world.run(4.0, has_states=False)
        assert world.supervisor.state is State.SILENT
    elif how == 'hold':
        world.both('hold', 'asked')
        world.run(0.02)
        assert world.report[0] == 'stopping'
        assert not world.feedback._is_used
        world.run(4.0)
        assert world.report[0] == 'holding'
        assert world.feedback._is_used
        return
    else:
        world.end()
    assert not world.correction.any()


def test_it_fades_out_while_an_external_wrench_acts():
    world = acting(arm(), has_loop=True)
    world.arm.qd[:] += 0.1
    world.run(0.02)
    world.both('take_wrench', 'link2', np.array([0.0, 0.0, 1.0, 0.0, 0.0, 0.0]), world.at)
    world.run(0.05)
    assert 'an external wrench acts' in world.report[1]
    assert not world.feedback._is_used
    world.run(1.0)
    assert world.feedback._is_used


def test_another_payload_is_the_feedbacks_too():
    world = acting(arm(), has_loop=True, bound=5.0)
    assert np.abs(world.correction).max() < 0.1
    loaded = FeedForward(world.robot.with_payload('link2', 0.5, (1.0, 0.0, 0.0), np.zeros((3, 3))))
    world.both('change_model', loaded)
    world.run(0.5)
    assert np.abs(world.correction).max() == 5.0  # the arm carries no payload


@pytest.mark.slow
@pytest.mark.parametrize('examples', [3, pytest.param(40, marks=pytest.mark.siege)])
def test_whatever_comes_in_the_correction_keeps_its_bounds_and_fades(examples):
    settings(max_examples=examples, deadline=None)(given(st.lists(st.tuples(
        st.sampled_from([*SENT, 'true', 'no states', 'move', 'hold', 'push']),
        st.integers(1, 120)), min_size=1, max_size=10))(keeps_its_bounds_and_fades))()


def keeps_its_bounds_and_fades(events):
    """Each cycle of the world checks bound, rate, and that the feed-forward is as without it."""
    world = acting(arm(), has_loop=True, bound=10.0)
    for what, cycles in events:
        if what == 'push':
            world.arm.qd[:] += 0.2
        if what == 'hold':
            world.both('hold', 'asked')
        if what == 'move' and world.supervisor.state is State.RUNNING:
            world.follow(world.home + 0.01 * cycles, 0.5)
        world.run(
            cycles * PERIOD, has_states=what != 'no states', **(
                {'send': SENT[what]} if what in SENT else {}))
    world.run(3.0)
    assert world.feedback.why == ''
    assert world.report[0] == 'holding'
    world.run(FADE + 0.6, send=SENT['nothing'])
    assert not world.correction.any()


@pytest.mark.parametrize(('robot', 'words'), [
    (arm('rigid'), "joint 'joint1' has no spring"), (hd.load_robot('twolink'), 'actuators')])
def test_a_robot_without_such_feedback_is_refused(robot, words):
    with pytest.raises(hd.HodynError, match=words):
        MotorFeedback(robot, MotorFeedbackSettings(POLES, np.ones(2), np.zeros((2, 2))), FADE)
