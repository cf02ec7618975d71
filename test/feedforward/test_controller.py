from dataclasses import replace
import re
from unittest.mock import Mock

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.special import gammainc

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import AntagonisticExponential, Rigid
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import (
    ControllerSettings,
    FeedforwardController,
    _still,
)
from hodyn_ros.feedforward.settings import SupervisorSettings
from hodyn_ros.feedforward.supervisor import Supervisor
from hodyn_ros.feedforward.torque_output import is_finite
from hodyn_ros.feedforward.warm_up import warm_up
from hodyn_ros.messages.joint_states import JointStateReader, JointStateWriter
from hodyn_ros.reference import fit_plan
from hodyn_ros.reference.smoothing import SmoothingFilter
from hodyn_ros.robot.joint_names import JointNames

MS = 1_000_000
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
STEP = MS


@pytest.fixture(scope='module')
def panda():
    return hd.load_robot('panda')


@pytest.fixture(scope='module')
def feedforward(panda):
    return FeedForward(panda)


def controller_at_home(feedforward, **options):
    return FeedforwardController(feedforward, HOME, 0, ControllerSettings(**options))


def plan_to(controller, goal, seconds, start):
    return fit_plan([seconds], [goal], start=controller.reference.state_at(start))


def run(controller, first, last, step=STEP, measured=None):
    """Evaluate from first to last (ns); return the references (T, 5, n) and outputs (T, 3, n)."""
    q, output = [], []
    for now in range(first, last, step):
        controller.evaluate(now, measured)
        q.append(controller.q.copy())
        output.append(controller.output.copy())
    return np.array(q), np.array(output)


def assert_is_its_own_integral(values, dt, tolerance):
    """Each row is the derivative of the one above, between all samples: so there is no step."""
    for k in range(values.shape[1] - 1):
        change = np.diff(values[:, k], axis=0)
        mean = 0.5 * (values[1:, k + 1] + values[:-1, k + 1]) * dt
        scale = max(1.0, np.abs(values[:, k]).max())
        assert np.abs(change - mean).max() <= tolerance * scale, f'order {k}'


def test_it_holds_then_follows_then_holds(feedforward):
    controller = controller_at_home(feedforward)
    goal = HOME + 0.2
    controller.reference.follow(plan_to(controller, goal, 1.0, 200 * MS), 200 * MS)
    for now, mode in ((0, 'holding'), (200 * MS, 'following'), (1200 * MS, 'holding')):
        controller.evaluate(now)
        assert controller.reference.mode(now) == mode
        np.testing.assert_array_equal(controller.torque, feedforward.torque(controller.q))
    np.testing.assert_allclose(controller.q[0], goal, rtol=0, atol=1e-12)


def test_an_earlier_plan_replaces_a_waiting_one_and_a_later_one_does_not(feedforward):
    controller = controller_at_home(feedforward)
    first = plan_to(controller, HOME + 0.3, 1.0, 0)
    controller.reference.follow(first, 0)
    turn = 400 * MS
    second = plan_to(controller, HOME - 0.2, 1.0, turn)
    controller.reference.follow(second, turn)
    for now in (0, 200 * MS, turn - 1, turn, turn + 500 * MS, turn + 2000 * MS):
        controller.evaluate(now)
        plan, start = (first, 0) if now < turn else (second, turn)
        np.testing.assert_array_equal(controller.q, plan.evaluate((now - start) * 1e-9))


@pytest.mark.parametrize('disturbance', ['plan', 'stop'])
def test_nothing_steps_whatever_interrupts_a_motion(feedforward, disturbance):
    controller = controller_at_home(feedforward)
    controller.reference.follow(plan_to(controller, HOME + 0.4, 1.5, 0), 0)
    q, output = run(controller, 0, 700 * MS)
    now = 700 * MS - STEP
    if disturbance == 'plan':
        controller.reference.follow(plan_to(controller, HOME - 0.3, 1.5, now), now)
    else:
        controller.stop(now)
    later_q, later_output = run(controller, now, now + 2500 * MS)
    for k in range(5):
        assert np.abs(later_q[0, k] - q[-1, k]).max() <= 1e-9 * max(1, np.abs(q[:, k]).max())
    for k in range(3):
        assert np.abs(later_output[0, k] - output[-1, k]).max() <= (
            1e-9 * max(1, np.abs(output[:, k]).max()))
    assert_is_its_own_integral(np.concatenate([q, later_q[1:]])[:, :4], 1e-3, 1e-2)
    assert np.abs(later_q[-1, 1]).max() < 1e-6
    assert controller.reference.mode(now + 2500 * MS) in ('holding', 'streaming')


@pytest.mark.slow
def test_a_thousand_plans_replaced_in_mid_motion_leave_no_step(feedforward):
    rng = np.random.default_rng(7)
    controller = controller_at_home(feedforward)
    now = 0
    for _ in range(1000):
        controller.evaluate(now)
        before = controller.q.copy(), controller.output.copy()
        goal = HOME + rng.uniform(-0.4, 0.4, 7)
        controller.reference.follow(plan_to(controller, goal, rng.uniform(0.3, 2.0), now), now)
        controller.evaluate(now)
        for old, new in zip(before, (controller.q, controller.output), strict=True):
            scale = np.maximum(1.0, np.abs(old).max(axis=1, keepdims=True))
            assert np.abs((new - old) / scale).max() <= 1e-9
        now += int(rng.integers(1, 500)) * MS
    assert now > 100_000 * MS


def test_without_gravity_the_output_fades_in_from_zero_and_back_to_it(feedforward):
    controller = controller_at_home(feedforward, gravity_in_output=False, fade=0.4)
    controller.reference.follow(plan_to(controller, HOME + 0.3, 0.8, 0), 0)
    _, output = run(controller, 0, 700 * MS)
    assert np.array_equal(output[0], np.zeros((3, 7)))
    controller.stop(700 * MS)
    assert controller.reference.mode(700 * MS) == 'stopping'
    _, stopping = run(controller, 700 * MS, 1500 * MS)
    limits = feedforward.robot.limits
    assert (np.abs(stopping[:, 1]) <= limits.effort_rate).all()
    controller.set_external_wrench(6, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0]))
    _, pushed = run(controller, 1500 * MS, 1800 * MS)
    controller.drop_wrenches()
    assert controller.is_fading
    _, leaving = run(controller, 1800 * MS, 2800 * MS)
    assert not controller.is_fading
    assert np.array_equal(leaving[-1], np.zeros((3, 7)))
    assert_is_its_own_integral(np.concatenate([output, stopping, pushed, leaving]), 1e-3, 3e-2)


def test_a_wrench_that_is_given_up_leaves_the_weight_and_never_nothing(feedforward):
    controller = controller_at_home(feedforward, fade=0.3)
    controller.set_external_wrench(6, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0]))
    run(controller, 0, 1000 * MS)
    weight = np.zeros((5, 7))
    weight[0] = HOME
    weight = feedforward.torque(weight)
    assert np.abs(controller.output[0] - weight[0]).max() > 1.0
    controller.drop_wrenches()
    run(controller, 1000 * MS, 1300 * MS)
    assert controller.is_fading
    run(controller, 1300 * MS, 1800 * MS)
    assert not controller.is_fading
    np.testing.assert_allclose(controller.output, weight, rtol=0, atol=1e-9)
    assert np.abs(controller.output[0]).max() > 10.0


def test_a_model_without_a_number_is_not_published_and_what_was_goes_on(feedforward, panda):
    """The torque that was comes to rest; when there are numbers again it goes over to them."""
    controller = controller_at_home(feedforward)
    controller.reference.follow(plan_to(controller, HOME + 0.4, 0.8, 0), 0)
    outputs = [run(controller, 0, 300 * MS)[1]]
    good = controller._feedforward
    controller._feedforward = FeedForward(panda.with_gravity((0.0, 0.0, -1e308)))
    outputs.append(run(controller, 300 * MS, 600 * MS)[1])
    assert controller.may_be_published
    assert not np.isfinite(controller.excess.value)
    # What its rate took it on by comes back over `fade`.
    assert np.abs(controller.output[1]).max() < 1.0
    controller._feedforward = good
    outputs.append(run(controller, 600 * MS, 1800 * MS)[1])
    assert controller.excess is None
    assert_is_its_own_integral(np.concatenate(outputs), 1e-3, 1e-2)
    np.testing.assert_array_equal(controller.output, feedforward.torque(controller.q))


@pytest.mark.parametrize('row', range(4))
@pytest.mark.parametrize('where', ['reference', 'motors'])
def test_numbers_that_are_none_are_not_published_wherever_they_come_from(
        tendons, monkeypatch, where, row):
    controller = controller_at_home(tendons)
    controller.evaluate(0)
    assert controller.may_be_published
    part = controller.reference if where == 'reference' else controller.motors.side
    true = part.evaluate

    def wrong(*arguments, **options):
        result = true(*arguments, **options)
        (arguments[1] if where == 'reference' else result)[row, 2] = np.nan
        return result

    with monkeypatch.context() as patched:
        patched.setattr(part, 'evaluate', wrong)
        controller.evaluate(MS)
        assert not controller.may_be_published
        assert is_finite(controller.output)
    controller.evaluate(2 * MS)
    assert controller.may_be_published
    assert is_finite(controller.q)
    assert is_finite(controller.motors.reference)


def test_a_robot_whose_torques_are_not_finite_is_refused_when_it_warms_up(panda):
    with pytest.raises(hd.HodynError, match='torques at zero position are not finite'):
        warm_up(FeedForward(panda.with_gravity((0.0, 0.0, -1e308))), ControllerSettings())


def test_a_payload_is_taken_without_a_step(feedforward, panda):
    controller = controller_at_home(feedforward, fade=0.3)
    controller.reference.follow(plan_to(controller, HOME + 0.3, 1.5, 0), 0)
    _, before = run(controller, 0, 500 * MS)
    loaded = FeedForward(panda.with_payload('link7', 2.0, [0.0, 0.0, 0.1]))
    controller.replace(loaded)
    _, after = run(controller, 500 * MS, 1800 * MS)
    assert_is_its_own_integral(np.concatenate([before, after]), 1e-3, 1e-2)
    np.testing.assert_array_equal(controller.output, loaded.torque(controller.q))


def test_payloads_that_follow_each_other_while_one_fades_in_leave_no_step(feedforward, panda):
    controller = controller_at_home(feedforward, fade=0.3)
    outputs = [run(controller, 0, 500 * MS)[1]]
    for k, mass in enumerate((3.0, 0.5, 2.0)):
        loaded = FeedForward(panda.with_payload('link7', mass, [0.0, 0.0, 0.1]))
        now = (500 + 100 * k) * MS
        controller.replace(loaded)
        outputs.append(run(controller, now, now + 100 * MS)[1])
    outputs.append(run(controller, 800 * MS, 1500 * MS)[1])
    assert_is_its_own_integral(np.concatenate(outputs), 1e-3, 1e-2)
    np.testing.assert_array_equal(controller.output, loaded.torque(controller.q))


@pytest.mark.parametrize('mass', [120.0, 1000.0])
def test_a_payload_that_the_arm_cannot_hold_is_refused_and_changes_nothing(feedforward, mass):
    """A slip of the decimal point: 12 kg would be held, 120 threw the arm upwards."""
    controller = controller_at_home(feedforward)
    run(controller, 0, 600 * MS)
    before = controller.output.copy()
    loaded = FeedForward(feedforward.robot.with_payload('link7', mass, [0.0, 0.0, 0.05]))
    with pytest.raises(ValueError, match=r'the weight takes .* of joint\d'):
        controller.replace(loaded)
    run(controller, 600 * MS, 1200 * MS)
    np.testing.assert_array_equal(controller.output, before)
    assert not controller.is_fading


@pytest.mark.parametrize('rate', [0.0, 0.1])
def test_a_payload_that_would_fade_in_for_minutes_is_refused(panda, rate):
    limits = replace(panda.limits, effort_rate=np.full(7, rate))
    robot = replace(panda, limits=limits)
    controller = controller_at_home(FeedForward(robot))
    controller.replace(FeedForward(robot))
    with pytest.raises(ValueError, match=r'of joint\d, which would take longer than 60 s'):
        controller.replace(FeedForward(robot.with_payload('link7', 3.0, [0.0, 0.0, 0.1])))


def test_a_weight_that_the_arm_cannot_hold_is_named(feedforward):
    assert not controller_at_home(feedforward).excess_of_weight
    loaded = FeedForward(feedforward.robot.with_payload('link7', 30.0, [0.0, 0.0, 0.05]))
    said = controller_at_home(loaded).excess_of_weight
    assert re.fullmatch('the weight takes .* of joint6, beyond its effort limit of 12: .*', said)
    assert not controller_at_home(loaded, limit_margin=2.0).excess_of_weight


def test_what_is_too_heavy_already_may_become_lighter(feedforward):
    """Whoever is in trouble may get out of it."""
    loads = [
        feedforward.robot.with_payload('link7', mass, [0.0, 0.0, 0.05]) for mass in (30.0, 20.0)]
    controller = controller_at_home(FeedForward(loads[0]))
    controller.evaluate(0)
    before = controller.excess.value
    controller.replace(FeedForward(loads[1]))
    run(controller, 0, 1500 * MS)
    assert abs(controller.excess.value) < 0.9 * abs(before)
    limits = feedforward.robot.limits
    assert (np.abs(controller.output[0]) <= 1.05 * limits.effort).all()
    wanted = FeedForward(loads[1]).torque(controller.q)
    kept = np.abs(wanted[0]) < limits.effort
    assert 0 < kept.sum() < 7
    np.testing.assert_array_equal(controller.output[:, kept], wanted[:, kept])


@settings(max_examples=20)
@given(
    masses=st.lists(st.floats(0.0, 7.0), min_size=1, max_size=4), share=st.floats(0.05, 1.0),
    fade=st.floats(0.2, 1.0), apart=st.integers(1, 600))
def test_payloads_fade_in_within_half_the_effort_rate_limits(panda, masses, share, fade, apart):
    """One after the other, however soon they come; the other half is the motion's."""
    rate = panda.limits.effort_rate * share
    robot = replace(panda, limits=replace(panda.limits, effort_rate=rate))
    controller = controller_at_home(FeedForward(robot), fade=fade)
    run(controller, 0, 1100 * MS)
    largest, now = np.zeros(7), 1100 * MS
    for mass in masses:
        loaded = FeedForward(robot.with_payload('link7', mass, [0.0, 0.0, 0.1]))
        controller.replace(loaded)
        for _ in range(apart // 5 + 1):
            controller.evaluate(now := now + 5 * MS)
            largest = np.maximum(largest, np.abs(controller.output[1]))
    while controller.is_fading:
        controller.evaluate(now := now + 5 * MS)
        largest = np.maximum(largest, np.abs(controller.output[1]))
    np.testing.assert_allclose(controller.output, loaded.torque(controller.q), atol=1e-9)
    assert np.all(largest <= 0.5 * rate * (1.0 + 1e-9))


def test_a_load_that_relieves_one_joint_must_not_break_another(feedforward):
    """The worst joint becomes better, another passes its limit."""
    panda = feedforward.robot
    heavy = panda.with_payload('link5', 60.0, [0.0, 0.0, 0.0])
    controller = controller_at_home(FeedForward(heavy))
    assert 'joint4' in controller.excess_of_weight
    other = FeedForward(panda.with_payload('link7', 16.0, [0.0, 0.0, 0.1]))
    with pytest.raises(ValueError, match='of joint6, beyond'):
        controller.replace(other)


def test_a_stream_begins_and_ends_without_a_step_within_effort_limits(feedforward):
    controller = controller_at_home(feedforward)
    _, before = run(controller, 0, 600 * MS)
    controller.stream(600 * MS, HOME + np.array([1.0, 0.5, -1, 0.5, 1, 0.5, 1]), None, 700 * MS)
    q, output = run(controller, 600 * MS, 1000 * MS)
    controller.stop(1000 * MS)
    later_q, later = run(controller, 1000 * MS, 2500 * MS)
    assert_is_its_own_integral(np.concatenate([before, output, later]), 1e-3, 1e-2)
    limits = feedforward.robot.limits
    moved = np.concatenate([q, later_q])
    for k, most in ((1, limits.velocity), (2, limits.acceleration), (3, limits.jerk)):
        assert (np.abs(moved[:, k]) <= most).all()
    torque = feedforward.torque(moved)
    assert (np.abs(torque[:, 0]) <= limits.effort).all()
    assert (np.abs(torque[:, 1]) <= 1.01 * limits.effort_rate).all()
    assert np.abs(torque[:, 1]).max() > 200.0, 'it was not driven hard'
    assert controller.reference.mode(2500 * MS) == 'holding'


def test_streams_are_as_late_as_the_bandwidth_makes_them(feedforward):
    """A ramp without velocities is followed 2/ω late, and what the sampling adds."""
    late = []
    for bandwidth in (20.0, 100.0):
        controller = controller_at_home(feedforward, bandwidth=bandwidth)
        for now in range(0, 800 * MS, 10 * MS):
            target = HOME + 0.2e-9 * now
            controller.stream(now, target, None, now + 100 * MS)
            controller.evaluate(now)
        late.append((target - controller.q[0]) / 0.2)
    assert late[0] - late[1] == pytest.approx(2.0 / 20.0 - 2.0 / 100.0, abs=0.01)


def test_what_passes_the_effort_limits_is_told_with_joint_value_and_limit(feedforward):
    controller = controller_at_home(feedforward)
    controller.evaluate(0)
    assert controller.excess is None
    # 11 kg at the end of an arm that is for 3: it can be held here, not further on.
    loaded = FeedForward(feedforward.robot.with_payload('link7', 11.0, [0.0, 0.0, 0.1]))
    controller.replace(loaded)
    run(controller, 0, 600 * MS)
    assert controller.excess is None
    controller.reference.follow(plan_to(controller, HOME + 0.2, 1.5, 600 * MS), 600 * MS)
    run(controller, 600 * MS, 2200 * MS)
    excess = controller.excess
    assert excess is not None
    assert excess.quantity == 'torque'
    assert excess.limit == feedforward.robot.limits.effort[excess.place]
    assert excess.value == loaded.torque(controller.q)[0, excess.place]
    assert abs(excess.value) > 1.05 * excess.limit
    assert excess.limit < abs(controller.torque[0, excess.place]) < 1.05 * excess.limit


def test_an_arm_that_is_elsewhere_is_held_there_without_a_torque_step(feedforward):
    controller = controller_at_home(feedforward)
    _, before = run(controller, 0, 600 * MS)
    controller.latch(HOME + 0.4)
    q, after = run(controller, 600 * MS, 1800 * MS)
    np.testing.assert_array_equal(q[0, 0], HOME + 0.4)
    assert_is_its_own_integral(np.concatenate([before, after]), 1e-3, 1e-2)
    np.testing.assert_array_equal(controller.output, feedforward.torque(controller.q))


def test_time_does_not_go_back_by_itself(feedforward):
    controller = controller_at_home(feedforward)
    controller.reference.follow(plan_to(controller, HOME + 0.3, 1.0, 0), 0)
    run(controller, 0, 500 * MS)
    reached = controller.q.copy()
    controller.evaluate(300 * MS)
    np.testing.assert_array_equal(controller.q, reached)


def test_an_external_wrench_is_met_with_its_rates(feedforward, panda):
    controller = controller_at_home(feedforward)
    wrench = np.array([0.5, -1.0, 2.0, 10.0, -5.0, 8.0])
    run(controller, 0, 100 * MS)
    controller.set_external_wrench(6, wrench)
    _, output = run(controller, 100 * MS, 1100 * MS)
    assert_is_its_own_integral(output, 1e-3, 1e-2)
    settled = np.zeros((3, 7, 6))
    settled[0, 6] = wrench
    want = feedforward.torque(controller.q, wrenches=settled)
    np.testing.assert_allclose(controller.output, want, rtol=0, atol=1e-6)
    assert np.abs(want[0] - feedforward.torque(controller.q)[0]).max() > 1.0


def test_at_the_measurement_the_model_is_evaluated_there(feedforward):
    controller = controller_at_home(feedforward, at_measurement=True)
    controller.reference.follow(plan_to(controller, HOME + 0.2, 1.0, 0), 0)
    measured = np.array([HOME + 0.02, np.full(7, 0.1)])
    run(controller, 0, 2000 * MS, measured=measured)
    point = controller.q.copy()
    point[:2] = measured
    np.testing.assert_allclose(controller.torque[0], feedforward.torque(point)[0], atol=1e-9)
    assert np.abs(controller.q[0] - measured[0]).max() > 0.01


def test_a_clipped_output_keeps_to_the_limits_and_says_so(panda):
    limits = panda.limits
    options = ControllerSettings(limit_output=True)
    controller = FeedforwardController(FeedForward(panda), HOME, 0, options)
    run(controller, 0, 500 * MS)
    controller.reference.follow(plan_to(controller, HOME + 0.15, 0.12, 500 * MS), 500 * MS)
    clipped = []
    previous = None
    for now in range(500 * MS, 700 * MS, MS):
        controller.evaluate(now)
        clipped.append(controller.clipped)
        assert (np.abs(controller.output[0]) <= limits.effort).all()
        if previous is not None:
            step = np.abs(controller.output[0] - previous)
            assert (step <= limits.effort_rate * 1e-3 * (1 + 1e-9)).all()
        previous = controller.output[0].copy()
    assert any(clipped)
    assert not clipped[0]


def test_a_clipped_output_keeps_to_efforts_that_do_not_hold_the_weight(panda):
    weak = replace(panda, limits=replace(panda.limits, effort=np.full(7, 5.0)))
    controller = controller_at_home(FeedForward(weak), limit_output=True)
    for now in (0, 700 * MS):
        controller.evaluate(now)
        assert controller.clipped
        assert 4.99 < np.abs(controller.output[0]).max() <= 5.0
    assert abs(controller.excess.value) > 10.0


@pytest.mark.parametrize('bandwidth', [20.0, 100.0])
def test_wrenches_are_smoothed_with_the_bandwidth_that_is_asked_for(feedforward, bandwidth):
    """Five equal lags answer a step by the regularised gamma function."""
    controller = controller_at_home(feedforward, wrench_bandwidth=bandwidth)
    controller.evaluate(0)
    wrenches = np.zeros((3, 7, 6))
    wrenches[0, 6] = 0.5
    assert controller.set_external_wrench(6, wrenches[0, 6]) == (1.0, -1)
    controller.evaluate(50 * MS)
    without = feedforward.torque(controller.q)[0]
    whole = feedforward.torque(controller.q, wrenches=wrenches)[0] - without
    np.testing.assert_allclose(
        controller.torque[0] - without, gammainc(5, 0.05 * bandwidth) * whole, atol=1e-9)


@pytest.fixture(scope='module')
def tendons(panda):
    laws = [JointActuator(Rigid(), Motor(0.5)) for _ in range(7)]
    laws[1] = JointActuator(AntagonisticExponential(2.0, 20.0, 2000.0), Motor(0.5))
    return FeedForward(replace(panda, actuators=Actuators(panda.joint_names, tuple(laws))))


def test_motors_that_cannot_do_it_are_held_and_led_back_without_a_step(tendons):
    """The stiffness is enough for the weight at home, not for that on the way."""
    loads = np.abs([tendons.torque(_still(HOME + by))[0, 1] for by in np.linspace(0.0, 0.3, 20)])
    assert loads[0] + 0.5 < loads.max()
    laws = [*tendons.robot.actuators.joints]
    enough = 20.0 * (0.5 * (loads[0] + loads.max()) + 4.0)
    laws[1] = JointActuator(AntagonisticExponential(2.0, 20.0, enough), Motor(0.5))
    names = tendons.robot.joint_names
    controller = controller_at_home(FeedForward(
        replace(tendons.robot, actuators=Actuators(names, tuple(laws)))), fade=0.3)
    controller.evaluate(0)
    references, held = [], []
    for k in range(7000):
        if k % 1000 == 0:
            goal = HOME + (0.3 if k % 2000 == 0 and k < 5000 else 0.0)
            controller.reference.follow(plan_to(controller, goal, 0.9, k * MS), k * MS)
        controller.evaluate(k * MS)
        references.append(controller.motors.reference.copy())
        held.append(bool(controller.motors.held[1]))
        assert not controller.motors.held[[0, *range(2, 7)]].any()
    assert sum(held) > 500
    assert not held[0]
    assert not held[-1]
    theta, tau = np.array(references)[:, :3, 1:3], np.array(references)[:, 3, 1:3]
    # θ̇ and θ̈ are those of θ, all along.
    assert_is_its_own_integral(theta[:, :2], 1e-3, 1e-3)
    assert np.abs(np.diff(theta[:, 1], axis=0)).max() < 0.25
    assert np.abs(np.diff(tau, axis=0)).max() < 20.0
    calm = MotorSide(controller.motors.actuators)
    np.testing.assert_allclose(
        controller.motors.reference, calm.evaluate(controller.q, controller.torque), atol=1e-6)


def test_motors_are_given_the_whole_torque_whatever_the_output_leaves_out(tendons):
    controller = controller_at_home(tendons, gravity_in_output=False, friction_in_output=False)
    controller.reference.follow(plan_to(controller, HOME + 0.2, 1.0, 0), 0)
    run(controller, 0, 300 * MS)
    expected = MotorSide(tendons.robot.actuators).evaluate(
        controller.q, tendons.torque(controller.q))
    np.testing.assert_allclose(controller.motors.reference, expected, rtol=1e-12)


@pytest.mark.parametrize('bandwidth', [20.0, 100.0])
def test_the_stiffness_is_smoothed_as_streams_are(tendons, bandwidth):
    controller = controller_at_home(tendons, bandwidth=bandwidth)
    controller.evaluate(0)
    controller.set_stiffness(np.full(7, 1500.0))
    controller.evaluate(50 * MS)
    smooth = SmoothingFilter(np.full(7, 2000.0), bandwidth)
    smooth.set_target(np.full(7, 1500.0))
    expected = MotorSide(tendons.robot.actuators).evaluate(
        controller.q, controller.torque, smooth.advance(0.05)[:3].copy())
    np.testing.assert_allclose(controller.motors.reference, expected, rtol=1e-12)


def test_a_request_of_stiffness_names_the_variable_joints_alone(tendons):
    """A rigid joint may be named, with any value, and need not be."""
    names = tendons.robot.joint_names
    variable = tendons.robot.actuators.variable_joints
    assert variable == ('joint2',)
    reader = JointStateReader(JointNames(
        tendons.robot).of_driver([f'fer_{name}' for name in names], variable))

    def asked(joints, values):
        supervisor = Supervisor(tendons, SupervisorSettings(
            ControllerSettings(), np.full(7, 0.2)), Mock())
        supervisor.bind([f'fer_{name}' for name in names])
        for cycle in range(4):
            if supervisor.take_state(HOME, np.zeros(7), 4 * MS * (cycle + 1), 1000.0):
                supervisor.evaluate(4 * MS * (cycle + 1), 1000.0)
        writer = JointStateWriter(joints)
        writer.effort[:] = values
        supervisor.take_stiffness(reader.effort(writer.at(0)), 1000.0)
        return supervisor.controller._stiffness_taken[2][0]

    alone = asked(['fer_joint2'], [1500.0])
    assert alone[1] == 1500.0
    all_of_them = [f'fer_{name}' for name in names]
    for rest in (0.0, -1.0, np.nan):
        np.testing.assert_array_equal(
            asked(all_of_them, np.where(np.arange(7) == 1, 1500.0, rest)), alone)
    with pytest.raises(hd.HodynError, match="stiffness of joint 'fer_joint2' must be above 0"):
        asked(['fer_joint2'], [0.0])
    with pytest.raises(hd.HodynError, match="no joint of robot 'panda' among the names"):
        asked(['fer_joint1'], [1500.0])
    with pytest.raises(hd.HodynError, match='of another arm'):
        asked(['panda_joint2'], [1500.0])


@pytest.mark.parametrize('rest', [0.0, np.nan])
def test_offline_the_stiffness_of_a_rigid_joint_is_not_read(tendons, rest):
    q = np.zeros((5, 5, 7))
    q[:, 0] = HOME
    torque = tendons.torque(q)
    given = np.tile(tendons.robot.actuators.constant_stiffness(), (5, 1, 1))
    rigid = np.where(tendons.robot.actuators.variable, given, rest)
    side, times = MotorSide(tendons.robot.actuators), np.arange(5.0)
    np.testing.assert_array_equal(
        side.along(times, q, torque, rigid), side.along(times, q, torque, given))


def test_motors_that_never_could_do_it_stay_where_the_arm_is(panda, tendons):
    laws = [*tendons.robot.actuators.joints]
    laws[1] = JointActuator(AntagonisticExponential(2.0, 20.0, 90.0), Motor(0.5))
    controller = controller_at_home(FeedForward(
        replace(panda, actuators=Actuators(panda.joint_names, tuple(laws)))))
    controller.evaluate(0)
    controller.evaluate(MS)
    assert controller.motors.held.tolist() == [False, True, *[False] * 5]
    np.testing.assert_array_equal(controller.motors.reference[0, 1:3], HOME[1])


def test_a_measurement_that_comes_and_goes_leaves_no_step(feedforward):
    controller = controller_at_home(feedforward, at_measurement=True, fade=0.2)
    measured = np.array([HOME + 0.05, np.full(7, 0.1)])
    elsewhere = np.array([HOME - 0.05, np.zeros(7)])
    torques = []
    for k in range(3000):
        # Lost, back elsewhere while it is still being forgotten, lost again.
        seen = measured if k < 1000 else elsewhere if 1100 <= k < 2000 else None
        controller.evaluate(k * MS, seen)
        torques.append(controller.torque.copy())
        if k in (999, 1999):
            there = np.zeros((5, 7))
            there[:2] = seen
            np.testing.assert_allclose(
                controller.torque[0], feedforward.torque(there)[0], atol=1e-6)
    np.testing.assert_array_equal(controller.torque, feedforward.torque(controller.q))
    assert_is_its_own_integral(np.array(torques), 1e-3, 1e-2)


def test_one_measurement_far_off_hardly_shows(feedforward):
    """Velocities of 20 rad/s made −224 N m where 87 are allowed."""
    controller = controller_at_home(feedforward, at_measurement=True)
    there = np.array([HOME, np.zeros(7)])
    run(controller, 0, 1500 * MS, measured=there)
    before = controller.torque[0].copy()
    off = there.copy()
    off[1, 1] = 20.0
    _, one = run(controller, 1500 * MS, 1501 * MS, measured=off)
    _, after = run(controller, 1501 * MS, 1700 * MS, measured=there)
    outputs = np.concatenate([one, after])
    assert np.abs(outputs[:, 0] - before).max() <= 1e-3 * feedforward.robot.limits.effort_rate[0]
    assert (np.abs(outputs[:, 1]) <= feedforward.robot.limits.effort_rate).all()
