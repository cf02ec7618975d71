"""``hodyn replay`` for many recordings."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from hodyn_ros.cli.many_files import print_ranking, run_many
from hodyn_ros.cli.used_robot import for_robot, given_payload

if TYPE_CHECKING:
    from hodyn_ros.fleet.task import Outcome


def replay_many(options: argparse.Namespace) -> int:
    """Replay recordings into one folder with a summary and an overview; return the exit code."""
    from hodyn_ros.fleet.inputs import find_bags
    from hodyn_ros.fleet.overview import (
        OVERVIEW,
        counted,
        how_many_are_well,
        rank,
        write_overview,
    )
    from hodyn_ros.fleet.replay_task import ReplayTask
    from hodyn_ros.fleet.summary import BAG_COLUMNS
    from hodyn_ros.robot.files import load_robot

    robot = load_robot(options.robot)
    task = ReplayTask(
        robot, options.output.resolve(), topic=options.topic,
        prefix=options.joint_prefix, bandwidth=options.bandwidth, csv=options.csv,
        report=not options.no_report, payload=given_payload(options))

    def show(outcomes: Sequence[Outcome]) -> None:
        page = options.output / OVERVIEW
        write_overview(outcomes, page, 'report.html' if task.report else 'summary.json')
        print_ranking(
            f'{counted(outcomes)}, {for_robot(options, robot)}',
            ('recording', 'worst joint', 'RMS, N m', 'beside others', 'findings'),
            ('worst joint', 'findings'), (_row(*entry) for entry in rank(outcomes)),
            f'{how_many_are_well(outcomes)}; details are in {page}')

    return run_many(
        options, task, find_bags(options.bags), BAG_COLUMNS, 'messages', show, [OVERVIEW])


def _row(factor: float, joint: str, outcome: Outcome) -> list[str]:
    if not outcome.has_result:
        return [outcome.name, '', '', '', outcome.status]
    error = next((row['rms_error'] for row in outcome.rows if row['joint'] == joint), None)
    return [
        outcome.name, joint, *(('–', '–') if error is None else (
            f'{error:.3g}', f'{factor:.2f} × median')),
        str(len(outcome.rows[0]['findings']) or '') if outcome.is_ok else outcome.status]
