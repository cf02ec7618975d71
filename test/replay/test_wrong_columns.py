"""Recordings of an arm on a slide with wrong columns: times, units, order, stamps of efforts."""
from pathlib import Path
import re
from shutil import rmtree

from known_recordings import lifted_arm
import numpy as np
import pytest
from recordings import messages, record, write
from rough_recordings import ROBOTS, recorded
import yaml

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.comparison import EffortComparison, common_lag

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
        rmtree(tmp_path / 'bag', ignore_errors=True)
        write(tmp_path / 'bag', {'/joint_states': messages(recording)})
        assert main((command, 'bag', '--robot', 'arm.yaml', *options)) in (0, 2)
        return ' '.join(' '.join(capsys.readouterr()).split())
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


def delay(recording, joint, seconds):
    """Delay the efforts of one joint by whole samples."""
    samples = round(100 * seconds)
    recording.effort[samples:, joint] = recording.effort[:-samples, joint].copy()


def test_a_lag_of_one_joint_is_not_that_of_all(printed):
    for command in ('replay', 'identify'):
        said = printed(command, lambda recording: delay(recording, 1, 0.1), '--force')
        assert re.search(
            r'Recorded efforts of shoulder run behind the prediction by (98|99|100|101)(\.\d+)? ± '
            r'\S+ ms \(two standard deviations\), unlike those of other joints\. Friction and '
            r'inertia .*: shift only the efforts of shoulder by its own lag, or correct', said)
        assert 'for all' not in said


@pytest.mark.parametrize('seeds', [
    range(20), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])
def test_no_joint_of_a_sound_recording_has_its_own_lag(seeds):
    instants = 100_000_000 * np.arange(100)
    for seed in seeds:
        rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
        q, effort = recorded(
            rng, robot, off=rng.choice([0.0, 0.1, 0.2]), size=rng.choice([0.1, 1.0]))
        predicted = FeedForward(robot).torque(q, friction=False)[:, :2]
        found = EffortComparison(robot.joint_names)
        found.add(instants, instants, predicted, effort,
                  np.stack([predicted[:, 0], effort], axis=1), q[:, 1:3])
        assert not common_lag(found.joints).own, seed


def test_a_lag_of_all_joints_has_no_exception(printed):
    def late(recording):
        for joint in range(4):
            delay(recording, joint, 0.1)
    said = printed('replay', late)
    assert 'estimated for all joints together' in said
    assert 'unlike those' not in said


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize(('joint', 'factor', 'unit'), [
    (1, 1e3, 'in N mm'), (2, 1e3, 'in N mm'), (3, 1e3, 'in N mm'), (3, 1e-3, 'in kN m')])
def test_the_efforts_of_one_joint_in_another_unit_are_named(printed, command, joint, factor, unit):
    def scale(recording):
        recording.effort[:, joint] *= factor
    said = printed(command, scale)
    assert (
        f'Efforts of {ARM.joint_names[joint]} are about {factor:g} times those of the model: '
        f'are they {unit}') in said
    for other in (
            'torque, neither', 'torque, more', 'torque, far', 'last link carries', "motor's side",
            'another unit than N m'):
        assert other not in said, other


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize('velocities_too', [True, False])
@pytest.mark.parametrize(('factor', 'unit'), [(1000.0, 'mm'), (100.0, 'cm')])
def test_a_slide_in_other_units_of_length_is_named(
        printed, command, velocities_too, factor, unit):
    def scale(recording):
        recording.position[:, 0] *= factor
        recording.velocity[:, 0] *= factor if velocities_too else 1.0
    said = printed(command, scale)
    assert (
        f'Positions of lift are about {factor:g} times as large as its range allows: are they in '
        f'{unit}? Let the driver send metres.') in said
    for other in (
            'degrees', 'Recorded velocities', 'does not fit the model', 'without gravity',
            'Beyond'):
        assert other not in said, other
    assert ('nothing is identified' in said) == (command == 'identify')


def test_mm_of_a_slide_beside_degrees_are_named(printed):
    def scale(recording):
        recording.position *= np.array([1000.0, *np.full(3, 180.0 / np.pi)])
        recording.velocity *= np.array([1000.0, *np.full(3, 180.0 / np.pi)])
    said = printed('replay', scale)
    assert 'Positions of lift are about 1000 times as large' in said
    assert 'positions and velocities are in degrees' in said


@pytest.mark.parametrize('command', ['replay', 'identify'])
def test_swapped_columns_are_known_by_the_ranges(printed, command):
    """Also if friction explains the efforts, whatever the order."""
    def swap(recording):
        recording.effort += 20.0 * FRICTION * np.tanh(recording.velocity / 0.03)
        for values in (recording.position, recording.velocity, recording.effort):
            values[:, [0, 1]] = values[:, [1, 0]]
    said = printed(command, swap)
    assert 'Positions of lift are mostly outside the range. All are inside if the joints ' in said
    assert 'lift and shoulder are swapped' in said
    assert 'efforts without gravity' not in said
    assert ('nothing is identified' in said) == (command == 'identify')


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize('from_file', [False, True])
@pytest.mark.parametrize('moves', [False, True])
def test_a_locked_slide_that_moves_is_named(printed, command, from_file, moves):
    """One that stands elsewhere changes no torque."""
    def stand(recording):
        if not moves:
            recording.position[:, 0], recording.velocity[:, 0] = 0.5, 0.0
    options = ('--lock', 'lift=0.3')
    if from_file:
        hd.save_robot(hd.load_robot('arm.yaml', locked_joints={'lift': 0.3}), 'locked.yaml')
        options = ('--robot', 'locked.yaml')
    said = printed(command, stand, *options)
    assert bool(re.search(
        r'lift is locked, but moves from 0\.\d+ to 0\.\d+ in the recording: its accelerations are '
        r'left out\. Do not lock it\.', said)) == moves
    assert moves or 'is locked' not in said


@pytest.mark.parametrize('command', ['replay', 'identify'])
@pytest.mark.parametrize('contradicts', [False, True])
def test_a_follower_that_contradicts_its_leader_is_named(printed, command, contradicts):
    """The follower of the model has no mass, so that no torque depends on it."""
    keys = yaml.safe_load(Path('arm.yaml').read_text())
    keys['bodies'].append({
        **keys['bodies'][-1], 'name': 'pointer', 'joint': 'pointer_joint', 'parent': 'tilt_link',
        'mass': 1e-6, 'com': [0.0, 0.0, 0.0], 'inertia': np.diag([1e-9] * 3).tolist(),
        'mimic': {'joint': 'tilt', 'multiplier': -1.1, 'offset': 0.05}})
    hd.save_robot(hd.load_robot(keys), 'coupled.yaml')

    def follow(recording):
        due = -1.1 * recording.position[:, 3] + 0.05
        recording.names = [*recording.names, 'pointer_joint']
        for name, column in (
                ('position', -due if contradicts else due),
                ('velocity', -1.1 * recording.velocity[:, 3]), ('effort', 0.0 * due)):
            setattr(recording, name, np.column_stack([getattr(recording, name), column]))
    said = printed(command, follow, '--robot', 'coupled.yaml')
    assert bool(re.search(
        r'pointer_joint is at \S+ in the recording, but it follows tilt and is at \S+ then: the '
        'torque is computed for the latter. Correct its `mimic` in the robot file', said)
    ) == contradicts
