"""When joints stand: their friction is then anything up to what it takes to move them."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.identification.data import MIN_VELOCITY

Array = NDArray[np.float64]

MIN_REST = 0.3
"""Shorter stops are reversals, s."""

_SLOW = 0.1 * MIN_VELOCITY
_DEVIATIONS = 3.0


def standing(
    instants: NDArray[np.int64], velocity: Array, deviation: Array,
) -> NDArray[np.bool_]:
    """Return whether each joint stands, (T, n): slow without a break for `MIN_REST`.

    Slow are velocities that differ from 0 by no more than their own uncertainty, if that is not so
    large that a motion would pass for a rest.

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
