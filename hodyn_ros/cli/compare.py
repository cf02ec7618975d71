"""``hodyn demo --compare``: how an elastic arm tracks with each part of the feed-forward."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import Progress

from hodyn_ros.cli.options import FiguresFile, write_figures
from hodyn_ros.cli.tables import make_console, make_table
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, replacing

if TYPE_CHECKING:
    from hodyn_ros.simulation.examples import ActuatorKind
    from hodyn_ros.simulation.method_comparison import ComparisonSettings


DIRECT = Contents(frozenset({'comparison.png'}), mark='comparison.png')
"""What `run_comparison` leaves in its folder."""


def run_comparison(
    settings: ComparisonSettings, output: Path, json_file: FiguresFile | None, *,
    force: bool,
) -> int:
    """Compare in this process and report it; return the exit code.

    output is the folder for ``comparison.png``, json_file where to write the figures, force
    whether existing files are replaced.
    """
    from hodyn_ros.simulation.method_comparison import MethodComparison
    from hodyn_ros.simulation.tracking_figure import draw_comparison

    for name in ('bandwidth', 'duration', 'speed'):
        if not 0.0 < getattr(settings, name) < np.inf:
            raise HodynError(f'--{name} {getattr(settings, name):g}: must be above 0')
    comparison = MethodComparison(settings)
    with Progress(console=make_console(stderr=True), transient=True) as progress:
        task = progress.add_task('simulating', total=comparison.runs)
        figures, exact = comparison.simulate(lambda: progress.advance(task))
    title = (
        f'{comparison.robot.name}, {settings.duration:g} s at {settings.speed:.0%} of its speed, '
        f'motor loop of {settings.bandwidth:g} rad/s')
    with replacing(output, DIRECT, force=force) as folder:
        folder.mkdir()
        draw_comparison(comparison.robot, exact, title, folder / 'comparison.png')
    write_figures(figures, json_file, force=force)
    _print_direct(title, figures, output)
    return 0


def run_comparison_through_ros(
    robot_source: str, actuator: ActuatorKind, duration: float, speed: float, output: Path,
    json_file: FiguresFile | None, stiffness: float | None = None, *, force: bool,
) -> int:
    """Compare through node and driver and report it; return the exit code.

    json_file is where to write the figures; the others are those of `compare_through_ros`.
    """
    from hodyn_ros.ros.demo.method_runs import compare_through_ros

    figures = compare_through_ros(
        robot_source, actuator, duration, speed, output, stiffness, force=force)
    write_figures(figures, json_file, force=force)
    _print_through_ros(figures, output)
    return 0


def _print_direct(title: str, figures: dict[str, Any], output: Path) -> None:
    from hodyn_ros.simulation.elastic_tracking import METHODS

    table = make_table('arm and signals', *METHODS, 'rigid/full')
    for case, row in figures['conditions'].items():
        table.add_row(
            case, *(f'{row[method]:.2e}' for method in METHODS),
            f'{row["rigid"] / row["full"]:.3g}')
    console = make_console()
    console.print(f'{title}\nRMS error of the worst link joint (rad)')
    console.print(table)
    if 'stiffness_error' in figures:
        console.print(f'largest stiffness error: {figures["stiffness_error"]:.2g} N m/rad')
    console.print(f'plot in {output}/comparison.png')


def _print_through_ros(figures: dict[str, Any], output: Path) -> None:
    table = make_table('feed-forward', 'error (rad)', 'answered', 'round trip p50, p99 (µs)')
    for method, run in figures['runs'].items():
        trip = run['round_trip_us']
        table.add_row(
            method, f'{figures["comparison"][method]:.2e}', f'{100 * run["answered_share"]:.2f} %',
            f'{trip["p50"]:.0f}, {trip["p99"]:.0f}')
    console = make_console()
    console.print(
        f'{figures["robot"]} through ROS 2, actuator {figures["actuator"]} (an example)\n'
        'RMS error of the worst link joint')
    console.print(table)
    for method, run in figures['runs'].items():
        print_disturbance(console, run, method)
    console.print(
        f'rigid/full {figures["rigid_over_full"]:.3g}; plots and bags in {output}/')


def print_disturbance(console: Console, figures: dict[str, Any], what: str) -> None:
    """Say so if the machine was too busy during a run through ROS for its figures to count."""
    from hodyn_ros.ros.demo.run import was_disturbed

    if was_disturbed(figures):
        console.print(
            f'[bold]{what} was disturbed[/bold]: the node stopped {figures["interruptions"]} '
            f'times, {100 * figures["answered_share"]:.1f} % of the states were answered. '
            'The machine was busy with other things: the figures are those of the disturbance.')
