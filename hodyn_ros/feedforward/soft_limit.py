"""A limit that is C²: values are themselves up to a knee, and stay below a top beyond."""
import numpy as np

from hodyn_ros.common.jit import njit

LEAST_MARGIN = 0.01
"""So soft is the limit at least, as a fraction of it."""
# So near to the top of a limit its slope is taken at the least.
ALMOST = 0.999


def soft_part(margin: float, *, strict: bool) -> tuple[float, float]:
    """Return from where on, and up to where, values are held back, in units of the limit.

    `strict` is below the limit itself, else it may be passed by the margin.
    """
    if strict:
        return 1.0 - LEAST_MARGIN, 1.0
    return 1.0 - max(LEAST_MARGIN - margin, 0.0), 1.0 + margin


@njit()
def soft_limit(x: float, knee: float, top: float) -> tuple[float, float, float]:
    """Return s(x) and its first two derivatives: x up to the knee, below the top beyond; C²."""
    if abs(x) <= knee:
        return x, 1.0, 0.0
    width = top - knee
    bend = np.tanh((abs(x) - knee) / width)
    slope = 1.0 - bend * bend
    sign = 1.0 if x > 0.0 else -1.0
    return sign * (knee + width * bend), slope, -sign * 2.0 * bend * slope / width


@njit()
def before_limit(value: float, limit: float, knee: float, top: float) -> tuple[float, float]:
    """Return what the soft limit makes a value of, and the slope of the limit there."""
    if abs(value) <= knee * limit:
        return value, 1.0
    width = top - knee
    bend = min((abs(value) / limit - knee) / width, ALMOST)
    before = limit * (knee + width * np.arctanh(bend))
    return (before if value > 0.0 else -before), 1.0 - bend * bend
