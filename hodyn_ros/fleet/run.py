"""A fleet from its files to its outcomes: what is done is skipped, what comes is noted."""
from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
import os
from pathlib import Path
import shutil
import signal
import threading
from typing import Any, Protocol

from hodyn_ros.common.output_files import UNFINISHED
from hodyn_ros.fleet.inputs import fingerprint
from hodyn_ros.fleet.ledger import Ledger
from hodyn_ros.fleet.outcome import Job, Outcome, Task


class Workers(Protocol):
    """Where the files are done."""

    def run(
        self, task: Task, jobs: Iterable[Job], is_stopping: Callable[[], bool],
        begin: Callable[[Job], None],
    ) -> Iterator[Outcome]:
        """Yield outcomes as they come; `begin` is called with each file before it is begun."""


class Progress(Protocol):
    """What is told how far the work is."""

    def start(self, done: Sequence[Outcome], sizes: dict[str, int]) -> None:
        """Take what an earlier run has done, and the bytes of each file that is left."""

    def add(self, outcome: Outcome) -> None:
        """Take an outcome."""

    def stop(self) -> None:
        """Take that no further file will be begun."""


def run_fleet(
    task: Task, jobs: Sequence[Job], ledger: Ledger, workers: Workers, progress: Progress,
) -> bool:
    """Do what is not done yet, and note it in the ledger.

    Ctrl-C lets files be finished that were begun; a second one ends all at once.

    Parameters
    ----------
    task : Task
        What is done with each file.
    jobs : sequence of Job
        The files.
    ledger : Ledger
        Open.
    workers : Workers
        Where they are done.
    progress : Progress
        What is told.

    Returns
    -------
    bool
        Whether all was done.

    """
    left = [job for job in jobs if not ledger.is_done(job)]
    names = {job.name for job in left}
    for job in left:
        ledger.forget(job)
    progress.start(
        [ledger.outcomes[job.name] for job in jobs if job.name not in names],
        {job.name: _size(job.path) for job in left})
    # The longest first: so no worker is left alone with it at the end.
    left.sort(key=lambda job: (-_size(job.path), job.name))
    done = 0
    with _stopping(progress.stop) as is_stopping:
        for outcome in workers.run(task, left, is_stopping, ledger.begin):
            ledger.add(outcome)
            progress.add(outcome)
            done += 1
    return done == len(left)


def remove_unfinished(folder: Path) -> None:
    """Remove what a killed run left unfinished in the folder of a fleet."""
    for place, folders, _ in os.walk(folder):
        for name in [name for name in folders if name.startswith(UNFINISHED)]:
            folders.remove(name)
            shutil.rmtree(Path(place) / name, ignore_errors=True)


def _size(path: Path) -> int:
    return sum(int(size) for _, size, _ in fingerprint(path))


@contextmanager
def _stopping(tell: Callable[[], None]) -> Iterator[Callable[[], bool]]:
    """Yield what says whether Ctrl-C was pressed; a second one is a KeyboardInterrupt."""
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
