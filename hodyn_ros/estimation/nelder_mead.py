"""Nelder and Mead's simplex method (Computer Journal 7, 1965): a minimum without derivatives.

The same steps and numbers as SciPy's, whose `optimize` takes half a second to import.
"""
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class _Exhausted(Exception):
    """No further evaluation is allowed."""


def minimise(
    cost: Callable[[Array], float], simplex: Array, *, x_tolerance: float, cost_tolerance: float,
    max_evaluations: int,
) -> Array:
    """Return where a function of n numbers is least, (n,), as far as it was found.

    Parameters
    ----------
    cost : callable
        The function, of (n,).
    simplex : (n + 1, n) array
        Where the search begins; unchanged.
    x_tolerance, cost_tolerance : float
        The search ends when corners are this close to the best one, and their costs as well.
    max_evaluations : int
        Evaluations of the function, at most.

    """
    simplex = simplex.copy()
    costs = np.full(len(simplex), np.inf)
    left = max_evaluations

    def evaluated(x: Array) -> float:
        nonlocal left
        if not left:
            raise _Exhausted
        left -= 1
        return cost(x)

    try:
        for corner, x in enumerate(simplex):
            costs[corner] = evaluated(x)
        while True:
            order = np.argsort(costs)
            simplex, costs = simplex[order], costs[order]
            if (np.abs(simplex[1:] - simplex[0]).max() <= x_tolerance
                    and np.abs(costs[1:] - costs[0]).max() <= cost_tolerance):
                break
            _step(evaluated, simplex, costs)
    except _Exhausted:
        pass
    return np.asarray(simplex[np.argsort(costs)[0]])


def _step(evaluated: Callable[[Array], float], simplex: Array, costs: Array) -> None:
    """Replace the worst corner, the last one, or all but the best one, the first."""
    centre, worst = np.add.reduce(simplex[:-1], 0) / (len(simplex) - 1), simplex[-1].copy()
    reflected = 2.0 * centre - worst
    found = evaluated(reflected)
    if found < costs[0]:
        expanded = 3.0 * centre - 2.0 * worst
        further = evaluated(expanded)
        simplex[-1], costs[-1] = (
            (expanded, further) if further < found else (reflected, found))
        return
    if found < costs[-2]:
        simplex[-1], costs[-1] = reflected, found
        return
    contracted = 1.5 * centre - 0.5 * worst if found < costs[-1] else 0.5 * centre + 0.5 * worst
    nearer = evaluated(contracted)
    if nearer <= found if found < costs[-1] else nearer < costs[-1]:
        simplex[-1], costs[-1] = contracted, nearer
        return
    for corner in range(1, len(simplex)):
        simplex[corner] = simplex[0] + 0.5 * (simplex[corner] - simplex[0])
        costs[corner] = evaluated(simplex[corner])
