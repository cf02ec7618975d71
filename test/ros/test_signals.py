"""Signals at any time: what moves is brought to an end in order, what does not is left at once."""
import os
import signal
import subprocess
import sys
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from live_motions import NOW, assert_no_step, in_motion, leap
from processes import KILLED, assert_end, children, is_alive, shared_memory, unused
import pytest

from hodyn_ros.ros.spinning import END_TIMEOUT, GRACE

pytestmark = pytest.mark.live

AT_ONCE = GRACE + END_TIMEOUT + 2.0  # s, with slack for a busy machine
PATIENCE = 60.0
# A configuration that hangs in foreign code, where the interpreter does not see any signal.
DEAF = """
import ctypes
import sys

from hodyn_ros.ros import feedforward_node


def hang(*_):
    print('deaf', flush=True)
    lock = ctypes.create_string_buffer(64)
    for _ in range(2):
        ctypes.CDLL(None).pthread_mutex_lock(lock)  # for ever, the second time


feedforward_node.warm_up = hang
sys.exit(feedforward_node.main(['node', *sys.argv[1:]]))
"""


def wait_until(is_so, process, timeout=PATIENCE):
    end = time.monotonic() + timeout
    while not is_so():
        assert time.monotonic() < end
        assert process.poll() is None
        time.sleep(0.02)


def assert_ends_at_once(process: subprocess.Popen, number: int) -> int:
    """End a process by a signal; return its code when nothing of it is left."""
    helpers, files = children(process.pid), shared_memory(process.pid)
    process.send_signal(number)
    code = process.wait(AT_ONCE)
    assert_end(helpers, AT_ONCE)
    if code == 0:
        assert not unused(files)
    else:
        KILLED.update(files)
    return code


@pytest.mark.parametrize(
    ('start', 'number'), [('by itself', signal.SIGINT), ('by a service', signal.SIGTERM)])
def test_a_node_that_compiles_ends_at_once(live, tmp_path, monkeypatch, start, number):
    """It went on for as long as it compiled, 55 s on a busy machine."""
    monkeypatch.setenv('NUMBA_CACHE_DIR', str(tmp_path / 'kernels'))
    node = live(f'auto_activate:={"true" if start == "by itself" else "false"}', ready=False)
    if start == 'by a service':
        client = node.node.create_client(ChangeState, '/feedforward/change_state')
        assert node.spin_until(client.service_is_ready, PATIENCE), node.log
        client.call_async(ChangeState.Request(
            transition=Transition(id=Transition.TRANSITION_CONFIGURE)))
    wait_until(lambda: list(tmp_path.glob('kernels/**/*.nbc')), node.process)
    # The first start on a machine was silent for 13 to 18 s.
    assert 'the kernels are compiled, once on this machine' in node.log
    assert assert_ends_at_once(node.process, number) in (0, 128 + number), node.log
    assert 'Traceback' not in node.log


def test_a_node_deaf_to_signals_ends_all_the_same(live):
    node = live(ready=False, command=[sys.executable, '-c', DEAF])
    wait_until(lambda: 'deaf' in node.log, node.process)
    assert assert_ends_at_once(node.process, signal.SIGTERM) == 128 + signal.SIGTERM


@pytest.mark.parametrize(('state', 'number'), [
    ('unconfigured', signal.SIGINT), ('inactive', signal.SIGTERM), ('waiting', signal.SIGHUP)])
def test_a_node_that_does_nothing_ends_at_once(live, state, number):
    node = live(f'auto_activate:={"true" if state == "waiting" else "false"}', ready=False)
    if state == 'inactive':
        assert node.change('configure')
    node.wait_log('for a joint state' if state == 'waiting' else '', PATIENCE)
    if state == 'unconfigured':
        assert node.spin_until(
            lambda: node.node.count_services('/feedforward/change_state') > 0, PATIENCE)
    assert assert_ends_at_once(node.process, number) == 0
    assert 'Traceback' not in node.log


def test_a_terminal_that_is_closed_in_mid_motion_is_an_end_in_order(live, home):
    """SIGHUP killed the node, and the driver kept the last torque."""
    node = live('fade:=0.5')
    in_motion(node, home)
    assert node.end(signal.SIGHUP) == 0
    node.settle()
    assert node.states[-3:] == ['stopping', 'fading', 'inactive']
    assert_no_step(node)


def test_a_hang_up_that_nohup_has_ignored_stays_so(live, home):
    node = live(ready=False, command=[
        'nohup', sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--ros-args', '-p',
        'robot:=panda'])
    node.wait_ready()
    node.process.send_signal(signal.SIGHUP)
    node.first_answer(NOW, home)
    assert node.process.poll() is None


def test_one_signal_that_comes_twice_is_one_and_the_motion_ends_in_order(live, home):
    """A terminal and a launcher may both pass one Ctrl-C on."""
    node = live('fade:=0.5')
    in_motion(node, home)
    for number in (signal.SIGINT, signal.SIGINT, signal.SIGTERM):
        node.process.send_signal(number)
    assert node.spin_until(lambda: node.process.poll() is not None, AT_ONCE)
    assert node.process.returncode == 0
    node.settle()
    assert node.states[-3:] == ['stopping', 'fading', 'inactive']
    assert_no_step(node)


def test_a_second_signal_as_the_process_ends_makes_no_failure_of_it(live, home):
    """Within half a second after an end in order, it ended the interpreter with -2."""
    node = live(own=True)
    node.first_answer(NOW, home)
    node.process.send_signal(signal.SIGINT)
    end = time.monotonic() + PATIENCE
    while node.process.poll() is None:
        assert time.monotonic() < end, node.log
        time.sleep(0.01)
        if 'inactive' in node.log:
            node.process.send_signal(signal.SIGINT)
    assert node.process.returncode == 0, node.log


def test_a_second_signal_ends_an_end_that_takes_long(live, home):
    node = live('fade:=10.0', 'tracking_tolerance:=[0.0]')
    node.first_answer(NOW, home)
    leap(node, [x + 0.3 for x in home], NOW + 0.004)
    assert 'held where it is' in node.log
    node.process.send_signal(signal.SIGINT)
    assert node.spin_until(lambda: node.states[-1] == 'fading', PATIENCE)
    node.spin(1.2)
    assert node.process.poll() is None
    assert assert_ends_at_once(node.process, signal.SIGTERM) == 128 + signal.SIGTERM
    assert 'inactive' not in node.states
    assert 'Traceback' not in node.log


def test_a_simulated_driver_that_loads_ends_at_once(ros_environment):
    driver = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros.ros.simulated_driver'],
        env={**os.environ, **ros_environment}, stderr=subprocess.PIPE)
    wait_until(lambda: shared_memory(driver.pid), driver)
    assert assert_ends_at_once(driver, signal.SIGINT) == 0
    assert b'Traceback' not in driver.stderr.read()


def test_no_node_of_a_demo_that_is_killed_goes_on(ros_environment, tmp_path):
    demo = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', 'demo', '--output', str(tmp_path / 'out')],
        cwd=tmp_path, env={**os.environ, **ros_environment}, stderr=subprocess.DEVNULL)
    wait_until(lambda: len(children(demo.pid)) == 2, demo)
    helpers = children(demo.pid)
    # As it is in full swing, too: the node has its planner then.
    wait_until(lambda: all(map(shared_memory, helpers)), demo)
    helpers += [pid for helper in helpers for pid in children(helper)]
    files = set().union(*map(shared_memory, [demo.pid, *helpers]))
    demo.kill()
    demo.wait()
    assert_end(helpers, AT_ONCE)
    KILLED.update(files)


COMPILER = """
import os, signal, time
from hodyn_ros.ros.spinning import Interrupted, StopFlag
stop = StopFlag()
stop.is_moving = lambda: False
def NAME():
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.2)
    print('handed over')
NAME.__code__ = NAME.__code__.replace(co_filename='FILE')
try:
    NAME()
    time.sleep(60)
except Interrupted:
    print('interrupted')
"""


@pytest.mark.parametrize(('name', 'file'), [
    ('_raw_object_cache_notify', 'codegen.py'), ('__del__', 'object.py'),
    ('add_module', 'llvmlite/binding/executionengine.py')])
def test_a_signal_where_an_exception_does_harm_waits_until_that_returns(name, file):
    """Guards code 2, tracebacks and -11.

    An exception in a callback or a finalizer is only printed; one in the binding of LLVM, before
    it notes that memory was handed over, lets this be released twice.
    """
    run = subprocess.run(
        [sys.executable, '-c', COMPILER.replace('NAME', name).replace('FILE', file)],
        capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout.split('\n') == ['handed over', 'interrupted', '']
    assert run.stderr == ''


def executable(name: str, **environment: str) -> subprocess.Popen:
    """Start an executable as its script does."""
    code = f'import sys; from hodyn_ros.ros.executables import {name}; sys.exit({name}())'
    return subprocess.Popen(
        [sys.executable, '-c', code], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env={**os.environ, **environment})


@pytest.mark.parametrize(('name', 'number'), [
    ('feedforward', signal.SIGINT), ('simulated_driver', signal.SIGTERM),
    ('feedforward', signal.SIGHUP)])
def test_a_signal_during_imports_is_an_end_without_a_traceback(ros_environment, name, number):
    for delay in (0.15, 0.4, 0.8):
        process = executable(name, **ros_environment)
        time.sleep(delay)
        process.send_signal(number)
        said = process.communicate(timeout=AT_ONCE)[1]
        # Before the handler stands the interpreter has not come to a line of this package yet.
        assert process.returncode == 0 or 'hodyn_ros/' not in said, said
        assert 'Traceback' not in said or 'hodyn_ros/' not in said, said


@pytest.mark.parametrize('name', ['feedforward', 'simulated_driver'])
def test_an_executable_without_ros_says_what_to_install(name):
    """`pip install .` alone brings the executables, and they ended in a traceback."""
    code = (
        'import sys; sys.modules["rclpy"] = sys.modules["diagnostic_msgs"] = None\n'
        f'from hodyn_ros.ros.executables import {name}; sys.exit({name}())')
    run = subprocess.run([sys.executable, '-c', code], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert run.stderr.startswith(f'{name}: ')
    assert "pip install 'hodyn_ros[ros,sim]'" in run.stderr
    assert run.stderr.count('\n') == 1


def test_a_node_ends_with_the_launch_that_started_it(ros_environment, tmp_path):
    """SIGTERM ends a launch without its nodes, which went on answering."""
    code = (
        'import subprocess, sys, time\n'
        'node = subprocess.Popen([sys.executable, "-c", "from hodyn_ros.ros.executables import '
        'feedforward; feedforward()"], stderr=subprocess.DEVNULL)\n'
        'print(node.pid, flush=True)\n'
        'time.sleep(100.0)\n')
    launch = subprocess.Popen(
        [sys.executable, '-c', code], stdout=subprocess.PIPE, text=True,
        env={**os.environ, **ros_environment, 'HODYN_END_WITH_PARENT': '1'})
    pid = int(launch.stdout.readline())
    KILLED.update(shared_memory(pid))
    time.sleep(2.0)
    assert is_alive(pid)
    launch.kill()
    launch.wait()
    end = time.monotonic() + 20.0
    while is_alive(pid) and time.monotonic() < end:
        time.sleep(0.1)
    assert not is_alive(pid)
