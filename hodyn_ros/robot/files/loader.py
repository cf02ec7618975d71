"""Robots from files: built-in names, YAML and mappings, each checked key by key.

A HodynError about a wrong file names the robot, the body and the key, and says what is expected.
"""
from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
import os
from pathlib import Path
from typing import Any, Literal
import warnings

import numpy as np

from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot.actuator_doubts import ask_of_actuators
from hodyn_ros.robot.files.actuators import read_actuators, with_rotors
from hodyn_ros.robot.files.bodies import (
    InertiaHandling,
    check_merged,
    merge_fixed,
    read_body,
    read_pose,
    sorted_by_parent,
    with_locked,
    with_tool,
)
from hodyn_ros.robot.files.checked_mapping import CheckedMapping, body_label
from hodyn_ros.robot.files.coupled_joints import with_resolved_mimics
from hodyn_ros.robot.files.harmless_locks import harmless_locks
from hodyn_ros.robot.files.joint_geometry import CONVENTIONS
from hodyn_ros.robot.files.joint_limits import with_limits
from hodyn_ros.robot.files.joint_properties import (
    read_effort_gain,
    read_friction,
    read_limits,
    read_lock_names,
    read_locked,
    read_rotor_inertia,
    reordered,
)
from hodyn_ros.robot.files.reflexes import read_reflexes
from hodyn_ros.robot.files.sources import Source, read_source, robot_names
from hodyn_ros.robot.joint_limits import Limits
from hodyn_ros.robot.mass_matrix import massless_fault
from hodyn_ros.robot.model import STANDARD_GRAVITY, Robot
from hodyn_ros.robot.unit_doubts import ask_of_angles, ask_of_links, ask_of_robot

RANGE_TOLERANCE = 1e-6  # rounding of positions and limits in files, rad or m
MAX_MOVING = 500  # largest number of moving bodies, as mass matrices are dense

InertiaCheck = Literal['error', 'warn']

_ROBOT_KEYS = {
    'name', 'gravity', 'base_pose', 'joint_prefixes', 'inertia_check', 'bodies', 'tool', 'limits',
    'friction', 'rotor_inertia', 'effort_gain', 'actuators', 'reflexes', 'locked',
    'harmless_locks', 'shifting_locks',
}


def load_robot(
    source: Source,
    *,
    inertia_check: InertiaCheck | None = None,
    locked_joints: Mapping[str, float] | None = None,
    limits: str | Path | Mapping[str, Any] | None = None,
    floating_base: bool = False,
    max_bodies: int | None = None,
) -> Robot:
    """Return a robot from a built-in name, a path (YAML, URDF, MJCF), URDF text, or a mapping.

    The keys are in docs/robots.md; the built-in files are commented examples. Links fixed
    to others are merged into them; bodies are sorted so that parents come first.

    Parameters
    ----------
    source : str, Path, mapping or mujoco.MjModel
        What the robot is read from; MJCF is read by MuJoCo.
    inertia_check : 'error' or 'warn', optional
        'error' refuses inertias that no rigid body has; a positive inertia that breaks the
        triangle inequality slightly only gives a warning. 'warn' warns of both; it refuses only
        a moving body whose inertia, with all links fixed to it, is not positive. The argument
        overrides the source's setting; the built-in robots' 'warn' gives no warning.
    locked_joints : mapping of str to float, optional
        Positions, rad or m, of joints to fix, such as a gripper's; the arm carries their links.
    limits : str, Path or mapping, optional
        Limits that replace the source's, as `with_limits` takes them.
    floating_base : bool
        Whether the root link of a URDF is free to move; other formats state this themselves.
    max_bodies : int, optional
        Largest number of bodies, fixed ones included; more are refused before any is checked.

    Raises
    ------
    HodynError
        When a key is unknown, missing or wrong, naming body and key.
    FileNotFoundError
        When there is no such file or built-in robot.

    """
    locked = locked_joints or {}
    if not isinstance(locked, Mapping):
        raise HodynError(f'locked_joints must map joints to positions, got {locked!r:.80}')
    if not isinstance(floating_base, (bool, np.bool_)):
        raise HodynError(f'floating_base must be True or False, got {floating_base!r:.80}')
    built_in = isinstance(source, (str, os.PathLike)) and str(source) in robot_names()
    data, context = read_source(source, locked, max_bodies, floating_base=floating_base)
    if inertia_check is not None:
        data = {**data, 'inertia_check': inertia_check}
    robot = _robot(data, context, locked, built_in, max_bodies)
    return robot if limits is None else with_limits(robot, limits)


def _check_ranges(
    locked: Mapping[str, float], joints: list[str], limits: Limits, section: CheckedMapping,
) -> None:
    ranges = {joint: ends for joint, *ends in zip(
        joints, limits.position_min, limits.position_max, strict=True)}
    for joint, position in locked.items():
        lower, upper = ranges.get(joint, (-np.inf, np.inf))  # a coupled joint has no known range
        if not lower - RANGE_TOLERANCE <= position <= upper + RANGE_TOLERANCE:
            raise HodynError(
                f'{section.context}: joint {joint!r} is locked at {position:g}, which is not '
                f'within its range, {lower:g} to {upper:g} (rad, or m for a prismatic joint)')


def _robot(
    data: Mapping[str, Any], context: str, locked: Mapping[str, float], built_in: bool,
    max_bodies: int | None,
) -> Robot:
    section = CheckedMapping(data, f'robot {context!r}', _ROBOT_KEYS)
    entries = section.get('bodies')
    if not isinstance(entries, Sequence) or not entries:
        section.fail('bodies', 'expected a list of at least one body')
    if max_bodies is not None and len(entries) > max_bodies:
        section.fail('bodies', f'{len(entries)} of them; at most {max_bodies} are accepted here')
    check = _inertia_check(section, built_in)
    listed, parents = zip(*(
        read_body(entry, f'robot {context!r}, body {body_label(entry, i)}')
        for i, entry in enumerate(entries)), strict=True)
    ask_of_angles([
        (f'{body.name} {key}', [
            float(entry[key].get(angle) or 0.0) for angle in ('alpha', 'theta')])
        for entry, body in zip(entries, listed, strict=True)
        for key in CONVENTIONS if entry.get(key)], 'alpha and theta are', section.context)
    _check_names([body.name for body in listed], 'body', section)
    coupled, followers = with_resolved_mimics(
        with_locked(listed, locked, section), locked, section)
    links = sorted_by_parent(coupled, parents, section)
    bodies, frames = merge_fixed(links, section, check)
    if len(bodies) > MAX_MOVING:
        section.fail('bodies', f'{len(bodies)} of them move; at most {MAX_MOVING} can')
    check_merged(bodies, section)
    joints = [body.joint for body in bodies if body.type != 'floating']
    _check_names(joints, 'joint', section)
    prefixes = section.data.get('joint_prefixes') or []
    if not isinstance(prefixes, (list, tuple)) or not all(isinstance(p, str) for p in prefixes):
        section.fail('joint_prefixes', f'expected a list of names, got {prefixes!r}')
    if isinstance(section.data.get('gravity'), (int, float)):
        section.fail('gravity', 'expected a vector, m/s², e.g. [0, 0, -9.80665], got '
                     f'{section.get("gravity")}')
    gravity = (
        section.array('gravity', (3,)) if section.has('gravity')
        else np.array(STANDARD_GRAVITY))
    # Lists with one entry per joint follow the source's order of bodies, without coupled joints.
    given = [
        link.joint for link in listed
        if link.type not in ('fixed', 'floating') and link.mimic is None]
    own = [body.joint for body in bodies if body.joint in given and body.type != 'floating']
    order = [given.index(joint) for joint in own]
    all_locked = {**read_locked(section, given), **locked, **followers}
    slides = {link.joint for link in listed if link.type == 'prismatic'}
    friction = read_friction(section, given)
    rotors = read_rotor_inertia(section, given)
    rotor_inertia = None if rotors is None else rotors[order]
    actuators = read_actuators(section, own, [name for name in given if name in locked])
    if actuators is not None and rotor_inertia is not None:
        actuators = with_rotors(actuators, rotor_inertia.tolist(), section.context)
        rotor_inertia = None
    effort_gain = read_effort_gain(section, given)
    limits = read_limits(section, given)
    _check_ranges(locked, given, limits, section)
    harmless, shifting = harmless_locks(
        links, frozenset(all_locked), slides,
        {link.joint: link.mimic.joint for link in listed if link.mimic is not None})
    robot = Robot(
        name=section.text('name'),
        gravity=gravity,
        bodies=tuple(bodies),
        joint_prefixes=tuple(prefixes),
        limits=reordered(limits, order),
        friction=None if friction is None else reordered(friction, order),
        rotor_inertia=rotor_inertia,
        effort_gain=None if effort_gain is None else effort_gain[order],
        actuators=actuators,
        reflexes=read_reflexes(section, given, limits, order),
        frames=frames,
        locked=tuple(all_locked.items()),
        harmless_locks=read_lock_names(section, 'harmless_locks', 'locked') | harmless,
        shifting_locks=read_lock_names(
            section, 'shifting_locks', 'harmless_locks') | shifting,
    )
    if section.has('tool'):
        robot = with_tool(robot, section, check)
    if section.has('base_pose'):
        robot = robot.with_base_pose(read_pose(section, 'base_pose'))
    _check_masses(robot, section)
    ask_of_links(links, section.context)
    ask_of_robot(robot, section.context)
    ask_of_actuators(robot, section.context)
    return robot


def _check_names(names: list[str], what: str, section: CheckedMapping) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice:
        section.fail('bodies', f'two bodies have the {what} name {twice[0]!r}: rename one')


def _inertia_check(section: CheckedMapping, built_in: bool) -> InertiaHandling:
    value = section.data.get('inertia_check', 'error')
    if value not in ('error', 'warn'):
        section.fail('inertia_check', f"expected 'error' or 'warn', got {value!r}")
    if value == 'error':
        return 'error'
    return 'accept' if built_in else 'warn'  # users cannot correct these published values


def _check_masses(robot: Robot, section: CheckedMapping) -> None:
    """Refuse a robot whose moving bodies have no mass; warn of joints that move no mass."""
    if not any(body.mass or body.inertia.any() for body in robot.bodies):
        section.fail('bodies', 'nothing that moves has a mass: every torque would be 0')
    if fault := massless_fault(robot):
        warnings.warn(
            f'{section.context}: {fault}: inverse dynamics works, forward dynamics has no '
            'solution', stacklevel=3)
