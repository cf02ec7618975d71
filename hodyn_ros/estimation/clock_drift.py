"""The slow course of stamps beside a count of periods: drift, and where a clock was set."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.state_intervals import median

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

_TINY = 1e-12
MIN_PART = 100  # samples between two settings of a clock
BOUND = 0.15  # of a period: how well those who poll bound the instants by their looks
_SMOOTH = 25  # samples that stamps are averaged over
_KNOT = 1000  # samples between the knots of the drift of the clocks
_STRETCHES = 20  # whose levels tell the slope of ages
_STEPS, _ROOM = 30, 1e-4  # of the line between bounds: iterations, weight of the middle


def mean_course(stamps: Array, burst: int = 1) -> Array:
    """Return stamps averaged over some bursts around each; at the ends, as they would go on."""
    width = min(_SMOOTH * burst // 2 * 2 + 1, len(stamps) // 2 * 2 - 1)
    ends = np.arange(1, width // 2 + 1)
    padded = np.concatenate([
        2 * stamps[0] - stamps[ends][::-1], stamps, 2 * stamps[-1] - stamps[-1 - ends]])
    return np.convolve(padded, np.full(width, 1.0 / width), 'valid')


def where_set(ages: Array, period: float) -> Indices:
    """Return where ages step to another level and stay there, (0,) or (1,)."""
    half = MIN_PART // 2
    blocks = len(ages) // half
    if blocks < 4 or _fill_one(ages, period):
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


def _fill_one(ages: Array, period: float) -> bool:
    """Return whether ages are spread over one period, as those of the newest states are.

    Who reads these at a rate of his own finds them older and older, and then the next one: the
    steps back are none of a clock.
    """
    low, high = np.quantile(ages, (0.005, 0.995))
    amid = np.abs(ages - 0.5 * (low + high)) < 0.25 * (high - low)
    return bool(0.85 * period < high - low < 1.25 * period and np.mean(amid) > 0.3)


def drift_line(ages: Array) -> Array:
    """Return the line through the ages of the stamps; a broken one where that follows them."""
    straight, broken = (
        _least_squares(ages, knots) for knots in (2, max(2, len(ages) // _KNOT + 1)))
    return broken if np.std(ages - broken) < 0.7 * np.std(ages - straight) else straight


def common_slope(count: Array, ages: Array, period: float) -> float:
    """Return the slope of ages over the count that most of them have.

    Stretches whose ages are others by a period, as they were miscounted, have no part in it.
    """
    parts = np.array_split(np.arange(len(ages)), max(2, min(_STRETCHES, len(ages) // 2)))
    middle, level = (
        np.array([median(values[part]) for part in parts]) for values in (count, ages))
    slope = median(np.diff(level) / np.maximum(np.diff(middle), 1.0))
    off = ages - slope * count
    off -= np.sort(off)[len(off) // 2]  # one of them: between two halves there is none
    most = np.abs(off) < 0.5 * period
    centred = count[most] - np.mean(count[most])
    return slope + float(centred @ off[most] / max(centred @ centred, 1.0))


def line_between(low: Array, high: Array, period: float) -> Array:
    """Return a broken line between bounds, where they leave room in their middle, (S,)."""
    lines, misfits = [], []
    for knots in (2, max(2, len(low) // _KNOT + 1)):
        line = 0.5 * (low + high)
        found = _broken_line(line, np.ones(len(low)), knots)
        for _ in range(_STEPS):
            line = np.clip(found, low, high)
            # What is far outside was miscounted, and counts no more for it.
            away = np.abs(found - line)
            weight = np.minimum(1.0, BOUND * period / np.maximum(away, _TINY))
            weight = np.where(away > 0.0, weight, _ROOM)
            line = np.where(away > 0.0, line, 0.5 * (low + high))
            # Half of each step: whole ones may swing between two lines for ever.
            found = 0.5 * (found + _broken_line(line, weight, knots))
        lines.append(found)
        misfits.append(np.mean(np.minimum(np.abs(found - np.clip(found, low, high)), period)))
    straight, broken = lines
    return np.asarray(broken if misfits[1] < 0.5 * misfits[0] - 0.01 * period else straight)


def _least_squares(ages: Array, knots: int) -> Array:
    line = np.full(len(ages), median(ages))
    alike, largest = np.ones(len(ages)), np.inf
    for _ in range(3):  # stamps that stray count no further than others do
        off = np.clip(ages - line, -largest, largest)
        line = line + _broken_line(off, alike, knots)
        largest = 3.0 * 1.5 * median(np.abs(ages - line))
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
