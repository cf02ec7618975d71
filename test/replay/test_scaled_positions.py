"""Positions that are too large by a factor: of degrees only if no other factor explains more."""
import numpy as np
import pytest
from rough_recordings import ROBOTS, diagnosed, recorded
from spoiled_recordings import DEGREES, SCARA, TURNS

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.misreading import find_misreading

RATIOS = (30.0, 50.0, 80.0, 100.0, 120.0, 160.0)


def causes(seed, factor):
    """Return the causes said of a recording whose positions are too large by a factor."""
    rng = np.random.default_rng(seed)
    robot = ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.1]))
    fit = find_misreading(FeedForward(robot), factor * q, effort / factor)
    return [] if fit.reading is None else fit.reading.causes(robot.joint_names), fit


@pytest.mark.parametrize('seeds', [
    range(6), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])
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
    range(6), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])
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
    (None, 'positions and velocities are'), (1.0, 'if positions are'),
    (np.nan, 'if positions are')])
@pytest.mark.parametrize(('seed', 'factor', 'unit', 'remedy', 'unsaid'), [
    *((seed, DEGREES, 'in degrees', 'radians', 'of the joints') for seed in range(3)),
    (0, 100.0, 'about', 'Let the driver send positions, velocities and efforts of the joints',
     'radians')])
def test_velocities_that_agree_are_not_said_to_be_too_large(
        seed, factor, unit, remedy, unsaid, velocity, said):
    q, effort = recorded(np.random.default_rng(seed), ROBOTS[0])
    found = diagnosed(
        factor * q, effort, (factor if velocity is None else velocity) * q[:, 1])
    sentence, = found.sentences
    assert f'{said} {unit}' in sentence
    assert remedy in sentence
    assert unsaid not in sentence
    assert found.is_motion_misread


@pytest.mark.parametrize('seeds', [
    range(8), pytest.param(range(1000, 1100), marks=pytest.mark.siege)])
@pytest.mark.parametrize(('factor', 'words'), [
    (np.where(TURNS, DEGREES, 1.0), 'are in degrees'),
    (np.full(4, DEGREES), 'are multiplied by 180/π'), (np.ones(4), '')])
def test_what_was_multiplied_is_named(seeds, factor, words):
    right = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        q, effort = recorded(rng, SCARA, off=rng.choice([0.0, 0.1]))
        fit = find_misreading(FeedForward(SCARA), q * factor, effort)
        causes = [] if fit.reading is None else fit.reading.causes(SCARA.joint_names)
        right.append(len(causes) == 1 and words in causes[0] if words else not causes)
    assert np.mean(right) >= (0.95 if words else 1.0), right
