"""Payloads fade in within the limits, and what the arm cannot hold is refused and named."""
import re

from controllers import HOME, MS, AtHome, limited, loaded
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hodyn_ros.feedforward import FeedForward


@pytest.mark.parametrize('masses', [(2.0,), (3.0, 0.5, 2.0)])
@pytest.mark.parametrize('goal', [HOME, HOME + 0.3])
def test_payloads_are_taken_without_a_step_also_while_another_fades_in(
        feedforward, panda, masses, goal):
    controller = AtHome(feedforward, fade=0.3)
    controller.follow(goal, 1.5)
    controller.run(500 * MS)
    for mass in masses:
        model = loaded(panda, mass)
        controller.replace(model)
        controller.run(controller.due + 100 * MS)
    controller.run(1800 * MS)
    controller.assert_no_step()
    np.testing.assert_array_equal(controller.output, model.torque(controller.q))


@pytest.mark.parametrize('mass', [120.0, 1000.0])
def test_a_payload_that_the_arm_cannot_hold_is_refused_and_changes_nothing(feedforward, mass):
    """A slip of the decimal point: 12 kg would be held, 120 threw the arm upwards."""
    controller = AtHome(feedforward)
    controller.run(600 * MS)
    before = controller.output.copy()
    with pytest.raises(ValueError, match=r'the weight needs .* from joint\d'):
        controller.replace(loaded(feedforward.robot, mass, 0.05))
    controller.run(1200 * MS)
    np.testing.assert_array_equal(controller.output, before)
    assert not controller.is_fading


@pytest.mark.parametrize('rate', [0.0, 0.1])
def test_a_payload_that_would_fade_in_for_minutes_is_refused(panda, rate):
    robot = limited(panda, effort_rate=rate)
    controller = AtHome(FeedForward(robot))
    controller.replace(FeedForward(robot))
    with pytest.raises(ValueError, match=r'at joint\d, which would take longer than 60 s'):
        controller.replace(loaded(robot, 3.0))


def test_a_weight_that_the_arm_cannot_hold_is_named(feedforward):
    assert not AtHome(feedforward).excess_of_weight
    heavy = loaded(feedforward.robot, 30.0, 0.05)
    said = AtHome(heavy).excess_of_weight
    assert re.fullmatch(
        'the weight needs .* N m from joint6, beyond its effort limit of 12 N m: .*', said)
    assert not AtHome(heavy, limit_margin=2.0).excess_of_weight


def test_what_is_too_heavy_already_may_become_lighter(feedforward):
    """Whoever is in trouble may get out of it."""
    heavy, lighter = (loaded(feedforward.robot, mass, 0.05) for mass in (30.0, 20.0))
    controller = AtHome(heavy)
    controller.evaluate(0)
    before = controller.excess.value
    controller.replace(lighter)
    controller.run(1500 * MS)
    assert abs(controller.excess.value) < 0.9 * abs(before)
    limits = feedforward.robot.limits
    assert (np.abs(controller.output[0]) <= 1.05 * limits.effort).all()
    wanted = lighter.torque(controller.q)
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
    robot = limited(panda, effort_rate=rate)
    controller = AtHome(FeedForward(robot), fade=fade)
    controller.run(1100 * MS)
    for mass in masses:
        model = loaded(robot, mass)
        controller.replace(model)
        controller.run(controller.due + 5 * (apart // 5 + 1) * MS, step=5 * MS)
    while controller.is_fading:
        controller.run(controller.due + 5 * MS, step=5 * MS)
    np.testing.assert_allclose(controller.output, model.torque(controller.q), atol=1e-9)
    rates = np.abs(controller.outputs[1100:])[:, 1]
    assert (rates <= 0.5 * rate * (1.0 + 1e-9)).all()


def test_a_load_that_relieves_one_joint_must_not_break_another(feedforward):
    """The worst joint becomes better, another passes its limit."""
    panda = feedforward.robot
    heavy = panda.with_payload('link5', 60.0, [0.0, 0.0, 0.0])
    controller = AtHome(FeedForward(heavy))
    assert 'joint4' in controller.excess_of_weight
    with pytest.raises(ValueError, match='from joint6, beyond'):
        controller.replace(loaded(panda, 16.0))


def test_what_passes_the_effort_limits_is_told_with_joint_value_and_limit(feedforward):
    controller = AtHome(feedforward)
    controller.evaluate(0)
    assert controller.excess is None
    # 11 kg at the end of an arm that is for 3: it can be held here, not further on.
    model = loaded(feedforward.robot, 11.0)
    controller.replace(model)
    controller.run(600 * MS)
    assert controller.excess is None
    controller.follow(HOME + 0.2, 1.5, 600 * MS)
    controller.run(2200 * MS)
    excess = controller.excess
    assert excess is not None
    assert excess.quantity == 'torque'
    assert excess.limit == feedforward.robot.limits.effort[excess.place]
    assert excess.value == model.torque(controller.q)[0, excess.place]
    assert abs(excess.value) > 1.05 * excess.limit
    assert excess.limit < abs(controller.torque[0, excess.place]) < 1.05 * excess.limit
