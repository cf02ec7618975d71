"""Tasks for tests of many files, which take no time, and what is done of many files.

What a file holds is what becomes of it.
"""
from contextlib import suppress
from dataclasses import dataclass
import json
import os
from pathlib import Path
import signal
import time

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.task import Job, Task


@dataclass(frozen=True)
class ToldTask(Task):
    """Does what a file says, and notes in ``output/diary`` that it was begun."""

    output: Path
    key = 'bag'

    @property
    def begun(self):
        """Names of the files that were begun, and 'warm-up', one after the other."""
        return (self.output / 'diary').read_text().split()

    def perform(self, job):
        self.note(job.name)
        what = job.path.read_text()
        if what == 'kill' or (what == 'kill once' and self.begun.count(job.name) == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if what == 'bug':
            raise KeyError('of ours')
        if what == 'endless':
            time.sleep(60.0)
        if what == 'slow':
            time.sleep(1.0)
        if what == 'wrong':
            raise HodynError('wrong')
        for place in self.places(job.name):
            (self.output / place).parent.mkdir(exist_ok=True)
            (self.output / place).write_text(what)
        return self.outcome(job, 'ok', [{'joint': 'a', 'x': 0.1}], messages=1)

    def warm_up(self):
        self.note('warm-up')

    def places(self, name):
        return [f'copies/{name}']

    def note(self, what):
        self.output.mkdir(exist_ok=True)
        with (self.output / 'diary').open('a') as file:
            file.write(f'{what}\n')


def jobs_of(folder, **contents):
    """Return jobs of files that are written with these contents."""
    jobs = []
    for name, content in contents.items():
        (folder / name).write_text(content)
        jobs.append(Job(name, folder / name))
    return jobs


def done_in(folder):
    """Return how many files of a fleet that is at work are done, and how many are begun."""
    done = begun = 0
    for place, _, names in os.walk(folder / 'outcomes'):
        for name in names if '.hodyn-unfinished' not in place else ():
            with suppress(OSError):  # it is being replaced
                is_done = json.loads(Path(place, name).read_text())['outcome'] is not None
                done, begun = done + is_done, begun + (not is_done)
    return done, begun


def contents(folder):
    """Return all that a fleet wrote, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob('*')
            if path.is_file()}


def command_of(pid):
    """Return the command line of a process; empty of one that has ended."""
    try:
        return Path(f'/proc/{pid}/cmdline').read_bytes()
    except OSError:
        return b''


def workers_of(pid):
    """Return the processes of the workers that a process has started, by any of its threads."""
    started = [int(child) for thread in Path(f'/proc/{pid}/task').iterdir()
               for child in (thread / 'children').read_text().split()]
    # Beside them there is Python's tracker of resources.
    return [child for child in started if b'spawn_main' in command_of(child)]
