"""The torque follows a reference, a wrench and a measurement without a step."""
from controllers import HOME, MS, AtHome, assert_is_its_own_integral, limited, still
import numpy as np
import pytest
from scipy.special import gammainc

from hodyn_ros.feedforward import FeedForward


def test_it_holds_then_follows_then_holds(feedforward):
    controller, goal = AtHome(feedforward), HOME + 0.2
    controller.follow(goal, 1.0, 200 * MS)
    for now, mode in ((0, 'holding'), (200 * MS, 'following'), (1200 * MS, 'holding')):
        controller.evaluate(now)
        assert controller.reference.mode(now) == mode
        np.testing.assert_array_equal(controller.torque, feedforward.torque(controller.q))
    np.testing.assert_allclose(controller.q[0], goal, rtol=0, atol=1e-12)


def test_an_earlier_plan_replaces_a_waiting_one_and_a_later_one_does_not(feedforward):
    controller, turn = AtHome(feedforward), 400 * MS
    first = controller.follow(HOME + 0.3, 1.0)
    second = controller.follow(HOME - 0.2, 1.0, turn)
    for now in (0, 200 * MS, turn - 1, turn, turn + 500 * MS, turn + 2000 * MS):
        controller.evaluate(now)
        plan, start = (first, 0) if now < turn else (second, turn)
        np.testing.assert_array_equal(controller.q, plan.evaluate((now - start) * 1e-9))


@pytest.mark.parametrize('disturbance', ['plan', 'stop'])
def test_nothing_steps_whatever_interrupts_a_motion(feedforward, disturbance):
    controller = AtHome(feedforward)
    controller.follow(HOME + 0.4, 1.5)
    controller.run(700 * MS)
    controller.due = now = 699 * MS  # once more at the instant of the last cycle
    if disturbance == 'plan':
        controller.follow(HOME - 0.3, 1.5)
    else:
        controller.stop(now)
    controller.run(now + 2500 * MS)
    for values in map(np.array, (controller.references, controller.outputs)):
        scale = np.maximum(1.0, np.abs(values[:700]).max(axis=(0, 2)))
        assert (np.abs(values[700] - values[699]).max(axis=1) <= 1e-9 * scale).all()
    moved = np.delete(controller.references, 700, axis=0)
    assert_is_its_own_integral(moved[:, :4], 1e-3, 1e-2)
    assert np.abs(moved[-1, 1]).max() < 1e-6
    assert controller.reference.mode(now + 2500 * MS) in ('holding', 'streaming')


@pytest.mark.slow
@pytest.mark.parametrize('plans', [250, pytest.param(2000, marks=pytest.mark.siege)])
def test_plans_replaced_in_mid_motion_leave_no_step(feedforward, plans):
    rng = np.random.default_rng(7)
    controller, now = AtHome(feedforward), 0
    for _ in range(plans):
        controller.evaluate(now)
        before = controller.q.copy(), controller.output.copy()
        goal = HOME + rng.uniform(-0.4, 0.4, 7)
        controller.follow(goal, rng.uniform(0.3, 2.0), now)
        controller.evaluate(now)
        for old, new in zip(before, (controller.q, controller.output), strict=True):
            scale = np.maximum(1.0, np.abs(old).max(axis=1, keepdims=True))
            assert np.abs((new - old) / scale).max() <= 1e-9
        now += int(rng.integers(1, 500)) * MS
    assert now > 100 * plans * MS


def test_without_gravity_the_output_fades_in_from_zero_and_back_to_it(feedforward):
    controller = AtHome(feedforward, gravity_in_output=False, fade=0.4)
    controller.follow(HOME + 0.3, 0.8)
    controller.run(700 * MS)
    assert np.array_equal(controller.outputs[0], np.zeros((3, 7)))
    controller.stop(700 * MS)
    assert controller.reference.mode(700 * MS) == 'stopping'
    controller.run(1500 * MS)
    limits = feedforward.robot.limits
    assert (np.abs(np.array(controller.outputs)[700:, 1]) <= limits.effort_rate).all()
    controller.set_external_wrench(6, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0]))
    controller.run(1800 * MS)
    controller.drop_wrenches()
    assert controller.is_fading
    controller.run(2800 * MS)
    assert not controller.is_fading
    assert np.array_equal(controller.output, np.zeros((3, 7)))
    controller.assert_no_step(3e-2)


def test_a_wrench_that_is_given_up_leaves_the_weight_and_never_nothing(feedforward):
    controller = AtHome(feedforward, fade=0.3)
    controller.set_external_wrench(6, np.array([0.0, 0.0, 0.0, 0.0, 0.0, 20.0]))
    controller.run(1000 * MS)
    weight = feedforward.torque(still(HOME))
    assert np.abs(controller.output[0] - weight[0]).max() > 1.0
    controller.drop_wrenches()
    controller.run(1300 * MS)
    assert controller.is_fading
    controller.run(1800 * MS)
    assert not controller.is_fading
    np.testing.assert_allclose(controller.output, weight, rtol=0, atol=1e-9)
    assert np.abs(controller.output[0]).max() > 10.0


def test_a_model_without_a_number_is_not_published_and_what_was_goes_on(feedforward, panda):
    """The torque that was comes to rest; when there are numbers again it goes over to them."""
    controller = AtHome(feedforward)
    controller.follow(HOME + 0.4, 0.8)
    controller.run(300 * MS)
    controller._feedforward = FeedForward(panda.with_gravity((0.0, 0.0, -1e308)))
    controller.run(600 * MS)
    assert controller.may_be_published
    assert not np.isfinite(controller.excess.value)
    # What its rate took it on by comes back over `fade`.
    assert np.abs(controller.output[1]).max() < 1.0
    controller._feedforward = feedforward
    controller.run(1800 * MS)
    assert controller.excess is None
    controller.assert_no_step()
    np.testing.assert_array_equal(controller.output, feedforward.torque(controller.q))


def test_a_stream_begins_and_ends_without_a_step_within_effort_limits(feedforward):
    controller = AtHome(feedforward)
    controller.run(600 * MS)
    controller.stream(600 * MS, HOME + np.array([1.0, 0.5, -1, 0.5, 1, 0.5, 1]), None, 700 * MS)
    controller.run(1000 * MS)
    controller.stop(1000 * MS)
    controller.run(2500 * MS)
    controller.assert_no_step()
    limits, moved = feedforward.robot.limits, np.array(controller.references)[600:]
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
        controller = AtHome(feedforward, bandwidth=bandwidth)
        for now in range(0, 800 * MS, 10 * MS):
            target = HOME + 0.2e-9 * now
            controller.stream(now, target, None, now + 100 * MS)
            controller.evaluate(now)
        late.append((target - controller.q[0]) / 0.2)
    assert late[0] - late[1] == pytest.approx(2.0 / 20.0 - 2.0 / 100.0, abs=0.01)


def test_an_arm_that_is_elsewhere_is_held_there_without_a_torque_step(feedforward):
    controller = AtHome(feedforward)
    controller.run(600 * MS)
    controller.latch(HOME + 0.4)
    controller.run(1800 * MS)
    np.testing.assert_array_equal(controller.references[600][0], HOME + 0.4)
    controller.assert_no_step()
    np.testing.assert_array_equal(controller.output, feedforward.torque(controller.q))


def test_time_does_not_go_back_by_itself(feedforward):
    controller = AtHome(feedforward)
    controller.follow(HOME + 0.3, 1.0)
    controller.run(500 * MS)
    controller.evaluate(300 * MS)
    np.testing.assert_array_equal(controller.q, controller.references[-1])


def test_an_external_wrench_is_met_with_its_rates(feedforward):
    controller = AtHome(feedforward)
    wrenches = np.zeros((3, 7, 6))
    wrenches[0, 6] = 0.5, -1.0, 2.0, 10.0, -5.0, 8.0
    controller.run(100 * MS)
    controller.set_external_wrench(6, wrenches[0, 6])
    controller.run(1100 * MS)
    controller.assert_no_step()
    want = feedforward.torque(controller.q, wrenches=wrenches)
    np.testing.assert_allclose(controller.output, want, rtol=0, atol=1e-6)
    assert np.abs(want[0] - feedforward.torque(controller.q)[0]).max() > 1.0


def test_at_the_measurement_the_model_is_evaluated_there(feedforward):
    controller = AtHome(feedforward, at_measurement=True)
    controller.follow(HOME + 0.2, 1.0)
    measured = np.array([HOME + 0.02, np.full(7, 0.1)])
    controller.run(2000 * MS, measured)
    point = np.concatenate([measured, controller.q[2:]])
    np.testing.assert_allclose(controller.torque[0], feedforward.torque(point)[0], atol=1e-9)
    assert np.abs(controller.q[0] - measured[0]).max() > 0.01


def test_a_clipped_output_keeps_to_the_limits_and_says_so(feedforward):
    limits = feedforward.robot.limits
    controller, clipped = AtHome(feedforward, limit_output=True), []
    controller.run(500 * MS)
    controller.follow(HOME + 0.15, 0.12)
    for now in range(500 * MS, 700 * MS, MS):
        controller.run(now + MS)
        clipped.append(controller.clipped)
    torque = np.array(controller.outputs)[500:, 0]
    assert (np.abs(torque) <= limits.effort).all()
    assert (np.abs(np.diff(torque, axis=0)) <= limits.effort_rate * 1e-3 * (1 + 1e-9)).all()
    assert any(clipped)
    assert not clipped[0]


def test_a_clipped_output_keeps_to_efforts_that_do_not_hold_the_weight(panda):
    controller = AtHome(FeedForward(limited(panda, effort=5.0)), limit_output=True)
    for now in (0, 700 * MS):
        controller.evaluate(now)
        assert controller.clipped
        assert 4.99 < np.abs(controller.output[0]).max() <= 5.0
    assert abs(controller.excess.value) > 10.0


@pytest.mark.parametrize('bandwidth', [20.0, 100.0])
def test_wrenches_are_smoothed_with_the_bandwidth_that_is_asked_for(feedforward, bandwidth):
    """Five equal lags answer a step by the regularised gamma function."""
    controller = AtHome(feedforward, wrench_bandwidth=bandwidth)
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
    controller = AtHome(feedforward, at_measurement=True, fade=0.2)
    measured = np.array([HOME + 0.05, np.full(7, 0.1)])
    elsewhere = np.array([HOME - 0.05, np.zeros(7)])
    torques = []
    for k in range(3000):
        # Lost, back elsewhere while it is still being forgotten, lost again.
        seen = measured if k < 1000 else elsewhere if 1100 <= k < 2000 else None
        controller.evaluate(k * MS, seen)
        torques.append(controller.torque.copy())
        if k in (999, 1999):
            there = np.concatenate([seen, np.zeros((3, 7))])
            np.testing.assert_allclose(
                controller.torque[0], feedforward.torque(there)[0], atol=1e-6)
    np.testing.assert_array_equal(controller.torque, feedforward.torque(controller.q))
    assert_is_its_own_integral(np.array(torques), 1e-3, 1e-2)


def test_one_measurement_far_off_hardly_shows(feedforward):
    """Velocities of 20 rad/s made −224 N m where 87 are allowed."""
    controller = AtHome(feedforward, at_measurement=True)
    there = np.array([HOME, np.zeros(7)])
    controller.run(1500 * MS, there)
    before, off = controller.torque[0].copy(), there.copy()
    off[1, 1] = 20.0
    controller.run(1501 * MS, off)
    controller.run(1700 * MS, there)
    outputs, limits = np.array(controller.outputs)[1500:], feedforward.robot.limits
    assert np.abs(outputs[:, 0] - before).max() <= 1e-3 * limits.effort_rate[0]
    assert (np.abs(outputs[:, 1]) <= limits.effort_rate).all()
