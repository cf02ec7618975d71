"""Compares how well each method tracks a fast motion, with exact and with wrong models."""
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from hodyn_ros.actuators.joint_actuators import INERTIA
from hodyn_ros.feedforward.flatness_feedback import why_no_feedback
from hodyn_ros.reference import Plan, fit_plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.files import load_robot
from hodyn_ros.simulation.elastic_tracking import (
    AS_MODELLED,
    Conditions,
    Method,
    Tracking,
    possible_methods,
    simulate_tracking,
)
from hodyn_ros.simulation.examples import (
    DURATION,
    SPEED,
    ActuatorKind,
    fast_motion,
    with_example_actuators,
)
from hodyn_ros.simulation.motor_loop import BANDWIDTH

Run = tuple[str, Method]
"""A simulated motion: the name of its conditions, and its method."""

_MS = 1e-3
_EXACT = 'model exact'
ROBUSTNESS: dict[str, Conditions] = {
    _EXACT: AS_MODELLED,
    'stiffness +0.1 %': Conditions(stiffness=1.001),
    'stiffness +1 %': Conditions(stiffness=1.01),
    'stiffness +5 %': Conditions(stiffness=1.05),
    'stiffness +20 %': Conditions(stiffness=1.2),
    'stiffness -20 %': Conditions(stiffness=0.8),
    'mass +10 %': Conditions(mass=1.1),
    'mass -10 %': Conditions(mass=0.9),
    'references 1 ms late': Conditions(reference_delay=_MS),
    'references 5 ms late': Conditions(reference_delay=5 * _MS),
    '5 ms late, lookahead 5 ms': Conditions(reference_delay=5 * _MS, lookahead=5 * _MS),
    'torque 1 ms late': Conditions(loop_delay=_MS),
    'torque 5 ms late': Conditions(loop_delay=5 * _MS),
    'encoder noise': Conditions(position_noise=1e-4, velocity_noise=1e-2),
}
"""Conditions under which methods are compared: wrong models, delays and noise."""
STIFFNESS_MOTION = (1.0, 1.75, 0.75)
"""Ratios of the variable stiffness to the stiffness in the actuators, at the start, in the middle
and at the end of the motion."""


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of a comparison."""

    robot: str = 'panda'  #: Built-in name or path of a robot file
    #: 'rigid', 'sea', 'vsa' or None: kind of example actuators; None for the robot's own
    actuator: ActuatorKind | None = None
    stiffness: float | None = None  #: Stiffness of the example actuators, N m/rad
    bandwidth: float = BANDWIDTH  #: Bandwidth of the motor loop, rad/s
    #: `duration`, `speed`: Duration of the motion, s, and its peak velocities as a share of the
    #: limits
    duration: float = DURATION
    speed: float = SPEED
    robustness: bool = False  #: Whether to simulate under each of the conditions `ROBUSTNESS`


def compare_methods(
    robot: Robot, settings: ComparisonSettings,
    track: Callable[[Sequence[Run]], Iterable[Run]] = iter,
) -> tuple[dict[str, Any], dict[Method, Tracking]]:
    """Simulate a fast motion with each method, under each of the conditions.

    Return the results, for JSON, and each method's tracking with an exact model. `robot` is the
    `compared_robot` of the settings; `track` iterates over the runs that it is given, for example
    to show progress. HodynError: the robot cannot follow the motion.
    """
    plan = fit_plan(*fast_motion(robot, settings.duration, settings.speed))
    stiffness = _stiffness_plan(robot, plan)
    cases = ROBUSTNESS if settings.robustness else {_EXACT: AS_MODELLED}
    found: dict[str, dict[Method, Tracking]] = {case: {} for case in cases}
    for case, method in track([(case, method) for case in cases for method in possible_methods(
            robot)]):
        found[case] |= simulate_tracking(
            robot, plan, stiffness=stiffness, bandwidth=settings.bandwidth,
            conditions=cases[case], methods=[method])
    exact = found[_EXACT]
    results = _results(settings, robot, {
        case: {method: run.rms for method, run in tracking.items()}
        for case, tracking in found.items()})
    if stiffness is not None:
        desired = stiffness.evaluate(plan.times[0] + exact['full'].times)[:, 0]
        error = np.abs(exact['full'].stiffness - desired)
        results['stiffness_error'] = float(
            error[:, robot.require_actuators().variable].max())
    return results, exact


def compared_robot(settings: ComparisonSettings) -> Robot:
    """Return the robot with the actuators of a comparison; raise HodynError if it has none."""
    robot = load_robot(settings.robot)
    if settings.actuator is not None:
        return with_example_actuators(robot, settings.actuator, settings.stiffness)
    if robot.actuators is None:
        raise HodynError(
            f'robot {robot.name!r} has no actuators section in its file: give --actuators FILE '
            'with its own, or --actuator for examples')
    if settings.stiffness is not None:
        raise HodynError('--stiffness goes with --actuator sea or vsa')
    return robot


def _stiffness_plan(robot: Robot, plan: Plan) -> Plan | None:
    """Return a plan of the variable stiffnesses, N m/rad; None if no joint has one."""
    actuators = robot.require_actuators()
    if not actuators.variable.any():
        return None
    start = actuators.constant_stiffness()[0]
    times = np.linspace(0.0, plan.duration, len(STIFFNESS_MOTION))
    return fit_plan(times, np.outer(STIFFNESS_MOTION, start), names=robot.joint_names)


def _results(
    settings: ComparisonSettings, robot: Robot, rows: dict[str, dict[Method, float]],
) -> dict[str, Any]:
    exact = rows[_EXACT]
    actuators = robot.require_actuators()
    return {
        'robot': robot.name,
        'actuator': settings.actuator or 'own',
        'stiffness': [float(k) if np.isfinite(k) else None for k in actuators.stiffness],
        'motor_inertia': actuators.motors[:, INERTIA].tolist(),
        'bandwidth': settings.bandwidth,
        'duration': settings.duration,
        'speed': settings.speed,
        'comparison': exact,
        'no_flatness': why_no_feedback(robot),
        'rigid_over_full': exact['rigid'] / exact['full'],
        'torque_rate_over_full': exact['torque_rate'] / exact['full'],
        'conditions': rows,
    }
