"""Finds efforts that stop changing while their joint moves on: a driver or a sensor stopped."""
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Stamps
from hodyn_ros.replay.friction_fit import COULOMB_WIDTH

_LONG = 1.0  # shortest standstill of an effort that counts, s: some drivers refresh them rarely
_USUAL, _TIMES = 0.95, 10.0  # a standstill lasts this many times longer than nearly all others
_LEAST = 50  # least number of samples that show how long an effort usually stands still
_MOVES = 0.01  # least median velocity of the joint, rad/s or m/s
# Least standard deviation of the expected effort during a standstill, over the effort's range, and
# in steps of its resolution: coarse efforts stand still as long as they hardly should change.
_VARIES, _STEPS = 0.1, 2.0
_FEW = 2  # largest number of standstills; with more, the effort is one of few values
_MOST = (0.02, 0.98)  # quantiles that bound the usual range: spikes do not count
_WHOLE = 0.9  # share of the time between two instants that counts as all of it


def seconds_unchanged(effort: Array, period: float) -> Array:
    """Return for how long, s, each effort stands still around each message.

    `effort`, (T, n), are those of consecutive messages, one `period`, s, apart.
    """
    runs = np.cumsum(np.diff(effort, axis=0, prepend=np.nan) != 0.0, axis=0)
    return period * np.stack([np.bincount(run)[run] for run in runs.T], axis=1)


@dataclass(frozen=True, eq=False)
class StalledEfforts:
    """When efforts stand still though the joint moves."""

    #: (n,): shortest standstill that counts, s; infinite if an effort is not measured
    least: Array
    #: (n,): least standard deviation of the expected effort during a standstill, N m
    varies: Array
    #: (5, n): the expected effort, from inertial torque, gravity torque, friction and a constant
    coefficients: Array
    #: (2, n): smallest and largest effort, N m: at these, efforts are cut
    ends: Array
    #: (3, n): time of the first and of the last effort that stands still, s since the first used
    #: message, and how long all of them last, s; NaN, NaN and 0 if there are none
    found: Array

    def stalled(
        self, seconds: Array, effort: Array, velocity: Array, torques: Array,
    ) -> Flags:
        """Return which efforts stand still, (T, n), though they should change.

        - `seconds`, (T, n), s: see `seconds_unchanged`.
        - `effort`, (T, n), N m, and `velocity`, (T, n), rad/s.
        - `torques`, (2, T, n), N m: the model's without gravity and friction, and of gravity.
        """
        expected = np.clip(np.einsum(
            'ktn,kn->tn', _signals(velocity, torques), self.coefficients), *self.ends)
        found = np.zeros(effort.shape, np.bool_)
        for j in np.flatnonzero((seconds > self.least).any(axis=0)):
            lasts = (seconds[:, j] > self.least[j]) & np.isfinite(effort[:, j])
            for value in np.unique(effort[lasts, j]):
                there = lasts & (effort[:, j] == value)
                is_end = (0.0 > value == self.ends[0, j]) or (0.0 < value == self.ends[1, j])
                found[there, j] = not is_end and np.median(
                    np.abs(velocity[there, j])) > _MOVES and np.std(
                        expected[there, j]) > self.varies[j]
        # Together with those of all other joints, also the efforts of a joint at rest have ended.
        stands = seconds > _LONG
        is_measured = np.isfinite(self.least)
        ended = found.any(axis=1, keepdims=True) & (
            stands | ~is_measured).all(axis=1, keepdims=True)
        return np.asarray(found | (ended & stands & is_measured))

    def with_found(self, stalled: Flags, passed: Stamps, period: float) -> 'StalledEfforts':
        """Return this with more efforts found, (T, n).

        They are `passed`, (T,), ns, after the first used message, and last a `period`, s, each.
        """
        first, last, seconds = self.found
        begin, end = (choose.reduce(
            np.where(stalled, 1e-9 * passed[:, np.newaxis], none), axis=0, initial=none)
            for choose, none in ((np.minimum, np.inf), (np.maximum, -np.inf)))
        there = stalled.any(axis=0)
        return replace(self, found=np.stack([
            np.where(there, np.fmin(first, begin), first),
            np.where(there, np.fmax(last, end), last), seconds + period * stalled.sum(axis=0)]))

    def sentences(self, names: Sequence[str]) -> list[str]:
        """Return a sentence about the joints whose efforts stand still, if any."""
        spans: dict[str, list[str]] = {}
        for name, first, last, seconds in zip(names, *self.found.tolist(), strict=True):
            if seconds > 0.0:
                spans.setdefault(
                    f'from t = {first:.4g} s to {last:.4g} s'
                    if seconds > _WHOLE * (last - first) else
                    f'for {seconds:.3g} s between t = {first:.4g} s and {last:.4g} s', []
                ).append(name)
        clauses = '; '.join(f'{", ".join(those)} {span}' for span, those in spans.items())
        return [
            f'Efforts stand still while the arm moves on: {clauses}. Did the driver, or a sensor, '
            'stop? This part of these efforts is left out; record it again if it matters.'
        ] if clauses else []


def usual_efforts(
    seconds: Array, effort: Array, velocity: Array, torques: Array,
) -> StalledEfforts:
    """Return how long efforts usually stand still, and their ranges, with none found yet.

    The arguments are those of `StalledEfforts.stalled`.
    """
    none, signals = none_stalled(effort.shape[1]), _signals(velocity, torques)
    for j, own in enumerate(effort.T):
        usual = np.isfinite(own) & (seconds[:, j] <= _LONG)
        moves = np.abs(velocity[:, j]) > _MOVES
        moving, lasting = usual & moves, np.isfinite(own) & (seconds[:, j] > _LONG)
        run = np.cumsum(np.diff(own, prepend=np.nan) != 0.0)[lasting]
        stands = np.bincount(run, moves[lasting]) > 0.5 * np.maximum(np.bincount(run), 1)
        if np.count_nonzero(moving) < _LEAST or np.count_nonzero(stands) > _FEW:
            continue
        none.least[j] = max(_LONG, _TIMES * np.quantile(seconds[moving, j], _USUAL))
        low, high = np.quantile(own[usual], _MOST)
        step = np.diff(np.unique(own[usual])).min(initial=np.inf)
        none.varies[j] = max(_VARIES * (high - low), _STEPS * step)
        none.coefficients[:, j] = np.linalg.lstsq(
            signals[:, usual, j].T, own[usual], rcond=None)[0]
    return replace(none, ends=np.stack([np.fmin.reduce(effort), np.fmax.reduce(effort)]))


def none_stalled(n: int) -> StalledEfforts:
    """Return `StalledEfforts` of n joints whose efforts never stand still."""
    return StalledEfforts(
        np.full(n, np.inf), np.full(n, np.inf), np.zeros((5, n)), np.full((2, n), np.nan),
        np.stack([np.full(n, np.nan), np.full(n, np.nan), np.zeros(n)]))


def _signals(velocity: Array, torques: Array) -> Array:
    """Return the signals, (5, T, n), that the expected effort is made of."""
    return np.stack([
        *torques, np.tanh(velocity / COULOMB_WIDTH), velocity, np.ones_like(velocity)])
