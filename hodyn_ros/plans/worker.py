"""Plans prepared in a separate process, so that no cycle waits for them."""
from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from multiprocessing import Pipe
from multiprocessing.connection import Connection
import signal
import subprocess
import threading
import time
from typing import Any, TypeVar

from hodyn_ros.common.arrays import Array
from hodyn_ros.plans import child_process
from hodyn_ros.plans.plan_request import PlanSettings
from hodyn_ros.plans.prepared_plan import PreparedPlan
from hodyn_ros.robot import Robot

DIED = 'the process that prepares plans has died'
MOST_TIME = 300.0
"""Largest time to prepare a plan, s; a trajectory of 8 MB takes a fifth of it."""
PATIENCE = 2.0
"""Time after its start, s, at which an unwanted job is ended: about as long as a new process takes
to start without compiling kernels."""
TOOK_TOO_LONG = f'it took longer than {MOST_TIME:g} s to prepare: its preparation was ended'
MODULE = 'hodyn_ros.plans.planning_process'


@dataclass(frozen=True, eq=False)
class Job:
    """A trajectory as received, and all that its preparation needs."""

    data: bytes  #: The serialized message
    robot: Robot  #: The robot, with its payload
    settings: PlanSettings  #: How the plan is made
    #: Revision of robot and settings: jobs with the same revision have the same ones
    revision: int
    annotate: bool  #: Whether the annotated plan is wanted
    state: Array  #: (5, n): q … q⁗ of the reference at `start`
    start: int  #: Instant at which the plan takes over, ns on the reference's clock
    #: Instant at which the plan should begin, ns on the reference's clock; None for as soon as
    #: possible
    requested: int | None
    left_out: int  #: Time by which the reference's instants are behind the stamps, ns
    #: `ReferenceManager.revision` of the reference that `state` was taken from
    reference_revision: int
    number: int  #: Number of the job, increasing

    @property
    def skipped(self) -> float:
        """Seconds of the trajectory that lie before the start: their points are left out."""
        return 0.0 if self.requested is None else (self.start - self.requested) * 1e-9

    @property
    def arguments(self) -> tuple[object, ...]:
        """The child's arguments besides the message and the robot."""
        return self.annotate, self.state, self.start + self.left_out, self.skipped


@dataclass(frozen=True, eq=False)
class BaseJob:
    """Poses of a base as received, and the arguments of their preparation."""

    data: bytes  #: The serialized message
    #: ((4, 4) array, float): `placement` and `skipped` of `planning_process.prepare_base`
    arguments: tuple[Array, float]
    number: int  #: Number of the job, increasing


AnyJob = TypeVar('AnyJob', Job, BaseJob)


class PlanWorker:
    """Prepares one plan after the other in a child process, which ends with its parent.

    `submit` and `poll` never wait. For each kind of job, only the newest job that has not begun
    and the newest plan that was not polled are kept. A job that a newer one replaces is ended once
    it has taken `PATIENCE`. With `has_base` there may be jobs of a base, which need more compiled
    kernels; the robot itself is on a fixed base.
    """

    def __init__(self, robot: Robot, *, has_base: bool = False) -> None:
        self._begin = robot, has_base
        self._change = threading.Condition()  # guards the jobs, and the child that `abandon` ends
        self._waiting: dict[type, Job | BaseJob] = {}
        self._current: Job | BaseJob | None = None
        self._finished: dict[type, deque[Any]] = {
            kind: deque(maxlen=1) for kind in (Job, BaseJob)}
        self._settled = threading.Event()
        self._is_ready = self._is_busy = False
        self._closing = False
        self._process: subprocess.Popen[bytes] | None = None
        # A thread sends and receives, as a pipe blocks while its other end is busy. The thread
        # also starts the child, which ends with the thread.
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait(self, timeout: float) -> bool:
        """Wait at most `timeout` s for the child to compile its kernels; return whether it has."""
        return self._settled.wait(timeout) and self._is_ready

    def submit(self, job: Job | BaseJob) -> None:
        """Have a plan prepared; jobs of its kind that have not begun are dropped."""
        with self._change:
            self._waiting.pop(type(job), None)
            self._waiting[type(job)] = job
            self._change.notify()

    def drop(self, kind: type[Job] | type[BaseJob]) -> None:
        """Drop the jobs of a kind; one under way is ended once it has taken `PATIENCE`."""
        with self._change:
            self._waiting.pop(kind, None)
            if isinstance(self._current, kind):
                self._current = None

    def abandon(self) -> None:
        """Drop all jobs; a child that works on one is replaced, an idle child stays."""
        with self._change:
            self._waiting.clear()
            self._current = None
            if self._is_busy and self._is_ready and self._process is not None:
                self._is_ready = False
                self._settled.clear()
                self._process.kill()

    def poll(self, kind: type[AnyJob]) -> tuple[AnyJob, PreparedPlan] | None:
        """Return a job of a kind and its plan; None if none was finished since the last call.

        If the child process dies during a job, or does not finish it in time, the job is refused
        and another process is started.
        """
        try:
            found: tuple[AnyJob, PreparedPlan] = self._finished[kind].popleft()
            return found
        except IndexError:
            return None

    def close(self) -> None:
        """End the child process."""
        self._closing = True
        with self._change:
            self._change.notify()
        while self._thread.is_alive():
            # This is repeated, as the thread may be about to start another process.
            if (process := self._process) is not None:
                process.kill()
            self._thread.join(0.1)

    def _run(self) -> None:
        while not self._closing:
            # If the child did not even start, the next job starts another.
            if not self._exchange() and not self._closing:
                self._next()

    def _next(self) -> Job | BaseJob | None:
        """Return the current job, or wait for the next one; None if the worker closes."""
        with self._change:
            self._change.wait_for(lambda: self._current or self._waiting or self._closing)
            if self._closing:
                return None
            if self._current is None:
                self._current = self._waiting.pop(next(iter(self._waiting)))
            self._is_busy = True
            return self._current

    def _exchange(self) -> bool:
        """Hand jobs to a child until it dies or is replaced; return whether it became ready."""
        was_ready = False
        revision: int | None = None
        try:
            with self._start() as connection:
                connection.send(self._begin)
                connection.recv()
                with self._change:
                    was_ready, self._is_ready, self._is_busy = True, True, False
                    self._settled.set()
                while (job := self._next()) is not None:
                    # The large robot is sent only if changed: pickling it delays cycles.
                    model = None
                    if isinstance(job, Job) and job.revision != revision:
                        model, revision = (job.robot, job.settings), job.revision
                    connection.send((model, isinstance(job, BaseJob), *job.arguments))
                    # Not pickled: that would copy it, and no cycle could run meanwhile.
                    connection.send_bytes(job.data)
                    is_in_time = self._await(connection, job)
                    prepared = connection.recv() if is_in_time else PreparedPlan(TOOK_TOO_LONG)
                    self._finish(job, prepared)
                    if not is_in_time or not self._is_ready:  # or it was abandoned
                        break
        except (EOFError, OSError):  # the child died, or could not be started
            if (current := self._current) is not None:
                self._finish(current, PreparedPlan(DIED))
        finally:
            with self._change:
                self._is_ready = False
                # Another child is started at once in place of one that was ready.
                (self._settled.clear if was_ready else self._settled.set)()
            if self._process is not None:
                self._process.kill()
                self._process.wait()
        return was_ready

    def _await(self, connection: Connection, job: Job | BaseJob) -> bool:
        """Wait for the plan of a job; return whether it came in time."""
        begin = time.monotonic()
        while not connection.poll(0.1):
            is_wanted = self._current is job and type(job) not in self._waiting
            if time.monotonic() - begin > (MOST_TIME if is_wanted else PATIENCE):
                return False
        return True

    def _finish(self, job: Job | BaseJob, prepared: PreparedPlan) -> None:
        """Keep a plan, unless its job was dropped."""
        with self._change:
            self._is_busy = False
            if self._current is job:
                self._current = None
                self._finished[type(job)].append((job, prepared))

    def _start(self) -> Connection:
        ours, theirs = Pipe()
        with theirs:
            self._process = child_process.start(
                MODULE, str(theirs.fileno()), end_signal=signal.SIGKILL,
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL,
                # In a session of its own, the child gets no Ctrl-C from the terminal.
                start_new_session=True)
        return ours
