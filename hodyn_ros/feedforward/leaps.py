"""What may be wrong with measured positions that are elsewhere at once: order, unit, zeros."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import Robot
from hodyn_ros.robot.many_turns import MOST_TURNS, too_many_turns

# Positions in another order differ by less than _SAME, rad or m, from the former ones when both
# are sorted. Below _LEAP, nothing is asked.
_SAME, _LEAP = 0.01, 0.1
_FEW, _ZERO = 2, 1e-4  # number of joints that may all be at 0, and what counts as 0, rad or m
# Relative and absolute difference of positions, turned into rad, from the former ones; of these,
# the largest must be _CLEAR or more.
_LIKE, _NEAR, _CLEAR = 0.01, 0.02, 0.1

REORDERED = (
    'the positions are those of before in another order: do they still belong to the names?')
ZEROS = 'all positions are 0: has the driver read its encoders?'
DEGREES = 'the positions are those of before in degrees: does the driver send rad?'


def question_of_leap(
    robot: Robot, names: Sequence[str], position: Array, before: Array,
) -> str:
    """Return what may be wrong with positions, (n,), unlike those before; empty if unknown."""
    if not np.abs(position - before).max() > _LEAP:
        return ''
    if position.size > _FEW and np.abs(position).max() < _ZERO:
        return ZEROS
    if np.abs(np.sort(position) - np.sort(before)).max() < _SAME:
        return REORDERED
    if _are_in_degrees(robot, position, before):
        return DEGREES
    # Whoever counts turns anew, or sends rad again, comes back near 0.
    far = np.abs(position) > 2.0 * np.pi * MOST_TURNS
    return too_many_turns(
        robot, names, np.where(far, position - before, 0.0), how='has turned {} times meanwhile')


def _are_in_degrees(robot: Robot, position: Array, before: Array) -> bool:
    turning = robot.turns
    if np.abs(before[turning]).max(initial=0.0) < _CLEAR:
        return False
    meant = np.where(turning, np.radians(position), position)
    return bool((np.abs(meant - before) < _LIKE * np.abs(before) + _NEAR).all())
