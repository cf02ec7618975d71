"""Computes the torques of a recorded motion, chunk by chunk."""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.estimation.derivatives import smooth
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.estimation.recorded_motion import MotionPiece, RecordedMotion, Runs, samples
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.replay.cut_efforts import CutEfforts, cut_efforts, repeated_extremes, uncut
from hodyn_ros.replay.effort_unit import effort_unit, in_joint_units, is_a_load
from hodyn_ros.replay.friction_fit import is_measured
from hodyn_ros.replay.gravity_share import CLEAR, contain_gravity, share_of_gravity
from hodyn_ros.replay.stalled_efforts import (
    StalledEfforts,
    none_stalled,
    seconds_unchanged,
    usual_efforts,
)
from hodyn_ros.replay.uncertainty import torque_deviation
from hodyn_ros.robot import HodynError

_DEVIATION_PERIOD = 0.1  # time between evaluations of the uncertainty, which changes slowly, s
_LACK = 0.25  # greatest part of the error's variance that remains without the model's friction


@dataclass(frozen=True, eq=False)
class Chunk(MotionPiece):
    """Motion and torques at consecutive messages."""

    #: `torque`, `deviation`: (T, 3, n): Q, Q̇, Q̈, N m/sᵏ, and their standard deviations,
    #: propagated from those of the motion. NaN at messages whose motion is not known; deviations
    #: are also NaN if they are not computed.
    torque: Array
    deviation: Array
    effort: Array  #: (T, n): the recorded effort, N m; NaN where it is cut or stands still
    #: (T, 2, n): the prediction of the recorded effort, and its rate: Q and Q̇, without gravity if
    #: the driver's efforts do not contain it
    predicted: Array
    #: (T, 2, n): predicted and recorded effort, both within the bandwidth of the motion, N m
    slow: Array


@dataclass(frozen=True)
class EffortContents:
    """Gravity and unit of the recorded efforts."""

    #: The share of the gravity torque in the efforts, by least squares: about 1 if they contain
    #: gravity, 0 if the driver subtracts it, −1 if the arm hangs and the model does not; NaN if no
    #: effort changes or there is no gravity torque. Joints whose effort never changes are left
    #: out. See `share_of_gravity`.
    gravity_share: float
    #: Ratio of efforts in another unit to the model's torques, see `effort_unit`; such efforts are
    #: assumed to contain gravity. NaN if the efforts may be in N m.
    factor: float
    are_recorded: bool  #: Whether any effort is recorded
    gear_ratios: Array  #: (n,): see `effort_unit`
    #: (n,): 0.9-quantile of each joint's absolute efforts, over its limit
    of_limits: Array
    cut: CutEfforts  #: The values at which the efforts are cut
    stalled: StalledEfforts  #: When the efforts stand still though the arm moves
    #: (n,): joints whose efforts lack all of the model's friction, and little else
    lack_friction: Flags

    @property
    def with_gravity(self) -> bool:
        """Whether the efforts are assumed to contain gravity."""
        return contain_gravity(self.gravity_share) or bool(np.isfinite(self.factor))

    def sentences(self, names: Sequence[str]) -> list[str]:
        """Return a sentence about each kind of efforts that are left out."""
        return [*self.cut.sentences(names), *self.stalled.sentences(names)]


def effort_contents(motion: RecordedMotion, feedforward: FeedForward) -> EffortContents:
    """Return gravity and unit of the efforts, from the parts to which the smoother is fitted."""
    parts: list[list[NDArray[Any]]] = []
    first = 0
    for window, run in motion.sampled:
        try:
            q = smooth(samples(window, run), motion.noise).q
        except HodynError:
            continue  # cannot be smoothed; its messages count as unused in the computed pieces
        block = first + np.floor(run.time).astype(np.intp)
        first = int(block[-1]) + 1
        seconds = seconds_unchanged(window.effort, motion.timing_statistics.period)
        parts.append([
            q, window.effort[run.first_message], seconds[run.first_message],
            feedforward.torque(q)[:, 0],
            *(feedforward.torque(q, gravity=False, friction=friction)[:, 0]
              for friction in (True, False)), block])
    changes, n = is_measured(motion.efforts), feedforward.robot.n
    are_recorded = bool(np.isfinite(motion.efforts).any())
    if not parts:
        return EffortContents(
            np.nan, np.nan, are_recorded, np.full(n, np.nan), np.zeros(n), uncut(n),
            none_stalled(n), np.zeros(n, dtype=bool))
    q, effort, seconds, torque, weightless, inertial, block = map(
        np.concatenate, zip(*parts, strict=True))
    velocity, gravity, limit = q[:, 1], torque - weightless, feedforward.robot.limits.effort
    usual = seconds, effort, velocity, np.stack([inertial, gravity])
    stalled = usual_efforts(*usual)
    effort = np.where(stalled.stalled(*usual), np.nan, effort)
    large = np.quantile(np.nan_to_num(np.abs(effort)), 0.9, axis=0)

    def contents(cut: CutEfforts) -> EffortContents:
        known = cut.without(effort)
        measured = np.isfinite(known) & changes
        factor, gear_ratios = effort_unit(
            gravity, inertial, velocity, effort, measured, block, limit)
        if factor > 1.0 and is_a_load(feedforward, q, np.where(measured, effort, np.nan)):
            factor = np.nan
        rest = np.where(measured, in_joint_units(known, gear_ratios) - weightless, np.nan)
        share = share_of_gravity(gravity, rest, velocity)
        return EffortContents(
            share, factor, are_recorded, gear_ratios, large / limit, cut, stalled, _lack(
                weightless - inertial, rest - gravity if contain_gravity(share) else rest))

    inside = contents(repeated_extremes(effort))
    factor = inside.factor if np.isfinite(inside.factor) else 1.0
    return contents(cut_efforts(
        effort, factor * (torque if inside.with_gravity else weightless)))


def _lack(friction: Array, error: Array) -> Flags:
    """Return which efforts, (n,), lack the model's friction, (T, n), given their error, (T, n).

    They contain none of it, and the error is little else.
    """
    known = np.isfinite(error)
    count = np.maximum(known.sum(axis=0), 1)
    friction, error = (np.where(known, each, 0.0) for each in (friction, error))
    friction, error = (
        np.where(known, each - each.sum(axis=0) / count, 0.0) for each in (friction, error))
    contained = 1.0 + np.sum(friction * error, axis=0) / np.maximum(
        np.sum(friction ** 2, axis=0), 1e-300)
    return np.asarray((np.abs(contained) < CLEAR) & (
        np.sum((error + friction) ** 2, axis=0) < _LACK * np.sum(error ** 2, axis=0)))


class RecordedTorques:
    """Computes the torques of a recorded motion, from an open bag.

    The bandwidth, Hz, is by default the most likely one. The standard deviations of the torques
    are the longest computation; without `deviations`, they are NaN.
    """

    def __init__(
        self, bag: JointStateBag, feedforward: FeedForward, *, bandwidth: float | None = None,
        deviations: bool = True,
    ) -> None:
        self.motion = RecordedMotion(bag, bandwidth=bandwidth)
        #: Gravity and unit of the recorded efforts. The share of cut efforts is that of the parts
        #: to which the smoother is fitted and, once all chunks are computed, of the recording
        self.efforts = effort_contents(self.motion, feedforward)
        self._feedforward, self._deviations = feedforward, deviations
        self._every = max(1, int(_DEVIATION_PERIOD / self.motion.noise.step))

    def chunks(self, progress: Callable[[int], None] | None = None) -> Iterator[Chunk]:
        """Compute chunk after chunk, each while the caller uses the previous one.

        `progress` is called with the number of messages done since the last call.
        """
        factor = self.efforts.factor if np.isfinite(self.efforts.factor) else 1.0
        known, cut, largest = np.zeros((3, self._feedforward.robot.n))
        stalled, begin = self.efforts.stalled, None
        for chunk in self.motion.evaluated(self._chunk):
            recorded, period = chunk.states.effort, self.motion.timing_statistics.period
            is_known = np.isfinite(recorded)
            is_cut = is_known & np.isnan(self.efforts.cut.without(recorded))
            if begin is None and chunk.used.any():
                begin = int(chunk.instants[chunk.used][0])
            stalled = stalled.with_found(
                is_known & np.isnan(chunk.effort) & ~is_cut, chunk.instants - (begin or 0),
                period)
            known, cut = known + is_known.sum(axis=0), cut + is_cut.sum(axis=0)
            there = np.where(is_cut, np.abs(chunk.predicted[:, 0]), 0.0)
            largest = np.fmax(largest, np.fmax.reduce(there, axis=0, initial=0.0))
            yield chunk
            if progress is not None:
                progress(len(chunk.stamps))
        self.efforts = replace(self.efforts, stalled=stalled, cut=replace(
            self.efforts.cut, share=cut / np.maximum(known, 1.0), largest=factor * largest))

    def _stalled(self, piece: MotionPiece) -> Flags:
        usual, effort = self.efforts.stalled, piece.states.effort
        seconds = seconds_unchanged(effort, self.motion.timing_statistics.period)
        found, rows = np.zeros(effort.shape, np.bool_), piece.used & (
            seconds > usual.least).any(axis=1)
        if rows.any():
            q = piece.q[rows]
            whole, inertial = (
                self._feedforward.torque(q, gravity=gravity, friction=False)[:, 0]
                for gravity in (True, False))
            found[rows] = usual.stalled(
                seconds[rows], effort[rows], q[:, 1], np.stack([inertial, whole - inertial]))
        return found

    def _chunk(self, piece: MotionPiece, runs: Runs, inner: slice) -> Chunk:
        count, _, n = piece.q.shape
        effort = self.efforts.cut.without(np.where(
            self._stalled(piece), np.nan, piece.states.effort))
        torque, deviation = (np.full((count, 3, n), np.nan) for _ in range(2))
        predicted, slow = (np.full((count, 2, n), np.nan) for _ in range(2))
        for run, motion in runs:
            found = self._feedforward.torque(motion.q)
            torque[run.message] = found[run.sample]
            if self._deviations:
                deviation[run.message] = torque_deviation(
                    self._feedforward, motion, self._every)[run.sample]
            if not self.efforts.with_gravity:
                found = self._feedforward.torque(motion.q, gravity=False)
            predicted[run.message] = found[run.sample, :2]
            both = np.stack([found[:, 0], effort[run.first_message]], axis=1)
            slow[run.message] = low_pass(
                run.time, both.reshape(len(both), -1), self.motion.bandwidth,
            ).reshape(both.shape)[run.sample]
        # The filter bridges efforts that are left out, which must stay unknown.
        slow[:, 1] = np.where(np.isnan(effort), np.nan, slow[:, 1])
        return Chunk(
            **vars(piece), torque=torque, deviation=deviation, effort=effort, predicted=predicted,
            slow=slow)[inner]
