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
from hodyn_ros.plans.prepare import MAX_DURATION, accepted_points, prepare_plan
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
    whole = PlanRequest(decode(data), robot, settings, start=state)
    request = replace(whole, trajectory=_from_now(whole.trajectory, skipped))
    _check_end(request.trajectory.times, 0.0)
    late = lateness(whole, skipped) if skipped > 0.0 else ''
    prepared = prepare_plan(request)
    if prepared.refusal and late:
        prepared = replace(prepared, refusal=f'{late}; {prepared.refusal}')
    plan, points, message = prepared.plan, prepared.points, b''
    if annotate and not prepared.refusal and plan is not None and points is not None:
        period = max(PERIOD, plan.duration / MAX_ANNOTATED)
        message = request.annotated(plan, points.names, period).message(start)
    # The node does not read the other results.
    return replace(
        prepared, limit_report=None, retimed=None, points=None, message=message, late=late)


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


def lateness(request: PlanRequest, skipped: float) -> str:
    """Return what a plan misses that begins `skipped` s after its stamp; empty if hardly anything.

    The request has the whole trajectory. A plan that begins within `start_tolerance` of where its
    motion should be by then is followed as planned; others cut their path, faster than planned.
    """
    start = np.array(request.start)
    here = start[0].copy()
    try:
        points = accepted_points(request)
        # Its motion may have begun at rest, or with the present velocity.
        motions = [start * np.eye(5)[0, :, np.newaxis], start]
        for each in motions:
            if not points.times[0]:
                each[0] = points.positions[0]
        away = min(np.abs(fit_plan(
            points.times, points.positions, points.velocities, points.accelerations, start=each,
            start_speed=np.inf, interpolation=request.settings.interpolation,
        ).evaluate(skipped)[0] - here).max() for each in motions)
    except HodynError:
        return ''  # what is wrong with points that are left out is of no matter
    if away <= request.settings.start_tolerance:
        return ''
    following = int(np.searchsorted(points.times, skipped, side='right'))
    left_out = (
        '' if not following else 'point 0 is left out, and ' if following == 1
        else f'points 0 to {following - 1} are left out, and ')
    time = points.times[following]
    return (
        f'the plan begins {skipped:.3g} s after its header.stamp: {left_out}the motion to '
        f'point {following} takes {time - skipped:.3g} s instead of {time:.3g} s from the start. '
        'Send it earlier, or with a stamp of 0 to follow it from its start')


if __name__ == '__main__':
    serve(Connection(int(sys.argv[1])))
