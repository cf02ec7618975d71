"""Joints without a range that would turn many times: their positions are probably in degrees."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.robot.model import Robot
from hodyn_ros.robot.unit_doubts import screws

MOST_TURNS = 2.02
"""Largest number of turns that a slider, a plan or a hand may ask of a joint at once."""


def turns_on(robot: Robot) -> Flags:
    """Return which joints turn without a range, (n,): a URDF calls revolute ones continuous."""
    return robot.turns & np.isinf([robot.limits.position_min, robot.limits.position_max]).all(0)


def turn_often(robot: Robot, change: Array, slack: Array | float = 0.0) -> Flags:
    """Return which joints without a range, (n,), a change, (n,), rad, turns many times.

    `slack`, rad, is added to the greatest change. Nuts of screws may turn often.
    """
    is_often = np.abs(change) > 2.0 * np.pi * MOST_TURNS + slack
    return np.asarray(turns_on(robot) & ~screws(robot) & is_often)


def too_many_turns(
    robot: Robot, names: Sequence[str], change: Array, slack: Array | float = 0.0,
    how: str = 'would turn {} times',
) -> str:
    """Return a question about the joint that `turn_often` tells; empty without one."""
    turns = np.where(turn_often(robot, change, slack), np.abs(change), 0.0) / (2.0 * np.pi)
    joint = int(turns.argmax())
    return '' if not turns[joint] else (
        f'{names[joint]} {how.format(f"{turns[joint]:.3g}")}: are its positions in degrees, '
        'instead of rad?')
