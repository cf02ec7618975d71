"""Extrema of a plan's derivatives, exact between the knots."""
from __future__ import annotations

from math import comb

import numpy as np

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import DEGREE, FACTORIALS, Array
from hodyn_ros.reference.plan import Plan

# BERNSTEIN[d, j, i] = C(j, i)/C(d, i): power coefficients to Bernstein ones at degree d.
BERNSTEIN: Array = np.array(
    [
        [
            [comb(j, i) / comb(d, i) if i <= j <= d else 0.0 for i in range(DEGREE + 1)]
            for j in range(DEGREE + 1)
        ]
        for d in range(DEGREE + 1)
    ]
)
RELATIVE = 1e-10
DEPTH = 48


def extrema(plan: Plan, order: int) -> tuple[Array, Array]:
    """Return minima and maxima of the order-th derivative, (2, n), and their times, (2, n)."""
    if order not in range(DEGREE + 1):
        raise HodynError(f'order {order!r}: expected an integer from 0 to {DEGREE}')
    if plan.times.size == 1:
        values = plan.ends.copy() if order == 0 else np.zeros((2, plan.n))
        return values, np.full((2, plan.n), plan.times[0])
    values = np.empty((2, plan.n))
    instants = np.empty((2, plan.n))
    _extrema(plan.times, plan.coefficients, order, values, instants)
    return values, instants


@njit()
def _extrema(
    times: Array, coefficients: Array, order: int, values: Array, instants: Array
) -> None:
    """Search the pieces by their Bernstein hulls: only where the hull rises above the best."""
    pieces = times.size - 1
    n = coefficients.shape[2]
    degree = DEGREE - order
    hulls = np.empty((pieces, degree + 1))
    for joint in range(n):
        low, high = np.inf, -np.inf
        low_time, high_time = times[0], times[0]
        for i in range(pieces):
            h = times[i + 1] - times[i]
            scale = 1.0 / h**order
            for j in range(degree + 1):
                value = 0.0
                for k in range(j + 1):
                    value += (
                        BERNSTEIN[degree, j, k] * coefficients[i, order + k, joint]
                        * (FACTORIALS[order + k] / FACTORIALS[k])
                    )
                hulls[i, j] = value * scale
            for end in range(2):
                value = hulls[i, end * degree]
                if value > high:
                    high, high_time = value, times[i + end]
                if value < low:
                    low, low_time = value, times[i + end]
        for i in range(pieces):
            h = times[i + 1] - times[i]
            slack = RELATIVE * max(high - low, 1e-6 * max(abs(high), abs(low)))
            if hulls[i].max() > high + slack:
                value, s = _maximum(hulls[i], high, slack)
                if value > high:
                    high, high_time = value, times[i] + s * h
            if hulls[i].min() < low - slack:
                value, s = _maximum(-hulls[i], -low, slack)
                if -value < low:
                    low, low_time = -value, times[i] + s * h
        values[0, joint], values[1, joint] = low, high
        instants[0, joint], instants[1, joint] = low_time, high_time


@njit()
def _maximum(hull: Array, best: float, slack: float) -> tuple[float, float]:
    """Return the largest value above `best` on [0, 1] and where; `best` and 0 if there is none."""
    size = hull.size
    stack = np.empty((DEPTH + 2, size))
    starts = np.empty(DEPTH + 2)
    widths = np.empty(DEPTH + 2)
    _copy(hull, stack[0])
    starts[0], widths[0] = 0.0, 1.0
    count = 1
    where = 0.0
    left = np.empty(size)
    while count > 0:
        count -= 1
        if stack[count].max() <= best + slack:
            continue
        start, width = starts[count], widths[count] * 0.5
        # de Casteljau at the middle: `left` and what remains on the stack are the two halves.
        right = stack[count]
        for j in range(size):
            left[j] = right[0]
            for k in range(size - 1 - j):
                right[k] = 0.5 * (right[k] + right[k + 1])
        if left[size - 1] > best:
            best, where = left[size - 1], start + width
        if width < 1e-14 or count + 2 > DEPTH:
            continue
        # The half with the higher hull is searched first: it raises the bound for the other.
        if left.max() > right.max():
            _copy(left, stack[count + 1])
            starts[count] = start + width
            starts[count + 1] = start
        else:
            _copy(right, stack[count + 1])
            _copy(left, stack[count])
            starts[count] = start
            starts[count + 1] = start + width
        widths[count] = widths[count + 1] = width
        count += 2
    return best, where


@njit()
def _copy(source: Array, target: Array) -> None:
    """Do what assigning a whole array does, which takes numba a second to compile."""
    for j in range(source.size):
        target[j] = source[j]
