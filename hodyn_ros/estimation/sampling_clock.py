"""The instants at which samples were taken, where they show: the clock behind late stamps.

Who polls a controller, or receives its samples through a buffer, stamps them late, by up to a
period or more and each by another time. The samples themselves tell how much time lies between
them: all joints advance by velocity times interval. Where these intervals are whole multiples of
one period, the period is measured and the samples are counted by it: as the intervals say, and
held to the stamps where these say too little, by a dynamic program (Viterbi). The stamps are taken
as they are where no clock shows, or where they agree with the positions as well.
"""
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.bursts import burst_size, newest_of_bursts, spread_out
from hodyn_ros.estimation.clock_drift import (
    BOUND,
    MIN_PART,
    drift_line,
    line_between,
    mean_course,
    where_set,
)
from hodyn_ros.estimation.period_count import count_periods
from hodyn_ros.estimation.period_search import TOLD, common_period, period_by_stamps
from hodyn_ros.estimation.state_intervals import median, state_intervals

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_MOVE = 20
"""Samples are counted within this many periods of their stamps, those held up spread out."""

_MIN_TOLD = 20  # intervals that are well measured, to speak of a clock
_BETTER = 0.95  # of the squared misfit under the stamps: what a clock must reach
_CLOSER = 0.5  # of the median misfit of counts: stamps that are as close tell uneven sampling
_COHERENT = 0.7  # mean cosine of the intervals' phases in a period, to speak of multiples
_PASSES = 4
_MIN_REPEATS = 5  # samples read twice that show a reader who polls
_ODD, _FEW_ODD = 1e-2, 2e-3  # shares of odd intervals from which a part of the period is tried
_MANY = 5  # intervals: from so many on, few count
_CLEARLY = 0.9  # of the misfit, as a share of the period: what a part of it must reach
_DISTINCTLY = 0.1  # of the share that is off: for slopes by which intervals are odd as well
_STRAYING = 0.1  # share of instants beyond their bounds from which these are not believed


@dataclass(frozen=True, eq=False)
class Instants:
    """When samples were taken.

    Attributes
    ----------
    time : (S,) array
        s, on the clock of the stamps; strictly increasing between `breaks`.
    period : float
        The sampling period, s; NaN where the stamps are taken as they are.
    told : (S,) bool array
        Whether the samples themselves tell the interval before each one.
    breaks : (B,) int array
        Samples before which the clock of the stamps was set.
    misfit : float
        RMS by which the steps of the stamps contradict the positions, beyond noise, s; NaN where
        these say too little.

    """

    time: Array
    period: float
    told: NDArray[np.bool_]
    breaks: Indices
    misfit: float


def sampling_instants(
    stamps: Array, older: Array, position: Array, velocity: Array,
) -> Instants:
    """Return the instants of samples.

    Parameters
    ----------
    stamps : (S,) array
        s, strictly increasing.
    older : (S,) array
        The last stamp under which an older sample was seen, s; −∞ where none was. Later than the
        stamp of the sample before where that was read more than once.
    position, velocity : (S, n) arrays
        rad, rad/s; velocities NaN where not recorded.

    """
    as_stamped = Instants(
        stamps, np.nan, np.zeros(len(stamps), dtype=bool), np.empty(0, dtype=np.intp), np.nan)
    if len(stamps) <= _MIN_TOLD:
        return as_stamped
    # Velocities are slopes over time: stamps in bursts are worse for these than their mean course.
    typical = float(stamps[-1] - stamps[0]) / (len(stamps) - 1)
    burst = burst_size(np.diff(stamps), typical)
    recorded = stamps
    polled = np.count_nonzero(older[1:] > stamps[:-1]) >= _MIN_REPEATS
    if burst == 1 and not polled:
        stamps = spread_out(stamps, typical)
    tried = []
    course = mean_course(stamps, burst)
    ways = [(stamps, True), (course, True)]
    if burst > 1 and not np.isnan(velocity).any():
        ways.append((course, False))
    for time, slopes in ways:
        measured = state_intervals(time, position, velocity, slopes=slopes)
        tried.append((*common_period(*measured, typical), *measured))
    (coherence, start, interval, deviation), other = sorted(tried, key=lambda one: -one[0])[:2]
    if coherence < _COHERENT:
        told = deviation < TOLD * typical
        before = np.minimum(np.abs(np.diff(recorded) - interval)[told], typical)
        return replace(as_stamped, misfit=_beyond(before, deviation[told]))
    found = _fit(stamps, position, velocity, start, interval, deviation)
    if other[0] >= _COHERENT and abs(other[1] - start) > 0.1 * start:
        # Intervals are multiples of a part of their period as well: the counts tell which it is.
        second = _fit(stamps, position, velocity, *other[1:])
        if second.share_off < found.share_off:
            found, (_, start, interval, deviation) = second, other
    if found.is_odd and (burst > 1 or np.isnan(velocity).any()):
        # Single steps that are longer than the others are hidden by slopes taken over them.
        beside = _fit(stamps, position, velocity, start, *state_intervals(
            stamps if burst == 1 else course, position, velocity, apart=True),
            apart=True)
        if beside.share_off < (_DISTINCTLY if beside.is_odd else 1.0) * found.share_off:
            found = beside
    for divisor in (2, 3):
        if not found.is_odd:
            break
        finer = _fit(stamps, position, velocity, start / divisor, interval, deviation)
        if finer.share_off < _CLEARLY * found.share_off:
            found = finer
    if np.count_nonzero(found.told) < _MIN_TOLD:
        return as_stamped
    told, noise = found.told, found.deviation[found.told]
    before = np.minimum(np.abs(np.diff(recorded) - found.interval)[told], found.period)
    misfit = _beyond(before, noise)
    as_stamped = replace(as_stamped, misfit=misfit)
    if median(before) < _CLOSER * median(found.off[found.told]):
        return as_stamped  # sampled unevenly, as the stamps say
    if not polled and not len(found.breaks):
        # Only the newest sample of a burst is as late as others: by nothing but its way.
        newest = np.arange(len(stamps)) if burst == 1 else newest_of_bursts(
            np.diff(stamps), typical)
        at = where_set((stamps - found.period * found.count)[newest], found.period)
        found = replace(found, breaks=newest[at - 1] + 1)
    if len(found.breaks):
        if len(found.breaks) * MIN_PART > len(stamps):
            return as_stamped
        # The clearest one alone: it bends the drift, by which others seem to be.
        worst = int(found.breaks[np.argmax(found.off[found.breaks - 1])])
        return _joined([
            sampling_instants(recorded[part], older[part], position[part], velocity[part])
            for part in (slice(worst), slice(worst, None))])
    if not found.misfit ** 2 < min(
            _BETTER * np.mean(before ** 2), (0.2 * found.period) ** 2):
        return as_stamped
    time = found.period * found.count
    if polled:
        # The last look at an older sample bounds each instant too: closer than the stamps alone.
        older = np.maximum(older, stamps - 3.0 * found.period)
        for _ in range(_PASSES):
            line = line_between(older - time, stamps - time, found.period)
            outside = time + line - np.clip(time + line, older, stamps)
            spread = max(BOUND * found.period, 1.5 * float(np.median(np.abs(outside))))
            before, time = time, found.period * count_periods(
                older - line, stamps - line, found.interval, found.deviation, found.period,
                spread, MAX_MOVE)
            if np.array_equal(before, time):
                break
        time = time + line_between(older - time, stamps - time, found.period)
        outside = np.abs(time - np.clip(time, older, stamps))
        if np.mean(outside > 0.3 * found.period) > _STRAYING:
            return as_stamped
    else:
        time = time + found.drift
        # A state is never stamped before it was sampled; a delay common to all does not show.
        time = time + np.quantile(recorded - time, 1e-3)
    # Nobody who reads at all keeps on reading what was long ago.
    half, most = np.quantile(np.abs(stamps - time), (0.5, 0.9)) - typical
    if np.any(np.diff(time) <= 0.0) or half > (1 + burst) * found.period or (
            most > (4 + 2 * burst) * found.period):
        return as_stamped
    period = float((time[-1] - time[0]) / (found.count[-1] - found.count[0]))
    return Instants(time, period, np.append(told[:1], told), found.breaks, misfit)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Samples counted by a period.

    Attributes
    ----------
    period : float
        s.
    count : (S,) array
        The number of the period in which each sample was taken.
    drift : (S,) array
        The stamps less period times count, without jitter, s.
    interval, deviation : (S−1,) arrays
        The time between samples as the positions tell it, and its standard deviation, s.
    told : (S−1,) bool array
        Where that is good enough to count by.
    off : (S−1,) array
        How far the counts are from the intervals, s.
    breaks : (B,) int array
        Samples before which the clock of the stamps was set.
    misfit : float
        RMS by which counts contradict the intervals, s.
    odd : float
        Share of intervals that are clearly no whole multiple of the period.

    """

    period: float
    count: Array
    drift: Array
    interval: Array
    deviation: Array
    told: NDArray[np.bool_]
    off: Array
    breaks: Indices
    misfit: float
    odd: float

    @property
    def share_off(self) -> float:
        """The misfit as a share of the period, to compare periods by."""
        return self.misfit / self.period

    @property
    def is_odd(self) -> bool:
        """Whether a part of the period, or slopes that are taken otherwise, may fit better."""
        return self.odd >= _ODD or (
            self.odd >= _FEW_ODD and self.odd * float(np.sum(self.told)) >= _MANY)


def _fit(
    stamps: Array, position: Array, velocity: Array, period: float, interval: Array,
    deviation: Array, *, apart: bool = False,
) -> _Fit:
    told = deviation < TOLD * period
    # A wrong count bends the time that velocities are taken over until intervals agree with it.
    odd = _odd(np.abs(interval - period * np.round(interval / period)), deviation, period)
    period = period_by_stamps(period, stamps, interval, told)
    drift, spread = np.zeros(len(stamps)), 5.0 * period
    count = np.empty(0)
    for _ in range(_PASSES):
        # Who polls reads states of any age within a period: these are all alike.
        late = stamps - drift
        before, count = count, count_periods(
            late - 0.6 * period, late + 0.6 * period, interval, deviation, period, spread,
            MAX_MOVE)
        if np.array_equal(before, count):
            break  # so would be all that follows from it
        drift = drift_line(stamps - period * count)
        period += (drift[-1] - drift[0]) / (count[-1] - count[0])
        drift = drift_line(stamps - period * count)
        time = period * count + drift
        spread = float(np.clip(
            np.std(stamps - time), 0.5 * period, 3.0 * period))
        if np.any(np.diff(time) <= 0.0):
            break  # the clock was set back
        interval, deviation = state_intervals(time, position, velocity, apart=apart)
    told = deviation < TOLD * period
    steps = period * np.diff(count)
    off = np.abs(steps - interval)
    breaks = _breaks(steps, off, deviation, period)
    return _Fit(
        period, count, drift, interval, deviation, told, off,
        np.flatnonzero(breaks) + 1,
        float(np.sqrt(np.mean(np.minimum(off[told], period) ** 2))) if told.any() else np.inf,
        max(odd, _odd(off[~breaks], deviation[~breaks], period)))


def _odd(off: Array, deviation: Array, period: float) -> float:
    """Return the share of the clear intervals that are far off what they are counted as."""
    clear = deviation < 0.1 * period
    return float(np.mean(off[clear] > 0.3 * period)) if clear.any() else 0.0


def _breaks(steps: Array, off: Array, deviation: Array, period: float) -> NDArray[np.bool_]:
    """Return where the clock was set: steps that well known intervals contradict by `off`, (S−1,).

    Among intervals that agree: where the arm shakes, they are wrong, and their neighbours too.
    """
    near = np.lib.stride_tricks.sliding_window_view(np.pad(off, 7), 15)
    alone = np.median(near, axis=1) < 0.2 * period
    told = deviation < TOLD * period
    breaks = (steps <= 0.0) | (
        told & alone & (off > np.maximum(0.6 * period, 6.0 * deviation)))
    breaks[:MIN_PART // 2] = breaks[len(breaks) - MIN_PART // 2:] = False
    return np.asarray(breaks)


def _joined(parts: list[Instants]) -> Instants:
    """Return parts of a recording one after the other, with breaks between them."""
    lengths = np.array([len(part.time) for part in parts])
    offsets = np.cumsum(lengths) - lengths
    return Instants(
        np.concatenate([part.time for part in parts]),
        _mean([part.period for part in parts], lengths),
        np.concatenate([part.told for part in parts]),
        np.sort(np.concatenate([offsets[1:], *(
            part.breaks + offset for part, offset in zip(parts, offsets, strict=True))])),
        _mean([part.misfit for part in parts], lengths))


def _mean(values: list[float], weights: NDArray[np.int64]) -> float:
    known = np.isfinite(values)
    return float(np.average(np.array(values)[known], weights=weights[known])) if (
        known.any()) else np.nan


def _beyond(misfit: Array, deviation: Array) -> float:
    """Return the RMS of a misfit, less what noise explains of it; NaN of too few."""
    if len(misfit) < _MIN_TOLD:
        return np.nan
    return float(np.sqrt(max(np.mean(misfit ** 2) - np.mean(deviation ** 2), 0.0)))
