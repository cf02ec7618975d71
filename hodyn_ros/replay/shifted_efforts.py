"""Errors of a prediction against efforts that are shifted in time, for the lag of efforts."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.replay.friction_fit import FrictionFit

Instants = NDArray[np.int64]

STEP, STEPS = 0.02, 12
"""Step of the shifts, s, and their number in each direction; a lag within a step acts linearly."""

_SPACING = 0.01  # time between compared samples, s: dense enough for the bandwidth of the motion
# Gaps that are longer than _GAP, s, and than _PERIODS median periods are not interpolated.
_GAP, _PERIODS = 0.05, 3.0
_MOST = 0.5  # least share of the samples that a shift must leave
_TINY = 1e-12  # share of the effort's square below which squared errors are round-off


class ShiftedEfforts:
    """Fits of the error by the predicted rate, for efforts shifted by each of several times.

    A first-order fit without shifts underestimates a lag within which the effort bends.
    """

    def __init__(self, n: int) -> None:
        self._fits = [FrictionFit(n, 1) for _ in range(2 * STEPS + 1)]
        self._square = np.zeros(n)

    def add(
        self, instants: Instants, predicted: Array, recorded: Array, velocity: Array, rate: Array,
    ) -> None:
        """Add consecutive samples within the motion's bandwidth; `rate` is that of `predicted`."""
        there = np.flatnonzero(np.isfinite(recorded).any(axis=1))
        spacings = np.diff(instants[there]) * 1e-9
        if not spacings.size:
            return
        period = float(np.median(spacings))
        breaks = (spacings <= 0.0) | (spacings > max(_GAP, _PERIODS * period))
        stride = max(1, int(_SPACING / period)) if period > 0.0 else 1
        for run in np.split(there, np.flatnonzero(breaks) + 1):
            if len(run) < 2:
                continue
            time, some = (instants[run] - instants[run[0]]) * 1e-9, run[::stride]
            for k, fit in enumerate(self._fits):
                late = _at(time[::stride] + STEP * (k - STEPS), time, recorded[run])
                error = predicted[some] - late
                known = np.isfinite(error) & np.isfinite(velocity[some]) & np.isfinite(rate[some])
                fit.add(velocity[some], (rate[some],), error, known)
                if k == STEPS:
                    self._square += np.sum(np.where(known, late, 0.0) ** 2, axis=0)

    def best(self, variance: Array) -> tuple[float, FrictionFit]:
        """Return the shift of the efforts, s, about which the lag is linearised, and its fit.

        The search starts at 0 and follows falling errors: at a far shift, a wrong model may fit by
        chance. `variance`, (n,), of filtered noise is added to each joint's variance of errors.
        """
        used = self._square > 0.0
        sizes = self._sizes(variance)
        k = _first_minimum([float(np.mean(size[used])) if used.any() else np.inf
                            for size in sizes])
        return STEP * (k - STEPS), self._fits[k]

    def own(self, variance: Array, fast: Array) -> tuple[Array, Array, Array]:
        """Return each joint's own lag and its deviation, s, and the share of the error it leaves.

        Each is (n,), and NaN for joints without efforts. The share refers to the error that
        friction leaves; `fast`, (n,), is the variance that changes from one sample to the next.
        """
        sizes = np.array(self._sizes(variance))
        found = np.full((3, len(self._square)), np.nan)
        first = self._fits[STEPS]
        start = self._left(first.left[:, -1, -1], first, variance)
        for joint in np.flatnonzero(self._square > 0.0):
            k = _first_minimum(sizes[:, joint].tolist())
            fit, left = self._fits[k], np.exp(sizes[k, joint])
            lag, moved, _ = fit.coefficients
            free = max(first.samples[joint] * min(1.0, fast[joint] / left), 1.0)
            found[:, joint] = (
                STEP * (k - STEPS) + lag[joint, 0],
                np.sqrt(moved[joint, 0] * left * fit.samples[joint] / free), left / start[joint])
        lags, deviations, shares = found
        return lags, deviations, shares

    def _sizes(self, variance: Array) -> list[Array]:
        """Return the logarithms of the errors that rate and friction leave, for each shift."""
        samples = self._fits[STEPS].samples
        used = self._square > 0.0
        return [
            np.full(len(used), np.inf)
            if not used.any() or np.any(fit.samples[used] < _MOST * samples[used])
            else np.log(self._left(fit.coefficients[2], fit, variance)) for fit in self._fits]

    def _left(self, square: Array, fit: FrictionFit, variance: Array) -> Array:
        """Return the mean of squared errors, (n,), but at least round-off."""
        least = _TINY * self._square / np.maximum(self._fits[STEPS].samples, 1.0)
        found = square / np.maximum(fit.samples, 1.0) + np.nan_to_num(variance)
        return np.maximum(found, np.maximum(least, 1e-300))


def _first_minimum(errors: list[float]) -> int:
    """Return the shift at which errors, followed downwards from shift 0, are least."""
    k = STEPS
    while True:
        nearest = min((i for i in (k - 1, k, k + 1) if 0 <= i < len(errors)),
                      key=lambda i: errors[i])
        if not errors[nearest] < errors[k]:
            return k
        k = nearest


def _at(wanted: Array, time: Array, values: Array) -> Array:
    """Return values at other times, linearly interpolated; NaN outside."""
    place = np.clip(np.searchsorted(time, wanted, side='right') - 1, 0, len(time) - 2)
    weight = ((wanted - time[place]) / (time[place + 1] - time[place]))[:, None]
    found = (1.0 - weight) * values[place] + weight * values[place + 1]
    inside = (wanted >= time[0]) & (wanted <= time[-1])
    return np.where(inside[:, None], found, np.nan)
