"""Robots from URDF, translated into the mapping that `loader` checks and merges.

Only links, joints and inertias are read: visuals, collisions, transmissions and the like are
dropped before parsing, so no mesh is ever looked for.
"""
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any
import warnings
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray
from urdf_parser_py import urdf
from urdf_parser_py.xml_reflection import core

from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot import lie
from hodyn_ros.robot.coupling import Mimic, resolved
from hodyn_ros.robot.files.coupled_joints import JointLimits, limit_keys

Array = NDArray[np.float64]

MAX_BYTES = 4 * 1024 * 1024
MAX_DEPTH = 64
_KEPT = {
    'link': {'inertial'},
    'joint': {'origin', 'axis', 'parent', 'child', 'limit', 'mimic'},
}
_TYPES = {
    'revolute': 'revolute', 'continuous': 'revolute', 'prismatic': 'prismatic', 'fixed': 'fixed',
    'floating': 'floating', 'planar': 'planar',
}
_PLANAR = ('x', 'y', 'yaw')
"""What the names of the joints end with that stand for a planar one."""
_parser_lock = Lock()


def robot_mapping(
    text: str, context: str, locked: Mapping[str, float] | None = None,
    max_bodies: int | None = None,
) -> dict[str, Any]:
    """Return URDF text as a mapping of the robot format.

    Links are listed depth first in the order of the document; the root link is fixed to the world.
    Joints keep their names. An axis need not be normalised.

    Parameters
    ----------
    text : str
        The URDF.
    context : str
        Names the source in messages.
    locked : mapping of str to float, optional
        Joints that are to be locked afterwards, and where: they mimic none.
    max_bodies : int, optional
        Largest number of links.

    Raises
    ------
    HodynError
        Naming the link or joint at fault.

    """
    locked = locked or {}
    root = _guarded(text, context)
    name = root.get('name')
    if not name:
        raise HodynError(f'{context}: <robot> has no name')
    # Before they are parsed, which takes a millisecond each.
    for tag in _KEPT:
        if max_bodies is not None and (count := len(root.findall(tag))) > max_bodies:
            raise HodynError(f'{context}: {count} {tag}s; at most {max_bodies} are taken here')
    links = {link.name: link for link in _parsed(root, 'link', urdf.Link, context)}
    joints = _parsed(root, 'joint', urdf.Joint, context)
    _check_locked(locked, joints, context)
    order = _depth_first(links, joints, context)
    bodies: list[dict[str, Any]] = []
    mimics: dict[str, Mimic] = {}
    for link, joint in order:
        what = f'{context}, link {link!r}'
        chain = _joint_chain(joint, link, context, locked)
        bodies += chain
        bodies[-1].update(_inertia_keys(links[link], what))
        if 'mimic' in chain[-1]:
            mimics[joint.name] = Mimic(**chain[-1]['mimic'])
    mapping: dict[str, Any] = {'name': name, 'bodies': bodies}
    mimics = resolved(mimics, context)
    limits = limit_keys(
        _limits([joint for _, joint in order], mimics, locked, context), mimics, context)
    if limits:
        mapping['limits'] = limits
    return mapping


class _ShallowBuilder(ElementTree.TreeBuilder):
    """Builds a tree of bounded depth: what walks it later may recurse."""

    depth = 0

    def start(self, tag: Any, attrs: Any) -> Any:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise HodynError(f'elements are nested deeper than {MAX_DEPTH}')
        return super().start(tag, attrs)

    def end(self, tag: Any) -> Any:
        self.depth -= 1
        return super().end(tag)


def _guarded(text: str, context: str) -> ElementTree.Element:
    """Return the <robot> element with nothing but what the dynamics need."""
    if len(text.encode('utf-8', errors='replace')) > MAX_BYTES:
        raise HodynError(f'{context}: larger than {MAX_BYTES} bytes; is it a URDF?')
    for forbidden in ('<!DOCTYPE', '<!ENTITY'):
        if forbidden in text.upper():
            raise HodynError(f'{context}: {forbidden[2:]} is not accepted in a URDF; remove it')
    try:
        root = ElementTree.fromstring(
            text.strip('\ufeff \t\r\n'), ElementTree.XMLParser(target=_ShallowBuilder()))
    except ElementTree.ParseError as error:
        # Without the parser's words: they quote names, and the text need not be what it should.
        line, column = error.position
        raise HodynError(
            f'{context}, line {line}, column {column + 1}: not valid XML') from None
    except HodynError as error:
        raise HodynError(f'{context}: {error}') from None
    except ValueError:
        raise HodynError(f'{context}: not valid XML') from None
    if root.tag != 'robot':
        raise HodynError(f'{context}: expected a <robot> element')
    if any('xacro' in str(element.tag).lower() for element in root.iter()):
        raise HodynError(
            f'{context}: this is xacro, not URDF; expand it first: xacro robot.xacro > robot.urdf')
    _warn_of_dynamics(root, context)
    for element in list(root):
        if element.tag not in _KEPT:
            root.remove(element)
            continue
        for child in list(element):
            if child.tag not in _KEPT[element.tag]:
                element.remove(child)
    return root


def _warn_of_dynamics(root: ElementTree.Element, context: str) -> None:
    """Say how many joints have damping or friction, which are not read."""
    count = sum(
        any(dynamics.get(key, '').strip('0. ') for dynamics in joint.findall('dynamics')
            for key in ('damping', 'friction')) for joint in root.findall('joint'))
    if count:
        warnings.warn(
            f'{context}: <dynamics> of {count} joint{"s" * (count > 1)} is not used: damping and '
            'friction of a URDF are mostly settings of simulators; hodyn identify finds those of '
            'the arm', stacklevel=2)


def _parsed(root: ElementTree.Element, tag: str, kind: Any, context: str) -> list[Any]:
    """Return the parsed links or joints, each with a name of its own."""
    parsed: dict[str, Any] = {}
    for i, element in enumerate(root.findall(tag)):
        name = element.get('name')
        if not name:
            raise HodynError(f'{context}: {tag} number {i} has no name')
        if name in parsed:
            raise HodynError(f'{context}: two {tag}s have the name {name!r}')
        what = f'{context}, {tag} {name!r}'
        try:
            with _complaints() as complaints:
                parsed[name] = kind.from_xml(element, core.Path(tag))
        except Exception as error:  # the parser raises bare ones, assertions included
            cause = getattr(error, 'e', error)
            place = f' ({error.path})' if hasattr(error, 'path') else ''
            raise HodynError(f'{what}{place}: {cause}') from None
        # Unknown attributes are other tools' extensions, an element given twice is a mistake.
        for complaint in complaints:
            if 'multiple times' in complaint:
                raise HodynError(f'{what}: {complaint}')
    return list(parsed.values())


@contextmanager
def _complaints() -> Iterator[list[str]]:
    """Collect what urdf_parser_py would print to stderr."""
    collected: list[str] = []
    with _parser_lock:
        before, core.on_error = core.on_error, collected.append
        try:
            yield collected
        finally:
            core.on_error = before


def _depth_first(
    links: dict[str, Any], joints: list[Any], context: str,
) -> list[tuple[str, Any]]:
    """Return link names with the joint that carries each (None for the root), parents first."""
    carried_by: dict[str, Any] = {}
    children: dict[str, list[Any]] = {name: [] for name in links}
    for joint in joints:
        for end, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in links:
                raise HodynError(f'{context}, joint {joint.name!r}: no {end} link {link!r}')
        if joint.child in carried_by:
            raise HodynError(
                f'{context}, link {joint.child!r}: carried by two joints, '
                f'{carried_by[joint.child].name!r} and {joint.name!r}; loops are not supported')
        carried_by[joint.child] = joint
        children[joint.parent].append(joint)
    roots = [name for name in links if name not in carried_by]
    if len(roots) != 1:
        listed = ', '.join(map(repr, roots)) or 'none: the joints form a cycle'
        raise HodynError(f'{context}: expected one root link, found {listed}')
    order, stack = [], [(roots[0], None)]
    while stack:
        link, joint = stack.pop()
        order.append((link, joint))
        stack.extend((child.child, child) for child in reversed(children[link]))
    found = {link for link, _ in order}
    missing = [name for name in links if name not in found]
    if missing:
        raise HodynError(f'{context}: link {missing[0]!r} is part of a cycle of joints')
    return order


def _joint_chain(
    joint: Any, link: str, context: str, locked: Mapping[str, float],
) -> list[dict[str, Any]]:
    """Return the bodies that a joint makes of a link: three of a planar one, else one."""
    keys = {'name': link, **_joint_keys(joint, context, locked)}
    if joint is None or joint.type != 'planar':
        return [keys]
    normal = keys.pop('axis')
    # In the plane of x and y these are the axes.
    along = np.cross(np.roll(np.eye(3)[int(np.abs(normal).argmax())], 2), normal)
    along /= np.linalg.norm(along)
    motions = (
        ('prismatic', along), ('prismatic', np.cross(normal, along)), ('revolute', normal))
    chain: list[dict[str, Any]] = []
    for suffix, (kind, axis) in zip(_PLANAR, motions, strict=True):
        chain.append({
            'name': f'{link} {suffix}', 'joint': f'{joint.name}_{suffix}', 'type': kind,
            'axis': axis, 'parent': chain[-1]['name'] if chain else keys['parent'],
            'placement': np.eye(4) if chain else keys['placement']})
    chain[-1]['name'] = link
    return chain


def _check_locked(locked: Mapping[str, float], joints: list[Any], context: str) -> None:
    """Raise HodynError for a joint that is not there, before limits are complained of."""
    movable: list[str] = []
    for joint in joints:
        if joint.type == 'planar':
            movable += [f'{joint.name}_{suffix}' for suffix in _PLANAR]
        elif joint.type not in ('fixed', 'floating'):
            movable.append(joint.name)
    for name in locked:
        if name not in movable:
            raise HodynError(
                f'{context}: no joint {name!r} to lock; its joints are {", ".join(movable)}')


def _joint_keys(joint: Any, context: str, locked: Mapping[str, float]) -> dict[str, Any]:
    if joint is None:
        return {'parent': -1, 'type': 'fixed', 'placement': np.eye(4)}
    what = f'{context}, joint {joint.name!r}'
    if joint.type not in _TYPES:
        raise HodynError(
            f'{what}: type {joint.type!r} is not supported; supported are {", ".join(_TYPES)}')
    keys = {
        'joint': joint.name, 'parent': joint.parent, 'type': _TYPES[joint.type],
        'placement': _pose(joint.origin, what),
    }
    if joint.type in ('revolute', 'continuous', 'prismatic', 'planar'):
        axis = np.array([1.0, 0.0, 0.0] if joint.axis is None else joint.axis)
        length = np.linalg.norm(axis)
        if length == 0.0 or not np.isfinite(length):
            raise HodynError(f'{what}: {axis.tolist()} is no axis')
        keys['axis'] = axis / length
    if joint.mimic is not None and joint.type != 'fixed' and joint.name not in locked:
        if joint.type in ('planar', 'floating'):
            raise HodynError(f'{what}: a {joint.type} joint cannot mimic another')
        multiplier = 1.0 if joint.mimic.multiplier is None else joint.mimic.multiplier
        offset = joint.mimic.offset or 0.0
        if not np.all(np.isfinite([multiplier, offset])):
            raise HodynError(f'{what}: its <mimic> is not finite')
        keys['mimic'] = {'joint': joint.mimic.joint, 'multiplier': multiplier, 'offset': offset}
    return keys


def _limits(
    joints: list[Any], mimics: Mapping[str, Mimic], locked: Mapping[str, float], context: str,
) -> dict[str, JointLimits]:
    """Return the limits by joint, of all that move but those that follow a locked one."""
    limits: dict[str, JointLimits] = {}
    for joint in joints:
        if joint is None or joint.type in ('fixed', 'floating'):
            continue
        if joint.type == 'planar':
            limits |= {f'{joint.name}_{suffix}': JointLimits() for suffix in _PLANAR}
        elif joint.name in locked:
            limits[joint.name] = _range_alone(joint)
        elif joint.name not in mimics:
            limits[joint.name] = _limit(joint, context, driven=True)
        elif mimics[joint.name].joint not in locked:
            limits[joint.name] = _limit(joint, context, driven=False)
    return limits


def _limit(joint: Any, context: str, *, driven: bool) -> JointLimits:
    """Return the limits of a joint; of effort none, where it is not driven itself."""
    limit = joint.limit
    if limit is None:
        return JointLimits()
    known = {'velocity': limit.velocity}
    if driven:
        known['effort'] = limit.effort
    for what, value in known.items():
        if value == 0.0:
            warnings.warn(
                f'{context}, joint {joint.name!r}: its {what} limit is 0: taken as unknown',
                stacklevel=2)
            known[what] = np.inf
        elif not (value or 0.0) > 0.0:
            raise HodynError(
                f'{context}, joint {joint.name!r}: its {what} limit is {value:g}; write the real '
                'one, or leave out <limit> if none is known')
    if joint.type != 'continuous':
        if driven and not limit.lower and not limit.upper:
            raise HodynError(
                f'{context}, joint {joint.name!r}: its <limit> has no range, lower and upper are '
                'missing or 0; write them, or leave out <limit> if none is known'
                + (', or make it type="continuous"' if joint.type == 'revolute' else ''))
        known |= {'lower': limit.lower, 'upper': limit.upper}
    return JointLimits(**known)


def _range_alone(joint: Any) -> JointLimits:
    """Return what a joint that is locked is to be within; it need not be able to move."""
    limit = joint.limit
    if limit is None or joint.type == 'continuous' or not limit.lower < limit.upper:
        return JointLimits()
    return JointLimits(limit.lower, limit.upper)


def _inertia_keys(link: Any, what: str) -> dict[str, Any]:
    inertial = link.inertial
    if inertial is None:
        return {}
    if inertial.inertia is None:
        raise HodynError(f'{what}: its <inertial> has no <inertia>')
    placement = _pose(inertial.origin, what)
    rotation = placement[:3, :3]
    return {
        'mass': inertial.mass,
        'com': placement[:3, 3],
        'inertia': rotation @ np.array(inertial.inertia.to_matrix()) @ rotation.T,
    }


def _pose(origin: Any, what: str) -> Array:
    """Return the pose of an <origin>: fixed-axis roll, pitch, yaw about x, y, z."""
    if origin is None:
        return np.eye(4)
    if not np.all(np.isfinite([origin.xyz, origin.rpy])):
        raise HodynError(f'{what}: its origin is not finite')
    roll, pitch, yaw = origin.rpy
    return lie.pose(
        lie.rotation_z(yaw) @ lie.rotation_y(pitch) @ lie.rotation_x(roll), origin.xyz)
