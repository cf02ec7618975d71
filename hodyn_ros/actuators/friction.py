"""Smooth joint friction with its time derivatives."""
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array, check_array, check_motion, numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit


@dataclass(frozen=True, eq=False)
class SigmoidFriction:
    """The sigmoid law of Gaz et al., RA-L 2019, with a viscous term added; one entry per joint.

    τ_f(q̇) = A / (1 + exp(−α (q̇ + s))) − A / (1 + exp(−α s)) + d q̇. It is 0 at rest, and has
    derivatives of all orders along a smooth motion. Fields that are not finite numbers, or differ
    in length, raise HodynError.
    """

    #: (n,): A, N m: friction torque of fast forward motion minus that of fast backward motion,
    #: both without the viscous term
    amplitude: Array
    slope: Array  #: (n,): α, s/rad
    velocity_offset: Array  #: (n,): s, rad/s
    viscous: Array = field(default_factory=lambda: np.empty(0))  #: (n,): d, N m s/rad; default 0

    def __post_init__(self) -> None:
        names = ('amplitude', 'slope', 'velocity_offset', 'viscous')
        if not np.size(self.viscous):
            object.__setattr__(self, 'viscous', np.zeros(np.size(self.amplitude)))
        for name in names:
            object.__setattr__(self, name, numbers(getattr(self, name), name))
        shapes = [getattr(self, name).shape for name in names]
        if shapes != 4 * [(self.amplitude.size,)]:
            raise HodynError(f'{", ".join(names)} have shapes {shapes}; expected (n,) for each')
        for name in names:
            if not np.isfinite(getattr(self, name)).all():
                raise HodynError(f'{name} must be finite: {getattr(self, name)}')

    def add_to(self, q: Array, torque: Array, *, check: bool = True) -> None:
        """Add τ_f, τ̇_f, τ̈_f, (3, n), N m/sᵏ, to torques in place, without allocating.

        `q`, (4 or more, n), has positions and their derivatives, at least to the jerk. Batches are
        (T, 4 or more, n) and (T, 3, n). Wrong shapes, and anything but writeable, C-contiguous
        float64 arrays, raise HodynError or TypeError; without `check` they would corrupt memory.
        """
        if check:
            check_motion(q, 'q', 4, self.amplitude.size)
            check_array(torque, 'torque', (*q.shape[:-2], 3, self.amplitude.size))
        if q.ndim == 2:
            add_friction(self.amplitude, self.slope, self.velocity_offset, self.viscous, q, torque)
        else:
            _add_batch(
                self.amplitude, self.slope, self.velocity_offset, self.viscous, q, torque)

    def torque(self, q: Array) -> Array:
        """Return τ_f, τ̇_f, τ̈_f, (3, n) or (T, 3, n), along a motion q as in `add_to`."""
        q = numbers(q, 'q')
        out = np.zeros((*q.shape[:-2], 3, self.amplitude.size))
        self.add_to(q, out)
        return out

    def by_parameters(self, velocity: Array) -> dict[str, Array]:
        """Return the derivatives of τ_f by each parameter, (T, n), at velocities (T, n).

        τ_f is linear in two of them: it is A ∂τ_f/∂A + d ∂τ_f/∂d.
        """
        moved = sigmoid(self.slope * (velocity + self.velocity_offset))
        at_rest = sigmoid(self.slope * self.velocity_offset)
        curved, curved_at_rest = moved * (1.0 - moved), at_rest * (1.0 - at_rest)
        by_argument = self.amplitude * (curved - curved_at_rest)
        return {
            'amplitude': moved - at_rest,
            'slope': self.velocity_offset * by_argument + self.amplitude * curved * velocity,
            'velocity_offset': self.slope * by_argument, 'viscous': velocity}


@njit()
def sigmoid(x: Any) -> Any:
    """Return 1 / (1 + exp(−x)), by tanh, which unlike exp does not overflow."""
    return 0.5 * (1.0 + np.tanh(0.5 * x))


@njit()
def add_friction(
    amplitude: Array, slope: Array, velocity_offset: Array, viscous: Array, q: Array,
    torque: Array,
) -> None:
    """Add τ_f, τ̇_f, τ̈_f of a motion (4 or more, n) to torque (3, n)."""
    for i in range(q.shape[1]):
        a, s = slope[i], velocity_offset[i]
        moved = sigmoid(a * (q[1, i] + s))
        first = amplitude[i] * a * moved * (1.0 - moved)
        second = first * a * (1.0 - 2.0 * moved)
        torque[0, i] += amplitude[i] * (moved - sigmoid(a * s)) + viscous[i] * q[1, i]
        torque[1, i] += (first + viscous[i]) * q[2, i]
        torque[2, i] += (first + viscous[i]) * q[3, i] + second * q[2, i] ** 2


@njit(nogil=True)
def _add_batch(
    amplitude: Array, slope: Array, velocity_offset: Array, viscous: Array, q: Array,
    torque: Array,
) -> None:
    for t in range(q.shape[0]):
        add_friction(amplitude, slope, velocity_offset, viscous, q[t], torque[t])
