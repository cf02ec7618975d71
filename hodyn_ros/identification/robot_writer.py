"""The identified robot as a YAML file that `load_robot` and the node read."""
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from hodyn_ros.common.output_files import replacing
from hodyn_ros.identification.regression import Estimate
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files import load_robot, robot_keys

PAYLOAD = 'payload'


def write_robot(
    source: str, robot: Robot, estimate: Estimate, path: Path, *, force: bool = False,
) -> None:
    """Write the robot of a built-in name or file with what was identified.

    The payload is a body fixed to the last one. Offsets are the sensors' and are not written:
    a feed-forward with them would push the arm. An existing file is replaced with force only.

    Raises HodynError when what was written could not be read back, and then leaves nothing.
    """
    data = robot_keys(source)
    friction = estimate.friction
    if friction is not None:
        order = _listed_joints(data['bodies'], robot)
        data['friction'] = {'law': 'sigmoid', **{
            f.name: _rounded(getattr(friction, f.name)[order]) for f in fields(friction)}}
    payload = estimate.payload
    if payload is not None:
        names = {body.get('name') for body in data['bodies']} | set(robot.frames)
        name = next(n for n in (PAYLOAD, *(f'{PAYLOAD}{i}' for i in range(2, 100)))
                    if n not in names)
        data['bodies'].append({
            'name': name, 'parent': robot.bodies[-1].name, 'type': 'fixed',
            'placement': np.eye(4).tolist(), 'mass': float(payload.mass),
            'com': _rounded(payload.com), 'inertia': _rounded(payload.inertia)})
        data['bodies'] = _named_parents(data['bodies'])
    text = yaml.safe_dump(data, sort_keys=False, default_flow_style=None, width=99)
    with replacing(path, force=force) as file:
        file.write_text(
            '# Friction and payload identified from recordings by hodyn identify.\n' + text,
            'utf-8')
        load_robot(file)


def _listed_joints(bodies: list[dict[str, Any]], robot: Robot) -> list[int]:
    """Return the joints in the order of the bodies as listed, which lists in a file follow."""
    return [
        robot.joint_names.index(body.get('joint') or body['name'])
        for body in bodies if body['type'] != 'fixed']


def _named_parents(bodies: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return bodies whose parents are names, which stay right when bodies are added."""
    names = [body['name'] for body in bodies]
    return [
        {**body, 'parent': names[body['parent']]}
        if isinstance(body['parent'], int) and body['parent'] >= 0 else body for body in bodies]


def _rounded(values: Any) -> Any:
    return np.round(np.asarray(values, dtype=float), 9).tolist()
