"""Pictures of a report: the same whoever draws them."""
import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

from known_recordings import bag
from processes import assert_end, children
import pytest

from hodyn_ros.replay import pictures


def name_of_process(_):
    return str(os.getpid()).encode()


@pytest.fixture
def drawn(monkeypatch):
    """Return a function that draws four pictures with a number of cores and of threads."""
    def draw(function, cores=2, threads=1):
        monkeypatch.setattr(pictures, 'threads', lambda: cores)
        # Plugins of pytest may have a thread of their own, which waits for a socket.
        monkeypatch.setattr(threading, 'active_count', lambda: threads)
        return pictures._drawn(function, 4)
    return draw


def test_several_processes_draw_all_in_order(drawn):
    assert drawn(lambda order: bytes([order] * 3)) == [bytes([order] * 3) for order in range(4)]
    assert name_of_process(0) not in drawn(name_of_process)


@pytest.mark.parametrize('busy', [{'cores': 1}, {'threads': 2}])
def test_one_core_or_a_process_with_other_threads_draws_itself(drawn, busy):
    assert drawn(name_of_process, **busy) == 4 * [name_of_process(0)]


def test_pictures_are_drawn_though_a_process_was_killed(drawn):
    parent = os.getpid()

    def dies_elsewhere(order):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return bytes([order])

    assert drawn(dies_elsewhere) == [b'\0', b'\1', b'\2', b'\3']


def test_an_error_of_drawing_is_not_hidden(drawn):
    def fails(order):
        raise ValueError(order)

    with pytest.raises(ValueError, match='0'):
        drawn(fails)


@pytest.mark.slow
@pytest.mark.parametrize(('number', 'code', 'delay'), [
    pytest.param(signal.SIGTERM, 143, 0.0, marks=pytest.mark.siege),
    (signal.SIGINT, 130, 0.0), (signal.SIGKILL, -9, 0.02)])
def test_a_replay_ended_as_its_processes_start_leaves_none(tmp_path, number, code, delay):
    """Guards a command that hung, or went on, and drawing processes that waited for ever."""
    command = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', 'replay', str(bag(tmp_path / 'bag')), '--robot',
         'panda', '--output', str(tmp_path / 'out')],
        env=os.environ | {'NUMBA_NUM_THREADS': '2'}, stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    while not (started := children(command.pid)) and command.poll() is None:
        time.sleep(0.001)
    assert started
    time.sleep(delay)
    started = children(command.pid)
    command.send_signal(number)
    try:
        assert command.wait(60) == code
        assert_end(started, 20.0)
    finally:
        command.kill()
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert not (tmp_path / 'out').exists()
