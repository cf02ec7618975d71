"""Joints without a range that would turn many times: their positions are probably in degrees."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot.model import Robot
from hodyn_ros.robot.unit_doubts import MANY_TURNS

_MOST = 2.02  # number of turns that a slider, a plan or a hand may ask of a joint at once


def too_many_turns(
    robot: Robot, names: Sequence[str], change: Array, how: str = 'would turn {} times',
) -> str:
    """Return a question about a change of positions, (n,), rad, that is many turns of a joint.

    Only of joints without a range: the others are outside of theirs. Empty without such a joint.
    """
    limits = robot.limits
    endless = robot.turns & (limits.position_max - limits.position_min > 2.0 * MANY_TURNS)
    turns = np.where(endless, np.abs(change), 0.0) / (2.0 * np.pi)
    joint = int(turns.argmax())
    return '' if turns[joint] <= _MOST else (
        f'{names[joint]} {how.format(f"{turns[joint]:.3g}")}: are its positions in degrees, '
        'instead of rad?')
