"""A live node in a process of its own, and a driver's side that talks to it state by state."""
from collections.abc import Callable
import time
from typing import Any

from builtin_interfaces.msg import Duration, Time
from diagnostic_msgs.msg import DiagnosticStatus
from node_process import MATCH_TIMEOUT, Client, NodeProcess
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hodyn_ros.feedforward.stream_schedule import PAUSE

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


class Live(Client):
    """A running `feedforward` node, and the topics around it."""

    def __init__(self, of: NodeProcess, joints: list[str]) -> None:
        super().__init__(of, 'driver')
        self.joints = joints
        self.answered_at = 0.0  # stamp of the last state that was answered
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
    def reasons(self) -> list[str]:
        """The reasons of all states that were published."""
        return [value.value for message in self.descriptions for value in message.values]

    @property
    def reason(self) -> str:
        """The reason of the state that was published last."""
        return ''.join(value.value for value in self.descriptions[-1].values)

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
        self.answered_at = time_s
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

    def reach(
        self, time_s: float, positions: list[float], **fields: Any,
    ) -> list[JointState] | None:
        """Let the states' clock run to a time; return the answers to the state then.

        It runs in strides that are not taken for a clock that was set.
        """
        count = 0
        while (left := time_s - self.answered_at) > (stride := min(
                2e-3 * 2 ** (count // 10), 0.02)):
            assert self.answer(time_s - left + stride, positions, **fields) is not None
            time.sleep(1e-3)
            count += 1
        return self.answer(time_s, positions, **fields)

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

    def let_stream(self) -> None:
        """Wait until the node has seen that no stream was under way when it became active."""
        self.spin(PAUSE + 0.1)

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
