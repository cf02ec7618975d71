"""Recordings that contradict the assumption that joints are locked, or follow others."""
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.robot import Robot
from hodyn_ros.robot.locked_joints import APART, FAR, elsewhere, index_of

Array = NDArray[np.float64]

_MOSTLY = 0.5  # share of samples in which a follower must be elsewhere


class _Finder:
    """Finds some joints among a driver's names, and collects which joints messages name."""

    def __init__(self, joints: Sequence[str], prefix: str, wanted: tuple[str, ...] = ()) -> None:
        self._joints, self._prefix, self._wanted = joints, prefix or None, wanted
        self.named: set[tuple[str, ...]] = set()

    def indices(self, names: Sequence[str]) -> NDArray[np.intp]:
        found = {joint: index for joint in self._joints
                 if (index := index_of(joint, names, self._prefix)) is not None}
        self.named.add(tuple(found))
        if not found or tuple(found) != self._wanted:
            raise HodynError('other joints')
        return np.array(list(found.values()))


def dependent_but_elsewhere(
    path: Path, robot: Robot, *, topic: str | None = None, prefix: str = '',
) -> list[str]:
    """Return a sentence for each joint that is not where others or locks put it in a recording.

    Joints that are not recorded, and locked ones on which no torque depends, are skipped. A joint
    that only shifts the arm may be anywhere, but moves with accelerations on which torques depend.
    A follower may lag its leader: it must be elsewhere most of the time.

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
    locked = {joint: at for joint, at in robot.locked
              if joint not in robot.harmless_locks or joint in robot.shifting_locks}
    ends: dict[str, list[float]] = {}
    for positions in _positions(path, tuple(locked), topic, prefix):
        for joint, column in positions.items():
            ends.setdefault(joint, []).extend((column.min(), column.max()))
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
    return said + _contradicting_followers(path, robot, topic, prefix)


def _contradicting_followers(
    path: Path, robot: Robot, topic: str | None, prefix: str,
) -> list[str]:
    mimics = {body.joint: body.mimic for body in robot.bodies if body.mimic is not None}
    joints = tuple(dict.fromkeys([*mimics, *(mimic.joint for mimic in mimics.values())]))
    apart, total = dict.fromkeys(mimics, 0), dict.fromkeys(mimics, 0)
    worst = dict.fromkeys(mimics, (0.0, ''))
    for positions in _positions(path, joints, topic, prefix):
        for joint, mimic in mimics.items():
            if joint not in positions or mimic.joint not in positions:
                continue
            found = positions[joint]
            distance, i, due = mimic.distance(positions[mimic.joint], found)
            apart[joint] += int(np.count_nonzero(distance > APART))
            total[joint] += len(found)
            worst[joint] = max(worst[joint], (
                float(distance[i]),
                f'{joint} is at {found[i]:.3g} in the recording, but it follows {mimic.joint} and '
                f'is at {due[i]:.3g} then: the torque is computed for the latter. Correct its '
                '`mimic` in the robot file, or the driver.'))
    return [worst[joint][1] for joint in mimics if apart[joint] > _MOSTLY * total[joint]]


def _positions(
    path: Path, joints: tuple[str, ...], topic: str | None, prefix: str,
) -> Iterator[dict[str, Array]]:
    """Yield positions of joints, by name, for each block of messages that name the same ones."""
    groups: set[tuple[str, ...]] = {()} if joints else set()
    while groups:
        wanted = groups.pop()
        finder = _Finder(joints, prefix, wanted)
        try:
            with JointStateBag(path, finder, topic) as bag:
                for block in bag.blocks():
                    if len(block.position):
                        yield dict(zip(wanted, block.position.T, strict=True))
        except HodynError:
            pass  # a faulty bag is reported when the other joints are read
        if not wanted:
            groups = finder.named - {()}


def _said(joint: str, locked: float, low: float, high: float) -> str:
    is_far = max(high - locked, locked - low) > FAR
    return (
        f'{elsewhere(joint, locked, low, high)} in the recording: ' + (
            'the model is not the arm that was recorded. ' if is_far else
            'the torque is computed for the lock. ')
        + (f'Lock it there: {joint}={0.5 * (low + high):.3g}, by --lock or where the robot file '
           'was made.' if high - low <= APART else 'Do not lock it.' if is_far else
           'Do not lock it if it carries a load.'))
