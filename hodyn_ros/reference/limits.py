"""What a motion must stay within, whatever asks for it."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
import math

import numpy as np

from hodyn_ros.common.arrays import numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import Array


def no_effort(motion: Array) -> float:
    """Return 0: a motion without limits of effort."""
    return 0.0


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of a motion of n joints, each an array (n,).

    Attributes
    ----------
    lower, upper : (n,) arrays
        Range of the positions, rad or m; infinite where there is none.
    velocity, acceleration, jerk : (n,) arrays
        Greatest magnitudes, positive. Accelerations and jerks are finite.
    effort_ratio : callable
        Takes a motion, (T, 5, n) samples of q … q⁗, and returns the greatest ratio of an effort
        or effort rate that it takes to its limit.

    Raises
    ------
    HodynError
        When these are no numbers, NaN among them, or not as many of each.

    """

    lower: Array
    upper: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    effort_ratio: Callable[[Array], float] = no_effort

    def __post_init__(self) -> None:
        for name in ('lower', 'upper', 'velocity', 'acceleration', 'jerk'):
            values = numbers(getattr(self, name), name)
            object.__setattr__(self, name, values)
            if values.shape != (self.lower.size,):
                raise HodynError(f'{name} has shape {values.shape}; expected (n,), as lower has')
            if math.isnan(np.add.reduce(values)):
                raise HodynError(f'{name} has values that are no numbers: {values}')

    def widened_to(self, position: Array) -> MotionLimits:
        """Return these limits with a range that holds a position, (n,), where an arm is."""
        return MotionLimits(
            np.minimum(self.lower, position), np.maximum(self.upper, position),
            self.velocity, self.acceleration, self.jerk, self.effort_ratio)


@njit(error_model='numpy')
def largest_ratio(values: Array, limits: Array) -> tuple[int, float]:
    """Return where the magnitude of values, (k,), is largest in units of limits, and this ratio.

    0, 0 where there are none; a limit of 0 is passed by any other value, infinitely.
    """
    place, largest = 0, 0.0
    for i in range(values.size):
        ratio = abs(values[i]) / limits[i]
        if ratio > largest:
            place, largest = i, ratio
    return place, largest
