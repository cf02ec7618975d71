"""Workers that are killed, that fail and that are stopped: each file has its outcome once."""
import os
from pathlib import Path
import signal
import subprocess
import sys
import threading
import time

from fleet_tasks import Silence, ToldTask, jobs_of
import pytest

from hodyn_ros.fleet.ledger import LEDGER, Ledger
from hodyn_ros.fleet.processes import Processes
from hodyn_ros.fleet.run import run_fleet

pytestmark = pytest.mark.slow


def run(tmp_path, jobs, count=2, is_stopping=lambda: False):
    task = ToldTask(tmp_path / 'diary')
    found = list(Processes(count).run(task, jobs, is_stopping, lambda job: None))
    return {outcome.name: outcome for outcome in found}, (tmp_path / 'diary').read_text().split()


def test_a_worker_that_dies_costs_its_file_one_retry_and_then_a_row(tmp_path):
    jobs = jobs_of(
        tmp_path, a='ok', b='kill', c='ok', d='kill once', e='bug', f='wrong', g='ok')
    found, diary = run(tmp_path, jobs)
    assert sorted(found) == list('abcdefg')
    assert [found[name].status for name in 'acdg'] == ['ok'] * 4
    assert 'SIGKILL, as when memory ran out' in found['b'].status
    assert not found['b'].is_final
    assert "KeyError: 'of ours'" in found['e'].status
    assert 'fleet_tasks.py' in found['e'].traceback
    assert found['f'].status == 'wrong'
    assert [diary.count(name) for name in 'abcdefg'] == [1, 2, 1, 2, 1, 1, 1]
    assert found['b'].rows == [
        {'bag': 'b', 'path': str(tmp_path / 'b'), 'status': found['b'].status}]


def test_kernels_are_compiled_by_one_worker_before_the_others_take_files(tmp_path):
    _, diary = run(tmp_path, jobs_of(tmp_path, a='ok', b='ok', c='ok'))
    assert diary[0] == 'warm-up'


def test_no_file_is_begun_after_a_stop_and_those_that_are_begun_are_finished(tmp_path):
    jobs = jobs_of(tmp_path, **dict.fromkeys('abcdef', 'slow'))
    began = threading.Event()
    task = ToldTask(tmp_path / 'diary')
    found = [
        outcome.name for outcome in
        Processes(2).run(task, jobs, began.is_set, lambda job: began.set())]
    assert found == ['a']


def test_workers_end_with_the_one_that_started_them(tmp_path):
    """A fleet that is killed leaves nothing behind that goes on writing."""
    jobs_of(tmp_path, a='slow', b='slow', c='slow')
    code = (
        'import sys; from pathlib import Path; from fleet_tasks import ToldTask\n'
        'from hodyn_ros.fleet.outcome import Job; from hodyn_ros.fleet.processes import *\n'
        'folder = Path(sys.argv[1]); jobs = [Job(n, folder / n) for n in "abc"]\n'
        'for o in Processes(2).run(ToldTask(folder / "diary"), jobs, lambda: False, print):\n'
        '    pass\n')
    with subprocess.Popen(
            [sys.executable, '-c', code, str(tmp_path)], stdout=subprocess.PIPE,
            env={**os.environ, 'PYTHONUNBUFFERED': '1',
                 'PYTHONPATH': os.pathsep.join(filter(None, sys.path))}) as process:
        assert process.stdout.readline()
        children = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
        assert children
        process.kill()
    deadline = time.monotonic() + 10.0
    while any(Path(f'/proc/{child}/cmdline').exists()
              and Path(f'/proc/{child}/cmdline').read_bytes() for child in children):
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_ctrl_c_finishes_what_is_begun_and_the_next_run_does_the_rest(tmp_path):
    jobs = jobs_of(tmp_path, **dict.fromkeys('abcd', 'slow'))
    task = ToldTask(tmp_path / 'diary')

    class Interrupted(Silence):
        is_told = False

        def add(self, outcome):
            if not self.is_told:
                os.kill(os.getpid(), signal.SIGINT)

        def stop(self):
            self.is_told = True

    with Ledger(tmp_path / 'out', {}, task.remove) as ledger:
        progress = Interrupted()
        assert not run_fleet(task, jobs, ledger, Processes(1), progress)
        assert progress.is_told
        assert len(ledger.outcomes) == 1
    with Ledger(tmp_path / 'out', {}, task.remove) as ledger:
        assert run_fleet(task, jobs, ledger, Processes(2), Silence())
        assert sorted(ledger.outcomes) == list('abcd')
    assert sorted(filter(lambda word: word != 'warm-up', task.diary.read_text().split())) == list(
        'abcd')
    assert (tmp_path / 'out' / LEDGER).read_text().count('"done"') == 4


def test_workers_are_ended_all_at_once_and_not_one_after_the_other(tmp_path, monkeypatch):
    """Ctrl-C twice, while each takes its time to undo what is unfinished."""
    jobs = jobs_of(tmp_path, **dict.fromkeys('abc', 'stubborn'))
    monkeypatch.setattr('hodyn_ros.fleet.processes._END', 2.0)
    begun = []

    class Enough(Exception):
        pass

    def is_stopping():
        diary = tmp_path / 'diary'
        if diary.exists() and len(set(diary.read_text().split()) & set('abc')) == 3:
            begun.append(time.monotonic())
            raise Enough
        return False

    with pytest.raises(Enough):
        list(Processes(3).run(ToldTask(tmp_path / 'diary'), jobs, is_stopping, lambda job: None))
    assert time.monotonic() - begun[0] < 4.0  # one after the other, 6
