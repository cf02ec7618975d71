"""The smoothest motion through given knot values: least integral of (q⁽⁵⁾)²."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import ENDS, Array


def smoothest_knots(
    times: Array, fixed: NDArray[np.bool_], rows: Array, targets: Array, knots: Array
) -> None:
    """Fill in the free knot derivatives that minimise the integral of (q⁽⁵⁾)².

    To the integral are added the squares of rows . (q … q⁗) - target at the knots.

    The integral is the square of the norm of a block-bidiagonal linear form (`pieces`), so it is
    minimised by Householder QR, knot by knot, on that form itself. The normal equations, a banded
    matrix too, would square its condition, which is beyond double precision where spacings
    differ by more than some tens. QR needs no scaling of columns, so plain SI units do.

    Parameters
    ----------
    times : (m + 1,) array
        Knots, increasing.
    fixed : (m + 1, 5) array
        Which derivatives are given at each knot, for all joints alike.
    rows, targets : (m + 1, r, 5) and (m + 1, r, n) arrays
        r may be 0.
    knots : (m + 1, 5, n) array, changed in place
        Given values; whatever the free ones hold is ignored, but free positions are solved for as
        small deviations from theirs.

    """
    count, _, n = knots.shape
    np.copyto(knots[:, 1:], 0.0, where=~fixed[:, 1:, np.newaxis])
    _fill_in(
        times, fixed, np.append(np.count_nonzero(~fixed, axis=1), 0), rows, targets,
        np.zeros((10 + rows.shape[1], 10 + n)), np.zeros((count, 5, 10 + n)),
        np.zeros((2, 5, n)), knots)


@njit(error_model='numpy')
def _fill_in(
    times: Array, fixed: NDArray[np.bool_], free: NDArray[np.int64], rows: Array, targets: Array,
    work: Array, reduced: Array, solution: Array, knots: Array,
) -> None:
    """Add to the free derivatives what is missing.

    Short, with its arrays made by the caller: it takes seconds to compile.

    Parameters
    ----------
    times, fixed, rows, targets, knots
        As above.
    free : (m + 2,) array
        How many derivatives of each knot are not given; 0 after the last.
    work : (10 + r, 10 + n) array
        Rows: carried over (at most 5), those added, 5 of the piece. Columns: two knots, then from
        10 the right sides.
    reduced : (m + 1, 5, 10 + n) array
        Those of its rows that are solved for the free derivatives of each knot.
    solution : (2, 5, n) array
        Of a knot and the one after it.

    """
    count, added, n, width = times.size, rows.shape[1], knots.shape[2], work.shape[1]
    carried = 0
    for i in range(count):
        here, there = free[i], free[i + 1]
        above = carried + (added if here > 0 else 0)
        height = above
        h = power = lowest = 0.0
        if i + 1 < count:
            height += 5
            h = times[i + 1] - times[i]
            lowest = h**-4.5
        for r in range(carried, height):
            for column in range(width):
                work[r, column] = 0.0
            if r < above:
                for joint in range(n):
                    work[r, 10 + joint] = targets[i, r - carried, joint]
            column = 0
            for side in range(1 if r < above else 2):
                for k in range(5):
                    power = lowest if k == 0 else power * h
                    if r < above:
                        factor = rows[i, r - carried, k]
                    else:
                        factor = ENDS[r - above, 5 * side + k] * power
                    if not fixed[i + side, k]:
                        work[r, column] = factor
                        column += 1
                    if fixed[i + side, k] or k == 0:  # else it is zero
                        # Of a piece's positions the difference alone counts.
                        base = 1.0 if k == 0 and r >= above else 0.0
                        for joint in range(n):
                            work[r, 10 + joint] -= factor * (
                                knots[i + side, k, joint] - base * knots[i, 0, joint])
        _triangularise(work, height, here + there)
        for r in range(here):
            for column in range(r, width):
                reduced[i, r, column] = work[r, column]
        carried = max(0, min(height - here, there))
        for r in range(carried):
            for column in range(width):
                value = 0.0
                if column < there:
                    value = work[here + r, here + column]
                elif column >= 10:
                    value = work[here + r, column]
                work[r, column] = value

    for i in range(count - 1, -1, -1):
        here, own = free[i], i % 2
        for r in range(here - 1, -1, -1):
            pivot = reduced[i, r, r]
            for joint in range(n):
                value = reduced[i, r, 10 + joint]
                for column in range(r + 1, here):
                    value -= reduced[i, r, column] * solution[own, column, joint]
                for column in range(free[i + 1]):
                    value -= reduced[i, r, here + column] * solution[1 - own, column, joint]
                solution[own, r, joint] = value / pivot if pivot != 0.0 else 0.0
        column = 0
        for k in range(5):
            if not fixed[i, k]:
                for joint in range(n):
                    knots[i, k, joint] += solution[own, column, joint]
                column += 1


@njit(error_model='numpy')
def _triangularise(work: Array, rows: int, columns: int) -> None:
    """Householder QR of work[:rows, :columns], applied to all columns in place.

    Rows differ by many orders of magnitude where spacings do; exchanging the largest entry of
    each column to the top keeps the small rows' digits (Cox and Higham, 1998).
    """
    width = work.shape[1]
    for column in range(min(rows, columns)):
        largest = column
        for r in range(column + 1, rows):
            if abs(work[r, column]) > abs(work[largest, column]):
                largest = r
        top = abs(work[largest, column])
        if top == 0.0:
            continue
        if largest != column:
            for k in range(width):
                value = work[column, k]
                work[column, k] = work[largest, k]
                work[largest, k] = value
        total = 0.0
        for r in range(column, rows):
            total += (work[r, column] / top) ** 2
        norm = top * np.sqrt(total)
        pivot = work[column, column]
        alpha = -norm if pivot > 0.0 else norm
        # The vector of the reflection: this, and below it what the column holds.
        first = pivot - alpha
        scale = 1.0 / (norm * (norm + abs(pivot)))
        work[column, column] = alpha
        for k in range(column + 1, width):
            product = first * work[column, k]
            for r in range(column + 1, rows):
                product += work[r, column] * work[r, k]
            product *= scale
            work[column, k] -= product * first
            for r in range(column + 1, rows):
                work[r, k] -= product * work[r, column]
        for r in range(column + 1, rows):
            work[r, column] = 0.0
