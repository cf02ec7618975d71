"""``hodyn replay`` of many recordings."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hodyn_ros.cli.many import exit_code, run_many, settings_of

if TYPE_CHECKING:
    from hodyn_ros.fleet.outcome import Outcome

MAX_LINES = 15


def replay_many(options: argparse.Namespace) -> int:
    """Replay recordings to one folder, with a summary and an overview; return the exit code."""
    from hodyn_ros.fleet.inputs import find_bags
    from hodyn_ros.fleet.overview import OVERVIEW, write_overview
    from hodyn_ros.fleet.replay_task import ReplayTask
    from hodyn_ros.fleet.summary import BAG_COLUMNS, SUMMARY
    from hodyn_ros.robot.files import load_robot

    robot = load_robot(options.robot)
    jobs = find_bags(options.bags)
    task = ReplayTask(
        robot, options.output.resolve(), topic=options.topic, prefix=options.joint_prefix,
        bandwidth=options.bandwidth, csv=options.csv, report=not options.no_report)
    settings = settings_of(
        'replay', robot, topic=task.topic, joint_prefix=task.prefix, bandwidth=task.bandwidth,
        csv=task.csv, report=task.report)
    outcomes, is_done = run_many(
        options, task, jobs, settings, BAG_COLUMNS, (SUMMARY, OVERVIEW), 'messages')
    write_overview(
        outcomes, options.output / OVERVIEW, 'report.html' if task.report else 'summary.json')
    _print(outcomes, options.output / OVERVIEW)
    return exit_code(outcomes, jobs, is_done)


def _print(outcomes: Sequence[Outcome], overview: Path) -> None:
    from hodyn_ros.cli.tables import make_console, make_table
    from hodyn_ros.fleet.overview import rank

    console = make_console()
    table = make_table(
        'recording', 'worst joint', 'RMS, N m', 'beside others', 'findings',
        left=('worst joint', 'findings'))
    for factor, joint, outcome in rank(outcomes)[:MAX_LINES]:
        if outcome.has_result:
            said = len(outcome.rows[0]['findings'])
            error = next(
                (row['rms_error'] for row in outcome.rows if row['joint'] == joint), None)
            table.add_row(
                outcome.name, joint, '–' if error is None else f'{error:.3g}',
                f'{factor:.2f} × median',
                outcome.status if not outcome.is_ok else str(said or ''))
        else:
            table.add_row(outcome.name, '', '', '', outcome.status)
    console.print(table)
    well = sum(outcome.is_ok for outcome in outcomes)
    console.print(
        f'{well} of {len(outcomes)} recordings without fault; {overview} tells more')
