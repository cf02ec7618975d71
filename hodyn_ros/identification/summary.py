"""The results of an identification as ``identification.json``."""
from collections.abc import Sequence
from dataclasses import asdict
import json
from pathlib import Path
from typing import Any

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.output_files import write_text
from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.identification.doubts import DoubtfulJoints
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.payload import Payload
from hodyn_ros.identification.recordings import Recording
from hodyn_ros.identification.validation import Validation
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files.plain_values import plain


def write_summary(
    robot: Robot, found: Estimate, validation: Validation, doubtful: DoubtfulJoints,
    recordings: Sequence[tuple[Recording, MessageCounts]], path: Path, *,
    findings: Sequence[Sequence[str]], force: bool = False,
) -> None:
    """Write the values with half widths of their 90 % confidence intervals; null if unknown.

    `robot` is the one before identification, `validation` has the errors of the written robot,
    and `findings` the sentences about the faults of each recording. With `force`, an existing file
    is replaced.
    """
    summary: dict[str, Any] = {
        'robot': robot.name,
        'joints': [_joint(robot, found, validation, i) for i in range(robot.n)],
        'payload': None if found.payload is None else {
            **_body(found.payload, found.payload_interval),
            'com_determined': found.com_determined, 'inertia_excited': found.inertia_excited,
            'model_error': {'links': found.link_level, 'gains': found.gain_level},
        },
        'payload_at_most': found.payload_at_most,
        'differing_loads': [
            {'bag': str(recordings[load.bag][0].path), 'loaded': load.is_loaded,
             'mass': load.mass, 'com': load.com} for load in found.differing_loads],
        'links': [
            {'name': body.name, **_body(link, width)} for body, link, width in zip(
                robot.bodies, found.links, found.links_interval, strict=False)],
        'base_parameters': {
            'all': found.base_parameters, 'told': found.told_parameters} if found.links else None,
        'held': [{'value': value, 'joints': joints} for value, joints in found.held],
        'not_significant': [{'value': value, 'joints': joints} for value, joints in found.alike],
        'gains_by_others': found.gains_by_others,
        'at_bound': [
            {'value': value, 'bound': bound, 'joints': joints}
            for value, bound, joints in found.bounded],
        'missing': [{'term': term, 'joints': joints} for term, joints in found.missing],
        'changes': [
            {**asdict(change), 'bag': str(recordings[change.bag][0].path)}
            for change in found.changes],
        'doubts': [asdict(doubt) for doubt in found.doubts],
        'doubtful': asdict(doubtful),
        'rests_left_out': found.rests_left_out,
        'interval_factor_beside_other_links': found.factor_beside_other_links,
        'held_out': 'recordings' if validation.by_bag else 'stretches',
        'recordings': [
            {'bag': str(recording.path), 'topic': counts.topic, 'loaded': recording.loaded,
             'findings': said, 'rms_after': rms, **counts.figures}
            for (recording, counts), rms, said in zip(
                recordings, validation.bags, findings, strict=True)],
    }
    write_text(
        path, json.dumps(plain(summary, finite=True), indent=2, allow_nan=False) + '\n',
        force=force)


def _joint(robot: Robot, found: Estimate, validation: Validation, i: int) -> dict[str, Any]:
    def entries(*keys: str) -> dict[str, Any]:
        return {
            key: {'value': found.joints[key][i], 'interval': found.intervals[key][i]}
            for key in keys if key in found.joints}

    offsets = [
        {'value': value[i], 'interval': width[i]} for value, width in zip(*(
            values.reshape(-1, robot.n) for values in (found.offset, found.offset_interval)),
            strict=True)]
    return {
        'name': robot.joint_names[i],
        'friction': entries('amplitude', 'slope', 'velocity_offset', 'viscous') or None,
        'standing': found.standing[i],
        **entries('rotor_inertia', 'effort_gain', 'zero'),
        **({'offset': offsets[0]} if len(offsets) == 1 else {'offsets': offsets}),
        'rms_before': validation.before[i],
        'rms_after': validation.after[i],
        'held_out_rms_before': validation.before[i],
        'held_out_rms_after': validation.held_out[i],
        'held_out_rms_after_less_mean': validation.held_out_less_mean[i],
    }


def _body(body: Payload, width: Array) -> dict[str, Any]:
    return {
        'mass': body.mass, 'mass_interval': width[0], 'com': body.com, 'com_interval': width[1:4],
        'inertia': body.inertia}
