"""Twists with their time derivatives in spatial, body-fixed and hybrid representation.

All are (angular, linear). Spatial twists are in world axes, with the velocity of the body's point
at the world origin. Body-fixed twists are in the frame's axes, with the velocity of its origin.
Hybrid twists are in world axes, with velocity, acceleration, jerk … of the frame's origin.
"""
from typing import Literal

from hodyn_ros.dynamics.kernels.kinematics import BODY_FIXED, HYBRID, SPATIAL
from hodyn_ros.robot import HodynError

Representation = Literal['spatial', 'body_fixed', 'hybrid']

_NUMBERS = {'spatial': SPATIAL, 'body_fixed': BODY_FIXED, 'hybrid': HYBRID}


def representation_number(representation: str) -> int:
    """Return the kernels' number of a representation; HodynError if the name is unknown."""
    if representation not in _NUMBERS:
        raise HodynError(
            f'representation {representation!r}: expected one of {", ".join(_NUMBERS)}')
    return _NUMBERS[representation]
