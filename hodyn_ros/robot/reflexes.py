"""Reflexes: stops by the vendor's controller, by the vendor's names, when a limit is exceeded."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hodyn_ros.common.arrays import Array

Commands = Literal['effort', 'position']
COMMANDS: tuple[Commands, ...] = get_args(Commands)
QUANTITIES = ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')


@dataclass(frozen=True, eq=False)
class Reflex:
    """One limit at which the vendor's controller stops."""

    name: str  #: The vendor's name for it
    commands: Commands  #: 'effort' or 'position': the kind of commands for which it applies
    #: One of `QUANTITIES`, whose magnitude must not exceed the limit. Velocity, acceleration and
    #: jerk are differences of commanded positions or, if efforts are commanded, derivatives of
    #: the motion. The effort includes gravity; the effort rate is the difference of the commanded
    #: efforts, per second.
    quantity: str
    #: (k,): increasing speeds, rad/s or m/s, at which the limit is given; (1,) if it does not
    #: depend on speed
    speed: Array
    #: (k, n): limit of each joint at these speeds, in the quantity's unit, interpolated linearly;
    #: infinite for a joint that is not watched
    limit: Array

    def limit_at(self, velocity: Array, stopping_range: tuple[Array, Array]) -> Array:
        """Return the limits, (T, n), of joints that move with velocities (T, n).

        `stopping_range` is `Limits.stopping_range` at their positions. It also bounds a limit of
        velocity.
        """
        limit: Array = np.broadcast_to(self.limit[0], velocity.shape)
        if self.speed.size > 1:
            limit = np.stack([
                np.interp(speed, self.speed, limit) if np.isfinite(limit).all()
                else np.full(speed.shape, np.inf)
                for speed, limit in zip(np.abs(velocity).T, self.limit.T, strict=True)], axis=1)
        if self.quantity == 'velocity':
            lower, upper = stopping_range
            limit = np.minimum(limit, np.where(velocity < 0.0, -lower, upper))
        return limit


@dataclass(frozen=True, eq=False)
class Reflexes:
    """The reflexes of a vendor's controller, and how it takes commands."""

    period: float  #: Sampling period of commands, s; differences are taken between samples
    gravity: bool  #: Whether commanded efforts include gravity
    stops: tuple[Reflex, ...]  #: All reflexes
