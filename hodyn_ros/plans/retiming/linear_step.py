"""One step towards the fastest timing of a path, by a linear programme.

Let u be the time of the present timing (the law, see `time_law`), and t the time of the next one.
The step finds the rate x(u) = (du/dt)²; x = 1 is the present motion. The limits of squared
velocities, accelerations and torques are linear inequalities in (x, x').
Jerks and torque rates are √x L(x, x', x'') with L linear, so their limit is |L| ≤ limit/√x. As
1/√x is convex, its tangent at 1, (3 − x)/2, lies below it: a motion with |L| ≤ limit (3 − x)/2 is
within the limit for any x.
All other terms (friction, nonlinear springs, motor torques) are linearised, and the next step
corrects the error. Derivatives are finite differences of `LimitTable.shares`.
"""
from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.retiming.time_law import (
    SPLINE_DEGREE,
    Rate,
    compose,
    even_basis,
    run_by,
    time_derivatives,
)
from hodyn_ros.reference import Plan

SAMPLES_PER_KNOT = 4  # even samples per piece of the rate
# Places of additional samples in each of the first two and last two pieces of the rate, where the
# motion changes quickly: shares of the piece, from its side nearer to that end of the motion.
END_SAMPLES: Array = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8])
# Dense samples, DENSE_STEP, s, apart and at most about MAX_SAMPLES, find peaks between the even
# ones; only peaks above the share PEAK of a limit count.
DENSE_STEP, MAX_SAMPLES, PEAK = 4e-3, 8000, 0.7
DIFFERENCE = 1e-4  # step of x for finite differences
# The solver at first gets only the inequalities (rows) that the present motion fulfils by less
# than NEAR, then also those that its solution violates by more than PASSED, shares of a limit.
NEAR, PASSED = 0.5, 1e-7
# The used share of the limits of order 3 (jerk, torque rate, motor speed) counts as at least
# MIN_USED. Rows with this share are linearised and hold only near its present value, so a step may
# change it by a factor from LESS_USED to 1/LESS_USED.
MIN_USED, LESS_USED = 1e-3, 0.6
MIN_RATE = 0.1  # least x
# Share of the limits that a motion from a moving start may use: if the steps miss a peak, such a
# motion cannot be stretched afterwards to bring the peak within its limit.
MOVING_SHARE = 0.97


def fastest_rate(
    path: Plan, law: Plan, table: LimitTable, count: int, *, highest_order: int, max_rate: float,
    between: bool, smoothness: float, moving: bool,
) -> Rate | None:
    """Return the rate x that shortens the law most within the limits; None if there is none.

    Parameters
    ----------
    path, law : Plan
        The path, and the law that runs it at present.
    table : LimitTable
        The limits.
    count : int
        Number of pieces of the rate.
    highest_order : int
        Highest order (`limits.quantities.Quantity.order`) of the quantities that are limited.
    max_rate : float
        Largest x.
    between : bool
        Whether peaks between the even samples are searched for.
    smoothness : float
        Price of using the limits of jerk, torque rate and motor speed, as in `retiming.retime`.
    moving : bool
        Whether the start joins another motion, so that x = 1 there, with zero derivatives. Then
        only `MOVING_SHARE` of the limits may be used.

    """
    step, allowed = law.duration / count, MOVING_SHARE if moving else 1.0
    u, even = _samples(count, step, law.duration, between)
    first, basis = even_basis(u, step, count)
    present, slopes = _linearised(path, law, table, u, step)
    if moving:
        even[0] = False  # the start stays as it is
    third = table.orders == 3
    smooth = smoothness > 0.0 and highest_order >= 3 and bool(third.any())
    used = float(np.clip(np.abs(present[:, third]).max(), MIN_USED, 1.0)) if smooth else 1.0
    reach = np.where(third, used, 1.0)
    rows, bounds = [], []
    for sign in (1.0, -1.0):
        slope, bound = sign * slopes, allowed - sign * (present - slopes[0])
        slope[0][:, third] += 0.5 * allowed * used
        bound[:, third] += 0.5 * allowed * used
        if smooth:  # the used share of these limits is a variable
            bound[:, third] -= allowed
        relative = sign * present / reach
        counts = (table.orders <= highest_order) & np.isfinite(bound) & (
            even[:, None] | _peaks(relative))
        sample, column = np.nonzero(counts)
        values = np.einsum('dr,drb->rb', slope[:, sample, column], basis[:, sample])
        taken = sparse.csr_matrix(-allowed * (third & smooth)[column][:, None])
        rows.append(sparse.hstack([_matrix(values, first[sample], count), taken]))
        bounds.append(bound[sample, column])
    # The cost is the change of the duration, s, per change of x, plus the price of the used share.
    cost = np.append(
        -0.5 * (_matrix(basis[0], first, count).T @ np.gradient(u)),
        smoothness * law.duration)
    limits = np.tile([MIN_RATE, max_rate], (count + SPLINE_DEGREE + 1, 1))
    limits[-1] = (LESS_USED * used, min(1.0, used / LESS_USED)) if smooth else (0.0, 1.0)
    # Value and first four derivatives at an end depend on the five coefficients there.
    if moving:
        limits[:SPLINE_DEGREE] = 1.0
    found = _least(cost, sparse.vstack(rows, format='csr'), np.concatenate(bounds), limits)
    return None if found is None else Rate(found[:-1], law.duration)


def _least(cost: Array, rows: sparse.csr_matrix, bounds: Array, limits: Array) -> Array | None:
    """Return the y with the least cost · y for which rows y ≤ bounds; None if none exists.

    Each entry of y is within its row of `limits`. Since only a few rows matter, the solver first
    gets only the rows near their bound at the present motion, then also the rows that its
    solution violates, until it violates none.
    """
    given = bounds - rows @ np.ones(cost.size) < NEAR
    while True:
        result = linprog(  # type: ignore[call-overload]  # its stub knows no sparse matrices
            cost, A_ub=rows[given], b_ub=bounds[given], bounds=limits, method='highs-ds')
        if result.x is None:
            return None
        passed = ~given & (rows @ result.x > bounds + PASSED)
        if not passed.any():
            found: Array = result.x
            return found
        given |= passed


def _samples(
    count: int, step: float, duration: float, between: bool,
) -> tuple[Array, Flags]:
    """Return instants, (T,), and which always count; the others count only at a peak."""
    dense = between * int(min(np.ceil(step / DENSE_STEP), MAX_SAMPLES // count) / SAMPLES_PER_KNOT)
    each = SAMPLES_PER_KNOT * max(dense, 1)
    start = np.concatenate((END_SAMPLES, 1.0 + END_SAMPLES)) * step
    u = np.concatenate((
        np.arange(each * count) * (step / each), start, duration - start, [duration]))
    even = np.arange(u.size) % max(dense, 1) == 0
    even[each * count:] = True
    u, kept = np.unique(u, return_index=True)
    inside = (u >= 0.0) & (u <= duration)
    return u[inside], even[kept][inside]


def _peaks(values: Array) -> Flags:
    """Return where columns, (T, columns), have local maxima above `PEAK`."""
    padded = np.pad(values, ((1, 1), (0, 0)), constant_values=-np.inf)
    high: Flags = (
        (values > PEAK) & (values >= padded[:-2]) & (values >= padded[2:]))
    return high


def _linearised(
    path: Plan, law: Plan, table: LimitTable, u: Array, step: float,
) -> tuple[Array, Array]:
    """Return the present shares, (T, columns), and their slopes in x … x''', (4, T, columns).

    To be linear, shares of speeds are squared, and shares of order 3 divided by √x.
    """
    motion = run_by(law, path, u)
    squared, divided = table.orders == 1, table.orders == 3

    def at(rate: Array) -> Array:
        derivatives = time_derivatives(rate)
        values = table.shares(compose(motion, derivatives))
        values[:, squared] *= np.abs(values[:, squared])
        values[:, divided] /= derivatives[:, 1:2]
        return values

    here = np.zeros((u.size, 4))
    here[:, 0] = 1.0
    present = at(here)
    slopes = np.zeros((4, *present.shape))
    for k in range(4 if (table.orders == 4).any() else 3):
        size = DIFFERENCE / step**k
        ahead, behind = here.copy(), here.copy()
        ahead[:, k] += size
        behind[:, k] -= size
        slopes[k] = (at(ahead) - at(behind)) / (2.0 * size)
    return present, slopes


def _matrix(values: Array, first: Indices, count: int) -> sparse.csr_matrix:
    """Return the matrix (R, N + 5) of rows (R, 6) for six coefficients from `first`, (R,), on."""
    width = SPLINE_DEGREE + 1
    return sparse.csr_matrix(
        (values.ravel(), (first[:, None] + np.arange(width)).ravel(),
         np.arange(0, values.size + 1, width)),
        shape=(len(values), count + SPLINE_DEGREE))
