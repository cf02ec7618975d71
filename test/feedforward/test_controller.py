"""The torque follows a reference, a wrench and a measurement without a step."""
from dataclasses import replace

from controllers import HOME, MS, assert_is_its_own_integral, controller_at_home, plan_to, run
import numpy as np
import pytest
from scipy.special import gammainc

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.controller import ControllerSettings
from hodyn_ros.feedforward.warm_up import warm_up


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
    now = 700 * MS - MS
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


def test_a_robot_whose_torques_are_not_finite_is_refused_when_it_warms_up(panda):
    with pytest.raises(hd.HodynError, match='torques at zero position are not finite'):
        warm_up(FeedForward(panda.with_gravity((0.0, 0.0, -1e308))), ControllerSettings())


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
    controller = controller_at_home(FeedForward(panda), limit_output=True)
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
    assert controller.set_external_wrench(6, wrenches[0, 6]) == (1.0, -1, '')
    controller.evaluate(50 * MS)
    without = feedforward.torque(controller.q)[0]
    whole = feedforward.torque(controller.q, wrenches=wrenches)[0] - without
    np.testing.assert_allclose(
        controller.torque[0] - without, gammainc(5, 0.05 * bandwidth) * whole, atol=1e-9)


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
