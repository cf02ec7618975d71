"""The processes of this machine as workers.

A pool of the standard library fails as a whole when one of its processes is killed, and does not
tell whose file it was; here each worker has a pipe of its own.
"""
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
import signal
import subprocess
import time
from typing import cast

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.outcome import Job, Outcome, Task, failed
from hodyn_ros.plans import bound_process

MAX_DEATHS = 2
"""A file that so many workers died of is given up."""

_END = 5.0  # s that a worker has to undo what is unfinished
_LOOK = 0.5  # s: how soon it is seen that no further file is to be begun
_MODULE = 'hodyn_ros.fleet.worker'


class _Worker:
    """A process that does one file after the other, and dies with this one."""

    def __init__(self) -> None:
        self.connection, theirs = Pipe()
        self.job: Job | None = None
        self.is_ready = self.has_task = False
        with theirs:
            self._process = bound_process.start(
                _MODULE, str(theirs.fileno()), end_signal=signal.SIGKILL,
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL)

    def give_task(self, task: Task) -> None:
        """Send what is to be done with files."""
        self.has_task = True
        with suppress(OSError):  # a worker that died shows when it is listened to
            self.connection.send(task)

    def give(self, job: Job) -> None:
        """Send a file."""
        self.job = job
        with suppress(OSError):
            self.connection.send(job)

    def how_it_died(self) -> str:
        """Return it in some words, once its pipe is closed."""
        try:
            code = self._process.wait(_END)
        except subprocess.TimeoutExpired:
            return 'it closed its pipe'
        if code >= 0:
            return f'exit code {code}'
        name = signal.Signals(-code).name
        return f'{name}, as when memory ran out' if -code == signal.SIGKILL else name

    def begin_end(self) -> None:
        """Have it end, whatever it is at."""
        self.connection.close()
        if self.job is not None or not self.is_ready:
            self._process.terminate()
        self._deadline = time.monotonic() + _END

    def finish_end(self) -> None:
        """Wait until it has ended, once it was told to."""
        try:
            self._process.wait(max(0.0, self._deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Processes:
    """Workers on this machine.

    Parameters
    ----------
    count : int
        How many.

    """

    def __init__(self, count: int) -> None:
        self._count = count

    def run(
        self, task: Task, jobs: Iterable[Job], is_stopping: Callable[[], bool],
        begin: Callable[[Job], None],
    ) -> Iterator[Outcome]:
        """Yield outcomes as they come.

        The first worker compiles the kernels while the others start, so that they are compiled
        once. A file whose worker dies is tried once more.

        Parameters
        ----------
        task : Task
            What is done with each file.
        jobs : iterable of Job
            The files.
        is_stopping : callable
            Whether no further file is to be begun.
        begin : callable
            Called with each file before it is begun.

        Raises
        ------
        HodynError
            When workers die before they take a file.

        """
        waiting = deque(jobs)
        deaths: Counter[str] = Counter()
        failed_starts = 0
        workers = [_Worker() for _ in range(min(self._count, len(waiting)))]
        try:
            if workers:
                workers[0].give_task(task)
            while True:
                if not is_stopping():
                    for worker in workers:
                        if worker.is_ready and worker.job is None and waiting:
                            begin(waiting[0])
                            worker.give(waiting.popleft())
                if not any(worker.job for worker in workers) and (is_stopping() or not waiting):
                    return
                for worker in _answering(workers):
                    try:
                        answer = worker.connection.recv()
                    except (EOFError, OSError):
                        how, job = worker.how_it_died(), worker.job
                        worker.begin_end()
                        worker.finish_end()
                        workers[workers.index(worker)] = fresh = _Worker()
                        fresh.give_task(task)
                        if job is None:
                            failed_starts += 1
                            if failed_starts > MAX_DEATHS:
                                raise HodynError(
                                    f'workers end before they take a file: {how}') from None
                            continue
                        deaths[job.name] += 1
                        if deaths[job.name] < MAX_DEATHS:
                            waiting.append(job)
                        else:
                            yield failed(task.key, job, (
                                f'{MAX_DEATHS} workers died of it, the last by {how}'))
                        continue
                    if worker.is_ready:
                        worker.job = None
                        yield cast(Outcome, answer)
                    worker.is_ready = True
                    for other in workers:
                        if not other.has_task:
                            other.give_task(task)
        finally:
            for worker in workers:
                worker.begin_end()  # all at once: each has its time to undo what is unfinished
            for worker in workers:
                worker.finish_end()


def _answering(workers: list[_Worker]) -> list[_Worker]:
    ready = wait([worker.connection for worker in workers if worker.has_task], _LOOK)
    by_connection: dict[Connection, _Worker] = {w.connection: w for w in workers}
    return [by_connection[cast(Connection, one)] for one in ready]
