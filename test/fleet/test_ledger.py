"""What is done already is known after any end, and what changed since is done again."""
import json
import sys

import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.ledger import LEDGER, Ledger
from hodyn_ros.fleet.outcome import Job, Outcome, failed_by

SETTINGS = {'command': 'replay', 'robot': 'panda 1', 'bandwidth': None}


@pytest.fixture
def jobs(tmp_path):
    found = []
    for name in 'abc':
        (tmp_path / name).write_text(name)
        found.append(Job(name, tmp_path / name))
    return found


@pytest.fixture
def out(tmp_path):
    return tmp_path / 'out'


def opened(out, removed=None, force=False, **changed):
    return Ledger(
        out, {**SETTINGS, **changed}, (removed if removed is not None else []).append,
        force=force)


def done(ledger, job, **values):
    ledger.begin(job)
    ledger.add(Outcome(job.name, 'ok', [{'bag': job.name, 'joint': 'j', 'x': 0.1}], **values))


def test_what_is_done_is_known_to_the_next_run_and_what_was_begun_is_not(out, jobs):
    with opened(out) as ledger:
        done(ledger, jobs[0])
        ledger.begin(jobs[1])
        before = ledger.outcomes['a']
    with opened(out) as ledger:
        assert [ledger.is_done(job) for job in jobs] == [True, False, False]
        assert ledger.outcomes == {'a': before}


def test_a_line_cut_in_the_middle_by_a_kill_is_not_there(out, jobs):
    with opened(out) as ledger:
        done(ledger, jobs[0])
        done(ledger, jobs[1])
    whole = (out / LEDGER).read_bytes()
    for cut in range(whole.rindex(b'\n', 0, -1) + 1, len(whole)):
        (out / LEDGER).write_bytes(whole[:cut])
        with opened(out) as ledger:
            assert [ledger.is_done(job) for job in jobs] == [True, False, False]
            done(ledger, jobs[2])
        with opened(out) as ledger:
            assert [ledger.is_done(job) for job in jobs] == [True, False, True]


def test_a_file_that_changed_is_done_again(out, jobs):
    with opened(out) as ledger:
        done(ledger, jobs[0])
        jobs[0].path.write_text('longer')
        assert not ledger.is_done(jobs[0])


def test_what_the_machine_was_to_blame_for_is_tried_again(out, jobs):
    with opened(out) as ledger:
        done(ledger, jobs[0], is_final=False)
        assert not ledger.is_done(jobs[0])


def test_a_machine_without_a_package_is_to_blame_and_not_the_file(jobs, monkeypatch):
    from hodyn_ros.replay.computed_parquet import need_pyarrow

    monkeypatch.setitem(sys.modules, 'pyarrow', None)
    with pytest.raises(HodynError) as caught:
        need_pyarrow()
    assert not failed_by('bag', jobs[0], caught.value).is_final
    assert failed_by('bag', jobs[0], HodynError('torn')).is_final
    assert not failed_by('bag', jobs[0], OSError('disk full')).is_final


def test_results_of_other_settings_are_refused_naming_them_and_replaced_when_forced(out, jobs):
    with opened(out) as ledger:
        done(ledger, jobs[0])
        ledger.begin(jobs[1])
    for changed, said in (
            ({'robot': 'panda 2'}, 'robot was panda 1, now it is panda 2'),
            ({'version': '9'}, 'version was None, now it is 9')):
        with pytest.raises(HodynError, match=said), opened(out, **changed):
            pass
    removed = []
    with opened(out, removed, force=True, robot='panda 2') as ledger:
        assert not ledger.outcomes
    assert removed == ['a', 'b']  # of b something may have been written


def test_what_is_done_again_is_removed_first_and_only_what_was_begun(out, jobs):
    removed = []
    with opened(out) as ledger:
        done(ledger, jobs[0])
    with opened(out, removed) as ledger:
        ledger.forget(jobs[0])
        ledger.forget(jobs[1])
        assert removed == ['a']
    with opened(out) as ledger:  # its result is known no longer, also where the process ended here
        assert not ledger.outcomes


def test_another_command_cannot_be_forced_to_remove_what_it_did_not_write(out, jobs):
    removed = []
    with opened(out) as ledger:
        done(ledger, jobs[0])
    with pytest.raises(HodynError, match='command was replay, now it is annotate'), opened(
            out, removed, force=True, command='annotate'):
        pass
    assert not removed


def test_one_process_at_a_time_writes_to_a_folder(out):
    with opened(out), pytest.raises(HodynError, match='another process'), opened(out):
        pass


def test_a_file_that_is_no_ledger_is_not_overwritten(out):
    out.mkdir()
    for text in ('dear diary\n', '{"date": "today"}\n'):
        (out / LEDGER).write_text(text)
        with pytest.raises(HodynError, match='not a ledger'), opened(out, force=True):
            pass
        assert (out / LEDGER).read_text() == text


def test_another_file_of_the_same_name_is_refused_while_the_first_is_there(out, jobs, tmp_path):
    (tmp_path / 'elsewhere').mkdir()
    other = Job('a', tmp_path / 'elsewhere' / 'a')
    with opened(out) as ledger:
        done(ledger, jobs[0])
        with pytest.raises(HodynError, match='under the name'):
            ledger.check_names([other])
        jobs[0].path.unlink()  # it was moved
        ledger.check_names([other])
        assert not ledger.is_done(other)


def test_each_line_is_json(out, jobs):
    with opened(out) as ledger:
        done(ledger, jobs[0])
    assert [next(iter(json.loads(line))) for line in (out / LEDGER).read_text().splitlines()] == [
        'settings', 'begin', 'done']
