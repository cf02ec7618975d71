"""Locked joints, also those of the robot file, that a recording has elsewhere."""
import numpy as np
import pytest
from recordings import messages, record, write

import hodyn_ros as hd
from hodyn_ros.cli import main


@pytest.fixture
def printed(tmp_path, monkeypatch, capsys):
    """Return what a command prints about a bag whose joint7 has the given positions."""
    monkeypatch.chdir(tmp_path)
    hd.save_robot(hd.load_robot('panda', locked_joints={'joint7': 0.0}), 'locked.yaml')

    def run(command, positions, *options):
        recording = record(rate=50.0, duration=20.0, bandwidth=0.5)
        recording.position[:, 6] = positions
        recording.velocity[:, 6] = 0.0
        write(tmp_path / 'bag', {'/joint_states': messages(recording)})
        assert main((command, 'bag', '--force', *options)) in (0, 2)
        return ' '.join(capsys.readouterr().out.split())
    return run


@pytest.mark.parametrize('command', ['replay', 'identify'])
def test_a_lock_of_the_robot_file_is_compared(printed, command):
    said = printed(command, 0.04, '--robot', 'locked.yaml')
    assert (
        '! joint7 is locked at 0, but stands at 0.04 in the recording: the torque is computed for '
        'the lock. Lock it at 0.04 instead: by --lock or, if the robot file locks it, when that '
        'file is made.'
    ) in said.replace('! bag: ', '! ')


@pytest.mark.parametrize(('positions', 'said'), [
    (np.full(1000, 0.005), ''),
    (np.linspace(0.0, 0.04, 1000),
     'but moves from 0 to 0.04 in the recording: the torque is computed for the lock. Do not'),
    (np.full(1000, 0.3), 'but stands at 0.3 in the recording: the model is not the arm that'),
    # A whole block of messages without its position.
    (np.r_[np.full(800, np.nan), np.full(200, 0.3)], 'but stands at 0.3 in the recording'),
    (np.linspace(0.0, 0.3, 1000), 'but moves from 0 to 0.3 in the recording: the model is not'),
])
def test_the_sentence_says_how_far_a_locked_joint_is(printed, positions, said):
    found = printed('replay', positions, '--robot', 'panda', '--lock', 'joint7=0', '--no-report')
    assert f'joint7 is locked at 0, {said}' in found if said else 'is locked' not in found
