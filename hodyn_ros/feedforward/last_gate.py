"""The last check of values before they are published: by the limits and the last values."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit

ROUND_OFF = 1e-6
"""Fraction by which round-off may exceed a limit."""
SMALLEST_STEP = 1e-8
"""Step that is always allowed, as a share of the value, or of 1 if the value is smaller."""


@njit()
def first_wrong(
    before: Array, after: Array, interval: float, limit: Array, rate_limit: Array, top: float,
) -> tuple[int, int]:
    """Return the row and column of the first value that must not be published; (-1, -1) if none.

    `before` and `after`, (3, n), are the last published values and those to be published
    `interval`, s, later, each with two derivatives. The check refuses values that are not finite,
    values and rates beyond `top` times their limits, (n,) each, and steps (row 0) too large for
    the rate limit.
    """
    for row in range(after.shape[0]):
        for i in range(after.shape[1]):
            value = after[row, i]
            if not np.isfinite(value):
                return row, i
            most = np.inf
            if row == 0:
                most = limit[i] * top
            elif row == 1:
                most = rate_limit[i] * top
            if abs(value) > most * (1.0 + ROUND_OFF):
                return row, i
    for i in range(after.shape[1]):
        most = rate_limit[i] * top * (1.0 + ROUND_OFF) * interval
        if abs(after[0, i] - before[0, i]) > most + SMALLEST_STEP * max(abs(before[0, i]), 1.0):
            return 0, i
    return -1, -1
