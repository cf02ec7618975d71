"""How soon a live node answers joint states, and what it costs.

    python -m benchmarks.node_latency --duration 600 --json node_latency.json
    python -m benchmarks.node_latency --duration 120 --compare

Node, driver and a loop that only sleeps run in processes of their own; the Panda has elastic
joints, follows plans and publishes everything. A state counts as answered when its torque comes
before the next state is sent: a period later, or more where the driver itself was held up, since
it does not hurry to catch up. `wakeup_us` is how late this machine wakes a sleeper up: no round
trip of two processes can be shorter than that. With `--compare` every other segment is driven
through the same node on a SingleThreadedExecutor, with messages made afresh, in the same run.
The node runs under SCHED_FIFO and keeps idle processors from sleeping, by its parameters, unless
`--priority 0` and `--let-sleep`, or where the system does not permit it.
"""
import argparse
from functools import partial
import gc
import json
import os
from pathlib import Path
import subprocess
import sys
import tempfile
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.output_files import write_text
from hodyn_ros.messages import cdr

ROOT = Path(__file__).resolve().parent.parent
PERCENTILES = (50, 99, 99.9)
SEGMENT = 10.0
SETTLING = 1.0
PLAN_SECONDS = 4.0
STIFFNESS = [5000.0] * 4 + [2000.0] * 3
INERTIA = [0.6, 0.6, 0.45, 0.45, 0.2, 0.2, 0.2]
PAGE = os.sysconf('SC_PAGE_SIZE')
TICK = os.sysconf('SC_CLK_TCK')


def percentiles(seconds: Any) -> dict[str, float]:
    """Return percentiles in microseconds."""
    if not len(seconds):
        return {}
    values = np.percentile(np.asarray(seconds) * 1e6, PERCENTILES)
    return {f'p{p:g}': round(float(v), 1) for p, v in zip(PERCENTILES, values, strict=True)}


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has used, s."""
    fields = Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def resident_mb(pid: int) -> float:
    """Return the resident memory of a process, MB."""
    return int(Path(f'/proc/{pid}/statm').read_text().split()[1]) * PAGE / 1e6


class Side:
    """What the driver knows of one node: its topics, its process, and how it did."""

    def __init__(self, ros: Any, node: Any, namespace: str, pid: int) -> None:
        from sensor_msgs.msg import JointState
        from trajectory_msgs.msg import JointTrajectory

        self.pid = pid
        self.round_trips: list[float] = []
        self.sent = self.answered = 0
        self.cpu = self.driven = 0.0
        self.resident: list[float] = []
        self.pending = 0
        self.sent_at = 0.0
        self.counting = False
        self.states = node.create_publisher(JointState, f'/{namespace}/joint_states', ros.qos(1))
        self.plans = node.create_publisher(
            JointTrajectory, f'/{namespace}/feedforward/joint_trajectory', ros.qos(10))
        node.create_subscription(
            JointState, f'/{namespace}/feedforward/torque', self.on_torque, ros.qos(1), raw=True)

    def on_torque(self, data: bytes) -> None:
        """Take an answer."""
        now = time.perf_counter()
        if cdr.stamp(data) == self.pending:
            self.pending = 0
            if self.counting:
                self.answered += 1
                self.round_trips.append(now - self.sent_at)

    def result(self) -> dict[str, Any]:
        """Return the figures."""
        return {
            'answered_share': round(self.answered / max(self.sent, 1), 6),
            'states': self.sent,
            'round_trip_us': percentiles(self.round_trips),
            'cpu_share': round(self.cpu / max(self.driven, 1e-9), 4),
        }


class Driver:
    """Drives the nodes in turns."""

    def __init__(self, rate: float, pids: list[int]) -> None:
        import rclpy
        from rclpy.node import Node
        from rclpy.qos import QoSProfile

        from hodyn_ros import load_robot
        from hodyn_ros.messages.joint_states import JointStateWriter
        from hodyn_ros.ros.spinning import make_executor

        self.qos = partial(lambda depth: QoSProfile(depth=depth))
        rclpy.init()
        self.node = Node('driver')
        self.executor = make_executor()
        self.executor.add_node(self.node)
        self.period = 1.0 / rate
        robot = load_robot('panda')
        limits = robot.limits
        self.home = 0.5 * (limits.position_min + limits.position_max)
        self.joints = [f'fer_{joint}' for joint in robot.joint_names]
        self.writer = JointStateWriter(self.joints)
        self.writer.position[:] = self.home
        self.sides = [Side(self, self.node, f'node{i}', pid) for i, pid in enumerate(pids)]
        self.late: list[float] = []
        self.sign = 1.0

    def wait(self) -> None:
        """Wait until all topics are connected."""
        end = time.monotonic() + 240.0
        while not all(
            side.states.get_subscription_count() and side.plans.get_subscription_count()
            for side in self.sides
        ):
            if time.monotonic() > end:
                raise SystemExit('the nodes did not come up')
            self.executor.spin_once(timeout_sec=0.05)

    def drive(self, side: Side, seconds: float) -> None:
        """Send states to one node for a time."""
        begin = due = time.perf_counter()
        cpu = cpu_seconds(side.pid)
        next_plan = begin + 0.5 * SETTLING
        next_look = begin + SETTLING
        while due < begin + seconds:
            while (left := due - time.perf_counter()) > 0.0:
                self.executor.spin_once(timeout_sec=left)
            now = time.time_ns()
            side.counting = due >= begin + SETTLING
            side.sent += side.counting
            side.pending, side.sent_at = now, time.perf_counter()
            if side.counting:
                self.late.append(side.sent_at - due)
            side.states.publish(self.writer.at(now))
            if due >= next_look:
                side.resident.append(resident_mb(side.pid))
                next_look += 1.0
            if due >= next_plan:
                side.plans.publish(self.plan())
                next_plan += PLAN_SECONDS + 0.5
            # A driver that was held up goes on from there: each state gets its time.
            held_up = side.sent_at - due > 0.5 * self.period
            due = self.period + (side.sent_at if held_up else due)
        side.counting = False
        side.cpu += cpu_seconds(side.pid) - cpu
        side.driven += time.perf_counter() - begin

    def plan(self) -> Any:
        """Return a trajectory, there or back."""
        from builtin_interfaces.msg import Duration
        from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

        self.sign = -self.sign
        goal = self.home + 0.1 * self.sign
        return JointTrajectory(joint_names=self.joints, points=[
            JointTrajectoryPoint(
                positions=goal.tolist(), time_from_start=Duration(sec=int(PLAN_SECONDS)))])


def drive(duration: float, rate: float, pids: list[int]) -> dict[str, Any]:
    """Drive the nodes for a time each, in turns, and return the figures."""
    driver = Driver(rate, pids)
    driver.wait()
    for side in driver.sides:
        driver.drive(side, 2.0)
        side.sent = side.answered = 0
        side.cpu = side.driven = 0.0
        side.round_trips, side.resident = [], []
    driver.late = []
    gc.collect()
    gc.freeze()
    segment = duration if len(pids) == 1 else min(SEGMENT, duration)
    for _ in range(max(1, round(duration / segment))):
        for side in driver.sides:
            driver.drive(side, segment)
    results = {
        name: side.result()
        for name, side in zip(('node', 'plain'), driver.sides, strict=False)}
    resident: NDArray[np.float64] = np.array(driver.sides[0].resident)
    settled = 60 if duration >= 120.0 else max(len(resident) // 10, 1)
    return {
        **results.pop('node'),
        'rss_growth_mb': round(float(resident[-1] - resident[min(settled, len(resident) - 1)]), 3),
        'driver_late_us': percentiles(driver.late),
        **results,
    }


def sleep_loop(seconds: float, period: float) -> dict[str, float]:
    """Return how late sleeps end."""
    late = []
    due = time.perf_counter()
    end = due + seconds
    while due < end:
        due += period
        time.sleep(max(due - time.perf_counter(), 0.0))
        now = time.perf_counter()
        late.append(now - due)
        due = max(due, now)
    return percentiles(late)


def plain_node() -> int:
    """Run the node as one would write it first: one more executor thread, messages made afresh."""
    from rclpy.executors import SingleThreadedExecutor
    from sensor_msgs.msg import JointState

    from hodyn_ros.ros import outputs, spinning
    from hodyn_ros.ros.feedforward_node import main

    class FreshWriter(outputs.JointStateWriter):
        """Makes a message each time that it is asked for one."""

        def at(self, stamp: int) -> JointState:
            message = JointState(
                name=list(self._names), position=self.position.tolist(),
                velocity=self.velocity.tolist(), effort=self.effort.tolist())
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
            return message

        def __init__(self, names: Any) -> None:
            self._names = list(names)
            self.position, self.velocity, self.effort = np.zeros((3, len(self._names)))

    outputs.JointStateWriter = FreshWriter
    spinning.make_executor = SingleThreadedExecutor
    return main(['plain', *sys.argv[1:]])


def start(role: list[str], environment: dict[str, str], **options: Any) -> subprocess.Popen[str]:
    """Start a process of this benchmark."""
    return subprocess.Popen(
        [sys.executable, *role], cwd=ROOT, env=environment, text=True, **options)


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Start everything, return the figures, end everything."""
    environment = {
        **os.environ, 'PYTHONPATH': f'{ROOT}{os.pathsep}{os.environ.get("PYTHONPATH", "")}',
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
        'ROS_DOMAIN_ID': os.environ.get('ROS_DOMAIN_ID', str(10 + os.getpid() % 90)),
    }
    roles = [['-m', 'hodyn_ros.ros.feedforward_node']]
    if options.compare:
        roles.append(['-m', 'benchmarks.node_latency', '--role', 'plain'])
    with tempfile.TemporaryDirectory() as folder:
        environment['ROS_LOG_DIR'] = folder
        processes = []
        try:
            for i, role in enumerate(roles):
                arguments = [
                    '--ros-args', '-r', f'__ns:=/node{i}',
                    # Its arm stays where it is, whatever the plans say.
                    '-p', 'tracking_tolerance:=[-1.0]',
                    '-p', f'spring_stiffness:={STIFFNESS}', '-p', f'motor_inertia:={INERTIA}',
                    '-p', f'realtime_priority:={options.priority}',
                    '-p', f'keep_awake:={str(not options.let_sleep).lower()}',
                    '--log-level', 'warn']
                processes.append(start([*role, *arguments], environment))
            pids = [str(process.pid) for process in processes]
            common = ['-m', 'benchmarks.node_latency', '--duration', str(options.duration),
                      '--rate', str(options.rate)]
            sleeper = start(
                [*common, '--role', 'sleep'], environment, stdout=subprocess.PIPE)
            processes.append(sleeper)
            driver = start(
                [*common, '--role', 'drive', '--pids', *pids], environment,
                stdout=subprocess.PIPE)
            processes.append(driver)
            driven, _ = driver.communicate()
            if driver.returncode != 0:
                raise SystemExit('the driver failed')
            slept, _ = sleeper.communicate()
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()
    return {
        'rate': options.rate, 'duration': options.duration,
        'keep_awake': not options.let_sleep, 'realtime_priority': options.priority,
        **json.loads(driven),
        'wakeup_us': json.loads(slept)}


def main() -> int:
    """Measure, print, and write what was found."""
    if '--role' in sys.argv and sys.argv[sys.argv.index('--role') + 1] == 'plain':
        del sys.argv[1:3]
        return plain_node()
    parser = argparse.ArgumentParser(description=(__doc__ or '').splitlines()[0])
    parser.add_argument('--duration', type=float, default=60.0, help='s, of each node')
    parser.add_argument('--rate', type=float, default=1000.0, help='of joint states, Hz')
    parser.add_argument('--json', type=Path, help='file for the figures')
    parser.add_argument('--compare', action='store_true', help='with a plain node, in turns')
    parser.add_argument(
        '--priority', type=int, default=60, help='of SCHED_FIFO for the node; 0 for none')
    parser.add_argument(
        '--let-sleep', action='store_true', help='let idle processors sleep: keep_awake:=false')
    parser.add_argument('--role', choices=('drive', 'sleep'), help=argparse.SUPPRESS)
    parser.add_argument('--pids', type=int, nargs='*', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.role == 'drive':
        print(json.dumps(drive(options.duration, options.rate, options.pids)))
        return 0
    if options.role == 'sleep':
        print(json.dumps(sleep_loop(options.duration, 1.0 / options.rate)))
        return 0
    figures = measure(options)
    print(json.dumps(figures, indent=2))
    if options.json is not None:
        write_text(options.json, json.dumps(figures, indent=2) + '\n', force=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
