"""What was identified, for machines: ``identification.json``."""
from collections.abc import Sequence
import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.output_files import write_text
from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.identification.regression import Estimate
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]


def write_summary(
    robot: Robot, found: Estimate, before: Array, after: Array,
    recordings: Sequence[tuple[Path, MessageCounts]], path: Path, *, force: bool = False,
) -> None:
    """Write values with half their 95 % confidence intervals, null where none is known.

    Parameters
    ----------
    robot : Robot
        As it was before.
    found : Estimate
        What was identified.
    before, after : (n,) arrays
        RMS errors on held-out motion, N m, of the robot as it was and as identified.
    recordings : sequence of (Path, MessageCounts)
        The bags, and what became of their messages.
    path : Path
        The file.
    force : bool
        Whether an existing one is replaced.

    """
    friction, payload = found.friction, found.payload
    summary = {
        'robot': robot.name,
        'joints': [{
            'name': name,
            'friction': None if friction is None else {
                key: _entry(getattr(friction, key)[i], found.friction_interval[k, i])
                for k, key in enumerate(('amplitude', 'slope', 'velocity_offset'))},
            'offset': _entry(found.offset[i], found.offset_interval[i]),
            'held_out_rms_before': float(before[i]),
            'held_out_rms_after': float(after[i]),
        } for i, name in enumerate(robot.joint_names)],
        'payload': None if payload is None else {
            'mass': _entry(payload.mass, found.payload_interval[0]),
            'com': [_entry(c, w) for c, w in zip(
                payload.com, found.payload_interval[1:4], strict=True)],
            'inertia': payload.inertia.tolist(),
            'inertia_excited': found.inertia_excited,
        },
        'recordings': [
            {'bag': str(bag), 'topic': counts.topic, **counts.figures}
            for bag, counts in recordings],
    }
    write_text(path, json.dumps(summary, indent=2, allow_nan=False) + '\n', force=force)


def _entry(value: float, width: float) -> dict[str, float | None]:
    return {'value': float(value), 'interval': float(width) if np.isfinite(width) else None}
