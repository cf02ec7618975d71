"""What tests of several commands do: run them, read what they say, and give them plans."""
from dataclasses import dataclass
import json

import pytest

from hodyn_ros.cli import main


def write_plan(path, joints, *points):
    """Write a plan of points by time and positions; return its path."""
    path.write_text(json.dumps({'joint_names': list(joints), 'points': [
        {'positions': list(positions), 'time_from_start': time} for time, positions in points]}))
    return path


@dataclass(frozen=True)
class Said:
    """What a command wrote to its standard output and error."""

    out: str
    err: str

    @property
    def words(self):
        """Return its output in one line."""
        return ' '.join(self.out.split())

    @property
    def figures(self):
        """Return its output, which is one JSON document."""
        return json.loads(self.out)

    @property
    def line(self):
        """Return the one line of its errors; a progress bar leaves an empty one."""
        (line,) = self.err.strip().splitlines()
        return line


class Commands:
    """`hodyn` in this process."""

    def __init__(self, capsys):
        self._capsys = capsys

    def said(self):
        """Return what was said since the last time that this was asked."""
        return Said(*self._capsys.readouterr())

    def __call__(self, *words, code=0):
        """Run a command, which ends with a code, or with any (None); return what it says."""
        self.said()
        found = main([str(word) for word in words])
        said = self.said()
        assert code in (None, found), said
        return said

    def refuses(self, *words, code=2):
        """Return the one line with which a command refuses, before it has computed anything."""
        said = self(*words, code=code)
        assert said.out == ''
        return said.line

    def rejects(self, *words):
        """Return what is said of words that are no command at all."""
        with pytest.raises(SystemExit, match='2'):
            self(*words)
        return self.said().err
