"""Questions, one line each, about numbers of a robot that are probably not in SI units.

Robots from every format are checked after reading; `actuator_doubts` asks about their motors.
Where possible, bounds are relative to the robot's size or mass, so that small hands and large
cranes raise no question.
"""
from collections.abc import Iterable, Sequence
import math
from typing import TYPE_CHECKING
import warnings

import numpy as np

from hodyn_ros.common.arrays import Array, Flags

if TYPE_CHECKING:
    from hodyn_ros.robot.model import Body, Robot


MANY_TURNS = 8.0 * math.pi
"""Largest end of a range, rad: cables allow two or three turns, so wider ranges are in degrees."""
_ENDLESS, _ENDLESS_FROM_ZERO = 1000.0, 1e4
"""Least end of a range, rad or m, that means 'no limit', such as ±1000. The second value is for
slides with a range that is not symmetric: 0 to 1200 is a slide of 1.2 m in mm."""
_FULL_TURN = 1.01 * 2.0 * math.pi
"""Largest plausible angle in a pose or in DH parameters (rpy, alpha, theta), rad: a full turn."""
_FAR = 50.0
"""Largest length of an arm, and largest end of a slide's range, m."""
_SPREAD = 10.0
"""Largest distance of a mass from its joint, and radius of gyration, over the arm's length."""
_WIDE, _SHARE = 1.5, 0.02
"""Largest radius of gyration, over the arm's length, of a body whose inertia is at least _SHARE of
the arm's mass times its squared length. Placeholders for small parts have less: 1 g and 1 g m²."""
SHORT, _SMALL_ARM = 0.1, 0.5
"""Least length or size of an arm that the checks assume, m: _SMALL_ARM in the checks of masses and
their centres, SHORT in all others."""
_STEEP = 0.1
"""Largest pitch of a helical joint, m/rad: 0.63 m per turn."""
_THIN = 0.1
"""Least mass over the cube of its distance from the joint or of its radius of gyration, kg/m³:
even booms of cranes are heavier."""
_POINT = 20.0
"""Largest distance of a centre of mass from its joint, over the radius of gyration."""
_DENSE = 4e5
"""Largest mass over the cube of its radius of gyration, kg/m³: a ball of osmium has this value."""
_HEAVY, _SMALLEST = 500.0, 0.3
"""Largest mass over the cube of the robot's size, kg/m³; least size that is assumed, m."""
_OF_THE_ARM, _PAYLOAD = 5.0, 20.0
"""Largest payload: the larger of this multiple of the arm's mass and this mass, kg."""
_FAR_FROM_FLANGE, _SMALLEST_LOADED = 3.0, 1.0
"""Largest distance of a payload from its link, over the robot's size; least size assumed, m."""
_EARTH = 9.0, 10.6
"""Least and largest strength of the earth's gravity, m/s²."""
_HEAVIEST = 50.0
"""Largest gravity, m/s²: twice that of Jupiter."""
FAST, _FAST_WHEEL = 100.0, 5000.0
"""Largest speeds, rad/s or m/s: of a joint, and of a joint without a range."""
_STRONG, _STRONG_SLIDE, _STRONG_TURN = 100.0, 1e4, 1e3
"""Largest effort of a joint: _STRONG times the robot's weight (prismatic) or its weight times its
size (others), but at least the force _STRONG_SLIDE, N, or the torque _STRONG_TURN, N m."""


def ask(line: str) -> None:
    """Warn of a number that is probably wrong."""
    warnings.warn(line, stacklevel=4)


def ask_if(those: Sequence[str], question: str) -> None:
    """Warn of numbers that are probably wrong, if there are any: they stand after the question."""
    if those:
        warnings.warn(f'{question} {", ".join(those)}', stacklevel=4)


def ask_of_angles(
    angles: Iterable[tuple[str, Sequence[float]]], what: str, context: str,
) -> None:
    """Ask whether named angles, rad, that exceed a full turn are degrees."""
    ask_if([
        f'{name} ({" ".join(f"{angle:g}" for angle in those)})' for name, those in angles
        if max(map(abs, those)) > _FULL_TURN
    ], f'{context}: {what} in rad: are these degrees?')


def ask_of_links(links: Sequence['Body'], context: str) -> None:
    """Ask about lengths, masses and inertias of the source's links, parents before children."""
    reach = _reach(links)
    length = max(reach, default=0.0)
    if length > _FAR:
        farthest = links[int(np.argmax(reach))].name
        ask(f'{context}: lengths are in m: are these mm? It is {length:.4g} m along the links to '
            f'{farthest}')
    ask_if([
        f'{body.joint} ({body.pitch:g} m/rad)' for body in links
        if body.type == 'helical' and abs(body.pitch) > _STEEP
    ], f'{context}: pitch is in m/rad: is it in mm/rad, or per turn?')
    _ask_of_followers(links, max(length, 1.0), context)
    moves: list[bool] = []
    for body in links:
        moves.append(body.type != 'fixed' or (body.parent >= 0 and moves[body.parent]))
    moving = [body for body, there in zip(links, moves, strict=True) if there]
    with_mass = [body for body in moving if body.mass > 0.0]
    ask_if([
        f'{body.name} ({distance:.3g} m)' for body in with_mass
        if (distance := float(np.linalg.norm(body.com))) > _SPREAD * max(length, _SMALL_ARM)
        and (body.mass < _THIN * distance**3
             or distance > _POINT * _gyration(body.mass, body.inertia))
    ], f'{context}: centres of mass are in m: are these mm?')
    size = max(_SMALLEST, size_of(links, max(length, _SMALL_ARM)))
    ask_if([
        f'{body.name} ({body.mass:g} kg)' for body in with_mass
        if body.mass > max(_HEAVY * size**3, _DENSE * _gyration(body.mass, body.inertia)**3)
    ], f'{context}: masses are in kg: are these grams?')
    _ask_of_inertias(
        [(body.name, body.mass, body.inertia) for body in with_mass], length, context)
    ask_if(
        [body.name for body in moving if body.mass == 0.0 and np.any(body.inertia)],
        f'{context}: a mass of 0 with an inertia: is the mass missing?')


def ask_of_robot(robot: 'Robot', context: str) -> None:
    """Ask about gravity, limits and friction of a robot once it is read."""
    ask_of_gravity(robot, context)
    limits = robot.limits
    nuts = screws(robot)
    _ask_of_limits(robot, nuts, context)
    for kind, most, one_sided, question in (
            ('revolute', MANY_TURNS, _ENDLESS, 'rad: are these degrees?'),
            ('prismatic', _FAR, _ENDLESS_FROM_ZERO, 'm: are these mm?')):
        ask_if([
            f'{body.joint} ({lower:g} to {upper:g})' for body, lower, upper, is_screw in zip(
                robot.joint_bodies, limits.position_min, limits.position_max, nuts, strict=True)
            if body.type == kind and not is_screw and most < max(abs(lower), abs(upper)) < (
                _ENDLESS if lower == -upper else one_sided)
        ], f'{context}: ranges are in {question}')
    _ask_of_friction(robot, context)


def screws(robot: 'Robot') -> Flags:
    """Return which joints, (n,), turn often to move a slide that follows them, as a nut does."""
    found, coupling = np.zeros(robot.n, np.bool_), robot.coupling
    slides = np.array(
        [body.type == 'prismatic' for body in robot.bodies[robot.floating:]], dtype=np.bool_)
    moved = slides[coupling.followers] & (np.abs(coupling.multiplier) < _STEEP)
    found[coupling.leader[coupling.followers[moved]]] = True
    return found & robot.turns


def _ask_of_limits(robot: 'Robot', nuts: Flags, context: str) -> None:
    """Ask about limits of velocity and effort that no robot of this size and weight reaches."""
    limits = robot.limits
    weight = _EARTH[0] * sum(body.mass for body in robot.bodies)
    size = max(size_of(robot.bodies), SHORT)
    has_range = np.isfinite(limits.position_max - limits.position_min)
    fastest = np.where(has_range & ~nuts, FAST, _FAST_WHEEL)
    strongest = [
        max(_STRONG * weight * size, _STRONG_TURN) if turns
        else max(_STRONG * weight, _STRONG_SLIDE) for turns in robot.turns]
    ask_if([
        f'{quantity} of {name} ({limit:.4g})' for quantity, largest in (
            ('velocity', fastest), ('effort', strongest))
        for name, limit, most in zip(
            robot.joint_names, getattr(limits, quantity), largest, strict=True)
        if most < limit < np.inf
    ], f'{context}: limits that no such robot reaches: are these placeholders, or in other units '
       '(deg/s, mm/s, N mm)? They are used as limits; leave them out if they are unknown.')


def ask_of_gravity(robot: 'Robot', context: str) -> None:
    """Ask about the direction and the unit of a robot's gravity."""
    up, strength = float(robot.gravity[2]), math.hypot(*robot.gravity)
    if strength > _HEAVIEST or _EARTH[0] < 1000.0 * strength < _EARTH[1]:
        ask(f'{context}: gravity is in m/s²: is this in mm/s², cm/s² or km/s²? '
            f'{robot.gravity.tolist()}; on the earth it is [0, 0, -9.80665] if z points up')
    elif not robot.floating and up > 0.99 * strength and _EARTH[0] < strength < _EARTH[1]:
        ask(f'{context}: gravity points up, {robot.gravity.tolist()}: is its sign wrong? It is '
            'the acceleration of a falling body, [0, 0, -9.80665] if z points up; for an arm on a '
            'ceiling give base_pose')


def ask_of_payload(
    robot: 'Robot', mass: float, com: Array, inertia: Array, context: str,
) -> None:
    """Ask about mass, centre of mass and inertia of a load on a robot."""
    total = sum(body.mass for body in robot.bodies)
    if total and mass > max(_OF_THE_ARM * total, _PAYLOAD):
        ask(f'{context}: mass is in kg: are these grams? {mass:g} kg on a robot of {total:.3g} kg')
    distance, size = float(np.linalg.norm(com)), max(size_of(robot.bodies), _SMALLEST_LOADED)
    if distance > _FAR_FROM_FLANGE * size:
        ask(f'{context}: com is in m: are these mm? {distance:.3g} m on a robot of {size:.3g} m')
    if mass > 0.0:
        _ask_of_inertias([('the payload', mass, inertia)], max(_reach(robot.bodies)), context)


def _ask_of_followers(links: Sequence['Body'], length: float, context: str) -> None:
    """Ask about multipliers and offsets of the joints that follow others.

    A drum of a long boom may move a slide further per radian than a screw: `length`, m, counts.
    """
    turning = {body.joint for body in links if body.type in ('revolute', 'helical')}
    coupled = [(body, body.mimic) for body in links if body.mimic is not None]
    ask_if([
        f'{body.joint} ({mimic.multiplier:.4g} m/rad)' for body, mimic in coupled
        if body.type == 'prismatic' and mimic.joint in turning
        and abs(mimic.multiplier) > _STEEP * length
    ], f'{context}: multipliers of slides that follow turning joints are in m/rad: are these in '
       'mm/rad, or per turn?')
    ask_of_angles([
        (body.joint, [mimic.offset]) for body, mimic in coupled if body.type == 'revolute'
    ], 'offsets of joints that follow others are', context)


def _ask_of_inertias(
    loads: Sequence[tuple[str, float, Array]], length: float, context: str,
) -> None:
    """Ask about the inertias of loads (name, mass, inertia) on an arm of this length, m."""
    large = _SHARE * sum(mass for _, mass, _ in loads) * length**2
    ask_if([
        f'{name} ({radius:.3g} m)' for name, mass, inertia in loads
        if (radius := _gyration(mass, inertia)) > max(length, SHORT) * (
            _WIDE if mass * radius**2 > large else _SPREAD)
        and mass < _THIN * radius**3
    ], f'{context}: inertias are in kg m²: are these from a CAD program, in kg cm², g cm², kg mm² '
       f'or g mm²? The arm is {length:.3g} m long, and radii of gyration are:')


def _ask_of_friction(robot: 'Robot', context: str) -> None:
    if robot.friction is None:
        return
    # The law A (1/(1 + exp(−α (q̇ + s))) − 1/(1 + exp(−α s))) at high speed, in the direction with
    # the larger friction.
    law = robot.friction
    greatest = 0.5 * law.amplitude * (1.0 + np.abs(np.tanh(0.5 * law.slope * law.velocity_offset)))
    ask_if([
        f'{name} ({torque:.3g} of {effort:.3g})' for name, torque, effort in zip(
            robot.joint_names, greatest, robot.limits.effort, strict=True) if torque > effort
    ], f'{context}: amplitude of friction is in N m (prismatic: N): is it in N mm? Friction '
       'exceeds the effort limit of')


def _gyration(mass: float, inertia: Array) -> float:
    """Return the radius of gyration, m, from the largest entry of the inertia."""
    return math.sqrt(float(np.abs(inertia).max()) / mass)


def _reach(links: Sequence['Body']) -> list[float]:
    """Return the distance of each body's frame from the world's origin along the links, m."""
    reach: list[float] = []
    for body in links:
        before = reach[body.parent] if body.parent >= 0 else 0.0
        reach.append(before + float(np.linalg.norm(body.placement[:3, 3])))
    return reach


def size_of(links: Sequence['Body'], largest: float = math.inf) -> float:
    """Return the largest distance of a centre of mass from the origin along the links, m.

    A centre counts as at most `largest` away from its joint.
    """
    return max((
        reach + min(float(np.linalg.norm(body.com)), largest)
        for reach, body in zip(_reach(links), links, strict=True)), default=0.0)
