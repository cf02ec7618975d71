"""Samples counted by a period, and the clock that the stamps were taken by.

The count follows the intervals that the positions tell, held to the stamps where they say too
little; the line that the stamps drift along, and with it the intervals, follow from the count, so
that both are found in turns.
"""
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.bursts import bounds_of_bursts
from hodyn_ros.estimation.clock_drift import MIN_PART, common_slope, drift_line
from hodyn_ros.estimation.period_count import count_periods
from hodyn_ros.estimation.period_search import TOLD, period_by_stamps
from hodyn_ros.estimation.state_intervals import LEAST_DEVIATION, median

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Measure = Callable[[Array], tuple[Array, Array]]

MAX_MOVE = 20
"""Samples are counted within this many periods of their stamps, those held up spread out."""

PASSES = 4
"""Of what is found in turns: no more of them."""

_ODD, _FEW_ODD = 1e-2, 2e-3  # shares of odd intervals from which a part of the period is tried
_FOLLOWED = 0.7  # of the jitter: a line that leaves less follows the stamps, no miscount
_MANY = 5  # intervals: from so many on, few count


@dataclass(frozen=True, eq=False)
class ClockFit:
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
    def is_sparse(self) -> bool:
        """Whether most of the samples are more than a period after the one before."""
        return median(np.diff(self.count)) > 1.0

    @property
    def is_odd(self) -> bool:
        """Whether a part of the period, or slopes that are taken otherwise, may fit better."""
        return self.odd >= _ODD or (
            self.odd >= _FEW_ODD and self.odd * float(np.sum(self.told)) >= _MANY)


def fit_clock(
    stamps: Array, period: float, interval: Array, deviation: Array, measure: Measure, *,
    newest: Indices | None = None,
) -> ClockFit:
    """Count samples by a period.

    Parameters
    ----------
    stamps : (S,) array
        s, strictly increasing.
    period : float
        About the sampling period, s.
    interval, deviation : (S−1,) arrays
        The time between samples as the positions tell it, and its standard deviation, s.
    measure : callable
        Returns these two of instants, (S,).
    newest : int array, optional
        The last sample of each burst, where messages come in bursts: it tells when that was sent.

    """
    told = deviation < TOLD * period
    # A wrong count bends the time that velocities are taken over until intervals agree with it.
    odd = _odd(np.abs(interval - period * np.round(interval / period)), deviation, period)
    period = period_by_stamps(period, stamps, interval, told)
    deviation = np.maximum(deviation, LEAST_DEVIATION * period)
    # In bursts samples slip where the period is wrong, and are counted again by the true one.
    for _ in range(1 if newest is None else 2):
        drift, count = np.zeros(len(stamps)), np.empty(0)
        # Who polls reads states of any age within a period: these are all alike.
        margin, spread = 0.6 * period, 5.0 * period
        for _ in range(PASSES):
            late = stamps - drift
            low, high = (late, late) if newest is None else bounds_of_bursts(late, newest, period)
            before, count = count, count_periods(
                low - margin, high + margin, interval, deviation, period, spread, MAX_MOVE)
            if np.array_equal(before, count):
                break  # so would be all that follows from it
            period, drift = _drift(stamps, count, period, newest)
            time = period * count + drift
            if newest is None:
                spread = float(np.clip(np.std(stamps - time), 0.5 * period, 3.0 * period))
            else:
                margin = 0.3 * period
                spread = float(np.clip(np.std((stamps - time)[newest]), 0.3 * period, period))
            if np.any(np.diff(time) <= 0.0):
                break  # the clock was set back
            time = _held_where_loose(
                time, low + drift - margin, high + drift + margin, deviation < TOLD * period)
            interval, deviation = measure(time)
            deviation = np.maximum(deviation, LEAST_DEVIATION * period)
    told = deviation < TOLD * period
    steps = period * np.diff(count)
    off = np.abs(steps - interval)
    breaks = _breaks(steps, off, deviation, period)
    return ClockFit(
        period, count, drift, interval, deviation, told, off,
        np.flatnonzero(breaks) + 1,
        float(np.sqrt(np.mean(np.minimum(off[told], period) ** 2))) if told.any() else np.inf,
        max(odd, _odd(off[~breaks], deviation[~breaks], period)))


def _held_where_loose(
    time: Array, low: Array, high: Array, told: NDArray[np.bool_],
) -> Array:
    """Return instants within bounds, (S,), where no interval beside them is told.

    What is miscounted there would bend the slopes over it until these agree.
    """
    loose = ~(np.append(False, told) | np.append(told, False))
    held = np.where(loose, np.clip(time, low, high), time)
    return held if np.all(np.diff(held) > 0.0) else time


def _drift(
    stamps: Array, count: Array, period: float, newest: Indices | None,
) -> tuple[float, Array]:
    """Return the period on the clock of the stamps, and how these drift beside it, (S,), s."""
    if newest is None:
        drift = drift_line(stamps - period * count)
        period += (drift[-1] - drift[0]) / (count[-1] - count[0])
        return period, drift_line(stamps - period * count)
    sent, of_bursts = stamps[newest], count[newest]
    period += common_slope(of_bursts, sent - period * of_bursts, period)
    ages = sent - period * of_bursts
    line = drift_line(ages)
    if np.std(ages - line) > _FOLLOWED * np.std(ages):
        return period, np.full(len(stamps), median(ages))
    return period, np.interp(np.arange(len(stamps)), newest, line)


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
