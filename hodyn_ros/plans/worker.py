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
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.messages.joint_trajectory import JointWaypoints, decode
from hodyn_ros.plans.annotate import PERIOD
from hodyn_ros.plans.prepare import PlanRequest, PreparedPlan, prepare_plan
from hodyn_ros.robot import HodynError, Robot

NICENESS = 5
DIED = 'the process that prepares plans has died'
# Of a trajectory, s: judging it takes time and memory in proportion.
MAX_DURATION = 3600.0


@dataclass(frozen=True, eq=False)
class Job:
    """A trajectory as it came, and how to prepare it.

    Attributes
    ----------
    data : bytes
        The serialized message.
    settings : PlanRequest
        What all jobs have in common: the same object in all, until something changes.
    annotate : bool
        Whether the annotated plan is wanted.
    state : (5, n) array
        q … q⁗ of the reference when the plan takes over.
    start : int
        When that is, ns.
    skipped : float
        Seconds of the trajectory that lie before the start: their points are left out.
    revision : int
        Of the reference that `state` was taken from.
    number : int
        Tells jobs apart.

    """

    data: bytes
    settings: PlanRequest
    annotate: bool
    state: NDArray[np.float64]
    start: int
    skipped: float
    revision: int
    number: int


class Outcome(NamedTuple):
    """What became of a job, how long it took (s), and the annotated plan as a message."""

    job: Job
    prepared: PreparedPlan
    seconds: float
    annotated: bytes


class PlanWorker:
    """Prepares one plan after the other in a child process, which ends with this one.

    `submit` and `poll` never wait; of the jobs that have not begun only the newest is kept.
    """

    def __init__(self, robot: Robot) -> None:
        self._robot = robot
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._outcomes: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._closing = False
        self._start()
        # Bytes go both ways in a thread: a pipe blocks while the other end is busy.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait until the child has compiled what it needs; return whether it has, in time (s)."""
        return self._ready.wait(timeout) and self._process.is_alive()

    def submit(self, job: Job) -> None:
        """Have a plan prepared; jobs that have not begun are dropped."""
        with contextlib.suppress(queue.Empty):
            while True:
                self._jobs.get_nowait()
        self._jobs.put(job)

    def poll(self) -> Outcome | None:
        """Return what became of a job, or None when there is nothing new.

        A job that the child process died of is refused; another process takes its place.
        """
        return None if self._outcomes.empty() else self._outcomes.get()

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
        settings: PlanRequest | None = None
        try:
            self._connection.recv()
            was_ready = True
            self._ready.set()
            while (job := job or self._jobs.get()) is not None:
                # What is large goes once: while it is pickled no cycle can run.
                if job.settings is not settings:
                    settings = job.settings
                    self._connection.send(settings)
                self._connection.send((job.data, job.annotate, job.state, job.start, job.skipped))
                self._outcomes.put(Outcome(job, *self._connection.recv()))
                job = None
        except (EOFError, OSError):
            self._ready.set()
            if job is not None:
                self._outcomes.put(Outcome(job, PreparedPlan(DIED), 0.0, b''))
        return was_ready


def _serve(connection: Connection, robot: Robot) -> None:
    # The parent ends this process; a Ctrl-C of the terminal reaches both.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Cycles come first, wherever the two share a processor.
    os.nice(NICENESS)
    warm_up(robot)
    connection.send(None)
    settings: PlanRequest | None = None
    while True:
        try:
            received = connection.recv()
            if isinstance(received, PlanRequest):
                settings = received
            elif settings is not None:
                connection.send(_prepare(settings, *received))
        except (EOFError, OSError):  # the parent is gone
            return


def warm_up(robot: Robot) -> None:
    """Compile the kernels before the first trajectory comes."""
    start = np.zeros((5, robot.n))
    # On spacings so uneven that all interpolations are tried, and too fast to need no stretch.
    trajectory = JointWaypoints(
        robot.joint_names, [0.1, 3.1, 3.2], [[value] * robot.n for value in (0.1, 1.0, 1.1)])
    prepare_plan(PlanRequest(
        trajectory, robot, start=start, stretch='auto', annotate_period=PERIOD))


def _prepare(
    settings: PlanRequest, data: bytes, annotate: bool, state: NDArray[np.float64], start: int,
    skipped: float,
) -> tuple[PreparedPlan, float, bytes]:
    begin = time.perf_counter()
    annotated = b''
    try:
        trajectory = _from_now(decode(data), skipped)
        if trajectory.times and trajectory.times[-1] > MAX_DURATION:
            raise HodynError(
                f'it takes {trajectory.times[-1]:.6g} s; the longest is {MAX_DURATION:g} s')
        prepared = prepare_plan(replace(
            settings, trajectory=trajectory, start=state,
            annotate_period=PERIOD if annotate else None))
        if prepared.annotated is not None:
            annotated = prepared.annotated.message(start)
    except HodynError as error:
        prepared = PreparedPlan(str(error))
    except Exception as error:  # one bad trajectory must not end the process
        prepared = PreparedPlan(f'{type(error).__name__}: {error}')
    # The samples travel as the message; for these the rest of the node has no use.
    prepared = replace(prepared, annotated=None, limit_report=None)
    return prepared, time.perf_counter() - begin, annotated


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
    return JointWaypoints(
        trajectory.names, [time - skipped for time in trajectory.times[first:]],
        trajectory.positions[first:], trajectory.velocities[first:],
        trajectory.accelerations[first:])
