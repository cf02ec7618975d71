"""``hodyn demo``: the node and a simulated arm in processes of their own, and what they did."""
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
import json
import os
from pathlib import Path
import shutil
import tempfile
import threading
import time
from typing import Any

from builtin_interfaces.msg import Duration
from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hodyn_ros.elastic.tracking import METHODS
from hodyn_ros.replay.recording import Recorder, Recording
from hodyn_ros.robot import Robot
from hodyn_ros.robot_files import load_robot
from hodyn_ros.ros.feedforward_node import PLAN_QOS
from hodyn_ros.ros.outputs import LATCHED_QOS, TORQUES
from hodyn_ros.ros.processes import local_ros, process, spin
from hodyn_ros.ros.spinning import make_executor
from hodyn_ros.simulation.examples import ActuatorKind, fast_motion, write_example_robot
from hodyn_ros.simulation.motion import example_waypoints

Array = NDArray[np.float64]

NAMESPACE = '/hodyn_demo'
PERIOD = 1e-3
HELD_AFTER = 1.5  # periods from a state to the middle of the time that its answer is held
SETTLING = 0.5
RECORDING_NICENESS = 10
TRIES = 3  # of a comparison's run that was disturbed
LEAST_ANSWERED = 0.98
START_TIMEOUT = 60.0
TOPICS = ('joint_states', *(f'feedforward/{name}' for name in TORQUES))


@dataclass(frozen=True)
class Run:
    """One run of node and simulated arm, and what it left.

    Attributes
    ----------
    robot_file : str
        Built-in name or path of a robot file, for the processes.
    robot : Robot
        The same, loaded.
    waypoints : (times, positions)
        What to follow.
    duration : float
        Seconds from the trajectory's start to the end.
    bag : Path
        Folder to record to.
    method : str
        Of `elastic.tracking`, for an arm with springs.
    lookahead : float
        Of the node, s.

    """

    robot_file: str
    robot: Robot
    waypoints: tuple[Array, Array]
    duration: float
    bag: Path
    method: str = 'full'
    lookahead: float = 0.0

    def record(self) -> tuple[dict[str, Any], Recording]:
        """Run it; return the driver's figures with those of the recording, and the recording."""
        shutil.rmtree(self.bag, ignore_errors=True)
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / 'driver.json'
            with local_ros(), Recorder(self.bag) as recorder, ThreadPoolExecutor(1) as pool:
                # A thread of its own, since only a whole thread can give way to other processes.
                interruptions = pool.submit(_drive, self, report, recorder).result()
            if not report.is_file():
                raise ValueError('the simulated driver left no report: see its messages above')
            figures = json.loads(report.read_text('utf-8'))
        recording = Recording.read(self.bag, f'{NAMESPACE}/', self.lookahead)
        figures.update(recording.figures(), interruptions=interruptions)
        return figures, recording


def run_demo(robot_source: str, duration: float, output: Path, json_file: Path | None) -> int:
    """Run the demo and report it; return the exit code.

    Parameters
    ----------
    robot_source : str
        Built-in name or path of a robot file.
    duration : float
        Seconds from the trajectory's start to the end of the run, at least 2.
    output : Path
        Folder for ``demo.png`` and the bag; an earlier demo's files there are replaced.
    json_file : Path or None
        Where to write the figures.

    """
    if not duration >= 2.0:
        raise ValueError(f'--duration {duration:g}: the demo needs at least 2 s')
    robot = load_robot(robot_source)
    output.mkdir(parents=True, exist_ok=True)
    figures, recording = Run(
        robot_source, robot, example_waypoints(robot, duration - 1.0), duration, output / 'bag',
    ).record()
    recording.plot(output / 'demo.png', robot, figures)
    _write(figures, json_file)
    _print(robot, figures, output)
    return 0


def run_comparison_through_ros(
    robot_source: str, actuator: ActuatorKind, duration: float, speed: float, output: Path,
    json_file: Path | None, stiffness: float | None = None,
) -> int:
    """Run one motion of an elastic arm with each method, through node and driver; report it.

    The actuators are examples, of one stiffness (N m/rad) at every joint. The driver's answers are
    held from one period after its state to two: the node looks ahead to the middle of that.
    """
    output.mkdir(parents=True, exist_ok=True)
    runs: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'elastic.yaml'
        write_example_robot(robot_source, actuator, stiffness, file)
        robot = load_robot(file)
        times, positions = fast_motion(robot, duration, speed)
        for method in METHODS:
            run = Run(
                str(file), robot, (times, positions), duration + 1.0, output / f'bag_{method}',
                method, HELD_AFTER * PERIOD)
            for _ in range(TRIES):
                figures, recording = run.record()
                if not _was_disturbed(figures):
                    break
            recording.plot(output / f'{method}.png', robot, figures)
            runs[method] = figures
    comparison = {
        method: max(figures['rms_tracking_error']) for method, figures in runs.items()}
    figures = {
        **runs['full'], 'robot': robot.name, 'actuator': actuator,
        'lookahead': HELD_AFTER * PERIOD, 'comparison': comparison,
        'rigid_over_full': comparison['rigid'] / comparison['full'], 'runs': runs}
    _write(figures, json_file)
    _print_comparison(figures, output)
    return 0


class _Observer(Node):
    """Sends the trajectory and records what is on the wire, undecoded."""

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


def _drive(run: Run, report: Path, recorder: Recorder) -> int:
    """Run node and driver; return how often the node stopped before the plan's end."""
    observer = _Observer(recorder)
    executor = make_executor()
    executor.add_node(observer)
    with Progress(console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task('starting the node and the simulated arm', total=None)
        with (
            # The node ends first, with the arm still there to stop.
            process(
                NAMESPACE, 'simulated_driver', f'robot:={run.robot_file}', f'report:={report}',
                f'method:={run.method}', f'position:={run.waypoints[1][0].tolist()}',
            ) as driver,
            process(
                NAMESPACE, 'feedforward_node', f'robot:={run.robot_file}',
                f'lookahead:={run.lookahead}',
            ) as node,
        ):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), RECORDING_NICENESS)

            def alive() -> None:
                for running, name in ((node, 'node'), (driver, 'simulated driver')):
                    if running.poll() is not None:
                        raise ValueError(
                            f'the {name} ended with code {running.returncode}: '
                            'see its messages above')

            spin(executor, START_TIMEOUT, alive, until=lambda: (
                observer.state == 'holding' and recorder.has_heard_all
                and observer.trajectory.get_subscription_count() > 0))
            if observer.state != 'holding':
                raise ValueError(f'the node did not answer within {START_TIMEOUT:g} s')
            spin(executor, SETTLING, alive)
            observer.trajectory.publish(_trajectory(run))
            progress.update(task, description='following a trajectory', total=run.duration)
            start = time.monotonic()

            def advance() -> None:
                alive()
                progress.update(task, completed=time.monotonic() - start)

            spin(executor, run.duration, advance)
            interruptions = observer.interruptions
    executor.remove_node(observer)
    observer.destroy_node()
    return interruptions


def _trajectory(run: Run) -> JointTrajectory:
    times, positions = run.waypoints
    return JointTrajectory(
        joint_names=list(run.robot.joint_names),
        points=[
            JointTrajectoryPoint(positions=list(position), time_from_start=Duration(
                sec=int(t), nanosec=int(t % 1 * 1e9)))
            for t, position in zip(times, positions, strict=True)])


def _was_disturbed(figures: dict[str, Any]) -> bool:
    """Tell whether the machine was too busy for the figures to say much about the method."""
    return bool(figures['interruptions']) or figures['answered_share'] < LEAST_ANSWERED


def _print_disturbance(console: Console, figures: dict[str, Any], what: str) -> None:
    if _was_disturbed(figures):
        console.print(
            f'[bold]{what} was disturbed[/bold]: the node stopped {figures["interruptions"]} '
            f'times, {100 * figures["answered_share"]:.1f} % of the states were answered. '
            'The machine was busy with other things: the figures are those of the disturbance.')


def _write(figures: dict[str, Any], json_file: Path | None) -> None:
    if json_file is not None:
        json_file.write_text(json.dumps(figures, indent=1) + '\n', encoding='utf-8')


def _print(robot: Robot, figures: dict[str, Any], output: Path) -> None:
    table = Table(title=f'{robot.name}: feed-forward through ROS 2')
    for heading in ('joint', 'RMS error (rad)', 'max |Q| (N m)', "max |Q'| (N m/s)",
                    "max |Q''| (N m/s²)"):
        table.add_column(heading, justify='right')
    for i, joint in enumerate(robot.joint_names):
        peaks = (f'{figures[f"max_{name}"][i]:.4g}' for name in TORQUES)
        table.add_row(joint, f'{figures["rms_tracking_error"][i]:.2e}', *peaks)
    console = Console()
    console.print(table)
    trip = figures['round_trip_us']
    console.print(
        f'{figures["states"]} states at {figures["rate"]:.0f} Hz, '
        f'{100 * figures["answered_share"]:.2f} % answered '
        f'({100 * figures["same_cycle_share"]:.2f} % within their cycle); '
        f'round trip p50 {trip["p50"]:.0f} µs, p99 {trip["p99"]:.0f} µs')
    _print_disturbance(console, figures, 'the run')
    console.print(f'plot and bag in {output}/')


def _print_comparison(figures: dict[str, Any], output: Path) -> None:
    table = Table(
        title=f'{figures["robot"]} through ROS 2, actuator {figures["actuator"]} (an example)\n'
        'RMS error of the worst link joint')
    for heading in ('feed-forward', 'error (rad)', 'answered', 'round trip p50, p99 (µs)'):
        table.add_column(heading, justify='right')
    for method, run in figures['runs'].items():
        trip = run['round_trip_us']
        table.add_row(
            method, f'{figures["comparison"][method]:.2e}', f'{100 * run["answered_share"]:.2f} %',
            f'{trip["p50"]:.0f}, {trip["p99"]:.0f}')
    console = Console()
    console.print(table)
    for method, run in figures['runs'].items():
        _print_disturbance(console, run, method)
    console.print(
        f'rigid/full {figures["rigid_over_full"]:.3g}; plots and bags in {output}/')
