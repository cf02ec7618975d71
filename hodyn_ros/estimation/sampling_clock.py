"""The instants at which samples were taken, where they show: the clock behind late stamps.

Who polls a controller, or receives its samples through a buffer, stamps them late, by up to a
period or more and each by another time. The samples themselves tell how much time lies between
them: all joints advance by velocity times interval. Where these intervals are whole multiples of
one period, the period is measured and the samples are counted by it: as the intervals say, and
held to the stamps where these say too little, by a dynamic program (Viterbi). The stamps are taken
as they are where no clock shows, or where they agree with the positions as well.
"""
from dataclasses import dataclass, replace
import math

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

MAX_MOVE = 20
"""Samples are counted within this many periods of their stamps."""

_TINY = 1e-12
_MIN_TOLD = 20  # intervals that are well measured, to speak of a clock
_TOLD = 0.25  # of a period: an interval measured this well tells its multiple
_BEST = 0.03  # of a period: no interval is taken to be measured better
_BETTER = 0.95  # of the squared misfit under the stamps: what a clock must reach
_CLOSER = 0.5  # of the median misfit of counts: stamps that are as close tell uneven sampling
_MOVING = 0.05  # least share of a recording in which the arm moves, to speak of a clock
_COHERENT = 0.7  # mean cosine of the intervals' phases in a period, to speak of multiples
_MAX_PHASES = 2000  # intervals that a period is sought in
_DIVISORS = 10  # the period may be this small a part of the median interval
_WINDOWS = (2, 5, 12, 30)  # samples on both sides that velocities are taken over
_ABREAST = 256  # steps whose slopes are taken at a time
_SMOOTH = 25  # samples that stamps are averaged over
_MOTION = 1.0  # Hz, of the arm: how fast its velocities bend
_KNOT = 1000  # samples between the knots of the drift of the clocks
_PASSES = 4
_RATE_WINDOW, _NEARLY_ALL = 256, 0.95  # samples over which stamps and counts are compared, told
_MISCOUNT = 400.0  # cost, in ½ χ², of a multiple that the interval contradicts: the clock was set
_STRAY = 8.0  # greatest cost of a stamp far from its instant
_LOST = 0.7  # cost of each sample that was lost
_MIN_PART = 100  # samples between two settings of a clock
_MIN_REPEATS = 5  # samples read twice that show a reader who polls
_ODD = 1e-2  # share of odd intervals from which a part of the period is tried
_BOUND = 0.15  # of a period: how well those who poll bound the instants by their looks
_STRAYING = 0.1  # share of instants beyond their bounds from which these are not believed
_STEPS, _ROOM = 30, 1e-4  # of the line between bounds: iterations, weight of the middle


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
    tried = []
    for time in (stamps, _mean_course(stamps)):
        measured = _intervals(time, position, velocity)
        tried.append((*_common_period(*measured, typical), *measured))
    (coherence, start, interval, deviation), other = sorted(tried, key=lambda one: -one[0])
    if coherence < _COHERENT:
        told = deviation < _TOLD * typical
        before = np.minimum(np.abs(np.diff(stamps) - interval)[told], typical)
        return replace(as_stamped, misfit=_beyond(before, deviation[told]))
    found = _fit(stamps, position, velocity, start, interval, deviation)
    if other[0] >= _COHERENT and abs(other[1] - start) > 0.1 * start:
        # Intervals are multiples of a part of their period as well: the counts tell which it is.
        second = _fit(stamps, position, velocity, *other[1:])
        if second.share_off < found.share_off:
            found, (_, start, interval, deviation) = second, other
    for divisor in (2, 3):
        if found.odd < _ODD:
            break
        finer = _fit(stamps, position, velocity, start / divisor, interval, deviation)
        if finer.share_off < found.share_off:
            found = finer
    if np.count_nonzero(found.told) < _MIN_TOLD:
        return as_stamped
    told, noise = found.told, found.deviation[found.told]
    before = np.minimum(np.abs(np.diff(stamps) - found.interval)[told], found.period)
    misfit = _beyond(before, noise)
    as_stamped = replace(as_stamped, misfit=misfit)
    if _median(before) < _CLOSER * _median(found.off[found.told]):
        return as_stamped  # sampled unevenly, as the stamps say
    polled = np.count_nonzero(older[1:] > stamps[:-1]) >= _MIN_REPEATS
    if not polled and not len(found.breaks):
        found = replace(found, breaks=_step(stamps - found.period * found.count, found.period))
    if len(found.breaks):
        if len(found.breaks) * _MIN_PART > len(stamps):
            return as_stamped
        # The clearest one alone: it bends the drift, by which others seem to be.
        worst = int(found.breaks[np.argmax(found.off[found.breaks - 1])])
        return _joined([
            sampling_instants(stamps[part], older[part], position[part], velocity[part])
            for part in (slice(worst), slice(worst, None))])
    if not found.misfit ** 2 < min(
            _BETTER * np.mean(before ** 2), (0.2 * found.period) ** 2):
        return as_stamped
    time = found.period * found.count
    if polled:
        # The last look at an older sample bounds each instant too: closer than the stamps alone.
        older = np.maximum(older, stamps - 3.0 * found.period)
        for _ in range(_PASSES):
            line = _between(older - time, stamps - time, found.period)
            outside = time + line - np.clip(time + line, older, stamps)
            spread = max(_BOUND * found.period, 1.5 * float(np.median(np.abs(outside))))
            before, time = time, found.period * _count(
                older - line, stamps - line, found.interval, found.deviation, found.period,
                spread, MAX_MOVE)
            if np.array_equal(before, time):
                break
        time = time + _between(older - time, stamps - time, found.period)
        outside = np.abs(time - np.clip(time, older, stamps))
        if np.mean(outside > 0.3 * found.period) > _STRAYING:
            return as_stamped
    else:
        time = time + found.drift
        # A state is never stamped before it was sampled; a delay common to all does not show.
        time = time + np.quantile(stamps - time, 1e-3)
    # Nobody who reads at all keeps on reading what was long ago.
    half, most = np.quantile(np.abs(stamps - time), (0.5, 0.9)) - typical
    if np.any(np.diff(time) <= 0.0) or half > 2.0 * found.period or most > 6.0 * found.period:
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


def _fit(
    stamps: Array, position: Array, velocity: Array, period: float, interval: Array,
    deviation: Array,
) -> _Fit:
    told = deviation < _TOLD * period
    # A wrong count bends the time that velocities are taken over until intervals agree with it.
    odd = _odd(np.abs(interval - period * np.round(interval / period)), deviation, period)
    period = _period_by_stamps(period, stamps, interval, told)
    drift, spread = np.zeros(len(stamps)), 5.0 * period
    count = np.empty(0)
    for _ in range(_PASSES):
        # Who polls reads states of any age within a period: these are all alike.
        late = stamps - drift
        before, count = count, _count(
            late - 0.6 * period, late + 0.6 * period, interval, deviation, period, spread,
            MAX_MOVE)
        if np.array_equal(before, count):
            break  # so would be all that follows from it
        drift = _drift(stamps - period * count)
        period += (drift[-1] - drift[0]) / (count[-1] - count[0])
        drift = _drift(stamps - period * count)
        time = period * count + drift
        spread = float(np.clip(
            np.std(stamps - time), 0.5 * period, 3.0 * period))
        if np.any(np.diff(time) <= 0.0):
            break  # the clock was set back
        interval, deviation = _intervals(time, position, velocity)
    told = deviation < _TOLD * period
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


def _mean_course(stamps: Array) -> Array:
    """Return stamps averaged over some on both sides; at the ends, as they would go on, (S,)."""
    width = min(_SMOOTH, len(stamps) // 2 * 2 - 1)
    ends = np.arange(1, width // 2 + 1)
    padded = np.concatenate([
        2 * stamps[0] - stamps[ends][::-1], stamps, 2 * stamps[-1] - stamps[-1 - ends]])
    return np.convolve(padded, np.full(width, 1.0 / width), 'valid')


def _breaks(steps: Array, off: Array, deviation: Array, period: float) -> NDArray[np.bool_]:
    """Return where the clock was set: steps that well known intervals contradict by `off`, (S−1,).

    Among intervals that agree: where the arm shakes, they are wrong, and their neighbours too.
    """
    near = np.lib.stride_tricks.sliding_window_view(np.pad(off, 7), 15)
    alone = np.median(near, axis=1) < 0.2 * period
    told = deviation < _TOLD * period
    breaks = (steps <= 0.0) | (
        told & alone & (off > np.maximum(0.6 * period, 6.0 * deviation)))
    breaks[:_MIN_PART // 2] = breaks[len(breaks) - _MIN_PART // 2:] = False
    return np.asarray(breaks)


def _between(low: Array, high: Array, period: float) -> Array:
    """Return a broken line between bounds, where they leave room in their middle, (S,)."""
    lines, misfits = [], []
    for knots in (2, max(2, len(low) // _KNOT + 1)):
        line = 0.5 * (low + high)
        found = _broken_line(line, np.ones(len(low)), knots)
        for _ in range(_STEPS):
            line = np.clip(found, low, high)
            # What is far outside was miscounted, and counts no more for it.
            away = np.abs(found - line)
            weight = np.minimum(1.0, _BOUND * period / np.maximum(away, _TINY))
            weight = np.where(away > 0.0, weight, _ROOM)
            line = np.where(away > 0.0, line, 0.5 * (low + high))
            # Half of each step: whole ones may swing between two lines for ever.
            found = 0.5 * (found + _broken_line(line, weight, knots))
        lines.append(found)
        misfits.append(np.mean(np.minimum(np.abs(found - np.clip(found, low, high)), period)))
    straight, broken = lines
    return np.asarray(broken if misfits[1] < 0.5 * misfits[0] - 0.01 * period else straight)


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


def _intervals(time: Array, position: Array, velocity: Array) -> tuple[Array, Array]:
    """Return the time between samples as the positions tell it, and its standard deviation, s.

    Velocities are those recorded, or the slopes of the positions over some samples: for each joint
    what explains its advances best.
    """
    position, velocity = np.ascontiguousarray(position.T), np.ascontiguousarray(velocity.T)
    steps, advance = np.diff(time), np.diff(position)
    # A slope follows the step that it is taken over in part, and explains that much too well.
    candidates = [(_slopes(time, position, width), 0.75 / width) for width in _WINDOWS]
    if not np.isnan(velocity).any():
        candidates.append((0.5 * (velocity[:, 1:] + velocity[:, :-1]), 0.0))
    speed, noise = np.zeros_like(advance), np.full(len(advance), np.inf)
    for candidate, itself in candidates:
        misfit = (advance - steps * candidate) / (1.0 - itself)
        for joint in range(len(noise)):
            found = _noise(misfit[joint], candidate[joint])
            if found < noise[joint]:
                noise[joint], speed[joint] = found, candidate[joint]
    speed, advance = np.ascontiguousarray(speed.T), np.ascontiguousarray(advance.T)
    weight = 1.0 / np.maximum(noise, _TINY) ** 2
    information = np.maximum(speed ** 2 @ weight, _TINY)
    typical = (time[-1] - time[0]) / len(steps)
    deviation = np.maximum(information ** -0.5, _BEST * typical)
    # Over a long step velocities change otherwise than linearly.
    bend = (2.0 * np.pi * _MOTION) ** 2 * steps ** 3 / 12.0
    return (speed * advance) @ weight / information, np.hypot(deviation, bend)


def _noise(misfit: Array, speed: Array) -> float:
    """Return the noise of a joint's advances: their misfit where it is slow.

    Errors of time count least there.
    """
    fast = np.abs(speed)
    moving = fast > 0.02 * fast.max()
    if moving.any():
        misfit = misfit[moving & (fast <= _median(fast[moving]))]
    off = np.abs(misfit)
    return float(np.sqrt(np.mean(np.minimum(off, 5.0 * 1.5 * _median(off)) ** 2)))


def _median(values: Array) -> float:
    """Return the median of finite values; `numpy.median` takes four times as long."""
    half = len(values) // 2
    parted = np.partition(values, half)
    upper = float(parted[half])
    return upper if len(values) % 2 else 0.5 * (float(parted[:half].max()) + upper)


@njit(nogil=True)
def _slopes(time: Array, position: Array, width: int) -> Array:
    """Return the slopes of lines through `width` samples on both sides of each step, (n, S−1).

    At the ends, through as many that lie within. Positions are (n, S).
    """
    n, count = position.shape
    many = min(count, 2 * width)
    slopes = np.zeros((n, count - 1))
    means, squares = np.empty(_ABREAST), np.empty(_ABREAST)
    begin = 0
    while begin < count - 1:
        # Steps side by side, whose first samples are so too: loops over these are vectorised.
        first = max(0, min(begin + 1 - width, count - many))
        last = begin + 1
        if first == begin + 1 - width:
            last = min(begin + _ABREAST, count - many + width)
        mean, square = means[:last - begin], squares[:last - begin]
        mean[:] = 0.0
        square[:] = 0.0
        for k in range(first, first + many):
            at = time[k:k + len(mean)]
            for i in range(len(mean)):
                mean[i] += at[i]
        mean /= many
        for k in range(first, first + many):
            at = time[k:k + len(mean)]
            for i in range(len(mean)):
                square[i] += (at[i] - mean[i]) ** 2
        for joint in range(n):
            slope, middle = slopes[joint, begin:last], position[joint, begin:last]
            for k in range(first, first + many):
                at, moved = time[k:k + len(mean)], position[joint, k:k + len(mean)]
                for i in range(len(mean)):
                    slope[i] += (at[i] - mean[i]) * (moved[i] - middle[i])
            slope /= square
        begin = last
    return slopes


def _common_period(interval: Array, deviation: Array, mean: float) -> tuple[float, float]:
    """Return how well intervals are whole multiples of a period, 0 to 1, and that period, s."""
    well = interval[deviation <= min(
        np.median(deviation), max(_TOLD * mean, np.quantile(deviation, _MOVING)))]
    well = well[::len(well) // _MAX_PHASES + 1]
    median = float(np.median(well))
    if not median > 0.3 * mean:  # stamps in bursts are multiples of what is between these
        return 0.0, np.nan
    fine = np.linspace(0.97, 1.03, 121)
    best, found = 0.0, np.nan
    for divisor in range(1, _DIVISORS + 1):
        if best + 0.02 >= 1.0:
            break  # none can be better
        periods = median / divisor * fine
        coherence = _coherence(well, periods)
        if coherence.max() > best + 0.02:
            best, found = float(coherence.max()), float(periods[np.argmax(coherence)])
    return best, found


# Of cos 2πx = 1 − 2 sin² πx, |x| ≤ ½: the series of sin to 1e-16.
_SINE = tuple((-1) ** k * np.pi ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(11))


@njit(fastmath={'contract', 'reassoc'})
def _coherence(interval: Array, periods: Array) -> Array:
    """Return the mean cosine of the intervals' phases in each period; cos itself takes longer."""
    found = np.empty(len(periods))
    for k in range(len(periods)):
        total = 0.0
        for i in range(len(interval)):
            turns = interval[i] / periods[k]
            x = turns - np.rint(turns)
            square = x * x
            sine = 0.0
            for term in range(len(_SINE) - 1, -1, -1):
                sine = sine * square + _SINE[term]
            total += 1.0 - 2.0 * (sine * x) ** 2
        found[k] = total / len(interval)
    return found


def _period_by_stamps(
    period: float, stamps: Array, interval: Array, told: NDArray[np.bool_],
) -> float:
    """Return a period that the stamps agree with, where intervals count the samples in a row."""
    count = np.round(np.where(told, interval, np.diff(stamps)) / period)
    count = np.concatenate([[0.0], np.cumsum(np.clip(count, 0.0, None))])
    least = min(_RATE_WINDOW, len(told))
    for width in (len(told), max(len(told) // 8, least), least):
        rates = []
        for first in range(0, len(told) - width + 1, max(1, width // 2)):
            part = slice(first, first + width + 1)
            centred = count[part] - count[part].mean()
            if np.mean(told[first:first + width]) > _NEARLY_ALL and centred.any():
                rates.append(float(centred @ stamps[part] / (centred @ centred)))
        if rates:
            rate = float(np.median(rates))
            return rate if abs(rate - period) < 0.1 * period else period
    return period


def _step(ages: Array, period: float) -> Indices:
    """Return where ages step to another level and stay there, (0,) or (1,)."""
    half = _MIN_PART // 2
    blocks = len(ages) // half
    if blocks < 4:
        return np.empty(0, dtype=np.intp)
    levels = np.median(ages[:blocks * half].reshape(blocks, half), axis=1)
    # Levels that hold on both sides: medians of three, apart by the block with the step.
    smooth = np.median([levels[:-2], levels[1:-1], levels[2:]], axis=0)
    steps = np.abs(smooth[2:] - smooth[:-2]) if blocks > 4 else np.abs(levels[3:] - levels[:-3])
    at = int(np.argmax(steps))
    if steps[at] < 0.4 * period:
        return np.empty(0, dtype=np.intp)
    noise = np.median(np.abs(ages - _least_squares(ages, blocks // 2 + 1)))
    if steps[at] < 8.0 * 1.5 * noise / np.sqrt(half):
        return np.empty(0, dtype=np.intp)
    begin, end = at * half, min((at + 5) * half, len(ages))
    low, high = np.sort([np.median(ages[begin:begin + half]), np.median(ages[end - half:end])])
    sums = np.cumsum(np.clip(ages[begin:end], low, high) - 0.5 * (low + high))
    return np.array([begin + int(np.argmax(np.abs(sums[half:-half]))) + half + 1], dtype=np.intp)


def _drift(ages: Array) -> Array:
    """Return the line through the ages of the stamps; a broken one where that follows them."""
    straight, broken = (
        _least_squares(ages, knots) for knots in (2, max(2, len(ages) // _KNOT + 1)))
    return broken if np.std(ages - broken) < 0.7 * np.std(ages - straight) else straight


def _least_squares(ages: Array, knots: int) -> Array:
    line = np.full(len(ages), _median(ages))
    alike, largest = np.ones(len(ages)), np.inf
    for _ in range(3):  # stamps that stray count no further than others do
        off = np.clip(ages - line, -largest, largest)
        line = line + _broken_line(off, alike, knots)
        largest = 3.0 * 1.5 * _median(np.abs(ages - line))
    return np.asarray(line)


def _broken_line(values: Array, weight: Array, knots: int) -> Array:
    """Return the broken line of weighted least squares, (S,), its knots as far from each other."""
    index = np.linspace(0.0, knots - 1.0, len(values))
    left = np.minimum(index.astype(np.intp), knots - 2)
    right, share = left + 1, index - left

    def gathered(at: Indices, terms: Array) -> Array:
        return np.bincount(at, weight * terms, knots).astype(np.float64, copy=False)

    beside = gathered(left, share * (1.0 - share))[:-1]
    normal = np.diag(gathered(left, (1.0 - share) ** 2) + gathered(right, share ** 2))
    normal += np.diag(beside, 1) + np.diag(beside, -1)
    moment = gathered(left, (1.0 - share) * values) + gathered(right, share * values)
    at_knots = np.linalg.lstsq(normal, moment, rcond=None)[0]
    return np.asarray(np.interp(index, np.arange(knots), at_knots))


@njit(nogil=True)
def _count(
    low: Array, high: Array, interval: Array, deviation: Array, period: float, spread: float,
    max_move: int,
) -> Array:
    """Return the number of the period in which each sample was taken, (S,), by Viterbi's method.

    Parameters
    ----------
    low, high : (S,) arrays
        Bounds of the instants, s, without drift.
    interval, deviation : (S−1,) arrays
        The time between samples, and its standard deviation, s.
    period, spread : float
        The period, and the standard deviation by which instants are beyond their bounds, s.
    max_move : int
        Samples are counted within this many periods of their bounds. The loops are vectorised
        because it is no constant: those would be unrolled.

    """
    samples, states = len(low), 2 * max_move + 1
    nearest = np.round(0.5 * (low + high) / period)
    came = np.zeros((samples, states), dtype=np.int8)
    cost, least, origin = np.zeros(states), np.zeros(states), np.zeros(states)
    # Of each move from state to state, −2 max_move … 2 max_move: off the interval; samples lost.
    off_cost, lost_cost = np.empty(2 * states - 1), np.empty(2 * states - 1)
    for i in range(samples):
        if i > 0:
            for move in range(2 * states - 1):
                steps = nearest[i] - nearest[i - 1] + move - 2 * max_move
                misfit = (steps * period - interval[i - 1]) / deviation[i - 1]
                off_cost[move] = min(0.5 * misfit * misfit, _MISCOUNT)
                lost_cost[move] = _MISCOUNT if steps < 1 else min(_LOST * (steps - 1), _STRAY)
            least[:] = np.inf
            for before in range(states):
                first, here = states - 1 - before, cost[before]
                off, lost = off_cost[first:first + states], lost_cost[first:first + states]
                for state in range(states):
                    total = here + off[state] + lost[state]
                    better = total < least[state]
                    least[state] = total if better else least[state]
                    origin[state] = before if better else origin[state]
            came[i] = origin
        for state in range(states):
            time = (nearest[i] + state - max_move) * period
            beyond = max(0.0, low[i] - time, time - high[i])
            cost[state] = least[state] + min(0.5 * (beyond / spread) ** 2, _STRAY)
    count = np.empty(samples)
    state = int(np.argmin(cost))
    for i in range(samples - 1, -1, -1):
        count[i] = nearest[i] + state - max_move
        state = came[i, state]
    return count
