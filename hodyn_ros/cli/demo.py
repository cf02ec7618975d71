"""``hodyn demo``: the node and a simulated arm over ROS 2; ``--compare`` is in `cli.compare`."""
from __future__ import annotations

import argparse
from pathlib import Path
import tempfile
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.options import (
    Commands,
    add_force,
    add_json,
    add_robot,
    check_outputs,
    write_results,
)
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, replacing

if TYPE_CHECKING:
    from hodyn_ros.robot import Robot

CONTENTS = Contents(frozenset({'demo.png'}), {'bag': Contents.of_bag('bag')}, mark='demo.png')
"""Contents of the folder that the demo writes."""


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'demo', help='run the node with a simulated arm over ROS 2',
        description='Starts the feed-forward node and, in a second process, a simulated arm that '
        'publishes joint states at 1 kHz; sends a trajectory; reports tracking and latency.')
    add_robot(parser)
    parser.add_argument(
        '--duration', type=float,
        help='seconds of the run (default: 10), or of the motion with --compare (default: 3)')
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_demo'),
        help='folder for the plot and the bag (default: hodyn_demo)')
    add_json(parser)
    add_force(parser)
    parser.add_argument(
        '--actuator', choices=['rigid', 'sea', 'vsa'],
        help='example actuators for every joint: rigid, with springs, or with antagonistic motors')
    parser.add_argument(
        '--stiffness', type=float,
        help='stiffness of the example actuators, N m/rad (default: that of the example)')
    parser.add_argument(
        '--retime', action='store_true',
        help='run the path as fast as the limits of the robot allow')
    elastic = parser.add_argument_group(
        'comparison', 'how well an elastic arm tracks with each part of the feed-forward')
    elastic.add_argument(
        '--compare', action='store_true',
        help='run one motion with each kind of feed-forward, and with full-state feedback, '
        'without ROS')
    elastic.add_argument(
        '--bandwidth', type=float, help='bandwidth of the motor loop, rad/s (default: 50)')
    elastic.add_argument(
        '--speed', type=float,
        help='peak velocities as a share of the limits (default: 0.8)')
    elastic.add_argument(
        '--robustness', action='store_true',
        help='repeat the motion with wrong stiffness and mass, delays and noise')
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Run the demo or the comparison; return the exit code."""
    from hodyn_ros.cli import compare

    _refuse_unused(options)
    check_outputs(
        options, options.robot, contents=compare.CONTENTS if options.compare else CONTENTS)
    _check_simulation(options)
    if options.compare:
        from hodyn_ros.simulation.method_comparison import ComparisonSettings

        return compare.run_comparison(
            ComparisonSettings(robot=options.robot, actuator=options.actuator, **_given(
                options, 'stiffness', 'bandwidth', 'duration', 'speed', 'robustness')),
            options.output, options.json, force=options.force)
    with tempfile.TemporaryDirectory() as folder:
        robot = options.robot
        if options.actuator is not None:  # the demo's processes read the robot from a file
            from hodyn_ros.robot.files import load_robot, save_robot
            from hodyn_ros.simulation.examples import with_example_actuators

            robot = str(Path(folder) / 'elastic.yaml')
            save_robot(with_example_actuators(
                load_robot(options.robot), options.actuator, options.stiffness), robot)
        return _run_demo(options, robot)


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    values = {name: getattr(options, name) for name in names}
    return {name: v for name, v in values.items() if v is not None and v is not False}


def _refuse_unused(options: argparse.Namespace) -> None:
    """Raise HodynError for options that the chosen kind of demo does not use."""
    if options.actuator is not None and options.actuators is not None:
        raise HodynError(
            '--actuator gives every joint an example actuator, --actuators gives the actuators in '
            'a file: use only one of these options')
    if not options.compare:
        if unused := _given(options, 'bandwidth', 'speed', 'robustness'):
            raise HodynError(f'--{next(iter(unused))} only works with --compare')
        if options.stiffness is not None and options.actuator is None:
            raise HodynError('--stiffness goes with --actuator sea or vsa')
    elif options.retime:
        raise HodynError('--retime does not work with --compare')


def _check_simulation(options: argparse.Namespace) -> None:
    """Raise early the errors that would otherwise occur in the demo's processes."""
    from importlib.util import find_spec

    from hodyn_ros.robot.files import load_robot

    if find_spec('mujoco') is None:
        raise ModuleNotFoundError("No module named 'mujoco'")
    robot = load_robot(options.robot)
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; the demo only simulates arms on a fixed '
            'base')
    from hodyn_ros.simulation.mujoco_model import check_uncoupled

    check_uncoupled(robot)
    if robot.actuators is not None and options.actuator is not None:
        raise HodynError(
            '--actuator gives every joint an example actuator, and the file of robot '
            f'{robot.name!r} has its own: leave out --actuator, or the section `actuators`')
    if robot.actuators is not None:
        from hodyn_ros.simulation.elastic_arm import check_motors

        check_motors(robot.actuators)


def _run_demo(options: argparse.Namespace, robot_source: str) -> int:
    """Run the demo with a robot file and report it; return the exit code."""
    from hodyn_ros.robot.files import load_robot
    from hodyn_ros.ros.demo.recording_figure import draw_recording
    from hodyn_ros.ros.demo.run import DemoRun
    from hodyn_ros.simulation.example_motion import example_waypoints

    duration = 10.0 if options.duration is None else options.duration
    if not duration >= 2.0:
        raise HodynError(f'--duration {duration:g}: the demo needs at least 2 s')
    robot = load_robot(robot_source)
    with replacing(options.output, CONTENTS, force=options.force) as folder:
        folder.mkdir()
        results, recording = DemoRun(
            robot_source, robot, example_waypoints(robot, duration - 1.0), duration,
            folder / 'bag', retimed=options.retime,
        ).record()
        draw_recording(recording, robot, results, folder / 'demo.png')
    write_results(results, options.json, force=options.force)
    _print(robot, results, options.output)
    return 0


def _print(robot: Robot, results: dict[str, Any], output: Path) -> None:
    from hodyn_ros.cli.tables import make_console, make_table
    from hodyn_ros.feedforward import TORQUE_NAMES
    from hodyn_ros.ros.demo.run import was_disturbed

    table = make_table(
        'joint', 'RMS error (rad)', 'max |Q| (N m)',
        'max |Q̇| (N m/s)', 'max |Q̈| (N m/s²)')
    for i, joint in enumerate(robot.joint_names):
        peaks = (f'{results[f"max_{name}"][i]:.4g}' for name in TORQUE_NAMES)
        table.add_row(joint, f'{results["rms_tracking_error"][i]:.2e}', *peaks)
    console = make_console()
    console.print(f'{robot.name}: feed-forward through ROS 2')
    console.print(table)
    trip = results['round_trip_us']
    console.print(
        f'{results["states"]} states at {results["rate"]:.0f} Hz, '
        f'{100 * results["answered_share"]:.2f} % answered '
        f'({100 * results["same_cycle_share"]:.2f} % within their cycle); '
        f'round trip p50 {trip["p50"]:.0f} µs, p99 {trip["p99"]:.0f} µs')
    if was_disturbed(results):
        console.print(
            f'[bold]the run was disturbed[/bold]: the node stopped {results["interruptions"]} '
            f'times, {100 * results["answered_share"]:.1f} % of the states were answered, and the '
            f'RMS error is up to {max(results["rms_tracking_error"]):.1e} rad. The machine was '
            'busy with other things: these numbers do not show the quality of the feed-forward.')
    console.print(f'plot and bag in {output}/')
