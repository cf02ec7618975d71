"""Velocity limits of a joint that fall towards the ends of its range.

A joint's speed towards an end is at most √(2 d r) − o, and at most its constant limit. Here d is
its stopping deceleration, o an offset, and r its distance to the stopping position at this end.
This is the formula of libfranka's `Robot::getUpperJointVelocityLimits` and its lower counterpart.
"""
from __future__ import annotations

import math

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit

ROWS = 5
"""Number of rows of the parameters `law`, (5, n): constant limit (rad/s), lower and upper stopping
position (rad), deceleration (rad/s²), offset (rad/s). With an infinite deceleration only the
constant limit applies.
"""


@njit(error_model='numpy')
def velocity_bounds(position: Array, law: Array, out: Array) -> None:
    """Write the least and the largest velocity at a position, (n,), to `out`, (2, n).

    `law`, (5, n), is as in `ROWS`. At and beyond a stopping position the bound in its direction is
    0. Nothing is allocated.
    """
    for joint in range(position.size):
        constant, offset = law[0, joint], law[4, joint]
        out[0, joint], out[1, joint] = -constant, constant
        twice = 2.0 * law[3, joint]
        if twice < np.inf:
            below = max(position[joint] - law[1, joint], 0.0)
            above = max(law[2, joint] - position[joint], 0.0)
            out[0, joint] = -min(constant, max(math.sqrt(twice * below) - offset, 0.0))
            out[1, joint] = min(constant, max(math.sqrt(twice * above) - offset, 0.0))


@njit(error_model='numpy')
def velocity_bounds_of(positions: Array, law: Array, out: Array) -> None:
    """Write the bounds of `velocity_bounds` at many positions, (T, n), to `out`, (T, 2, n)."""
    for i in range(positions.shape[0]):
        velocity_bounds(positions[i], law, out[i])
