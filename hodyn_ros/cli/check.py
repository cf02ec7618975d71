"""``hodyn check``."""
from __future__ import annotations

import argparse
from dataclasses import asdict
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from hodyn_ros.cli.options import Commands, add_force, check_outputs, write_figures
from hodyn_ros.cli.plan_source import (
    BEYOND_LIMITS,
    WITHIN_LIMITS,
    PlanSource,
    add_plan_options,
    outcome,
)
from hodyn_ros.robot import HodynError

if TYPE_CHECKING:
    from hodyn_ros.plans.limit_check import LimitReport


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'check', help='check a plan against the limits of the robot before it runs',
        description='Fits the plan as the node would and prints the worst position, velocity, '
        'acceleration, jerk, torque and torque rate of each joint. Exit code: 0 within limits, '
        '1 beyond (with the time stretch that would mend it), 2 bad input.')
    add_plan_options(parser)
    parser.add_argument('--output', type=Path, metavar='IMAGE', help='draw the curves to IMAGE')
    parser.add_argument('--json', type=Path, metavar='FILE', help='write the figures to FILE')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check the plan."""
    check_outputs(options, options.plan, options.robot)
    return run_check(
        PlanSource.of(options), output=options.output, json_file=options.json,
        force=options.force)


def run_check(
    source: PlanSource, *, output: Path | None = None, json_file: Path | None = None,
    force: bool = False,
) -> int:
    """Check a plan file; print the worst value of each quantity of each joint.

    Parameters
    ----------
    source : PlanSource
        What to check.
    output : Path, optional
        Image file for the curves.
    json_file : Path, optional
        For the same figures, to be read by programs.
    force : bool
        Whether existing files are replaced.

    Returns
    -------
    int
        0 within limits, 1 beyond.

    Raises
    ------
    HodynError, OSError
        On bad input.

    """
    from hodyn_ros.feedforward import FeedForward
    from hodyn_ros.plans.prepare import prepare_plan

    if output is not None:
        from hodyn_ros.plans.curves import draw_curves, image_format

        image_format(output)
    request = source.request()
    prepared = prepare_plan(request)
    plan, limit_report = prepared.plan, prepared.limit_report
    if plan is None or limit_report is None:
        raise HodynError(f'{source.path}: {prepared.refusal}')
    console = Console()
    console.print(
        f'{source.path}: {len(request.trajectory.times)} points, {plan.duration:.3f} s, '
        f'{plan.interpolation} interpolation, {prepared.deviation}', highlight=False,
        soft_wrap=True)
    console.print(_table(limit_report))
    if prepared.note:
        print(f'note: {prepared.note}')
    print(outcome(prepared))
    if output is not None:
        draw_curves(plan, FeedForward(request.robot), output, force=force)
        print(f'curves: {output}')
    write_figures({
        'within_limits': limit_report.within_limits,
        'refusal': prepared.refusal,
        'stretch': prepared.stretch,
        'duration': plan.duration,
        'interpolation': plan.interpolation,
        'overshoot': prepared.overshoot,
        'deviation': prepared.deviation and prepared.deviation.value,
        'worst': _entries(limit_report),
    }, json_file, force=force)
    return WITHIN_LIMITS if limit_report.within_limits else BEYOND_LIMITS


def _table(limit_report: LimitReport) -> Table:
    table = Table()
    table.add_column('joint', no_wrap=True)
    table.add_column('quantity', no_wrap=True)
    for heading in ('worst', 'limit', 'margin', 'time (s)'):
        table.add_column(heading, justify='right', no_wrap=True)
    table.add_column('unit', no_wrap=True)
    previous = ''
    for entry in limit_report.worst:
        if previous not in ('', entry.joint):
            table.add_section()
        known = math.isfinite(entry.limit)
        table.add_row(
            '' if entry.joint == previous else entry.joint, entry.quantity,
            f'{entry.value:.4g}', f'{entry.limit:.4g}' if known else 'unknown',
            f'{entry.margin:.3g}' if known else '', f'{entry.time:.3f}', entry.unit,
            style='bold red' if entry.exceeded else None)
        previous = entry.joint
    return table


def _entries(limit_report: LimitReport) -> list[dict[str, Any]]:
    entries = []
    for entry in limit_report.worst:
        figures = asdict(entry)
        for key in ('lower', 'upper'):
            # JSON has no infinity: an unknown limit is null.
            figures[key] = figures[key] if math.isfinite(figures[key]) else None
        entries.append({**figures, 'exceeded': entry.exceeded})
    return entries
