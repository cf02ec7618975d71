"""The simulated driver: what it sends, what it says of the answers, and of wrong values."""
from collections.abc import Iterator
from itertools import count
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from hodyn_ros import inverse_dynamics, load_robot
from hodyn_ros.ros.simulated_driver import SimulatedDriver, main

pytestmark = pytest.mark.live

TIMEOUT = 120.0
RATE = 100.0


def driver(*parameters: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros.ros.simulated_driver', '--ros-args',
         *(word for parameter in parameters for word in ('-p', parameter))],
        env=dict(os.environ), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


class Answering:
    """Answers every second state with the torque that holds a Panda where it begins."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.states: list[JointState] = []
        self.answered = 0
        self._context = Context()
        rclpy.init(context=self._context)
        self._node = Node('answering', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._torque: np.ndarray | None = None
        self._node.create_subscription(
            JointState, '/joint_states', self._on_state, QoSProfile(depth=100))
        self._publisher = self._node.create_publisher(
            JointState, '/feedforward/torque', QoSProfile(depth=10))
        self._state_publisher = self._node.create_publisher(
            DiagnosticStatus, '/feedforward/state',
            QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.is_answering = True

    def _on_state(self, state: JointState) -> None:
        self.states.append(state)
        is_heard = self._publisher.get_subscription_count() > 0
        if not self.is_answering or len(self.states) % 2 or not is_heard:
            return
        self.answered += 1
        if self._torque is None:
            robot = load_robot('panda')
            q = np.zeros((3, robot.n))
            q[0] = state.position
            self._torque = inverse_dynamics(robot, q)[0]
        self._publisher.publish(JointState(
            header=state.header, name=state.name, position=state.position,
            velocity=[0.0] * len(state.name), effort=self._torque.tolist()))

    def say(self, state: str) -> None:
        self._state_publisher.publish(DiagnosticStatus(message=state))

    def spin(self, seconds: float, states: int = sys.maxsize) -> None:
        """Answer for a time, or until so many states have come."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and len(self.states) < states:
            assert self.process.poll() is None, self.process.stderr.read()
            self._executor.spin_once(timeout_sec=0.02)

    def end(self) -> tuple[int, str]:
        """Have the driver end; return its exit code and what it said."""
        self.process.send_signal(signal.SIGINT)
        _, said = self.process.communicate(timeout=30.0)
        return self.process.returncode, said

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self._context)


@pytest.fixture
def answering(ros_environment: dict[str, str]) -> Iterator:
    """Return a function that starts a driver, and who answers it."""
    started: list[Answering] = []

    def start(*parameters: str) -> Answering:
        started.append(Answering(driver(f'rate:={RATE}', *parameters)))
        return started[-1]

    yield start
    for one in started:
        one.close()


def test_its_arm_is_held_by_the_torque_and_only_answered_states_count(
    answering, tmp_path,
):
    report = tmp_path / 'figures.json'
    node = answering(f'report:={report}')
    node.spin(TIMEOUT, states=5)
    assert len(node.states) >= 5, 'no states came'
    node.spin(TIMEOUT, states=300)
    assert node.answered > 100
    counted = len(node.states)
    node.say('fading')  # what comes after is not what is measured
    node.spin(0.3)
    node.is_answering = False
    node.spin(1.0)
    code, said = node.end()
    assert code == 0, said
    figures = json.loads(report.read_text())
    assert figures['states'] < counted + 60
    assert figures['answered_share'] == pytest.approx(0.5, abs=0.1)
    assert 0.0 <= figures['same_cycle_share'] <= figures['answered_share'] + 0.02
    stamps = np.array([s.header.stamp.sec + s.header.stamp.nanosec * 1e-9 for s in node.states])
    assert (np.diff(stamps) > 0.0).all()
    # What this process saw itself; a busy machine is slower than it was told.
    own = (len(stamps) - 1) / (stamps[-1] - stamps[0])
    assert figures['rate'] == pytest.approx(own, rel=0.2)
    assert own < 1.02 * RATE
    trip = figures['round_trip_us']
    assert 0.0 < trip['p50'] <= trip['p99']
    # The torque holds it, against gravity alone, while it comes.
    way = np.array([s.position for s in node.states[:counted]])
    assert node.states[0].name == [f'fer_joint{i}' for i in range(1, 8)]
    assert np.abs(way[-1] - way[0]).max() < 0.2


def test_figures_that_cannot_be_written_are_told_and_end_nothing(answering, tmp_path):
    node = answering(f'report:={tmp_path / "missing" / "figures.json"}')
    node.spin(TIMEOUT, states=60)
    code, said = node.end()
    assert code == 0
    assert 'no results: ' in said
    assert 'missing' in said
    assert 'Traceback' not in said


def test_without_answers_there_are_no_figures_and_that_is_said(answering, tmp_path):
    report = tmp_path / 'figures.json'
    node = answering(f'report:={report}')
    node.is_answering = False
    node.spin(TIMEOUT, states=30)
    code, said = node.end()
    assert code == 0
    assert 'no results: 0 of ' in said
    assert 'states were answered before the node left' in said
    assert not report.exists()


def test_however_long_it_runs_its_memory_does_not_grow():
    rclpy.init()
    try:
        node = SimulatedDriver()
        stamps = count(1_000_000_000, 1_000_000)
        node.get_clock = lambda: SimpleNamespace(
            now=lambda: SimpleNamespace(nanoseconds=next(stamps)))
        tracemalloc.start()
        used = []
        for states in (2000, 3000):
            for _ in range(states):
                node.tick()
            used.append(tracemalloc.get_traced_memory()[0])
        assert used[1] - used[0] < 50_000  # 3000 states would take 300 kB
    finally:
        tracemalloc.stop()
        node.destroy_node()
        rclpy.shutdown()


@pytest.mark.parametrize('words', [['--help'], ['-h', '--ros-args', '-p', 'rate:=9.0']])
def test_help_starts_nothing(capsys, words):
    assert main(['simulated_driver', *words]) == 0
    said = capsys.readouterr().out
    for parameter in ('robot', 'position', 'rate', 'report'):
        assert f'\n{parameter}:=' in said


@pytest.mark.parametrize(('parameter', 'said'), [
    ('rate:=0.0', 'parameter rate is 0; must be finite and above 0'),
    ('rate:=-1.0', 'parameter rate is -1; must be finite and above 0'),
    ('rate:=.inf', 'parameter rate is inf; must be finite and above 0'),
    ('position:=[.nan, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]', 'parameter position is [nan, 0.0, '),
    ('position:=[0.0, 1.0]', 'parameter position has 2 numbers for 7 joints'),
])
def test_a_wrong_value_is_refused_in_one_line(ros_environment, capfd, parameter, said):
    assert main(['driver', '--ros-args', '-p', parameter]) == 2
    error = capfd.readouterr().err
    assert said in error
    assert 'Traceback' not in error
