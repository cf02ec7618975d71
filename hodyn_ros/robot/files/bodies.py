"""Reads and checks the bodies of a robot file, sorts them, and merges those that cannot move."""
from collections.abc import Mapping, Sequence
from dataclasses import replace
import heapq
from typing import Any, Literal
import warnings

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot import lie
from hodyn_ros.robot.coupling import Mimic, warn_of_broken_couplings
from hodyn_ros.robot.files import joint_geometry
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.files.joint_chains import CHAINS
from hodyn_ros.robot.model import Body, Robot

InertiaHandling = Literal['error', 'warn', 'accept']
"""What to do with an inertia that no rigid body has."""

_BODY_KEYS = {
    'name', 'joint', 'parent', 'type', 'placement', 'dh', 'modified_dh', 'axis', 'point', 'pitch',
    'mass', 'com', 'inertia', 'mimic',
}
_MIMIC_KEYS = {'joint', 'multiplier', 'offset'}
_DH_KEYS = ('a', 'alpha', 'd', 'theta')
_TOOL_KEYS = {'name', 'link', 'placement', 'mass', 'com', 'inertia'}
_JOINT_TYPES = ('revolute', 'prismatic', 'helical', 'fixed', 'floating')


def read_body(entry: Any, context: str) -> tuple[Body, Any]:
    """Return a checked body, moving or fixed, and its parent as the file names it."""
    section = CheckedMapping(entry, context, _BODY_KEYS)
    kind = section.get('type')
    if kind not in _JOINT_TYPES:
        section.fail(
            'type', f'expected one of {", ".join((*_JOINT_TYPES, *CHAINS))}, got {kind!r}')
    moves = kind not in ('fixed', 'floating')
    name = section.text('name')
    mass, com, inertia = read_inertia(section)
    section = _with_joint_geometry(section)
    return Body(
        name=name,
        joint=section.text('joint') if section.has('joint') else name,
        parent=-1,
        type=kind,
        placement=np.eye(4) if kind == 'floating' and not section.has('placement')
        else read_pose(section, 'placement'),
        axis=_axis(section) if moves else np.zeros(3),
        point=section.array('point', (3,)) if section.has('point') else np.zeros(3),
        pitch=_pitch(section, kind),
        mass=mass,
        com=com,
        inertia=inertia,
        mimic=_mimic(section, moves=moves),
    ), section.get('parent')


def _with_joint_geometry(section: CheckedMapping) -> CheckedMapping:
    """Return a body's keys with DH parameters turned into placement, axis and point."""
    for key, convention in joint_geometry.CONVENTIONS.items():
        if not section.has(key):
            continue
        twice = [k for k in ('placement', 'axis', 'point', 'dh') if section.has(k) and k != key]
        if twice:
            section.fail(key, f'says where the joint is, and so does key {twice[0]!r}: keep one')
        part = CheckedMapping(section.get(key), f'{section.context}, {key}', _DH_KEYS)
        a, alpha, d = (part.number(k) for k in _DH_KEYS[:3])
        geometry = convention(a, alpha, d, part.number('theta') if part.has('theta') else 0.0)
        return CheckedMapping({**section.data, **geometry}, section.context, _BODY_KEYS)
    return section


def read_pose(section: CheckedMapping, key: str) -> Array:
    """Return a pose, (4, 4)."""
    pose = section.array(key, (4, 4))
    fault = lie.pose_fault(pose)
    if fault:
        section.fail(key, fault)
    return pose


def _axis(section: CheckedMapping) -> Array:
    axis = section.array('axis', (3,))
    length = float(np.linalg.norm(axis))
    if abs(length - 1.0) > 1e-6:
        section.fail('axis', f'expected a unit vector, got one of length {length:.6g}')
    # An axis of length 1 to round-off is not divided again: it keeps every bit in a saved file.
    return axis if abs(length - 1.0) < 4.0 * np.finfo(float).eps else axis / length


def _pitch(section: CheckedMapping, kind: str) -> float:
    pitch = section.number('pitch') if kind == 'helical' or section.has('pitch') else 0.0
    if pitch != 0.0 and kind != 'helical':
        section.fail('pitch', f'a {kind} joint has none; did you mean type helical?')
    return pitch


def _mimic(section: CheckedMapping, *, moves: bool) -> Mimic | None:
    if not section.has('mimic'):
        return None
    if not moves:
        section.fail('mimic', f'a {section.get("type")} joint cannot follow another')
    part = CheckedMapping(section.get('mimic'), f'{section.context}, mimic', _MIMIC_KEYS)
    mimic = Mimic(part.text('joint'), *(
        part.number(key) if part.has(key) else default
        for key, default in (('multiplier', 1.0), ('offset', 0.0))))
    if mimic.multiplier == 0.0:
        warnings.warn(
            f"{part.context}, key 'multiplier': 0 fixes the joint at {mimic.offset:g}: is this "
            'meant? To fix a joint, lock it (locked_joints, --lock)', stacklevel=2)
    return mimic


def read_inertia(
    section: CheckedMapping, *, symmetric: bool = True,
) -> tuple[float, Array, Array]:
    """Return mass, com and inertia, all 0 if none is given; with `symmetric`, refuse asymmetry."""
    if not any(section.has(key) for key in ('mass', 'com', 'inertia')):
        return 0.0, np.zeros(3), np.zeros((3, 3))
    mass = section.number('mass')
    com = section.array('com', (3,))
    inertia = section.array('inertia', (3, 3))
    if mass < 0.0:
        section.fail('mass', f'{mass:g} kg is below 0')
    fault = inertias.asymmetry(inertia)
    if fault and symmetric:
        section.fail('inertia', fault)
    return mass, com, inertia


def _check_inertia(mass: float, inertia: Array, context: str, check: InertiaHandling) -> None:
    fault = inertias.physical_fault(mass, inertia)
    if fault and check == 'error' and not inertias.is_slight(mass, inertia):
        raise HodynError(
            f"{context}, key 'inertia': {fault}{' If not, ' if fault.endswith('?') else '; '}"
            'inertia_check: warn accepts it, hodyn info --repair writes the nearest possible one')
    if fault and check != 'accept':
        warnings.warn(f"{context}, key 'inertia': {fault}", stacklevel=2)


def check_merged(bodies: list[Body], section: CheckedMapping) -> None:
    """Refuse a body whose inertia, with all links fixed to it, is not positive."""
    for body in bodies:
        fault = inertias.physical_fault(body.mass, body.inertia)
        if fault and fault.startswith('not positive'):
            raise HodynError(
                f"{section.context}, body {body.name!r}, key 'inertia', with all that is fixed to "
                f'it: {fault}')


def with_tool(robot: Robot, section: CheckedMapping, check: InertiaHandling) -> Robot:
    """Return the robot with the file's tool: a frame fixed to a link, with a mass if given."""
    part = CheckedMapping(section.get('tool'), f'{section.context}, tool', _TOOL_KEYS)
    try:
        index, in_body = robot.frame(part.text('link'))
    except HodynError as error:
        part.fail('link', str(error))
    if part.has('placement'):
        in_body = in_body @ read_pose(part, 'placement')
    name = part.text('name') if part.has('name') else 'tool'
    if name in robot.frames or any(name == body.name for body in robot.bodies):
        part.fail('name', f'a link has the name {name!r} already')
    mass, com, inertia = read_inertia(part)
    bodies = list(robot.bodies)
    if index >= 0:
        _check_inertia(mass, inertia, part.context, check)
        bodies[index] = bodies[index].with_load(mass, com, inertia, in_body)
    return replace(robot, bodies=tuple(bodies), frames={**robot.frames, name: (index, in_body)})


def with_locked(
    links: Sequence[Body], locked: Mapping[str, float], section: CheckedMapping,
) -> list[Body]:
    """Return the links with the locked joints fixed at their positions."""
    joints = {link.joint for link in links if link.type not in ('fixed', 'floating')}
    before = section.data.get('locked')
    for joint, position in locked.items():
        if joint not in joints and isinstance(before, Mapping) and joint in before:
            raise HodynError(
                f'{section.context}: joint {joint!r} cannot be locked again: this file was made '
                f'with it locked at {before[joint]}. Make the file again from its source, with '
                f'--lock {joint}={position}')
        if joint not in joints:
            raise HodynError(f'{section.context}: no joint {joint!r} to lock; its joints are '
                             f'{", ".join(sorted(joints))}')
        if not isinstance(position, (int, float, np.number)) or not np.isfinite(position):
            raise HodynError(f'{section.context}: joint {joint!r} is locked at {position!r}; '
                             'expected a finite number, rad or m')
    warn_of_broken_couplings(
        {link.joint: link.mimic for link in links if link.mimic is not None}, locked,
        section.context)
    return [
        fixed_at(link, locked[link.joint])
        if link.joint in locked and link.joint in joints else link for link in links]


def fixed_at(link: Body, position: float) -> Body:
    """Return a link whose joint is fixed at a position."""
    return replace(
        link, type='fixed', mimic=None, placement=link.placement @ lie.exp(link.screw * position))


def sorted_by_parent(
    links: Sequence[Body], given: Sequence[Any], section: CheckedMapping,
) -> list[Body]:
    """Return links with parents before children; `given` has the parents as in the file."""
    index = {link.name: i for i, link in enumerate(links)}

    def parent_of(link: Body, parent: Any) -> int:
        if isinstance(parent, str) and parent in index:
            return index[parent]
        if isinstance(parent, int) and not isinstance(parent, bool) and -1 <= parent < len(links):
            return parent
        raise HodynError(
            f"{section.context}, body {link.name!r}, key 'parent': no body {parent!r}; "
            f'expected a name, an index from 0 to {len(links) - 1}, or -1 for the world')

    parents = list(map(parent_of, links, given))
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(parents):
        children.setdefault(parent, []).append(i)
    order: list[int] = []
    ready = children.get(-1, [])  # a heap: of the links whose parent is placed, the first is next
    while ready:
        order.append(heapq.heappop(ready))
        for child in children.get(order[-1], []):
            heapq.heappush(ready, child)
    if len(order) < len(links):
        placed = set(order)
        loop = ', '.join(repr(link.name) for i, link in enumerate(links) if i not in placed)
        section.fail('bodies', f'the parents of these form a cycle: {loop}')
    new_index = {-1: -1, **{old: new for new, old in enumerate(order)}}
    return [replace(links[i], parent=new_index[parents[i]]) for i in order]


def merge_fixed(
    links: list[Body], section: CheckedMapping, check: InertiaHandling,
) -> tuple[list[Body], dict[str, tuple[int, Array]]]:
    """Merge fixed links into the bodies that carry them; return the bodies and `Robot.frames`.

    The inertia of a link fixed to the world has no effect and is not checked.
    """
    bodies: list[Body] = []
    frames: dict[str, tuple[int, Array]] = {}
    carrier: list[tuple[int, Array]] = []  # per link: its body (-1: world), and its pose in it
    for link in links:
        base, offset = (-1, np.eye(4)) if link.parent == -1 else carrier[link.parent]
        placement = offset @ link.placement
        if base >= 0 or link.type != 'fixed':
            _check_inertia(
                link.mass, link.inertia, f'{section.context}, body {link.name!r}', check)
        if link.type == 'floating' and (base != -1 or bodies):
            section.fail('bodies', f'{link.name!r}: only the first body can be floating')
        if link.type == 'fixed':
            carrier.append((base, placement))
            frames[link.name] = (base, placement)
            if base >= 0:
                bodies[base] = bodies[base].with_load(
                    link.mass, link.com, link.inertia, placement)
        else:
            carrier.append((len(bodies), np.eye(4)))
            bodies.append(replace(link, parent=base, placement=placement))
    if not bodies:
        section.fail('bodies', 'none of them moves')
    return bodies, frames
