"""Nodes in processes of their own, as `hodyn demo` runs them."""
import os
from pathlib import Path
import signal
import subprocess
import sys
import time

import pytest
import rclpy

from hodyn_ros.plans import child_process
from hodyn_ros.ros import node_processes
from hodyn_ros.ros.node_processes import local_ros, process, spin
from hodyn_ros.ros.spinning import StopFlag

STUBBORN = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('ready', flush=True)
time.sleep(60)
"""
WILLING = """
import signal, sys, time
signal.signal(signal.SIGINT, lambda *_: sys.exit(7))
print('ready', flush=True)
time.sleep(60)
"""


class Executor:
    """Does nothing for as long as it is allowed, on a clock of its own."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        self.waits = []
        self.longest = 60.0
        monkeypatch.setattr(node_processes.time, 'monotonic', lambda: self.now)

    def spin_once(self, timeout_sec):
        assert timeout_sec > 0.0
        self.waits.append(timeout_sec)
        self.now += min(timeout_sec, self.longest)


@pytest.fixture
def executor(monkeypatch):
    return Executor(monkeypatch)


def test_what_is_tried_out_never_reaches_a_robot(monkeypatch):
    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SUBNET')
    with local_ros():
        assert os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] == 'LOCALHOST'
        assert rclpy.ok()
    assert not rclpy.ok()
    with pytest.raises(ValueError, match='in between'), local_ros():
        raise ValueError('in between')
    assert not rclpy.ok()


def test_spinning_lasts_as_long_as_it_was_told(executor):
    assert not spin(executor, 0.25)
    assert executor.now == pytest.approx(100.25)
    assert not spin(executor, -1.0)
    assert executor.now == pytest.approx(100.25)


def test_spinning_ends_when_something_is_so(executor):
    assert spin(executor, 60.0, until=lambda: executor.now > 100.95)
    assert executor.now == pytest.approx(101.0)
    waits = len(executor.waits)
    assert spin(executor, 60.0, until=lambda: True)
    assert len(executor.waits) == waits


def test_meanwhile_it_is_checked_ten_times_a_second_from_the_start(executor):
    looks = []
    executor.longest = 0.01  # something comes to be done
    spin(executor, 1.0, lambda: looks.append(executor.now))
    assert 9 <= len(looks) <= 11
    assert looks[0] <= 100.1 + 1e-9

    def died():
        raise ValueError('it ended')

    with pytest.raises(ValueError, match='it ended'):
        spin(executor, 60.0, died)
    assert executor.now < 101.2


@pytest.mark.parametrize(('text', 'code'), [(STUBBORN, -signal.SIGKILL), (WILLING, 7)])
def test_no_process_outlives_its_context(monkeypatch, text, code):
    def start(module, *arguments, end_signal):
        assert module == 'hodyn_ros.ros.feedforward_node'
        assert arguments == (
            '--ros-args', '-r', '__ns:=/some', '--log-level', 'warn',
            '-p', 'robot:=panda', '-p', 'rate:=9.0')
        assert end_signal == signal.SIGTERM
        return subprocess.Popen([sys.executable, '-c', text], stdout=subprocess.PIPE)

    monkeypatch.setattr(node_processes.child_process, 'start', start)
    monkeypatch.setattr(node_processes, 'STOP_TIMEOUT', 0.3)
    with process('/some', 'feedforward_node', 'robot:=panda', 'rate:=9.0') as running:
        assert running.stdout.readline() == b'ready\n'
    # It is known how it ended: nobody has to wait for it any more.
    assert running.returncode == code
    running.stdout.close()


def test_a_flag_for_signals_leaves_neither_handlers_nor_descriptors():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    descriptors = len(os.listdir('/proc/self/fd'))
    for number in before:
        flag = StopFlag()
        assert not flag.is_set
        os.kill(os.getpid(), number)
        assert flag.is_set
        flag.begin_end()
        flag.close()
    assert {number: signal.getsignal(number) for number in before} == before
    end = time.monotonic() + 10.0
    while len(os.listdir('/proc/self/fd')) > descriptors and time.monotonic() < end:
        time.sleep(0.01)
    assert len(os.listdir('/proc/self/fd')) == descriptors


@pytest.mark.skipif(sys.platform != 'linux', reason='/proc shows what the child has loaded')
@pytest.mark.parametrize('module', ['hodyn_ros.ros.feedforward_node', 'hodyn_ros.plans.worker'])
def test_a_child_that_still_imports_ends_at_ctrl_c_without_a_traceback(module):
    child = child_process.start(module, end_signal=signal.SIGKILL, stderr=subprocess.PIPE)
    while '/numpy/' not in Path(f'/proc/{child.pid}/maps').read_text():
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60.0) == (None, b'')
