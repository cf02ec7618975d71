"""A cluster whose workers are processes of their own: nothing is lost, and nothing twice."""
from contextlib import ExitStack
import os
import subprocess
import sys
import time
from types import SimpleNamespace

from fleet_tasks import Silence, ToldTask, jobs_of
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.dask_cluster import DaskCluster
from hodyn_ros.fleet.ledger import Ledger
from hodyn_ros.fleet.run import run_fleet

pytest.importorskip('distributed')

pytestmark = pytest.mark.slow


@pytest.fixture(scope='module')
def cluster(tmp_path_factory):
    """The scheduler file of a cluster, and its two workers."""
    folder = tmp_path_factory.mktemp('cluster')
    file = folder / 'scheduler.json'
    with ExitStack() as stack:

        def start(*arguments):
            process = stack.enter_context(subprocess.Popen(
                [sys.executable, '-m', 'dask', *arguments, '--scheduler-file', str(file)],
                cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}))
            stack.callback(process.kill)
            return process

        start('scheduler', '--port', '0', '--no-dashboard')
        workers = [
            start('worker', '--nthreads', '1', '--no-nanny', '--no-dashboard') for _ in range(2)]
        deadline = time.monotonic() + 60.0
        while not file.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        yield file, workers


def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(cluster, tmp_path):
    file, workers = cluster
    names = [f'bag{i:02}' for i in range(12)]
    jobs = jobs_of(tmp_path, **{
        name: {3: 'bug', 4: 'wrong'}.get(i, 'slow') for i, name in enumerate(names)})
    task = ToldTask(tmp_path / 'diary')
    heard = []

    class Killing(Silence):
        def add(self, outcome):
            heard.append(outcome.name)
            if len(heard) == 5:
                workers[0].kill()

    with Ledger(tmp_path / 'out', {}, task.remove) as ledger:
        pool = DaskCluster(str(file))
        assert run_fleet(task, jobs, ledger, pool, Killing())
        outcomes = ledger.outcomes
    assert sorted(heard) == names
    assert workers[0].wait(10.0) < 0
    assert [name for name in names if outcomes[name].status != 'ok'] == ['bag03', 'bag04']
    assert "KeyError: 'of ours'" in outcomes['bag03'].status
    assert outcomes['bag04'].status == 'wrong'
    # One had begun where the worker was killed, and was begun anew; and perhaps one that was done
    # there and not fetched yet.
    begun = [word for word in task.diary.read_text().split() if word != 'warm-up']
    assert set(begun) == set(names)
    assert len(begun) <= len(names) + 2


def test_no_scheduler_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr('hodyn_ros.fleet.dask_cluster._TIMEOUT', 0.5)
    with pytest.raises(HodynError, match='no Dask scheduler answers there'):
        next(DaskCluster('tcp://127.0.0.1:9').run(
            ToldTask(tmp_path), [], lambda: False, lambda job: None))
    with pytest.raises(HodynError, match='no such scheduler file'):
        DaskCluster(str(tmp_path / 'scheduler.json'))


@pytest.mark.parametrize(('threads', 'said'), [(2, 'several threads'), (1, 'cannot begin')])
def test_workers_that_cannot_be_used_are_one_line(tmp_path, monkeypatch, threads, said):
    """Threads would mix warnings; workers that died of the kernels left a traceback."""
    import distributed

    class Client:
        is_closed = False

        def wait_for_workers(self, *_, **__):
            """Have one."""

        def scheduler_info(self, **_):
            return {'workers': {'tcp://1': {'nthreads': threads, 'host': 'here'}}}

        def submit(self, *_, **__):
            """Take it."""

        def gather(self, _):
            raise distributed.KilledWorker('prepare', SimpleNamespace(address='tcp://1'), 3)

        def close(self):
            self.is_closed = True

    client = Client()
    monkeypatch.setattr(distributed, 'Client', lambda **_: client)
    with pytest.raises(HodynError, match=said):
        next(DaskCluster('tcp://127.0.0.1:9').run(
            ToldTask(tmp_path / 'diary'), [], lambda: False, lambda job: None))
    assert client.is_closed
