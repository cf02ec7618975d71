"""Degree-9 pieces: relations between end derivatives, fifth derivative and coefficients.

On a piece of length h, with s = (t - t_i)/h in [0, 1], p(s) = q(t) and z_k = p⁽ᵏ⁾ = hᵏ q⁽ᵏ⁾.
The fifth derivative of p is of degree 4: p⁽⁵⁾ = sum_k c_k P_k, P_k the Legendre polynomials
orthonormal on [0, 1]. Integrating by parts five times gives c_k from the ten end values,

    c_k = sum_j (−1)ʲ [p⁽⁴⁻ʲ⁾ P_k⁽ʲ⁾] from 0 to 1,

so the integral of (q⁽⁵⁾)² over the piece is h⁻⁹ |c|², and the upper coefficients of p follow
from c.
"""
from __future__ import annotations

from math import factorial

import numpy as np
from numpy.polynomial import Legendre, Polynomial
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array

DEGREE = 9
FACTORIALS: Array = np.array([factorial(k) for k in range(DEGREE + 1)], dtype=float)


def _tables() -> tuple[Array, Array]:
    """Return ENDS (5, 10) and UPPER (5, 5): c = ENDS @ (z left, z right), a_5..a_9 = UPPER @ c."""
    ends = np.zeros((5, 10))
    upper = np.zeros((5, 5))
    for k in range(5):
        legendre = Legendre.basis(k, domain=[0, 1]).convert(kind=Polynomial)
        # Shifted Legendre polynomials have integer coefficients, but the conversion rounds them.
        integer = Polynomial(np.round(legendre.coef))
        root = np.sqrt(2 * k + 1)
        for j in range(k + 1):
            derivative = integer.deriv(j) if j else integer
            ends[k, 4 - j] = -((-1) ** j) * root * derivative(0.0)
            ends[k, 9 - j] = (-1) ** j * root * derivative(1.0)
        for j in range(k + 1):
            upper[j, k] = root * integer.coef[j] * factorial(j) / factorial(5 + j)
    return ends, upper


ENDS, UPPER = _tables()
# Coefficients 3 … 5 of a quintic from its end values p, p', p'' left, then right.
_QUINTIC: Array = np.array([
    [-10.0, -6.0, -1.5, 10.0, -4.0, 0.5],
    [15.0, 8.0, 1.5, -15.0, 7.0, -1.0],
    [-6.0, -3.0, -0.5, 6.0, -3.0, 0.5]])


def hermite_coefficients(times: Array, knots: Array) -> Array:
    """Return the coefficients of pieces in s, (m, 10, n), from their knots (m + 1, 5, n)."""
    powers = np.diff(times)[:, np.newaxis, np.newaxis] ** np.arange(5)[:, np.newaxis]
    z = np.concatenate([powers * knots[:-1], powers * knots[1:]], axis=1)
    lower = z[:, :5] / FACTORIALS[:5, np.newaxis]
    # c depends only on the difference of the positions; subtracting them first keeps all digits.
    z[:, ::5] -= knots[:-1, :1]
    return np.concatenate([lower, UPPER @ (ENDS @ z)], axis=1)


def quintic_coefficients(times: Array, knots: Array) -> Array:
    """Return the coefficients of quintics in s, (m, 10, n), from q … q̈ at knots (m + 1, 3, n)."""
    powers = np.diff(times)[:, np.newaxis, np.newaxis] ** np.arange(3)[:, np.newaxis]
    z = np.concatenate([powers * knots[:-1], powers * knots[1:]], axis=1)
    coefficients = np.zeros((len(z), DEGREE + 1, knots.shape[2]))
    coefficients[:, :3] = z[:, :3] / FACTORIALS[:3, np.newaxis]
    z[:, ::3] -= knots[:-1, :1]
    coefficients[:, 3:6] = _QUINTIC @ z
    return coefficients


def divided(knots: Array, counts: ArrayLike) -> Array:
    """Return knots, (m + 1,), and the points that divide each interval into equal parts.

    `counts`, (m,) or one for all, are the numbers of parts.
    """
    parts = np.broadcast_to(counts, knots.size - 1)
    place = np.arange(parts.sum()) - np.repeat(np.cumsum(parts) - parts, parts)
    inside = np.repeat(knots[:-1], parts) + place * np.repeat(np.diff(knots) / parts, parts)
    return np.append(inside, knots[-1])
