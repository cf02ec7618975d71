"""Questions about springs, motors and rotors whose numbers are probably not in SI units."""
from collections.abc import Mapping
import math

import numpy as np

from hodyn_ros.actuators import laws
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.common.arrays import Array
from hodyn_ros.robot.mass_matrix import mass_matrix
from hodyn_ros.robot.model import Robot
from hodyn_ros.robot.unit_doubts import FAST, SHORT, ask_if, size_of

_DEFLECTION, _STIFF = 1.0, 2e-4
"""Largest deflection of an actuator's spring, rad or m; least deflection at the largest torque,
rad: stiff gears deflect by several times as much."""
_SOFTEST = {laws.LinearSpring: 0.5, laws.VariableStiffness: _DEFLECTION}
"""Largest deflection at the largest torque, rad or m, of a spring without `max_deflection`: series
springs of arms and legs reach 0.3 rad. Plans are judged by the stiffness in the file, though that
of variable springs can vary."""
_STIFFNESS = 'stiffness is in {}: is this {}?{} At the largest {} springs deflect by'
_ONE_SPRING = laws.LinearSpring | laws.CubicSpring | laws.VariableStiffness
_FAST_ROTOR = 2000.0
"""Largest speed of a rotor before its gear, rad/s."""
_ROTORS, _SLIDE_ROTORS, _SMALL_ROTORS = 10.0, 1000.0, 1e-5
"""Largest inertia of a rotor reflected to its joint, over that of the whole robot, at turning
joints and at slides; least one at turning joints."""
_OF_THE_MOVED = 1000.0
"""Largest inertia of a rotor that exceeds that of the whole robot, over the one that its joint
moves. Those of small wrists reach 800 times the moved one, and 0.01 of that of the robot."""
_SLOW = 5.0
"""Longest time, s, in which the effort limit brings a rotor alone to 1 rad/s or m/s, or to the
joint's top speed if it is lower: motors reach their top speed in less than 0.1 s."""


def ask_of_actuators(robot: Robot, context: str) -> None:
    """Ask about the springs, motors and rotors of a robot."""
    if robot.rotor_inertia is not None:
        _ask_of_rotors(robot, dict(zip(
            robot.joint_names, robot.rotor_inertia.tolist(), strict=True)), context)
    if robot.actuators is None:
        return
    turning = {
        name: joint for turns, name, joint in zip(
            robot.turns, robot.joint_names, robot.actuators.joints, strict=True) if turns}
    stiffness = robot.actuators.constant_stiffness()[0]
    _ask_of_softness(robot, stiffness, f'{context}, actuators')
    ask_if(list(filter(None, [doubt_of_stiffness(robot, stiffness)])), f'{context}, actuators:')
    for key, angles in (
            ('max_deflection', {name: joint.max_deflection for name, joint in turning.items()
                                if math.isfinite(joint.max_deflection)}),
            ('deflection', {name: float(np.abs(joint.law.deflection).max())
                            for name, joint in turning.items()
                            if isinstance(joint.law, laws.TabulatedSpring)})):
        ask_if(
            [f'{name} ({angle:g})' for name, angle in angles.items() if angle > _DEFLECTION],
            f'{context}, actuators: {key} is in rad: are these degrees?')
    ask_if([
        f'{name} ({reason})' for name, joint in zip(
            robot.joint_names, robot.actuators.joints, strict=True)
        if (reason := _always_loaded(joint))
    ], f'{context}, actuators: springs that cannot carry 0 N m: is this meant?')
    ask_if([
        f'{name} ({rest:.3g} at stiffness {joint.law.stiffness:g}, max_deflection '
        f'{joint.max_deflection:g})'
        for name, joint in zip(robot.joint_names, robot.actuators.joints, strict=True)
        if isinstance(joint.law, laws.AntagonisticExponential | laws.AntagonisticQuadratic)
        and (rest := abs(joint.law.deflection_at_rest)) > joint.max_deflection
    ], f'{context}, actuators: the tendons deflect by more than max_deflection already at rest '
       'without a load: is max_deflection too small, or stiffness too large?')
    motors = {
        name: joint.motor for name, joint in zip(
            robot.joint_names, robot.actuators.joints, strict=True)}
    ask_if([
        f'{name} ({motor.gear_ratio:g})' for name, motor in motors.items()
        if motor.gear_ratio < 1.0
    ], f'{context}, actuators: gear_ratio is turns of the rotor per turn of the joint (prismatic: '
       'rad/m): are these the inverse?')
    ask_if([
        f'{name} ({motor.max_velocity:g} {"rad/s" if name in turning else "m/s"} at the joint)'
        for name, motor in motors.items()
        if math.isfinite(motor.max_velocity) and (
            motor.max_velocity > FAST or motor.max_velocity * motor.gear_ratio > _FAST_ROTOR)
    ], f'{context}, actuators: max_velocity is in rad/s (prismatic: m/s): are these rpm?')
    _ask_of_rotors(robot, {
        name: motor.inertia for name, motor in motors.items() if motor.gear_ratio >= 1.0
    }, f'{context}, actuators')


def doubt_of_stiffness(robot: Robot, stiffness: Array) -> str:
    """Return a question about a stiffness, (n,), that is probably in N mm/rad; else empty."""
    those = [
        f'{name} ({angle:.3g} rad)' for name, angle in _deflections(robot, stiffness).items()
        if angle < _STIFF]
    asked = _STIFFNESS.format('N m/rad', 'N mm/rad', '', 'torque')
    return f'{asked} {", ".join(those)}' if those else ''


def largest_deflections(robot: Robot) -> Array:
    """Return how far the spring of a joint can deflect at most, (n,), rad or m.

    A slide's spring deflects by less than the slide's range. The result is infinite for variable
    springs, which may be soft, as motors make them stiffer.
    """
    assert robot.actuators is not None
    spans = robot.limits.position_max - robot.limits.position_min
    return np.where(robot.actuators.variable, np.inf, np.where(
        robot.turns, _DEFLECTION, np.minimum(spans, _DEFLECTION)))


def _ask_of_softness(robot: Robot, stiffness: Array, context: str) -> None:
    """Ask about a stiffness, (n,), that is probably in N m/deg or N/mm."""
    assert robot.actuators is not None
    farthest = dict(zip(robot.joint_names, largest_deflections(robot).tolist(), strict=True))
    unsaid = {
        name: _SOFTEST[type(joint.law)] for name, joint in zip(
            robot.joint_names, robot.actuators.joints, strict=True)
        if type(joint.law) in _SOFTEST and joint.max_deflection == np.inf}
    for turns, si, right, wrong, effort in (
            (True, 'rad', 'N m/rad', 'N m/deg', 'torque'), (False, 'm', 'N/m', 'N/mm', 'force')):
        those = {
            name: deflection for name, deflection in _deflections(
                robot, stiffness, turns=turns).items()
            if deflection > min(unsaid.get(name, np.inf), farthest[name])}
        remedy = ' If they are so soft, give max_deflection.' if unsaid.keys() & those else ''
        ask_if(
            [f'{name} ({deflection:.3g} {si})' for name, deflection in those.items()],
            f'{context}: {_STIFFNESS.format(right, wrong, remedy, effort)}')


def _ask_of_rotors(robot: Robot, inertia: Mapping[str, float], context: str) -> None:
    """Ask about inertias at the joints, kg m² (prismatic: kg), that no rotor has."""
    mass = sum(body.mass for body in robot.bodies)
    size = max(size_of(robot.bodies), SHORT)
    arm = mass * size**2 + sum(float(np.trace(body.inertia)) for body in robot.bodies)
    moved = np.diag(mass_matrix(robot, np.zeros(robot.n))[0])[-robot.n:]
    large, small = [], []
    for name, turns, carried, top_speed, effort in zip(
            robot.joint_names, robot.turns, moved, robot.limits.velocity, robot.limits.effort,
            strict=True):
        value = inertia.get(name, 0.0)
        si, whole = ('kg m²', arm) if turns else ('kg', mass)
        if value > (max(arm, min(_ROTORS * arm, _OF_THE_MOVED * carried)) if turns
                    else _SLIDE_ROTORS * mass):
            large.append(f'{name} ({value:.3g} {si}, the whole robot {whole:.3g})')
        elif value * (speed := min(top_speed, 1.0)) > _SLOW * effort > 0.0:
            large.append(
                f'{name} ({value:.3g} {si}, which the effort limit brings to {speed:g} '
                f'{"rad/s" if turns else "m/s"} in {value * speed / effort:.2g} s)')
        elif turns and 0.0 < value < _SMALL_ROTORS * arm:
            small.append(f'{name} ({value:.3g} kg m²)')
    ask_if(large, (
        f'{context}: inertias of rotors are in kg m² at the joint (prismatic: kg): are these in '
        'kg cm² or g cm², or multiplied by the squared gear ratio twice?'))
    ask_if(small, (
        f'{context}: inertias of rotors are in kg m² at the joint, and the whole arm has '
        f'{arm:.2g}: are these without the squared gear ratio?'))


def _always_loaded(joint: JointActuator) -> str:
    """Return why a spring cannot carry 0 N m; empty if it can."""
    law = joint.law
    if isinstance(law, laws.TabulatedSpring) and not law.torque[0] <= 0.0 <= law.torque[-1]:
        return f'its table goes from {law.torque[0]:g} to {law.torque[-1]:g} N m'
    if isinstance(law, laws.AntagonisticExponential) and not law.pushes and (
            law.stiffness < 2.0 * law.scale * law.rate):
        return (f'stiffness {law.stiffness:g} is below 2 scale rate = '
                f'{2.0 * law.scale * law.rate:g} N m/rad, and its tendons do not push')
    return ''


def _deflections(
    robot: Robot, stiffness: Array, *, turns: bool = True,
) -> dict[str, float]:
    """Return largest effort / stiffness of joints with one spring that turn or slide, if known."""
    assert robot.actuators is not None
    return {
        name: largest / value for does, name, joint, effort, value in zip(
            robot.turns, robot.joint_names, robot.actuators.joints,
            robot.limits.effort.tolist(), stiffness.tolist(), strict=True)
        if does == turns and isinstance(joint.law, _ONE_SPRING)
        and math.isfinite(largest := min(effort, joint.motor.max_effort))}


