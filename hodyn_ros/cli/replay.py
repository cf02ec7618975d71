"""``hodyn replay``: a recording compared with the model."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hodyn_ros.cli.many_files import add_many_options, print_ranking, run_many, wants_many
from hodyn_ros.cli.options import (
    Commands,
    add_force,
    add_robot,
    check_outputs,
    say_what_is_lost,
)
from hodyn_ros.cli.used_robot import for_robot, given_payload

if TYPE_CHECKING:
    from rich.console import Console

    from hodyn_ros.fleet.task import Outcome
    from hodyn_ros.replay.replay_bag import Replay
    from hodyn_ros.robot import Robot


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'replay', help='compare a recorded bag with the model, offline',
        description='Reads joint states from a rosbag2, computes the torques and their rates '
        'with the code of the node, and compares them with the recorded efforts. From a damaged '
        'bag it uses what can be read; the exit code is 1 if messages are lost.')
    parser.add_argument(
        'bags', nargs='+', type=Path, metavar='BAG',
        help='folder of a rosbag2, or a single .db3 or .mcap file; or several of these, folders '
             'of bags, or a pattern')
    add_robot(parser)
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_replay'),
        help='folder for the report (default: hodyn_replay)')
    parser.add_argument('--topic', help='joint state topic, if the bag has several')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='prefix of the joint names of one arm, if the bag has several arms')
    parser.add_argument(
        '--bandwidth', type=_positive, metavar='HZ',
        help='bandwidth of the estimated motion (default: the most likely one)')
    parser.add_argument(
        '--csv', action='store_true', help='also write the torques as a table in CSV')
    parser.add_argument(
        '--parquet', action='store_true',
        help='also write motion and torques as computed.parquet (always for many bags)')
    parser.add_argument(
        '--no-report', action='store_true',
        help='write only data files, no page and plots, which is faster')
    add_many_options(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def _positive(text: str) -> float:
    value = float(text)
    if not 0.0 < value < math.inf:
        raise argparse.ArgumentTypeError(f'{text} Hz is not a bandwidth: give a positive number')
    return value


def run(options: argparse.Namespace) -> int:
    """Replay one bag or many; return the exit code, 1 if messages are lost."""
    if wants_many(options, options.bags):
        return _replay_many(options)
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from hodyn_ros.cli.tables import make_console
    from hodyn_ros.replay.replay_file import replay_file
    from hodyn_ros.replay.report import CONTENTS
    from hodyn_ros.robot.files import load_robot

    bag, output, report = options.bags[0], options.output, not options.no_report
    check_outputs(options, bag, options.robot, contents=CONTENTS)
    robot = load_robot(options.robot)
    console = make_console()
    columns = (
        TextColumn('{task.description}'), BarColumn(), MofNCompleteColumn(),
        TextColumn('{task.fields[rate]}'), TimeRemainingColumn())
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task('replaying', total=None, rate='')

        def advance(total: int, count: int) -> None:
            progress.update(task, total=total, advance=count)
            speed = progress.tasks[0].speed
            progress.update(task, rate=f'{speed:,.0f} messages/s' if speed else '')

        result = replay_file(
            bag, robot, output, topic=options.topic, prefix=options.joint_prefix,
            bandwidth=options.bandwidth, csv=options.csv,
            parquet=Path('computed.parquet') if options.parquet else None, report=report,
            payload=given_payload(options), progress=advance, force=options.force)
    console.print(f'{bag}, {for_robot(options, robot)}', markup=False)
    _print(console, robot, result, output / ('report.html' if report else 'summary.json'))
    say_what_is_lost('replay', result.counts)
    return 1 if result.counts.lost else 0


def _print(console: Console, robot: Robot, result: Replay, written: Path) -> None:
    from hodyn_ros.cli.tables import make_table, units_of_prismatic
    from hodyn_ros.replay.report import figures_of, resolved
    from hodyn_ros.replay.statements import facts, warnings

    for sentence in warnings(result):
        console.print(f'! {sentence}', style='bold')
    for sentence in facts(result):
        console.print(f'• {sentence}')
    console.print(
        f'Prediction minus recorded effort, {result.robot}, N m{units_of_prismatic(robot)}')
    table = make_table(
        'joint', 'RMS', 'of signal', 'in band', 'of signal', 'fast', 'bias', 'largest',
        'explained', 'resolved')
    for i, joint in enumerate(result.joints):
        table.add_row(joint.name, *figures_of(joint), resolved(result, i))
    console.print(table)
    console.print(f'details are in {written}')


def _replay_many(options: argparse.Namespace) -> int:
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
