"""The identified robot as a YAML file that `load_robot` and the node read."""
from pathlib import Path
from typing import Any
import warnings

import numpy as np

from hodyn_ros.common.output_files import replacing
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.payload import Payload
from hodyn_ros.robot import Robot, lie
from hodyn_ros.robot.files import load_robot, robot_keys, strict_yaml
from hodyn_ros.robot.files.bodies import read_body

PAYLOAD = 'payload'

_FRICTION = ('amplitude', 'slope', 'velocity_offset', 'viscous')
_NO_FRICTION = {'amplitude': 0.0, 'slope': 10.0, 'velocity_offset': 0.0, 'viscous': 0.0}


def write_robot(
    source: str, robot: Robot, estimate: Estimate, path: Path, *, payload: bool = True,
    force: bool = False,
) -> Robot:
    """Write a robot, built-in or from a file, with the identified values; return it as read back.

    The payload becomes a body fixed to the last body; without `payload` it is left out. The
    inertia of an identified link includes all bodies fixed to it, so their own masses are removed.
    Zeros of joints change the links' placements and the limits of position. Offsets belong to the
    sensors and are not written: a feed-forward with offsets would push the arm. Files are replaced
    only with `force`. Reading back warns of what the given robot lacks: of that robot itself, the
    user was warned when it was read.

    Raises HodynError, and leaves no file, if the written robot cannot be read back.
    """
    data = robot_keys(source)
    order = _listed_joints(data['bodies'], robot)
    _write_friction(data, robot, estimate, order)
    for key in ('rotor_inertia', 'effort_gain'):
        if key in estimate.joints:
            data[key] = estimate.joints[key][order].tolist()
    if 'zero' in estimate.joints:
        _write_zeros(data, robot, estimate.joints['zero'], order)
    if estimate.links:
        _write_links(data, robot, estimate.links)
    if payload and estimate.payload is not None:
        names = {body.get('name') for body in data['bodies']} | set(robot.frames)
        name = next(n for n in (PAYLOAD, *(f'{PAYLOAD}{i}' for i in range(2, 100)))
                    if n not in names)
        data['bodies'].append({
            'name': name, 'parent': robot.bodies[-1].name, 'type': 'fixed',
            'placement': np.eye(4).tolist(), **_inertial(estimate.payload)})
    with replacing(path, force=force) as file:
        file.write_text(
            '# Identified from recordings by hodyn identify.\n' + strict_yaml.dump(data), 'utf-8')
        return _read_back(file, path.name, source)


def _read_back(file: Path, name: str, source: str) -> Robot:
    """Return the robot of a file; warn, by the file's later name, of what is not in `source`."""
    said: list[list[str]] = []
    for each in (source, file):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter('always')
            robot = load_robot(each)
        said.append([str(one.message).replace(repr(str(each)), repr(name)) for one in caught])
    given, own = said
    for text in own:
        if text not in given:
            warnings.warn(text, stacklevel=3)
    return robot


def _write_friction(
    data: dict[str, Any], robot: Robot, estimate: Estimate, order: list[int],
) -> None:
    found = {key: estimate.joints[key] for key in _FRICTION if key in estimate.joints}
    if not found:
        return
    entries: dict[str, Any] = {'law': 'sigmoid'}
    for key in _FRICTION:
        given = np.full(robot.n, _NO_FRICTION[key]) if robot.friction is None else getattr(
            robot.friction, key)
        values = found.get(key, given)
        if key != 'viscous' or values.any():
            entries[key] = values[order].tolist()
    data['friction'] = entries


def _write_links(data: dict[str, Any], robot: Robot, links: tuple[Payload, ...]) -> None:
    inertial = {body.name: _inertial(link)
                for body, link in zip(robot.bodies, links, strict=True)}
    fixed = {name for name, (index, _) in robot.frames.items() if index >= 0}
    massless = [data.get('tool', {})]
    for body in data['bodies']:
        if body['name'] in inertial:
            body.update(inertial[body['name']])
        elif body['name'] in fixed:
            massless.append(body)
    for entry in massless:
        for key in ('mass', 'com', 'inertia'):
            entry.pop(key, None)


def _write_zeros(
    data: dict[str, Any], robot: Robot, zeros: np.ndarray, order: list[int],
) -> None:
    by_joint = dict(zip(robot.joint_names, zeros, strict=True))
    for entry in data['bodies']:
        mimic = entry.get('mimic')
        if mimic and by_joint.get(mimic['joint']):  # the mimic joint stays where it was
            mimic['offset'] = (mimic.get('offset') or 0.0) + float(
                (1.0 if mimic.get('multiplier') is None else mimic['multiplier'])
                * by_joint[mimic['joint']])
        zero = by_joint.get(entry.get('joint') or entry['name'])
        if entry['type'] == 'fixed' or not zero:
            continue
        body, _ = read_body(entry, f'body {entry["name"]!r}')
        for key in ('dh', 'modified_dh'):
            entry.pop(key, None)
        entry['placement'] = (body.placement @ lie.exp(body.screw * zero)).tolist()
        entry['axis'], entry['point'] = body.axis.tolist(), body.point.tolist()
    position = (data.get('limits') or {}).get('position')
    if position:
        data['limits']['position'] = [
            [None if bound is None else float(bound) - float(zeros[j]) for bound in pair]
            for pair, j in zip(position, order, strict=True)]


def _inertial(body: Payload) -> dict[str, Any]:
    return {'mass': float(body.mass), 'com': body.com.tolist(), 'inertia': body.inertia.tolist()}


def _listed_joints(bodies: list[dict[str, Any]], robot: Robot) -> list[int]:
    """Return the robot's index of each joint, in the order of the file's bodies.

    The file's lists of joint values have the same order.
    """
    return [
        robot.joint_names.index(body.get('joint') or body['name'])
        for body in bodies if body['type'] != 'fixed' and not body.get('mimic')]
