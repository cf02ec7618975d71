"""The smoothest motion through given knot values: least integral of (q⁽⁵⁾)²."""
from __future__ import annotations

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import (
    ENDS,
)


def smoothest_knots(
    times: Array, fixed: Flags, rows: Array, targets: Array, knots: Array
) -> None:
    """Fill in the free knot derivatives that minimise the integral of (q⁽⁵⁾)².

    The squares of rows . (q … q⁗) - target at the knots are added to the integral.

    The integral is the squared norm of a block-bidiagonal linear form (`pieces`), so Householder
    QR of this form, knot by knot, minimises it. The normal equations, also banded, would square
    the condition number, which is beyond double precision if spacings differ by factors of more
    than some tens. QR needs no scaling of columns, so SI units suffice.

    - `times`, (m + 1,): increasing.
    - `fixed`, (m + 1, 5): derivatives that are given at each knot, for all joints.
    - `rows`, `targets`, (m + 1, r, 5) and (m + 1, r, n): least-squares rows to add; r may be 0.
    - `knots`, (m + 1, 5, n), changed in place: free derivatives are overwritten. Free positions
      should be near the solution, since only its difference from them is computed.
    """
    np.copyto(knots[:, 1:], 0.0, where=~fixed[:, 1:, np.newaxis])
    count, _, n = knots.shape
    unknown = np.zeros((count, 10), dtype=bool)
    unknown[:, :5], unknown[:-1, 5:] = ~fixed, ~fixed[1:]
    # Columns: the unknowns of two successive knots, then the right sides.
    pieces, given = np.zeros((count, 5, 10 + n)), np.zeros((*rows.shape[:2], 10 + n))
    spacing = np.diff(times)[:, np.newaxis]
    factors = ENDS * np.tile(spacing**-4.5 * spacing ** np.arange(5), 2)[:, np.newaxis]
    values = np.concatenate([knots[:-1], knots[1:]], axis=1)
    values[:, ::5] -= knots[:-1, :1]  # only the difference of a piece's positions counts
    pieces[:-1, :, :10] = factors * unknown[:-1, np.newaxis]
    pieces[:-1, :, 10:] = -factors @ values
    given[:, :, :5] = rows * unknown[:, np.newaxis, :5]
    given[:, :, 10:] = targets - rows @ knots
    solution = np.zeros((count + 1, 5, n))
    _solve(unknown, given, pieces, np.zeros((10 + rows.shape[1], 10 + n)), solution)
    knots += solution[:-1]


@njit(error_model='numpy')
def _solve(
    unknown: Flags, given: Array, pieces: Array, work: Array, solution: Array,
) -> None:
    """Solve the least squares of all rows for the unknowns of all knots.

    The caller makes the arrays, which keeps this kernel short: compilation takes seconds.

    - `unknown`, (m + 1, 10): which derivatives of each knot and of the next knot are unknown; the
      columns of known derivatives are zero.
    - `given`, (m + 1, r, 10 + n): rows of each knot. Columns: derivatives of two knots, and from
      10 on the right sides.
    - `pieces`, (m + 1, 5, 10 + n): rows of the piece after each knot, zero after the last.
      Triangular rows for the knot's unknowns replace them.
    - `work`, (10 + r, 10 + n): at most 5 rows carried over, r given, 5 of the piece.
    - `solution`, (m + 2, 5, n), written: the unknowns of each knot; must be zero before the call.
    """
    added, width = given.shape[1], work.shape[1]
    carried = 0
    for i in range(pieces.shape[0]):
        height = carried + added + 5
        for r in range(carried, height):
            own = r - carried
            for column in range(width):
                work[r, column] = (
                    given[i, own, column] if own < added else pieces[i, own - added, column])
        here, both = _triangularise(work, height, unknown[i])
        for r in range(here):
            for column in range(width):
                pieces[i, r, column] = work[r, column]
        carried = max(0, min(height, both) - here)
        for r in range(carried):
            for column in range(width):
                work[r, column] = 0.0 if 5 <= column < 10 else work[
                    here + r, column + 5 if column < 5 else column]

    for i in range(pieces.shape[0] - 1, -1, -1):
        r = 0
        for k in range(5):
            r += unknown[i, k]
        for k in range(4, -1, -1):
            if unknown[i, k]:
                r -= 1
                pivot = pieces[i, r, k]
                for joint in range(solution.shape[2]):
                    value = pieces[i, r, 10 + joint]
                    for column in range(5):
                        # Unknowns that are not yet solved for are zero.
                        value -= pieces[i, r, column] * solution[i, column, joint]
                        value -= pieces[i, r, 5 + column] * solution[i + 1, column, joint]
                    solution[i, k, joint] = value / pivot if pivot != 0.0 else 0.0


@njit(error_model='numpy')
def _triangularise(work: Array, rows: int, unknown: Flags) -> tuple[int, int]:
    """Apply the Householder QR of the unknowns' columns of work[:rows] to all columns, in place.

    Returns how many unknowns the first knot has, and how many both knots have.

    If spacings differ, rows differ by many orders of magnitude. Moving each column's largest entry
    to the top keeps the digits of small rows (Cox and Higham, 1998).
    """
    width = work.shape[1]
    here = both = 0
    for column in range(10):
        if not unknown[column]:
            continue
        row = both
        both += 1
        if column < 5:
            here = both
        largest, top = row, 0.0
        for r in range(row, rows):
            if abs(work[r, column]) > top:
                largest, top = r, abs(work[r, column])
        if top == 0.0:
            continue
        if largest != row:
            for k in range(width):
                value = work[row, k]
                work[row, k] = work[largest, k]
                work[largest, k] = value
        total = 0.0
        for r in range(row, rows):
            total += (work[r, column] / top) ** 2
        norm = top * np.sqrt(total)
        pivot = work[row, column]
        alpha = -norm if pivot > 0.0 else norm
        # The vector of the reflection is `first`, followed by the column's entries below `row`.
        first = pivot - alpha
        scale = 1.0 / (norm * (norm + abs(pivot)))
        work[row, column] = alpha
        for k in range(column + 1, width):
            product = first * work[row, k]
            for r in range(row + 1, rows):
                product += work[r, column] * work[r, k]
            product *= scale
            work[row, k] -= product * first
            for r in range(row + 1, rows):
                work[r, k] -= product * work[r, column]
        for r in range(row + 1, rows):
            work[r, column] = 0.0
    return here, both
