"""What of a URDF is likely an oversight: a warning each, in one line."""
from collections.abc import Iterable, Mapping, Sequence
import math
from typing import Any
import warnings

import numpy as np

from hodyn_ros.robot.files.xml_elements import Element

_MANY_TURNS = 8.0 * math.pi
"""A range that ends beyond, rad, is one in degrees: cables allow two or three turns."""
_FAR, _HEAVY = 50.0, 1000.0
"""No arm reaches so far, m, and hardly a link weighs so much, kg."""
_SPREAD = 10.0
"""So many times the length of the arm no link's mass is away from its centre."""


def warn_of_dynamics(root: Element, context: str) -> None:
    """Say how many joints have damping or friction, which are not read."""
    count = sum(
        any(dynamics.attributes.get(key, '').strip('0. ') for dynamics in joint.all('dynamics')
            for key in ('damping', 'friction')) for joint in root.all('joint'))
    if count:
        _warn(
            f'{context}: <dynamics> of {count} joint{"s" * (count > 1)} is not used: damping and '
            'friction of a URDF are mostly settings of simulators; hodyn identify finds those of '
            'the arm')


def warn_of_zeros(limits: Iterable[tuple[str, Element, Sequence[str]]], context: str) -> None:
    """Say which limits are 0, and so not known, of joints by name with <limit> and quantities."""
    zeros: dict[str, list[tuple[str, int]]] = {}
    for joint, limit, names in limits:
        for name in names:
            if name in limit.attributes and limit.number(name, finite=False) == 0.0:
                zeros.setdefault(name, []).append((joint, limit.line))
    for name, joints in zeros.items():
        _warn(
            f'{context}, line {joints[0][1]}, joint{"s" * (len(joints) > 1)} '
            f'{", ".join(repr(joint) for joint, _ in joints)}, <limit>: {name} is 0: taken as '
            'unknown')


def warn_of_ranges(ranges: Mapping[str, tuple[float, float]], context: str) -> None:
    """Say which joints that turn have ranges, rad, that look like degrees."""
    wide = [
        f'{joint} ({lower:g} to {upper:g})' for joint, (lower, upper) in ranges.items()
        if _MANY_TURNS < max(abs(lower), abs(upper)) < math.inf]
    if wide:
        _warn(f'{context}: ranges are in rad: are these degrees? {", ".join(wide)}')


def warn_of_angles(root: Element, context: str) -> None:
    """Say which <origin> turns by what looks like degrees."""
    turned = [
        f'{part.attributes["name"]} ({origin.attributes["rpy"]})'
        for part in (*root.all('joint'), *root.all('link'))
        for holder in ([part] if part.tag == 'joint' else part.all('inertial'))
        for origin in holder.all('origin') if 'rpy' in origin.attributes
        and max(map(abs, origin.numbers('rpy', 3))) > 1.01 * 2.0 * math.pi]
    if turned:
        _warn(f'{context}: rpy is in rad: are these degrees? {", ".join(turned)}')


def warn_of_units(bodies: Sequence[Mapping[str, Any]], context: str) -> None:
    """Say which lengths, masses and inertias are likely not in m, kg and kg m².

    `bodies` are those of the robot format, parents first.
    """
    reach: dict[Any, float] = {-1: 0.0}
    for body in bodies:
        reach[body['name']] = reach[body['parent']] + float(
            np.linalg.norm(body['placement'][:3, 3]))
    farthest, length = max(reach.items(), key=lambda one: one[1])
    if length > _FAR:
        _warn(
            f'{context}: lengths are in m: are these mm? It is {length:.4g} m along the links to '
            f'{farthest}')
    with_mass = [body for body in bodies if body.get('mass', 0.0) > 0.0]
    heavy = [f'{body["name"]} ({body["mass"]:g} kg)' for body in with_mass
             if body['mass'] > _HEAVY]
    if heavy:
        _warn(f'{context}: masses are in kg: are these grams? {", ".join(heavy)}')
    spread = [
        f'{body["name"]} ({radius:.3g} m)' for body in with_mass
        if (radius := math.sqrt(np.abs(body['inertia']).max() / body['mass']))
        > _SPREAD * max(length, 0.1)]
    if spread:
        _warn(
            f'{context}: inertias are in kg m²: are these of a CAD program, in kg mm² or g mm²? '
            f'The mass is as if so far from its centre, of an arm of {length:.3g} m: '
            f'{", ".join(spread)}')


def warn_of_masses(bodies: Sequence[Mapping[str, Any]], context: str) -> None:
    """Say which links have no mass though they carry others, and which are points.

    `bodies` are those of the robot format, parents first.
    """
    carrier: dict[Any, Any] = {}
    has_mass: dict[Any, bool] = {}
    for body in bodies:
        name, parent = body['name'], body['parent']
        carrier[name] = name if body['type'] != 'fixed' else carrier.get(parent)
        # The axes of a planar joint are bodies of their own, and those have none.
        has_mass.setdefault(name, body['type'] == 'fixed')
        if body.get('mass'):
            has_mass[carrier[name]] = True
    carries = {carrier.get(body['parent']) for body in bodies if body['type'] != 'fixed'}
    names = {body['name'] for body in bodies if ' ' not in body['name']}
    empty = [name for name, known in has_mass.items() if not known and name in carries & names]
    if empty:
        _warn(
            f'{context}: links that move without an <inertial> are taken as without mass: '
            f'{", ".join(empty)}')
    points = [
        f'{body["name"]} ({body["mass"]:g} kg)' for body in bodies
        if body.get('mass') and not np.any(body['inertia'])]
    if points:
        _warn(
            f'{context}: links with an <inertia> of 0 are taken as points of their mass: '
            f'{", ".join(points)}')


def _warn(line: str) -> None:
    warnings.warn(line, stacklevel=3)
