"""The limits of a motion, for plans, streams and stops alike."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
import math

import numpy as np

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit

# Distance that targets keep from the ends of the range, rad or m, because of round-off.
MARGIN = 1e-7
# Rows of a law of velocity limits, see `hodyn_ros.limits.velocity_bounds`.
LOWER_END, UPPER_END, DECELERATION, OFFSET = 1, 2, 3, 4
# Distance that targets keep from the ends of a law, in units of offset² / deceleration: `gentle`
# needs at least 1.
OFF_END = 1.02


def no_effort(motion: Array) -> float:
    """Return 0, the effort ratio of any motion if there are no effort limits."""
    return 0.0


@dataclass(frozen=True, eq=False)
class MotionLimits:
    """Limits of a motion of n joints, each an array (n,).

    Raises HodynError if values are NaN or not numbers, or if the arrays differ in length.
    """

    #: `lower`, `upper`: (n,): range of the positions, rad or m; infinite without a limit
    lower: Array
    upper: Array
    #: `velocity`, `acceleration`, `jerk`: (n,): largest magnitudes, positive, per joint.
    #: Accelerations and jerks are finite.
    velocity: Array
    acceleration: Array
    jerk: Array
    #: Function of a motion, (T, 5, n) samples of q … q⁗, that returns the largest ratio of an
    #: effort or effort rate to its limit
    effort_ratio: Callable[[Array], float] = no_effort
    #: (5, n): law by which velocity limits fall towards the ends of the range, see
    #: `hodyn_ros.limits.velocity_bounds`; None if they are constant
    law: Array | None = None

    def __post_init__(self) -> None:
        for name in ('lower', 'upper', 'velocity', 'acceleration', 'jerk'):
            values = numbers(getattr(self, name), name)
            object.__setattr__(self, name, values)
            if values.shape != (self.lower.size,):
                raise HodynError(f'{name} has shape {values.shape}; expected (n,), as lower has')
            if math.isnan(np.add.reduce(values)):
                raise HodynError(f'{name} has values that are not numbers: {values}')

    def gentle(self) -> MotionLimits:
        """Return these limits with accelerations at which joints can stop within the law.

        With the deceleration d, the offset o and the distance r to the end of the range, the law
        is v ≤ √(2 d r) − o. A joint that brakes at d/2 to rest at x has v² = d (x − q). It keeps
        the law if x is at least o²/d before the end, as in `reachable`.
        """
        if self.law is None:
            return self
        return replace(
            self, acceleration=np.minimum(self.acceleration, 0.5 * self.law[DECELERATION]))

    @cached_property
    def reachable(self) -> tuple[Array, Array]:
        """The least and the largest position, (n,), at which a joint can come to rest."""
        margin = np.minimum(MARGIN, (self.upper - self.lower) / 4.0)
        lower, upper = self.lower + margin, self.upper - margin
        if self.law is not None:
            with np.errstate(invalid='ignore'):
                off = OFF_END * self.law[OFFSET] ** 2 / self.law[DECELERATION]
            slows = np.isfinite(self.law[DECELERATION])
            lower = np.where(slows, np.maximum(lower, self.law[LOWER_END] + off), lower)
            upper = np.where(slows, np.minimum(upper, self.law[UPPER_END] - off), upper)
        return lower, upper


@njit()
def within_range(position: Array, lower: Array, upper: Array, reference: Array) -> Array:
    """Return a position, (n,), clipped to the range, widened to contain a reference, (n,)."""
    within = np.empty_like(position)
    for i in range(position.size):
        within[i] = min(max(position[i], min(lower[i], reference[i])), max(upper[i], reference[i]))
    return within


@njit(error_model='numpy')
def largest_ratio(values: Array, limits: Array) -> tuple[int, float]:
    """Return the index of the value with the largest ratio to its limit, and this ratio.

    Without values it returns 0, 0; values other than 0 have an infinite ratio to a limit of 0.
    """
    place, largest = 0, 0.0
    for i in range(values.size):
        ratio = abs(values[i]) / limits[i]
        if ratio > largest:
            place, largest = i, ratio
    return place, largest
