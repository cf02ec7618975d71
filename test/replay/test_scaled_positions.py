"""Positions that are too large by a factor: of degrees only if no other factor explains more."""
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import messages, record, write
from rough_recordings import ROBOTS, recorded

from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.diagnosis import DiagnosisSamples
from hodyn_ros.replay.misreading import find_misreading

DEGREES = 180.0 / np.pi
RATIOS = (30.0, 50.0, 80.0, 100.0, 120.0, 160.0)


def causes(seed, factor):
    """Return the causes said of a recording whose positions are too large by a factor."""
    rng = np.random.default_rng(seed)
    robot = ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.1]))
    fit = find_misreading(FeedForward(robot), factor * q, effort / factor)
    return [] if fit.reading is None else fit.reading.causes(robot.joint_names), fit


@pytest.mark.parametrize('seeds', [
    range(12), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])
def test_another_factor_than_that_of_degrees_is_not_called_degrees(seeds):
    """Guards "in degrees" of positions on the motor's side of a gear with the ratio 100."""
    named, near = [], []
    for seed in seeds:
        factor = RATIOS[seed % len(RATIOS)]
        said, fit = causes(seed, factor)
        named.append(len(said) == 1 and 'times too large, as on the motor' in said[0])
        if named[-1]:
            near.append(abs(np.log(fit.reading.scale / factor)) < np.log(1.1))
        # As close to 57 as 50 is, degrees may be possible, but are never alone.
        assert factor == 50.0 or 'degrees' not in ' '.join(said), (seed, factor, said)
    assert np.mean(named) >= 0.95
    assert np.mean(near) >= 0.95


@pytest.mark.parametrize('seeds', [
    range(12), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])
def test_degrees_are_called_degrees(seeds):
    said = [causes(seed, DEGREES)[0] for seed in seeds]
    assert np.mean([one == ['positions and velocities are in degrees'] for one in said]) >= 0.95


def test_degrees_and_another_factor_that_explain_alike_are_both_named():
    """In these motions, 52 and 57 explain about as much."""
    for seed in (10, 12, 17, 21):
        (said,), fit = causes(seed, 52.0)
        assert said.startswith('positions and velocities are in degrees, or about ')
        assert said.endswith('gears with this ratio (a mean, if the ratios differ)')
        assert fit.reading.remedies[0] == 'Let the driver send radians.'
        assert 'not of the motors' in fit.reading.remedies[1]


@pytest.mark.parametrize(('velocity', 'said'), [
    (100.0, 'positions and velocities are about'), (1.0, 'if positions are about'),
    (np.nan, 'if positions are about')])
def test_velocities_that_agree_are_not_said_to_be_too_large(velocity, said):
    q, effort = recorded(np.random.default_rng(0), ROBOTS[0])
    few = DiagnosisSamples()
    few.add(SimpleNamespace(
        q=100.0 * q, slow=np.stack([effort, effort], axis=1),
        states=SimpleNamespace(velocity=velocity * q[:, 1])))
    found = few.diagnosis(FeedForward(ROBOTS[0]), ROBOTS[0].joint_names,
        SimpleNamespace(gear_ratios=np.full(7, np.nan)))
    sentence, = found.sentences
    assert f'{said} ' in sentence
    assert 'Let the driver send positions, velocities and efforts of the joints' in sentence
    assert 'radians' not in sentence
    assert found.is_motion_misread


@pytest.mark.parametrize('command', ['replay', 'identify'])
def test_a_recording_of_the_motors_is_named_by_its_ratio(tmp_path, capsys, command):
    recording = record(rate=25.0, duration=13.0, bandwidth=0.6)
    recording.position, recording.velocity = 100.0 * recording.position, 100.0 * recording.velocity
    recording.effort = recording.effort / 100.0
    path = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    assert main([command, str(path), '--robot', 'panda', '--output', str(tmp_path / 'out')]) == (
        2 if command == 'identify' else 0)
    out = ' '.join(capsys.readouterr().out.split())
    assert 'positions and velocities are about 100 times too large' in out
    assert 'degrees' not in out
