"""``hodyn demo --compare``: how an elastic arm tracks with each part of the feed-forward."""
from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.progress import track

from hodyn_ros.cli.options import ResultsFile, write_results
from hodyn_ros.cli.tables import make_console, make_table
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, replacing

if TYPE_CHECKING:
    from hodyn_ros.simulation.method_comparison import ComparisonSettings


CONTENTS = Contents(frozenset({'comparison.png'}), mark='comparison.png')
"""Contents of the folder that `run_comparison` writes."""


def run_comparison(
    settings: ComparisonSettings, output: Path, json_file: ResultsFile | None, *,
    force: bool,
) -> int:
    """Run and report a comparison; return the exit code.

    `output` is the folder for ``comparison.png``, `json_file` the file for the results; `force`
    replaces existing files.
    """
    from hodyn_ros.simulation.method_comparison import compare_methods, compared_robot
    from hodyn_ros.simulation.tracking_figure import draw_comparison

    for name in ('bandwidth', 'duration', 'speed'):
        if not 0.0 < getattr(settings, name) < np.inf:
            raise HodynError(f'--{name} {getattr(settings, name):g}: must be above 0')
    robot = compared_robot(settings)
    results, exact = compare_methods(robot, settings, lambda runs: track(
        runs, 'simulating', console=make_console(stderr=True), transient=True))
    title = (
        f'{robot.name}, {settings.duration:g} s at {settings.speed:.0%} of its speed, '
        f'motor loop of {settings.bandwidth:g} rad/s')
    with replacing(output, CONTENTS, force=force) as folder:
        folder.mkdir()
        draw_comparison(robot, exact, title, folder / 'comparison.png')
    write_results(results, json_file, force=force)
    _print(title, results, output)
    return 0


def _print(title: str, results: dict[str, Any], output: Path) -> None:
    methods = tuple(next(iter(results['conditions'].values())))
    table = make_table('arm and signals', *methods, 'rigid/full')
    for case, row in results['conditions'].items():
        table.add_row(
            case, *(f'{row[method]:.2e}' for method in methods),
            f'{row["rigid"] / row["full"]:.3g}')
    console = make_console()
    console.print(f'{title}\nRMS link-side error of the worst joint (rad)')
    console.print(table)
    if why := results.get('no_flatness'):
        console.print(f'no flatness-based feedback: {why}')
    if 'stiffness_error' in results:
        console.print(f'largest stiffness error: {results["stiffness_error"]:.2g} N m/rad')
    console.print(f'plot in {output}/comparison.png')
