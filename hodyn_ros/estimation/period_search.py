"""Searches for the period of which the intervals between samples are whole multiples."""
import numpy as np

from hodyn_ros.common.arrays import Array

DETERMINED = 0.25
"""Standard deviation of an interval, in periods, below which its number of periods is certain."""

MIN_DETERMINED = 20
"""Least number of determined intervals for a clock."""
_MOVING = 0.05  # least share of a recording in which the arm moves, for a clock to be determined
_SEARCHED = 1000  # greatest number of intervals used to search the period
_DIVISORS = 10  # greatest number of periods in the median interval
# Tried periods, as ratios to the median interval divided by 1 … `_DIVISORS`.
_FINE = np.linspace(0.97, 1.03, 121)
# Least standard deviation of an interval, as a share of the median interval.
_LEAST_DEVIATION = 0.01
_WELL = 0.1  # greatest deviation, in periods, of intervals that may reveal a shorter period
_BETTER = 0.025  # least gain of the mean log-likelihood for which a shorter period is taken
_NEARLY_ALL = 0.95  # least share of determined intervals in a part from which the rate is computed
_FEW = 256  # least number of samples in such a part


def likelihood(off: Array, deviation: Array) -> tuple[float, float]:
    """Return the mean log-likelihood of errors, and the RMS that known noise does not explain."""
    beyond = max(float(np.mean(off ** 2 - deviation ** 2)), 0.0)
    variance = deviation ** 2 + beyond
    return float(-0.5 * np.mean(np.log(variance) + off ** 2 / variance)), float(np.sqrt(beyond))


def _as_multiples(interval: Array, deviation: Array, period: float) -> float:
    """Return the mean log-likelihood of intervals as multiples of a period.

    It is lower if more different multiples occur: any interval is nearly a multiple of a period
    that is short enough.
    """
    count = np.round(interval / period)
    share = np.unique(count, return_counts=True)[1] / len(count)
    deviation = np.maximum(deviation, _LEAST_DEVIATION * np.median(interval))
    return likelihood(interval - period * count, deviation)[0] + float(share @ np.log(share))


def likely_period(interval: Array, deviation: Array, typical: float) -> tuple[float, float]:
    """Return how well the likeliest period fits the intervals, −1 to 1, and this period, s."""
    well = deviation <= min(
        np.median(deviation), max(DETERMINED * typical, np.quantile(deviation, _MOVING)))
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
    """Return the divisor, 1, 2 or 3, of the period that fits the intervals best."""
    well = deviation < _WELL * period
    if np.count_nonzero(well) < MIN_DETERMINED:
        return 1
    likely = [_as_multiples(interval[well], deviation[well], period / part) for part in (1, 2, 3)]
    best = int(np.argmax(likely))
    return best + 1 if likely[best] > likely[0] + _BETTER else 1


def rate_of_stamps(stamps: Array, period: float, interval: Array, deviation: Array) -> float:
    """Return the period on the stamps' clock, s, from parts with nearly all intervals determined.

    Without such a part, or if the result would differ from `period` by a tenth or more, `period`
    is returned.
    """
    determined = deviation < DETERMINED * period
    count = np.round(np.where(determined, interval, np.diff(stamps)) / period)
    count = np.concatenate([[0.0], np.cumsum(np.maximum(count, 0.0))])
    few = min(_FEW, len(determined))
    for width in (len(determined), max(len(determined) // 8, few), few):
        rates = []
        for first in range(0, len(determined) - width + 1, max(1, width // 2)):
            part = slice(first, first + width + 1)
            centred = count[part] - count[part].mean()
            if np.mean(determined[first:first + width]) > _NEARLY_ALL and centred.any():
                rates.append(float(centred @ stamps[part] / (centred @ centred)))
        if rates:
            rate = float(np.median(rates))
            return rate if abs(rate - period) < 0.1 * period else period
    return period
