"""How far many files are, as it is told: by lines in a pipe, by a bar on a terminal."""
import sys
from types import SimpleNamespace

import pytest

from hodyn_ros.cli import fleet_progress
from hodyn_ros.cli.fleet_progress import FleetProgress, _duration
from hodyn_ros.fleet.task import Outcome


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test sets: its `now`, s."""
    found = SimpleNamespace(now=1000.0)
    monkeypatch.setattr(fleet_progress, 'time', SimpleNamespace(monotonic=lambda: found.now))
    return found


def lines(capsys):
    captured = capsys.readouterr()
    assert captured.out == ''
    return captured.err.splitlines()


def test_a_pipe_gets_a_line_now_and_then_and_one_for_each_fault(capsys, clock):
    with FleetProgress('replay', 'messages') as progress:
        progress.start(
            [Outcome('x', 'ok'), Outcome('y', 'torn')],
            {'a': 100, 'b': 300, 'c': 300, 'd': 100})
        assert lines(capsys) == ['hodyn replay: 2 of 6 files are done already']
        clock.now += 9.0
        progress.add(Outcome('a', 'ok', messages=2400))
        assert lines(capsys) == []
        clock.now += 3.0
        # What is left is told by the bytes: 700 of 800, after 12 s; as the rate, of this run.
        progress.add(Outcome('d', 'ok', messages=9600))
        assert lines(capsys) == [
            'hodyn replay: 4 of 6 files, 1,000 messages/s, 36 s left, 1 failed']
        progress.add(Outcome('b', 'is torn'))
        assert lines(capsys) == ['hodyn replay: b: is torn']
        clock.now += 12.0
        progress.add(Outcome('c', 'an error', messages=0, traceback='Traceback: why'))
        assert lines(capsys) == ['hodyn replay: c: an error', 'hodyn replay: Traceback: why']
        clock.now += 11.0
        progress.add(Outcome('c', 'ok'))
        (line,) = lines(capsys)
        assert 'left' not in line
        assert line.endswith(' 3 failed')
        progress.stop()
        assert lines(capsys) == [
            'hodyn replay: finishing the files that are begun; Ctrl-C again ends at once']


def test_files_of_no_size_are_counted(capsys, clock):
    with FleetProgress('check', 'points') as progress:
        progress.start([Outcome('x', 'ok')], dict.fromkeys('abcd', 0))
        clock.now += 3600.0
        progress.add(Outcome('a', 'ok', messages=7200))
    assert lines(capsys)[1:] == ['hodyn check: 2 of 5 files, 2 points/s, 3 h 0 min left']


def test_nothing_is_said_of_earlier_runs_where_there_were_none(capsys, clock):
    with FleetProgress('check', 'points') as progress:
        progress.start([], {'a': 1})
    assert lines(capsys) == []


def test_a_terminal_gets_a_bar_that_is_gone_at_the_end(capsys, clock, monkeypatch):
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: True)
    for name, value in (('COLUMNS', '120'), ('TERM', 'xterm'), ('TTY_COMPATIBLE', '1')):
        monkeypatch.setenv(name, value)
    with FleetProgress('replay', 'messages') as progress:
        progress.start([Outcome('x', 'ok')], {'a': 100, 'b': 100})
        clock.now += 30.0
        progress.add(Outcome('a', '[torn] at its end', messages=600))
        # It is of rich's own thread, but drawn at the end at the latest.
    said = capsys.readouterr().err
    assert 'hodyn replay: 1 of 3 files are done already' in said
    assert 'hodyn replay: a: [torn] at its end' in said
    assert '2 of 3 files, 20 messages/s, 30 s left, 1 failed' in said
    # The line of the bar is erased, and the cursor is there again.
    assert said.rindex('\x1b[2K') > said.rindex('2 of 3 files')
    assert '\x1b[?25h' in said


@pytest.mark.parametrize(('seconds', 'told'), [
    (0.4, '0 s'), (59.4, '59 s'), (59.6, '1 min 0 s'), (3599.0, '59 min 59 s'),
    (3600.0, '1 h 0 min'), (2 * 3600.0 + 184.0, '2 h 3 min'), (30 * 3600.0, '30 h 0 min')])
def test_durations_are_told_as_one_says_them(seconds, told):
    assert _duration(seconds) == told
