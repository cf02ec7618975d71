"""The instants at which states were sampled, by one model of the sampling clock and its stamps.

A controller samples at t_k = φ + T n_k + drift_k, with whole numbers n_k that increase and a drift
of its clock beside that of the stamps which is slow. A state is stamped s_k when it is delivered:
not before it was sampled, and not before the last stamp under which an older state was still seen.
Between these bounds any delay is as likely as another, and beyond them it costs the more the
farther it is. The joints advance by velocity times interval, so that the states themselves tell
t_{k+1} − t_k, with a standard deviation that is known (`state_intervals`).

The fit alternates. Given T and the drift, dynamic programming finds the n_k of least cost, in
which a clock that was set is a step that costs much (`count_periods`). Given n_k, T and the drift
are those of a broken line of weighted least squares between the bounds. One comparison of
likelihoods then decides whether the intervals between these instants agree with the states better
than those between the stamps do. Where not, the states count as sampled when they were stamped; of
messages that are delivered in bursts, as sampled evenly, unless the states contradict.
"""
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.deliveries import burst_size, ends_of_deliveries
from hodyn_ros.estimation.period_count import MAX_MOVE, count_periods
from hodyn_ros.estimation.period_search import (
    MIN_TOLD,
    TOLD,
    likelihood,
    likely_part,
    likely_period,
    rate_of_stamps,
)
from hodyn_ros.estimation.state_intervals import WIDE, WINDOWS, state_intervals

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_LEAST_DEVIATION = 0.03  # of a period: intervals count as measured no better
_MIN_REPEATS = 5  # samples that were read again: of a reader who polls, not by accident
_ON_THE_CLOCK = 0.2  # of a period: greatest RMS error of intervals; by chance it is 0.29
_CLEARLY = 0.1  # of a period: with such an error no other way is tried
_BEYOND, _MOST_BEYOND = 0.3, 0.1  # of a period beyond their bounds; share of such instants
_BETTER = 0.025  # log-likelihood of an interval by which a clock must be better than the stamps
_UNEVEN = 0.5  # of the squared errors of messages spread evenly: those who stamp so sample so
_FAR = 25.0  # greatest part of one interval in that
_PASSES = 4  # of counting and fitting
_FIRST_SPREAD = 5.0  # periods by which instants may be beyond their bounds before drift is known
_KNOT = 1000  # samples between the knots of the drift
_STEPS = 30  # of the line between bounds
_FAR_BEYOND = 0.15  # of a period: beyond its bounds, an instant counts no more for being farther
_WITHIN = {True: 1e-4, False: 0.5}  # weight of being amid the bounds, polled or received
_STIFF = 5.0  # periods: cost of a kink of one period in the drift
_SMOOTH = 25  # deliveries that a mean course is averaged over
_MIN_PART = 100  # samples between two settings of a clock
_TILTED, _MOST_TILTED = 0.15, 0.05  # of a period beyond their bounds; share of such instants
_STEP = 0.5  # of a period: least step of the stamps of a clock that was set
_LEVEL = 20  # deliveries on both sides of a step of the stamps


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
    if len(stamps) <= MIN_TOLD:
        return as_stamped
    log = _Log(stamps, older, position, velocity)
    clock = log.best_clock()
    told = clock.told
    if np.count_nonzero(told) < MIN_TOLD:
        return log.spread(as_stamped)
    deviation = clock.deviation[told]
    by_clock, _ = likelihood(clock.off[told], deviation)
    by_stamps, misfit = likelihood(
        np.clip(np.diff(stamps) - clock.interval, -log.typical, log.typical)[told], deviation)
    as_stamped = replace(as_stamped, misfit=misfit)
    if by_clock < by_stamps + _BETTER:
        return log.spread(as_stamped)
    breaks = log.breaks(clock)
    if len(breaks) * _MIN_PART > len(stamps):
        return as_stamped
    if len(breaks):
        # At the clearest one alone: it bends the drift, by which others seem to be.
        at = int(breaks[np.argmax(clock.off[breaks - 1])])
        return _joined([
            sampling_instants(stamps[part], older[part], position[part], velocity[part])
            for part in (slice(at), slice(at, None))])
    if clock.error > _ON_THE_CLOCK or np.any(np.diff(clock.time) <= 0.0):
        return log.spread(as_stamped)
    # A delay common to all does not show: the least one of what is received is taken as none.
    late = 0.0 if log.polled else float(np.quantile(stamps - clock.time, 1e-3))
    return replace(
        as_stamped, time=clock.time + late, period=clock.period, told=np.append(told[:1], told))


@dataclass(frozen=True, eq=False)
class _Clock:
    """A count of periods: instants, their bounds, and the intervals that the states tell."""

    period: float
    count: Array
    time: Array
    low: Array
    high: Array
    interval: Array
    deviation: Array

    @property
    def told(self) -> NDArray[np.bool_]:
        """Which intervals are measured well enough to tell their number of periods."""
        return np.asarray(self.deviation < TOLD * self.period)

    @property
    def off(self) -> Array:
        """How far counts are from the intervals, at most a period, (S−1,), s."""
        return np.minimum(
            np.abs(self.period * np.diff(self.count) - self.interval), self.period)

    @property
    def beyond(self) -> Array:
        """How far instants are beyond their bounds, (S,), s."""
        return np.maximum(0.0, np.maximum(self.low - self.time, self.time - self.high))

    @property
    def contradicts_stamps(self) -> bool:
        """Whether many instants are far beyond their bounds."""
        return bool(np.mean(self.beyond > _BEYOND * self.period) > _MOST_BEYOND)

    @property
    def error(self) -> float:
        """RMS error of the told intervals, in periods; 1 where these or the stamps tell none."""
        if np.count_nonzero(self.told) < MIN_TOLD or self.contradicts_stamps:
            return 1.0
        return float(np.sqrt(np.mean(self.off[self.told] ** 2))) / self.period


class _Log:
    """Samples as they were recorded, and the ways to fit a clock to them."""

    def __init__(self, stamps: Array, older: Array, position: Array, velocity: Array) -> None:
        self.stamps, self.older = stamps, older
        self.measure = partial(state_intervals, position=position, velocity=velocity)
        self.typical = float(stamps[-1] - stamps[0]) / (len(stamps) - 1)
        self.polled = bool(np.count_nonzero(older[1:] > stamps[:-1]) >= _MIN_REPEATS)
        self.burst = burst_size(np.diff(stamps), self.typical)

    def best_clock(self) -> _Clock:
        """Return the count of periods that intervals agree with best.

        Intervals depend on the time that slopes are taken over: the stamps, or their mean course.
        """
        tried: list[tuple[float, float, Array, Array]] = []
        for time, windows in product((self._bounds(self.typical)[1], self._mean_course()), (
                WINDOWS, WIDE)):
            interval, deviation = self.measure(time, windows=windows)
            tried.append((
                *likely_period(interval, deviation, self.typical), interval, deviation))
        tried.sort(key=lambda one: -one[0])
        clocks: list[_Clock] = []
        for _, period, interval, deviation in tried[:3]:
            clocks.append(self._fitted(period, interval, deviation))
            if clocks[-1].error < _CLEARLY:
                break
        best = min(clocks, key=lambda clock: clock.error)
        part = likely_part(best.interval, best.deviation, best.period)
        if part > 1 or len(self.breaks(best)):  # its intervals tell the period better
            clocks.append(self._fitted(best.period / part, best.interval, best.deviation))
        return min(clocks, key=lambda clock: clock.error)

    def _mean_course(self) -> Array:
        """Return stamps averaged over some deliveries around each; at the ends, as they go on."""
        time = self._bounds(self.typical)[1]
        width = min(_SMOOTH * self.burst // 2 * 2 + 1, len(time) // 2 * 2 - 1)
        ends = np.arange(1, width // 2 + 1)
        padded = np.concatenate([
            2 * time[0] - time[ends][::-1], time, 2 * time[-1] - time[-1 - ends]])
        return np.convolve(padded, np.full(width, 1.0 / width), 'valid')

    def _bounds(self, period: float) -> tuple[Array, Array]:
        """Return bounds of the instants, (S,) each.

        What is delivered together was sampled one after the other, a period apart at least: after
        the last stamp that shows an older state, and before the common one. The newest of it is
        not older than a period.
        """
        index = np.arange(len(self.stamps))
        ends = ends_of_deliveries(np.diff(self.stamps), period)
        delivery = np.searchsorted(ends, index)
        first, last = np.append(0, ends[:-1] + 1)[delivery], ends[delivery]
        high = self.stamps[last] - period * (last - index)
        oldest = np.where(index == last, 1, np.where(first == 0, 2, MAX_MOVE))
        low = np.maximum(self.older[first] + period * (index - first), high - period * oldest)
        return np.minimum(low, high), high

    def _fitted(self, period: float, interval: Array, deviation: Array) -> _Clock:
        period = rate_of_stamps(self.stamps, period, interval, deviation)
        spread, drift, count = _FIRST_SPREAD * period, np.zeros(len(self.stamps)), np.empty(0)
        for _ in range(_PASSES):
            deviation = np.maximum(deviation, _LEAST_DEVIATION * period)
            low, high = self._bounds(period)
            before, count = count, count_periods(
                low - drift, high - drift, interval, deviation, period, spread, MAX_MOVE)
            if np.array_equal(before, count):
                break
            drift = _line_between(
                low - period * count, high - period * count, count, period, _WITHIN[self.polled])
            time = period * count + drift
            period += float(drift[-1] - drift[0]) / max(count[-1] - count[0], 1.0)
            drift = time - period * count
            clock = _Clock(period, count, time, low, high, interval, deviation)
            if np.any(np.diff(time) <= 0.0):
                break  # the clock was set back
            spread = float(np.clip(1.5 * np.std(clock.beyond), 0.1 * period, 3.0 * period))
            interval, deviation = self.measure(time)
            deviation = np.maximum(deviation, _LEAST_DEVIATION * period)
            clock = replace(clock, interval=interval, deviation=deviation)
        return clock

    def breaks(self, clock: _Clock) -> Indices:
        """Return the samples before which the clock of the stamps was set.

        There the count contradicts a well known interval. Among intervals that agree: where the
        arm shakes, they are wrong, and their neighbours too. Where stamps contradict the count
        without that, the drift was tilted to follow them: to where they step for good.
        """
        off, period = np.abs(clock.period * np.diff(clock.count) - clock.interval), clock.period
        near = np.lib.stride_tricks.sliding_window_view(np.pad(off, 7), 15)
        alone = np.median(near, axis=1) < 0.2 * period
        set_there = (np.diff(clock.count) <= 0.0) | (
            clock.told & alone & (off > np.maximum(0.6 * period, 6.0 * clock.deviation)))
        set_there[:_MIN_PART // 2] = set_there[len(off) - _MIN_PART // 2:] = False
        newest = ends_of_deliveries(np.diff(self.stamps), period)
        tilted = np.mean(clock.beyond > _TILTED * period) > _MOST_TILTED
        if set_there.any() or self.polled or not tilted or len(newest) < 2 * _LEVEL + 2:
            return np.flatnonzero(set_there) + 1
        late = (self.stamps - clock.time)[newest]
        levels = np.median(np.lib.stride_tricks.sliding_window_view(late, _LEVEL), axis=1)
        rise = np.abs(levels[_LEVEL:] - levels[:-_LEVEL])
        begin = int(np.argmax(rise))
        if rise[begin] < _STEP * period:
            return newest[:0]
        step = begin + int(np.argmax(np.abs(np.diff(late[begin:begin + 2 * _LEVEL]))))
        return newest[step:step + 1] + 1

    def spread(self, as_stamped: Instants) -> Instants:
        """Return messages in bursts spread over the pauses before them, if states allow it."""
        if self.burst == 1 or self.polled:
            return as_stamped
        newest = ends_of_deliveries(np.diff(self.stamps), self.typical)
        begin = self.stamps[newest[0]] - self.typical * (newest[0] + 1)
        time = np.interp(np.arange(len(self.stamps)), np.append(-1, newest), np.append(
            begin, self.stamps[newest]))
        interval, deviation = self.measure(self._mean_course(), windows=WIDE)
        deviation = np.maximum(deviation, _LEAST_DEVIATION * self.typical)
        spread, as_it_was = (
            np.mean(np.minimum(((np.diff(at) - interval) / deviation) ** 2, _FAR))
            for at in (time, self.stamps))
        if as_it_was < _UNEVEN * spread:
            return as_stamped
        return replace(as_stamped, time=time, spread=True)


def _line_between(low: Array, high: Array, count: Array, period: float, within: float) -> Array:
    """Return a line over the count between bounds, broken where these ask for it, (S,)."""
    knots = max(2, len(low) // _KNOT + 1)
    at = (knots - 1.0) * (count - count[0]) / max(count[-1] - count[0], 1.0)
    basis = np.maximum(0.0, 1.0 - np.abs(at - np.arange(knots)[:, None]))
    bend = np.diff(np.eye(knots), 2, axis=0)
    stiff = np.full(len(bend), 10.0 * _STIFF)
    middle = 0.5 * (low + high)
    # Where lost samples leave more room, the middle says less.
    amid = within * (period / np.maximum(high - low, period)) ** 2
    line, weight, target = middle, np.ones(len(low)), middle
    for step in range(_STEPS):
        weighed = basis * weight
        at_knots = np.linalg.lstsq(
            weighed @ basis.T + (bend.T * stiff) @ bend, weighed @ target, rcond=None)[0]
        # Half steps: whole ones may swing between two lines for ever.
        line = at_knots @ basis if step == 0 else 0.5 * (line + at_knots @ basis)
        stiff = _STIFF * period / np.maximum(np.abs(bend @ at_knots), 1e-3 * period)
        nearest = np.clip(line, low, high)
        away = np.abs(line - nearest)
        weight = np.where(away > 0.0, np.minimum(
            1.0, _FAR_BEYOND * period / np.maximum(away, 1e-12)), amid)
        target = np.where(away > 0.0, nearest, middle)
    return np.asarray(line)


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
