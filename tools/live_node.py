"""A live node in a process of its own, and a driver's side that talks to it state by state."""
from array import array
from collections.abc import Callable
from pathlib import Path
import signal
import subprocess
import sys
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
from processes import KILLED, USED, kill, shared_memory
from rcl_interfaces.srv import GetParameters, SetParametersAtomically
import rclpy
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

# The first start compiles the kernels.
MATCH_TIMEOUT = 180.0
ANSWER_TIMEOUT = 5.0
SETTLE_TIMEOUT = 60.0
# A node that prints what it compiles.
NOTING_COMPILATION = """
import sys
from numba.core.dispatcher import Dispatcher
compile_for = Dispatcher.compile
def noted(self, signature):
    print('COMPILES', self.py_func.__qualname__, signature, flush=True)
    return compile_for(self, signature)
Dispatcher.compile = noted
from hodyn_ros.ros.feedforward_node import main
sys.exit(main(sys.argv))
"""


def to_stamp(seconds: float) -> Time:
    whole, nanoseconds = divmod(round(seconds * 1e9), 10**9)
    return Time(sec=whole, nanosec=nanoseconds)


class Live:
    """A running `feedforward` node, and the topics around it."""

    def __init__(
        self, log: Path, *parameters: str, joints: list[str], command: list[str] | None = None,
    ) -> None:
        self.joints = joints
        # Tests that send states one by one must not be taken for a driver that fell silent, or
        # for one whose arm does not follow.
        given = (
            'state_timeout:=60.0', 'max_time_step:=0.5', 'tracking_tolerance:=[-1.0]',
            *parameters)
        arguments = [word for parameter in given for word in ('-p', parameter)]
        self._log = log
        self._closed = False
        with log.open('w') as stream:
            self.process = subprocess.Popen(
                command or [
                    sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--ros-args',
                    *arguments],
                stdout=stream, stderr=subprocess.STDOUT, cwd=log.parent)
        self._context = Context()
        rclpy.init(context=self._context)
        self.node = Node('driver', context=self._context)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self.node)
        self.answers: dict[str, dict[int, Any]] = {}
        self.messages: dict[str, list[JointState]] = {}
        self.descriptions: list[DiagnosticStatus] = []
        self.states: list[str] = []
        self.diagnostics: list[dict[str, str]] = []
        for topic in ('torque', 'torque_rate', 'torque_accel'):
            self.expect(topic)
        self.node.create_subscription(
            DiagnosticStatus, '/feedforward/state',
            self._keep_state,
            # Each one counts, also those that come while this process is held up.
            QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL))
        self.state_publisher = self.node.create_publisher(
            JointState, '/joint_states', QoSProfile(depth=1))
        self.trajectory_publisher = self.node.create_publisher(
            JointTrajectory, '/feedforward/joint_trajectory', QoSProfile(depth=10))

    def expect(self, topic: str) -> None:
        """Take a topic for a part of each answer."""
        self.answers[topic] = {}
        self.messages[topic] = []
        self.node.create_subscription(
            JointState, f'/feedforward/{topic}', self._keep(topic), QoSProfile(depth=100))

    def _keep_state(self, message: DiagnosticStatus) -> None:
        self.descriptions.append(message)
        self.states.append(message.message)

    def _keep(self, topic: str) -> Callable[[JointState], None]:
        def keep(message: JointState) -> None:
            stamp = message.header.stamp
            self.answers[topic][stamp.sec * 10**9 + stamp.nanosec] = message
            self.messages[topic].append(message)
        return keep

    @property
    def log(self) -> str:
        return self._log.read_text()

    @property
    def reasons(self) -> list[str]:
        """The reasons of all states that were published."""
        return [value.value for message in self.descriptions for value in message.values]

    @property
    def reason(self) -> str:
        """The reason of the state that was published last."""
        return ''.join(value.value for value in self.descriptions[-1].values)

    def spin_until(self, done: Callable[[], bool], timeout: float) -> bool:
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end or self.process.poll() is not None:
                return done()
            self._executor.spin_once(timeout_sec=0.02)
        return True

    def wait_ready(self) -> None:
        """Wait until it is active, and every topic is matched both ways."""
        assert self.spin_until(
            lambda: bool(
                # Said last of all: of what comes before, a node keeps the newest state only.
                self.states and 'its controller must add' in self.log
                and self.state_publisher.get_subscription_count()
                and self.trajectory_publisher.get_subscription_count()
                and all(self.node.count_publishers(f'/feedforward/{t}') for t in self.answers)),
            MATCH_TIMEOUT), f'the node did not come up:\n{self.log}'

    def send_state(self, time_s: float, positions: list[float], **fields: Any) -> None:
        state = JointState(
            name=fields.pop('name', self.joints), position=[float(x) for x in positions], **fields)
        state.header.stamp = to_stamp(time_s)
        self.state_publisher.publish(state)

    def answer(
        self, time_s: float, positions: list[float], timeout: float = ANSWER_TIMEOUT,
        **fields: Any,
    ) -> list[JointState] | None:
        """Send a state and return the answers with its stamp, or None if one is missing."""
        stamp = to_stamp(time_s)
        key = stamp.sec * 10**9 + stamp.nanosec
        self.send_state(time_s, positions, **fields)
        if not self.spin_until(
                lambda: all(key in found for found in self.answers.values()), timeout):
            return None
        return [found[key] for found in self.answers.values()]

    def first_answer(
        self, time_s: float, positions: list[float], step: float = 0.0, **fields: Any,
    ) -> list[JointState]:
        """Send states until the first is answered: matching is not complete at once.

        Nor is a state believed, the first one or after a silence, until two others agree with it:
        they come before, or a step later each.
        """
        for k in range(20):
            at = time_s + k * step
            for before in () if step else (2e-3, 1e-3):
                self.send_state(at - before, positions, **fields)
                self.spin(0.02)
            found = self.answer(at, positions, timeout=0.5, **fields)
            if found is not None:
                return found
        raise AssertionError(f'no answer:\n{self.log}')

    def send_trajectory(
        self, *points: tuple[float, list[float]], start: float = 0.0, **fields: Any,
    ) -> None:
        message = JointTrajectory(joint_names=fields.pop('names', self.joints), points=[
            JointTrajectoryPoint(
                positions=[float(x) for x in positions],
                time_from_start=Duration(sec=int(t), nanosec=round(t % 1 * 1e9)), **fields)
            for t, positions in points])
        message.header.stamp = to_stamp(start)
        self.trajectory_publisher.publish(message)

    def send_states_until_log(
        self, text: str, time_s: float, positions: list[float], times: int = 1, **fields: Any,
    ) -> float:
        """Send states a millisecond apart until a text is in the log; return the last's time."""
        end = time.monotonic() + MATCH_TIMEOUT
        k = 0
        while time.monotonic() < end:
            if self.log.count(text) >= times:
                return time_s + 1e-3 * (k - 1)
            assert self.answer(time_s + 1e-3 * k, positions, **fields) is not None
            time.sleep(2e-3)
            k += 1
        raise AssertionError(f'no {text!r} in:\n{self.log}')

    def advance(self, start: float, end: float, positions: list[float]) -> None:
        """Let the states' clock run to an end, in strides that are not taken for a jump."""
        for t in np.arange(start, end, 0.2):
            assert self.answer(float(t.round(3)), positions) is not None

    def wait_log(self, text: str, timeout: float = ANSWER_TIMEOUT) -> None:
        assert self.spin_until(lambda: text in self.log, timeout), f'no {text!r} in:\n{self.log}'

    def publisher(
        self, kind: Any, topic: str, node: Node | None = None, *, latched: bool = False,
    ) -> Any:
        """Return a publisher that the node listens to."""
        made = (node or self.node).create_publisher(kind, topic, QoSProfile(
            depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL if latched
            else DurabilityPolicy.VOLATILE))
        assert self.spin_until(lambda: made.get_subscription_count() > 0, MATCH_TIMEOUT)
        return made

    def other_node(self, name: str = 'other') -> Node:
        """Return another node beside the driver's."""
        return Node(name, context=self._context)

    def subscribe(self, kind: Any, topic: str, depth: int = 100) -> list[Any]:
        """Return a list to which messages are added as they come."""
        found: list[Any] = []
        self.node.create_subscription(kind, topic, found.append, QoSProfile(depth=depth))
        assert self.spin_until(lambda: self.node.count_publishers(topic) > 0, MATCH_TIMEOUT)
        return found

    def call(self, kind: Any, service: str, request: Any) -> Any:
        """Call a service of the node and return its response."""
        client = self.node.create_client(kind, f'/feedforward/{service}')
        assert self.spin_until(client.service_is_ready, MATCH_TIMEOUT), self.log
        future = client.call_async(request)
        assert self.spin_until(future.done, MATCH_TIMEOUT), self.log
        self.node.destroy_client(client)
        return future.result()

    def change(self, name: str) -> bool:
        """Ask for a change of the node's life cycle; return whether it happened."""
        number = getattr(Transition, f'TRANSITION_{name.upper()}')
        request = ChangeState.Request(transition=Transition(id=number))
        return bool(self.call(ChangeState, 'change_state', request).success)

    def set(self, **values: Any) -> str:
        """Set parameters as one batch; return why they were refused, empty if they were not."""
        batch = [Parameter(name, value=value).to_parameter_msg() for name, value in values.items()]
        result = self.call(
            SetParametersAtomically, 'set_parameters_atomically',
            SetParametersAtomically.Request(parameters=batch)).result
        return '' if result.successful else result.reason or 'refused'

    def get(self, *names: str) -> list[Any]:
        """Return values of parameters."""
        response = self.call(GetParameters, 'get_parameters', GetParameters.Request(names=names))
        values = [parameter_value_to_python(value) for value in response.values]
        return [value.tolist() if isinstance(value, array) else value for value in values]

    def drive(
        self, seconds: float, positions: list[float], *, until: Callable[[], bool] | None = None,
        ahead: float = 0.0,
    ) -> None:
        """Be a driver at 200 Hz for a time or until something.

        Its clock is that of the machine, or `ahead` of it.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end and not (until is not None and until()):
            self.send_state(time.time() + ahead, positions)
            tick = time.monotonic() + 0.005
            while (left := tick - time.monotonic()) > 0.0:
                self._executor.spin_once(timeout_sec=left)
        assert until is None or until(), self.log

    def spin(self, seconds: float) -> None:
        self.spin_until(lambda: False, seconds)

    def settle(self) -> int:
        """Read what still waits to be read; return how many torques there have been."""
        count = -1
        end = time.monotonic() + SETTLE_TIMEOUT
        while count < len(self.messages['torque']):
            assert time.monotonic() < end, f'the node goes on publishing:\n{self.log}'
            count = len(self.messages['torque'])
            for _ in range(30):
                self._executor.spin_once(timeout_sec=0.01)
        return count

    def kill(self) -> None:
        """End the node as a crash would."""
        kill(self.process)

    def end(self, number: int = signal.SIGINT) -> int:
        """End the node by a signal, listening on, and return its exit code."""
        files = shared_memory(self.process.pid)
        if self.process.poll() is None:
            self.process.send_signal(number)
        end = time.monotonic() + 20.0
        while self.process.poll() is None and time.monotonic() < end:
            self._executor.spin_once(timeout_sec=0.02)
        if self.process.poll() is None:
            kill(self.process)
        USED.update(files - KILLED)
        for _ in range(100):
            self._executor.spin_once(timeout_sec=0.001)
        return self.process.returncode

    def close(self) -> int:
        """End the node by SIGINT and return its exit code."""
        if self._closed:
            return self.process.returncode
        self._closed = True
        code = self.end()
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.try_shutdown(context=self._context)
        return code
