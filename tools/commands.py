"""What tests of several commands do: plans that are given to them, and refusals."""
import json

from hodyn_ros.cli import main


def write_plan(path, joints, *points):
    """Write a plan of points by time and positions; return its path."""
    path.write_text(json.dumps({'joint_names': list(joints), 'points': [
        {'positions': list(positions), 'time_from_start': time} for time, positions in points]}))
    return path


def refusal(capsys, *arguments, code=2):
    """Return the one line with which a command refuses, before it has computed anything."""
    assert main(arguments) == code
    captured = capsys.readouterr()
    assert captured.out == ''
    (line,) = captured.err.strip().splitlines()  # a progress bar leaves an empty one
    return line
