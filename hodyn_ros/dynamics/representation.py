"""Twists with their time derivatives in spatial, body-fixed and hybrid representation.

All of (angular, linear): spatial is in world axes, of the body's point at the world origin; body
fixed is in the frame's own axes, of the frame's origin; hybrid is in world axes, of the frame's
origin, so its linear part is the velocity of that point and its derivatives are the accelerations
and jerks that an observer sees.
"""
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels import bodies
from hodyn_ros.dynamics.kernels.bodies import cross_add, kernel
from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]
Representation = Literal['spatial', 'body_fixed', 'hybrid']

_NUMBERS = {'spatial': 0, 'body_fixed': 1, 'hybrid': 2}


def number(representation: str) -> int:
    """Return what the kernels call a representation; HodynError if there is none of that name."""
    if representation not in _NUMBERS:
        raise HodynError(
            f'representation {representation!r}: expected one of {", ".join(_NUMBERS)}')
    return _NUMBERS[representation]


@kernel
def see(representation: int, pose: Array, twist: Array, screws: Array) -> None:
    """Turn spatial screws, in place, into what they are for a frame that moves.

    Parameters
    ----------
    representation : int
        Its `number`.
    pose, twist : (4, 4) and (k − 1 or more, 6) arrays
        Of the frame: its pose, and the coefficients of its spatial twist.
    screws : (m, k, 6) array
        Coefficients.

    """
    if representation == 0:
        return
    orders = screws.shape[1]
    origin = np.empty((orders, 3))
    for row in range(3):
        origin[0, row] = pose[row, 3]
    bodies.follow(1, orders, twist, origin)
    for screw in screws:
        for k in range(orders):
            for a in range(k + 1):  # v + ω × p
                cross_add(screw[k - a, :3], origin[a], screw[k, 3:])
    if representation == 2:
        return
    axes = np.empty((3, orders, 3))
    for column in range(3):
        for row in range(3):
            axes[column, 0, row] = pose[row, column]
        bodies.turn(1, orders, twist, axes[column])
    seen = np.empty(6)
    for screw in screws:
        for k in range(orders - 1, -1, -1):  # each order overwrites what lower ones do not need
            for column in range(3):
                angular, linear = 0.0, 0.0
                for a in range(k + 1):
                    for c in range(3):
                        angular += axes[column, a, c] * screw[k - a, c]
                        linear += axes[column, a, c] * screw[k - a, 3 + c]
                seen[column], seen[3 + column] = angular, linear
            for c in range(6):
                screw[k, c] = seen[c]
