"""Degrees of a robot that also has a prismatic joint, whose positions are in m or multiplied."""
from known_recordings import scara
import numpy as np
import pytest
from recordings import messages, record, write
from rough_recordings import recorded

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.misreading import find_misreading

TURNS = np.array([True, True, False, True])
SCARA = scara()


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Return what a command prints about a SCARA whose columns are multiplied by factors."""
    monkeypatch.chdir(tmp_path)
    hd.save_robot(SCARA, 'scara.yaml')

    def run(command, position, velocity):
        recording = record(
            rate=100.0, duration=20.0, robot=SCARA, prefix='', bandwidth=1.5)
        recording.position, recording.velocity = (
            recording.position * position, recording.velocity * velocity)
        write(tmp_path / 'bag', {'/joint_states': messages(recording)})
        assert main((command, 'bag', '--robot', 'scara.yaml')) in (0, 2)
        return ' '.join(capsys.readouterr().out.split())
    return run


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize('velocities_too', [True, False])
def test_degrees_of_turning_joints_blame_no_velocity(printed, command, velocities_too):
    degrees = np.where(TURNS, 180.0 / np.pi, 1.0)
    said = printed(command, degrees, degrees if velocities_too else 1.0)
    assert (
        f'if positions {"and velocities " if velocities_too else ""}are in degrees. Let the '
    ) in said
    assert 'Recorded velocities' not in said


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize('velocities_too', [True, False])
def test_degrees_of_all_columns_are_not_called_gears(printed, command, velocities_too):
    said = printed(command, 180.0 / np.pi, 180.0 / np.pi if velocities_too else 1.0)
    assert (
        f'if positions {"and velocities " if velocities_too else ""}are multiplied by 180/π as '
        'into degrees, also those of prismatic joints. Let the driver send radians and metres.'
    ) in said
    assert 'Recorded velocities' not in said
    assert 'gears' not in said


@pytest.mark.parametrize('seeds', [
    range(8), pytest.param(range(1000, 1100), marks=pytest.mark.siege)])
@pytest.mark.parametrize(('factor', 'words'), [
    (np.where(TURNS, 180.0 / np.pi, 1.0), 'are in degrees'),
    (np.full(4, 180.0 / np.pi), 'are multiplied by 180/π'), (np.ones(4), '')])
def test_what_was_multiplied_is_named(seeds, factor, words):
    right = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        q, effort = recorded(rng, SCARA, off=rng.choice([0.0, 0.1]))
        fit = find_misreading(FeedForward(SCARA), q * factor, effort)
        causes = [] if fit.reading is None else fit.reading.causes(SCARA.joint_names)
        right.append(len(causes) == 1 and words in causes[0] if words else not causes)
    assert np.mean(right) >= (0.95 if words else 1.0), right
