"""What the controller of an arm's vendor stops on, by the vendor's own names."""
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

Commands = Literal['effort', 'position']
COMMANDS: tuple[Commands, ...] = get_args(Commands)
QUANTITIES = ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')


@dataclass(frozen=True, eq=False)
class Reflex:
    """A stop of the vendor's controller, and when it makes it.

    Attributes
    ----------
    name : str
        As the vendor calls it.
    commands : 'effort' or 'position'
        Which commands it is made under.
    quantity : str
        One of `QUANTITIES`, whose magnitude must not pass the limit. Under position commands
        velocity, acceleration and jerk are differences of the commands, under effort commands
        those of the motion. The effort is all of the joint's; the effort rate is the difference
        of what is commanded of it.
    speed : (k,) array
        rad/s or m/s, increasing, at which the limit is given: one where it does not depend on it.
    limit : (k, n) array
        Of each joint at these speeds, in the quantity's unit, linear between them; infinite where
        a joint is not watched.

    """

    name: str
    commands: Commands
    quantity: str
    speed: Array
    limit: Array

    def limit_at(self, velocity: Array, stopping_range: tuple[Array, Array]) -> Array:
        """Return the limits of joints that move with velocities (T, n), (T, n).

        `stopping_range` is what `Limits.stopping_range` allows there: this, too, is the vendor's.
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
    """The stops of a vendor's controller, and how it looks at what it is sent.

    Attributes
    ----------
    period : float
        s, at which it samples commands: differences are taken between samples.
    gravity : bool
        Whether efforts are commanded with gravity.
    stops : tuple of Reflex
        What it stops on.

    """

    period: float
    gravity: bool
    stops: tuple[Reflex, ...]
