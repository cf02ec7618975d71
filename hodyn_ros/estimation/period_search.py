"""The period that intervals between samples are whole multiples of."""
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

TOLD = 0.25
"""Of a period: an interval whose standard deviation is less tells its number of periods."""

MIN_TOLD = 20
"""Such intervals, to speak of a clock."""

_MOVING = 0.05  # least share of a recording in which the arm moves, to speak of a clock
_SEARCHED = 1000  # intervals that a period is sought in
_DIVISORS = 10  # the period may be this small a part of the median interval
_FINE = np.linspace(0.97, 1.03, 121)  # of a part of the median interval: periods that are tried
_LEAST_DEVIATION = 0.01  # of the median interval: as if none was measured better
_BETTER = 0.025  # log-likelihood of an interval by which a shorter period must be better
_WELL = 0.1  # of a period: deviation of intervals that tell parts of it
_NEARLY_ALL = 0.95  # share of intervals that are told where samples are counted by them
_FEW = 256  # samples: over fewer, stamps tell no rate


def likelihood(off: Array, deviation: Array) -> tuple[float, float]:
    """Return the mean log-likelihood of errors, and their RMS beyond the noise that is known."""
    beyond = max(float(np.mean(off ** 2 - deviation ** 2)), 0.0)
    variance = deviation ** 2 + beyond
    return float(-0.5 * np.mean(np.log(variance) + off ** 2 / variance)), float(np.sqrt(beyond))


def _as_multiples(interval: Array, deviation: Array, period: float) -> float:
    """Return the log-likelihood of an interval as a multiple of a period.

    Numbers of periods cost what they tell: any intervals are multiples of a short period.
    """
    count = np.round(interval / period)
    share = np.unique(count, return_counts=True)[1] / len(count)
    deviation = np.maximum(deviation, _LEAST_DEVIATION * np.median(interval))
    return likelihood(interval - period * count, deviation)[0] + float(share @ np.log(share))


def likely_period(interval: Array, deviation: Array, typical: float) -> tuple[float, float]:
    """Return how well intervals are whole multiples of a period, −1 to 1, and that period, s."""
    well = deviation <= min(
        np.median(deviation), max(TOLD * typical, np.quantile(deviation, _MOVING)))
    step = np.count_nonzero(well) // _SEARCHED + 1
    interval, deviation = interval[well][::step], deviation[well][::step]
    middle = float(np.median(interval))
    if not middle > 0.3 * typical:
        return -1.0, typical
    best, found = -np.inf, (-1.0, typical)
    for divisor in range(1, _DIVISORS + 1):
        periods = middle / divisor * _FINE
        coherence = np.cos(2.0 * np.pi * interval / periods[:, None]).mean(axis=1)
        at = int(np.argmax(coherence))
        likely = _as_multiples(interval, deviation, periods[at])
        if likely > best + _BETTER:
            best, found = likely, (float(coherence[at]), float(periods[at]))
    return found


def likely_part(interval: Array, deviation: Array, period: float) -> int:
    """Return by what a period is to be divided for intervals to be its multiples: 1, 2 or 3."""
    well = deviation < _WELL * period
    if np.count_nonzero(well) < MIN_TOLD:
        return 1
    likely = [_as_multiples(interval[well], deviation[well], period / part) for part in (1, 2, 3)]
    best = int(np.argmax(likely))
    return best + 1 if likely[best] > likely[0] + _BETTER else 1


def rate_of_stamps(stamps: Array, period: float, interval: Array, deviation: Array) -> float:
    """Return a period that the stamps agree with, where intervals count the samples in a row."""
    told = deviation < TOLD * period
    count = np.round(np.where(told, interval, np.diff(stamps)) / period)
    count = np.concatenate([[0.0], np.cumsum(np.maximum(count, 0.0))])
    few = min(_FEW, len(told))
    for width in (len(told), max(len(told) // 8, few), few):
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
