"""The workers of a Dask cluster, which others started."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from hodyn_ros.common.errors import HodynError, how_to_install
from hodyn_ros.fleet.outcome import Job, Outcome, Task, failed, perform, prepare

_TIMEOUT = 20  # s to find the scheduler, and to see a first worker
_AHEAD = 2  # files at a time that each thread of the cluster has before it


class DaskCluster:
    """Workers of a Dask cluster that can read the files and write to the folder.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT`` of the scheduler, or the path of its scheduler file (``.json``).

    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
        except ImportError as error:
            raise HodynError(
                f'--scheduler needs Dask ({error}): {how_to_install("cluster")}') from None
        if address.endswith('.json') and not Path(address).is_file():
            raise HodynError(f'--scheduler {address}: no such scheduler file')
        self._distributed: Any = distributed
        self._address = address

    def run(
        self, task: Task, jobs: Iterable[Job], is_stopping: Callable[[], bool],
        begin: Callable[[Job], None],
    ) -> Iterator[Outcome]:
        """Yield outcomes as they come, as `Processes.run` does.

        One worker of each machine compiles the kernels before the others begin. A file whose
        worker dies is given to another one, as often as the scheduler allows
        (``distributed.scheduler.allowed-failures``).

        Raises
        ------
        HodynError
            When the cluster does not answer, has no workers, or none that can be used.

        """
        client, distributed = self._connected(), self._distributed
        try:
            self._warm_up(client, task)
            waiting = iter(list(jobs))
            running: dict[Any, Job] = {}
            done = distributed.as_completed(loop=client.loop)
            while True:
                room = _AHEAD * max(1, sum(client.nthreads().values())) - len(running)
                while room > 0 and not is_stopping() and (job := next(waiting, None)):
                    begin(job)
                    # Impure: a file of the same name is done again when it has changed.
                    future = client.submit(perform, task, job, pure=False)
                    running[future] = job
                    done.add(future)
                    room -= 1
                if not running:
                    return
                future = next(done)
                yield self._outcome(task, running.pop(future), future)
        finally:
            with suppress(Exception):  # the scheduler may be gone
                client.close()

    def _connected(self) -> Any:
        address = self._address
        where = {'scheduler_file': address} if address.endswith('.json') else {'address': address}
        try:
            return self._distributed.Client(**where, timeout=_TIMEOUT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise HodynError(
                f'--scheduler {address}: no Dask scheduler answers there ({error}); start one '
                'with: dask scheduler') from None

    def _outcome(self, task: Task, job: Job, future: Any) -> Outcome:
        try:
            return future.result()  # type: ignore[no-any-return]
        except self._distributed.KilledWorker as error:
            return failed(task.key, job, f'workers died of it: {error}')
        except Exception as error:  # of a task that could not even be read there, say
            return failed(
                task.key, job, f'the cluster could not do it, {type(error).__name__}: {error}')

    def _warm_up(self, client: Any, task: Task) -> None:
        try:
            client.wait_for_workers(1, timeout=_TIMEOUT)
        except TimeoutError:
            raise HodynError(
                'the Dask scheduler has no workers; start some with: dask worker ADDRESS '
                '--nthreads 1') from None
        workers = client.scheduler_info(n_workers=-1)['workers']
        if any(worker['nthreads'] > 1 for worker in workers.values()):
            # Warnings are caught for a process as a whole, and would be told of another file.
            raise HodynError(
                'the Dask cluster has workers with several threads; start them with: dask worker '
                'ADDRESS --nthreads 1 --nworkers N')
        one_of_each = {worker['host']: address for address, worker in workers.items()}
        try:
            client.gather([
                client.submit(
                    prepare, task, workers=[address], pure=False, allow_other_workers=True)
                for address in one_of_each.values()])
        except Exception as error:  # workers died of it, or cannot read the task
            raise HodynError(
                'the Dask workers cannot begin; have they the same version of hodyn_ros, and '
                f'memory? {type(error).__name__}: {error}') from error
