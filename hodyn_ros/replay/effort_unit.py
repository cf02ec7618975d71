"""Efforts that are recorded in another unit than the model's torques, as the motion shows."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.replay.friction_fit import FrictionFit

Array = NDArray[np.float64]

FAR = 5.0
"""No load of an arm and no error of its model is this many times the efforts."""

AGREE = 3.0
"""Factor about the median: wrong links and loads are no more."""

_MIN_SAMPLES = 10
_EXPLAINS = 0.5  # of the variance that friction and a constant leave


class EffortUnit:
    """Fits the efforts of each joint by its torques of gravity and of inertia, apart.

    Beside these, a friction and a constant: a driver that subtracts gravity records no other unit.

    Parameters
    ----------
    n : int
        Number of joints.

    """

    def __init__(self, n: int) -> None:
        self._fit = FrictionFit(n, 2)

    def add(
        self, gravity: Array, inertial: Array, velocity: Array, effort: Array,
        known: NDArray[np.bool_], block: NDArray[np.intp],
    ) -> None:
        """Take samples, (T, n) each: torques and velocities of the model's motion, and efforts.

        Of those that are known; (T,) numbers of blocks of time, which count as independent.
        """
        self._fit.add(velocity, (gravity, inertial), effort, known, block)

    @property
    def factor(self) -> float:
        """How many times the model's torques the efforts of most joints are, if far from 1.

        NaN where these differ, or the efforts may be in the unit of the torques.
        """
        factors = []
        coefficients, _, errors = self._fit.coefficients
        unexplained = errors >= (1.0 - _EXPLAINS) * self._fit.left[:, -1, -1]
        clear = self._fit.clear & (self._fit.samples[:, np.newaxis] >= _MIN_SAMPLES)
        for (of_gravity, of_inertia), (is_gravity_clear, is_inertia_clear), is_unexplained in zip(
                coefficients, clear, unexplained, strict=True):
            if is_inertia_clear and 1.0 / AGREE < of_inertia < AGREE:
                return np.nan
            if not is_unexplained:
                # A load that the model lacks adds to gravity at the wrist more than to both.
                factors += [of_gravity] * bool(is_gravity_clear)
                factors += [of_inertia] * bool(is_inertia_clear)
        factor = _of_most(np.array(factors))
        return factor if abs(np.log(factor)) > np.log(FAR) else np.nan


def _of_most(factors: Array) -> float:
    """Return the median of the factors that are alike, if these are most and two at least."""
    if not len(factors) or np.median(factors) <= 0.0:
        return np.nan
    ratio = factors / np.median(factors)
    alike = factors[(ratio > 1.0 / AGREE) & (ratio < AGREE)]
    return float(np.median(alike)) if len(alike) > max(1.0, 0.5 * len(factors)) else np.nan
