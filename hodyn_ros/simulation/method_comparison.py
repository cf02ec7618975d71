"""Compares how each method tracks a fast motion, also if the controller's model is wrong."""
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hodyn_ros.actuators.joint_actuators import INERTIA
from hodyn_ros.feedforward.flatness_feedback import why_no_feedback
from hodyn_ros.reference import Plan, fit_plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.files import load_robot
from hodyn_ros.simulation.elastic_tracking import (
    Conditions,
    LoopSettings,
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

_MS = 1e-3
_EXACT = 'model exact'
ROBUSTNESS: dict[str, Conditions] = {
    _EXACT: Conditions(),
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
"""Differences between the arm and the controller's model under which methods are compared."""
STIFFNESS_MOTION = (1.0, 1.75, 0.75)
"""Variable stiffness at the start, half-way and at the end, as ratios to that at the start."""


@dataclass(frozen=True)
class ComparisonSettings:
    """Settings of a comparison.

    Attributes
    ----------
    robot : str
        Built-in name or path of a robot file.
    actuator : 'rigid', 'sea', 'vsa' or None
        Kind of example actuators; None for the robot's own.
    stiffness : float or None
        Stiffness of the example actuators, N m/rad.
    bandwidth : float
        Bandwidth of the motor loop, rad/s.
    duration, speed : float
        Duration of the motion, s, and its peak velocities as a share of the limits.
    robustness : bool
        Whether to simulate under each of the conditions `ROBUSTNESS`.

    """

    robot: str = 'panda'
    actuator: ActuatorKind | None = None
    stiffness: float | None = None
    bandwidth: float = 50.0
    duration: float = DURATION
    speed: float = SPEED
    robustness: bool = False


class MethodComparison:
    """The comparison of all methods on one motion.

    Attributes
    ----------
    robot : Robot
        The robot with the simulated actuators.
    runs : int
        Number of motions to simulate.

    Raises
    ------
    HodynError
        The robot has no actuators, or cannot follow the motion.

    """

    def __init__(self, settings: ComparisonSettings) -> None:
        self.robot = _with_actuators(settings)
        self._settings = settings
        self._plan = fit_plan(*fast_motion(self.robot, settings.duration, settings.speed))
        self._stiffness = _stiffness_plan(self.robot, self._plan)
        self._cases = ROBUSTNESS if settings.robustness else {_EXACT: Conditions()}
        self._methods = possible_methods(self.robot)
        self.runs = len(self._cases) * len(self._methods)

    def simulate(
        self, advance: Callable[[], None],
    ) -> tuple[dict[str, Any], dict[Method, Tracking]]:
        """Simulate the motion with each method, under each of the conditions.

        Parameters
        ----------
        advance : callable
            Called after each motion.

        Returns
        -------
        figures : dict
            The results, for JSON.
        exact : dict of Method to Tracking
            The motions of the arm with an exact model.

        """
        loop = LoopSettings(bandwidth=self._settings.bandwidth)
        rows: dict[str, dict[str, float]] = {}
        for case, conditions in self._cases.items():
            tracking: dict[Method, Tracking] = {}
            for method in self._methods:
                tracking |= simulate_tracking(
                    self.robot, self._plan, stiffness=self._stiffness, loop=loop,
                    conditions=conditions, methods=[method])
                advance()
            rows[case] = {method: run.rms for method, run in tracking.items()}
            if case == _EXACT:
                exact = tracking
        figures = _figures(self._settings, self.robot, rows)
        if self._stiffness is not None:
            times = self._plan.times[0] + exact['full'].times
            desired = self._stiffness.evaluate(times)[:, 0]
            variable = self.robot.require_actuators().variable
            error = np.abs(exact['full'].stiffness - desired)[:, variable]
            figures['stiffness_error'] = float(error.max())
        return figures, exact


def _with_actuators(settings: ComparisonSettings) -> Robot:
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
    """Return a plan of the stiffness that is independent of the links' motion, N m/rad."""
    actuators = robot.require_actuators()
    if not actuators.variable.any():
        return None
    start = actuators.constant_stiffness()[0]
    times = np.linspace(0.0, plan.duration, len(STIFFNESS_MOTION))
    return fit_plan(times, np.outer(STIFFNESS_MOTION, start), names=robot.joint_names)


def _figures(
    settings: ComparisonSettings, robot: Robot, rows: dict[str, dict[str, float]],
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
