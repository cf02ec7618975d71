"""When joints stand: their friction then has any value up to the one that moves them."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.identification.data import MIN_VELOCITY

Array = NDArray[np.float64]

MIN_REST = 0.3
"""Least duration of a rest, s; shorter stops are reversals."""

_SLOW = 0.1 * MIN_VELOCITY
_DEVIATIONS = 3.0


def standing(
    instants: NDArray[np.int64], velocity: Array, deviation: Array,
) -> NDArray[np.bool_]:
    """Return whether each joint stands, (T, n): slow without a break for `MIN_REST`.

    A velocity is slow if it differs from 0 by less than three standard deviations. This bound is
    limited, so that a motion is not taken for a rest.

    Parameters
    ----------
    instants : (T,) array
        ns.
    velocity, deviation : (T, n) arrays
        Velocities and their standard deviations, rad/s.

    """
    bound = np.clip(_DEVIATIONS * deviation, _SLOW, 0.5 * MIN_VELOCITY)
    slow = np.abs(velocity) < bound
    stands = np.zeros_like(slow)
    edges = np.diff(np.pad(slow, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    for j, edge in enumerate(edges.T):
        for begin, end in zip(*(np.flatnonzero(edge == sign) for sign in (1, -1)), strict=True):
            stands[begin:end, j] = instants[end - 1] - instants[begin] >= 1e9 * MIN_REST
    return stands
