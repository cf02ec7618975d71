"""Recordings that contradict the assumption that joints are locked."""
from collections.abc import Sequence
from pathlib import Path

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.joint_state_bag import position_ranges
from hodyn_ros.robot import Robot
from hodyn_ros.robot.locked_joints import APART, FAR, elsewhere, index_of


def locked_but_moving(
    path: Path, robot: Robot, *, topic: str | None = None, prefix: str = '',
) -> list[str]:
    """Return a sentence for each locked joint that is elsewhere or moves in a recording.

    Joints that are not recorded, and those on which no torque depends, are skipped.

    Parameters
    ----------
    path : Path
        The bag.
    robot : Robot
        The robot; its `locked` joints are compared.
    topic : str, optional
        Joint state topic, when several are recorded.
    prefix : str
        Prefix of the joint names of one arm among several.

    """
    locked = {joint: at for joint, at in robot.locked if joint not in robot.harmless_locks}

    def find(names: Sequence[str]) -> dict[str, int]:
        found = {joint: index_of(joint, names, prefix or None) for joint in locked}
        return {joint: index for joint, index in found.items() if index is not None}

    try:
        ranges = position_ranges(path, find, topic) if locked else {}
    except HodynError:
        return []  # a faulty bag is reported when the other joints are read
    return [_said(joint, at, *ranges[joint]) for joint, at in locked.items() if joint in ranges
            and max(ranges[joint][1] - at, at - ranges[joint][0]) > APART]


def _said(joint: str, locked: float, low: float, high: float) -> str:
    is_far = max(high - locked, locked - low) > FAR
    return (
        f'{elsewhere(joint, locked, low, high)} in the recording: ' + (
            'the model is not the arm that was recorded. ' if is_far else
            'the torque is computed for the lock. ')
        + (f'Lock it at {0.5 * (low + high):.3g} instead: by --lock or, if the robot file locks '
           'it, when that file is made.' if high - low <= APART else
           'Do not lock it.' if is_far else 'Do not lock it if it carries a load.'))
