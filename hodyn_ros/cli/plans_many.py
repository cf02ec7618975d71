"""``hodyn check``, ``annotate`` and ``retime`` of many plans."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hodyn_ros.cli.many import exit_code, run_many, settings_of
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.fleet.outcome import Outcome
    from hodyn_ros.plans.prepare import PlanSettings
    from hodyn_ros.robot import Robot

MAX_LINES = 15


def plans_many(
    options: argparse.Namespace, command: Literal['check', 'annotate', 'retime'], robot: Robot,
    settings: PlanSettings, *, period: float = 5e-3,
) -> int:
    """Do a command with many plans; return the exit code.

    Parameters
    ----------
    options : argparse.Namespace
        Of `add_plan_options` and `add_many_options`, with `output` and `force`.
    command : 'check', 'annotate' or 'retime'
        What is done with each plan.
    robot : Robot
        The robot, with limits that may be used.
    settings : PlanSettings
        How plans are made.
    period : float
        s, at most, between the samples that are written.

    """
    from hodyn_ros.fleet.inputs import find_plans
    from hodyn_ros.fleet.plan_task import PlanTask
    from hodyn_ros.fleet.summary import PLAN_COLUMNS, SUMMARY

    for option in ('json', 'picture', 'brief'):
        if getattr(options, option, None):
            raise HodynError(f'--{option} goes with one plan; {SUMMARY} has the figures of many')
    if options.output is None:
        options.output = Path('hodyn_check')
    jobs = find_plans(options.plans)
    task = PlanTask(
        command, robot, settings, options.output.resolve(), topic=options.topic,
        index=options.number, period=period)
    # As JSON reads them back: the ledger compares.
    values = {key: list(value) if isinstance(value, tuple) else value
              for key, value in asdict(settings).items()}
    outcomes, is_done = run_many(
        options, task, jobs, settings_of(
            command, robot, topic=task.topic, number=task.index, period=period, **values),
        PLAN_COLUMNS, (SUMMARY,), 'points')
    _print(outcomes, options.output / SUMMARY)
    return exit_code(outcomes, jobs, is_done)


def _print(outcomes: Sequence[Outcome], summary: Path) -> None:
    from hodyn_ros.cli.tables import make_console, make_table

    console = make_console()
    table = make_table('plan', 'nearest limit', 'share', 'verdict', left=(
        'nearest limit', 'verdict'))
    ranked = sorted(outcomes, key=lambda outcome: (-_nearest(outcome)[0], outcome.name))
    for outcome in ranked[:MAX_LINES]:
        share, nearest = _nearest(outcome)
        table.add_row(
            outcome.name, nearest, f'{share:.3f}' if nearest else '', outcome.status)
    console.print(table)
    well = sum(outcome.is_ok for outcome in outcomes)
    console.print(f'{well} of {len(outcomes)} plans may run; {summary} tells more')


def _nearest(outcome: Outcome) -> tuple[float, str]:
    """Return the largest share of a limit, and which; those that could not be judged first."""
    if not outcome.has_result:
        return float('inf'), ''
    return max(
        ((row['nearest_share'], f'{row["nearest"]} of {row["joint"]}') for row in outcome.rows
         if 'nearest_share' in row), default=(0.0, 'none known'))
