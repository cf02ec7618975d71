"""Robots from URDF 1.0 to 1.2, translated into the mapping that `loader` checks and merges.

Only links, joints and inertias are read: visuals, collisions, transmissions and the like are
ignored, so no mesh is ever opened.
"""
from collections.abc import Mapping
import math
from typing import Any, NamedTuple

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot import lie
from hodyn_ros.robot.coupling import Mimic, resolved, warn_of_broken_couplings
from hodyn_ros.robot.files.coupled_joints import JointLimits, limit_keys
from hodyn_ros.robot.files.joint_chains import CHAINS, coordinate_names
from hodyn_ros.robot.files.urdf_doubts import (
    ZEROS_ARE_UNKNOWN,
    warn_of_angles,
    warn_of_axes,
    warn_of_dynamics,
    warn_of_masses,
    warn_of_zeros,
)
from hodyn_ros.robot.files.xml_elements import Element, read_xml

_VERSIONS = ('1.0', '1.1', '1.2')
_POSE = ('xyz', 'rpy', 'quat_xyzw')
_INERTIA = ('ixx', 'ixy', 'ixz', 'iyy', 'iyz', 'izz')
_RANGE = ('lower', 'upper')
_MIMIC = ('joint', 'multiplier', 'offset')
_BOUNDS = ('velocity', 'effort', 'acceleration', 'deceleration', 'jerk')
_NEEDED = {
    name: {'revolute': turning, 'continuous': turning, 'prismatic': sliding}
    for name, turning, sliding in (('velocity', 'rad/s', 'm/s'), ('effort', 'N m', 'N'))}
"""Attributes that <limit> needs before version 1.2, and their unit for each type of joint."""
_OF_DRIVES = ('command_effort', 'current', 'gear_velocity')
"""Attributes of <limit> in ANYbotics' files: limits of the drive, which are ignored."""
_SINCE = {'quat_xyzw': '1.1', **dict.fromkeys(('acceleration', 'deceleration', 'jerk'), '1.2')}
"""Versions that introduced attributes; ROS ignores such attributes in files of older versions."""
_UNIT = 0.01
"""Largest deviation of a quaternion's length from 1: rounding to two decimals."""
_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', *CHAINS)
_WITH_AXIS = tuple(kind for kind in _TYPES if kind not in ('fixed', 'floating', 'spherical'))


class _Joint(NamedTuple):
    """A joint of the document; all other data are read from its element when needed."""

    name: str
    type: str
    parent: str
    child: str
    element: Element


def robot_mapping(
    text: str, context: str, locked: Mapping[str, float] | None = None,
    max_bodies: int | None = None,
) -> dict[str, Any]:
    """Return URDF text as a mapping of the robot format.

    Links are listed depth first in the order of the document; the root link is fixed to the world.
    Joints that will be `locked` follow no other joint. An axis need not be normalised. There may
    be at most `max_bodies` links, and as many joints. `context` names the source in messages.
    HodynError, naming link or joint: the text is wrong or not supported.
    """
    locked = locked or {}
    root = read_root(text, context)
    for tag in ('link', 'joint'):
        if max_bodies is not None and (count := len(root.all(tag))) > max_bodies:
            raise HodynError(f'{context}: {count} {tag}s; at most {max_bodies} are accepted here')
    links = _by_name(root, 'link')
    joints = [_joint(element) for element in _by_name(root, 'joint').values()]
    order = _depth_first(list(links), joints, context)
    bodies: list[dict[str, Any]] = []
    given: dict[str, Mimic] = {}
    for link, joint in order:
        bodies.append(
            {'name': link, **_joint_keys(joint), **_inertia_keys(links[link])})
        if joint is not None and 'mimic' in bodies[-1]:
            given[joint.name] = Mimic(**bodies[-1]['mimic'])
            if joint.name in locked:
                del bodies[-1]['mimic']
    warn_of_broken_couplings(given, locked, context)
    mapping: dict[str, Any] = {'name': root.attributes['name'], 'bodies': bodies}
    mimics = resolved(
        {name: mimic for name, mimic in given.items() if name not in locked}, context)
    moving = [joint for _, joint in order if joint is not None]
    limits = _limits(moving, mimics, locked)
    warn_of_angles(root, context)
    warn_of_axes([
        joint.name for joint in moving
        if joint.type in _WITH_AXIS and joint.element.one('axis') is None], context)
    warn_of_masses(bodies, context)
    if f'<!--{ZEROS_ARE_UNKNOWN}-->' not in text:
        warn_of_zeros([
            (joint.name, limit, [
                name for name in _BOUNDS if name != 'effort' or joint.name not in mimics])
            for joint in moving if joint.name in limits and joint.name not in locked
            for limit in joint.element.all('limit')], context)
    if known := limit_keys(limits, mimics, context):
        mapping['limits'] = known
    return mapping


def read_root(text: str, context: str) -> Element:
    """Return the <robot> element of URDF text; refuse unknown versions."""
    root = read_xml(text, context)
    if root.tag != 'robot':
        sdf = ': this is SDF, which is not read; convert it to URDF or MJCF'
        raise HodynError(context + (sdf if root.tag == 'sdf' else ': expected a <robot> element'))
    if any('xacro' in element.tag.lower() for element in root):
        raise HodynError(
            f'{context}: this is xacro, not URDF; expand it first: xacro robot.xacro > robot.urdf')
    if not root.attributes.get('name'):
        raise HodynError(f'{context}: <robot> has no name')
    if root.attributes.setdefault('version', _VERSIONS[0]) not in _VERSIONS:
        raise HodynError(
            f'{context}: version {root.attributes["version"]!r:.40} is not known; known are '
            f'{", ".join(_VERSIONS)}')
    warn_of_dynamics(root, context)
    return root


def _by_name(root: Element, tag: str) -> dict[str, Element]:
    """Return the links or joints by name; refuse a name that occurs twice."""
    found: dict[str, Element] = {}
    for element in root.all(tag):
        name = element.text('name')
        if name in found:
            element.fail(f'another {tag} has this name, in line {found[name].line}')
        found[name] = element
    return found


def _version(element: Element) -> str:
    while isinstance(element.parent, Element):
        element = element.parent
    return element.attributes['version']


def _one(element: Element, tag: str, known: tuple[str, ...]) -> Element | None:
    """Return a child or None; refuse attributes newer than the file's version."""
    child = element.one(tag, known)
    if child is None:
        return None
    version = _version(child)
    for name in child.attributes:
        if version < _SINCE.get(name, version):
            child.fail(
                f'{name} needs URDF {_SINCE[name]}; ROS ignores it in a file of version '
                f'{version}: write <robot version="{_SINCE[name]}" …>, or remove it')
    return child


def _needed(element: Element, tag: str, known: tuple[str, ...]) -> Element:
    child = element.one(tag, known)
    if child is None:
        element.fail(f'has no <{tag}>')
    return child


def _joint(element: Element) -> _Joint:
    kind = element.text('type')
    if kind not in _TYPES:
        element.fail(f'type {kind!r:.40} is not supported; supported are {", ".join(_TYPES)}')
    parent, child = (_needed(element, tag, ('link',)).text('link') for tag in ('parent', 'child'))
    return _Joint(element.attributes['name'], kind, parent, child, element)


def _depth_first(
    links: list[str], joints: list[_Joint], context: str,
) -> list[tuple[str, _Joint | None]]:
    """Return link names with the joint that carries each (None for the root), parents first."""
    carried_by: dict[str, _Joint] = {}
    children: dict[str, list[_Joint]] = {name: [] for name in links}
    for joint in joints:
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in children:
                joint.element.fail(f'no {end} link {link!r}')
        if joint.child in carried_by:
            raise HodynError(
                f'{context}, link {joint.child!r}: carried by two joints, '
                f'{carried_by[joint.child].name!r} and {joint.name!r}; loops are not supported')
        carried_by[joint.child] = joint
        children[joint.parent].append(joint)
    if not links:
        raise HodynError(f'{context}: no links in it; is it an SRDF? A URDF is needed')
    roots = [name for name in links if name not in carried_by]
    if len(roots) != 1:
        listed = ', '.join(map(repr, roots)) or 'none: the joints form a cycle'
        raise HodynError(f'{context}: expected one root link, found {listed}')
    order: list[tuple[str, _Joint | None]] = []
    stack: list[tuple[str, _Joint | None]] = [(roots[0], None)]
    while stack:
        link, carrier = stack.pop()
        order.append((link, carrier))
        stack.extend((child.child, child) for child in reversed(children[link]))
    found = {link for link, _ in order}
    missing = [name for name in links if name not in found]
    if missing:
        raise HodynError(f'{context}: link {missing[0]!r} is part of a cycle of joints')
    return order


def _joint_keys(joint: _Joint | None) -> dict[str, Any]:
    if joint is None:
        return {'parent': -1, 'type': 'fixed', 'placement': np.eye(4)}
    keys = {
        'joint': joint.name, 'parent': joint.parent,
        'type': 'revolute' if joint.type == 'continuous' else joint.type,
        'placement': read_pose(joint.element)}
    axis = joint.element.one('axis', ('xyz',))
    if joint.type in _WITH_AXIS:
        direction = np.array([1.0, 0.0, 0.0] if axis is None else axis.numbers('xyz', 3))
        largest = np.abs(direction).max()
        if largest == 0.0:
            axis.fail(f'{direction.tolist()} is not an axis')  # type: ignore[union-attr]
        direction /= largest  # so that squares of tiny or huge numbers do not under- or overflow
        keys['axis'] = direction / np.linalg.norm(direction)
    mimic = joint.element.one('mimic', _MIMIC)
    if mimic is not None and joint.type != 'fixed':
        if joint.type in (*CHAINS, 'floating'):
            mimic.fail(f'a {joint.type} joint cannot mimic another')
        keys['mimic'] = {
            'joint': mimic.text('joint'), 'multiplier': mimic.number('multiplier', 1.0),
            'offset': mimic.number('offset', 0.0)}
    return keys


def _limits(
    joints: list[_Joint], mimics: Mapping[str, Mimic], locked: Mapping[str, float],
) -> dict[str, JointLimits]:
    """Return the limits of moving joints by name, without followers of a locked joint."""
    limits: dict[str, JointLimits] = {}
    free = {joint.name for joint in joints if joint.name not in locked and (
        joint.name not in mimics or mimics[joint.name].joint not in locked)}
    given = {
        joint.name: _one(joint.element, 'limit', (*_RANGE, *_BOUNDS, *_OF_DRIVES))
        for joint in joints if joint.type not in ('fixed', 'floating')}
    _check_bounds([joint for joint in joints if joint.name in free])
    for joint in joints:
        if joint.name not in given:
            continue
        limit = given[joint.name]
        if joint.type in CHAINS:
            limits |= dict.fromkeys(coordinate_names(joint.name, joint.type), JointLimits())
        elif limit is None:
            limits[joint.name] = JointLimits()
        elif joint.name in locked:  # an empty range is accepted
            lower, upper = (-np.inf, np.inf) if joint.type == 'continuous' else _range(limit)
            if lower < upper:
                limits[joint.name] = JointLimits(lower, upper)
        elif joint.name in free:
            bounds = _bounds(limit, driven=joint.name not in mimics)
            limits[joint.name] = JointLimits(*_ends(joint, limit), **bounds)
    return limits


def _check_bounds(joints: list[_Joint]) -> None:
    """Refuse a <limit> without an attribute that ROS requires; the error names all such joints."""
    for name, units in _NEEDED.items():
        without = [
            (joint, limit) for joint in joints if joint.type in units
            for limit in joint.element.all('limit')
            if name not in limit.attributes and _version(limit) != '1.2']
        if without:
            joint, limit = without[0]
            others = ', '.join(repr(other.name) for other, _ in without[1:])
            limit.fail(
                f'{name} is missing{others and f", also for joints {others}"}; ROS refuses a '
                f'<limit> without it: write the largest that the drive gives, {name}="…" in '
                f'{units[joint.type]}, or {name}="0" if it is not known')


def _ends(joint: _Joint, limit: Element) -> tuple[float, float]:
    """Return the range of a moving joint; refuse an empty one."""
    if joint.type == 'continuous':
        return -np.inf, np.inf
    lower, upper = _range(limit)
    if not lower < upper:
        limit.fail(f'lower is {lower:g}, not below upper, {upper:g}')
    if lower == -np.inf and upper == np.inf:
        limit.warn(
            'has no range, as lower and upper are missing or 0: taken as endless; write them'
            + (', or make the joint type="continuous"' if joint.type == 'revolute' else ''))
    return lower, upper


def _range(limit: Element) -> tuple[float, float]:
    """Return the least and the largest position; infinite if both are missing or 0."""
    given = [name for name in _RANGE if name in limit.attributes]
    if len(given) == 1 and _version(limit) == '1.2':
        limit.fail(f'only {given[0]} is given; URDF 1.2 needs lower and upper')
    lower, upper = (limit.number(name, 0.0, finite=False) for name in _RANGE)
    return (lower, upper) if lower or upper else (-np.inf, np.inf)


def _bounds(limit: Element, *, driven: bool) -> dict[str, float]:
    """Return all limits except the range; the effort limit is infinite without a drive."""
    known = {}
    default = np.inf if _version(limit) == '1.2' else None
    for name in _BOUNDS:
        value = limit.number(
            name, default if name in ('velocity', 'effort') else np.inf, finite=False)
        if value < 0.0:
            limit.fail(f'{name} is {value:g}; write the real one, or 0 if none is known')
        known[name] = value or np.inf
    return {
        'velocity': known['velocity'], 'effort': known['effort'] if driven else np.inf,
        'acceleration': min(known['acceleration'], known['deceleration']), 'jerk': known['jerk']}


def _inertia_keys(link: Element) -> dict[str, Any]:
    inertial = link.one('inertial')
    if inertial is None:
        return {}
    mass = _needed(inertial, 'mass', ('value',))
    inertia = _needed(inertial, 'inertia', _INERTIA)
    placement = read_pose(inertial)
    rotation = placement[:3, :3]
    xx, xy, xz, yy, yz, zz = (inertia.number(name) for name in _INERTIA)
    tensor = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    return {
        'mass': mass.number('value'), 'com': placement[:3, 3],
        'inertia': rotation @ tensor @ rotation.T}


def read_pose(element: Element) -> Array:
    """Return the pose of an element's <origin>.

    Its rotation is a quaternion (x, y, z, w), or roll, pitch and yaw about fixed x, y and z axes.
    """
    origin = _one(element, 'origin', _POSE)
    if origin is None:
        return np.eye(4)
    position = origin.numbers('xyz', 3, [0.0, 0.0, 0.0])
    if 'quat_xyzw' not in origin.attributes:
        roll, pitch, yaw = origin.numbers('rpy', 3, [0.0, 0.0, 0.0])
        return lie.pose(
            lie.rotation_z(yaw) @ lie.rotation_y(pitch) @ lie.rotation_x(roll), position)
    if 'rpy' in origin.attributes:
        origin.fail('has rpy and quat_xyzw; keep one')
    x, y, z, w = origin.numbers('quat_xyzw', 4)
    length = math.hypot(x, y, z, w)
    if abs(length - 1.0) > _UNIT:
        origin.fail(f'quat_xyzw has length {length:.4g} instead of 1')
    return lie.pose(lie.rotation_of_quaternion([w, x, y, z]), position)
