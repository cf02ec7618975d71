"""The instants at which samples were taken, where they show: the clock behind late stamps.

Who polls a controller, or receives its samples through a buffer, stamps them late, by up to a
period or more and each by another time. The samples themselves tell how much time lies between
them: all joints advance by velocity times interval. Where these intervals are whole multiples of
one period, the period is measured and the samples are counted by it: as the intervals say, and
held to the stamps where these say too little, by a dynamic program (Viterbi). The stamps are taken
as they are where no clock shows, or where they agree with the positions as well.
"""
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.bursts import (
    burst_size,
    newest_of_bursts,
    spread_bursts,
    spread_out,
)
from hodyn_ros.estimation.clock_drift import (
    BOUND,
    MIN_PART,
    line_between,
    mean_course,
    where_set,
)
from hodyn_ros.estimation.clock_fit import MAX_MOVE, PASSES, ClockFit, Measure, fit_clock
from hodyn_ros.estimation.period_count import count_periods
from hodyn_ros.estimation.period_search import TOLD, common_period
from hodyn_ros.estimation.state_intervals import LEAST_DEVIATION, WINDOWS, median, state_intervals

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_MIN_TOLD = 20  # intervals that are well measured, to speak of a clock
_BETTER = 0.95  # of the squared misfit under the stamps: what a clock must reach
_CLOSER = 0.5  # of the median misfit of counts: stamps that are as close tell uneven sampling
_COHERENT = 0.7  # mean cosine of the intervals' phases in a period, to speak of multiples
_MIN_REPEATS = 5  # samples read twice that show a reader who polls
_CLEARLY = 0.9  # of the misfit, as a share of the period: what a part of it must reach
_DISTINCTLY = 0.1  # of the share that is off: for slopes by which intervals are odd as well
_BESIDE: dict[str, Any] = {'apart': True, 'windows': WINDOWS[1:]}
_WIDE = (12, 30)  # windows that hold bursts and their pauses
_AS_STAMPED = 0.5  # of the misfit, in χ², of messages spread evenly: those who stamp so sample so
_FAR = 25.0  # greatest part of one interval in that
_BY_CHANCE = 0.15  # share off: that of any intervals in any period is twice as large
_FAR_LESS = 0.3  # of the misfit
_FILLED = 0.6  # of a period, to both sides
_STRAYING = 0.1  # share of instants beyond their bounds from which these are not believed


@dataclass(frozen=True, eq=False)
class Instants:
    """When samples were taken.

    Attributes
    ----------
    time : (S,) array
        s, on the clock of the stamps; strictly increasing between `breaks`.
    period : float
        The sampling period, s; NaN where no clock of the sampling shows: the stamps are taken as
        they are then, or spread.
    told : (S,) bool array
        Whether the samples themselves tell the interval before each one.
    breaks : (B,) int array
        Samples before which the clock of the stamps was set.
    misfit : float
        RMS by which the steps of the stamps contradict the positions, beyond noise, s; NaN where
        these say too little.
    spread : bool
        Whether messages that came in bursts are spread evenly, for want of a clock.

    """

    time: Array
    period: float
    told: NDArray[np.bool_]
    breaks: Indices
    misfit: float
    spread: bool = False


@dataclass(frozen=True, eq=False)
class _Samples:
    """What was recorded, and how it came.

    Attributes
    ----------
    recorded, stamps : (S,) arrays
        As they are, and with those of samples that were held up spread out, s.
    older, position, velocity : arrays
        As `sampling_instants` has them.
    typical : float
        The mean step of the stamps, s.
    burst : int
        How many samples come at once as a rule.
    polled : bool
        Whether some were read more than once.

    """

    recorded: Array
    stamps: Array
    older: Array
    position: Array
    velocity: Array
    typical: float
    burst: int
    polled: bool

    @property
    def newest(self) -> Indices:
        """Those that are as late as others by nothing but their way: the last of each burst."""
        if self.burst == 1:
            return np.arange(len(self.stamps))
        return newest_of_bursts(np.diff(self.stamps), self.typical)

    def begin_of_burst(self, index: int) -> int:
        """Return the first sample that came with another one: clocks are set between bursts.

        The other one itself in the first burst, before which there is none.
        """
        newest = self.newest
        burst = int(np.searchsorted(newest, index))
        return int(newest[burst - 1]) + 1 if burst else index

    def misfit(self, interval: Array, bound: float) -> Array:
        """Return how far the steps of the stamps are from intervals, (S−1,), at most a bound."""
        return np.minimum(np.abs(np.diff(self.recorded) - interval), bound)


def _samples_of(stamps: Array, older: Array, position: Array, velocity: Array) -> _Samples:
    typical = float(stamps[-1] - stamps[0]) / (len(stamps) - 1)
    burst = burst_size(np.diff(stamps), typical)
    polled = np.count_nonzero(older[1:] > stamps[:-1]) >= _MIN_REPEATS
    spread = spread_out(stamps, typical) if burst == 1 and not polled else stamps
    return _Samples(stamps, spread, older, position, velocity, typical, burst, bool(polled))


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
    if len(stamps) <= _MIN_TOLD:
        return _as_stamped(stamps)
    samples = _samples_of(stamps, older, position, velocity)
    found = _by_the_clock(samples)
    if np.isnan(found.period) and samples.burst > 1 and not samples.polled:
        return _spread(samples, found)
    return found


def _by_the_clock(samples: _Samples) -> Instants:
    """Return the instants by the clock of the sampling; the stamps where none shows."""
    as_stamped = _as_stamped(samples.recorded)
    best, other = _intervals(samples)
    if best.coherence < _COHERENT:
        deviation = np.maximum(best.deviation, LEAST_DEVIATION * samples.typical)
        told = deviation < TOLD * samples.typical
        return replace(as_stamped, misfit=_beyond(
            samples.misfit(best.interval, samples.typical)[told], deviation[told]))
    found = _counted(samples, best, other)
    if np.count_nonzero(found.told) < _MIN_TOLD:
        return as_stamped
    as_it_was = samples.misfit(found.interval, found.period)[found.told]
    as_stamped = replace(as_stamped, misfit=_beyond(as_it_was, found.deviation[found.told]))
    if median(as_it_was) < _CLOSER * median(found.off[found.told]):
        return as_stamped  # sampled unevenly, as the stamps say
    if not samples.polled and not len(found.breaks):
        found = replace(found, breaks=_where_set(samples, found))
    if len(found.breaks):
        if len(found.breaks) * MIN_PART > len(samples.stamps):
            return as_stamped
        # The clearest one alone: it bends the drift, by which others seem to be.
        worst = samples.begin_of_burst(
            int(found.breaks[np.argmax(found.off[found.breaks - 1])]))
        return _joined([
            sampling_instants(*(values[part] for values in (
                samples.recorded, samples.older, samples.position, samples.velocity)))
            for part in (slice(worst), slice(worst, None))])
    if not found.misfit ** 2 < min(
            _BETTER * np.mean(as_it_was ** 2), (0.2 * found.period) ** 2):
        return as_stamped
    time = _between_looks(samples, found) if samples.polled else _before_stamps(samples, found)
    if time is None or _is_too_late(samples, found.period, time) or (
            found.is_sparse and _slips(samples, found.period, time)):
        return as_stamped
    period = float((time[-1] - time[0]) / (found.count[-1] - found.count[0]))
    return Instants(
        time, period, np.append(found.told[:1], found.told), found.breaks, as_stamped.misfit)


def _as_stamped(stamps: Array) -> Instants:
    return Instants(
        stamps, np.nan, np.zeros(len(stamps), dtype=bool), np.empty(0, dtype=np.intp), np.nan)


def _spread(samples: _Samples, found: Instants) -> Instants:
    """Return messages in bursts spread evenly, unless the positions say that they were not so."""
    time = spread_bursts(samples.recorded, samples.newest, samples.typical)
    interval, deviation = state_intervals(
        mean_course(samples.recorded, samples.burst), samples.position, samples.velocity,
        windows=_WIDE)
    deviation = np.maximum(deviation, LEAST_DEVIATION * samples.typical)
    off, as_it_was = (
        np.mean(np.minimum(((np.diff(at) - interval) / deviation) ** 2, _FAR))
        for at in (time, samples.recorded))
    return found if as_it_was < _AS_STAMPED * off else replace(found, time=time, spread=True)


class _Intervals(NamedTuple):
    """The time between samples as the positions tell it, and the period that it has in common."""

    coherence: float
    period: float
    interval: Array
    deviation: Array
    measure: Measure


def _measured(samples: _Samples, time: Array, **how: Any) -> _Intervals:
    """Return the intervals by slopes over a time, and what measures them over another."""
    measure: Measure = partial(
        state_intervals, position=samples.position, velocity=samples.velocity, **how)
    found = measure(time)
    return _Intervals(*common_period(*found, samples.typical), *found, measure)


def _intervals(samples: _Samples) -> list[_Intervals]:
    """Return the two most coherent ways to measure the intervals, the best first."""
    # Velocities are slopes over time: stamps in bursts are worse for these than their mean course.
    course = mean_course(samples.stamps, samples.burst)
    tried = [_measured(samples, samples.stamps), _measured(samples, course)]
    if samples.burst > 1:
        # Within bursts stamps tell nothing, and between their newest ones not of single samples.
        even = np.interp(
            np.arange(len(samples.stamps)), samples.newest, samples.stamps[samples.newest])
        tried.append(_measured(samples, even, **_BESIDE))
        if not np.isnan(samples.velocity).any():
            tried.append(_measured(samples, course, windows=()))
    return sorted(tried, key=lambda one: -one.coherence)[:2]


def _counted(samples: _Samples, best: _Intervals, other: _Intervals) -> ClockFit:
    """Return samples counted by the period, or the part of it, that they fit."""
    newest = samples.newest if samples.burst > 1 else None

    def fit(intervals: _Intervals, divisor: int = 1) -> ClockFit:
        return fit_clock(
            samples.stamps, intervals.period / divisor, *intervals[2:], newest=newest)

    found = fit(best)
    if other.coherence >= _COHERENT and abs(other.period - best.period) > 0.1 * best.period:
        # Intervals are multiples of a part of their period as well: the counts tell which it is.
        second = fit(other)
        if _is_better(second, found, samples):
            found, best = second, other
    # Slopes over a step that is miscounted agree with it: those beside it do not.
    counted = found.period * found.count + found.drift
    for time, how in ((samples.stamps, {'apart': True}), (counted, _BESIDE)):
        if found.odd > 0.0:
            beside = fit(_measured(samples, time, **how)._replace(period=best.period))
            if _is_better(beside, found, samples, _DISTINCTLY if beside.is_odd else 1.0):
                found = beside
    for divisor in (2, 3):
        if not found.is_odd:
            break
        finer = fit(best, divisor)
        if _is_better(finer, found, samples, _CLEARLY):
            found = finer
    return found


def _is_better(one: ClockFit, than: ClockFit, samples: _Samples, share: float = 1.0) -> bool:
    """Whether samples fit one count better than another, by a share of what is off."""
    if samples.burst > 1 and one.is_sparse != than.is_sparse:
        return than.is_sparse  # what is sent in bursts is sent whole
    finer, coarser = sorted((one, than), key=lambda fit: fit.period)
    if finer.period < 0.5 * coarser.period and (
            finer.share_off < _BY_CHANCE and finer.misfit < _FAR_LESS * coarser.misfit):
        # All are multiples of a small period to some part of it: so close is by no chance.
        return finer is one
    return one.share_off < share * than.share_off


def _where_set(samples: _Samples, found: ClockFit) -> Indices:
    """Return the samples before which the stamps step away from the count for good."""
    newest = samples.newest
    at = where_set((samples.stamps - found.period * found.count)[newest], found.period)
    return np.asarray(newest[at - 1] + 1)


def _between_looks(samples: _Samples, found: ClockFit) -> Array | None:
    """Return instants of polled samples, (S,); None where their bounds are not believed.

    The last look at an older sample bounds each instant too: closer than the stamps alone.
    """
    stamps, period = samples.stamps, found.period
    older = np.maximum(samples.older, stamps - 3.0 * period)
    time = period * found.count
    for _ in range(PASSES):
        line = line_between(older - time, stamps - time, period)
        outside = time + line - np.clip(time + line, older, stamps)
        spread = max(BOUND * period, 1.5 * float(np.median(np.abs(outside))))
        before, time = time, period * count_periods(
            older - line, stamps - line, found.interval, found.deviation, period, spread,
            MAX_MOVE)
        if np.array_equal(before, time):
            break
    time = time + line_between(older - time, stamps - time, period)
    outside = np.abs(time - np.clip(time, older, stamps))
    return None if np.mean(outside > 0.3 * period) > _STRAYING else time


def _before_stamps(samples: _Samples, found: ClockFit) -> Array:
    """Return instants along the drift, (S,): a state is not stamped before it was sampled.

    A delay common to all does not show. Who reads at a part of the rate reads states that are half
    a period old in the mean.
    """
    time = found.period * found.count + found.drift
    if found.is_sparse:
        return np.asarray(time + median(samples.recorded - time) - 0.5 * found.period)
    return np.asarray(time + np.quantile(samples.recorded - time, 1e-3))


def _is_too_late(samples: _Samples, period: float, time: Array) -> bool:
    """Whether instants go back, or are longer ago than anybody keeps on reading."""
    half, most = np.quantile(np.abs(samples.stamps - time), (0.5, 0.9)) - samples.typical
    return bool(
        np.any(np.diff(time) <= 0.0) or half > (1 + samples.burst) * period
        or most > (4 + 2 * samples.burst) * period)


def _slips(samples: _Samples, period: float, time: Array) -> bool:
    """Whether ages fill more than the period that those of the newest states do: some miscounted.

    One by one these are no worse than stamps are, but all that follows is off by as much.
    """
    age = samples.stamps - time
    return bool(np.mean(np.abs(age - median(age)) > _FILLED * period) > _STRAYING)


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
        _mean([part.misfit for part in parts], lengths),
        all(np.isnan(part.period) for part in parts) and any(part.spread for part in parts))


def _mean(values: list[float], weights: NDArray[np.int64]) -> float:
    known = np.isfinite(values)
    return float(np.average(np.array(values)[known], weights=weights[known])) if (
        known.any()) else np.nan


def _beyond(misfit: Array, deviation: Array) -> float:
    """Return the RMS of a misfit, less what noise explains of it; NaN of too few."""
    if len(misfit) < _MIN_TOLD:
        return np.nan
    return float(np.sqrt(max(np.mean(misfit ** 2) - np.mean(deviation ** 2), 0.0)))
