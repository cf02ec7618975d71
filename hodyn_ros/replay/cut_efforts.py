"""Finds efforts that are cut (clipped) at the value where a sensor, drive or message saturates."""
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.replay.comparison import percent

_LEAST, _SHARE = 10, 0.01  # least number, and least share, of samples at the value
_ABOVE = 0.1  # largest ratio of samples beyond the value, such as spikes, to samples at it
_MORE = 3.0  # least ratio of the samples at the value to the samples at the next lower value
_IN_RUNS = 0.5  # least share of the samples at the value that come three or more in a row
_BEYOND = 0.75  # least share of the samples in runs at which the prediction is beyond the value
# The prediction may lack a load. So it need not be beyond the largest of all values, if no run has
# more than the share _LONGEST of the samples in runs (a rest is one run), and if this value comes
# _OFTEN times as often as the median one.
_LONGEST, _OFTEN = 0.8, 10.0
# Least standard deviation of the prediction at the samples in runs, in steps of the resolution and
# as a share of the efforts' range: the effort of an arm at rest is constant as well.
_STEPS, _VARIES = 2.0, 0.02
_MOST = (0.02, 0.98)  # quantiles that bound the range of the efforts: spikes do not count


@dataclass(frozen=True, eq=False)
class CutEfforts:
    """The values at which efforts are cut."""

    #: `low`, `high`: (n,): the values, N m; infinite if the efforts of a joint are not cut
    low: Array
    high: Array
    share: Array  #: (n,): share of the samples that are cut
    largest: Array  #: (n,): largest absolute value of the prediction at the cut samples, N m

    def without(self, effort: Array) -> Array:
        """Return efforts, (T, n), with NaN in place of the cut ones."""
        with np.errstate(invalid='ignore'):
            return np.where((effort <= self.low) | (effort >= self.high), np.nan, effort)

    def sentences(self, names: Sequence[str]) -> list[str]:
        """Return a sentence about each joint whose efforts are cut."""
        said = []
        for name, low, high, share, largest in zip(
                names, self.low, self.high, self.share, self.largest, strict=True):
            values = [value for value in (low, high) if np.isfinite(value)]
            if values:
                changes = '' if largest > min(map(abs, values)) else 'changing torques '
                at = f'±{high:.4g}' if len(values) == 2 and np.isclose(-low, high) else (
                    ' and '.join(f'{value:.4g}' for value in values))
                said.append(
                    f'Efforts of {name} are cut at {at} N m ({percent(share)} of the samples), '
                    f'where the model predicts {changes}up to {largest:.3g} N m: a sensor, a '
                    'drive or a message saturates. These samples are left out. Record a larger '
                    'range, or move so that the efforts stay within it.')
        return said


def uncut(n: int) -> CutEfforts:
    """Return `CutEfforts` for n joints whose efforts are not cut."""
    return CutEfforts(np.full(n, -np.inf), np.full(n, np.inf), np.zeros(n), np.zeros(n))


def repeated_extremes(effort: Array) -> CutEfforts:
    """Return the extreme values, (n,), that efforts, (T, n), repeat in runs.

    The efforts may be cut there, or only have a coarse resolution: `cut_efforts` decides.
    """
    found = uncut(effort.shape[1])
    for j, own in enumerate(effort.T):
        for side, ends in ((-1.0, found.low), (1.0, found.high)):
            ends[j] = side * _repeated(side * own)
    return found


def cut_efforts(effort: Array, predicted: Array) -> CutEfforts:
    """Return the values at which efforts are cut, from efforts and predictions, (T, n), N m."""
    found = repeated_extremes(effort)
    for j, own in enumerate(effort.T):
        for side, ends in ((-1.0, found.low), (1.0, found.high)):
            if np.isfinite(ends[j]) and not _is_cut(
                    side * own, side * ends[j], side * predicted[:, j]):
                ends[j] = side * np.inf
    known = np.isfinite(effort)
    is_cut = known & np.isnan(found.without(effort))
    return CutEfforts(
        found.low, found.high, is_cut.sum(axis=0) / np.maximum(known.sum(axis=0), 1),
        np.abs(np.where(is_cut, predicted, 0.0)).max(axis=0, initial=0.0))


def _repeated(effort: Array) -> float:
    """Return a positive value that an effort, (T,), repeats in runs, with few samples beyond it.

    It is the largest value that occurs often; infinity if there is none.
    """
    values, counts = np.unique(effort[np.isfinite(effort)], return_counts=True)
    often = np.flatnonzero(counts >= max(_LEAST, _SHARE * counts.sum()))
    if not len(often) or not values[often[-1]] > 0.0 or len(values) == 1:
        return np.inf  # an effort that never changes is not a measurement
    at = often[-1]
    is_frequent = counts[at + 1:].sum() <= _ABOVE * counts[at] and (
        not at or counts[at] > _MORE * counts[at - 1])
    is_there = effort == values[at]
    return float(values[at]) if is_frequent and (
        _in_runs(is_there).sum() >= _IN_RUNS * counts[at]) else np.inf


def _is_cut(effort: Array, value: float, predicted: Array) -> bool:
    """Whether, in runs of samples at the value, the prediction varies, and exceeds it.

    It need not exceed a value that is the largest and is often repeated.
    """
    known = effort[np.isfinite(effort)]
    step = value - known[known < value].max(initial=-np.inf)
    in_runs = _in_runs(effort == value)
    there = predicted[in_runs]
    extent = max(float(np.ptp(np.quantile(known, _MOST))), value)
    counts = np.unique(known, return_counts=True)[1]
    ends = np.flatnonzero(np.diff(in_runs, prepend=False, append=False))
    is_repeated = known.max() == value and counts[-1] > _OFTEN * np.median(counts) and (
        np.diff(ends)[::2].max() < _LONGEST * len(there))
    return bool(
        (is_repeated or np.mean(there > value + step) >= _BEYOND)
        and np.std(there) > max(_STEPS * step, _VARIES * extent))


def _in_runs(is_there: Flags) -> Flags:
    """Return which samples, (T,), are among three or more marked ones in a row."""
    padded = np.pad(is_there, 2)
    three = padded[:-2] & padded[1:-1] & padded[2:]
    return three[:-2] | three[1:-1] | three[2:]
