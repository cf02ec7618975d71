"""Extrema of a plan's derivatives, exact between the knots."""
from __future__ import annotations

from math import comb

import numpy as np

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import DEGREE, FACTORIALS, Array
from hodyn_ros.reference.plan import Plan

# HULLS[k][j, i] = C(j, i)/C(d, i) (i + k)!/i!, d = 9 − k: power coefficients of p from the k-th on
# to Bernstein ones of its k-th derivative.
HULLS: tuple[Array, ...] = tuple(
    np.array([
        [comb(j, i) / comb(degree, i) * FACTORIALS[DEGREE - degree + i] / FACTORIALS[i]
         for i in range(degree + 1)]
        for j in range(degree + 1)])
    for degree in range(DEGREE, -1, -1))
RELATIVE = 1e-10
DEPTH = 48


def extrema(plan: Plan, order: int) -> tuple[Array, Array]:
    """Return minima and maxima of the order-th derivative, (2, n), and their times, (2, n).

    Raises HodynError for a derivative that overflows.
    """
    if order not in range(DEGREE + 1):
        raise HodynError(f'order {order!r}: expected an integer from 0 to {DEGREE}')
    if plan.times.size == 1:
        values = plan.ends.copy() if order == 0 else np.zeros((2, plan.n))
        return values, np.full((2, plan.n), plan.times[0])
    values, instants = np.empty((2, 2, plan.n))
    size = DEGREE + 1 - order
    with np.errstate(over='ignore', invalid='ignore'):
        hulls = HULLS[order] @ plan.coefficients[:, order:]
        hulls /= np.diff(plan.times)[:, np.newaxis, np.newaxis] ** order
    if not np.isfinite(hulls).all():  # the search halves them until they are flat
        piece, _, joint = np.argwhere(~np.isfinite(hulls))[0]
        raise HodynError(
            f'joint {joint}, between {plan.times[piece]:g} and {plan.times[piece + 1]:g} s: '
            f'derivative {order} of the motion is no finite number')
    _extrema(
        plan.times, np.ascontiguousarray(hulls.transpose(2, 0, 1)), np.empty((DEPTH + 2, size)),
        np.empty((3, DEPTH + 2)), values, instants)
    return values, instants


@njit(error_model='numpy')
def _extrema(
    times: Array, hulls: Array, stack: Array, spans: Array, values: Array, instants: Array,
) -> None:
    """Search the pieces by their Bernstein hulls, (n, m, d + 1), where these rise above the best.

    `stack` and `spans` are scratch memory.
    """
    pieces, last = hulls.shape[1], hulls.shape[2] - 1
    for joint in range(hulls.shape[0]):
        values[0, joint], values[1, joint] = np.inf, -np.inf
        for i in range(pieces):
            for end in range(2):
                value = hulls[joint, i, end * last]
                for side in range(2):
                    if (2.0 * side - 1.0) * (value - values[side, joint]) > 0.0:
                        values[side, joint], instants[side, joint] = value, times[i + end]
        for i in range(pieces):
            low, high = values[0, joint], values[1, joint]
            slack = RELATIVE * max(high - low, 1e-6 * max(abs(high), abs(low)))
            for side in range(2):
                sign = 2.0 * side - 1.0
                best = sign * values[side, joint]
                value, s = _maximum(hulls[joint, i], sign, best, slack, stack, spans)
                if value > best:
                    values[side, joint] = sign * value
                    instants[side, joint] = times[i] + s * (times[i + 1] - times[i])


@njit()
def _maximum(
    hull: Array, sign: float, best: float, slack: float, stack: Array, spans: Array,
) -> tuple[float, float]:
    """Return the largest value above `best` on [0, 1] and where; `best` and 0 if there is none.

    Of a hull times a sign. `stack` holds what is left to search, a hull in each row; the columns
    of `spans` are where it begins, how wide it is, and its highest value.
    """
    size = hull.size
    highest = -np.inf
    for j in range(size):
        stack[0, j] = sign * hull[j]
        highest = max(highest, stack[0, j])
    spans[0, 0], spans[1, 0], spans[2, 0] = 0.0, 1.0, highest
    count = 1
    where = 0.0
    while count > 0:
        count -= 1
        if spans[2, count] <= best + slack:
            continue
        start, width = spans[0, count], spans[1, count] * 0.5
        # de Casteljau at the middle: the right half remains, the left one comes above it.
        right, left = count, count + 1
        highest_right = highest_left = -np.inf
        for j in range(size):
            stack[left, j] = stack[right, 0]
            highest_left = max(highest_left, stack[left, j])
            highest_right = max(highest_right, stack[right, size - 1 - j])
            for k in range(size - 1 - j):
                stack[right, k] = 0.5 * (stack[right, k] + stack[right, k + 1])
        if stack[left, size - 1] > best:
            best, where = stack[left, size - 1], start + width
        if width < 1e-14 or count + 2 > DEPTH:
            continue
        # The half with the higher hull is searched first: it raises the bound for the other.
        if highest_left <= highest_right:
            right, left = left, right
            for j in range(size):
                value = stack[left, j]
                stack[left, j] = stack[right, j]
                stack[right, j] = value
        spans[0, left], spans[0, right] = start, start + width
        spans[1, left], spans[1, right] = width, width
        spans[2, left], spans[2, right] = highest_left, highest_right
        count += 2
    return best, where
