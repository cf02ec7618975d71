"""Payloads fade in within the limits, and what the arm cannot hold is refused and named."""
from dataclasses import replace
import re

from controllers import HOME, MS, assert_is_its_own_integral, controller_at_home, plan_to, run
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hodyn_ros.feedforward import FeedForward


@pytest.mark.parametrize('masses', [(2.0,), (3.0, 0.5, 2.0)])
@pytest.mark.parametrize('goal', [HOME, HOME + 0.3])
def test_payloads_are_taken_without_a_step_also_while_another_fades_in(
        feedforward, panda, masses, goal):
    controller = controller_at_home(feedforward, fade=0.3)
    controller.reference.follow(plan_to(controller, goal, 1.5, 0), 0)
    outputs, now = [run(controller, 0, 500 * MS)[1]], 500 * MS
    for mass in masses:
        loaded = FeedForward(panda.with_payload('link7', mass, [0.0, 0.0, 0.1]))
        controller.replace(loaded)
        outputs.append(run(controller, now, now + 100 * MS)[1])
        now += 100 * MS
    outputs.append(run(controller, now, 1800 * MS)[1])
    assert_is_its_own_integral(np.concatenate(outputs), 1e-3, 1e-2)
    np.testing.assert_array_equal(controller.output, loaded.torque(controller.q))


@pytest.mark.parametrize('mass', [120.0, 1000.0])
def test_a_payload_that_the_arm_cannot_hold_is_refused_and_changes_nothing(feedforward, mass):
    """A slip of the decimal point: 12 kg would be held, 120 threw the arm upwards."""
    controller = controller_at_home(feedforward)
    run(controller, 0, 600 * MS)
    before = controller.output.copy()
    loaded = FeedForward(feedforward.robot.with_payload('link7', mass, [0.0, 0.0, 0.05]))
    with pytest.raises(ValueError, match=r'the weight needs .* from joint\d'):
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
    with pytest.raises(ValueError, match=r'at joint\d, which would take longer than 60 s'):
        controller.replace(FeedForward(robot.with_payload('link7', 3.0, [0.0, 0.0, 0.1])))


def test_a_weight_that_the_arm_cannot_hold_is_named(feedforward):
    assert not controller_at_home(feedforward).excess_of_weight
    loaded = FeedForward(feedforward.robot.with_payload('link7', 30.0, [0.0, 0.0, 0.05]))
    said = controller_at_home(loaded).excess_of_weight
    assert re.fullmatch('the weight needs .* from joint6, beyond its effort limit of 12: .*', said)
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
    with pytest.raises(ValueError, match='from joint6, beyond'):
        controller.replace(other)


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
