"""``hodyn demo`` through ROS 2: its runs, told as tables, plots and JSON."""
import json
from pathlib import Path
import tempfile
from typing import Any

from rich.console import Console
from rich.table import Table

from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.files.loader import load_robot
from hodyn_ros.ros.demo.picture import draw_recording
from hodyn_ros.ros.demo.run import Run
from hodyn_ros.ros.outputs import TORQUES
from hodyn_ros.simulation.elastic_tracking import METHODS
from hodyn_ros.simulation.examples import ActuatorKind, fast_motion, write_example_robot
from hodyn_ros.simulation.motion import example_waypoints

PERIOD = 1e-3
HELD_AFTER = 1.5  # periods from a state to the middle of the time that its answer is held
TRIES = 3  # of a comparison's run that was disturbed
MIN_ANSWERED = 0.98


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
        raise HodynError(f'--duration {duration:g}: the demo needs at least 2 s')
    robot = load_robot(robot_source)
    output.mkdir(parents=True, exist_ok=True)
    figures, recording = Run(
        robot_source, robot, example_waypoints(robot, duration - 1.0), duration, output / 'bag',
    ).record()
    draw_recording(recording, robot, figures, output / 'demo.png')
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
            draw_recording(recording, robot, figures, output / f'{method}.png')
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


def _was_disturbed(figures: dict[str, Any]) -> bool:
    """Tell whether the machine was too busy for the figures to say much about the method."""
    return bool(figures['interruptions']) or figures['answered_share'] < MIN_ANSWERED


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
