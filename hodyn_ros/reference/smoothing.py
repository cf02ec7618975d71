"""A filter that smooths samples as they arrive, so that the output has four derivatives."""
from __future__ import annotations

from math import comb

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, check_array, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit

# Binomial coefficients; the inverse has the same entries, with alternating signs.
PASCAL: Array = np.array([[float(comb(j, i)) for i in range(5)] for j in range(5)])
# Greatest slope of the filter's response to a unit step, in units of ω: 4⁴ e⁻⁴/4!.
MAX_SLOPE = 4.0**4 * np.exp(-4.0) / 24.0


class SmoothingFilter:
    """The filter 1/(s/ω + 1)⁵, ω = `omega`, rad/s, of samples, each held until the next.

    Its impulse response is never negative and has area 1, so its output stays within the range of
    its input. The step response takes about 10/ω. A matrix exponential, exact for every interval,
    advances the difference between state and target. `start`, (n,), is the initial target and the
    initial value, at rest.
    """

    def __init__(self, start: ArrayLike, omega: float) -> None:
        if not 0.0 < omega < np.inf:
            raise HodynError(f'omega {omega}: must be positive and finite, in rad/s')
        self.omega = float(omega)
        self._target = numbers(start, 'start').copy()
        if self._target.ndim != 1 or not np.isfinite(self._target).all():
            raise HodynError('start of a filter: must be finite, of shape (n,)')
        #: (5, n): the value and its derivatives to the fourth, now
        self.state: Array = np.zeros((5, self._target.size))
        self.state[0] = self._target

    def set_target(self, target: ArrayLike) -> None:
        """Take a sample, (n,), as the target from now on."""
        given = numbers(target, 'sample')
        if given.shape != self._target.shape or not np.isfinite(given).all():
            raise HodynError(f'sample: must be finite, of shape {self._target.shape}')
        self._target = given.copy()

    def advance(self, interval: float, out: Array | None = None) -> Array:
        """Advance by `interval` seconds; return the state, (5, n), as a copy or in `out`."""
        if not 0.0 <= interval < np.inf:
            raise HodynError(f'interval {interval} s: must be finite and not negative')
        check_array(self.state, 'state', (5, self._target.size))
        _advance(self.state, self._target, self.omega, float(interval))
        if out is None:
            out = np.empty_like(self.state)
        out[:] = self.state
        return out


@njit()
def _advance(state: Array, target: Array, omega: float, interval: float) -> None:
    """Advance the state (5, n) by the interval."""
    for joint in range(state.shape[1]):
        advance_joint(state, joint, target[joint], omega, interval)


@njit()
def advance_joint(
    state: Array, joint: int, target: float, omega: float, interval: float,
) -> None:
    """Advance one column of a state, (5, n), by the interval, in place."""
    x = omega * interval
    decay = np.exp(-x)
    chain = np.empty(5)
    # Differences from the target, with derivatives in units of omega.
    for j in range(5):
        chain[j] = 0.0
    scale = 1.0
    for i in range(5):
        difference = state[i, joint]
        if i == 0:
            difference -= target
        difference *= scale
        scale /= omega
        # States of the chain of five first-order lags: y_j = (1 + D)^j e.
        for j in range(i, 5):
            chain[j] += PASCAL[j, i] * difference
    # Exponential of one Jordan block: chain[0] is the output; the input drives chain[4].
    for j in range(5):
        term = decay
        value = 0.0
        for k in range(5 - j):
            value += term * chain[j + k]
            term *= x / (k + 1)
        chain[j] = value
    scale = 1.0
    for i in range(5):
        value = 0.0
        sign = 1.0
        for j in range(i, -1, -1):
            value += sign * PASCAL[i, j] * chain[j]
            sign = -sign
        state[i, joint] = value * scale
        if i == 0:
            state[i, joint] += target
        scale *= omega
