"""Recordings that contradict the assumption that joints are locked."""
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.robot.locked_joints import FAR, elsewhere, index_of


class _Name:
    """Finds one joint among a driver's names, with or without the prefix of an arm."""

    def __init__(self, joint: str, prefix: str) -> None:
        self._joint, self._prefix = joint, prefix or None

    def indices(self, names: Sequence[str]) -> NDArray[np.intp]:
        index = index_of(self._joint, names, self._prefix)
        if index is None:
            raise HodynError(f'no joint {self._joint!r}')
        return np.array([index])


def locked_but_moving(
    path: Path, locked: Mapping[str, float], *, topic: str | None = None, prefix: str = '',
) -> list[str]:
    """Return a sentence for each locked joint that is elsewhere or moves in a recording.

    Parameters
    ----------
    path : Path
        The bag.
    locked : mapping of str to float
        Joints and their positions, rad or m; joints that are not recorded are skipped.
    topic : str, optional
        Joint state topic, when several are recorded.
    prefix : str
        Prefix of the joint names of one arm among several.

    """
    said = []
    for joint, position in locked.items():
        try:
            with JointStateBag(path, _Name(joint, prefix), topic) as bag:
                ends = [
                    (float(block.position.min()), float(block.position.max()))
                    for block in bag.blocks() if len(block)]
        except HodynError:
            continue  # not recorded; a faulty bag is reported when the other joints are read
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        if max(high - position, position - low) > FAR:
            said.append(
                f'{elsewhere(joint, position, low, high)} in the recording: the model is not the '
                'arm that was recorded. '
                + (f'Lock it there, --lock {joint}={0.5 * (low + high):.3g}.'
                   if high - low <= FAR else 'Do not lock it.'))
    return said
