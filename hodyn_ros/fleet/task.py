"""A task for each file, and its outcome."""
from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from traceback import format_exc
from typing import Any, ClassVar
import warnings

from hodyn_ros.common.errors import HodynError

Row = dict[str, Any]

OK = 'ok'


@dataclass(frozen=True)
class Job:
    """A file, and its name in the fleet."""

    name: str
    path: Path


@dataclass(frozen=True)
class Outcome:
    """Outcome of one file; all values can be written as JSON."""

    name: str  #: The name of the file in the fleet
    status: str  #: 'ok', or one line that says what is wrong
    #: Rows of the summary, one for each joint; if nothing could be computed, one row without a
    #: joint
    rows: list[Row] = field(default_factory=list)
    messages: int = 0  #: Number of messages or points that were read
    #: The output files for this file, relative to the folder of the fleet
    written: list[str] = field(default_factory=list)
    traceback: str = ''  #: Traceback, after an error of this program

    @property
    def is_ok(self) -> bool:
        """Whether the file has no fault."""
        return self.status == OK

    @property
    def has_result(self) -> bool:
        """Whether anything could be computed."""
        return any(row.get('joint') is not None for row in self.rows)


class Task(ABC):
    """A task for each file: picklable, and called in any process."""

    key: ClassVar[str]  #: Column of the file's name in the rows: 'bag' or 'plan'
    output: Path  #: Folder of the fleet. Earlier results of a file are replaced.

    def __call__(self, path: Path, name: str = '') -> Outcome:
        """Perform the task; an error is not raised: it becomes the status of the outcome.

        The path may be the folder of a bag. `name` is its name in the fleet, by default the file
        name.
        """
        job = Job(printable(name or Path(path).name), Path(path))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                outcome = self.perform(job)
        except (HodynError, OSError) as error:
            return self.outcome(job, str(error))
        except Exception as error:  # one file must not end the others
            return self.outcome(
                job, f'an error of this program, {type(error).__name__}: {error}',
                traceback=format_exc())
        return replace(outcome, written=[
            place for place in self.places(job.name) if (self.output / place).exists()])

    @abstractmethod
    def perform(self, job: Job) -> Outcome:
        """Perform the task; raise HodynError or OSError for errors."""

    @abstractmethod
    def places(self, name: str) -> list[str]:
        """Return all paths, relative to `output`, at which results of a file may be written."""

    @abstractmethod
    def warm_up(self) -> None:
        """Compile the kernels that the task needs."""

    def outcome(
        self, job: Job, status: str, rows: Iterable[Row] = ({},), **values: Any,
    ) -> Outcome:
        """Return the outcome of a file; without `rows`, the outcome has no results.

        `status` is 'ok', or what is wrong; `rows` have the values of each joint besides the file
        and its status; `values` are other attributes of `Outcome`.
        """
        status = printable(' '.join(status.split()).removeprefix(f'{job.path}: '))
        common = {self.key: job.name, 'path': str(job.path), 'status': status}
        return Outcome(job.name, status, [{**common, **row} for row in rows], **values)


def printable(text: str) -> str:
    """Return a text that UTF-8 can encode; names of files may have other bytes."""
    return text.encode('utf-8', 'backslashreplace').decode('utf-8')
