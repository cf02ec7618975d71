"""What a task says of its file."""
from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
import shutil
from traceback import format_exc
from typing import Any, Protocol

from hodyn_ros.common.errors import HodynError

Row = dict[str, Any]

OK = 'ok'


@dataclass(frozen=True)
class Outcome:
    """What became of one file.

    Attributes
    ----------
    name : str
        The name of the file among those of the fleet.
    status : str
        'ok', or in one line what is wrong.
    rows : list of dict
        What the summary says of it, a row for each joint; of a file of which nothing could be
        computed one row without a joint. Values are of JSON.
    messages : int
        Messages or points that were read.
    is_final : bool
        Whether it would be the same again: what the machine was to blame for, a disk that was
        full or a process that was killed, is tried anew by the next run.
    traceback : str
        Of an error of this program.

    """

    name: str
    status: str
    rows: list[Row] = field(default_factory=list)
    messages: int = 0
    is_final: bool = True
    traceback: str = ''

    @property
    def is_ok(self) -> bool:
        """Whether all is well."""
        return self.status == OK

    @property
    def has_result(self) -> bool:
        """Whether anything could be computed."""
        return any(row.get('joint') is not None for row in self.rows)


class Task(Protocol):
    """What is done with each file: picklable, and called in any process.

    Attributes
    ----------
    key : str
        What the rows call the file: 'bag' or 'plan'.
    folders : sequence of str
        The folders, within that of the fleet, in which it writes.

    """

    key: str

    @property
    def folders(self) -> Sequence[str]:
        """See above."""

    def __call__(self, path: Path, name: str) -> Outcome:
        """Do it; what is wrong with the file is told, not raised."""

    def places(self, name: str) -> Sequence[Path]:
        """Return the files and folders that are written for the file of a name."""

    def present(self, name: str) -> list[Path]:
        """Return what is there already of what is written for the file of a name."""

    def warm_up(self) -> None:
        """Compile the kernels that it needs."""

    def remove(self, name: str) -> None:
        """Remove what an earlier run wrote for the file of a name, while no worker is at work."""


@dataclass(frozen=True)
class Job:
    """A file, and its name among those of the fleet."""

    name: str
    path: Path


def printable(text: str) -> str:
    """Return a text that UTF-8 can hold; names of files may have bytes that are none."""
    return text.encode('utf-8', 'backslashreplace').decode('utf-8')


def failed(
    key: str, job: Job, status: str, *, is_final: bool = False, traceback: str = '',
) -> Outcome:
    """Return the outcome of a file of which nothing could be computed.

    Parameters
    ----------
    key : str
        As of `Task`.
    job : Job
        The file.
    status : str
        Why, in one line.
    is_final, traceback
        As of `Outcome`.

    """
    status = ' '.join(status.split()).removeprefix(f'{job.path}: ')  # it is in the row
    status = printable(status)
    return Outcome(
        job.name, status, [{key: job.name, 'path': str(job.path), 'status': status}],
        is_final=is_final, traceback=traceback)


def failed_by(key: str, job: Job, error: HodynError | OSError) -> Outcome:
    """Return the outcome of a file that an error ended; a machine may be to blame for it."""
    is_missing = isinstance(error.__context__, ImportError)  # a package, here and not elsewhere
    return failed(
        key, job, str(error), is_final=isinstance(error, HodynError) and not is_missing)


def perform(task: Task, job: Job) -> Outcome:
    """Return the outcome of a file, also where an error of this program prevents it."""
    try:
        return task(job.path, job.name)
    except Exception as error:  # one file must not end the others
        return failed(
            task.key, job, f'an error of this program, {type(error).__name__}: {error}',
            traceback=format_exc())


def prepare(task: Task) -> None:
    """Warm a process up; an error here is one that each file will tell."""
    with suppress(Exception):
        task.warm_up()


def remove_results(paths: Sequence[Path], top: Path) -> None:
    """Remove files and folders, and the folders up to `top` that are empty then."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # not empty
            for folder in path.parents:
                if folder == top:
                    break
                folder.rmdir()
