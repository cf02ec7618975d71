"""Pictures of a report: the same whoever draws them."""
import os
import signal
import threading

import pytest

from hodyn_ros.replay import pictures


def three_bytes(order):
    return bytes([order] * 3)


def name_of_process(_):
    return str(os.getpid()).encode()


ALL = [three_bytes(order) for order in range(4)]


@pytest.fixture
def two_cores(monkeypatch):
    monkeypatch.setattr(pictures, 'threads', lambda: 2)


@pytest.fixture
def alone(monkeypatch):
    """Plugins of pytest may have a thread of their own, which waits for a socket."""
    monkeypatch.setattr(threading, 'active_count', lambda: 1)


@pytest.mark.fast
def test_several_processes_draw_all_in_order(two_cores, alone):
    assert pictures._drawn(three_bytes, 4) == ALL
    assert str(os.getpid()).encode() not in pictures._drawn(name_of_process, 4)


@pytest.mark.fast
def test_one_core_draws_itself(monkeypatch):
    monkeypatch.setattr(pictures, 'threads', lambda: 1)
    assert set(pictures._drawn(name_of_process, 4)) == {str(os.getpid()).encode()}


@pytest.mark.fast
def test_a_process_with_other_threads_is_not_copied(two_cores):
    end = threading.Event()
    other = threading.Thread(target=end.wait)
    other.start()
    try:
        assert set(pictures._drawn(name_of_process, 4)) == {str(os.getpid()).encode()}
    finally:
        end.set()
        other.join()


@pytest.mark.fast
def test_pictures_are_drawn_though_a_process_was_killed(two_cores, alone):
    parent = os.getpid()

    def dies_elsewhere(order):
        if os.getpid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return three_bytes(order)

    assert pictures._drawn(dies_elsewhere, 4) == ALL


@pytest.mark.fast
def test_an_error_of_drawing_is_not_hidden(two_cores, alone):
    def fails(order):
        raise ValueError(order)

    with pytest.raises(ValueError, match='0'):
        pictures._drawn(fails, 4)
