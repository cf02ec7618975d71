"""Positions of motors in place of the links', shown by the deflection under recorded efforts."""
from dataclasses import replace

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_unit import in_joint_units
from hodyn_ros.replay.friction_fit import FrictionFit, is_measured
from hodyn_ros.replay.misreading import STILL, Fit, series_compliance
from hodyn_ros.replay.reading import Reading
from hodyn_ros.replay.recorded_torques import Chunk, EffortContents
from hodyn_ros.robot import Robot

_BANDWIDTH = 6.0  # Hz: the motion is slower, and the noise of efforts, differentiated twice, small
_MARGIN = 0.3  # time at each end of a run in which derivatives are poor, s
_MOST = 2000  # number of samples of a piece
_SHOWS = 0.003  # unexplained share of the efforts from which another reading is tried
_BETTER = 0.4  # greatest part of this share that it may leave; other mistakes leave most of it


class MotorPositions:
    """Compares recorded positions with those of links and of motors.

    The model's torque tells the deflection of a spring only if the motion is smooth up to its
    fourth derivative. With friction, which a spring carries as well, motors move abruptly wherever
    a joint turns back. Recorded efforts tell the deflection whatever the friction is; efforts and
    motion go through the same filter.
    """

    def __init__(self, robot: Robot) -> None:
        self._compliance = series_compliance(robot)
        self._pieces: list[tuple[Array, Array, Array]] = []

    @property
    def has_springs(self) -> bool:
        """Whether positions of motors and links differ."""
        return bool(self._compliance.any())

    def add(self, used: Chunk) -> None:
        """Add the used messages of a piece."""
        if not self.has_springs:
            return
        stride = len(used.q) // _MOST + 1
        for run in np.split(np.arange(len(used.q)), np.flatnonzero(used.begins)):
            # Messages that repeat a sample have its instant.
            run = run[np.diff(used.instants[run], prepend=-1) > 0]
            time = np.asarray(used.instants[run] - used.instants[run[:1]], dtype=float) * 1e-9
            inner = np.flatnonzero((time > _MARGIN) & (time < time[-1:] - _MARGIN))[::stride]
            if not len(inner):
                continue
            motion, effort = used.q[run], used.slow[run, 1]
            filtered = low_pass(
                time, np.hstack([motion.reshape(len(run), -1), effort]), _BANDWIDTH)
            q, slow = np.split(filtered, [motion[0].size], axis=1)
            rate = np.gradient(slow, time, axis=0)
            efforts = np.stack([slow, rate, np.gradient(rate, time, axis=0)], axis=1)
            # Across cut efforts, the filter is no measurement.
            known = np.where(np.isnan(effort), np.nan, slow)
            self._pieces.append(
                (q.reshape(motion.shape)[inner], efforts[inner], known[inner]))

    def fit(self, feedforward: FeedForward, contents: EffortContents) -> Fit | None:
        """Return the fit of positions of motors, if it is far better than that of the links'."""
        if not self._pieces or not contents.with_gravity or np.isfinite(contents.factor):
            return None
        q, efforts, effort = (
            np.concatenate(values) for values in zip(*self._pieces, strict=True))
        efforts, effort = (
            in_joint_units(values, contents.gear_ratios) for values in (efforts, effort))
        judged = is_measured(effort)
        known = np.isfinite(effort[:, judged]).all(axis=1)
        q, efforts, effort = q[known], efforts[known], effort[known]
        if not (judged.any() and known.any()):
            return None
        if np.sqrt(np.mean(q[:, 1] ** 2, axis=0)).max() < STILL:
            return None
        links = q.copy()
        links[:, :3] -= self._compliance * np.nan_to_num(efforts)
        start, left = (
            min(_unexplained(feedforward, motion, effort, friction)[judged].mean()
                for friction in (False, True)) for motion in (q, links))
        if start < _SHOWS or left > _BETTER * start:
            return None
        reading = replace(Reading.plain(effort.shape[1]), are_of_motors=True)
        return Fit(float(start), reading, float(left))


def _unexplained(feedforward: FeedForward, q: Array, effort: Array, friction: bool) -> Array:
    """Return the share of each joint's efforts, (n,), that the model leaves unexplained."""
    fit = FrictionFit(effort.shape[1], 1)
    predicted = feedforward.torque(q, friction=friction)[:, 0]
    fit.add(q[:, 1], (predicted,), effort, np.isfinite(effort))
    return fit.unexplained()
