"""The period that intervals between samples are whole multiples of."""
import math

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit

Array = NDArray[np.float64]

TOLD = 0.25  # of a period: an interval measured this well tells its multiple
_MOVING = 0.05  # least share of a recording in which the arm moves, to speak of a clock
_MAX_PHASES = 2000  # intervals that a period is sought in
_DIVISORS = 10  # the period may be this small a part of the median interval
_RATE_WINDOW, _NEARLY_ALL = 256, 0.95  # samples over which stamps and counts are compared, told


def common_period(interval: Array, deviation: Array, mean: float) -> tuple[float, float]:
    """Return how well intervals are whole multiples of a period, 0 to 1, and that period, s."""
    well = interval[deviation <= min(
        np.median(deviation), max(TOLD * mean, np.quantile(deviation, _MOVING)))]
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


def period_by_stamps(
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
