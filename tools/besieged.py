"""A live node and its driver, whose arm follows what the node publishes, with all it may send."""
from collections.abc import Callable, Generator
import contextlib
import heapq
import itertools
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
from cycle_watch import Limits, Watch
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from processes import KILLED, kill, remove_unused
from rcl_interfaces.srv import SetParametersAtomically
import rclpy
from rclpy.context import Context
from rclpy.experimental import EventsExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

NAMES = [f'fer_joint{i}' for i in range(1, 8)]
HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
MAX_TIME_STEP = 0.01
LAG = 0.01  # of the arm behind q_d, s
START_TIMEOUT = 240.0  # kernels may have to be compiled
# A process that is stopped while it holds a lock in shared memory would hold up all others.
TRANSPORT = 'UDPv4'

Steps = Generator[float, None, None]


class Besieged:
    """A node and its driver.

    Parameters
    ----------
    folder : Path
        For the log of the node.
    rate : float
        Of the driver, Hz.

    """

    def __init__(self, folder: Path, rate: float) -> None:
        self.period = 1.0 / rate
        self.limits = Limits.of('panda')
        self.watch = Watch(self.limits, NAMES, MAX_TIME_STEP, self.period)
        self.failures: list[str] = []
        self.largest_delay = 0.0
        self._folder = folder
        self._logs: list[Path] = []
        self._tasks: list[tuple[float, int, Steps]] = []
        self._order = itertools.count()
        self.busy = 0
        self._heard = 0
        self.restarting = self.starting = False
        self._judge_at = 0.0
        # The driver's world.
        self.arm = HOME.copy()
        self.target = HOME.copy()
        self.pushed_until = 0.0
        self.silent_until = 0.0
        self.clock_offset = 0
        self.context = Context()
        rclpy.init(context=self.context)
        self._node = Node('driver', context=self.context)
        self._executor = EventsExecutor(context=self.context)
        self._executor.add_node(self._node)
        subscribe, publish = self._node.create_subscription, self._node.create_publisher
        subscribe(JointState, '/feedforward/torque', self._on_torque, QoSProfile(depth=200))
        for topic in ('torque_rate', 'torque_accel'):
            subscribe(
                JointState, f'/feedforward/{topic}', self._on_derivative(topic),
                QoSProfile(depth=200))
        subscribe(DiagnosticStatus, '/feedforward/state', self._on_state, QoSProfile(
            depth=50, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self._states = publish(JointState, '/joint_states', QoSProfile(depth=1))
        self.samples = publish(JointState, '/feedforward/reference', QoSProfile(depth=1))
        self.plans = publish(
            JointTrajectory, '/feedforward/joint_trajectory', QoSProfile(depth=10))
        self.wrenches = publish(
            WrenchStamped, '/feedforward/external_wrench', QoSProfile(depth=1))
        client = self._node.create_client
        self.hold_service = client(Trigger, '/feedforward/hold')
        self.change_state = client(ChangeState, '/feedforward/change_state')
        self.set_parameters = client(
            SetParametersAtomically, '/feedforward/set_parameters_atomically')
        self.process = self.start_node()

    def start_node(self) -> subprocess.Popen:
        self._logs.append(self._folder / f'node{len(self._logs)}.log')
        with self._logs[-1].open('w') as stream:
            return subprocess.Popen(
                [sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--ros-args', '-p',
                 'robot:=panda', '-p', f'max_time_step:={MAX_TIME_STEP}'],
                stdout=stream, stderr=subprocess.STDOUT, cwd=self._folder)

    def _on_torque(self, message: JointState) -> None:
        self._heard += 1
        stamp = message.header.stamp
        self.watch.hear_torque(
            time.monotonic(), stamp.sec * 10**9 + stamp.nanosec, message.name, message.position,
            message.velocity, message.effort)
        self.target = np.array(message.position)

    def _on_derivative(self, topic: str) -> Callable[[JointState], None]:
        def hear(message: JointState) -> None:
            self._heard += 1
            stamp = message.header.stamp
            self.watch.hear_derivative(
                topic, time.monotonic(), stamp.sec * 10**9 + stamp.nanosec,
                np.array(message.effort))
        return hear

    def _on_state(self, message: DiagnosticStatus) -> None:
        self._heard += 1
        reason = next((pair.value for pair in message.values if pair.key == 'reason'), '')
        self.watch.hear_state(time.monotonic(), message.message, reason)

    @property
    def word(self) -> str:
        """What the node says that it does."""
        return self.watch.said[-1].word if self.watch.said else ''

    def now(self, offset: float = 0.0) -> Time:
        """Return the time of the driver's clock."""
        seconds, nanoseconds = divmod(
            time.time_ns() + self.clock_offset + round(offset * 1e9), 10**9)
        return Time(sec=seconds, nanosec=nanoseconds)

    def _tick(self) -> None:
        """Move the arm on by a period and send its state."""
        now = time.monotonic()
        if now > self.pushed_until:
            self.arm += (self.target - self.arm) * (1.0 - np.exp(-self.period / LAG))
        if now < self.silent_until:
            return
        message = JointState(name=NAMES, position=self.arm.tolist())
        message.header.stamp = stamp = self.now()
        self.watch.sent.append(stamp.sec * 10**9 + stamp.nanosec)
        self._states.publish(message)

    def spin(self, until: float) -> None:
        """Be a driver, and do what is due, until a time."""
        due = time.monotonic()
        while (now := time.monotonic()) < until:
            self.largest_delay = max(self.largest_delay, now - due)
            self._tick()
            while self._tasks and self._tasks[0][0] <= now:
                _, _, steps = heapq.heappop(self._tasks)
                try:
                    self.schedule(now + next(steps), steps)
                except StopIteration:
                    self.busy -= 1
            if now > self._judge_at:
                self.watch.judge(now - 1.0)
                self._judge_at = now + 1.0
            # Late ticks are left out, as a driver does that runs on the clock.
            due = max(due + self.period, time.monotonic())
            while (left := due - time.monotonic()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
            heard = -1
            while heard != self._heard:  # whatever waits, lest it be overwritten
                heard = self._heard
                self._executor.spin_once(timeout_sec=0.0)

    def spin_while(self, condition: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while condition():
            if time.monotonic() > end or self.has_died():
                return not condition()
            self.spin(time.monotonic() + 0.05)
        return True

    def schedule(self, due: float, steps: Steps) -> None:
        heapq.heappush(self._tasks, (due, next(self._order), steps))

    def await_start(self) -> None:
        """Wait until a node that was started answers."""
        known = self.watch.counts['torque']
        if not self.spin_while(
                lambda: self.watch.counts['torque'] < known + 20, START_TIMEOUT):
            self.failures.append(f'the node did not come up:\n{self.log[-3000:]}')

    def has_died(self) -> bool:
        return not self.restarting and self.process.poll() is not None

    def check_process(self) -> None:
        if self.has_died():
            self.failures.append(
                f'the node has died, code {self.process.returncode}:\n{self.log[-3000:]}')

    def somewhere(self, rng: np.random.Generator, share: float = 1.0) -> np.ndarray:
        """Return a position within a share of the range."""
        middle = (self.limits.upper + self.limits.lower) / 2
        half = (self.limits.upper - self.limits.lower) / 2
        return middle + share * half * rng.uniform(-1.0, 1.0, 7)

    def send_sample(
        self, publisher: Any, names: list[str], position: np.ndarray, velocity: np.ndarray | None,
        stamp: Time,
    ) -> None:
        message = JointState(name=names, position=[float(x) for x in position])
        if velocity is not None:
            message.velocity = [float(x) for x in velocity]
        message.header.stamp = stamp
        publisher.publish(message)

    def send_plan(
        self, points: list[tuple[float, np.ndarray]], names: list[str] = NAMES,
        stamp: Time | None = None, **fields: list[float],
    ) -> None:
        message = JointTrajectory(joint_names=names, points=[
            JointTrajectoryPoint(
                positions=[float(x) for x in positions], **fields,
                time_from_start=Duration(sec=int(t), nanosec=round(t % 1 * 1e9)))
            for t, positions in points])
        if stamp is not None:
            message.header.stamp = stamp
        self.plans.publish(message)

    def set_payload(self, mass: float, link: str, com: list[float]) -> None:
        inertia = [0.01, 0.0, 0.0, 0.0, 0.01, 0.0, 0.0, 0.0, 0.01] if mass > 0.0 else [0.0] * 9
        batch = [Parameter(name, value=value).to_parameter_msg() for name, value in (
            ('payload_link', link), ('payload_mass', mass), ('payload_com', com),
            ('payload_inertia', inertia))]
        self.set_parameters.call_async(SetParametersAtomically.Request(parameters=batch))

    def ask(self, name: str) -> Any:
        number = getattr(Transition, f'TRANSITION_{name.upper()}')
        return self.change_state.call_async(
            ChangeState.Request(transition=Transition(id=number)))

    @property
    def log(self) -> str:
        """What the present node has logged."""
        return self._logs[-1].read_text(errors='replace')

    def close(self) -> None:
        """End the node and the driver."""
        for path in self._logs:
            if 'Traceback' in (text := path.read_text(errors='replace')):
                self.failures.append(f'a traceback in {path.name}:\n{text[-3000:]}')
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(10.0)
            except subprocess.TimeoutExpired:
                self.failures.append('SIGINT did not end the node within 10 s')
                kill(self.process)
        self._executor.shutdown()
        self._node.destroy_node()
        rclpy.try_shutdown(context=self.context)
        remove_unused(KILLED)
