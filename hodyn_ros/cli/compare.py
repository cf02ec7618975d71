"""``hodyn demo --compare --direct``: the comparison in one process, as tables, plot and JSON."""
from dataclasses import dataclass
import json
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from hodyn_ros.reference import Plan, fit_plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.files.loader import load_robot
from hodyn_ros.simulation.elastic_figure import draw_comparison
from hodyn_ros.simulation.elastic_tracking import (
    METHODS,
    Conditions,
    Loop,
    Method,
    Tracking,
    compare,
)
from hodyn_ros.simulation.examples import (
    DURATION,
    SPEED,
    ActuatorKind,
    fast_motion,
    with_example_actuators,
)

_MS = 1e-3
ROBUSTNESS: dict[str, Conditions] = {
    'model exact': Conditions(),
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
"""What the arm and its signals are, against what the controller believes."""
STIFFNESS_MOTION = (1.0, 1.75, 0.75)
"""Of joints with variable stiffness, during a comparison: at the start, half-way, at the end."""


@dataclass(frozen=True)
class Comparison:
    """What to compare.

    Attributes
    ----------
    robot : str
        Built-in name or path of a robot file.
    actuator : 'rigid', 'sea', 'vsa' or None
        Example actuators, or the robot's own.
    stiffness : float or None
        Of the example actuators, N m/rad.
    bandwidth : float
        Of the motor loop, rad/s.
    duration, speed : float
        Of the motion, s, and as a share of the velocity limits.
    robustness : bool
        Whether to repeat it under each of ROBUSTNESS.

    """

    robot: str = 'panda'
    actuator: ActuatorKind | None = None
    stiffness: float | None = None
    bandwidth: float = 50.0
    duration: float = DURATION
    speed: float = SPEED
    robustness: bool = False


def run_comparison(request: Comparison, output: Path, json_file: Path | None) -> int:
    """Run a comparison and report it; return the exit code.

    output is the folder for ``comparison.png``, json_file where to write the figures.
    """
    for name in ('bandwidth', 'duration', 'speed'):
        if not 0.0 < getattr(request, name) < np.inf:
            raise HodynError(f'--{name} {getattr(request, name):g}: must be above 0')
    robot = _robot(request)
    plan = fit_plan(*fast_motion(robot, request.duration, request.speed))
    stiffness = _stiffness_plan(robot, plan)
    loop = Loop(bandwidth=request.bandwidth)
    cases = ROBUSTNESS if request.robustness else {'model exact': Conditions()}
    rows: dict[str, dict[str, float]] = {}
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task('simulating', total=len(cases) * len(METHODS))
        for case, conditions in cases.items():
            tracking: dict[Method, Tracking] = {}
            for method in METHODS:
                tracking |= compare(
                    robot, plan, stiffness=stiffness, loop=loop, conditions=conditions,
                    methods=[method])
                progress.advance(task)
            rows[case] = {method: run.rms for method, run in tracking.items()}
            if case == 'model exact':
                exact = tracking
    figures = _figures(request, robot, rows)
    if stiffness is not None:
        desired = stiffness.evaluate(plan.times[0] + exact['full'].times)[:, 0]
        variable = robot.require_actuators().variable
        error = np.abs(exact['full'].stiffness - desired)[:, variable]
        figures['stiffness_error'] = float(error.max())
    output.mkdir(parents=True, exist_ok=True)
    title = (
        f'{robot.name}, {request.duration:g} s at {request.speed:.0%} of its speed, '
        f'motor loop of {request.bandwidth:g} rad/s')
    draw_comparison(robot, exact, title, output / 'comparison.png')
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=1) + '\n', encoding='utf-8')
    _print(title, figures, output)
    return 0


def _robot(request: Comparison) -> Robot:
    robot = load_robot(request.robot)
    if request.actuator is not None:
        return with_example_actuators(robot, request.actuator, request.stiffness)
    if robot.actuators is None:
        raise HodynError(
            f'robot {robot.name!r} has no actuators section in its file: give --actuator for an '
            'example')
    if request.stiffness is not None:
        raise HodynError('--stiffness goes with --actuator sea or vsa')
    return robot


def _stiffness_plan(robot: Robot, plan: Plan) -> Plan | None:
    """Return a motion of the stiffness that has nothing to do with that of the links."""
    actuators = robot.require_actuators()
    if not actuators.variable.any():
        return None
    start = actuators.constant_stiffness()[0]
    times = np.linspace(0.0, plan.duration, len(STIFFNESS_MOTION))
    return fit_plan(times, np.outer(STIFFNESS_MOTION, start), names=robot.joint_names)


def _figures(
    request: Comparison, robot: Robot, rows: dict[str, dict[str, float]],
) -> dict[str, Any]:
    exact = rows['model exact']
    actuators = robot.require_actuators()
    return {
        'robot': robot.name,
        'actuator': request.actuator or 'own',
        'stiffness': [float(k) if np.isfinite(k) else None for k in actuators.stiffness],
        'motor_inertia': actuators.motors[:, 0].tolist(),
        'bandwidth': request.bandwidth,
        'duration': request.duration,
        'speed': request.speed,
        'comparison': exact,
        'rigid_over_full': exact['rigid'] / exact['full'],
        'torque_rate_over_full': exact['torque_rate'] / exact['full'],
        'conditions': rows,
    }


def _print(title: str, figures: dict[str, Any], output: Path) -> None:
    table = Table(title=f'{title}\nRMS error of the worst link joint (rad)')
    table.add_column('arm and signals', no_wrap=True)
    for method in METHODS:
        table.add_column(method, justify='right')
    table.add_column('rigid/full', justify='right')
    for case, row in figures['conditions'].items():
        table.add_row(
            case, *(f'{row[method]:.2e}' for method in METHODS),
            f'{row["rigid"] / row["full"]:.3g}')
    console = Console()
    console.print(table)
    if 'stiffness_error' in figures:
        console.print(f'largest stiffness error: {figures["stiffness_error"]:.2g} N m/rad')
    console.print(f'plot in {output}/comparison.png')
