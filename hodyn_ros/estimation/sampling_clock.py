"""The instants at which states were sampled, by one model of the sampling clock and its stamps.

A controller samples at t_k = φ + T n_k + drift_k: phase φ and period T are constant, the whole
numbers n_k increase, and its clock drifts slowly against the stamps' clock. A state is stamped
s_k when it is delivered: it was sampled before s_k, and after the last stamp under which an older
state was still seen. Between these bounds all delays are equally likely; beyond them the cost
grows with the distance.
The joints advance by velocity times interval, so the states themselves determine
t_{k+1} − t_k, with a known standard deviation (`state_intervals`). Where this deviation is large,
as at rest, the steps of the stamps are used if they are regular.

The fit alternates. Given T and the drift, dynamic programming finds the n_k of least cost; if the
clock of the stamps was set forward or back, this is a step of high cost (`count_periods`). Given
n_k, a broken line, fitted between the bounds by weighted least squares, gives T and the drift. One
comparison of likelihoods then decides whether the intervals between these instants agree with the
states better than the intervals between the stamps. If not, the stamps are used as instants. They
are split where a single step contradicts the states for good, for example because the driver
stalled; messages that are delivered in bursts are spaced evenly unless the states contradict this.
"""
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise, product

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.estimation.deliveries import burst_size, ends_of_deliveries
from hodyn_ros.estimation.period_count import MAX_MOVE, count_periods
from hodyn_ros.estimation.period_search import (
    DETERMINED,
    MIN_DETERMINED,
    likelihood,
    likely_part,
    likely_period,
    rate_of_stamps,
)
from hodyn_ros.estimation.state_intervals import WIDE, WINDOWS, state_intervals

_LEAST_DEVIATION = 0.03  # least standard deviation of an interval, in periods
_MIN_REPEATS = 5  # number of repeatedly read samples from which states count as polled
_ON_THE_CLOCK = 0.2  # greatest RMS error of intervals, in periods; random ones have 0.29
_CLEARLY = 0.1  # RMS error of intervals, in periods, below which no other fit is tried
# The stamps contradict a clock if more than a share `_MOST_BEYOND` of its instants are more than
# `_BEYOND` periods beyond their bounds.
_BEYOND, _MOST_BEYOND = 0.3, 0.1
_BETTER = 0.025  # least gain of the log-likelihood per interval by a clock over the stamps
# Samples were taken in bursts if the squared errors of the stamps are less than `_UNEVEN` times
# the squared errors of even spacing. One interval adds at most `_FAR` to these errors.
_UNEVEN = 0.5
_FAR = 25.0
_PART = 0.6  # a period below this share of the usual step of stamps is a part of it
# The squared error of the steps of the stamps is the difference of two squares: of the quantile
# `_REGULAR` of the distances between steps and intervals, and of `_REGULAR_DEVIATIONS` standard
# deviations of the intervals. A step agrees with an interval if they differ by at most `_AGREE`
# standard deviations.
_REGULAR, _REGULAR_DEVIATIONS, _AGREE = 0.95, 2.0, 3.0
_PASSES = 4  # number of passes of counting and fitting
# Standard deviation of instants beyond their bounds, in periods, before the drift is known.
_FIRST_DEVIATION = 5.0
_KNOT = 1000  # number of samples between the knots of the drift
_STEPS = 30  # number of iterations that fit the line between the bounds
# Instants are pulled towards their bounds. Beyond this distance, in periods, the pull no longer
# grows: its weight falls as 1/distance.
_FAR_BEYOND = 0.15
# Weight of the middle between the bounds: for polled states (True) and received ones (False).
_WITHIN = {True: 1e-4, False: 0.5}
_STIFF = 5.0  # cost, in periods, of a kink of one period in the drift
_SMOOTH = 25  # number of deliveries over which the mean course of the stamps is averaged
_MIN_PART = 100  # least mean number of samples between two steps of the stamps' clock
# A split at a step of the stamps' clock is kept only if the parts with a sampling clock have more
# than this share of the determined intervals.
_CLOCKED = 0.7
# The fitted drift has bent to follow a step of the stamps' clock if more than a share
# `_MOST_TILTED` of the instants are more than `_TILTED` periods beyond their bounds.
_TILTED, _MOST_TILTED = 0.15, 0.05
_STEP = 0.5  # least step of the stamps, in periods, at which their clock was set
_LEVEL = 20  # number of deliveries on both sides by which a step of the stamps is measured
# Steps on each side of a stall, which agree with the states and do not make up for it.
_AROUND = 10


@dataclass(frozen=True, eq=False)
class Instants:
    """When samples were taken."""

    time: Array  #: (S,), s, on the clock of the stamps; strictly increasing
    #: The period of the sampling clock, s; NaN if none is determined: the instants are then the
    #: stamps, or evenly spaced
    sampling_period: float
    #: (S,): whether the samples themselves determine the interval before each one
    determined: Flags
    #: RMS by which the steps of the stamps contradict the positions, beyond noise, s; NaN if too
    #: few intervals are determined
    misfit: float
    #: Whether messages in bursts are spaced evenly, since no clock is determined
    evenly_spaced: bool


def sampling_instants(
    stamps: Array, older: Array, position: Array, velocity: Array,
) -> list[Instants]:
    """Return the instants of samples, in parts between which the clock of the stamps was set.

    `stamps`, (S,), s, increase strictly. `older`, (S,), s, is the last stamp under which an older
    sample was seen, −∞ if none was. It is later than the previous sample's first stamp if that
    sample was read more than once. Velocities, (S, n), are NaN where not recorded.
    """
    as_stamped = Instants(stamps, np.nan, np.zeros(len(stamps), dtype=bool), np.nan, False)
    if len(stamps) <= MIN_DETERMINED:
        return [as_stamped]
    log = _Log(stamps, older, position, velocity)
    clock = log.best_clock()
    determined = clock.determined
    if np.count_nonzero(determined) < MIN_DETERMINED:
        return log.as_stamped(as_stamped)
    deviation = clock.deviation[determined]
    by_clock, _ = likelihood(clock.off[determined], deviation)
    by_stamps, misfit = likelihood(
        np.clip(np.diff(stamps) - clock.interval, -log.typical, log.typical)[determined],
        deviation)
    as_stamped = replace(as_stamped, misfit=misfit)
    if by_clock < by_stamps + _BETTER:
        return log.as_stamped(as_stamped)
    breaks = log.breaks(clock)
    if len(breaks) * _MIN_PART > len(stamps):
        return [as_stamped]
    if len(breaks):
        # Split only at the clearest break: it bends the drift, so that other breaks may be false.
        at = int(breaks[np.argmax(clock.off[breaks - 1])])
        parts = [found for part in (slice(at), slice(at, None)) for found in sampling_instants(
            stamps[part], older[part], position[part], velocity[part])]
        clocked = sum(np.count_nonzero(part.determined) for part in parts)
        if clocked > _CLOCKED * np.count_nonzero(determined):
            return parts
        misfits = [part.misfit for part in parts if np.isfinite(part.misfit)] or [np.nan]
        return log.as_stamped(replace(as_stamped, misfit=float(np.median(misfits))))
    if clock.error > _ON_THE_CLOCK or np.any(np.diff(clock.time) <= 0.0):
        return log.as_stamped(as_stamped)
    # A common delay is not observable: the least delay of received states is set to 0.
    late = 0.0 if log.polled else float(np.quantile(stamps - clock.time, 1e-3))
    # Samples that are all two or three periods apart show no shorter period.
    period = clock.period * np.gcd.reduce(np.diff(clock.count).astype(int))
    return [Instants(
        clock.time + late, period, np.append(determined[:1], determined), misfit, False)]


@dataclass(frozen=True, eq=False)
class _Clock:
    """Numbered periods: instants, their bounds, and intervals found from the states; all in s."""

    period: float
    count: Array
    time: Array
    low: Array
    high: Array
    interval: Array
    deviation: Array

    @property
    def determined(self) -> Flags:
        """Which intervals are accurate enough to determine their number of periods."""
        return np.asarray(self.deviation < DETERMINED * self.period)

    @property
    def off(self) -> Array:
        """How far the counted periods are from the intervals, at most a period, (S−1,), s."""
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
        """RMS error of the determined intervals, in periods; 1 if there are too few."""
        if np.count_nonzero(self.determined) < MIN_DETERMINED or self.contradicts_stamps:
            return 1.0
        return float(np.sqrt(np.mean(self.off[self.determined] ** 2))) / self.period


class _Log:
    """The recorded samples, and ways to fit a clock to them."""

    def __init__(self, stamps: Array, older: Array, position: Array, velocity: Array) -> None:
        self.stamps, self.older = stamps, older
        self.measure = partial(state_intervals, position=position, velocity=velocity)
        self.typical = float(stamps[-1] - stamps[0]) / (len(stamps) - 1)
        self.polled = bool(np.count_nonzero(older[1:] > stamps[:-1]) >= _MIN_REPEATS)
        self.burst = burst_size(np.diff(stamps), self.typical)

    def best_clock(self) -> _Clock:
        """Return the numbering of periods that agrees best with the intervals.

        The intervals depend on the times for which slopes of the positions are computed: the
        stamps, or their mean course.
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
        usual = float(np.median(np.diff(self.stamps)))
        best = min(clocks, key=lambda clock: clock.error)
        if not self.polled and best.error > _CLEARLY and best.period < _PART * usual:
            clocks.append(self._fitted(usual, *tried[0][2:]))
            best = min(clocks, key=lambda clock: clock.error)
        part = likely_part(best.interval, best.deviation, best.period)
        # If a half or a third of this period fits better, or the clock was set, fit once more,
        # with the best intervals.
        if part > 1 or len(self.breaks(best)):
            clocks.append(self._fitted(best.period / part, best.interval, best.deviation))
        return min(clocks, key=lambda clock: clock.error)

    def _mean_course(self) -> Array:
        """Return stamps averaged over some deliveries around each, extrapolated at the ends."""
        time = self._bounds(self.typical)[1]
        width = min(_SMOOTH * self.burst // 2 * 2 + 1, len(time) // 2 * 2 - 1)
        padded = np.pad(time, width // 2, 'reflect', reflect_type='odd')
        return np.convolve(padded, np.full(width, 1.0 / width), 'valid')

    def _bounds(self, period: float) -> tuple[Array, Array]:
        """Return bounds of the instants, (S,) each.

        Samples that are delivered together were taken one by one, at least a period apart, after
        the last stamp that shows an older state and before their common stamp. The newest of them
        is at most a period older than this stamp.
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
        period = rate_of_stamps(
            self.stamps, period, *self._with_steps(interval, deviation, period))
        beyond, drift, count = _FIRST_DEVIATION * period, np.zeros(len(self.stamps)), np.empty(0)
        for _ in range(_PASSES):
            deviation = np.maximum(deviation, _LEAST_DEVIATION * period)
            low, high = self._bounds(period)
            before, count = count, count_periods(
                low - drift, high - drift, *self._with_steps(interval, deviation, period),
                period, beyond, MAX_MOVE)
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
            beyond = float(np.clip(1.5 * np.std(clock.beyond), 0.1 * period, 3.0 * period))
            interval, deviation = self.measure(time)
            deviation = np.maximum(deviation, _LEAST_DEVIATION * period)
            clock = replace(clock, interval=interval, deviation=deviation)
        return clock

    def _with_steps(
        self, interval: Array, deviation: Array, period: float,
    ) -> tuple[Array, Array]:
        """Return intervals and their deviations, from the states and the steps of regular stamps.

        While the arm rests, or if its encoders are coarse, any number of periods agrees with the
        states, so that they would not show a slightly wrong period: there the steps are used.
        Where the states determine an interval, the weighted mean of interval and step is used,
        unless they disagree.
        """
        steps, determined = np.diff(self.stamps), deviation < DETERMINED * period
        # Only the states can show a period that is a part of the usual step.
        if self.polled or period < _PART * np.median(steps) or (
                np.count_nonzero(determined) < MIN_DETERMINED):
            return interval, deviation
        off, known = np.abs(steps - interval), _REGULAR_DEVIATIONS * deviation[determined]
        beyond = np.quantile(off[determined], _REGULAR) ** 2 - np.mean(known ** 2)
        error = max(_LEAST_DEVIATION * period, float(np.sqrt(max(beyond, 0.0))))
        if error > DETERMINED * period:
            return interval, deviation
        share = np.where(determined, error ** 2 / (error ** 2 + deviation ** 2), 0.0)
        # A stall, or a clock that is set, shows in steps that differ from their neighbours.
        near = np.pad(np.abs(steps - np.median(steps)) < DETERMINED * period, 1, 'edge')
        is_regular = near[:-2] & near[1:-1] & near[2:]
        share[~is_regular | (determined & (off > _AGREE * np.hypot(error, deviation)))] = 1.0
        return share * interval + (1.0 - share) * steps, np.where(
            share > 0.0, np.sqrt(share) * deviation, error)

    def breaks(self, clock: _Clock) -> Indices:
        """Return the samples before which the clock of the stamps was set.

        There the count contradicts an accurate interval, but agrees with its neighbours (unlike in
        a vibration). If no such interval is found, but the stamps contradict the count, the drift
        was fitted to a step of the stamps: the break is where the stamps step permanently.
        """
        off, period = np.abs(clock.period * np.diff(clock.count) - clock.interval), clock.period
        near = np.lib.stride_tricks.sliding_window_view(np.pad(off, 7), 15)
        alone = np.median(near, axis=1) < 0.2 * period
        set_there = (np.diff(clock.count) <= 0.0) | (
            clock.determined & alone & (off > np.maximum(0.6 * period, 6.0 * clock.deviation)))
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

    def as_stamped(self, whole: Instants) -> list[Instants]:
        """Return the stamps in parts between stalls; bursts are spaced evenly if states agree."""
        if self.burst > 1 and not self.polled:
            return [self._space_evenly(whole)]
        edges = [0, *self._stalls(), len(self.stamps)]
        return [
            replace(whole, time=whole.time[begin:end], determined=whole.determined[begin:end])
            for begin, end in pairwise(edges)]

    def _stalls(self) -> Indices:
        """Return the samples before which the stamps went on without the motion, or the reverse.

        Without bursts, an arm is too slow to stand still between two samples only.
        """
        time, steps = self.stamps, np.diff(self.stamps)
        for _ in range(2):  # the slopes of positions are wrong near a stall, until it is removed
            interval, deviation = self.measure(time, windows=WIDE)
            least = np.maximum(0.6 * self.typical, 6.0 * deviation)
            far = (np.abs(steps - interval) > least) & (interval > 0.0)
            time = np.append(0.0, np.cumsum(np.where(far, interval, steps)))
        determined = deviation < DETERMINED * self.typical
        off = np.where(determined, steps - interval, np.inf)
        near = np.lib.stride_tricks.sliding_window_view(
            np.pad(off, _AROUND, constant_values=np.inf), 2 * _AROUND + 1)
        whole = np.sum(np.where(np.isfinite(near), near, 0.0), axis=1)
        alone = [np.median(np.abs(side), axis=1) < 0.2 * self.typical
                 for side in (near[:, :_AROUND], near[:, -_AROUND:])]
        found = determined & alone[0] & alone[1] & (
            np.minimum(np.abs(off), np.abs(whole)) > least)
        return 1 + np.flatnonzero(found & (np.sum(found) * _MIN_PART <= len(self.stamps)))

    def _space_evenly(self, as_stamped: Instants) -> Instants:
        newest = ends_of_deliveries(np.diff(self.stamps), self.typical)
        begin = self.stamps[newest[0]] - self.typical * (newest[0] + 1)
        time = np.interp(np.arange(len(self.stamps)), np.append(-1, newest), np.append(
            begin, self.stamps[newest]))
        interval, deviation = self.measure(self._mean_course(), windows=WIDE)
        deviation = np.maximum(deviation, _LEAST_DEVIATION * self.typical)
        evenly, as_it_was = (
            np.mean(np.minimum(((np.diff(at) - interval) / deviation) ** 2, _FAR))
            for at in (time, self.stamps))
        if as_it_was < _UNEVEN * evenly:
            return as_stamped
        return replace(as_stamped, time=time, evenly_spaced=True)


def _line_between(low: Array, high: Array, count: Array, period: float, within: float) -> Array:
    """Return a line over the count, (S,), s, with kinks where the bounds require them."""
    knots = max(2, len(low) // _KNOT + 1)
    at = (knots - 1.0) * (count - count[0]) / max(count[-1] - count[0], 1.0)
    basis = np.maximum(0.0, 1.0 - np.abs(at - np.arange(knots)[:, None]))
    bend = np.diff(np.eye(knots), 2, axis=0)
    stiff = np.full(len(bend), 10.0 * _STIFF)
    middle = 0.5 * (low + high)
    # Wider bounds after lost samples weaken the weight of the middle.
    amid = within * (period / np.maximum(high - low, period)) ** 2
    line, weight, target = middle, np.ones(len(low)), middle
    for step in range(_STEPS):
        weighed = basis * weight
        at_knots = np.linalg.lstsq(
            weighed @ basis.T + (bend.T * stiff) @ bend, weighed @ target, rcond=None)[0]
        # Half steps: whole ones may oscillate between two lines for ever.
        line = at_knots @ basis if step == 0 else 0.5 * (line + at_knots @ basis)
        stiff = _STIFF * period / np.maximum(np.abs(bend @ at_knots), 1e-3 * period)
        nearest = np.clip(line, low, high)
        away = np.abs(line - nearest)
        weight = np.where(away > 0.0, np.minimum(
            1.0, _FAR_BEYOND * period / np.maximum(away, 1e-12)), amid)
        target = np.where(away > 0.0, nearest, middle)
    return np.asarray(line)
