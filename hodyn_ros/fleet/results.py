"""The folder of a fleet, from which a later run continues, however this one ends.

``fleet.json`` has the settings. ``outcomes/NAME.json`` has the size and time of a file and the
places where results may have been written for it; once the results are complete, it also has the
outcome. A file is done if its results are complete, and it and the settings have not changed.
"""
from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
import fcntl
import hashlib
import json
import os
from pathlib import Path
import shutil
from typing import Any

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import UNFINISHED, write_text
from hodyn_ros.common.version import VERSION
from hodyn_ros.fleet.inputs import MARK, fingerprint, size
from hodyn_ros.fleet.task import Job, Outcome, Task

Settings = Mapping[str, Any]

_OUTCOMES = 'outcomes'


def settings_of(command: str, task: Any) -> dict[str, Any]:
    """Return the settings that determine the results of a given file, in JSON's types."""
    from hodyn_ros.robot.files import robot_text

    values = {field.name: getattr(task, field.name) for field in fields(task)}
    del values['output']
    robot = values.pop('robot')
    digest = hashlib.sha256(robot_text(robot).encode()).hexdigest()[:16]
    if 'settings' in values:
        values |= asdict(values.pop('settings'))
    found: dict[str, Any] = json.loads(json.dumps({
        'command': command, 'version': VERSION, 'robot': f'{robot.name} {digest}', **values}))
    return found


class Results:
    """The folder of a fleet, for one process at a time; a context manager.

    The folder is the task's `output`, and `settings` are from `settings_of`. With `force`, results
    of earlier runs of the command are removed, and all files are done again. Entering the context
    raises HodynError if the folder has results of another command or, without `force`, with other
    settings; if its ``fleet.json`` is not from hodyn; or if another process is writing to it.
    """

    def __init__(self, task: Task, settings: Settings, *, force: bool = False) -> None:
        self._task, self._settings, self._force = task, dict(settings), force
        self._folder = task.output
        self._records: dict[str, dict[str, Any]] = {}

    def __enter__(self) -> Results:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._mark = (self._folder / MARK).open('a+', encoding='utf-8')
        try:
            self._begin()
        except BaseException:
            self._mark.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._remove_unfinished()
        self._mark.close()

    @property
    def outcomes(self) -> list[Outcome]:
        """Outcomes of all files by name, including earlier runs."""
        return [Outcome(**record['outcome']) for _, record in sorted(self._records.items())
                if record['outcome']]

    def take(self, jobs: Iterable[Job]) -> list[Job]:
        """Return the files that are not done, the largest first, and remove their old results.

        With the largest first, no worker has a long file left at the end. Old results are removed
        before any worker begins, so that no folder is removed while a worker writes to it.

        Raises HodynError or FileExistsError if two files have the same name or the same place for
        results, or if there is a file at such a place that no run wrote.
        """
        jobs = list(jobs)
        self._check(jobs)
        left = [job for job in jobs if not self._is_done(job)]
        for job in left:
            self._forget(job.name)
        return sorted(left, key=lambda job: (-size(job.path), job.name))

    def begin(self, job: Job) -> None:
        """Record that results may be written for a file from now on."""
        self._write(job.name, {
            'name': job.name, 'path': str(job.path), 'files': fingerprint(job.path),
            'places': self._task.places(job.name), 'outcome': None})

    def add(self, outcome: Outcome) -> None:
        """Record the outcome of a file, once all its results are in place."""
        self._write(outcome.name, {**self._records[outcome.name], 'outcome': asdict(outcome)})

    def _begin(self) -> None:
        try:
            fcntl.flock(self._mark, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise HodynError(
                f'{self._folder}: another process is writing to this folder') from None
        self._mark.seek(0)
        text = self._mark.read()
        found = self._former(text) if text else None
        if found is not None:
            self._remove_unfinished()
            self._records = {record['name']: record for record in self._read()}
        if self._force:
            for name in list(self._records):
                self._forget(name)
        if self._force or found is None:
            self._mark.truncate(0)
            self._mark.write(json.dumps(self._settings, indent=2) + '\n')
            self._mark.flush()

    def _former(self, text: str) -> Settings:
        """Return the settings of an earlier run, which this run may continue or replace."""
        try:
            found = dict(json.loads(text))
            command = found['command']
        except (ValueError, TypeError, KeyError):
            raise HodynError(
                f'{self._folder / MARK}: was not written by hodyn; choose another '
                'output') from None
        # Another command has its results in other places: its folder is never replaced.
        may_force = command == self._settings['command']
        if found != self._settings and not (self._force and may_force):
            key = next(key for key in (*self._settings, *found)
                       if found.get(key) != self._settings.get(key))
            raise HodynError(
                f'{self._folder}: has results of other settings: {key.replace("_", " ")} was '
                f'{found.get(key)}, now it is {self._settings.get(key)}; choose another output'
                + (', or --force to start again' if may_force else ''))
        return found

    def _read(self) -> Iterator[dict[str, Any]]:
        for path in (self._folder / _OUTCOMES).rglob('*.json'):
            with suppress(ValueError, TypeError, KeyError):  # not a file of ours
                record = json.loads(path.read_bytes())
                if self._record_of(record['name']) == path:
                    yield record

    def _record_of(self, name: str) -> Path:
        return self._folder / _OUTCOMES / f'{name}.json'

    def _write(self, name: str, record: dict[str, Any]) -> None:
        self._records[name] = record
        path = self._record_of(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, json.dumps(record), force=True)

    def _is_done(self, job: Job) -> bool:
        record = self._records.get(job.name)
        if record is None or record['outcome'] is None:
            return False
        outcome = Outcome(**record['outcome'])
        return (
            outcome.has_result
            and [record['path'], record['files']] == [str(job.path), fingerprint(job.path)]
            and all((self._folder / place).exists() for place in outcome.written))

    def _check(self, jobs: list[Job]) -> None:
        owners: dict[str, str] = {}
        for name in (*sorted(self._records), *(job.name for job in jobs)):
            for place in self._task.places(name):
                other = owners.setdefault(place, name)
                if other != name:
                    raise HodynError(
                        f'{other} and {name}: both would be written to {self._folder / place}; '
                        'rename one, or choose another output')
        for job in jobs:
            record = self._records.get(job.name)
            if record is None:
                places = map(self._folder.joinpath, self._task.places(job.name))
                for path in (*places, self._record_of(job.name)):
                    if os.path.lexists(path) and not self._force:
                        raise FileExistsError(
                            f'{path}: was not written by an earlier run; move it away, choose '
                            'another output, or --force to replace it')
            elif record['path'] != str(job.path) and Path(record['path']).exists():
                raise HodynError(
                    f'{job.path}: {self._folder} has results of {record["path"]} under the name '
                    f'{job.name!r}; give the folder that holds both, or choose another output')

    def _forget(self, name: str) -> None:
        """Remove the results of a file, and the folders that are then empty."""
        record = self._records.pop(name, None)
        if record is None:
            return
        for path in (*map(self._folder.joinpath, record['places']), self._record_of(name)):
            with suppress(OSError):  # not there, or not empty
                path.unlink()
                for folder in path.relative_to(self._folder).parents[:-1]:
                    (self._folder / folder).rmdir()

    def _remove_unfinished(self) -> None:
        """Remove the unfinished outputs of killed workers."""
        for place, folders, _ in os.walk(self._folder):
            for name in [name for name in folders if name.startswith(UNFINISHED)]:
                folders.remove(name)
                shutil.rmtree(Path(place) / name, ignore_errors=True)
