"""The limits of a robot's joints; velocity limits may depend on the position."""
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.limits.velocity_bounds import velocity_bounds_of


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the joints, one entry per joint: infinite (an offset: 0) if not known.

    Attributes
    ----------
    position_min, position_max : (n,) arrays
        rad or m.
    velocity, acceleration, jerk : (n,) arrays
        Absolute values, rad/s, rad/s² and rad/s³ (prismatic: m).
    effort, effort_rate : (n,) arrays
        Absolute values, N m and N m/s (prismatic: N, N/s).
    tracking_error : (n,) array
        Largest distance of a joint from its reference, rad or m.
    stopping_min, stopping_max : (n,) arrays
        Positions before which a joint must be able to stop, rad or m.
    stopping_deceleration, stopping_offset : (n,) arrays
        Deceleration before these positions (rad/s² or m/s²), and how much slower the joint must
        be than this deceleration would allow (rad/s or m/s): see `limits.velocity_bounds`.

    """

    position_min: Array
    position_max: Array
    velocity: Array
    acceleration: Array
    jerk: Array
    effort: Array
    effort_rate: Array
    tracking_error: Array
    stopping_min: Array
    stopping_max: Array
    stopping_deceleration: Array
    stopping_offset: Array

    @classmethod
    def none(cls, n: int) -> 'Limits':
        """Return limits that bound nothing."""
        none = {f.name: np.full(n, np.inf) for f in fields(cls)}
        for name in ('position_min', 'stopping_min'):
            none[name] = -none[name]
        return cls(**{**none, 'stopping_offset': np.zeros(n)})

    @property
    def depend_on_position(self) -> Flags:
        """Which joints have velocity limits that depend on their position, (n,)."""
        depend: Flags = np.isfinite(self.stopping_deceleration)
        return depend

    @cached_property
    def velocity_law(self) -> Array:
        """Parameters of velocity limits over position, (5, n): see `limits.velocity_bounds`."""
        return np.vstack((
            self.velocity, self.stopping_min, self.stopping_max, self.stopping_deceleration,
            self.stopping_offset))

    @cached_property
    def stopping_law(self) -> Array:
        """`velocity_law` without the constant limits: only the limits due to stopping, (5, n)."""
        law: Array = self.velocity_law.copy()
        law[0] = np.inf
        return law

    def velocity_range(self, position: Array) -> tuple[Array, Array]:
        """Return the least and the largest velocity at positions (…, n), each (…, n)."""
        return _velocity_range(position, self.velocity_law)

    def stopping_range(self, position: Array) -> tuple[Array, Array]:
        """Return the least and the largest velocity from which joints can stop, each (…, n).

        They stop between `stopping_min` and `stopping_max`. Both velocities are infinite if no
        stopping deceleration is known.
        """
        return _velocity_range(position, self.stopping_law)


def _velocity_range(position: Array, law: Array) -> tuple[Array, Array]:
    flat = np.ascontiguousarray(position).reshape(-1, position.shape[-1])
    bounds = np.empty((len(flat), 2, flat.shape[1]))
    velocity_bounds_of(flat, law, bounds)
    return bounds[:, 0].reshape(position.shape), bounds[:, 1].reshape(position.shape)
