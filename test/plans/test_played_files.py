"""Written plans, played by quintics through their samples, keep all limits."""
from dataclasses import replace

import numpy as np
import pytest

from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings
from hodyn_ros.plans.annotated_file import write_annotated_plan
from hodyn_ros.plans.files import read_trajectory
from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits

CENTRE = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
ENDINGS = ('.csv', '.yaml', '.json')
PER_PIECE = 41
SPRING, MOTOR_SPEED = 3000.0, 0.6


@pytest.fixture(scope='module')
def elastic(panda):
    joints = tuple(
        JointActuator(LinearSpring(SPRING), Motor(0.3, max_velocity=MOTOR_SPEED * speed))
        for speed in panda.limits.velocity)
    return replace(panda, friction=None, actuators=Actuators(panda.joint_names, joints))


def random_path(seed, reach=0.6):
    """Return times (m,) and random points (m, 7), a period, s, and the ending of a file."""
    rng = np.random.default_rng(seed)
    points = CENTRE + rng.uniform(-reach, reach, (int(rng.integers(2, 5)), 7))
    period, ending = np.exp(rng.uniform(np.log(2e-3), np.log(0.1))), rng.choice(ENDINGS)
    times = np.cumsum(rng.uniform(0.05, 0.6, len(points)))
    return times - times[0], points, float(period), str(ending)


def write(robot, times, points, period, path, **settings):
    return write_annotated_plan(
        PlanRequest(
            JointWaypoints(robot.joint_names, times.tolist(), points.tolist()),
            robot, PlanSettings(**settings), annotate_period=period), path)


def played(path):
    """Return q … q⁗, (T, 5, n), of the quintics through the samples of a file."""
    read = read_trajectory(path)
    h = np.diff(read.times)
    given = np.array([read.positions, read.velocities, read.accelerations]).swapaxes(0, 1)
    scaled = given[:, None] * np.ones((1, 2, 1, 1))  # in units of the piece before and after
    scaled[1:, 0] *= h[:, None, None] ** np.arange(3)[:, None]
    scaled[:-1, 1] *= h[:, None, None] ** np.arange(3)[:, None]

    def rows(s, orders):
        return np.array([
            [np.prod(np.arange(p - k + 1, p + 1)) * s ** max(p - k, 0) if p >= k else 0.0
             for p in range(6)] for k in orders])

    ends = np.concatenate([scaled[:-1, 1], scaled[1:, 0]], axis=1)
    pieces = np.linalg.solve(np.vstack([rows(0.0, range(3)), rows(1.0, range(3))]), ends)
    inside = np.array([rows(s, range(5)) for s in np.linspace(0.0, 1.0, PER_PIECE)])
    motion = np.einsum('skp,mpn->mskn', inside, pieces) / (
        h[:, None, None, None] ** np.arange(5)[:, None])
    return motion.reshape(-1, 5, given.shape[2])


def shares(robot, path):
    """Return the largest share of each limit that the played file uses, by quantity."""
    motion, limits = played(path), robot.limits
    torque = FeedForward(robot).torque(motion)
    centre = 0.5 * (limits.position_max + limits.position_min)
    signals = {
        'position': (motion[:, 0] - centre, limits.position_max - centre),
        'velocity': (motion[:, 1], limits.velocity),
        'acceleration': (motion[:, 2], limits.acceleration), 'jerk': (motion[:, 3], limits.jerk),
        'effort': (torque[:, 0], limits.effort), 'effort_rate': (torque[:, 1], limits.effort_rate)}
    if robot.actuators is not None:
        signals['motor_velocity'] = (
            motion[:, 1] + torque[:, 1] / SPRING, MOTOR_SPEED * limits.velocity)
    return {name: np.abs(values / limit).max() for name, (values, limit) in signals.items()}


@pytest.mark.parametrize('seed', range(6))
@pytest.mark.parametrize('name', ['panda', 'elastic'])
def test_a_retimed_file_keeps_all_limits_as_it_is_played(request, tmp_path, name, seed):
    robot = request.getfixturevalue(name)
    times, points, period, ending = random_path(seed)
    output = tmp_path / f'plan{ending}'
    assert write(robot, times, points, period, output, stretch='retime').refusal == ''
    found = shares(robot, output)
    assert max(found.values()) <= 1.0 + 1e-6, (period, found)


@pytest.mark.parametrize('seed', [12, 34, 44])
def test_a_stretched_file_keeps_all_limits_as_it_is_played(panda, tmp_path, seed):
    times, points, period, ending = random_path(seed, 0.15)
    output = tmp_path / f'plan{ending}'
    assert write(panda, times, points, period, output, stretch='auto').refusal == ''
    found = shares(panda, output)
    assert max(found.values()) <= 1.0 + 1e-6, (period, found)


def test_a_motion_from_a_moving_start_is_searched_again(panda, tmp_path):
    # It cannot be slowed down: its torque rate was 1.05 of the limit.
    times = np.linspace(0.0, 3.0, 10)
    given = [
        (0.4 * wave[:, None] * np.ones(7)).tolist() for wave in (np.sin(times), np.cos(times))]
    points = JointWaypoints(
        panda.joint_names, times.tolist(), (CENTRE + given[0]).tolist(), given[1])
    output = tmp_path / 'plan.csv'
    written = write_annotated_plan(PlanRequest(
        points, panda, PlanSettings(stretch='retime', allow_nonzero_velocity_at_end=True)), output)
    assert written.refusal == ''
    np.testing.assert_allclose(read_trajectory(output).velocities[0], 0.4)
    assert max(shares(panda, output).values()) <= 1.0 + 1e-6


def test_whole_nanoseconds_of_messages_cost_no_time(panda, tmp_path):
    # Positions at other times than the written ones are jerk, 60 v 1 ns / (1 ms)³.
    robot = with_scaled_limits(panda, {'jerk': 0.05})
    times, points, _, _ = random_path(0)
    as_text, as_message = (
        write(robot, times, points, 1e-3, tmp_path / f'plan{ending}', stretch='retime')
        for ending in ('.csv', '.yaml'))
    assert max(shares(robot, tmp_path / 'plan.yaml').values()) <= 1.0 + 1e-6
    assert as_message.plan.duration == pytest.approx(as_text.plan.duration, rel=1e-3)
