"""The smoothest motion through given knot values: least integral of (q⁽⁵⁾)²."""
from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import ENDS, Array


@njit()
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
    count = times.size
    n = knots.shape[2]
    for i in range(count):
        for k in range(1, 5):
            if not fixed[i, k]:
                for joint in range(n):
                    knots[i, k, joint] = 0.0

    # Rows: carried over (at most 5), those added, 5 of the piece. Columns: two knots, then from
    # 10 the right sides.
    added = rows.shape[1]
    work = np.zeros((10 + added, 10 + n))
    diagonal = np.zeros((count, 5, 5))
    beside = np.zeros((count, 5, 5))
    right = np.zeros((count, 5, n))
    carried = 0
    for i in range(count):
        here = 0
        for k in range(5):
            if not fixed[i, k]:
                here += 1
        height = carried
        for r in range(added if here > 0 else 0):
            for column in range(10):
                work[height, column] = 0.0
            for joint in range(n):
                work[height, 10 + joint] = targets[i, r, joint]
            column = 0
            for k in range(5):
                for joint in range(n):
                    work[height, 10 + joint] -= rows[i, r, k] * knots[i, k, joint]
                if not fixed[i, k]:
                    work[height, column] = rows[i, r, k]
                    column += 1
            height += 1
        there = 0
        if i + 1 < count:
            for k in range(5):
                if not fixed[i + 1, k]:
                    there += 1
            h = times[i + 1] - times[i]
            for r in range(5):
                for column in range(10 + n):
                    work[height, column] = 0.0
                factor = h**-4.5
                left_column = 0
                right_column = here
                for k in range(5):
                    a = ENDS[r, k] * factor
                    b = ENDS[r, 5 + k] * factor
                    if k == 0:
                        for joint in range(n):
                            step = knots[i + 1, 0, joint] - knots[i, 0, joint]
                            work[height, 10 + joint] -= b * step
                    else:
                        for joint in range(n):
                            work[height, 10 + joint] -= (
                                a * knots[i, k, joint] + b * knots[i + 1, k, joint]
                            )
                    if not fixed[i, k]:
                        work[height, left_column] = a
                        left_column += 1
                    if not fixed[i + 1, k]:
                        work[height, right_column] = b
                        right_column += 1
                    factor *= h
                height += 1
        _triangularise(work, height, here + there)
        for r in range(here):
            for column in range(r, here):
                diagonal[i, r, column] = work[r, column]
            for column in range(there):
                beside[i, r, column] = work[r, here + column]
            for joint in range(n):
                right[i, r, joint] = work[r, 10 + joint]
        carried = max(0, min(height - here, there))
        for r in range(carried):
            for column in range(there):
                work[r, column] = work[here + r, here + column]
            for column in range(there, 10):
                work[r, column] = 0.0
            for joint in range(n):
                work[r, 10 + joint] = work[here + r, 10 + joint]

    solution = np.zeros((5, n))
    previous = np.zeros((5, n))
    for i in range(count - 1, -1, -1):
        here = 0
        for k in range(5):
            if not fixed[i, k]:
                here += 1
        for r in range(here - 1, -1, -1):
            pivot = diagonal[i, r, r]
            for joint in range(n):
                value = right[i, r, joint]
                for column in range(r + 1, here):
                    value -= diagonal[i, r, column] * solution[column, joint]
                for column in range(5):
                    value -= beside[i, r, column] * previous[column, joint]
                solution[r, joint] = value / pivot if pivot != 0.0 else 0.0
        column = 0
        for k in range(5):
            if not fixed[i, k]:
                for joint in range(n):
                    knots[i, k, joint] += solution[column, joint]
                column += 1
        for r in range(5):
            for joint in range(n):
                previous[r, joint] = solution[r, joint] if r < here else 0.0


@njit()
def _triangularise(work: Array, rows: int, columns: int) -> None:
    """Householder QR of work[:rows, :columns], applied to all columns in place.

    Rows differ by many orders of magnitude where spacings do; exchanging the largest entry of
    each column to the top keeps the small rows' digits (Cox and Higham, 1998).
    """
    width = work.shape[1]
    vector = np.empty(rows)
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
        alpha = -norm if work[column, column] > 0.0 else norm
        vector[column] = work[column, column] - alpha
        for r in range(column + 1, rows):
            vector[r] = work[r, column]
        scale = 1.0 / (norm * (norm + abs(work[column, column])))
        work[column, column] = alpha
        for r in range(column + 1, rows):
            work[r, column] = 0.0
        for k in range(column + 1, width):
            product = 0.0
            for r in range(column, rows):
                product += vector[r] * work[r, k]
            product *= scale
            for r in range(column, rows):
                work[r, k] -= product * vector[r]
