"""Writes robots to files: as YAML, which keeps everything, or as URDF, which keeps a part."""
from collections.abc import Collection, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any
import warnings
from xml.etree import ElementTree

import numpy as np

from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import write_text
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import strict_yaml
from hodyn_ros.robot.files.actuators import law_keys
from hodyn_ros.robot.files.plain_values import plain
from hodyn_ros.robot.files.urdf_doubts import ZEROS_ARE_UNKNOWN
from hodyn_ros.robot.joint_limits import Limits
from hodyn_ros.robot.model import STANDARD_GRAVITY, Body, Robot
from hodyn_ros.robot.mounting import pose_in_base
from hodyn_ros.robot.reflexes import Reflex
from hodyn_ros.robot.robot_check import check_robot

_URDF_LIMITS = ('position', 'velocity', 'effort', 'acceleration', 'jerk')


def save_robot(robot: Robot, path: str | Path, *, force: bool = False) -> None:
    """Write a robot to a file that `load_robot` reads.

    Links that were merged into others are written as frames; their masses are in the bodies.

    Parameters
    ----------
    robot : Robot
        Any robot, also with a payload or locked joints.
    path : str or Path
        ``.yaml`` keeps every number to the last bit. ``.urdf`` is exact to round-off, without the
        keys that URDF cannot express, such as gravity other than standard, friction, actuators,
        reflexes, limits of effort rate and the positions of locked joints; a warning names them.
        With limits of acceleration or jerk, the URDF has version 1.2, which older readers refuse.
        The frame of a body with a `point` moves to this point on its axis.
    force : bool
        Whether an existing file is replaced.

    Raises
    ------
    HodynError
        When the path has another ending, or a URDF would have a helical joint.
    FileExistsError
        When the file exists already, without `force`.

    Warns
    -----
    UserWarning
        When a URDF leaves something out.

    """
    check_robot(robot)
    path = Path(path)
    if path.suffix in ('.yaml', '.yml'):
        text = robot_text(robot)
    elif path.suffix == '.urdf':
        text = urdf_text(robot)
    else:
        raise HodynError(f'{path}: a robot is saved as .yaml or .urdf')
    write_text(path, text, force=force)
    if path.suffix == '.urdf' and (left_out := _left_out_of_urdf(robot)):
        warnings.warn(
            f'{path}: without the key{"s" * (len(left_out) > 1)} {", ".join(left_out)}, which '
            'URDF cannot express: write a .yaml to keep all of the robot', stacklevel=2)


def robot_text(robot: Robot) -> str:
    """Return the YAML that `save_robot` writes."""
    return strict_yaml.dump(robot_mapping(robot))


def robot_mapping(robot: Robot) -> dict[str, Any]:
    """Return the mapping of a robot as in its file, in plain values."""
    names = [body.name for body in robot.bodies]
    mapping: dict[str, Any] = {
        'name': robot.name, 'gravity': robot.gravity,
        'joint_prefixes': robot.joint_prefixes,
        'bodies': [
            *(_body_keys(robot, body, names) for body in robot.bodies),
            *({'name': name, 'parent': names[index] if index >= 0 else -1, 'type': 'fixed',
               'placement': pose if index >= 0 else pose_in_base(robot, name, pose)}
              for name, (index, pose) in robot.frames.items())],
        'limits': _limit_keys(robot.limits),
    }
    if any(inertias.physical_fault(body.mass, body.inertia) for body in robot.bodies):
        mapping['inertia_check'] = 'warn'
    if not np.array_equal(robot.base_pose, np.eye(4)):
        mapping['base_pose'] = robot.base_pose
    if robot.friction is not None:
        mapping['friction'] = {'law': 'sigmoid', **{
            f.name: getattr(robot.friction, f.name) for f in fields(robot.friction)}}
    for name in ('rotor_inertia', 'effort_gain'):
        if getattr(robot, name) is not None:
            mapping[name] = getattr(robot, name)
    if robot.actuators is not None:
        mapping['actuators'] = {
            name: _actuator_keys(joint) for name, joint in zip(
                robot.actuators.names, robot.actuators.joints, strict=True)}
    if robot.locked:
        mapping['locked'] = dict(robot.locked)
    for key in ('harmless_locks', 'shifting_locks'):
        if getattr(robot, key):
            mapping[key] = sorted(getattr(robot, key))
    if robot.reflexes is not None:
        mapping['reflexes'] = {
            'period': robot.reflexes.period, 'gravity': robot.reflexes.gravity,
            'stops': [
                keys for stop in robot.reflexes.stops for keys in _reflex_keys(stop, robot)]}
    plain_mapping: dict[str, Any] = plain(mapping)
    return plain_mapping


def _body_keys(robot: Robot, body: Body, names: list[str]) -> dict[str, Any]:
    keys: dict[str, Any] = {
        'name': body.name, 'joint': body.joint,
        'parent': names[body.parent] if body.parent >= 0 else -1, 'type': body.type,
        'placement': body.placement if body.parent >= 0 or body.type == 'floating'
        else pose_in_base(robot, body.name, body.placement)}
    if body.type != 'floating':
        keys['axis'] = body.axis
        if body.point.any():
            keys['point'] = body.point
    if body.type == 'helical':
        keys['pitch'] = body.pitch
    if body.mimic is not None:
        keys['mimic'] = asdict(body.mimic)
    return {**keys, 'mass': body.mass, 'com': body.com, 'inertia': body.inertia}


def _limit_keys(limits: Limits) -> dict[str, Any]:
    given: dict[str, Array] = {
        'position': np.column_stack((limits.position_min, limits.position_max)),
        **{f.name: getattr(limits, f.name) for f in fields(limits)
           if not f.name.startswith(('position_', 'stopping_'))}}
    keys = {
        name: plain(values, finite=True) for name, values in given.items()
        if np.isfinite(values).any()}
    if np.isfinite(limits.stopping_deceleration).any():
        keys['stopping'] = plain({
            'position': np.column_stack((limits.stopping_min, limits.stopping_max)),
            'deceleration': limits.stopping_deceleration,
            'velocity_offset': limits.stopping_offset}, finite=True)
    return keys


def _reflex_keys(stop: Reflex, robot: Robot) -> list[dict[str, Any]]:
    """Return the entries of a reflex: one per joint if limits depend on speed, otherwise one."""
    keys = {'name': stop.name, 'commands': stop.commands, 'quantity': stop.quantity}
    watched: Flags = np.asarray(np.isfinite(stop.limit).all(axis=0))
    names = [name for name, has in zip(robot.joint_names, watched, strict=True) if has]
    if stop.speed.size > 1:
        return [
            {**keys, 'joints': [name], 'limit': {'speed': stop.speed, 'limit': stop.limit[:, i]}}
            for name, i in zip(names, np.flatnonzero(watched).tolist(), strict=True)]
    limit = np.where(watched, stop.limit[0], 1.0)
    return [{**keys, 'limit': limit, **({} if watched.all() else {'joints': names})}]


def _actuator_keys(joint: JointActuator) -> Mapping[str, Any]:
    motor = {
        f.name: getattr(joint.motor, f.name) for f in fields(joint.motor)
        if getattr(joint.motor, f.name) != f.default}
    keys = {**law_keys(joint.law), 'motor': motor}
    if np.isfinite(joint.max_deflection):
        keys['max_deflection'] = joint.max_deflection
    return keys


def urdf_text(robot: Robot) -> str:
    """Return the URDF that `save_robot` writes."""
    is_newer = np.isfinite([robot.limits.acceleration, robot.limits.jerk]).any()
    root = ElementTree.Element('robot', name=robot.name)
    if is_newer:
        root.set('version', '1.2')
    world = _free('world', {*(body.name for body in robot.bodies), *robot.frames})
    joints = {body.joint for body in robot.bodies if body.type != 'floating'}
    ElementTree.SubElement(root, 'link', name=world)
    # In URDF the frame of a link lies on the axis of its joint.
    moved = [lie.pose(np.eye(3), body.point) for body in robot.bodies]
    for i, body in enumerate(robot.bodies):
        _urdf_link(root, body, moved[i])
        parent, before = (
            (robot.bodies[body.parent].name, lie.inverse(moved[body.parent]))
            if body.parent >= 0 else (world, np.eye(4)))
        placement = before @ body.placement @ moved[i]
        if body.type == 'floating':
            name = _free(body.joint, joints)
            _urdf_joint(root, (name, 'floating'), parent, body.name, placement)
        else:
            _urdf_moving_joint(root, robot, i, parent, placement)
    for name, (index, pose) in robot.frames.items():
        ElementTree.SubElement(root, 'link', name=name)
        parent, placement = (world, pose) if index < 0 else (
            robot.bodies[index].name, lie.inverse(moved[index]) @ pose)
        _urdf_joint(root, (_free(f'{name}_fixed', joints), 'fixed'), parent, name, placement)
    if any('0' in (limit.get('velocity'), limit.get('effort')) for limit in root.iter('limit')):
        root.insert(0, ElementTree.Comment(ZEROS_ARE_UNKNOWN))
    ElementTree.indent(root)
    return '<?xml version="1.0"?>\n' + ElementTree.tostring(root, 'unicode') + '\n'


def _free(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += '_'
    return name


def _left_out_of_urdf(robot: Robot) -> list[str]:
    """Return the keys of the robot's YAML that a URDF leaves out."""
    mapping, limits = robot_mapping(robot), robot.limits
    usual = {'gravity': list(STANDARD_GRAVITY), 'joint_prefixes': []}
    names = [
        name for name, value in mapping.items()
        if name not in ('name', 'bodies', 'limits') and value != usual.get(name)]
    if any('point' in body for body in mapping['bodies']):
        names.append('point')
    names += [f'limits.{name}' for name in mapping['limits'] if name not in _URDF_LIMITS]
    if np.any(np.isfinite(limits.position_min) != np.isfinite(limits.position_max)):
        names.append('limits.position with one end')
    return names


def _urdf_link(root: ElementTree.Element, body: Body, moved: Array) -> None:
    link = ElementTree.SubElement(root, 'link', name=body.name)
    inertial = ElementTree.SubElement(link, 'inertial')
    _origin(inertial, lie.inverse(moved) @ lie.pose(np.eye(3), body.com))
    ElementTree.SubElement(inertial, 'mass', value=repr(float(body.mass)))
    ElementTree.SubElement(inertial, 'inertia', {
        f'i{"xyz"[row]}{"xyz"[column]}': repr(float(body.inertia[row, column]))
        for row in range(3) for column in range(row, 3)})


def _urdf_joint(
    root: ElementTree.Element, called: tuple[str, str], parent: str, child: str, placement: Array,
) -> ElementTree.Element:
    name, kind = called
    joint = ElementTree.SubElement(root, 'joint', name=name, type=kind)
    _origin(joint, placement)
    ElementTree.SubElement(joint, 'parent', link=parent)
    ElementTree.SubElement(joint, 'child', link=child)
    return joint


def _urdf_moving_joint(
    root: ElementTree.Element, robot: Robot, index: int, parent: str, placement: Array,
) -> None:
    body = robot.bodies[index]
    if body.type == 'helical':
        raise HodynError(
            f'joint {body.joint!r} of robot {robot.name!r} is helical, which URDF cannot '
            'express: save it as .yaml')
    bounds = _urdf_limits(robot, index - robot.floating)
    kind = 'continuous' if body.type == 'revolute' and 'lower' not in bounds else body.type
    joint = _urdf_joint(root, (body.joint, kind), parent, body.name, placement)
    ElementTree.SubElement(joint, 'axis', xyz=_numbers(body.axis))
    if bounds:
        # Versions before 1.2 need both attributes; 0 means unknown.
        unknown = {} if root.get('version') else {'velocity': '0', 'effort': '0'}
        ElementTree.SubElement(joint, 'limit', {**unknown, **bounds})
    if body.mimic is not None:
        ElementTree.SubElement(joint, 'mimic', {
            name: value if isinstance(value, str) else repr(value)
            for name, value in asdict(body.mimic).items()})


def _urdf_limits(robot: Robot, body: int) -> dict[str, str]:
    """Return the known limits of a body's joint; if coupled, they follow from its leader's."""
    limits, mimic = robot.limits, robot.bodies[body + robot.floating].mimic
    joint = int(robot.coupling.leader[body])
    lower, upper = float(limits.position_min[joint]), float(limits.position_max[joint])
    bounds = {
        name: float(getattr(limits, name)[joint])
        for name in ('velocity', 'effort', 'acceleration', 'jerk')}
    if mimic is not None:
        lower, upper = sorted(map(mimic.position, (lower, upper)))
        bounds = {name: abs(mimic.multiplier) * bound for name, bound in bounds.items()}
        bounds['effort'] = np.inf
    if np.isfinite([lower, upper]).all():  # in a URDF, a single missing end means 0
        bounds = {'lower': lower, 'upper': upper, **bounds}
    return {name: repr(value) for name, value in bounds.items() if np.isfinite(value)}


def _origin(element: ElementTree.Element, pose: Array) -> None:
    rotation = pose[:3, :3]
    # Fixed-axis roll, pitch and yaw about x, y and z.
    across = float(np.hypot(rotation[0, 0], rotation[1, 0]))
    pitch = np.arctan2(-rotation[2, 0], across)
    if across > 1e-9:
        roll = np.arctan2(rotation[2, 1], rotation[2, 2])
        yaw = np.arctan2(rotation[1, 0], rotation[0, 0])
    else:
        roll, yaw = 0.0, np.arctan2(-rotation[0, 1], rotation[1, 1])
    ElementTree.SubElement(
        element, 'origin', xyz=_numbers(pose[:3, 3]), rpy=_numbers([roll, pitch, yaw]))


def _numbers(values: Any) -> str:
    return ' '.join(repr(float(value)) for value in values)
