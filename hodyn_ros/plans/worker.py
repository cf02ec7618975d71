"""Plans made in a process of their own, so that no cycle waits for them."""
from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
import multiprocessing
from multiprocessing.connection import Connection
import os
import queue
import signal
import threading
import time
import traceback

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.messages.joint_trajectory import JointWaypoints, decode
from hodyn_ros.plans.annotate import PERIOD
from hodyn_ros.plans.prepare import PlanRequest, PlanSettings, PreparedPlan, prepare_plan
from hodyn_ros.robot import HodynError, Robot

NICENESS = 5
DIED = 'the process that prepares plans has died'
# Duration of a trajectory, s: checking it takes time and memory in proportion.
MAX_DURATION = 3600.0


@dataclass(frozen=True, eq=False)
class Job:
    """A trajectory as it came, and what it is prepared with.

    Attributes
    ----------
    data : bytes
        The serialized message.
    robot : Robot
        The robot, with its payload.
    settings : PlanSettings
        How the plan is made.
    revision : int
        Revision of robot and settings: jobs with the same number have the same.
    annotate : bool
        Whether the annotated plan is wanted.
    state : (5, n) array
        q … q⁗ of the reference when the plan takes over.
    start : int
        When that is, ns.
    skipped : float
        Seconds of the trajectory that lie before the start: their points are left out.
    requested : int or None
        When it should begin, ns on the reference's clock; None for as soon as it can.
    left_out : int
        How far the reference's instants are behind stamps, ns.
    reference_revision : int
        `ReferenceManager.revision` of the reference that `state` was taken from.
    number : int
        Tells jobs apart.

    """

    data: bytes
    robot: Robot
    settings: PlanSettings
    revision: int
    annotate: bool
    state: NDArray[np.float64]
    start: int
    skipped: float
    requested: int | None
    left_out: int
    reference_revision: int
    number: int


class PlanWorker:
    """Prepares one plan after the other in a child process, which ends with this one.

    `submit` and `poll` never wait; of the jobs that have not begun only the newest is kept.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._finished: queue.SimpleQueue[tuple[Job, PreparedPlan]] = queue.SimpleQueue()
        self._settled = threading.Event()
        self._is_ready = False
        self._closing = False
        self._start()
        # Bytes go both ways in a thread: a pipe blocks while the other end is busy.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait until the child has compiled what it needs; return whether it has, in time (s)."""
        return self._settled.wait(timeout) and self._is_ready

    def submit(self, job: Job) -> None:
        """Have a plan prepared; jobs that have not begun are dropped."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        self._jobs.put(job)

    def poll(self) -> tuple[Job, PreparedPlan] | None:
        """Return a job and its plan, or None when there is nothing new.

        A job that the child process died of is refused; another process takes its place.
        """
        return None if self._finished.empty() else self._finished.get()

    def close(self) -> None:
        """End the child process."""
        self._closing = True
        self._jobs.put(None)
        while self._thread.is_alive():
            # Again and again: the thread may be about to start another.
            self._process.terminate()
            self._thread.join(0.1)
        self._process.terminate()
        self._process.join()
        self._connection.close()

    def _start(self) -> None:
        context = multiprocessing.get_context('spawn')
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._robot), daemon=True)
        process.start()
        theirs.close()
        self._process, self._connection = process, ours

    def _run(self) -> None:
        job: Job | None = None
        while True:
            was_ready = self._exchange(job)
            # One that cannot even start is tried again when there is something to do.
            job = None if was_ready or self._closing else self._jobs.get()
            if self._closing:
                return
            self._connection.close()
            # Where no process can be had, the closed connection refuses the job.
            with contextlib.suppress(OSError):
                self._start()

    def _exchange(self, job: Job | None) -> bool:
        """Hand jobs, this one first, to the child until it dies; return whether it ever began."""
        was_ready = False
        revision: int | None = None
        try:
            self._connection.recv()
            was_ready = self._is_ready = True
            self._settled.set()
            while (job := job or self._jobs.get()) is not None:
                # The robot is large and goes once: while it is pickled no cycle can run.
                model = None if job.revision == revision else (job.robot, job.settings)
                revision = job.revision
                self._connection.send((
                    model, job.annotate, job.state, job.start + job.left_out, job.skipped))
                # Not pickled, which would copy it while no cycle can run.
                self._connection.send_bytes(job.data)
                self._finished.put((job, self._connection.recv()))
                job = None
        except (EOFError, OSError):
            self._settled.set()
            if job is not None:
                self._finished.put((job, PreparedPlan(DIED)))
        return was_ready


def _serve(connection: Connection, robot: Robot) -> None:
    # The parent ends this process; a Ctrl-C of the terminal reaches both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Real-time cycles have priority where both processes share a processor.
    os.nice(NICENESS)
    warm_up_planning(robot)
    connection.send(None)
    settings = PlanSettings()
    while True:
        try:
            model, *job = connection.recv()
            if model is not None:
                robot, settings = model
            data = connection.recv_bytes()
            connection.send(_prepare(robot, settings, data, *job))
        except (EOFError, OSError):  # the parent is gone
            return


def warm_up_planning(robot: Robot) -> None:
    """Compile the kernels before the first trajectory comes."""
    start = np.zeros((5, robot.n))
    # Spacing so uneven that all interpolations are tried, and so fast that a stretch is needed.
    trajectory = JointWaypoints(
        robot.joint_names, [0.1, 3.1, 3.2], [[value] * robot.n for value in (0.1, 1.0, 1.1)])
    prepare_plan(PlanRequest(
        trajectory, robot, PlanSettings(stretch='auto'), start=start, annotate_period=PERIOD))


def _prepare(
    robot: Robot, settings: PlanSettings, data: bytes, annotate: bool,
    state: NDArray[np.float64], start: int, skipped: float,
) -> PreparedPlan:
    begin = time.perf_counter()
    message = b''
    try:
        trajectory = _from_now(decode(data), skipped)
        if trajectory.times and trajectory.times[-1] > MAX_DURATION:
            raise HodynError(
                f'it takes {trajectory.times[-1]:.6g} s; the longest is {MAX_DURATION:g} s')
        prepared = prepare_plan(PlanRequest(
            trajectory, robot, settings, start=state,
            annotate_period=PERIOD if annotate else None))
        if prepared.annotated is not None:
            message = prepared.annotated.message(start)
    except HodynError as error:
        prepared = PreparedPlan(str(error))
    except Exception as error:  # an error of ours: the node logs it, and the process goes on
        prepared = PreparedPlan(
            f'{type(error).__name__}: {error}', traceback=traceback.format_exc())
    # The samples travel as the message, and the node does not read the report.
    return replace(
        prepared, annotated=None, limit_report=None, message=message,
        seconds=time.perf_counter() - begin)


def _from_now(trajectory: JointWaypoints, skipped: float) -> JointWaypoints:
    """Return what is left of a trajectory when it is joined later than its start."""
    if skipped <= 0.0:
        return trajectory
    left = [i for i, time in enumerate(trajectory.times) if time > skipped]
    if len(trajectory.times) and not left:
        raise HodynError(
            f'it ends in the past: its last point was due '
            f'{skipped - trajectory.times[-1]:.3f} s ago')
    first = left[0] if left else 0
    return replace(
        trajectory, times=[time - skipped for time in trajectory.times[first:]],
        positions=trajectory.positions[first:], velocities=trajectory.velocities[first:],
        accelerations=trajectory.accelerations[first:])
