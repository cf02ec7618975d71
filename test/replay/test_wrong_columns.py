"""Recordings of an arm on a slide with wrong columns: times, units, order, stamps of efforts."""
from known_recordings import lifted_arm
import numpy as np
import pytest
from recordings import messages, record, write

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward

ARM = lifted_arm()
FRICTION = np.array([1.0, 0.3, 0.2, 0.05])


def sound():
    """Return a recording within the ranges, with the friction of slides and gears."""
    recording = record(
        rate=100.0, duration=20.0, robot=ARM, prefix='', bandwidth=0.6, effort_noise=0.02)
    size, centre = np.array([0.15, 1.2, 1.2, 0.8]), np.array([0.3, 0.0, 0.0, 0.0])
    recording.position, recording.velocity = (
        centre + size * (recording.position - centre), size * recording.velocity)
    q = recording.q * size
    q[:, 0] += centre * (1.0 - size)
    recording.effort += FeedForward(ARM).torque(q)[:, 0] - recording.torque[:, 0] + (
        FRICTION * np.tanh(q[:, 1] / 0.03))
    return recording


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Return what a command prints about a recording that a function has changed."""
    monkeypatch.chdir(tmp_path)
    hd.save_robot(ARM, 'arm.yaml')

    def run(command, change, *options):
        recording = sound()
        change(recording)
        write(tmp_path / 'bag', {'/joint_states': messages(recording)})
        assert main((command, 'bag', '--robot', 'arm.yaml', *options)) in (0, 2)
        return ' '.join(capsys.readouterr().out.split())
    return run


@pytest.mark.parametrize('command', ['replay', 'identify'])
def test_times_that_are_stretched_are_suspected(printed, command):
    def stretch(recording):
        recording.stamp += recording.stamp - recording.stamp[0]
        recording.received = recording.stamp + 250_000
    assert (
        'those of all moving joints are about 2 times as large, so the times, or all velocities, '
        'are wrong by this factor: are the stamps of another rate? Correct the driver.'
    ) in printed(command, stretch)


@pytest.mark.parametrize('command', ['replay', 'identify'])
def test_of_a_sound_recording_nothing_is_said(printed, command):
    said = printed(command, lambda recording: None)
    assert ' ! ' not in said.replace('! The model has no friction', ''), said
