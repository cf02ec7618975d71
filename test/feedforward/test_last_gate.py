"""Whatever goes wrong inside, what may not follow what was published is not published."""
from dataclasses import replace

from controllers import HOME, MS, controller_at_home
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.last_gate import first_wrong
from hodyn_ros.feedforward.reasons import Reasons
from hodyn_ros.reference import fit_plan


@pytest.fixture(scope='module')
def elastic():
    panda = hd.load_robot('panda')
    motor = Motor(0.4, 0.5, 0.2, 0.02, max_velocity=4.0, max_effort=150.0)
    return FeedForward(replace(panda, actuators=Actuators(panda.joint_names, tuple(
        JointActuator(LinearSpring(3000.0), motor) for _ in range(7)))))


@pytest.mark.parametrize(('row', 'value', 'is_let_through'), [
    (0, 10.0, True), (0, 10.9, True), (0, 11.5, False), (0, -11.5, False), (0, 9.0, False),
    (0, np.nan, False), (1, 104.0, True), (1, 106.0, False), (1, -np.inf, False),
    (2, 1e9, True), (2, np.nan, False)])
def test_a_value_is_let_through_within_limits_and_reach(row, value, is_let_through):
    """Limits are 10.5 and 105 with their margin; within 10 ms a value goes by 1.05."""
    before = np.zeros((3, 2))
    before[0] = 10.2
    after = before.copy()
    after[row, 1] = value
    limits = np.array([10.9, 10.9]), np.array([100.0, 100.0])
    found = first_wrong(before, after, 0.01, *limits, 1.05)
    assert found == ((-1, -1) if is_let_through else (row, 1))


def parts(controller):
    motors = controller.motors
    return {
        'output': (controller._output.stage, controller.output),
        'motors': (motors._theta, motors.reference[:2]),
        'carried': (motors._load, motors.reference[3:])}


@pytest.mark.parametrize('part', ['output', 'motors', 'carried'])
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_memory_that_is_overwritten_reaches_no_message(elastic, part, data):
    """A cycle that is refused is not published; the next ones go on from the last that was."""
    controller = controller_at_home(elastic)
    controller.reference.follow(
        fit_plan([0.8], [HOME + 0.3], start=controller.reference.state_at(0)), 0)
    hit = data.draw(st.integers(10, 300))
    row, joint = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 6))
    value = data.draw(st.sampled_from([np.nan, np.inf, 1e5, -1e12]))
    limits = elastic.robot.limits
    fastest = np.where(part == 'motors', 4.0, np.where(
        part == 'output', limits.effort_rate, np.inf))
    published, refusals, time = None, [], 0
    for k in range(2500):
        now = k * MS
        if k == hit:
            parts(controller)[part][0]._state[row, joint] = value
        controller.evaluate(now)
        if not controller.may_be_published:
            refusals.append(controller.excess)
            continue
        values = parts(controller)[part][1].copy()
        assert np.isfinite(values).all()
        if published is not None:
            step = np.abs(values[0] - published[0])
            assert (step <= 1.06 * fastest * (now - time) * 1e-9 + 1e-6).all()
        published, time = values, now
    assert len(refusals) <= 2
    for excess in refusals:
        assert excess.is_refused
        said = Reasons(elastic.robot).of_excess(excess)
        assert ('not finite' in said) or elastic.robot.joint_names[excess.place] in said
    assert time == 2499 * MS
    if refusals:  # it began anew: else it may be on its way back from what it was told to be
        assert not controller.is_fading
        assert np.abs(controller.output - elastic.torque(controller.q)).max() < 1e-3
