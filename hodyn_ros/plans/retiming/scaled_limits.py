"""A robot that may use only a share of its limits."""
from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
import reprlib

from hodyn_ros.limits.quantities import MOTOR_QUANTITIES, SCALABLE
from hodyn_ros.robot import HodynError, Robot


def with_scaled_limits(robot: Robot, parts: float | Mapping[str, float]) -> Robot:
    """Return the robot with its limits times `parts`: one number, or one per quantity.

    Raises HodynError for unknown quantities, and for parts that are not numbers in (0, 1].
    """
    known = (*SCALABLE, *MOTOR_QUANTITIES)
    given = parts if isinstance(parts, Mapping) else dict.fromkeys(known, parts)
    for quantity, part in given.items():
        if quantity not in known:
            raise HodynError(
                f'limits: unknown quantity {quantity!r}; known are {", ".join(known)}')
        if not isinstance(part, Real) or isinstance(part, bool):
            raise HodynError(
                f'limits: expected a number, or one per quantity, got {reprlib.repr(part)}')
        if not 0.0 < part <= 1.0:
            raise HodynError(
                f'limits, {quantity}: expected a share above 0 and at most 1, got {part:g}')
    share = {quantity: given.get(quantity, 1.0) for quantity in known}
    limits = replace(robot.limits, **{
        quantity: getattr(robot.limits, quantity) * share[quantity] for quantity in SCALABLE})
    actuators = robot.actuators
    if actuators is not None:
        actuators = replace(actuators, joints=tuple(
            replace(
                joint,
                motor=replace(
                    joint.motor, max_velocity=joint.motor.max_velocity * share['motor_velocity'],
                    max_effort=joint.motor.max_effort * share['motor_effort']),
                max_deflection=joint.max_deflection * share['deflection'])
            for joint in actuators.joints))
    return replace(robot, limits=limits, actuators=actuators)
