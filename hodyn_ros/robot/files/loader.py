"""Robots from files: built-in names, YAML and mappings, each checked key by key.

A wrong file gets a HodynError that names the robot, the body and the key, and says what is wanted.
"""
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from importlib import resources
import os
from pathlib import Path
from typing import Any, Literal, TypeVar
import warnings

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.errors import HodynError
from hodyn_ros.robot import inertia as inertias
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import joint_geometry, strict_yaml, urdf
from hodyn_ros.robot.files.actuators import read_actuators
from hodyn_ros.robot.files.checked_mapping import CheckedMapping
from hodyn_ros.robot.mass_matrix import body_that_resists_nothing
from hodyn_ros.robot.model import Body, Limits, Robot

Array = NDArray[np.float64]
InertiaCheck = Literal['error', 'warn']
_Check = Literal['error', 'warn', 'accept']
PerJoint = TypeVar('PerJoint', Limits, SigmoidFriction)

MAX_FILE_BYTES = 4 * 1024 * 1024
_ROBOT_KEYS = {
    'name', 'gravity', 'base_pose', 'joint_prefixes', 'inertia_check', 'bodies', 'tool', 'limits',
    'friction', 'actuators',
}
_BODY_KEYS = {
    'name', 'joint', 'parent', 'type', 'placement', 'dh', 'modified_dh', 'axis', 'point', 'pitch',
    'mass', 'com', 'inertia',
}
_DH_KEYS = ('a', 'alpha', 'd', 'theta')
_TOOL_KEYS = {'name', 'link', 'placement', 'mass', 'com', 'inertia'}
_JOINT_TYPES = ('revolute', 'prismatic', 'helical', 'fixed', 'floating')
_LIMIT_KEYS = ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')
_SIGMOID_KEYS = ('amplitude', 'slope', 'velocity_offset')


def robot_names() -> list[str]:
    """Return the names of the built-in robots."""
    folder = resources.files('hodyn_ros.robot.builtin')
    return sorted(
        entry.name.removesuffix('.yaml') for entry in folder.iterdir()
        if entry.name.endswith('.yaml'))


def load_robot(
    source: str | Path | Mapping[str, Any],
    *,
    inertia_check: InertiaCheck | None = None,
    locked_joints: Mapping[str, float] | None = None,
) -> Robot:
    """Return a robot from a built-in name, a path (.yaml, .urdf), URDF text, or a mapping.

    The keys are those of docs/robots.md; the built-in files are commented examples. Links fixed
    to others are merged into them; bodies are sorted so that parents come first.

    Parameters
    ----------
    source : str, Path or mapping
        What the robot is read from.
    inertia_check : 'error' or 'warn', optional
        'warn' accepts inertias that no rigid body has, as long as the bodies that move have a
        positive one with all that is fixed to them; overrides the source's own. For the built-in
        robots it accepts them silently.
    locked_joints : mapping of str to float, optional
        Positions, rad or m, of joints that are not to move: those of a gripper, whose mass the arm
        carries. They are taken as fixed.

    Raises
    ------
    HodynError
        When a key is unknown, missing or wrong, naming body and key.
    FileNotFoundError
        When there is no such file or built-in robot.

    """
    locked = locked_joints or {}
    built_in = isinstance(source, (str, os.PathLike)) and str(source) in robot_names()
    data, context = _mapping(source, locked)
    if inertia_check is not None:
        data = {**data, 'inertia_check': inertia_check}
    return _robot(data, context, locked, built_in)


def robot_keys(source: str | Path) -> dict[str, Any]:
    """Return the keys of a robot from any source that `load_robot` takes, plain, for YAML.

    They are the caller's own, to be changed and written as another robot's.
    """
    data, _ = _mapping(source, {})
    return {key: _plain(value) for key, value in data.items()}


def without_limits(source: str | Path) -> dict[str, Any]:
    """Return the keys of a robot but for its limits and motors.

    Its torques are the same, and no motion is beyond its limits.
    """
    return {
        key: value for key, value in robot_keys(source).items()
        if key not in ('limits', 'actuators')}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    return value


def _mapping(
    source: str | Path | Mapping[str, Any], locked: Mapping[str, float],
) -> tuple[Mapping[str, Any], str]:
    """Return the keys of a robot and what to call it in messages."""
    if isinstance(source, Mapping):
        return source, str(source.get('name', 'robot'))
    if not isinstance(source, (str, os.PathLike)):
        raise HodynError(
            f'expected the name of a robot, a path, URDF text or a mapping, got {source!r}')
    if isinstance(source, str) and source.lstrip('\ufeff \t\r\n').startswith('<'):
        return urdf.robot_mapping(source, 'URDF', locked), 'URDF'
    if str(source) in robot_names():
        folder = resources.files('hodyn_ros.robot.builtin')
        text = folder.joinpath(f'{source}.yaml').read_text('utf-8')
        return _from_yaml(text, str(source)), str(source)
    path = Path(source)
    if not path.is_file():
        raise FileNotFoundError(
            f'no robot {str(source)!r}: neither a file nor one of {", ".join(robot_names())}')
    text = strict_yaml.read_text(path, MAX_FILE_BYTES, 'a robot file')
    if path.suffix in ('.urdf', '.xacro', '.xml') or text.lstrip().startswith('<'):
        return urdf.robot_mapping(text, str(path), locked), str(path)
    return _from_yaml(text, str(path)), str(path)


def _from_yaml(text: str, context: str) -> Mapping[str, Any]:
    data = strict_yaml.load(text, context)
    if not isinstance(data, Mapping):
        raise HodynError(f'{context}: a robot file is a mapping with name, gravity and bodies')
    return data


def _robot(
    data: Mapping[str, Any], context: str, locked: Mapping[str, float], built_in: bool,
) -> Robot:
    section = CheckedMapping(data, f'robot {context!r}', _ROBOT_KEYS)
    entries = section.get('bodies')
    if not isinstance(entries, Sequence) or not entries:
        section.fail('bodies', 'expected a list of at least one body')
    check = _inertia_check(section, built_in)
    listed = [
        _link(entry, f'robot {context!r}, body {_label(entry, i)}')
        for i, entry in enumerate(entries)
    ]
    links = _sorted_by_parent(_with_locked(listed, locked, section), section)
    bodies, frames = _merge_fixed(links, section, check)
    _check_merged(bodies, section)
    joints = [body.joint for body in bodies if body.type != 'floating']
    for names, what in ((joints, 'joint'), ([link.name for link, _ in links], 'body')):
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            section.fail('bodies', f'two bodies have the {what} name {twice[0]!r}')
    prefixes = section.data.get('joint_prefixes') or []
    if not isinstance(prefixes, (list, tuple)) or not all(isinstance(p, str) for p in prefixes):
        section.fail('joint_prefixes', f'expected a list of names, got {prefixes!r}')
    gravity = (
        section.array('gravity', (3,)) if section.has('gravity')
        else np.array([0.0, 0.0, -9.80665]))
    # Lists with one entry a joint follow the bodies as they are listed.
    given = [link.joint for link, _ in listed if link.type not in ('fixed', 'floating')]
    order = [given.index(joint) for joint in joints]
    friction = _friction(section, given)
    robot = Robot(
        name=section.text('name'),
        gravity=gravity,
        bodies=tuple(bodies),
        joint_prefixes=tuple(prefixes),
        limits=_reordered(_limits(section, given), order),
        friction=None if friction is None else _reordered(friction, order),
        actuators=read_actuators(section, joints, [name for name in given if name in locked]),
        frames=frames,
    )
    if section.has('tool'):
        robot = _with_tool(robot, section, check)
    if section.has('base_pose'):
        robot = robot.with_base_pose(_pose(section, 'base_pose'))
    _check_mass_matrix(robot, section)
    return robot


def _label(entry: Any, index: int) -> str:
    name = entry.get('name') if isinstance(entry, Mapping) else None
    return repr(name) if isinstance(name, str) else f'number {index}'


def _inertia_check(section: CheckedMapping, built_in: bool) -> _Check:
    value = section.data.get('inertia_check', 'error')
    if value not in ('error', 'warn'):
        section.fail('inertia_check', f"expected 'error' or 'warn', got {value!r}")
    if value == 'error':
        return 'error'
    return 'accept' if built_in else 'warn'  # what is published as it is, nobody here can mend


def _link(entry: Any, context: str) -> tuple[Body, Any]:
    """Return a checked body, fixed ones included, and its parent as the file names it."""
    section = CheckedMapping(entry, context, _BODY_KEYS)
    kind = section.get('type')
    if kind not in _JOINT_TYPES:
        section.fail('type', f'expected one of {", ".join(_JOINT_TYPES)}, got {kind!r}')
    moves = kind not in ('fixed', 'floating')
    name = section.text('name')
    mass, com, inertia = _inertia(section)
    section = _with_joint_geometry(section)
    return Body(
        name=name,
        joint=section.text('joint') if section.has('joint') else name,
        parent=-1,
        type=kind,
        placement=_pose(section, 'placement'),
        axis=_axis(section) if moves else np.zeros(3),
        point=section.array('point', (3,)) if section.has('point') else np.zeros(3),
        pitch=_pitch(section, kind),
        mass=mass,
        com=com,
        inertia=inertia,
    ), section.get('parent')


def _with_joint_geometry(section: CheckedMapping) -> CheckedMapping:
    """Return a body's keys with DH parameters turned into placement, axis and point."""
    for key, convention in (('dh', joint_geometry.dh),
                            ('modified_dh', joint_geometry.modified_dh)):
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


def _pose(section: CheckedMapping, key: str) -> Array:
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
    return axis / length


def _pitch(section: CheckedMapping, kind: str) -> float:
    pitch = section.number('pitch') if section.has('pitch') else 0.0
    if pitch != 0.0 and kind != 'helical':
        section.fail('pitch', f'a {kind} joint has none; did you mean type helical?')
    return pitch


def _inertia(section: CheckedMapping) -> tuple[float, Array, Array]:
    """Return mass, com and inertia, all zero where none is given."""
    if not any(section.has(key) for key in ('mass', 'com', 'inertia')):
        return 0.0, np.zeros(3), np.zeros((3, 3))
    mass = section.number('mass')
    com = section.array('com', (3,))
    inertia = section.array('inertia', (3, 3))
    if mass < 0.0:
        section.fail('mass', f'{mass:g} kg is below 0')
    fault = inertias.asymmetry(inertia)
    if fault:
        section.fail('inertia', fault)
    return mass, com, inertia


def _check_inertia(mass: float, inertia: Array, context: str, check: _Check) -> None:
    fault = inertias.physical_fault(mass, inertia)
    if fault and check == 'error':
        raise HodynError(f"{context}, key 'inertia': {fault}; inertia_check: warn accepts it")
    if fault and check == 'warn':
        warnings.warn(f"{context}, key 'inertia': {fault}", stacklevel=2)


def _check_merged(bodies: list[Body], section: CheckedMapping) -> None:
    """Refuse bodies that, with all that is fixed to them, would not resist being moved."""
    for body in bodies:
        context = f'{section.context}, body {body.name!r}'
        if body.mass == 0.0:
            raise HodynError(
                f"{context}, key 'mass': a body that moves needs a mass above 0, of its own or of "
                'a link fixed to it')
        fault = inertias.physical_fault(body.mass, body.inertia)
        if fault and fault.startswith('not positive'):
            raise HodynError(f"{context}, key 'inertia', with all that is fixed to it: {fault}")


def _check_mass_matrix(robot: Robot, section: CheckedMapping) -> None:
    """Refuse joints that can move without moving any mass."""
    index = body_that_resists_nothing(robot)
    if index is None:
        return
    body = robot.bodies[index]
    mover = 'its base' if body.type == 'floating' else f'joint {body.joint!r}'
    raise HodynError(
        f"{section.context}, body {body.name!r}, key 'inertia': {mover}, alone or with others, "
        'moves without moving any mass, so the mass matrix is not positive definite')


def _with_tool(robot: Robot, section: CheckedMapping, check: _Check) -> Robot:
    """Return the robot with its tool: a frame fixed to a link, and its mass if it has one."""
    part = CheckedMapping(section.get('tool'), f'{section.context}, tool', _TOOL_KEYS)
    try:
        index, in_body = robot.frame(part.text('link'))
    except HodynError as error:
        part.fail('link', str(error))
    if part.has('placement'):
        in_body = in_body @ _pose(part, 'placement')
    name = part.text('name') if part.has('name') else 'tool'
    if name in robot.frames or any(name == body.name for body in robot.bodies):
        part.fail('name', f'a link has the name {name!r} already')
    mass, com, inertia = _inertia(part)
    bodies = list(robot.bodies)
    if index >= 0:
        _check_inertia(mass, inertia, part.context, check)
        bodies[index] = bodies[index].with_load(mass, com, inertia, in_body)
    return replace(robot, bodies=tuple(bodies), frames={**robot.frames, name: (index, in_body)})


def _with_locked(
    links: list[tuple[Body, Any]], locked: Mapping[str, float], section: CheckedMapping,
) -> list[tuple[Body, Any]]:
    """Return the links with some joints fixed at a position."""
    joints = {link.joint for link, _ in links if link.type not in ('fixed', 'floating')}
    for joint, position in locked.items():
        if joint not in joints:
            raise HodynError(f'{section.context}: no joint {joint!r} to lock; its joints are '
                             f'{", ".join(sorted(joints))}')
        if not isinstance(position, (int, float, np.number)) or not np.isfinite(position):
            raise HodynError(f'{section.context}: joint {joint!r} is locked at {position!r}; '
                             'expected a finite number, rad or m')
    return [
        (replace(link, type='fixed', placement=link.placement @ lie.exp(
            link.screw * locked[link.joint])), parent)
        if link.joint in locked and link.joint in joints else (link, parent)
        for link, parent in links]


def _sorted_by_parent(
    links: list[tuple[Body, Any]], section: CheckedMapping,
) -> list[tuple[Body, int]]:
    """Return links with parents before children, and the parents' new indices."""
    index = {link.name: i for i, (link, _) in enumerate(links)}

    def parent_of(i: int) -> int:
        link, parent = links[i]
        if isinstance(parent, str) and parent in index:
            return index[parent]
        if isinstance(parent, int) and not isinstance(parent, bool) and -1 <= parent < len(links):
            return parent
        raise HodynError(
            f"{section.context}, body {link.name!r}, key 'parent': no body {parent!r}; "
            f'expected a name, an index from 0 to {len(links) - 1}, or -1 for the world')

    parents = [parent_of(i) for i in range(len(links))]
    order: list[int] = []
    placed = {-1}
    while len(order) < len(links):
        ready = [i for i in range(len(links)) if i not in placed and parents[i] in placed]
        if not ready:
            loop = ', '.join(repr(links[i][0].name) for i in range(len(links)) if i not in placed)
            section.fail('bodies', f'these hang on each other in a cycle: {loop}')
        order.append(ready[0])
        placed.add(ready[0])
    new_index = {-1: -1, **{old: new for new, old in enumerate(order)}}
    return [(links[i][0], new_index[parents[i]]) for i in order]


def _merge_fixed(
    links: list[tuple[Body, int]], section: CheckedMapping, check: _Check,
) -> tuple[list[Body], dict[str, tuple[int, Array]]]:
    """Merge the links that cannot move into those that carry them, as frames.

    The inertia of a link fixed to the world has no effect, and is not judged.
    """
    bodies: list[Body] = []
    frames: dict[str, tuple[int, Array]] = {}
    carrier: list[tuple[int, Array]] = []  # of each link: moving body and pose in it
    for link, parent in links:
        base, offset = (-1, np.eye(4)) if parent == -1 else carrier[parent]
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


def _limits(section: CheckedMapping, joints: list[str]) -> Limits:
    n = len(joints)
    if not section.has('limits'):
        return Limits.none(n)
    part = CheckedMapping(
        section.get('limits'), f'{section.context}, limits', {'position', *_LIMIT_KEYS})
    values = {}
    for key in _LIMIT_KEYS:
        values[key] = _with_gaps(part, key, np.full(n, np.inf))
        if np.any(values[key] <= 0.0):
            joint = joints[int(np.argmin(values[key]))]
            part.fail(key, f'joint {joint!r}: must be above 0; null says that none is known')
    position = _with_gaps(part, 'position', np.tile([-np.inf, np.inf], (n, 1)))
    if np.any(position[:, 0] >= position[:, 1]):
        joint = joints[int(np.argmax(position[:, 0] >= position[:, 1]))]
        part.fail('position', f'joint {joint!r}: its lower limit is not below the upper one')
    return Limits(position[:, 0].copy(), position[:, 1].copy(), **values)


def _reordered(entries: PerJoint, order: list[int]) -> PerJoint:
    """Return a dataclass of arrays with one entry a joint in another order of joints."""
    return replace(entries, **{f.name: getattr(entries, f.name)[order] for f in fields(entries)})


def _with_gaps(section: CheckedMapping, key: str, unlimited: Array) -> Array:
    """Return limits of the shape of `unlimited`, whose entries stand where the file has null."""
    if not section.has(key):
        return unlimited

    def filled(value: Any) -> Any:
        if isinstance(value, Sequence) and not isinstance(value, str):
            return [filled(entry) for entry in value]
        return 0.0 if value is None else value

    def known(value: Any) -> Any:
        return [known(entry) for entry in value] if isinstance(value, list) else value is not None

    value = section.get(key)
    filled_in = CheckedMapping({key: filled(value)}, section.context, {key})
    numbers = filled_in.array(key, unlimited.shape)
    return np.where(np.array(known(value)), numbers, unlimited)


def _friction(section: CheckedMapping, joints: list[str]) -> SigmoidFriction | None:
    if not section.has('friction'):
        return None
    part = CheckedMapping(
        section.get('friction'), f'{section.context}, friction', {'law', *_SIGMOID_KEYS})
    law = part.text('law')
    if law != 'sigmoid':
        part.fail('law', f"expected 'sigmoid', got {law!r}")
    return SigmoidFriction(**{key: part.array(key, (len(joints),)) for key in _SIGMOID_KEYS})
