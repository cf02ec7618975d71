"""The node `simulated_driver`: a simulated arm in place of a robot and its controller."""
from collections.abc import Sequence
from functools import partial
import json
import math
from pathlib import Path
import sys
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import rclpy
from rclpy.exceptions import ParameterException
from rclpy.executors import Executor
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

from hodyn_ros.common.output_files import write_text
from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.messages.cdr import nanoseconds
from hodyn_ros.messages.joint_states import JointStateWriter
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.files.loader import load_robot
from hodyn_ros.robot.joint_names import driver_names
from hodyn_ros.ros import realtime
from hodyn_ros.ros.outputs import LATCHED_QOS
from hodyn_ros.ros.spinning import run
from hodyn_ros.simulation.control_loops import make_control_loop
from hodyn_ros.simulation.example_motion import home

MAX_PERIODS = 5.0  # largest number of periods in one step of the arm
MAX_TIME_STEP = 10e-3  # largest counted time between ticks, s, as in the node
USAGE = """\
usage: simulated_driver [--ros-args -p NAME:=VALUE …]

Publishes joint_states of a simulated arm, and applies what the node feedforward answers, until
Ctrl-C. Parameters:
robot:=panda        built-in robot, or robot file
position:=[…]       positions at the start, rad or m
rate:=1000.0        states per second, Hz
report:=FILE        write rates and round trips at the end, as JSON"""
KEPT = 1_000_000_000  # time for which sent states are kept without a report, ns
UNANSWERED_AT_END = 5  # last states that are not counted: their answers may not have come


class SimulatedDriver(Node):
    """Steps a simulated arm at a fixed rate, publishes its state, and applies the answers."""

    def __init__(self) -> None:
        super().__init__('simulated_driver')
        robot = load_robot(self.declare_parameter('robot', 'panda').value)
        start = np.array(self.declare_parameter('position', home(robot).tolist()).value)
        if start.shape != (robot.n,):
            raise HodynError(f'parameter position has {start.size} numbers for {robot.n} joints')
        if not np.isfinite(start).all():
            raise HodynError(f'parameter position is {start.tolist()}; must be finite')
        rate: float = self.declare_parameter('rate', 1000.0).value
        if not 0.0 < rate < math.inf:
            raise HodynError(f'parameter rate is {rate:g}; must be finite and above 0')
        self.report: str = self.declare_parameter('report', '').value
        self.period = 1.0 / rate
        self.due = time.perf_counter()  #: Time of the next state, s
        self._loop = make_control_loop(robot, start, self.period)
        self._state = JointStateWriter(driver_names(robot, robot.joint_names))
        self._answers: dict[int, dict[str, JointState]] = {}
        # The arm's time leaves out stalls of this process, as the node's reference does.
        self._arm_clock: ReferenceClock | None = None
        # The arm's time, s, at each state that was sent, by its stamp: for answers and report.
        self._instants: dict[int, float] = {}
        self._last_sent = 0
        self._round_trips: dict[int, int] = {}
        self._publisher = self.create_publisher(JointState, 'joint_states', QoSProfile(depth=1))
        self._left_at: int | None = None
        self.create_subscription(
            DiagnosticStatus, 'feedforward/state', self._on_node_state, LATCHED_QOS)
        for topic in self._loop.topics:
            self.create_subscription(
                JointState, f'feedforward/{topic}', partial(self._on_answer, topic),
                QoSProfile(depth=1))

    def tick(self) -> None:
        """Move the arm by the time since the last tick and publish its state."""
        stamp = self.get_clock().now().nanoseconds
        if self._arm_clock is None:
            self._arm_clock = ReferenceClock(stamp, MAX_TIME_STEP, 0.0)
        before = self._arm_clock.now
        self._arm_clock.move_to(stamp, time.monotonic())
        elapsed = (self._arm_clock.now - before) * 1e-9
        instant = self._instants.get(self._last_sent, 0.0)
        # In few steps, so that they do not delay this process further.
        steps = math.ceil(elapsed / (MAX_PERIODS * self.period))
        for k in range(steps):
            self._loop.step(instant + k * elapsed / steps, elapsed / steps)
        self._state.position[:] = self._loop.q
        self._state.velocity[:] = self._loop.qd
        self._state.effort[:] = self._loop.effort
        self._instants[stamp] = instant + elapsed
        self._last_sent = stamp
        if not self.report:
            while (oldest := next(iter(self._instants))) < stamp - KEPT:
                del self._instants[oldest]
                self._round_trips.pop(oldest, None)
        self._publisher.publish(self._state.at(stamp))

    def results(self) -> dict[str, object]:
        """Return rate and round trips from the first answer until the node was deactivated.

        Raises HodynError when fewer than two states were answered.
        """
        first = next(iter(self._round_trips), self._last_sent)
        last = self._left_at or self._last_sent
        sent = [stamp for stamp in self._instants if first <= stamp <= last][:-UNANSWERED_AT_END]
        trips = np.array([self._round_trips[s] for s in sent if s in self._round_trips])
        if len(trips) < 2:
            raise HodynError(
                f'{len(trips)} of {len(self._instants)} states were answered before the node left')
        return {
            'states': len(sent),
            'rate': (len(sent) - 1) / ((sent[-1] - sent[0]) * 1e-9),
            'answered_share': len(trips) / len(sent),
            'same_cycle_share': np.count_nonzero(trips < self.period * 1e9) / len(sent),
            'round_trip_us': {
                name: float(np.percentile(trips, q)) / 1e3
                for name, q in (('p50', 50), ('p99', 99))},
        }

    def _on_node_state(self, message: DiagnosticStatus) -> None:
        if message.message == 'fading' and self._instants:
            self._left_at = self._last_sent

    def _on_answer(self, topic: str, message: JointState) -> None:
        """Keep one message of an answer; apply the answer once it has all messages of a stamp."""
        stamp = nanoseconds(message.header.stamp)
        if stamp not in self._instants:
            return
        if topic == 'torque':
            self._round_trips[stamp] = self.get_clock().now().nanoseconds - stamp
        answer = self._answers.setdefault(stamp, {})
        answer[topic] = message
        if len(answer) == len(self._loop.topics):
            self._loop.command({
                name: np.array([part.position, part.velocity, part.effort])
                for name, part in answer.items()}, self._instants[stamp])
            self._answers = {s: a for s, a in self._answers.items() if s > stamp}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the driver until a signal ends it; parameter `report` names a file for the results."""
    if {'-h', '--help'} & set(sys.argv[1:] if argv is None else argv):
        print(USAGE)
        return 0
    try:
        return run(_make, lambda node: True, _finish, argv, _step)
    except (HodynError, OSError, ParameterException) as error:
        rclpy.logging.get_logger('hodyn').fatal(str(error))
        return 2


def _make() -> SimulatedDriver:
    node = SimulatedDriver()
    realtime.freeze_gc()
    return node


def _step(executor: Executor, node: SimulatedDriver) -> None:
    """Publish a state, and take answers until the next one is due."""
    node.tick()
    # After a late wake-up the grid moves: a real driver does not send two states at once.
    now = time.perf_counter()
    node.due = node.period + (now if now - node.due > node.period else node.due)
    while (left := node.due - time.perf_counter()) > 0:
        executor.spin_once(timeout_sec=left)


def _finish(node: SimulatedDriver) -> None:
    if not node.report:
        return
    try:
        write_text(Path(node.report), json.dumps(node.results()), force=True)
    except (HodynError, OSError) as error:
        node.get_logger().error(f'no results: {error}')


if __name__ == '__main__':
    sys.exit(main())
