"""How fast paths are retimed to be, beside toppra, the uniform stretch and Ruckig.

    python -m benchmarks.retiming [--paths 20] [--robot panda fr3 iiwa14] [--longer] [--json FILE]

Random paths of 2 to 8 waypoints, through which every contender but Ruckig goes on the same curve.
toppra's time is a lower bound: it minds velocities, accelerations and torques (without friction)
only. Ruckig, in its free edition, goes straight from rest to rest between waypoints, and minds
velocity, acceleration and jerk. The rows `tenth` have a tenth of the jerk and torque-rate limits,
`sea` motors behind springs whose speed is hardly that of the links.
"""
import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
import json
import logging
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table
import ruckig

from benchmarks.peers import installed
from hodyn_ros import Robot, load_robot
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.common.output_files import write_text
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.retiming import search
from hodyn_ros.plans.retiming.path import JointPath, path_of, points_of
from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits
from hodyn_ros.plans.retiming.search import Retimed, retime_path
from hodyn_ros.reference import Plan

Array = NDArray[np.float64]

GRID = 3000


def waypoints(robot: Robot, seed: int) -> Array:
    """Return 2 to 8 random points in the middle 60 % of the range."""
    rng = np.random.default_rng(seed)
    middle = 0.5 * (robot.limits.position_min + robot.limits.position_max)
    half = 0.5 * (robot.limits.position_max - robot.limits.position_min)
    points: Array = middle + 0.6 * half * rng.uniform(-1.0, 1.0, (2 + seed % 7, robot.n))
    return points


def with_springs(robot: Robot) -> Robot:
    """Return a robot with springs of 3000 N m/rad, and motors hardly faster than its links."""
    joints = tuple(
        JointActuator(LinearSpring(3000.0), Motor(0.3, max_velocity=0.8 * speed))
        for speed in robot.limits.velocity.tolist())
    return replace(robot, actuators=Actuators(robot.joint_names, joints))


VARIANTS: dict[str, Callable[[Robot], Robot]] = {
    'default': lambda robot: robot,
    'tenth': lambda robot: with_scaled_limits(robot, {'jerk': 0.1, 'effort_rate': 0.1}),
    'sea': with_springs,
}


def toppra_duration(toppra: Any, plan: Plan, robot: Robot) -> float:
    """Return the duration of toppra's optimum on the path of a plan."""
    _, grid, speed = toppra_speeds(toppra, plan, robot)
    return float((2.0 * np.diff(grid) / (speed[1:] + speed[:-1])).sum())


def toppra_speeds(toppra: Any, plan: Plan, robot: Robot) -> tuple[Any, Array, Array]:
    """Return a path by its arc length, places (m,) on it and toppra's speeds there, (m,)."""
    from toppra import algorithm, constraint

    logging.getLogger('toppra').setLevel(logging.ERROR)
    fine = np.linspace(0.0, plan.duration, 10 * GRID + 1)
    steps = np.linalg.norm(np.diff(plan.evaluate(fine)[:, 0], axis=0), axis=1)
    arc = np.concatenate(([0.0], np.cumsum(steps)))
    places = np.linspace(0.0, arc[-1], 2 * GRID + 1)
    path = toppra.SplineInterpolator(
        places, plan.evaluate(np.interp(places, arc, fine))[:, 0])
    limits, feedforward = robot.limits, FeedForward(robot)

    def torque(q: Array, velocity: Array, acceleration: Array) -> Array:
        motion = np.zeros((5, robot.n))
        motion[:3] = q, velocity, acceleration
        found: Array = feedforward.torque(motion, friction=False)[0]
        return found

    constraints: list[Any] = [
        constraint.JointVelocityConstraint(np.stack([-limits.velocity, limits.velocity], 1)),
        constraint.JointTorqueConstraint(
            torque, np.stack([-limits.effort, limits.effort], 1), np.zeros(robot.n))]
    if np.isfinite(limits.acceleration).all():
        constraints.append(constraint.JointAccelerationConstraint(
            np.stack([-limits.acceleration, limits.acceleration], 1)))
    grid = places[::2]
    _, speed, *_ = algorithm.TOPPRA(
        constraints, path, gridpoints=grid, parametrizer='ParametrizeConstAccel',
    ).compute_parameterization(0.0, 0.0)
    return path, grid, speed


def ruckig_duration(points: Array, robot: Robot) -> float:
    """Return how long Ruckig takes from point to point, at rest at each."""
    limits, total = robot.limits, 0.0
    for start, goal in pairwise(points):
        wanted = ruckig.InputParameter(robot.n)
        wanted.current_position, wanted.target_position = start.tolist(), goal.tolist()
        wanted.max_velocity = limits.velocity.tolist()
        wanted.max_acceleration = np.minimum(limits.acceleration, 1e6).tolist()
        wanted.max_jerk = np.minimum(limits.jerk, 1e9).tolist()
        trajectory = ruckig.Trajectory(robot.n)
        ruckig.Ruckig(robot.n).calculate(wanted, trajectory)
        total += trajectory.duration
    return total


def longer_search(path: JointPath, feedforward: FeedForward) -> Retimed:
    """Return what a search of twice the pieces and four times the steps finds."""
    with mock.patch.multiple(
            search, _STEPS=search._STEPS + 20 * search._STEPS[-1:], CONVERGED=1e-5,
            KNOT_SPACING=0.5 * search.KNOT_SPACING, MIN_KNOTS=2 * search.MIN_KNOTS,
            MAX_KNOTS=2 * search.MAX_KNOTS, MAX_KNOT_SPACING=0.5 * search.MAX_KNOT_SPACING,
            MIN_PIECES=2 * search.MIN_PIECES):
        return retime_path(path, feedforward)


def peaks(retimed: Retimed, feedforward: FeedForward) -> dict[str, float]:
    """Return the largest share of each limit that a motion takes."""
    table = LimitTable(feedforward)
    taken = np.abs(table.shares(retimed.plan.evaluate(
        np.linspace(0.0, retimed.duration, 5000)))).max(axis=0)
    found: dict[str, float] = {}
    for column, share in zip(table.limited_columns, taken.tolist(), strict=True):
        found[column.quantity] = max(found.get(column.quantity, 0.0), share)
    return found


def measured(robot: Robot, seed: int, toppra: Any, longer: bool) -> dict[str, Any]:
    """Return the figures of one path."""
    points = waypoints(robot, seed)
    path = path_of(robot, points_of(robot, points, None), tolerance=1e-3)
    feedforward = FeedForward(robot)
    start = perf_counter()
    retimed = retime_path(path, feedforward)
    seconds = perf_counter() - start
    best = longer_search(path, feedforward) if longer else None
    start = perf_counter()
    lower = None if toppra is None else toppra_duration(toppra, path.sections[0], robot)
    return {
        'seed': seed, 'waypoints': len(points), 'duration': retimed.duration,
        'uniform_stretch': retimed.uniform_stretch_duration, 'toppra': lower,
        'toppra_seconds': perf_counter() - start, 'ruckig': ruckig_duration(points, robot),
        'longer': best and best.duration, 'longer_seconds': best and best.seconds,
        'seconds': seconds, 'within_limits': retimed.limit_report.within_limits,
        'peaks': peaks(retimed, feedforward)}


def main() -> None:
    """Run all, print the tables, write the file."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.retiming', description=__doc__)
    parser.add_argument('--paths', type=int, default=20, help='paths for each robot (20)')
    parser.add_argument('--robot', nargs='+', default=['panda', 'fr3', 'iiwa14'])
    parser.add_argument('--variant', nargs='+', default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument(
        '--longer', action='store_true', help='search each again, much longer, to compare')
    parser.add_argument('--json', type=Path, help='write the figures to this file')
    options = parser.parse_args()
    console, toppra = Console(), installed('toppra')
    if toppra is None:
        console.print('toppra is not installed (pip install toppra): no ratios.')
    table = Table(title='median (worst) of the paths')
    for heading in (
            'robot', 'limits', 'of toppra', 'of uniform', 'of Ruckig', 'of longer', 'seconds'):
        table.add_column(heading)
    everything = []
    for name in options.robot:
        for variant in options.variant:
            robot = VARIANTS[variant](load_robot(name))
            measured(robot, 0, toppra, False)  # compiles
            rows = [measured(robot, seed, toppra, options.longer) for seed in range(options.paths)]
            everything += [{'robot': name, 'limits': variant, **row} for row in rows]
            assert all(row['within_limits'] for row in rows)
            ratios = [
                _spread([row['duration'] / row[other] for row in rows if row[other]])
                for other in ('toppra', 'uniform_stretch', 'ruckig', 'longer')]
            table.add_row(
                name, variant, *ratios, _spread([row['seconds'] for row in rows]))
    console.print(table)
    if options.json is not None:
        write_text(options.json, json.dumps(everything, indent=1) + '\n', force=True)


def _spread(values: list[float]) -> str:
    return f'{median(values):.3f} ({max(values):.3f})' if values else ''


if __name__ == '__main__':
    main()
