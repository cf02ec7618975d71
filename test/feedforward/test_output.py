"""Whatever changes what is published or goes wrong inside: it keeps its limits and never steps."""
from controllers import HOME, MS, AtHome, driven
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
from output_siege import ROBOTS, OutputSiege, robot_of
import pytest

from hodyn_ros.actuators.joint_actuators import INERTIA, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.last_gate import first_wrong
from hodyn_ros.feedforward.motor_stage import MotorStage
from hodyn_ros.feedforward.output_curve import BANDWIDTH
from hodyn_ros.feedforward.output_stage import OutputStage
from hodyn_ros.feedforward.reasons import Reasons
from hodyn_ros.feedforward.torque_output import TorqueOutput

DT = 1e-3
FREE = np.full(1, np.inf)
SPEED, SIZE = 2.0, 0.3
# What is under way when it has to go over elsewhere comes to rest within so many time constants.
ON_THE_WAY = 5.0 * SIZE * SPEED / BANDWIDTH
patterns = st.lists(st.integers(1, 40), min_size=1, max_size=8)


def swing(t):
    """Return a motion and its first derivatives, (4,), at a time, s."""
    return SIZE * np.array([
        np.sin(SPEED * t), SPEED * np.cos(SPEED * t), -SPEED ** 2 * np.sin(SPEED * t),
        -SPEED ** 3 * np.cos(SPEED * t)])


def switches(pattern, cycles):
    """Return whether a cycle is of the second kind, (cycles,): so many of each by turns."""
    kinds = np.repeat(np.arange(2 * len(pattern)) % 2 == 1, np.tile(pattern, 2))
    return np.resize(kinds, cycles)


@settings(max_examples=60, deadline=None)
@given(pattern=patterns)
def test_causes_that_follow_each_other_do_not_let_what_is_published_run_on(pattern):
    """With one in each cycle a motor went on at its acceleration, 1 rad away after 3 s."""
    stage = OutputStage(swing(0.0)[:3, np.newaxis], FREE, FREE, 0.2, 0.05)
    published, is_held, kept = [], False, np.zeros((3, 1))
    for k, holds in enumerate(switches(pattern, 3000)):
        if holds and not is_held:
            kept = np.zeros((3, 1))
            kept[0] = swing(DT * k)[0]
        wanted = kept if holds else swing(DT * (k + 1))[:3, np.newaxis]
        if holds != is_held:
            stage.go_over(wanted, ahead=DT)
        is_held = holds
        published.append(stage.advance(wanted, DT).copy())
    values = np.array(published)[:, :, 0]
    assert np.abs(values[:, 0]).max() <= SIZE + ON_THE_WAY
    np.testing.assert_allclose(
        np.diff(values[:, 0]), DT * 0.5 * (values[1:, 1] + values[:-1, 1]), atol=1e-4)
    # A step of the velocity is what an acceleration that may leap makes of it in a cycle.
    steepest = np.abs(values[:, 2]).max()
    assert np.abs(np.diff(values[:, 1])).max() <= 1.01 * DT * steepest


@pytest.mark.parametrize('every', [1, 2, 3, 5, 20])
def test_motors_that_can_and_cannot_by_turns_stay_with_the_motion(monkeypatch, panda, every):
    side = MotorSide(driven(panda, JointActuator(LinearSpring(3000.0), Motor(0.5))).actuators)
    stage = MotorStage(side, 0.2, 0.05)
    true, kept = side.evaluate, np.zeros((4, panda.n))

    def by_turns(*arguments, **options):
        wanted = true(*arguments, **options)
        if len(published) // every % 2:
            side.feasible[:] = False
            wanted[[0, 3]], wanted[1:3] = kept[[0, 3]], 0.0
        else:
            side.feasible[:] = True
            kept[:] = wanted
        return wanted

    monkeypatch.setattr(side, 'evaluate', by_turns)
    published: list[np.ndarray] = []
    motion = np.zeros((5, panda.n))
    for k in range(3000):
        motion[:4] = swing(DT * k)[:, np.newaxis]
        stage.evaluate(motion, 50.0 * motion[:3], None, DT)
        published.append(stage.reference.copy())
    theta = np.array(published)[:, 0]
    assert np.abs(theta).max() <= (1.0 + 50.0 / 3000.0) * (SIZE + ON_THE_WAY)


def test_a_model_without_numbers_in_every_other_cycle_holds_the_torque(monkeypatch, feedforward):
    controller = AtHome(feedforward)
    controller.follow(HOME + 0.3, 2.0)
    true = TorqueOutput.want

    def want(output, *arguments):
        true(output, *arguments)
        if len(controller.outputs) % 2:
            output.wanted[:] = np.nan

    monkeypatch.setattr(TorqueOutput, 'want', want)
    controller.run(2500 * MS)
    wanted, published = (
        feedforward.torque(np.array(controller.references)), np.array(controller.outputs))
    on_the_way = 5.0 * np.abs(wanted[:, 1]).max(axis=0) / BANDWIDTH
    assert (published[:, 0] <= wanted[:, 0].max(axis=0) + on_the_way).all()
    assert (published[:, 0] >= wanted[:, 0].min(axis=0) - on_the_way).all()


@pytest.fixture(scope='module')
def elastic(panda):
    motor = Motor(0.4, 0.5, 0.2, 0.02, max_velocity=4.0, max_effort=150.0)
    return FeedForward(driven(panda, JointActuator(LinearSpring(3000.0), motor)))


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
    controller = AtHome(elastic)
    controller.follow(HOME + 0.3, 0.8)
    hit = data.draw(st.integers(10, 300))
    row, joint = data.draw(st.integers(0, 15)), data.draw(st.integers(0, 6))
    value = data.draw(st.sampled_from([np.nan, np.inf, 1e5, -1e12]))
    limits = elastic.robot.limits
    fastest = {'motors': 4.0, 'output': limits.effort_rate, 'carried': np.inf}[part]
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


@pytest.mark.parametrize(('seed', 'cycles'), [
    (7, 2500), pytest.param(100, 8_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize('kind', ROBOTS)
def test_no_cause_of_change_makes_a_step_or_passes_a_limit(kind, seed, cycles):
    found = OutputSiege(kind, seed).run(cycles)
    assert not found.worst
    assert found.causes > 30
    assert found.cycles == cycles
    if kind in ('springs', 'tendons'):
        assert found.held > 100
        assert found.motor_velocity > 0.1
    if kind != 'free':
        assert found.effort > 0.9


@pytest.mark.parametrize('kind', ['springs', 'tendons'])
@pytest.mark.parametrize('stiffness', [20.0, 5.0, 0.01])
def test_a_stop_on_soft_springs_asks_no_more_of_the_motors_than_they_have(kind, stiffness):
    """θ̇ went from −3.1 to 3.1 rad/s in 1.4 ms, which would have taken 25 times the limit."""
    robot = robot_of(kind)
    controller, largest = AtHome(FeedForward(robot)), 0.0
    controller.evaluate(0)
    inertia = robot.actuators.motors[:, INERTIA]
    velocity, effort, _ = robot.actuators.motor_limits()

    def run(cycles):
        nonlocal largest
        for _ in range(cycles):
            before = controller.motors.reference.copy()
            controller.evaluate(controller.now + 2 * MS)
            after = controller.motors.reference
            taken = inertia * np.abs(after[1] - before[1]) / 2e-3
            assert (taken <= 2.0 * effort).all()
            assert (np.abs(after[1]) <= 1.051 * velocity).all()
            assert (np.abs(after[3]) <= 1.051 * effort).all()
            step = np.abs(after[0] - before[0] - 1e-3 * (after[1] + before[1]))
            assert (step <= 1e-6 + 2e-3**2 * effort / inertia).all()
            largest = max(largest, np.abs(after[1]).max())

    run(10)
    controller.set_stiffness(np.full(7, stiffness))
    run(1500)
    controller.follow(HOME + 0.5, 2.0, controller.now)
    run(400)
    controller.stop(controller.now)
    run(3000)
    assert largest > 0.5
    assert np.abs(controller.motors.reference[1]).max() < 1e-3
