"""What is done already is known after any end, and what changed since is done again."""
from itertools import count
import json
import os
from pathlib import Path

from fleet_tasks import ToldTask, jobs_of
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.results import Results
from hodyn_ros.fleet.task import Job

SETTINGS = {'command': 'replay', 'robot': 'panda 1', 'bandwidth': None}


@pytest.fixture
def jobs(tmp_path):
    return jobs_of(tmp_path, a='a', b='bb', c='wrong')


@pytest.fixture
def task(tmp_path):
    return ToldTask(tmp_path / 'out')


def opened(task, force=False, **changed):
    return Results(task, {**SETTINGS, **changed}, force=force)


def do(results, task, *jobs):
    for job in results.take(jobs):
        results.begin(job)
        results.add(task(job.path, job.name))


def left(results, jobs):
    return sorted(job.name for job in results.take(jobs))


def files(folder):
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob('*') if path.is_file())


def test_what_is_done_is_known_to_the_next_run_and_what_was_begun_is_not(task, jobs):
    with opened(task) as results:
        do(results, task, jobs[0])
        results.begin(jobs[1])
        before = results.outcomes
        assert [outcome.name for outcome in before] == ['a']
    with opened(task) as results:
        assert results.outcomes == before
        assert left(results, jobs) == ['b', 'c']
        do(results, task, *jobs[1:])
        assert [outcome.status for outcome in results.outcomes] == ['ok', 'ok', 'wrong']


def test_the_largest_file_is_the_first(task, jobs):
    with opened(task) as results:
        assert [job.name for job in results.take(jobs)] == ['c', 'b', 'a']


def test_ended_at_any_change_of_the_folder_the_next_run_does_the_rest(tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    def run(task, jobs, changes):
        """Return whether it ended before it was killed, at the change of this number."""
        calls = iter(range(changes))

        def watched(function):
            def call(*arguments, **options):
                if next(calls, None) is None:
                    raise Killed
                return function(*arguments, **options)
            return call

        with monkeypatch.context() as patch:
            for name in ('replace', 'unlink'):
                patch.setattr(os, name, watched(getattr(os, name)))
            try:
                with opened(task) as results:
                    do(results, task, *jobs)
            except Killed:
                return False
        return True

    expected = {'a': 'a now', 'b': 'b now'}
    for changes in count():
        folder = tmp_path / str(changes)
        folder.mkdir()
        task = ToldTask(folder / 'out')
        assert run(task, jobs_of(folder, a='a', b='b', c='c'), 99)
        jobs = jobs_of(folder, **expected, c='wrong')
        is_whole = run(task, jobs, changes)
        with opened(task) as results:
            do(results, task, *jobs)
            assert [outcome.status for outcome in results.outcomes] == ['ok', 'ok', 'wrong']
        copies = (task.output / 'copies').iterdir()
        assert {copy.name: copy.read_text() for copy in copies} == expected
        if is_whole:
            break
    assert changes >= 12  # of three files a copy and two notes each are removed and written


def test_missing_changed_and_failed_files_are_done_again(task, jobs):
    with opened(task) as results:
        do(results, task, *jobs)
        assert left(results, jobs) == ['c']
        (task.output / 'copies/a').unlink()
        assert left(results, jobs) == ['a', 'c']
        jobs[1].path.write_text('longer')
        assert left(results, jobs) == ['a', 'b', 'c']
        assert not list(task.output.rglob('copies/*'))
        assert not results.outcomes


def test_results_of_other_settings_are_refused_or_replaced_when_forced(task, jobs):
    with opened(task) as results:
        do(results, task, jobs[0])
        results.begin(jobs[1])
        (task.output / 'copies/b').write_text('of a run that was killed')
    (task.output / 'copies/mine').write_text('mine')
    before = files(task.output)
    for changed, said in (
            ({'robot': 'panda 2'}, 'robot was panda 1, now it is panda 2'),
            ({'version': '9'}, 'version was None, now it is 9')):
        with pytest.raises(HodynError, match=said), opened(task, **changed):
            pass
    assert files(task.output) == before
    with opened(task, force=True, robot='panda 2') as results:
        assert not results.outcomes
    assert files(task.output) == ['copies/mine', 'diary', 'fleet.json']
    with opened(task, robot='panda 2'):
        pass


def test_another_command_cannot_be_forced_to_remove_what_it_did_not_write(task, jobs):
    with opened(task) as results:
        do(results, task, jobs[0])
    before = files(task.output)
    with pytest.raises(HodynError, match='command was replay, now it is annotate'), opened(
            task, force=True, command='annotate'):
        pass
    assert files(task.output) == before


def test_what_no_run_wrote_is_not_touched(task, jobs):
    (task.output / 'copies').mkdir(parents=True)
    mine = task.output / 'copies/b'
    mine.write_text('mine')
    with opened(task) as results:
        do(results, task, jobs[0])
        with pytest.raises(FileExistsError, match='copies/b: was not written by an earlier run'):
            results.take(jobs)
    assert mine.read_text() == 'mine'
    with opened(task, force=True) as results:
        do(results, task, *jobs)
    assert mine.read_text() == 'bb'


def test_one_process_at_a_time_writes_to_a_folder(task):
    with opened(task), pytest.raises(HodynError, match='another process'), opened(task):
        pass


def test_a_folder_of_somebody_else_is_not_taken_for_ours(task, jobs):
    task.output.mkdir()
    mark = task.output / 'fleet.json'
    for text in ('dear diary\n', '{"date": "today"}\n', '[]'):
        mark.write_text(text)
        with pytest.raises(HodynError, match='was not written by hodyn'), opened(task, force=True):
            pass
        assert mark.read_text() == text
    mark.unlink()
    note = task.output / 'outcomes/note.json'
    note.parent.mkdir()
    for text in ('torn', '{}', '{"name": "a"}'):
        note.write_text(text)
        with opened(task, force=True) as results:
            do(results, task, *jobs)
            assert len(results.outcomes) == 3
        assert note.read_text() == text


def test_another_file_of_the_same_name_is_refused_while_the_first_is_there(task, jobs, tmp_path):
    (tmp_path / 'elsewhere').mkdir()
    other = Job('a', tmp_path / 'elsewhere' / 'a')
    other.path.write_text('a')
    with opened(task) as results:
        do(results, task, jobs[0])
        with pytest.raises(HodynError, match='under the name'):
            results.take([other])
        jobs[0].path.unlink()  # it was moved
        assert left(results, [other]) == ['a']


def test_a_folder_that_was_moved_is_gone_on_with(task, jobs, tmp_path):
    with opened(task) as results:
        do(results, task, *jobs[:2])
    moved = ToldTask(Path(task.output).rename(tmp_path / 'moved'))
    with opened(moved) as results:
        assert left(results, jobs[:2]) == []


def test_what_killed_workers_left_is_removed(task, jobs):
    with opened(task):
        (task.output / 'copies/.hodyn-unfinished-1').mkdir(parents=True)
    assert files(task.output) == ['fleet.json']
    assert not list(task.output.rglob('.hodyn*'))


def test_each_file_is_json_for_others(task, jobs):
    with opened(task) as results:
        do(results, task, jobs[0])
    assert json.loads((task.output / 'fleet.json').read_text()) == SETTINGS
    assert json.loads((task.output / 'outcomes/a.json').read_text())['outcome']['rows'] == [
        {'bag': 'a', 'path': str(jobs[0].path), 'status': 'ok', 'joint': 'a', 'x': 0.1}]
