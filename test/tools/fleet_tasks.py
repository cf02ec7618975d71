"""Tasks for tests of many files, which take no time: what a file holds is what becomes of it."""
from dataclasses import dataclass
import os
from pathlib import Path
import signal
import time

from hodyn_ros.common.errors import HodynError
from hodyn_ros.fleet.outcome import Job, Outcome, failed


@dataclass(frozen=True)
class ToldTask:
    """Does what a file says, and notes in `diary` that it was begun."""

    diary: Path
    key = 'bag'
    folders = ()

    def __call__(self, path, name):
        with self.diary.open('a') as file:
            file.write(f'{name}\n')
        begun = self.diary.read_text().split().count(name)
        what = path.read_text()
        if what == 'kill' or (what == 'kill once' and begun == 1):
            os.kill(os.getpid(), signal.SIGKILL)
        if what == 'bug':
            raise KeyError('of ours')
        if what == 'stubborn':
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(20.0)
        if what == 'slow':
            time.sleep(1.0)
        if what == 'wrong':
            return failed(self.key, Job(name, path), str(HodynError('wrong')), is_final=True)
        return Outcome(name, 'ok', [{'bag': name, 'joint': 'a', 'status': 'ok'}], messages=1)

    def warm_up(self):
        with self.diary.open('a') as file:
            file.write('warm-up\n')

    def places(self, name):
        return ()

    def present(self, name):
        return []

    def remove(self, name):
        pass


class Silence:
    """Progress that nobody sees."""

    def start(self, done, sizes):
        self.done, self.sizes = done, sizes

    def add(self, outcome):
        pass

    def stop(self):
        pass


def jobs_of(folder, **contents):
    """Return jobs of files that are written with these contents."""
    jobs = []
    for name, content in contents.items():
        (folder / name).write_text(content)
        jobs.append(Job(name, folder / name))
    return jobs
