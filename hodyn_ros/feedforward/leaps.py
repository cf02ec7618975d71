"""What may be wrong with measured positions that are elsewhere at once: order, unit, zeros."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import Robot
from hodyn_ros.robot.many_turns import too_many_turns

# Positions in another order differ by less than _SAME, rad or m, from the former ones when both
# are sorted. Below _LEAP, nothing is asked.
_SAME, _LEAP = 0.01, 0.1
_FEW = 2  # number of joints that may all be at exactly 0
# Relative and absolute difference, degrees, from the former positions in degrees.
_LIKE, _NEAR = 0.01, 1.0

REORDERED = (
    'the positions are those of before in another order: do they still belong to the names?')
ZEROS = 'all positions are exactly 0: has the driver read its encoders?'
DEGREES = 'the positions are those of before in degrees: does the driver send rad?'


def question_of_leap(robot: Robot, position: Array, before: Array) -> str:
    """Return what may be wrong with positions, (n,), unlike those before; empty if unknown."""
    change = position - before
    if not np.abs(change).max() > _LEAP:
        return ''
    if position.size > _FEW and not position.any():
        return ZEROS
    if np.abs(np.sort(position) - np.sort(before)).max() < _SAME:
        return REORDERED
    expected = np.where(robot.turns, np.degrees(before), before)
    if (np.abs(position - expected) < _LIKE * np.abs(expected) + np.where(
            robot.turns, _NEAR, _SAME)).all():
        return DEGREES
    return too_many_turns(robot, robot.joint_names, change, 'has turned {} times meanwhile')
