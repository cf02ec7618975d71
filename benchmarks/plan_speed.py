"""How long it takes to fit, check and annotate a plan, by the number of its points.

    python benchmarks/plan_speed.py [--robot panda] [--repeat 3]

Points are 10 ms apart, on a smooth motion from rest to rest that the robot can do. Compilation
is not counted. Times are medians; the last column shows the growth: it is linear where it stays.
"""
import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
import tempfile
from time import perf_counter
from typing import Any

import numpy as np

from hodyn_ros import load_robot
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans import JointWaypoints, PlanRequest, accept, annotate, prepare_plan
from hodyn_ros.plans.files import read_trajectory, write_annotated
from hodyn_ros.plans.limit_check import check_limits
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot import Robot
from hodyn_ros.robot.joint_names import JointNames

SPACING = 0.01


def trajectory(robot: Robot, count: int) -> JointWaypoints:
    """Return `count` points of a slow motion about the middle of the range."""
    times = np.arange(count) * SPACING
    middle = 0.5 * (robot.limits.position_min + robot.limits.position_max)
    ramp = np.clip(np.minimum(times, times[-1] - times) / min(3.0, 0.5 * times[-1]), 0.0, 1.0)
    smooth = ramp**5 * (126 + ramp * (-420 + ramp * (540 + ramp * (-315 + 70 * ramp))))
    waves = 0.2 * np.sin(times[:, None] * np.linspace(0.5, 1.5, robot.n))
    positions = middle + smooth[:, None] * waves
    return JointWaypoints(robot.joint_names, times.tolist(), positions.tolist())


def timed(repeat: int, function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
    """Return a result and the median of its times."""
    times = []
    for _ in range(repeat):
        start = perf_counter()
        result = function(*arguments)
        times.append(perf_counter() - start)
    return result, median(times)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--robot', default='panda')
    parser.add_argument('--repeat', type=int, default=3)
    options = parser.parse_args()
    robot = load_robot(options.robot)
    feedforward = FeedForward(robot)
    names = JointNames(robot)
    prepare_plan(PlanRequest(trajectory(robot, 50), robot, annotate_period=0.005))
    print(f'{robot.name}, {robot.n} joints; seconds')
    print(f'{"points":>8} {"accept":>8} {"fit":>8} {"check":>8} {"annotate":>9} {"all":>8} '
          f'{"ms/point":>9}')
    for count in (350, 1000, 3500, 10_000, 35_000):
        given = trajectory(robot, count)
        points, accepting = timed(options.repeat, accept, given, names)
        plan, fitting = timed(options.repeat, fit_plan, points.times, points.positions)
        limit_report, checking = timed(options.repeat, check_limits, plan, feedforward)
        annotated, annotating = timed(options.repeat, annotate, plan, feedforward)
        if not limit_report.within_limits:
            raise SystemExit(f'the motion is beyond limits: {limit_report.violations[0]}')
        total = accepting + fitting + checking + annotating
        print(f'{count:8d} {accepting:8.4f} {fitting:8.4f} {checking:8.4f} {annotating:9.4f} '
              f'{total:8.4f} {1e3 * total / count:9.4f}')
        if count == 3500:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / 'plan.json'
                _, writing = timed(1, write_annotated, annotated, path)
                _, reading = timed(1, read_trajectory, path)
            print(f'         and as JSON: written in {writing:.3f}, read in {reading:.3f}')


if __name__ == '__main__':
    main()
