"""Numbers of a robot that are likely not in SI units: a question each, in one line.

They are asked of every source, once it is read: nothing here depends on the format. Bounds are
relative to the robot where they can be, so that neither small hands nor large cranes are asked.
"""
from collections.abc import Iterable, Mapping, Sequence
import math
from typing import TYPE_CHECKING
import warnings

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    CubicSpring,
    LinearSpring,
    TabulatedSpring,
)

if TYPE_CHECKING:
    from hodyn_ros.robot.model import Body, Robot

Array = NDArray[np.float64]
Links = Sequence[tuple['Body', int]]
"""Bodies, parents first, each with the index of its parent, −1 for the world."""

MANY_TURNS = 8.0 * math.pi
"""A range that ends beyond, rad, is one in degrees: cables allow two or three turns."""
_ENDLESS = 1000.0
"""A range that ends here or beyond, rad, stands for one without ends: no joint has as many °."""
_FULL_TURN = 1.01 * 2.0 * math.pi
"""An angle that describes the geometry has no reason to be larger, rad."""
_FAR = 50.0
"""No arm reaches so far, m."""
_SPREAD = 10.0
"""So many times the length of the arm no mass is away from its joint, or from its centre."""
_SHORT, _SMALL_ARM = 0.1, 0.5
"""Lengths of the shortest arms, m, for inertias and for centres of mass."""
_THIN = 0.1
"""The mass by the cube of its distance, kg/m³: even booms of cranes are not so thin."""
_POINT = 20.0
"""A centre of mass so many radii of gyration away from its joint is far from any body."""
_DENSE = 4e5
"""The mass by the cube of its radius of gyration, kg/m³: that of a ball of osmium."""
_HEAVY, _SMALLEST = 500.0, 0.3
"""The mass by the cube of the size of the robot, kg/m³, of at least so many m."""
_OF_THE_ARM, _PAYLOAD = 5.0, 20.0
"""A payload is no more than so many times its arm's mass, or so many kg."""
_FAR_FROM_FLANGE, _SMALLEST_LOADED = 3.0, 1.0
"""So many times the size of the robot, m, which counts as no less, no payload is away from its
link."""
_EARTH = 9.0, 10.6
"""Gravity of the earth, m/s²."""
_HEAVIEST = 50.0
"""No planet has twice the gravity of Jupiter, m/s²."""
_DEFLECTION = 1.0
"""No spring of an actuator is turned by more, rad."""
_FAST, _FAST_ROTOR = 100.0, 2000.0
"""Neither a joint nor the rotor before its gear turns faster, rad/s."""
_ROTORS = 10.0
"""The rotors have no more than so many times the inertia of the arm."""


def ask(line: str) -> None:
    """Warn of a number that is likely not what was meant."""
    warnings.warn(line, stacklevel=4)


def ask_of_angles(
    angles: Iterable[tuple[str, Sequence[float]]], what: str, context: str,
) -> None:
    """Ask of angles by what they are of, rad, that look like degrees."""
    if wide := [
        f'{name} ({" ".join(f"{angle:g}" for angle in those)})' for name, those in angles
        if max(map(abs, those)) > _FULL_TURN
    ]:
        ask(f'{context}: {what} in rad: are these degrees? {", ".join(wide)}')


def ask_of_links(links: Links, context: str) -> None:
    """Ask of lengths, centres of mass, masses and inertias of links as the source has them."""
    reach = _reach(links)
    length = max(reach, default=0.0)
    if length > _FAR:
        farthest = links[int(np.argmax(reach))][0].name
        ask(f'{context}: lengths are in m: are these mm? It is {length:.4g} m along the links to '
            f'{farthest}')
    moves: list[bool] = []
    for body, parent in links:
        moves.append(body.type != 'fixed' or (parent >= 0 and moves[parent]))
    moving = [body for (body, _), there in zip(links, moves, strict=True) if there]
    with_mass = [body for body in moving if body.mass > 0.0]
    if far := [
        f'{body.name} ({distance:.3g} m)' for body in with_mass
        if (distance := float(np.linalg.norm(body.com))) > _SPREAD * max(length, _SMALL_ARM)
        and (body.mass < _THIN * distance**3 or distance > _POINT * _gyration(body))
    ]:
        ask(f'{context}: centres of mass are in m: are these mm? {", ".join(far)}')
    size = max(_SMALLEST, _size(links, max(length, _SMALL_ARM)))
    if heavy := [
        f'{body.name} ({body.mass:g} kg)' for body in with_mass
        if body.mass > max(_HEAVY * size**3, _DENSE * _gyration(body)**3)
    ]:
        ask(f'{context}: masses are in kg: are these grams? {", ".join(heavy)}')
    if spread := [
        f'{body.name} ({radius:.3g} m)' for body in with_mass
        if (radius := _gyration(body)) > _SPREAD * max(length, _SHORT)
        and body.mass < _THIN * radius**3
    ]:
        ask(f'{context}: inertias are in kg m²: are these of a CAD program, in kg mm² or g mm²? '
            f'The mass is as if so far from its centre, of an arm of {length:.3g} m: '
            f'{", ".join(spread)}')
    if empty := [body.name for body in moving if body.mass == 0.0 and np.any(body.inertia)]:
        ask(f'{context}: a mass of 0 with an inertia: is the mass missing? {", ".join(empty)}')


def ask_of_robot(robot: 'Robot', context: str) -> None:
    """Ask of gravity, ranges, friction, rotors and actuators of a robot that is read."""
    ask_of_gravity(robot, context)
    limits = robot.limits
    if wide := [
        f'{body.joint} ({lower:g} to {upper:g})' for body, lower, upper in zip(
            robot.joint_bodies, limits.position_min, limits.position_max, strict=True)
        if body.type == 'revolute' and MANY_TURNS < max(abs(lower), abs(upper)) < _ENDLESS
    ]:
        ask(f'{context}: ranges are in rad: are these degrees? {", ".join(wide)}')
    _ask_of_friction(robot, context)
    if robot.rotor_inertia is not None:
        _ask_of_rotors(robot, dict(zip(
            robot.joint_names, robot.rotor_inertia.tolist(), strict=True)), context)
    ask_of_actuators(robot, context)


def ask_of_gravity(robot: 'Robot', context: str) -> None:
    """Ask of the direction and the unit of a robot's gravity."""
    up, strength = float(robot.gravity[2]), math.hypot(*robot.gravity)
    if strength > _HEAVIEST or _EARTH[0] < 1000.0 * strength < _EARTH[1]:
        ask(f'{context}: gravity is in m/s²: is this in mm/s², cm/s² or km/s²? '
            f'{robot.gravity.tolist()}; on the earth it is [0, 0, -9.80665] where z points up')
    elif not robot.floating and up > 0.99 * strength and _EARTH[0] < strength < _EARTH[1]:
        ask(f'{context}: gravity points up, {robot.gravity.tolist()}: is its sign wrong? It is '
            'the acceleration of what falls, [0, 0, -9.80665] where z points up; an arm on a '
            'ceiling has a base_pose')


def ask_of_actuators(robot: 'Robot', context: str) -> None:
    """Ask of the springs and motors of a robot."""
    if robot.actuators is None:
        return
    turning = {
        name: (joint, effort) for body, name, joint, effort in zip(
            robot.joint_bodies, robot.joint_names, robot.actuators.joints,
            robot.limits.effort.tolist(), strict=True) if body.type != 'prismatic'}
    if soft := [
        f'{name} ({deflection:.3g} rad)' for name, (joint, effort) in turning.items()
        if (deflection := _deflection(joint, effort)) > _DEFLECTION
    ]:
        ask(f'{context}, actuators: springs are in N m/rad and rad: are these N m/deg, or '
            f'degrees? At the largest torque they are turned by {", ".join(soft)}')
    if loaded := [
        f'{name} ({reason})' for name, joint in zip(
            robot.joint_names, robot.actuators.joints, strict=True)
        if (reason := _always_loaded(joint))
    ]:
        ask(f'{context}, actuators: springs that cannot carry 0 N m: is this meant? '
            f'{", ".join(loaded)}')
    motors = {name: joint.motor for name, (joint, _) in turning.items()}
    if below := [
        f'{name} ({motor.gear_ratio:g})' for name, motor in motors.items()
        if motor.gear_ratio < 1.0
    ]:
        ask(f'{context}, actuators: gear_ratio is turns of the rotor for one of the joint: are '
            f'these the inverse? {", ".join(below)}')
    if fast := [
        f'{name} ({motor.max_velocity:g} rad/s at the joint)' for name, motor in motors.items()
        if math.isfinite(motor.max_velocity) and (
            motor.max_velocity > _FAST
            or motor.max_velocity * motor.gear_ratio > _FAST_ROTOR)
    ]:
        ask(f'{context}, actuators: max_velocity is in rad/s: are these rpm? {", ".join(fast)}')
    _ask_of_rotors(
        robot, {name: motor.inertia for name, motor in motors.items()}, f'{context}, actuators')


def ask_of_payload(robot: 'Robot', mass: float, com: Array, context: str) -> None:
    """Ask of a load on a robot."""
    links = [(body, body.parent) for body in robot.bodies]
    total = sum(body.mass for body in robot.bodies)
    if total and mass > max(_OF_THE_ARM * total, _PAYLOAD):
        ask(f'{context}: mass is in kg: are these grams? {mass:g} kg on a robot of {total:.3g} kg')
    distance, size = float(np.linalg.norm(com)), max(_size(links), _SMALLEST_LOADED)
    if distance > _FAR_FROM_FLANGE * size:
        ask(f'{context}: com is in m: are these mm? {distance:.3g} m on a robot of {size:.3g} m')


def _ask_of_friction(robot: 'Robot', context: str) -> None:
    if robot.friction is None:
        return
    # A (1/(1 + exp(−α (q̇ + s))) − 1/(1 + exp(−α s))) at high speed, of the harder direction.
    law = robot.friction
    greatest = 0.5 * law.amplitude * (1.0 + np.abs(np.tanh(0.5 * law.slope * law.velocity_offset)))
    if strong := [
        f'{name} ({torque:.3g} of {effort:.3g})' for name, torque, effort in zip(
            robot.joint_names, greatest, robot.limits.effort, strict=True) if torque > effort
    ]:
        ask(f'{context}: amplitude of friction is in N m (prismatic: N): is it in N mm? Friction '
            f'exceeds the effort limit of {", ".join(strong)}')


def _ask_of_rotors(robot: 'Robot', inertia: Mapping[str, float], context: str) -> None:
    links = [(body, body.parent) for body in robot.bodies]
    size = max(_size(links), _SHORT)
    arm = sum(body.mass * size**2 + float(np.trace(body.inertia)) for body in robot.bodies)
    turns = {body.joint for body in robot.joint_bodies if body.type != 'prismatic'}
    if large := [
        f'{name} ({value:.3g} kg m²)' for name, value in inertia.items()
        if name in turns and value > _ROTORS * arm
    ]:
        ask(f'{context}: inertia of a rotor, at the joint, is in kg m², and the whole arm has '
            f'{arm:.2g}: is it in g cm², or with side: rotor at the link already? '
            f'{", ".join(large)}')


def _always_loaded(joint: JointActuator) -> str:
    """Return why a spring cannot carry 0 N m; empty if it can."""
    law = joint.law
    if isinstance(law, TabulatedSpring) and not law.torque[0] <= 0.0 <= law.torque[-1]:
        return f'its table goes from {law.torque[0]:g} to {law.torque[-1]:g} N m'
    if isinstance(law, AntagonisticExponential) and not law.pushes and (
            law.stiffness < 2.0 * law.scale * law.rate):
        return (f'stiffness {law.stiffness:g} is below 2 scale rate = '
                f'{2.0 * law.scale * law.rate:g} N m/rad, and its tendons do not push')
    return ''


def _deflection(joint: JointActuator, effort: float) -> float:
    """Return how far a spring is turned at most, rad; 0 if nothing says it."""
    bounds = [joint.max_deflection]
    if isinstance(joint.law, TabulatedSpring):
        bounds.append(float(np.abs(joint.law.deflection).max()))
    elif isinstance(joint.law, LinearSpring | CubicSpring):
        bounds.append(min(effort, joint.motor.max_effort) / joint.law.stiffness)
    return max(filter(math.isfinite, bounds), default=0.0)


def _gyration(body: 'Body') -> float:
    """Return a radius of gyration, m."""
    return math.sqrt(float(np.abs(body.inertia).max()) / body.mass)


def _reach(links: Links) -> list[float]:
    """Return how far each body's frame is from the world along the links, m."""
    reach: list[float] = []
    for body, parent in links:
        before = reach[parent] if parent >= 0 else 0.0
        reach.append(before + float(np.linalg.norm(body.placement[:3, 3])))
    return reach


def _size(links: Links, largest: float = math.inf) -> float:
    """Return how far the farthest centre of mass is along the links, m.

    No centre counts as farther from its joint than the largest.
    """
    return max((
        reach + min(float(np.linalg.norm(body.com)), largest)
        for reach, (body, _) in zip(_reach(links), links, strict=True)), default=0.0)
