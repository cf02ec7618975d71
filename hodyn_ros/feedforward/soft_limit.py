"""A C² limit: values up to a knee are unchanged, larger ones stay below a top."""
import numpy as np

from hodyn_ros.common.jit import njit

LEAST_MARGIN = 0.01
"""Least width of the soft part, as a fraction of the limit."""
# Largest share of the soft part that `before_limit` inverts: nearer to the top the slope vanishes.
ALMOST = 0.999


def soft_part(margin: float, *, strict: bool) -> tuple[float, float]:
    """Return the knee and the top of a soft limit, in units of the limit.

    With `strict` the top is the limit itself; else the limit may be exceeded by the margin.
    """
    if strict:
        return 1.0 - LEAST_MARGIN, 1.0
    return 1.0 - max(LEAST_MARGIN - margin, 0.0), 1.0 + margin


@njit()
def soft_limit(x: float, knee: float, top: float) -> tuple[float, float, float]:
    """Return s(x) and two derivatives; s is C², x up to the knee, and below the top beyond it."""
    if abs(x) <= knee:
        return x, 1.0, 0.0
    width = top - knee
    bend = np.tanh((abs(x) - knee) / width)
    slope = 1.0 - bend * bend
    sign = 1.0 if x > 0.0 else -1.0
    return sign * (knee + width * bend), slope, -sign * 2.0 * bend * slope / width


@njit()
def before_limit(value: float, limit: float, knee: float, top: float) -> tuple[float, float]:
    """Return the value that the soft limit maps to `value`, and the slope there."""
    if abs(value) <= knee * limit:
        return value, 1.0
    width = top - knee
    bend = min((abs(value) / limit - knee) / width, ALMOST)
    before = limit * (knee + width * np.arctanh(bend))
    return (before if value > 0.0 else -before), 1.0 - bend * bend
