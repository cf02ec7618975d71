"""What commands share that take many files at once."""
from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping, Sequence
import hashlib
import os
from pathlib import Path
import sys
from typing import TYPE_CHECKING, Any

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, check_output

if TYPE_CHECKING:
    from hodyn_ros.fleet.outcome import Job, Outcome, Task
    from hodyn_ros.fleet.run import Workers
    from hodyn_ros.robot import Robot

ALL_WELL, SOME_FAILED, NONE, STOPPED = 0, 1, 2, 130
"""Exit codes."""


def add_many_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of many files at once."""
    group = parser.add_argument_group(
        'many files', 'several files, a folder of them, or a pattern in quotes: one worker a file')
    group.add_argument(
        '--jobs', type=_count, metavar='N',
        help='files at a time on this machine (default: its processors)')
    group.add_argument(
        '--resume', action='store_true',
        help='go on with what --output holds, or refuse (default: go on if it is of the same '
        'settings)')
    group.add_argument(
        '--scheduler', metavar='ADDRESS',
        help='the scheduler of a Dask cluster that does the work: tcp://HOST:PORT, or its '
        'scheduler file (.json)')


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text}: give a number of processes, 1 or more')
    return value


def wants_many(options: argparse.Namespace, paths: Sequence[Path]) -> bool:
    """Whether a command is to do many files, rather than the one that it is given."""
    from hodyn_ros.fleet.inputs import is_many

    return bool(
        options.jobs or options.resume or options.scheduler is not None or is_many(paths))


def settings_of(command: str, robot: Robot, **settings: Any) -> dict[str, Any]:
    """Return what results depend on beside their files, for the ledger."""
    from hodyn_ros.common.version import VERSION
    from hodyn_ros.robot.files import robot_text

    digest = hashlib.sha256(robot_text(robot).encode()).hexdigest()[:16]
    return {
        'command': command, 'version': VERSION, 'robot': f'{robot.name} {digest}', **settings}


def run_many(
    options: argparse.Namespace, task: Task, jobs: Sequence[Job], settings: Mapping[str, Any],
    columns: Mapping[str, str], files: Sequence[str], unit: str,
) -> tuple[list[Outcome], bool]:
    """Do many files and write ``summary.parquet``.

    Parameters
    ----------
    options : argparse.Namespace
        With those of `add_many_options`, `output` and `force`.
    task : Task
        What is done with each file.
    jobs : sequence of Job
        The files.
    settings : mapping
        As of `settings_of`.
    columns : mapping of str to str
        Of the summary.
    files : sequence of str
        Names of what is written for all files together.
    unit : str
        What is counted a second.

    Returns
    -------
    list of Outcome, bool
        What became of all files in the folder, those of earlier runs as well; and whether all was
        done.

    Raises
    ------
    HodynError, OSError
        When the folder cannot be used.

    """
    from hodyn_ros.cli.fleet_progress import FleetProgress
    from hodyn_ros.fleet.inputs import LEDGER
    from hodyn_ros.fleet.ledger import Ledger
    from hodyn_ros.fleet.run import remove_unfinished, run_fleet
    from hodyn_ros.fleet.summary import SUMMARY, write_summary
    from hodyn_ros.replay.computed_parquet import need_pyarrow

    need_pyarrow()
    folder: Path = options.output
    has_ledger = (folder / LEDGER).is_file()
    if options.resume and not has_ledger:
        raise HodynError(f'--resume: {folder} has no {LEDGER} of an earlier run to go on with')
    workers = _workers(options)
    check_output(
        folder, Contents(frozenset(files)), inputs=[job.path for job in jobs],
        force=options.force or has_ledger)
    if not (has_ledger or options.force):
        for name in task.folders:
            if os.path.lexists(folder / name):
                raise FileExistsError(
                    f'{folder / name}: exists, and there is no {LEDGER} that says what is in it; '
                    'choose another output, or --force to replace files of the same names')
    with Ledger(folder, settings, task.remove, force=options.force) as ledger:
        ledger.check_names(jobs)
        _check_places(task, jobs, ledger.begun, options.force)
        if has_ledger:
            remove_unfinished(folder)
        with FleetProgress(options.command, unit) as progress:
            is_done = run_fleet(task, jobs, ledger, workers, progress)
        outcomes = [ledger.outcomes[name] for name in sorted(ledger.outcomes)]
        write_summary(outcomes, columns, folder / SUMMARY)
    return outcomes, is_done


def _check_places(
    task: Task, jobs: Sequence[Job], begun: Collection[str], force: bool,
) -> None:
    """Raise for two files that are written to one place, and for what no run wrote that is there.

    Parameters
    ----------
    task : Task
        What is done with each file.
    jobs : sequence of Job
        The files.
    begun : collection of str
        Names for which earlier runs may have written something.
    force : bool
        Whether what is there is replaced.

    Raises
    ------
    HodynError, FileExistsError
        For the one, and for the other.

    """
    owners: dict[Path, str] = {}
    for name in (*sorted(begun), *(job.name for job in jobs)):
        for place in task.places(name):
            other = owners.setdefault(place, name)
            if other != name:
                raise HodynError(
                    f'{other} and {name}: both would be written to {place}; rename one, or choose '
                    'another output')
    for job in jobs:
        if job.name not in begun and not force and (there := task.present(job.name)):
            raise FileExistsError(
                f'{there[0]}: is of no earlier run; move it away, choose another output, or '
                '--force to begin anew and replace it')


def exit_code(outcomes: Sequence[Outcome], jobs: Sequence[Job], is_done: bool) -> int:
    """Return 0 where all is well, 1 where some files failed, 2 where all did; 130 if stopped."""
    names = {job.name for job in jobs}
    mine = [outcome for outcome in outcomes if outcome.name in names]
    if not is_done:
        print(
            f'stopped after {len(mine)} of {len(jobs)} files: the same command goes on with the '
            'others', file=sys.stderr)
        return STOPPED
    if all(outcome.is_ok for outcome in mine):
        return ALL_WELL
    return SOME_FAILED if any(outcome.has_result for outcome in mine) else NONE


def _workers(options: argparse.Namespace) -> Workers:
    if options.scheduler is None:
        from hodyn_ros.fleet.processes import Processes

        return Processes(options.jobs or len(os.sched_getaffinity(0)))
    from hodyn_ros.fleet.dask_cluster import DaskCluster

    return DaskCluster(options.scheduler)
