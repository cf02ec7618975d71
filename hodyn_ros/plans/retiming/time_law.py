"""Timing of a path: laws w(t) by which a path p(w) becomes a motion p(w(t)).

A law is a plan of one column, w, from time 0. Its time u is replaced by a new time t, in which u
runs with the speed du/dt = √x(u); x > 0 is the rate. Then the derivatives of u in t are √x,
x'/2, √x x''/2 and x x'''/2 + x'x''/4. So accelerations, torques and the squares of velocities
along a path are linear in (x, x'), and jerks and torque rates are √x times a linear function of
(x, x', x'').
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import BSpline

from hodyn_ros.common.arrays import Array, Indices
from hodyn_ros.reference import Plan
from hodyn_ros.reference.stop import change_time

SPLINE_DEGREE = 5
"""Degree of x, which is in C4, so that q⁗ of the motion is continuous and smooth."""
# Numbers of intervals of the integral t(u), and of pieces of a new law, per piece of x.
QUADRATURE, PIECES_PER_KNOT = 16, 3
NEWTON_STEPS = 5  # to invert t(u)


def compose(path: Array, law: Array) -> Array:
    """Return p(w(t)) and its derivatives in t, (T, 5, n).

    `path`, (T, 5, n), has the derivatives of p in w, and `law`, (T, 5), those of w in t.
    """
    out: Array = path.copy()
    change_time(out.swapaxes(0, 1), *law.T[1:, :, None])
    return out


def time_derivatives(rate: Array) -> Array:
    """Return u … d⁴u/dt⁴, (T, 5), from x, x', x'', x''', (T, 4); u itself is left 0."""
    x, x1, x2, x3 = rate.T
    root = np.sqrt(x)
    return np.stack(
        [np.zeros_like(x), root, 0.5 * x1, 0.5 * root * x2, 0.5 * x3 * x + 0.25 * x2 * x1], axis=1)


@dataclass(frozen=True, eq=False)
class Rate:
    """x(u) on [0, duration]: a spline of degree 5 on N even pieces, with N + 5 coefficients."""

    coefficients: Array
    duration: float

    @property
    def step(self) -> float:
        """Distance of the knots, s."""
        return self.duration / (self.coefficients.size - SPLINE_DEGREE)

    def __call__(self, u: Array) -> Array:
        """Return x, x', x'', x''' at u, (T, 4)."""
        first, basis = even_basis(u, self.step, self.coefficients.size - SPLINE_DEGREE)
        around = self.coefficients[first[:, None] + np.arange(SPLINE_DEGREE + 1)]
        values: Array = np.einsum('tb,dtb->td', around, basis)
        return values


def even_basis(u: Array, step: float, count: int) -> tuple[Indices, Array]:
    """Return the six basis functions that are not 0 at each u.

    The result is the index of the first function, (T,), and the six functions with their first
    three derivatives, (4, T, 6).
    """
    first = np.clip((u / step).astype(np.intp), 0, count - 1)
    knots = np.arange(-SPLINE_DEGREE, SPLINE_DEGREE + 2.0)
    spline = BSpline(knots, np.eye(SPLINE_DEGREE + 1), SPLINE_DEGREE)
    within = u / step - first
    return first, np.stack([spline(within, nu=k) / step**k for k in range(4)])


def uniform_law(length: float, duration: float, rests: ArrayLike) -> Plan:
    """Return a law with its mean speed at both ends, or at rest where `rests`, (2,), is True."""
    knots = np.zeros((2, 5, 1))
    knots[1, 0] = length
    knots[:, 1, 0] = np.where(rests, 0.0, length / duration)
    return Plan.hermite(np.array([0.0, duration]), knots, 'law')


def run_by(law: Plan, path: Plan, t: Array) -> Array:
    """Return q … q⁗ of a path run by a law at instants, (T, 5, n)."""
    w = law.evaluate(t)[:, :, 0]
    return compose(path.evaluate(w[:, 0]), w)


def at_rate(law: Plan, rate: Rate) -> Plan:
    """Return the law w(u(t)), where du/dt = √x(u)."""
    count = rate.coefficients.size - SPLINE_DEGREE
    u = np.linspace(0.0, law.duration, QUADRATURE * count + 1)
    t = np.concatenate(([0.0], np.cumsum(_spent(rate, u[:-1], np.diff(u)))))
    times = np.linspace(0.0, t[-1], PIECES_PER_KNOT * count + 1)
    at = np.interp(times, t, u)
    place = np.clip(np.searchsorted(t, times, side='right') - 1, 0, t.size - 2)
    for _ in range(NEWTON_STEPS):
        missing = times - t[place] - _spent(rate, u[place], at - u[place])
        at = np.clip(at + missing * np.sqrt(rate(at)[:, 0]), 0.0, law.duration)
    at[[0, -1]] = 0.0, law.duration
    return Plan.hermite(times, compose(law.evaluate(at), time_derivatives(rate(at))), 'law')


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(5)  # on [−1, 1]


def _spent(rate: Rate, begin: Array, span: Array) -> Array:
    """Return the integrals of 1/√x from `begin` over `span`, (T,)."""
    inside = begin[:, None] + span[:, None] * 0.5 * (_NODES + 1.0)
    roots = np.sqrt(rate(inside.ravel())[:, 0]).reshape(inside.shape)
    spent: Array = (1.0 / roots) @ (0.5 * _WEIGHTS) * span
    return spent
