"""The process that prepares plans: `PlanWorker` starts it and sends it the robot and the jobs."""
from collections.abc import Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
import os
import sys
import time
import traceback
from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import compiling
from hodyn_ros.messages.joint_trajectory import JointWaypoints, decode
from hodyn_ros.messages.multi_dof_trajectory import read_poses
from hodyn_ros.plans.annotate import PERIOD
from hodyn_ros.plans.base_plan import base_plan
from hodyn_ros.plans.plan_request import ONE_CLOCK, PlanRequest, PlanSettings
from hodyn_ros.plans.prepare import MAX_DURATION, prepare_plan
from hodyn_ros.plans.prepared_plan import PreparedPlan, refused
from hodyn_ros.plans.waypoints import EndedError
from hodyn_ros.reference.fit import fit_plan
from hodyn_ros.robot import HodynError, Robot

NICENESS = 5  # the node's cycles have priority if both processes share a processor
MAX_ANNOTATED = 20_000
"""Largest number of samples of an annotated plan: more take seconds, and exceed 8 MiB."""


def serve(connection: Connection) -> None:
    """Prepare plan after plan until the other end of the connection is gone."""
    os.nice(NICENESS)
    settings = PlanSettings()
    try:
        robot, has_base = connection.recv()
        warm_up_planning(robot, has_base=has_base)
        connection.send(None)
        while True:
            model, is_of_base, *job = connection.recv()
            if model is not None:
                robot, settings = model
            data = connection.recv_bytes()
            connection.send(
                answer(prepare_base, data, *job) if is_of_base
                else answer(prepare, robot, settings, data, *job))
    except (EOFError, OSError):
        return


@compiling()
def warm_up_planning(robot: Robot, *, has_base: bool = False) -> None:
    """Compile the kernels before the first trajectory comes."""
    start = np.zeros((5, robot.n))
    # The points are so unevenly spaced that all interpolations are tried, and so fast that a
    # stretch is needed.
    trajectory = JointWaypoints(
        robot.joint_names, [0.1, 3.1, 3.2], [[value] * robot.n for value in (0.1, 1.0, 1.1)])
    # The node compiles at the same time. It too uses the kernels of `prepare_plan`, and caches
    # them on disk: they come last here, to be loaded from the cache.
    fit_plan(trajectory.times, trajectory.positions)
    prepare_plan(PlanRequest(
        trajectory, robot, PlanSettings(stretch='auto'), start=start, annotate_period=PERIOD))
    if has_base:
        turns = np.array([[1.0, 0.0, 0.0, 0.0], [0.8, 0.6, 0.0, 0.0]])
        base_plan(np.array([0.0, 1.0]), np.zeros((2, 3)), turns, np.eye(4))


def answer(make: Callable[..., PreparedPlan], *job: Any) -> PreparedPlan:
    """Return the plan that `make` makes of a job, or its error as a refusal; with the time."""
    begin = time.perf_counter()
    try:
        prepared = make(*job)
    except HodynError as error:
        prepared = refused(error)
    except Exception as error:  # a bug: the node logs it, and the process goes on
        prepared = PreparedPlan(
            f'{type(error).__name__}: {error}', traceback=traceback.format_exc())
    return replace(prepared, seconds=time.perf_counter() - begin)


def prepare(
    robot: Robot, settings: PlanSettings, data: bytes, annotate: bool,
    state: Array, start: int, skipped: float,
) -> PreparedPlan:
    """Return the plan of a job; HodynError if its message is no trajectory, or is too long."""
    trajectory = _from_now(decode(data), skipped)
    _check_end(trajectory.times, 0.0)
    request = PlanRequest(trajectory, robot, settings, start=state)
    prepared = prepare_plan(request)
    plan, points, message = prepared.plan, prepared.points, b''
    if annotate and not prepared.refusal and plan is not None and points is not None:
        period = max(PERIOD, plan.duration / MAX_ANNOTATED)
        message = request.annotated(plan, points.names, period).message(start)
    # The node does not read the other results.
    return replace(prepared, limit_report=None, retimed=None, points=None, message=message)


def prepare_base(data: bytes, placement: Array, skipped: float) -> PreparedPlan:
    """Return the plan of a base; HodynError as in `base_plan`, or if it is over or too long."""
    times, positions, turns = read_poses(data)
    _check_end(times, skipped)
    return PreparedPlan('', plan=base_plan(times, positions, turns, placement))


def _check_end(times: Sequence[float] | Array, skipped: float) -> None:
    """Refuse a trajectory that is too long, or ends no later than `skipped` s after its start."""
    if not len(times):
        return
    if skipped >= times[-1] and skipped > 0.0:
        ago = skipped - times[-1]
        raise EndedError(
            f'it ends in the past: its last point was due {ago:.3f} s ago: send it earlier; '
            f'{ONE_CLOCK}')
    if times[-1] > MAX_DURATION:
        raise HodynError(
            f'it takes {times[-1]:.6g} s; the longest is {MAX_DURATION:g} s: is it in '
            'milliseconds?')


def _from_now(trajectory: JointWaypoints, skipped: float) -> JointWaypoints:
    """Return the part of a trajectory that is left `skipped` seconds after its start."""
    if skipped <= 0.0:
        return trajectory
    left = [i for i, time in enumerate(trajectory.times) if time > skipped]
    if not left:
        _check_end(trajectory.times, skipped)
    first = left[0] if left else 0
    return replace(
        trajectory, times=[time - skipped for time in trajectory.times[first:]],
        positions=trajectory.positions[first:], velocities=trajectory.velocities[first:],
        accelerations=trajectory.accelerations[first:])


if __name__ == '__main__':
    serve(Connection(int(sys.argv[1])))
