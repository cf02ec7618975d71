"""Whether a value may be published after the one before: judged by the limits alone."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit

Array = NDArray[np.float64]

ROUND_OFF = 1e-6
"""By which a limit of the rate may be passed, as a fraction of it."""
SMALLEST_STEP = 1e-8
"""What a value may change by in no time, as a fraction of it, or in its unit if it is below 1."""


@njit()
def first_wrong(
    before: Array, after: Array, interval: float, limit: Array, rate_limit: Array, top: float,
) -> tuple[int, int]:
    """Return the row and column of the first value that must not be published; (-1, -1) if none.

    `before` and `after`, (3, n), are values with their two derivatives, published last and to be
    published `interval` (s) later; values may be up to `top` in units of their limits, (n,) each.
    What is no number, what is beyond a limit, and a step (row 0) that no rate within its limit
    makes must not.
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
