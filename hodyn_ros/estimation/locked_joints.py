"""Finds locked joints, and joints that follow others, which a recording shows elsewhere."""
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.joint_state_bag import some_positions
from hodyn_ros.robot import Robot
from hodyn_ros.robot.coupling import Mimic
from hodyn_ros.robot.locked_joints import APART, FAR, elsewhere, index_of, watched_locks

_MOSTLY = 0.5  # share of samples in which a follower must be elsewhere to be reported


def dependent_but_elsewhere(
    path: Path, robot: Robot, *, topic: str | None = None, prefix: str = '',
) -> list[str]:
    """Return a sentence for each joint whose recorded position contradicts the model.

    In the model, a locked joint is at its lock, and a follower where its leader's position puts
    it. Joints that are not recorded, and locked ones on which no torque depends, are skipped. A
    locked sliding joint that carries the arm, or is on a moving slide (`shifting_locks`), changes
    the torques by its acceleration, not by its position: it is reported only if it moves. A
    follower may lag its leader: it is reported only if it is elsewhere in most samples.

    Parameters
    ----------
    path : Path
        The bag.
    robot : Robot
        The robot; its `locked` joints and its followers are compared.
    topic : str, optional
        Joint state topic, when several are recorded.
    prefix : str
        Prefix of the joint names of one arm among several.

    """
    locked = watched_locks(robot)
    mimics = {body.joint: body.mimic for body in robot.bodies if body.mimic is not None}
    joints = {*locked, *mimics, *(mimic.joint for mimic in mimics.values())}

    def find(names: Sequence[str]) -> dict[str, int]:
        found = {joint: index_of(joint, names, prefix or None) for joint in joints}
        return {joint: index for joint, index in found.items() if index is not None}

    ends: dict[str, list[float]] = {}
    apart, total = dict.fromkeys(mimics, 0), dict.fromkeys(mimics, 0)
    worst = dict.fromkeys(mimics, (0.0, ''))
    try:
        for positions in some_positions(path, find, topic) if joints else ():
            for joint in locked.keys() & positions.keys():
                column = positions[joint]
                ends.setdefault(joint, []).extend((column.min(), column.max()))
            for joint, mimic in mimics.items():
                if joint in positions and mimic.joint in positions:
                    found = positions[joint]
                    distance, i, due = mimic.distance(positions[mimic.joint], found)
                    apart[joint] += int(np.count_nonzero(distance > APART))
                    total[joint] += len(found)
                    worst[joint] = max(worst[joint], (
                        float(distance[i]), _contradiction(joint, mimic, found[i], due[i])))
    except HodynError:
        pass  # a faulty bag is reported when the other joints are read
    said = []
    for joint, at in locked.items():
        low, high = min(ends.get(joint, [at])), max(ends.get(joint, [at]))
        if joint in robot.shifting_locks:
            if high - low > APART:
                said.append(
                    f'{joint} is locked, but moves from {low:.3g} to {high:.3g} in the '
                    'recording: its accelerations are left out. Do not lock it.')
        elif max(high - at, at - low) > APART:
            said.append(_said(joint, at, low, high))
    return said + [worst[joint][1] for joint in mimics if apart[joint] > _MOSTLY * total[joint]]


def _contradiction(joint: str, mimic: Mimic, found: float, due: float) -> str:
    return (
        f'{joint} is at {found:.3g} in the recording, but as it follows {mimic.joint}, the torque '
        f'is computed for {due:.3g}. Correct its `mimic` in the robot file, or the driver.')


def _said(joint: str, locked: float, low: float, high: float) -> str:
    is_far = max(high - locked, locked - low) > FAR
    return (
        f'{elsewhere(joint, locked, low, high)} in the recording: ' + (
            'the model has another posture than the recorded arm. ' if is_far else
            'the torque is computed for the lock. ')
        + (f'Lock it at {0.5 * (low + high):.3g} instead, with --lock; if the robot file locks '
           'it, make that file again.' if high - low <= APART else
           'Do not lock it.' if is_far else 'Do not lock it if it carries a load.'))
