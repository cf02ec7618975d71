"""What is done already: a file of lines that grows as files are done, and survives being killed.

The first line says of which settings the results are; then a line when a file is begun, and one
with its outcome when it is done and all that was written for it is in its place.
"""
from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
import fcntl
import json
import os
from pathlib import Path
from typing import Any, TextIO

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.inputs import LEDGER, fingerprint
from hodyn_ros.fleet.outcome import Job, Outcome

Settings = Mapping[str, Any]


class Ledger:
    """The ledger in the folder of a fleet, for one process at a time; a context manager.

    Attributes
    ----------
    outcomes : dict of str to Outcome
        What became of each file, by name.
    begun : set of str
        Names of the files for which something may have been written.

    """

    def __init__(
        self, folder: Path, settings: Settings, remove: Callable[[str], None], *,
        force: bool = False,
    ) -> None:
        """Open the ledger; none is begun before the context is entered.

        Parameters
        ----------
        folder : Path
            Folder of the fleet.
        settings : mapping
            What results depend on, beside the files: values of JSON.
        remove : callable
            Removes what an earlier run may have written for the file of a name.
        force : bool
            Whether all is begun anew, and what is there of an earlier run removed.

        Raises
        ------
        HodynError
            For a ledger of other settings without `force`, one of another command, one that is
            none, and one that another process writes.

        """
        self._path = folder / LEDGER
        self._settings = dict(settings)
        self._remove, self._force = remove, force
        self._files: dict[str, Any] = {}
        self.outcomes: dict[str, Outcome] = {}
        self.begun: set[str] = set()

    def __enter__(self) -> Ledger:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file: TextIO = self._path.open('a+', encoding='utf-8')
        try:
            self._begin()
        except BaseException:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def is_done(self, job: Job) -> bool:
        """Whether the outcome of a file as it is now is known, and would be the same again."""
        known = self.outcomes.get(job.name)
        return known is not None and known.is_final and (
            self._files[job.name] == [str(job.path), fingerprint(job.path)])

    def check_names(self, jobs: Iterable[Job]) -> None:
        """Raise HodynError for a file that has the name of another one, which is still there."""
        for job in jobs:
            path = self._files.get(job.name, [str(job.path)])[0]
            if path != str(job.path) and Path(path).exists():
                raise HodynError(
                    f'{job.path}: {self._path.parent} has results of {path} under the name '
                    f'{job.name!r}; give the folder that holds both, or choose another output')

    def forget(self, job: Job) -> None:
        """Remove what an earlier run wrote for a file that is to be done again.

        That is done before workers begin, which make folders while others would remove them.
        """
        if job.name not in self.begun:
            return
        if self.outcomes.pop(job.name, None):
            self._write({'begin': job.name})
        self._remove(job.name)

    def begin(self, job: Job) -> None:
        """Note that a file is begun."""
        self._files[job.name] = [str(job.path), fingerprint(job.path)]
        self.begun.add(job.name)
        self._write({'begin': job.name})

    def add(self, outcome: Outcome) -> None:
        """Note an outcome, once what was written is in its place."""
        self.outcomes[outcome.name] = outcome
        self._write({'done': asdict(outcome), 'file': self._files[outcome.name]})

    def _begin(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HodynError(f'{self._path}: another process is writing to this folder') from None
        self._file.seek(0)
        lines = self._file.read().splitlines(keepends=True)
        if lines and not lines[-1].endswith('\n'):
            lines.pop()  # it was being written when the process was killed
        entries = [self._parsed(line) for line in lines]
        if entries:
            if 'settings' not in entries[0]:
                raise self._foreign()
            found = entries[0]['settings']
            if found == self._settings and not self._force:
                self._truncate(''.join(lines))
                for entry in entries[1:]:
                    self._take(entry)
                return
            # What another command wrote is elsewhere, and what is at our places is not its.
            may_force = found.get('command') == self._settings.get('command')
            if not (self._force and may_force):
                raise HodynError(
                    f'{self._path.parent}: has results of {_difference(found, self._settings)}; '
                    'choose another output' + (', or --force to begin anew' if may_force else ''))
            for name in sorted({entry['begin'] for entry in entries[1:] if 'begin' in entry}):
                self._remove(name)
        self._truncate('')
        self._write({'settings': self._settings})

    def _take(self, entry: Mapping[str, Any]) -> None:
        """Take a line of an earlier run."""
        if 'done' in entry:
            outcome = Outcome(**entry['done'])
            self.outcomes[outcome.name] = outcome
            self._files[outcome.name] = entry['file']
        elif 'begin' in entry:
            self.outcomes.pop(entry['begin'], None)  # its former result is no longer there
            self.begun.add(entry['begin'])

    def _foreign(self) -> HodynError:
        return HodynError(f'{self._path}: not a ledger of hodyn; choose another output')

    def _parsed(self, line: str) -> dict[str, Any]:
        try:
            entry = json.loads(line)
        except ValueError:
            entry = None
        if not isinstance(entry, dict):
            raise self._foreign()
        return entry

    def _truncate(self, kept: str) -> None:
        self._file.truncate(len(kept.encode()))

    def _write(self, entry: Mapping[str, Any]) -> None:
        self._file.write(json.dumps(entry) + '\n')
        self._file.flush()
        os.fsync(self._file.fileno())


def _difference(found: Settings, wanted: Settings) -> str:
    for key in (*wanted, *found):
        if found.get(key) != wanted.get(key):
            return (f'other settings: {key.replace("_", " ")} was {found.get(key)}, now it is '
                    f'{wanted.get(key)}')
    return 'the same settings'
