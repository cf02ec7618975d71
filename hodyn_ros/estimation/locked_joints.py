"""Recordings that contradict the assumption that joints are locked."""
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.errors import HodynError
from hodyn_ros.messages.joint_state_bag import JointStateBag

_APART = 0.05  # greatest deviation of a recorded position from a locked one, rad or m


class _Name:
    """Finds one joint among a driver's names, with or without the prefix of an arm."""

    def __init__(self, joint: str, prefix: str) -> None:
        self._wanted = (joint, prefix + joint)

    def indices(self, names: Sequence[str]) -> NDArray[np.intp]:
        found = [i for i, name in enumerate(names) if name in self._wanted] or [
            i for i, name in enumerate(names) if name.endswith(f'_{self._wanted[0]}')]
        if len(found) != 1:
            raise HodynError(f'no joint {self._wanted[0]!r}')
        return np.array(found)


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
        if max(high - position, position - low) > _APART:
            is_still = high - low <= _APART
            where = f'stands at {0.5 * (low + high):.3g}' if is_still else (
                f'moves from {low:.3g} to {high:.3g}')
            said.append(
                f'{joint} is locked at {position:g}, but {where} in the recording: the model is '
                'not the arm that was recorded. '
                + (f'Lock it there, --lock {joint}={0.5 * (low + high):.3g}.' if is_still else
                   'Do not lock it.'))
    return said
