"""The plan: piecewise polynomials of degree 9, continuous to q⁗, or to q̈ if quintic."""
from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, SupportsFloat

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, check_array, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.pieces import (
    DEGREE,
    hermite_coefficients,
    quintic_coefficients,
)


@dataclass(frozen=True, eq=False)
class Plan:
    """A joint motion q(t), immutable and picklable.

    Attributes
    ----------
    times : (m + 1,) array
        Times of the knots, s from the plan's zero, increasing. A single knot is a hold.
    coefficients : (m, 10, n) array
        Coefficients of q on each piece in s = (t - times[i])/(times[i + 1] - times[i]).
    ends : (2, n) array
        Positions held before the first and after the last knot.
    interpolation : str
        Kind of interpolation.

    """

    times: Array
    coefficients: Array
    ends: Array
    interpolation: str
    duration: float = field(init=False)
    n: int = field(init=False)

    def __post_init__(self) -> None:
        for name in ('times', 'coefficients', 'ends'):
            array = np.array(getattr(self, name), dtype=np.float64, order='C')
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        pieces = self.times.size - 1
        n = self.ends.shape[-1]
        if (
            self.times.ndim != 1
            or self.ends.shape != (2, n)
            or self.coefficients.shape != (pieces, DEGREE + 1, n)
        ):
            raise HodynError(
                f'plan: times {self.times.shape}, coefficients {self.coefficients.shape} and ends '
                f'{self.ends.shape} do not fit together: (m + 1,), (m, 10, n), (2, n)'
            )
        object.__setattr__(self, 'duration', float(self.times[-1]))
        object.__setattr__(self, 'n', n)

    def __repr__(self) -> str:
        """Return one line: the coefficients of all pieces would fill pages."""
        return (
            f'<Plan {self.interpolation!r}: {self.n} joints, {self.duration:.6g} s, '
            f'{len(self.coefficients)} pieces>')

    def __reduce__(self) -> tuple[Callable[..., Plan], tuple[Any, ...]]:
        # The constructor makes the arrays read-only; those from a pickle are writable.
        return Plan, (self.times, self.coefficients, self.ends, self.interpolation)

    @classmethod
    def hermite(cls, times: Array, knots: Array, interpolation: str) -> Plan:
        """Return the plan with the values q … q⁗, (m + 1, 5, n), at its knots."""
        return cls(
            times, hermite_coefficients(times, knots), knots[[0, -1], 0], interpolation)

    @classmethod
    def quintic(cls, times: Array, knots: Array) -> Plan:
        """Return the quintics between knots with q … q̈, (m + 1, 3, n), a plan continuous to q̈.

        joint_trajectory_controller interpolates in this way. At a knot, `evaluate` returns the
        jerk and snap of the piece after it, at the last knot those of the last piece.
        """
        return cls(times, quintic_coefficients(times, knots), knots[[0, -1], 0], 'quintic')

    def evaluate(self, t: ArrayLike, out: Array | None = None) -> Array:
        """Return q … q⁗ at t: (5, n) for one instant, (T, 5, n) for an array of instants.

        Outside its knots the plan holds its end positions, with zero derivatives. With `out`, a
        C-contiguous float64 array of the result's shape, no result is allocated.
        """
        if isinstance(t, (float, int)):
            if t != t:
                raise HodynError('plan evaluated at a time that is not a number')
            if out is None:
                out = np.empty((5, self.n))
            else:
                check_array(out, 'out', (5, self.n))
            _evaluate(self.times, self.coefficients, self.ends, float(t), out)
            return out
        instants = numbers(t, 't')
        if instants.ndim == 0:
            return self.evaluate(float(instants), out)
        if np.isnan(instants).any():
            raise HodynError('plan evaluated at a time that is not a number')
        shape = (*instants.shape, 5, self.n)
        if out is None:
            out = np.empty(shape)
        else:
            check_array(out, 'out', shape)
        _evaluate_many(
            self.times, self.coefficients, self.ends, instants.ravel(),
            out.reshape(-1, 5, self.n),
        )
        return out

    def stretched(self, factor: SupportsFloat) -> Plan:
        """Return the plan run `factor` times slower, for plans that start and end at rest."""
        scale = float(factor)
        if not 0.0 < scale < np.inf:
            raise HodynError(f'stretch {scale}: must be positive and finite')
        return Plan(self.times * scale, self.coefficients, self.ends, self.interpolation)


def hold_plan(position: ArrayLike) -> Plan:
    """Return the plan that stays at `position` (n,)."""
    held = numbers(position, 'position').reshape(-1)
    if not np.isfinite(held).all():
        raise HodynError(f'hold: position {held.tolist()} is not finite')
    empty = np.empty((0, DEGREE + 1, held.size))
    return Plan(np.zeros(1), empty, np.array([held, held]), 'hold')


@njit()
def _evaluate(times: Array, coefficients: Array, ends: Array, t: float, out: Array) -> None:
    """Write q … q⁗ at t into `out` (5, n)."""
    last = times.size - 1
    n = ends.shape[1]
    if t < times[0] or t > times[last] or last == 0:
        side = 0 if t < times[0] else 1
        for joint in range(n):
            out[0, joint] = ends[side, joint]
        for k in range(1, 5):
            for joint in range(n):
                out[k, joint] = 0.0
        return
    low = 0
    high = last
    while high - low > 1:
        middle = (low + high) >> 1
        if times[middle] <= t:
            low = middle
        else:
            high = middle
    inverse = 1.0 / (times[low + 1] - times[low])
    s = (t - times[low]) * inverse
    inverse2 = inverse * inverse
    for joint in range(n):
        d0 = coefficients[low, 9, joint]
        d1 = 0.0
        d2 = 0.0
        d3 = 0.0
        d4 = 0.0
        # Horner's method for p and its derivatives, the k-th divided by k!.
        for k in range(8, -1, -1):
            d4 = d4 * s + d3
            d3 = d3 * s + d2
            d2 = d2 * s + d1
            d1 = d1 * s + d0
            d0 = d0 * s + coefficients[low, k, joint]
        out[0, joint] = d0
        out[1, joint] = d1 * inverse
        out[2, joint] = 2.0 * d2 * inverse2
        out[3, joint] = 6.0 * d3 * inverse2 * inverse
        out[4, joint] = 24.0 * d4 * inverse2 * inverse2


@njit()
def _evaluate_many(
    times: Array, coefficients: Array, ends: Array, instants: Array, out: Array
) -> None:
    """Write q … q⁗ at each instant into `out` (T, 5, n)."""
    for i in range(instants.size):
        _evaluate(times, coefficients, ends, instants[i], out[i])
