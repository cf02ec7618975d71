"""Workers that are killed, that fail and that are stopped: each file has its outcome once."""
from contextlib import ExitStack, closing
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

from fleet_tasks import ToldTask, command_of, jobs_of, workers_of
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.engine import engine, one_after_another

distributed = pytest.importorskip('distributed')
pytest.importorskip('cryptography')

pytestmark = pytest.mark.slow

NEVER = bool  # False
ENVIRONMENT = {
    **os.environ, 'PYTHONUNBUFFERED': '1',
    'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}


def run(work, folder, is_stopping=NEVER, begin=lambda job: None, **contents):
    """Return the outcomes by name, and what was begun."""
    task = ToldTask(folder / 'out')
    found = list(work(task, jobs_of(folder, **contents), is_stopping, begin))
    assert len({outcome.name for outcome in found}) == len(found)
    return {outcome.name: outcome for outcome in found}, task.begun


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
                env=ENVIRONMENT))
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


@pytest.mark.parametrize('work', [one_after_another, engine(1, None), engine(2, None)])
def test_each_file_has_its_outcome_also_where_it_or_this_program_is_wrong(tmp_path, work):
    found, begun = run(work, tmp_path, a='ok', b='bug', c='wrong', d='ok')
    assert sorted(word for word in begun if word != 'warm-up') == list('abcd')
    assert [found[name].status for name in 'acd'] == ['ok', 'wrong', 'ok']
    assert "KeyError: 'of ours'" in found['b'].status
    assert 'fleet_tasks.py' in found['b'].traceback
    assert found['a'].written == ['copies/a']
    assert found['c'].rows == [{'bag': 'c', 'path': str(tmp_path / 'c'), 'status': 'wrong'}]


def test_a_worker_that_dies_costs_its_file_one_retry_and_then_a_row(tmp_path, capfd):
    """And the others nothing, though workers die all around them."""
    what = {
        'a': 'ok', 'b': 'kill', 'c': 'ok', 'd': 'kill once', 'e': 'kill', 'f': 'kill', 'g': 'ok'}
    found, begun = run(engine(2, None), tmp_path, **what)
    for name, text in what.items():
        assert begun.count(name) == 1 + text.startswith('kill')
        assert found[name].status == (
            'it killed 2 workers, perhaps for lack of memory' if text == 'kill' else 'ok')
        assert found[name].has_result == (text != 'kill')
    assert capfd.readouterr() == ('', '')  # what Dask has to say of it is no user's


def test_kernels_are_compiled_by_one_worker_before_the_others_take_files(tmp_path):
    _, begun = run(engine(2, None), tmp_path, a='ok', b='ok', c='ok')
    assert begun[0] == 'warm-up'
    assert begun.count('warm-up') == 1


@pytest.mark.parametrize('work', [one_after_another, engine(2, None)])
def test_after_a_stop_begun_files_are_finished_and_no_others_begin(tmp_path, work):
    started = []
    found, _ = run(
        work, tmp_path, lambda: bool(started), started.append, **dict.fromkeys('abcdef', 'slow'))
    assert list(found) == ['a']


def test_workers_end_with_the_one_that_started_them(tmp_path):
    """A fleet that is killed leaves nothing behind that goes on writing."""
    script = tmp_path / 'script.py'
    script.write_text(
        'import sys; from pathlib import Path; from fleet_tasks import *\n'
        'from hodyn_ros.fleet.engine import engine\n'
        'if __name__ == "__main__":\n'
        '    folder = Path(sys.argv[1]); jobs = jobs_of(folder, a="endless", b="endless")\n'
        '    list(engine(2, None)(ToldTask(folder / "out"), jobs, bool, print))\n')
    with subprocess.Popen(
            [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE,
            env=ENVIRONMENT) as process:
        assert process.stdout.readline()
        workers = workers_of(process.pid)
        process.kill()
    assert len(workers) == 2
    deadline = time.monotonic() + 10.0
    while any(map(command_of, workers)):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ctrl_c_lets_workers_finish_and_a_second_one_does_not_wait(tmp_path):
    jobs = jobs_of(tmp_path, a='endless', b='endless')
    task = ToldTask(tmp_path / 'out')
    workers = []

    def begin(job):
        if job is jobs[1]:
            while 'a' not in task.begun:
                time.sleep(0.02)
            workers.extend(workers_of(os.getpid()))
            for pid in workers:
                os.kill(pid, signal.SIGINT)  # as a terminal sends it: to all
            time.sleep(0.5)
            assert all(map(command_of, workers))
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), closing(
            engine(2, None)(task, jobs, NEVER, begin)) as outcomes:
        list(outcomes)
    assert len(workers) == 2
    assert not any(map(command_of, workers))


def test_a_worker_killed_in_the_middle_loses_nothing_and_doubles_nothing(cluster, tmp_path):
    file, workers = cluster
    names = [f'bag{i:02}' for i in range(12)]
    heard = []

    def begin(job):
        heard.append(job)
        if len(heard) == 7:
            workers[0].kill()

    found, begun = run(
        engine(None, str(file)), tmp_path, begin=begin, **{
            name: {3: 'bug', 4: 'wrong'}.get(i, 'slow') for i, name in enumerate(names)})
    assert workers[0].wait(10.0) < 0
    assert sorted(found) == names
    assert [name for name in names if found[name].status != 'ok'] == ['bag03', 'bag04']
    # What was at work where the worker was killed was begun anew; and perhaps what was done there
    # and not fetched yet.
    assert len([word for word in begun if word != 'warm-up']) <= len(names) + 2


def test_no_scheduler_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setattr('hodyn_ros.fleet.engine._TIMEOUT', 0.5)
    with pytest.raises(HodynError, match='no Dask scheduler answers there'):
        run(engine(None, 'tcp://127.0.0.1:9'), tmp_path, a='ok')
    with pytest.raises(HodynError, match='no such scheduler file'):
        engine(None, str(tmp_path / 'scheduler.json'))


@pytest.mark.parametrize(('threads', 'said'), [(2, 'several threads'), (1, 'cannot begin')])
def test_workers_that_cannot_be_used_are_one_line(tmp_path, monkeypatch, threads, said):
    """Threads would mix warnings; workers that died of the kernels left a traceback."""
    class Client:
        is_closed = False

        def wait_for_workers(self, *_, **__):
            """Have one."""

        def scheduler_info(self, **_):
            return {'workers': {'tcp://1': {'nthreads': threads, 'host': 'here'}}}

        def submit(self, *_, **__):
            raise distributed.KilledWorker('prepare', SimpleNamespace(address='tcp://1'), 3)

        def close(self):
            self.is_closed = True

    client = Client()
    monkeypatch.setattr(distributed, 'Client', lambda **_: client)
    with pytest.raises(HodynError, match=said):
        run(engine(None, 'tcp://127.0.0.1:9'), tmp_path, a='ok')
    assert client.is_closed


def test_without_dask_files_are_done_here_and_more_at_a_time_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    assert engine(None, None) is engine(1, None) is one_after_another
    for count, scheduler, option in ((2, None, '--jobs 2'), (None, 'tcp://a:1', '--scheduler')):
        with pytest.raises(HodynError, match=rf"{option} needs Dask .*pip install 'hodyn_ros\[cl"):
            engine(count, scheduler)
