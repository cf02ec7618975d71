"""Processes files by the workers of a Dask cluster, local or remote, or in this process."""
from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import resource_tracker
import os
from pathlib import Path
import signal
from typing import Any

from hodyn_ros.common.errors import HodynError, how_to_install
from hodyn_ros.fleet.task import Job, Outcome, Task

Outcomes = Generator[Outcome, None, None]
Engine = Callable[[Task, Sequence[Job], Callable[[], bool], Callable[[Job], None]], Outcomes]
"""Runs a task on files and yields their outcomes as they are ready.

The third argument returns whether to stop: it is called before each file. The last argument is
called when a file begins.
"""

_TIMEOUT = 20  # s to find the scheduler, and to see a first worker
_RETRIES = 1  # retries of a file whose local worker died; elsewhere, Dask's setting applies
_SETTINGS: dict[str, Any] = {
    # No retries by Dask: a file queued behind one that kills workers would be blamed for it.
    'distributed.scheduler.allowed-failures': 0,
    'distributed.scheduler.worker-ttl': None,  # workers must outlive a sleep of the machine
    'distributed.scheduler.http.routes': [], 'distributed.worker.http.routes': [],
    'distributed.nanny.pre-spawn-environ.NUMBA_NUM_THREADS': '1'}


def engine(count: int | None, scheduler: str | None) -> Engine:
    """Return the engine that processes the files.

    `count` is the number of workers on this machine; by default one for each available core.
    `scheduler` is ``tcp://HOST:PORT`` of the scheduler of a Dask cluster, or the path of its
    scheduler file (``.json``); without it, the workers run on this machine. If Dask is not
    installed, files are processed one after another in this process; HodynError if `count` is then
    above 1, or `scheduler` is given. HodynError also if the scheduler file does not exist.
    """
    # Workers inherit this. Dask need not log dead workers: the outcome of a file names them.
    os.environ.setdefault('DASK_LOGGING__DISTRIBUTED', 'critical')
    try:
        import cryptography  # noqa: F401  (distributed imports it late)
        import distributed  # noqa: F401
    except ImportError as error:
        if scheduler is None and (count or 1) == 1:
            return one_after_another
        option = '--scheduler' if scheduler is not None else f'--jobs {count}'
        raise HodynError(f'{option} needs Dask ({error}): {how_to_install("cluster")}') from None
    if scheduler is None:
        return partial(_by_dask, partial(_here, count or len(os.sched_getaffinity(0))), _RETRIES)
    if scheduler.endswith('.json') and not Path(scheduler).is_file():
        raise HodynError(f'--scheduler {scheduler}: no such scheduler file')
    return partial(_by_dask, partial(_elsewhere, scheduler), 0)


def one_after_another(
    task: Task, jobs: Sequence[Job], is_stopping: Callable[[], bool],
    begin: Callable[[Job], None],
) -> Outcomes:
    """Process files in this process, as an `Engine`."""
    for job in jobs:
        if is_stopping():
            return
        begin(job)
        yield task(job.path, job.name)


def _by_dask(
    connected: Callable[[int], Any], retries: int, task: Task, jobs: Sequence[Job],
    is_stopping: Callable[[], bool], begin: Callable[[Job], None],
) -> Outcomes:
    """Give each idle worker one file, so that a worker that dies affects no other file."""
    import distributed

    if not jobs:
        return
    waiting = deque(jobs)
    deaths: Counter[Job] = Counter()
    running: dict[Any, tuple[Job, str | None]] = {}
    with connected(len(jobs)) as client:
        _warm_up(client, task)
        done = distributed.as_completed(loop=client.loop)
        while True:
            idle = list(client.nthreads().keys() - {worker for _, worker in running.values()})
            while waiting and (idle or not running) and not is_stopping():
                job, worker = waiting.popleft(), idle.pop() if idle else None
                begin(job)
                # pure=False: a file of the same name may have changed, and is done again.
                future = client.submit(
                    task, job.path, job.name, workers=worker, pure=False,
                    allow_other_workers=worker is not None)
                running[future] = job, worker
                done.add(future)
            if not running:
                return
            future = next(done)
            job, _ = running.pop(future)
            try:
                outcome = future.result()
            except distributed.KilledWorker as error:
                deaths[job] += error.allowed_failures + 1
                if deaths[job] <= retries:
                    waiting.append(job)
                    continue
                outcome = task.outcome(
                    job, f'it killed {deaths[job]} workers, perhaps for lack of memory')
            except Exception as error:  # for example if the worker cannot unpickle the task
                outcome = task.outcome(
                    job, f'the cluster failed: {type(error).__name__}: {error}')
            del future  # otherwise Dask repeats this file if the next one kills the worker
            yield outcome


@contextmanager
def _here(count: int, most: int) -> Generator[Any, None, None]:
    """Yield the client of a local cluster; the cluster ends with the context or this process."""
    import dask
    import distributed

    # Ctrl-C in a terminal must reach this process only: its children inherit the blocked signal.
    resource_tracker.ensure_running()  # its start unblocks the signal, so it starts before
    former = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        with dask.config.set(_SETTINGS):
            cluster = distributed.LocalCluster(
                n_workers=min(count, most), threads_per_worker=1, memory_limit=0,
                # No other user of this machine may use these workers.
                security=True, dashboard_address=None,
                scheduler_kwargs={'dashboard_address': '127.0.0.1:0'})
    except (OSError, RuntimeError, TimeoutError) as error:
        raise HodynError(f'no workers can be started on this machine: {error}') from error
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, former)
    try:
        with distributed.Client(cluster, set_as_default=False) as client:
            yield client
            with suppress(TimeoutError):  # a worker that restarts would fail with a traceback
                client.wait_for_workers(len(cluster.workers), timeout=_TIMEOUT)
    finally:  # do not wait for files in progress, for example after a second Ctrl-C
        for nanny in cluster.workers.values():
            nanny.close_gracefully()
            with suppress(ProcessLookupError, TypeError):  # it has no process just now
                os.kill(nanny.pid, signal.SIGKILL)
        with suppress(Exception):  # errors of a worker that was killed while it started
            cluster.close()


@contextmanager
def _elsewhere(address: str, _: int) -> Generator[Any, None, None]:
    """Yield the client of a cluster that others started."""
    import distributed

    where = {'scheduler_file': address} if address.endswith('.json') else {'address': address}
    try:
        client = distributed.Client(**where, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        raise HodynError(
            f'--scheduler {address}: no Dask scheduler answers there ({error}); start one '
            'with: dask scheduler') from None
    try:
        yield client
    finally:
        with suppress(Exception):  # the scheduler may be gone
            client.close()


def _warm_up(client: Any, task: Task) -> None:
    """Have one worker of each machine compile the kernels before the others need them."""
    import distributed

    try:
        client.wait_for_workers(1, timeout=_TIMEOUT)
    except TimeoutError:
        raise HodynError(
            'the Dask scheduler has no workers; start some with: dask worker ADDRESS '
            '--nthreads 1') from None
    workers = client.scheduler_info(n_workers=-1)['workers']
    if any(worker['nthreads'] > 1 for worker in workers.values()):
        # Warnings are caught for the whole process and could be assigned to another file.
        raise HodynError(
            'the Dask cluster has workers with several threads; start them with: dask worker '
            'ADDRESS --nthreads 1 --nworkers N')
    one_of_each = {worker['host']: address for address, worker in workers.items()}
    try:
        for future in distributed.as_completed([
                client.submit(
                    _compile, task, workers=[address], pure=False, allow_other_workers=True)
                for address in one_of_each.values()], loop=client.loop):
            future.result()
    except Exception as error:  # the task killed workers, or they cannot read it
        raise HodynError(
            'the Dask workers cannot begin; check that they have the same version of hodyn_ros '
            f'and enough memory: {type(error).__name__}: {error}') from error


def _compile(task: Task) -> None:
    with suppress(Exception):  # the outcome of each file will report it
        task.warm_up()
