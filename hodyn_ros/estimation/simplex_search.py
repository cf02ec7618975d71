"""The minimum of a function of a few numbers by the simplex method of Nelder and Mead (1965).

`scipy.optimize` also has this method, but its import takes as long as smoothing 50 000 messages.
"""
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def minimum(
    cost: Callable[[Array], float], simplex: Array, near: float, alike: float, evaluations: int,
) -> Array:
    """Return the arguments that minimise a function, (k,).

    Parameters
    ----------
    cost : callable
        The function of (k,) arrays; finite.
    simplex : (k + 1, k) array
        Corners of the simplex to begin with.
    near, alike : float
        The search ends when no corner is further than `near` from the best one in any direction
        and no cost exceeds the least one by more than `alike`.
    evaluations : int
        The search also ends after this number of evaluations of the function.

    """
    corners, costs = simplex.copy(), np.array([cost(corner) for corner in simplex])
    count = len(costs)

    def tried(step: float) -> tuple[Array, float]:
        """Step from the worst corner through the middle of the others: 1 reflects it."""
        middle = corners[:-1].mean(axis=0)
        corner = middle + step * (middle - corners[-1])
        return corner, cost(corner)

    while True:
        order = np.argsort(costs, kind='stable')
        corners, costs = corners[order], costs[order]
        settled = (np.abs(corners - corners[0]).max() <= near
                   and costs[-1] - costs[0] <= alike)
        if settled or count >= evaluations:
            return np.asarray(corners[0])
        found = tried(1.0)
        count += 1
        if found[1] < costs[0]:
            found = min(found, tried(2.0), key=lambda corner: corner[1])
            count += 1
        elif not found[1] < costs[-2]:
            inside = not found[1] < costs[-1]
            closer = tried(-0.5 if inside else 0.5)
            count += 1
            if not closer[1] < min(found[1], costs[-1]):
                corners[1:] = corners[0] + 0.5 * (corners[1:] - corners[0])
                costs[1:] = [cost(corner) for corner in corners[1:]]
                count += len(costs) - 1
                continue
            found = closer
        corners[-1], costs[-1] = found
