"""Functions of time by Taylor coefficients: from and to derivatives, products and quotients."""
from collections.abc import Callable
import math

import numpy as np

from hodyn_ros.common.arrays import Array


def coefficients(derivatives: Array, orders: int) -> Array:
    """Return Taylor coefficients (orders, …) of derivatives; missing derivatives count as 0."""
    result = np.zeros((orders, *derivatives.shape[1:]))
    for k, row in enumerate(derivatives[:orders]):
        result[k] = row / math.factorial(k)
    return result


def factorials(orders: int) -> Array:
    """Return 0!, 1!, … (orders,)."""
    return np.array([math.factorial(k) for k in range(orders)], dtype=float)


def derivatives(coefficients: Array, axis: int = 0) -> Array:
    """Return the derivatives 0, 1, … of which these are the Taylor coefficients along an axis."""
    orders = coefficients.shape[axis]
    scale = factorials(orders).reshape(-1, *[1] * (coefficients.ndim - axis - 1))
    return np.asarray(coefficients * scale)


def product(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Return the coefficients of a product, (orders, …), from those of its factors.

    `function` multiplies a coefficient of `a` by one of `b`.
    """
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
