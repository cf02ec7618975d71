"""The smoothest motion that stays between its waypoints: a convex problem.

The Bernstein coefficients of a piece enclose it. Five of them are linear in the derivatives at the
piece's left end, the other five in those at its right end. So linear bounds, eight per knot, keep
each coefficient within the range of the piece's two waypoints, up to a tolerance. A primal-dual
interior-point method finds the least integral of (q⁽⁵⁾)² within these bounds. Each of its steps
keeps the bounds, and is a banded least-squares solve with eight more rows per knot.
"""
from __future__ import annotations

from math import comb, factorial

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.reference.pieces import (
    DEGREE,
    ENDS,
)
from hodyn_ros.reference.spline import smoothest_knots

# At the left end of a piece of length h, the Bernstein coefficients b_1 … b_4 are
# b_j = q + sum_k REACH[j - 1, k] hᵏ q⁽ᵏ⁾; at its right end the same sum with −h gives b_{9 - j}.
REACH: Array = np.array([
    [
        comb(j, k) * factorial(DEGREE - k) / factorial(DEGREE) if 1 <= k <= j else 0.0
        for k in range(5)
    ]
    for j in range(1, 5)
])
ITERATIONS = 40
# Complementarity gap, relative to the integral, at which the iteration ends.
ACCURACY = 1e-2
CENTRING = 0.1
STEP_TO_BOUNDARY = 0.99
# Share of given coefficients by which the bounds are widened for round-off.
RESOLVED = 1e-9
# Distance, as a share of the tolerance, up to which a knot is at the end of the joint's range.
AT_END = 1e-6


def bounded_knots(
    times: Array, fixed: Flags, tolerance: float, knots: Array,
    lower: float = -np.inf, upper: float = np.inf,
) -> None:
    """Fill in the free derivatives of one joint's knots (m + 1, 5, 1); all positions are given.

    The motion stays within `lower` and `upper`, which enclose all positions. If given derivatives
    lead out of the bounds, the bounds are widened as far as necessary.
    """
    # The search starts from a motion that rests at every knot, which is within the bounds.
    knots[~fixed] = 0.0
    fixed = _turned_back(times, fixed, tolerance, knots[:, :, 0], lower, upper)
    rows, bounds = _bounds(times, tolerance, knots[:, :, 0], lower, upper)
    sign = np.array([-1.0, 1.0])[:, None, None]

    def coefficients(at: Array) -> Array:
        """Return the Bernstein coefficients relative to the knots' positions, (m + 1, 8)."""
        result: Array = np.einsum('irk,ik->ir', rows, at[:, :, 0])
        return result

    value = coefficients(knots)
    room = sign * (bounds - value)
    multiplier = integral(times, knots[:, :, 0]) / room.size / room
    for _ in range(ITERATIONS):
        gap = float((multiplier * room).sum(axis=(1, 2)).sum())
        if gap <= ACCURACY * integral(times, knots[:, :, 0]):
            break
        barrier = CENTRING * gap / room.size
        stiffness = (multiplier / room).sum(axis=0)
        pull = value - (sign * barrier / room).sum(axis=0) / stiffness
        root = np.sqrt(stiffness)[:, :, None]
        trial = knots.copy()
        smoothest_knots(times, fixed, root * rows, root * pull[:, :, None], trial)
        change = sign * (coefficients(trial) - value)
        more = barrier / room - multiplier + multiplier / room * change
        knots += _max_step(room, -change) * (trial - knots)
        multiplier += _max_step(multiplier, more) * more
        value = coefficients(knots)
        room = sign * (bounds - value)


def integral(times: Array, knots: Array) -> float:
    """Return the integral of (q⁽⁵⁾)² of one joint through knots (m + 1, 5)."""
    h = np.diff(times)[:, None]
    powers = h ** np.arange(5)
    left, right = knots[:-1] * powers, knots[1:] * powers
    right[:, 0] -= left[:, 0]
    left[:, 0] = 0.0
    fifth = np.hstack((left, right)) @ ENDS.T
    return float((fifth**2 / h**9).sum())


def _turned_back(
    times: Array, fixed: Flags, tolerance: float, knots: Array,
    lower: float, upper: float,
) -> Flags:
    """Let the motion turn back at knots (m + 1, 5) at the ends of the range; return new `fixed`.

    At such a knot the velocity is fixed to 0, and the acceleration points into the range. At an
    end of the motion a free velocity points into the range instead. So the search starts strictly
    within the bounds.
    """
    position, last = knots[:, 0], len(times) - 1
    near = AT_END * tolerance
    inward = np.where(position - lower <= near, 1.0, np.where(upper - position <= near, -1.0, 0.0))
    fixed = fixed.copy()
    spacing = np.diff(times)
    for i in np.flatnonzero(inward).tolist():
        longest = spacing[max(i - 1, 0):i + 1].max()
        if i in (0, last):
            if not fixed[i, 1]:
                knots[i, 1] = inward[i] * (1.0 if i == 0 else -1.0) * tolerance / longest
            continue
        fixed[i, 1] = True
        if not fixed[i, 2]:
            knots[i, 2] = inward[i] * tolerance / longest ** 2
    return fixed


def _bounds(
    times: Array, tolerance: float, knots: Array, lower: float, upper: float,
) -> tuple[Array, Array]:
    """Return rows (m + 1, 8, 5) that act on each knot's derivatives, and bounds (2, m + 1, 8).

    The first four rows belong to the piece before the knot, the others to the one after it.
    """
    count = len(times)
    rows = np.zeros((count, 8, 5))
    bounds = np.ones((2, count, 8)) * [[[-1.0]], [[1.0]]]
    spacing, step = np.diff(times)[:, None, None], np.diff(knots[:, 0])[:, None]
    before = (slice(0, 4), slice(1, None), -1.0)
    after = (slice(4, 8), slice(None, -1), 1.0)
    for place, knot, sign in (before, after):
        rows[knot, place] = REACH * (sign * spacing) ** np.arange(5)
        start = np.einsum('irk,ik->ir', rows[knot, place], knots[knot])
        target = sign * step
        room = tolerance + RESOLVED * np.abs(start)
        low = np.minimum(np.minimum(target, 0.0), start) - room
        high = np.maximum(np.maximum(target, 0.0), start) + room
        # The joint's range bounds only coefficients that start within it. A coefficient that
        # starts beyond the range is given, or cannot stay within the range.
        ends = lower - knots[knot, :1], upper - knots[knot, :1]
        bounds[0, knot, place] = np.where(start > ends[0], np.maximum(low, ends[0]), low)
        bounds[1, knot, place] = np.where(start < ends[1], np.minimum(high, ends[1]), high)
    return rows, bounds


def _max_step(room: Array, change: Array) -> float:
    """Return the largest step up to 1 that leaves room + step × change positive."""
    falling = change < 0.0
    if not falling.any():
        return 1.0
    return min(1.0, STEP_TO_BOUNDARY * float((room[falling] / -change[falling]).min()))
