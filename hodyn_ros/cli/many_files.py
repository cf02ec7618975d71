"""Code that the commands for many files share."""
from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
import signal
import sys
import threading
from typing import TYPE_CHECKING, Any

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, check_output

if TYPE_CHECKING:
    from hodyn_ros.fleet.task import Job, Outcome, Task

ALL_WELL, SOME_FAILED, NONE, STOPPED = 0, 1, 2, 130
"""Exit codes of commands with many files."""

_MAX_LINES = 15  # largest number of lines of a table


def add_many_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for many files at once."""
    group = parser.add_argument_group(
        'many files',
        'for several files, a folder of files, or a pattern in quotes; processes share the files')
    group.add_argument(
        '--jobs', type=_count, metavar='N',
        help='number of files at a time on this machine (default: its number of processors; '
             'without Dask 1)')
    group.add_argument(
        '--resume', action='store_true',
        help='continue an earlier run in --output, or fail if there is none (default: continue '
             'if the settings are the same)')
    group.add_argument(
        '--scheduler', metavar='ADDRESS',
        help='scheduler of the Dask cluster to use: tcp://HOST:PORT, or its scheduler file '
        '(.json)')


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f'{text}: give a number of processes, 1 or more')
    return value


def wants_many(options: argparse.Namespace, paths: Sequence[Path]) -> bool:
    """Whether the arguments name several files, or have options for several files."""
    from hodyn_ros.fleet.inputs import is_many

    return bool(
        options.jobs or options.resume or options.scheduler is not None or is_many(paths))


def run_many(
    options: argparse.Namespace, task: Task, jobs: Sequence[Job], columns: Sequence[str],
    unit: str, show: Callable[[Sequence[Outcome]], None], files: Sequence[str] = (),
) -> int:
    """Do the files that are not done yet, write ``summary.parquet``, and return the exit code.

    The code is 0 if all files are well, 130 if the command was stopped, 2 if no file has a result,
    and otherwise 1. `options` has the options of `add_many_options`, `output` and `force`. The
    progress is in `unit` per second. `show` prints the outcomes of all files in the folder, also
    of earlier runs, and writes `files`. Raises HodynError or OSError if the folder or the workers
    cannot be used.
    """
    from hodyn_ros.cli.fleet_progress import FleetProgress
    from hodyn_ros.fleet.engine import engine
    from hodyn_ros.fleet.inputs import MARK, size
    from hodyn_ros.fleet.results import Results, settings_of
    from hodyn_ros.fleet.summary import SUMMARY, write_summary
    from hodyn_ros.replay.computed_parquet import need_pyarrow

    folder: Path = options.output
    is_there = (folder / MARK).is_file()
    if options.resume and not is_there:
        raise HodynError(f'--resume: {folder} has no {MARK} of an earlier run to continue')
    given = [f'--{name}' for name in ('jobs', 'resume', 'scheduler') if getattr(options, name)]
    need_pyarrow(
        f'{given[0] if given else "a folder, a pattern or a second path"} means many files, whose '
        f'{SUMMARY} needs')
    work = engine(options.jobs, options.scheduler)
    check_output(
        folder, Contents(frozenset({SUMMARY, *files})), inputs=[job.path for job in jobs],
        force=options.force or is_there)
    with Results(task, settings_of(options.command, task), force=options.force) as results:
        left = results.take(jobs)
        names = {job.name for job in jobs}
        with FleetProgress(options.command, unit) as progress, _stopping(progress.stop) as stop:
            progress.start(
                [outcome for outcome in results.outcomes if outcome.name in names],
                {job.name: size(job.path) for job in left})
            with closing(work(task, left, stop, results.begin)) as outcomes:
                for outcome in outcomes:
                    results.add(outcome)
                    progress.add(outcome)
        found = results.outcomes
        write_summary(found, columns, folder / SUMMARY)
    show(found)
    mine = [outcome for outcome in found if outcome.name in names]
    if len(mine) < len(names):
        print(
            f'stopped after {len(mine)} of {len(names)} files: the same command continues with '
            'the others', file=sys.stderr)
        return STOPPED
    if all(outcome.is_ok for outcome in mine):
        return ALL_WELL
    return SOME_FAILED if any(outcome.has_result for outcome in mine) else NONE


def print_ranking(
    title: str, headings: Sequence[str], left: tuple[str, ...], rows: Iterable[Sequence[str]],
    last: str,
) -> None:
    """Print a title, the first rows of a table (see `make_table`) and a last line."""
    from hodyn_ros.cli.tables import make_console, make_table

    console = make_console()
    console.print(title, markup=False)
    table = make_table(*headings, left=left)
    for row in islice(rows, _MAX_LINES):
        table.add_row(*row)
    console.print(table)
    console.print(last)


@contextmanager
def _stopping(tell: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Yield a function that returns whether Ctrl-C was pressed; a second Ctrl-C interrupts."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed.is_set
        return

    def press(number: int, frame: Any) -> None:
        if pressed.is_set():
            raise KeyboardInterrupt
        pressed.set()
        tell()

    former = signal.signal(signal.SIGINT, press)
    try:
        yield pressed.is_set
    finally:
        signal.signal(signal.SIGINT, former)
