"""Plans that hold a position, or move in one piece from rest to rest."""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import numbers
from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.pieces import DEGREE
from hodyn_ros.reference.plan import Plan


def hold_plan(position: ArrayLike) -> Plan:
    """Return the plan that stays at `position` (n,)."""
    held = numbers(position, 'position').reshape(-1)
    if not np.isfinite(held).all():
        raise HodynError(f'hold: position {held.tolist()} is not finite')
    empty = np.empty((0, DEGREE + 1, held.size))
    return Plan(np.zeros(1), empty, np.array([held, held]), 'hold')


def move_plan(start: ArrayLike, goal: ArrayLike, duration: float) -> Plan:
    """Return the smoothest motion from rest at `start` (n,) to rest at `goal` in `duration` s."""
    ends = numbers([start, goal], 'start and goal')
    knots = np.zeros((2, 5, ends.shape[1]))
    knots[:, 0] = ends
    return Plan.hermite(np.array([0.0, duration]), knots, 'move')
