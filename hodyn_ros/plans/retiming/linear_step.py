"""One step towards the fastest law: a linear programme for the rate of the present one's time.

With x the rate of the present law's time (`time_law`), x = 1 the present motion, each limit is a
linear inequality in (x, x', x'') where that is exact: velocities squared, accelerations, torques.
Jerks and torque rates are √x L(x, x', x'') with L linear, so |L| ≤ limit/√x; 1/√x is convex, and
its tangent at 1, (3 − x)/2, below it: what meets |L| ≤ limit (3 − x)/2 meets the limit, whatever
x. What is left (friction, springs that are not linear, motor torques) is linearised, and corrected
by the next step. The derivatives are differences of the check's own functions.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog

from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.retiming.time_law import (
    SPLINE_DEGREE,
    Rate,
    TimeLaw,
    compose,
    even_basis,
    time_derivatives,
)
from hodyn_ros.reference import Plan

Array = NDArray[np.float64]

SAMPLES_PER_KNOT = 4
# Samples in the two pieces at each end, where a motion starts and ends quickly.
END_SAMPLES: Array = np.array([0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8])
# Dense samples between the even ones, of which only peaks count: they find what is shorter than a
# piece.
DENSE_STEP, MAX_SAMPLES, PEAK = 4e-3, 8000, 0.7
DIFFERENCE = 1e-4
# Share of a limit from which rows are given to the solver at once, and excess that counts as
# beyond a bound.
NEAR, PASSED = 0.5, 1e-7
# The bound on the used share of jerk and torque rate is linearised: its change in a step is
# limited.
MIN_USED, LESS_USED = 1e-3, 0.6
MIN_RATE, MAX_RATE = 0.1, 4.0


@dataclass(frozen=True)
class StepSettings:
    """How a step is made.

    Attributes
    ----------
    knots : int
        Number of pieces of the rate.
    highest_order : int
        Limits of quantities up to this order are looked at.
    max_rate : float
        Largest x.
    between : bool
        Whether peaks between the even samples are looked for.
    allowed : float
        Share of the limits that may be taken.
    smoothness : float
        Part of the duration that is worth as much as not to use jerk and torque rate at all.
    keeps_start, keeps_end : bool
        Whether x = 1 there, with no derivatives, because another motion joins there.

    """

    knots: int
    highest_order: int = 4
    max_rate: float = MAX_RATE
    between: bool = False
    allowed: float = 1.0
    smoothness: float = 0.0
    keeps_start: bool = False
    keeps_end: bool = False


def fastest_rate(
    path: Plan, law: TimeLaw, table: LimitTable, settings: StepSettings,
) -> Rate | None:
    """Return the rate x of the law's time that shortens it most; None where there is none."""
    count, step = settings.knots, law.duration / settings.knots
    u, even = _samples(count, step, law.duration, settings.between)
    first, basis = even_basis(u, step, count)
    present, slopes = _linearised(path, law, table, u, step)
    if settings.keeps_start:
        even[0] = False  # nothing changes there
    third = table.orders == 3
    smooth = settings.smoothness > 0.0 and settings.highest_order >= 3 and bool(third.any())
    used = float(np.clip(np.abs(present[:, third]).max(), MIN_USED, 1.0)) if smooth else 1.0
    reach = np.where(third, used, 1.0)
    rows, bounds = [], []
    for sign in (1.0, -1.0):
        slope, bound = sign * slopes, settings.allowed - sign * (present - slopes[0])
        slope[0][:, third] += 0.5 * settings.allowed * used
        bound[:, third] += 0.5 * settings.allowed * used
        if smooth:  # what may be used of them is a variable of its own
            bound[:, third] -= settings.allowed
        relative = sign * present / reach
        counts = (table.orders <= settings.highest_order) & np.isfinite(bound) & (
            even[:, None] | _peaks(relative))
        sample, column = np.nonzero(counts)
        values = np.einsum('dr,drb->rb', slope[:, sample, column], basis[:, sample])
        taken = sparse.csr_matrix(-settings.allowed * (third & smooth)[column][:, None])
        rows.append(sparse.hstack([_matrix(values, first[sample], count), taken]))
        bounds.append(bound[sample, column])
    # Of the duration, seconds for a change of x; and what its part is worth that is used less.
    cost = np.append(
        -0.5 * (_matrix(basis[0], first, count).T @ np.gradient(u)),
        settings.smoothness * law.duration)
    limits = np.tile([MIN_RATE, settings.max_rate], (count + SPLINE_DEGREE + 1, 1))
    limits[-1] = (LESS_USED * used, min(1.0, used / LESS_USED)) if smooth else (0.0, 1.0)
    # The value and the first four derivatives at an end are those of as many coefficients.
    if settings.keeps_start:
        limits[:SPLINE_DEGREE] = 1.0
    if settings.keeps_end:
        limits[-SPLINE_DEGREE - 1:-1] = 1.0
    found = _least(cost, sparse.vstack(rows, format='csr'), np.concatenate(bounds), limits)
    return None if found is None else Rate(found[:-1], law.duration)


def _least(cost: Array, rows: sparse.csr_matrix, bounds: Array, limits: Array) -> Array | None:
    """Return the y of least cost · y with rows y ≤ bounds within limits; None where there is none.

    Few rows matter, so that only those near their bound at the present motion are given at first,
    then those that what was found passes, until it passes none.
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
) -> tuple[Array, NDArray[np.bool_]]:
    """Return instants, (T,), and which of them are looked at even where nothing peaks."""
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


def _peaks(values: Array) -> NDArray[np.bool_]:
    """Return where columns, (T, columns), have their local maxima near or beyond 1."""
    padded = np.pad(values, ((1, 1), (0, 0)), constant_values=-np.inf)
    high: NDArray[np.bool_] = (
        (values > PEAK) & (values >= padded[:-2]) & (values >= padded[2:]))
    return high


def _linearised(
    path: Plan, law: TimeLaw, table: LimitTable, u: Array, step: float,
) -> tuple[Array, Array]:
    """Return the present shares, (T, columns), and their slopes to x … x''', (4, T, columns).

    Those of speeds are squared, those of order 3 divided by √x: so they are linear.
    """
    motion = law.motion(path, u)
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


def _matrix(values: Array, first: NDArray[np.intp], count: int) -> sparse.csr_matrix:
    """Return rows (R, 6) on six neighbouring coefficients each as a matrix (R, N + 5)."""
    width = SPLINE_DEGREE + 1
    return sparse.csr_matrix(
        (values.ravel(), (first[:, None] + np.arange(width)).ravel(),
         np.arange(0, values.size + 1, width)),
        shape=(len(values), count + SPLINE_DEGREE))
