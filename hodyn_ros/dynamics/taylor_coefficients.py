"""Products and quotients of functions of time, by Taylor coefficients."""
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def product(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Return the coefficients of a product, (orders, …), from those of its factors."""
    return np.array([
        sum(function(a[i], b[k - i]) for i in range(k + 1)) for k in range(len(a))])


def solution(matrix: Array, right: Array) -> Array:
    """Return the coefficients of X in A X = B, (orders, m, …), from those of A and B."""
    found = np.empty(right.shape)
    for k, known in enumerate(right):
        rest = sum((matrix[i] @ found[k - i] for i in range(1, k + 1)), np.zeros(known.shape))
        found[k] = np.linalg.solve(matrix[0], known - rest)
    return found


def transposed(matrix: Array, vector: Array) -> Array:
    """Return the products of transposed matrices (…, m, n) and vectors (…, m)."""
    return np.asarray((vector[..., np.newaxis, :] @ matrix)[..., 0, :])
