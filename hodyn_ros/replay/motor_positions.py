"""Motion and efforts in one bandwidth: together they determine positions behind springs."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.replay.recorded_torques import Chunk
from hodyn_ros.robot import Robot

_BANDWIDTH = 6.0  # Hz: above that of motions; twice differentiated noise of efforts stays small
SHORTEST = 3.0
"""Least length of a run, s: in a shorter one, the ends of the filter are too large a part."""
_MARGIN = 0.3  # time at each end of a run in which derivatives are poor, s


def series_compliance(robot: Robot) -> Array:
    """Return 1/K of the joints, (n,); 0 without a spring or with several motors."""
    if robot.actuators is None:
        return np.zeros(robot.n)
    stiffness = np.where(np.isfinite(robot.actuators.stiffness), robot.actuators.stiffness, 0.0)
    is_series = (stiffness > 0.0) & (np.diff(robot.actuators.motor_of) == 1)
    return np.where(is_series, 1.0 / np.where(is_series, stiffness, 1.0), 0.0)


def with_rates(used: Chunk) -> tuple[Array, Array]:
    """Return motion, (S, 5, n), and efforts with two derivatives, (S, 3, n), through one filter.

    A spring also carries friction, so a motor moves abruptly where its joint turns back. Recorded
    efforts contain this friction, and so determine the deflection.
    """
    motions, efforts = [used.q[:0]], [used.q[:0, :3]]
    for run in np.split(np.arange(len(used.q)), np.flatnonzero(used.begins)):
        # Messages that repeat a sample have its instant.
        run = run[np.diff(used.instants[run], prepend=-1) > 0]
        if len(run) < 2:
            continue
        time = np.asarray(used.instants[run] - used.instants[run[0]], dtype=float) * 1e-9
        if time[-1] < SHORTEST:
            continue
        margin = min(int(_MARGIN * len(run) / time[-1]), len(run) // 4)
        inner = slice(margin, len(run) - margin)
        motion, effort = used.q[run], used.slow[run, 1]
        filtered = low_pass(time, np.hstack([motion.reshape(len(run), -1), effort]), _BANDWIDTH)
        q, slow = np.split(filtered, [motion[0].size], axis=1)
        rate = np.gradient(slow, time, axis=0)
        bend = np.gradient(rate, time, axis=0)
        # The filter bridges cut efforts, which must stay unknown.
        known = np.where(np.isfinite(effort) & np.isfinite(bend), slow, np.nan)
        motions.append(q.reshape(motion.shape)[inner])
        efforts.append(np.stack([known, rate, bend], axis=1)[inner])
    return np.concatenate(motions), np.concatenate(efforts)
