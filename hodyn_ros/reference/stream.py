"""A reference that arrives sample by sample, smoothed so that it has four derivatives."""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.argument_checks import numbers
from hodyn_ros.reference.pieces import Array

# PASCAL[j, i] = C(j, i); its inverse has the same entries with alternating signs.
PASCAL: Array = np.array(
    [
        [1.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0, 0.0],
        [1.0, 2.0, 1.0, 0.0, 0.0],
        [1.0, 3.0, 3.0, 1.0, 0.0],
        [1.0, 4.0, 6.0, 4.0, 1.0],
    ]
)


class StreamFilter:
    """The filter 1/(s/ω + 1)⁵, ω = `omega`, whose states are q … q⁗.

    Between samples the target r runs on as the quadratic that the last sample gives: r = p, or
    p + v t, or p + v t + a t²/2. The input is r + 5 ṙ/ω + 10 r̈/ω², of which r itself
    is the steady response; so the difference of the states to (r, ṙ, r̈, 0, 0) decays by
    the filter's free motion, whose exponential is exact for every interval. With positions
    alone a ramp is followed 5/ω late; with velocities a ramp, and with accelerations a
    parabola, is followed without lag.

    Parameters
    ----------
    start : (n,) or (5, n) array
        A position at rest, or q … q⁗ to carry on from.
    omega : float
        ω, rad/s; the step response takes about 10/ω.

    Attributes
    ----------
    state : (5, n) array
        q … q⁗ now.

    """

    def __init__(self, start: ArrayLike, omega: float) -> None:
        if not 0.0 < omega < np.inf:
            raise HodynError(f'omega {omega}: must be positive and finite, in rad/s')
        self.omega = float(omega)
        self.state: Array
        self.reset(start)

    def reset(self, start: ArrayLike) -> None:
        """Carry on from `start`, (n,) at rest or (5, n), with its position as the target."""
        given = numbers(start, 'start')
        if given.ndim == 1:
            given = np.vstack((given, np.zeros((4, given.size))))
        if given.ndim != 2 or given.shape[0] != 5 or not np.isfinite(given).all():
            raise HodynError('start of a stream: (n,) or (5, n), finite')
        self.state = given
        self._target = np.zeros((3, given.shape[1]))
        self._target[0] = given[0]

    def set_target(
        self,
        position: ArrayLike,
        velocity: ArrayLike | None = None,
        acceleration: ArrayLike | None = None,
    ) -> None:
        """Take a sample, each (n,), as the target from now on."""
        target = np.zeros_like(self._target)
        for k, values in enumerate((position, velocity, acceleration)):
            if values is not None:
                quantity = ('position', 'velocity', 'acceleration')[k]
                row = numbers(values, quantity)
                if row.shape != target[k].shape or not np.isfinite(row).all():
                    raise HodynError(
                        f'sample: {quantity} must be finite, of shape {target[k].shape}'
                    )
                target[k] = row
        self._target = target

    aim = set_target  # its name in 0.1, for one more release

    def advance(self, interval: float, out: Array | None = None) -> Array:
        """Move on by `interval` seconds; return q … q⁗, (5, n), a copy or in `out`."""
        if not 0.0 <= interval < np.inf:
            raise HodynError(f'interval {interval} s: must not be negative')
        _advance(self.state, self._target, self.omega, interval)
        if out is None:
            out = np.empty_like(self.state)
        out[:] = self.state
        return out


@njit()
def _advance(state: Array, target: Array, omega: float, interval: float) -> None:
    """Move state (5, n) and target (3, n) on by the interval."""
    x = omega * interval
    decay = np.exp(-x)
    chain = np.empty(5)
    for joint in range(state.shape[1]):
        # Differences to the steady response, with derivatives in units of omega.
        for j in range(5):
            chain[j] = 0.0
        scale = 1.0
        for i in range(5):
            difference = state[i, joint]
            if i < 3:
                difference -= target[i, joint]
            difference *= scale
            scale /= omega
            # In the chain of five first-order lags: y_j = (1 + D)^j e.
            for j in range(i, 5):
                chain[j] += PASCAL[j, i] * difference
        # exp of one Jordan block, the input end last.
        for j in range(5):
            term = decay
            value = 0.0
            for k in range(5 - j):
                value += term * chain[j + k]
                term *= x / (k + 1)
            chain[j] = value
        target[0, joint] += interval * (target[1, joint] + 0.5 * interval * target[2, joint])
        target[1, joint] += interval * target[2, joint]
        scale = 1.0
        for i in range(5):
            value = 0.0
            sign = 1.0
            for j in range(i, -1, -1):
                value += sign * PASCAL[i, j] * chain[j]
                sign = -sign
            state[i, joint] = value * scale
            if i < 3:
                state[i, joint] += target[i, joint]
            scale *= omega
