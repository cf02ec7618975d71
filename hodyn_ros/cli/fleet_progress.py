"""The progress of many files: a bar on a terminal; in a pipe, lines 10 s apart or more."""
from __future__ import annotations

from collections.abc import Sequence
import sys
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hodyn_ros.fleet.task import Outcome

PERIOD = 10.0
"""Least time between lines in a pipe, s."""


class FleetProgress:
    """Shows files done, messages per second, the remaining time, and each file that failed.

    It is a context manager, and writes to the standard error.
    """

    def __init__(self, command: str, unit: str) -> None:
        self._command, self._unit = command, unit
        self._sizes: dict[str, int] = {}
        self._total = self._count = self._earlier = self._failed = self._messages = 0
        self._bytes = self._bytes_done = 0
        self._bar: Any = None

    def __enter__(self) -> FleetProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def start(self, done: Sequence[Outcome], sizes: dict[str, int]) -> None:
        """Take the outcomes of an earlier run, and the number of bytes of each remaining file."""
        self._sizes, self._bytes = sizes, sum(sizes.values())
        self._earlier, self._failed = len(done), sum(not outcome.is_ok for outcome in done)
        self._total = len(done) + len(sizes)
        self._begin = self._said = time.monotonic()
        if done:
            self._say(f'{len(done)} of {self._total} files are done already')
        if sys.stderr.isatty() and sizes:
            from rich.progress import BarColumn, Progress, TextColumn

            from hodyn_ros.cli.tables import make_console

            self._bar = Progress(
                TextColumn('{task.description}'), BarColumn(), TextColumn('{task.fields[text]}'),
                console=make_console(stderr=True), transient=True)
            self._task = self._bar.add_task(self._command, total=self._total, text='')
            self._bar.start()
            self._show()

    def add(self, outcome: Outcome) -> None:
        """Take the outcome of a file."""
        self._count += 1
        self._messages += outcome.messages
        self._bytes_done += self._sizes.get(outcome.name, 0)
        if not outcome.is_ok:
            self._failed += 1
            self._say(f'{outcome.name}: {outcome.status}')
        if outcome.traceback:
            self._say(outcome.traceback)
        self._show()

    def stop(self) -> None:
        """Say that no further file will be begun."""
        self._say('finishing the files that are begun; Ctrl-C again ends at once')

    def _show(self) -> None:
        if self._bar is not None:
            self._bar.update(self._task, completed=self._earlier + self._count, text=self._text())
        elif time.monotonic() - self._said > PERIOD:
            self._say(self._text())

    def _text(self) -> str:
        seconds = max(time.monotonic() - self._begin, 1e-3)
        parts = [f'{self._earlier + self._count} of {self._total} files']
        if self._count:
            parts.append(f'{self._messages / seconds:,.0f} {self._unit}/s')
            # The share counts bytes, as files may differ much in length.
            share = self._bytes_done / self._bytes if self._bytes else self._count / (
                self._total - self._earlier)
            if 0.0 < share < 1.0:
                parts.append(f'{_duration(seconds * (1.0 - share) / share)} left')
        if self._failed:
            parts.append(f'{self._failed} failed')
        return ', '.join(parts)

    def _say(self, text: str) -> None:
        self._said = time.monotonic()
        line = f'hodyn {self._command}: {text}'
        if self._bar is None:
            print(line, file=sys.stderr, flush=True)
        else:
            self._bar.console.print(line, markup=False)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f'{hours} h {minutes} min'
    return f'{minutes} min {rest} s' if minutes else f'{rest} s'
