"""What retimed motions, and those of others on the same path, take of each limit.

    python -m benchmarks.retiming_peers [--paths 20] [--robot panda] [--json FILE]

Beside toppra (velocity, acceleration, torque) and COPP's TOPP3 (the jerk too), `copp-py` on the
package index, and the smallest uniform stretch of the plan's own timing. The shares are of
differences of the positions over 1 ms, the torque's of these too, so that all are measured alike;
neither peer knows torque rates. Friction is in the torques that are measured, and not in those
that the peers limit.
"""
import argparse
from collections.abc import Callable
import json
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.peers import installed
from benchmarks.retiming import VARIANTS, toppra_speeds, waypoints
from hodyn_ros import Robot, load_robot
from hodyn_ros.common.output_files import write_text
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.retiming import retime_path
from hodyn_ros.plans.retiming.path import path_of, points_of
from hodyn_ros.plans.time_scaling import smallest_time_scaling
from hodyn_ros.reference import Plan

Array = NDArray[np.float64]

PERIOD = 1e-3
STATIONS = 400
QUANTITIES = ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')
REST = 4


def largest_shares(positions: Array, feedforward: FeedForward) -> dict[str, float]:
    """Return the largest share of each limit that samples (T, n), a millisecond apart, take."""
    still = np.pad(positions, ((REST, REST), (0, 0)), mode='edge')
    limits = feedforward.robot.limits
    derivatives = [still]
    for _ in range(3):
        derivatives.append(np.diff(derivatives[-1], axis=0) / PERIOD)
    motion = np.zeros((len(still) - 2, 5, still.shape[1]))
    motion[:, 0] = still[1:-1]
    motion[:, 1] = 0.5 * (derivatives[1][1:] + derivatives[1][:-1])
    motion[:, 2] = derivatives[2]
    torque = feedforward.torque(motion)[:, 0]
    found = (*derivatives[1:], torque, np.diff(torque, axis=0) / PERIOD)
    return {
        quantity: float((np.abs(values) / getattr(limits, quantity)).max())
        for quantity, values in zip(QUANTITIES, found, strict=True)}


def uniform(timed: Plan, feedforward: FeedForward) -> Array:
    """Return the samples of the plan's own timing at its smallest stretch."""
    fast = timed.stretched(1e-2)
    factor = smallest_time_scaling(fast, LimitTable(feedforward, 'effort')).factor
    assert factor is not None
    return _sampled(fast.stretched(factor))


def by_toppra(toppra: Any, plan: Plan, robot: Robot) -> Array:
    """Return the samples of toppra's optimum, of constant accelerations on its grid."""
    path, grid, speed = toppra_speeds(toppra, plan, robot)
    spans = 2.0 * np.diff(grid) / (speed[1:] + speed[:-1])
    begins = np.concatenate(([0.0], np.cumsum(spans)))
    t = _instants(float(begins[-1]))
    i = np.clip(np.searchsorted(begins, t, side='right') - 1, 0, spans.size - 1)
    since = np.minimum(t, begins[-1]) - begins[i]
    at = grid[i] + speed[i] * since + 0.5 * np.diff(speed)[i] / spans[i] * since**2
    positions: Array = path(np.clip(at, grid[0], grid[-1]))
    return positions


def by_copp(copp: Any, plan: Plan, feedforward: FeedForward) -> Array:
    """Return the samples of COPP's TOPP3, from TOPP2's optimum on, in three steps."""
    robot, limits = feedforward.robot, feedforward.robot.limits

    def torque(q: Array, velocity: Array, acceleration: Array) -> Array:
        motion = np.zeros((5, robot.n))
        motion[:3] = q, velocity, acceleration
        found: Array = feedforward.torque(motion, friction=False)[0]
        return found

    places = np.linspace(0.0, plan.duration, STATIONS + 1)
    path = plan.evaluate(places)
    arm = copp.robot.Robot(robot.n, inverse_dynamics=torque)
    arm.append_s(places)
    arm.set_q(path[:, 0], path[:, 1], path[:, 2], 0, dddq=path[:, 3])
    for add, quantity in (
            (arm.add_velocity_limits, 'velocity'), (arm.add_acceleration_limits, 'acceleration'),
            (arm.add_jerk_limits, 'jerk'), (arm.add_torque_limits, 'effort')):
        limit = getattr(limits, quantity)
        if np.isfinite(limit).all():
            add(limit, -limit, start_idx_s=0, length=places.size)
    second, third = copp.solver.topp2_ra, copp.solver.topp3_socp
    squares = second.solve(second.Problem(arm.constraints, (0, STATIONS)))
    profile = third.solve(third.Problem(arm.constraints, np.maximum(squares, 1e-9)))
    for _ in range(2):
        profile = third.solve(third.Problem(
            arm.constraints, profile.a, b_linearization=profile.b))
    duration, times = copp.interpolation.s_to_t_topp3(places, profile)
    at = copp.interpolation.t_to_s_topp3_samples(
        places, profile, times, _instants(duration)[:-1])  # at its end it rests
    positions: Array = plan.evaluate(np.clip(np.append(at, plan.duration), 0.0, plan.duration))[
        :, 0]
    return positions


def _sampled(plan: Plan) -> Array:
    """Return the positions of a plan each millisecond."""
    positions: Array = plan.evaluate(_instants(plan.duration))[:, 0]
    return positions


def _instants(duration: float) -> Array:
    """Return instants a millisecond apart, the first not before the end among them."""
    instants: Array = PERIOD * np.arange(np.ceil(duration / PERIOD) + 1.0)
    return instants


def main() -> None:
    """Run all, print the tables, write the file."""
    parser = argparse.ArgumentParser(prog='python -m benchmarks.retiming_peers',
                                     description=__doc__)
    parser.add_argument('--paths', type=int, default=20)
    parser.add_argument('--robot', nargs='+', default=['panda'])
    parser.add_argument(
        '--variant', nargs='+', default=['default', 'tenth'], choices=['default', 'tenth'])
    parser.add_argument('--json', type=Path, help='write the figures to this file')
    options = parser.parse_args()
    console, toppra, copp = Console(width=120), installed('toppra'), installed('copp_py')
    table = Table(title='duration and seconds: median; shares of the limits: the largest of all')
    for heading in ('robot', 'limits', 'by', 'duration', *QUANTITIES, 'seconds'):
        table.add_column(heading)
    everything: list[dict[str, Any]] = []
    for name in options.robot:
        for variant in options.variant:
            robot = VARIANTS[variant](load_robot(name))
            rows = _rows(robot, options.paths, toppra, copp)
            everything += [{'robot': name, 'limits': variant, **row} for row in rows]
            for by in dict.fromkeys(row['by'] for row in rows):
                mine = [row for row in rows if row['by'] == by]
                table.add_row(
                    name, variant, by, f"{median(row['duration'] for row in mine):.3f}",
                    *(f'{max(row[quantity] for row in mine):.2f}' for quantity in QUANTITIES),
                    f"{median(row['seconds'] for row in mine):.2f}")
    console.print(table)
    if options.json is not None:
        write_text(options.json, json.dumps(everything, indent=1) + '\n', force=True)


def _rows(robot: Robot, paths: int, toppra: Any, copp: Any) -> list[dict[str, Any]]:
    """Return the figures of each path by each contender."""
    feedforward = FeedForward(robot)
    rows = []
    for seed in range(-1, paths):  # the first one compiles
        points = points_of(robot, waypoints(robot, max(seed, 0)), None)
        path = path_of(robot, points, tolerance=1e-3)
        section, timed = path.sections[0], path.timed[0]
        contenders: dict[str, Callable[[], Array]] = {
            'hodyn retime': lambda path=path: _sampled(  # type: ignore[misc]
                retime_path(path, feedforward).plan),
            'uniform stretch': lambda timed=timed: uniform(  # type: ignore[misc]
                timed, feedforward)}
        if toppra is not None:
            contenders['toppra'] = lambda section=section: by_toppra(  # type: ignore[misc]
                toppra, section, robot)
        if copp is not None:
            contenders['copp TOPP3'] = lambda section=section: by_copp(  # type: ignore[misc]
                copp, section, feedforward)
        for by, run in contenders.items():
            start = perf_counter()
            positions = run()
            seconds = perf_counter() - start
            if seed >= 0:
                rows.append({
                    'seed': seed, 'by': by, 'duration': PERIOD * (len(positions) - 1),
                    'seconds': seconds, **largest_shares(positions, feedforward)})
    return rows


if __name__ == '__main__':
    main()
