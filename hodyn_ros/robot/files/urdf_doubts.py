"""Warnings, one line each, about likely oversights in the elements of a URDF.

`robot.unit_doubts` has the questions that concern robots from all kinds of files.
"""
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
import warnings

import numpy as np

from hodyn_ros.robot.files.xml_elements import Element
from hodyn_ros.robot.unit_doubts import ask_if, ask_of_angles


def warn_of_dynamics(root: Element, context: str) -> None:
    """Warn of joints with damping or friction, which are not read."""
    count = sum(
        any(dynamics.attributes.get(key, '').strip('0. ') for dynamics in joint.all('dynamics')
            for key in ('damping', 'friction')) for joint in root.all('joint'))
    if count:
        warnings.warn(
            f'{context}: <dynamics> of {count} joint{"s" * (count > 1)} is not used: damping and '
            'friction in a URDF are mostly settings of simulators; hodyn identify finds those '
            'of the arm', stacklevel=2)


ZEROS_ARE_UNKNOWN = ' Limits of 0 are not known. '
"""Comment that `save_robot` writes to a URDF: its limits of 0 then give no warning."""


def warn_of_zeros(limits: Iterable[tuple[str, Element, Sequence[str]]], context: str) -> None:
    """Warn of limits of 0, which count as unknown.

    `limits` has, for each joint, its name, its <limit> and the names of attributes to check.
    """
    zeros: dict[str, list[tuple[str, int]]] = {}
    for joint, limit, names in limits:
        for name in names:
            if name in limit.attributes and limit.number(name, finite=False) == 0.0:
                zeros.setdefault(name, []).append((joint, limit.line))
    for name, joints in zeros.items():
        warnings.warn(
            f'{context}, line {joints[0][1]}, joint{"s" * (len(joints) > 1)} '
            f'{", ".join(repr(joint) for joint, _ in joints)}, <limit>: {name} is 0: taken as '
            'unknown', stacklevel=2)


def warn_of_angles(root: Element, context: str) -> None:
    """Ask whether an <origin> whose rpy exceeds a full turn is in degrees."""
    ask_of_angles([
        (part.attributes['name'], origin.numbers('rpy', 3))
        for part in (*root.all('joint'), *root.all('link'))
        for holder in ([part] if part.tag == 'joint' else part.all('inertial'))
        for origin in holder.all('origin') if 'rpy' in origin.attributes], 'rpy is', context)


def warn_of_axes(joints: Sequence[str], context: str) -> None:
    """Ask whether moving joints without an <axis> really turn or slide along x."""
    if joints:
        warnings.warn(
            f'{context}: no <axis>: the axis of {", ".join(joints)} is x, the default: is this '
            'right? If so, write <axis xyz="1 0 0"/>', stacklevel=2)


def warn_of_masses(bodies: Sequence[Mapping[str, Any]], context: str) -> None:
    """Warn of moving links that carry others and have no mass, and of point masses.

    `bodies` are in the robot format, parents first.
    """
    joints = {body.get('joint') for body in bodies}
    carrier: dict[Any, Any] = {}
    has_mass: dict[Any, bool] = {}
    for body in bodies:
        name, parent = body['name'], body['parent']
        carrier[name] = name if body['type'] != 'fixed' else carrier.get(parent)
        # A fixed link needs no mass of its own, nor do the first two links of a spherical joint.
        is_turn = str(body.get('joint')).endswith(('_x', '_y')) and {
            f'{body["joint"][:-1]}{axis}' for axis in 'xyz'} <= joints
        has_mass[name] = body['type'] == 'fixed' or (
            'mass' in body and (body['mass'] != 0.0 or is_turn))
        if body.get('mass'):
            has_mass[carrier[name]] = True
    carries = {carrier.get(body['parent']) for body in bodies if body['type'] != 'fixed'}
    ask_if(
        [name for name, known in has_mass.items() if not known and name in carries],
        f'{context}: moving links without an <inertial>, or with a mass of 0, are taken as '
        'massless:')
    ask_if([
        f'{body["name"]} ({body["mass"]:g} kg)' for body in bodies
        if body.get('mass') and not np.any(body['inertia'])
    ], f'{context}: links with an <inertia> of 0 are taken as point masses:')
