"""``hodyn check``, ``annotate`` and ``retime`` for many plans."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from hodyn_ros.cli.many_files import print_ranking, run_many
from hodyn_ros.cli.used_robot import for_robot
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.fleet.task import Outcome
    from hodyn_ros.plans.plan_request import PlanSettings
    from hodyn_ros.robot import Robot


def plans_many(
    options: argparse.Namespace, command: Literal['check', 'annotate', 'retime'], robot: Robot,
    settings: PlanSettings,
) -> int:
    """Run a command for many plans; return the exit code.

    `options` has those of `add_plan_options`, `output` and `force`. For retime, the limits of
    `robot` are already scaled to the shares that may be used.
    """
    from hodyn_ros.fleet.inputs import find_plans
    from hodyn_ros.fleet.plan_task import PlanTask
    from hodyn_ros.fleet.summary import PLAN_COLUMNS, SUMMARY

    for option in ('json', 'picture', 'brief'):
        if getattr(options, option, None):
            raise HodynError(f'--{option} only works with one plan; for many plans see {SUMMARY}')
    if options.output is None:
        options.output = Path('hodyn_check')
    task = PlanTask(
        command, robot, settings, options.output.resolve(), topic=options.topic,
        index=options.number, **({} if command == 'check' else {'period': options.period}))

    def show(outcomes: Sequence[Outcome]) -> None:
        ranked = sorted((-_nearest(outcome)[0], outcome.name, outcome) for outcome in outcomes)
        well = sum(outcome.is_ok for outcome in outcomes)
        print_ranking(
            f'{len(outcomes)} plans, {for_robot(options, robot)}',
            ('plan', 'nearest limit', 'share', 'verdict'), ('nearest limit', 'verdict'),
            (_row(outcome) for *_, outcome in ranked),
            f'{well} of {len(outcomes)} plans are within limits; details are in '
            f'{options.output / SUMMARY}')

    return run_many(options, task, find_plans(options.plans), PLAN_COLUMNS, 'points', show)


def _row(outcome: Outcome) -> list[str]:
    share, nearest = _nearest(outcome)
    but = outcome.rows[0].get('reservations', '') if outcome.is_ok else ''
    return [outcome.name, nearest, f'{share:.3f}' if nearest else '', f'{outcome.status}{but}']


def _nearest(outcome: Outcome) -> tuple[float, str]:
    """Return the largest share of a limit, infinite without a result, and the limit's name."""
    if not outcome.has_result:
        return float('inf'), ''
    return max(
        ((row['nearest_share'], f'{row["nearest"]} of {row["joint"]}') for row in outcome.rows
         if 'nearest_share' in row), default=(0.0, 'none known'))
