"""One run of the demo: the node, the simulated arm and the recorder of their topics."""
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import json
import os
from pathlib import Path
import tempfile
import threading
import time
from typing import Any

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rich.console import Console
from rich.progress import Progress, SpinnerColumn
from rosbags.rosbag2 import StoragePlugin
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.warm_up import is_warm
from hodyn_ros.messages.bag_writer import bag_writer
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.ros.demo.demo_recording import TOPICS, Recorder, Recording
from hodyn_ros.ros.inputs import PLAN_QOS
from hodyn_ros.ros.node_processes import local_ros, process, spin
from hodyn_ros.ros.outputs import LATCHED_QOS
from hodyn_ros.ros.realtime import permitted
from hodyn_ros.ros.spinning import executor_of
from hodyn_ros.simulation.control_loops import HALF_HOLD

NAMESPACE = '/hodyn_demo'
PERIOD = 1e-3  # period of the simulated driver, s
LOOKAHEAD = HALF_HOLD * PERIOD
COMPILING = 'compiling the kernels, once after an install: takes five to ten seconds'
SETTLING = 0.5  # time at rest before the trajectory is sent, s
RECORDING_NICENESS = 10
START_TIMEOUT = 180.0  # s, in which three processes compile on two slow cores
PREPARING_TIMEOUT = 60.0  # s
LARGEST_ERROR = 1e-4
"""RMS error of a joint, rad, above which the machine was too busy: about 100 times the usual."""
MIN_ANSWERED = 0.98
"""Share of answered states below which the machine counts as too busy."""


@dataclass(frozen=True)
class DemoRun:
    """One run of the node and a simulated arm."""

    robot_file: str  #: Built-in name or path of a robot file, for the processes
    robot: Robot  #: The same, loaded
    #: (times, positions): times, s, and positions, rad, of the motion to follow
    waypoints: tuple[Array, Array]
    duration: float  #: Time from the trajectory's start to the end of the run, s
    bag: Path  #: Folder to record to
    retimed: bool = False  #: Whether the node runs the path as fast as all limits allow

    def record(self) -> tuple[dict[str, Any], Recording]:
        """Run it; return the results from driver and recording, and the recording."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / 'driver.json'
            with (
                local_ros(), bag_writer(self.bag, storage=StoragePlugin.MCAP) as writer,
                ThreadPoolExecutor(1) as pool,
            ):
                # In a separate thread: niceness belongs to a thread, and the caller keeps its own.
                given_up = threading.Event()
                running = pool.submit(_drive, self, report, Recorder(writer), given_up)
                try:
                    interruptions = running.result()
                finally:
                    given_up.set()
            if not report.is_file():
                raise HodynError('the simulated driver left no report: see its messages above')
            results = json.loads(report.read_text('utf-8'))
        recording = Recording.read(self.bag, self.robot, f'{NAMESPACE}/', LOOKAHEAD)
        results.update(recording.results(), interruptions=interruptions)
        return results, recording


def was_disturbed(results: dict[str, Any]) -> bool:
    """Whether the machine was too busy for meaningful results.

    The arm has the node's own model, so errors come only from answers that are late or missing.
    """
    return (
        bool(results['interruptions']) or results['answered_share'] < MIN_ANSWERED
        or max(results['rms_tracking_error']) > LARGEST_ERROR)


class _Observer(Node):
    """Sends the trajectory and records the topics as serialized messages."""

    def __init__(self, recorder: Recorder) -> None:
        super().__init__('observer', namespace=NAMESPACE)
        self.state = ''
        self.interruptions = 0
        self.trajectory = self.create_publisher(
            JointTrajectory, 'feedforward/joint_trajectory', PLAN_QOS)
        self.create_subscription(
            DiagnosticStatus, 'feedforward/state', self._on_state, LATCHED_QOS)
        for topic in TOPICS:
            name = f'{NAMESPACE}/{topic}'
            self.create_subscription(
                JointState, name, recorder.channel(name), QoSProfile(depth=1000), raw=True)

    def _on_state(self, message: DiagnosticStatus) -> None:
        self.interruptions += self.state == 'following' and message.message == 'stopping'
        self.state = message.message


def _drive(run: DemoRun, report: Path, recorder: Recorder, given_up: threading.Event) -> int:
    """Run node and driver; return how often the node stopped before the plan's end."""
    observer = _Observer(recorder)
    console = Console(stderr=True)
    columns = (SpinnerColumn(), *Progress.get_default_columns())
    with (
        executor_of(observer) as executor,
        Progress(*columns, console=console, transient=True) as progress,
    ):
        task = progress.add_task('starting the node and the simulated arm', total=None)
        if not is_warm():
            progress.update(task, description=COMPILING)
            if not console.is_terminal:
                console.print(COMPILING)
        with (
            # The node ends first, so that it can still stop the arm.
            process(
                NAMESPACE, 'simulated_driver', f'robot:={run.robot_file}', f'report:={report}',
                f'position:={run.waypoints[1][0].tolist()}',
            ) as driver,
            process(
                NAMESPACE, 'feedforward_node', f'robot:={run.robot_file}',
                f'lookahead:={LOOKAHEAD}', *run.retimed * ['stretch:=retime'], *permitted(),
            ) as node,
        ):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), RECORDING_NICENESS)

            def alive() -> None:
                if given_up.is_set():
                    raise HodynError('the demo was interrupted')
                for running, name in ((node, 'node'), (driver, 'simulated driver')):
                    if running.poll() is not None:
                        raise HodynError(
                            f'the {name} ended with code {running.returncode}: '
                            'see its messages above')

            spin(executor, START_TIMEOUT, alive, until=lambda: (
                observer.state == 'holding' and recorder.has_heard_all
                and observer.trajectory.get_subscription_count() > 0))
            if observer.state != 'holding':
                raise HodynError(f'the node did not answer within {START_TIMEOUT:g} s')
            spin(executor, SETTLING, alive)
            observer.trajectory.publish(_trajectory(run))
            if not spin(
                    executor, PREPARING_TIMEOUT, alive,
                    until=lambda: observer.state == 'following'):
                raise HodynError('the node did not accept the trajectory: see its messages above')
            progress.update(task, description='following a trajectory', total=run.duration)
            start = time.monotonic()

            def advance() -> None:
                alive()
                progress.update(task, completed=time.monotonic() - start)

            spin(executor, run.duration, advance)
            interruptions = observer.interruptions
    return interruptions


def _trajectory(run: DemoRun) -> JointTrajectory:
    times, positions = run.waypoints
    return JointTrajectory(
        joint_names=list(run.robot.joint_names),
        points=[
            JointTrajectoryPoint(positions=list(position), time_from_start=Duration(
                sec=int(t), nanosec=int(t % 1 * 1e9)))
            for t, position in zip(times, positions, strict=True)])
