"""Example actuators for robots whose files have none; the values are not of any real arm."""
from dataclasses import replace
from typing import Literal

import numpy as np

from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import AntagonisticExponential, Law, LinearSpring, Rigid
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.simulation.example_motion import REST_TO_REST_PEAK, fastest, home

ActuatorKind = Literal['rigid', 'sea', 'vsa']

STIFFNESS = 1000.0
"""Example joint stiffness, N m/rad: no maker of the built-in arms publishes it."""
VSA_STIFFNESS = 2000.0  # example joint stiffness of kind vsa, N m/rad
DURATION, SPEED = 3.0, 0.8
"""Duration of an example motion, s, and its peak velocities as a share of the limits."""
TENDON_SCALE, TENDON_RATE = 2.0, 10.0  # a (N m) and b (1/rad) of the tendons of kind vsa

# Rotor inertias reflected to the joints, kg m²: estimates in public models of these arms.
_MOTOR_INERTIA = {
    'panda': (0.606, 0.606, 0.462, 0.462, 0.206, 0.206, 0.206),
    'fr3': (0.606, 0.606, 0.462, 0.462, 0.206, 0.206, 0.206),
    'iiwa14': (3.38, 3.38, 3.38, 3.38, 1.32, 1.16, 1.16),
}
_OTHER_INERTIA = 0.2


def with_example_actuators(
    robot: Robot, kind: ActuatorKind, stiffness: float | None = None,
) -> Robot:
    """Return the robot with the same kind of actuator at every joint.

    Parameters
    ----------
    robot : Robot
        The robot; its own actuators, if any, are replaced.
    kind : 'rigid', 'sea' or 'vsa'
        No springs, linear springs, or pairs of motors with exponential tendons.
    stiffness : float, optional
        Stiffness of every joint, N m/rad; by default `STIFFNESS` or `VSA_STIFFNESS`.

    """
    law: Law
    if kind == 'rigid':
        if stiffness is not None:
            raise HodynError('stiffness goes with sea or vsa: rigid actuators have none')
        law = Rigid()
    elif kind == 'sea':
        law = LinearSpring(STIFFNESS if stiffness is None else stiffness)
    else:
        law = AntagonisticExponential(
            TENDON_SCALE, TENDON_RATE, VSA_STIFFNESS if stiffness is None else stiffness)
    inertia = _MOTOR_INERTIA.get(robot.name, (_OTHER_INERTIA,) * robot.n)
    return replace(robot, actuators=Actuators(
        robot.joint_names, tuple(JointActuator(law, Motor(value)) for value in inertia)))


def fast_motion(robot: Robot, duration: float, speed: float) -> tuple[Array, Array]:
    """Return times (2,) and positions (2, n) of a motion from rest to rest about `home`.

    Each joint reaches the share `speed` of its `fastest`, and successive joints move in opposite
    directions.

    Raises HodynError, with the joint, if this leaves the position limits.
    """
    reach = speed * fastest(robot) * duration / REST_TO_REST_PEAK
    signs = np.where(np.arange(robot.n) % 2 == 0, 1.0, -1.0)
    start = home(robot) - 0.5 * signs * reach
    positions = np.array([start, start + signs * reach])
    outside = (positions < robot.limits.position_min) | (positions > robot.limits.position_max)
    if np.any(outside):
        joint = robot.joint_names[int(np.argmax(outside.any(axis=0)))]
        raise HodynError(
            f'joint {joint!r} would leave its range at {speed:.0%} of its speed for '
            f'{duration:g} s: give a lower --speed or a shorter --duration')
    return np.array([0.0, duration]), positions
