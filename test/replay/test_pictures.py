"""Pictures of a report: the same whoever draws them."""
import os
import signal
import threading

import pytest

from hodyn_ros.replay import pictures

pytestmark = pytest.mark.fast


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
