"""What goes over from curve to curve stays between them, however often it has to."""
from controllers import HOME, controller_at_home
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hodyn_ros.actuators.motor_side import MotorSide
from hodyn_ros.feedforward.motor_stage import MotorStage
from hodyn_ros.feedforward.output_curve import BANDWIDTH
from hodyn_ros.feedforward.output_stage import OutputStage
from hodyn_ros.feedforward.torque_output import TorqueOutput
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot.files import with_actuators

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
    robot = with_actuators(panda, {'actuators': {
        joint: {'law': 'spring', 'stiffness': 3000.0, 'motor': {'inertia': 0.5}}
        for joint in panda.joint_names}})
    side = MotorSide(robot.actuators)
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
    motion, torque = np.zeros((5, panda.n)), np.zeros((3, panda.n))
    for k in range(3000):
        motion[:4] = swing(DT * k)[:, np.newaxis]
        torque[:] = 50.0 * motion[:3]
        stage.evaluate(motion, torque, None, DT)
        published.append(stage.reference.copy())
    theta = np.array(published)[:, 0]
    assert np.abs(theta).max() <= (1.0 + 50.0 / 3000.0) * (SIZE + ON_THE_WAY)


def test_a_model_without_numbers_in_every_other_cycle_holds_the_torque(monkeypatch, feedforward):
    controller = controller_at_home(feedforward)
    controller.reference.follow(fit_plan([0.0, 2.0], [HOME, HOME + 0.3]), 0)
    true, cycles = TorqueOutput.want, [0]

    def want(output, *arguments):
        true(output, *arguments)
        if cycles[0] % 2:
            output.wanted[:] = np.nan

    monkeypatch.setattr(TorqueOutput, 'want', want)
    wanted, published = [], []
    for cycles[0] in range(2500):
        controller.evaluate(1_000_000 * cycles[0])
        wanted.append(feedforward.torque(controller.q))
        published.append(controller.output.copy())
    wanted, published = np.array(wanted), np.array(published)
    on_the_way = 5.0 * np.abs(wanted[:, 1]).max(axis=0) / BANDWIDTH
    assert (published[:, 0] <= wanted[:, 0].max(axis=0) + on_the_way).all()
    assert (published[:, 0] >= wanted[:, 0].min(axis=0) - on_the_way).all()
