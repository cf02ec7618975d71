"""Recorded velocities that contradict the positions are named with their cause, sound ones not."""
import numpy as np
import pytest
from rough_recordings import ROBOTS, diagnosed, motion, recorded

from hodyn_ros.replay.wrong_velocities import RecordedVelocities


def wrong_velocities(moved, recorded, names, turns):
    return RecordedVelocities(moved, recorded, turns).clauses(names)


@pytest.mark.parametrize(('factor', 'said'), [
    (1e3, 'too far apart for the recorded'), (1e-3, 'too dense for the recorded')])
def test_stamps_in_another_unit_are_named_alone(factor, said):
    """What else such a recording shows would mislead."""
    q, effort = recorded(np.random.default_rng(7), ROBOTS[0])
    velocity = q[:, 1].copy()
    found = diagnosed(q / factor ** np.arange(5.0)[:, np.newaxis], effort, velocity)
    sentence, = found.sentences
    assert said in sentence
    assert found.is_wrong
    assert found.without(['gains', 'zeros', 'links']) is found
    assert not diagnosed(q, effort, velocity).is_wrong


@pytest.mark.parametrize(('turning', 'sliding', 'said'), [
    (30.0 / np.pi, 1.0, ['those of a, b, c, d, e are in revolutions per minute']),
    (0.5 / np.pi, 1.0, ['those of a, b, c, d, e are in revolutions per second']),
    (2.0, 1.0, ['those of a, b, c, d, e are about 2 times the estimated ones']),
    (0.1, 1.0, ['those of a, b, c, d, e are about 0.1 times the estimated ones']),
    # A joint that slides has no degrees.
    (180.0 / np.pi, 180.0 / np.pi, ['those of a, b, c, d, e are in degrees per second',
                                    'those of f, g are about 57 times the estimated ones']),
    (1.0, 1000.0, ['those of f, g are in millimetres per second'])])
@pytest.mark.parametrize('seed', range(5))
def test_velocities_in_another_unit_are_named(seed, turning, sliding, said):
    moved = motion(np.random.default_rng(seed), ROBOTS[0])[:, 1]
    turns = np.arange(7) < 5
    found = np.where(turns, turning, sliding) * moved
    assert wrong_velocities(moved, found, tuple('abcdefg'), turns) == said


@pytest.mark.parametrize(('factor', 'turns', 'said'), [
    (2.0, 5, '2'), (2.0, 7, '2'), (0.1, 7, '0.1'), (10.0, 7, '10'), (30.0 / np.pi, 5, '9.55'),
    (30.0 / np.pi, 7, ''), (180.0 / np.pi, 7, ''),
    (1.25, 7, '1.25'), (0.9, 7, '0.9'), (1.05, 7, '1.05'), (0.95, 7, '0.95'), (1.03, 7, '')])
@pytest.mark.parametrize('seed', range(5))
def test_one_factor_of_all_velocities_asks_for_the_times(seed, factor, turns, said):
    """Not if it is that of a unit, which the velocities of joints that turn may have."""
    moved = motion(np.random.default_rng(seed), ROBOTS[0])[:, 1]
    found = wrong_velocities(moved, factor * moved, tuple('abcdefg'), np.arange(7) < turns)
    assert [one for one in found if 'the stamps' in one] == ([
        f'those of all moving joints are about {said} times the estimated ones, so the stamps, or '
        'all velocities, are wrong by this factor: were the stamps made for another sampling '
        'rate?'] if said else [])


@pytest.mark.parametrize(('change', 'is_said'), [
    (lambda rng, q: rng.standard_normal(len(q)), True), (lambda rng, q: 0.5 + 0.0 * q[:, 1], True),
    (lambda rng, q: 1e-3 + 0.0 * q[:, 1], True),
    (lambda rng, q: q[:, 1] + 0.5 * np.std(q[:, 1]) * rng.standard_normal(len(q)), False)])
@pytest.mark.parametrize('seed', range(5))
def test_velocities_that_fit_in_no_way_are_named_with_their_distance(seed, change, is_said):
    rng = np.random.default_rng(seed)
    q = motion(rng, ROBOTS[0])
    found = q[:, 1].copy()
    found[:, 3] = change(rng, q[:, :, 3])
    size, off = (
        np.sqrt(np.mean(each ** 2)) for each in (q[:, 1, 3], found[:, 3] - q[:, 1, 3]))
    assert wrong_velocities(q[:, 1], found, tuple('abcdefg'), np.arange(7) != 3) == ([
        f'those of d do not fit: they are {off:.2g} m/s (RMS) off the estimated ones, which '
        f'are {size:.2g} m/s. They get almost no weight'] if is_said else [])


@pytest.mark.parametrize(('factor', 'is_said'), [
    (1.3, True), (0.75, True), (1.1, False), (0.9, False)])
def test_a_factor_of_one_joint_is_named_if_nothing_else_differs(factor, is_said):
    moved = motion(np.random.default_rng(2), ROBOTS[0])[:, 1]
    found = moved + 0.01 * np.std(moved, axis=0) * np.random.default_rng(3).standard_normal(
        moved.shape)
    found[:, 2] *= factor
    assert wrong_velocities(moved, found, tuple('abcdefg'), np.arange(7) != 3) == ([
        f'those of c are about {factor:.2g} times the estimated ones'] if is_said else [])


def test_noise_of_velocities_of_joints_that_hardly_move_is_sound():
    rng = np.random.default_rng(1)
    moved = motion(rng, ROBOTS[0])[:, 1]
    moved *= 0.02 / np.std(moved, axis=0)
    found = moved + 0.05 * rng.standard_normal(moved.shape)
    assert wrong_velocities(moved, found, tuple('abcdefg'), np.ones(7, bool)) == []


@pytest.mark.parametrize('seed', range(40))
def test_velocities_that_are_filtered_and_noisy_are_sound(seed):
    rng = np.random.default_rng(seed)
    moved = motion(rng, ROBOTS[0], rng.choice([0.1, 1.0]))[:, 1]
    found = np.copy(moved)
    for k in range(1, len(moved)):  # a low pass of 0.3 s at most, samples 0.1 s apart
        found[k] = found[k - 1] + rng.uniform(0.3, 1.0) * (moved[k] - found[k - 1])
    found += 0.1 * np.std(moved) * rng.standard_normal(moved.shape)
    whole = RecordedVelocities(moved, found, np.ones(7, dtype=bool))
    assert whole.clauses(tuple('abcdefg')) == []
    assert np.isnan(whole.stamp_factor)


def test_velocities_that_are_not_those_of_the_positions_are_named():
    rng = np.random.default_rng(6)
    moved = motion(rng, ROBOTS[0])[:, 1]
    names = tuple('abcdefg')
    turns = np.arange(7) < 5
    noisy = moved + 1e-3 * rng.standard_normal(moved.shape)
    assert wrong_velocities(moved, noisy, names, turns) == []
    wrong = noisy.copy()
    wrong[:, 1] *= -1.0
    wrong[:, [2, 5]] = noisy[:, [5, 2]]
    assert wrong_velocities(moved, wrong, names, turns) == [
        'those of b have the opposite sign', 'those of c and f are swapped']
    assert wrong_velocities(moved, np.full_like(moved, np.nan), names, turns) == []
    assert wrong_velocities(0.0 * moved, 0.0 * moved, names, turns) == []


@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize('rests', [False, True])
def test_a_constant_error_of_one_joints_velocities_is_named(seed, rests):
    rng = np.random.default_rng(seed)
    moved = motion(rng, ROBOTS[0])[:, 1]
    joint, offset = int(rng.integers(7)), rng.choice([-1.0, 1.0]) * rng.uniform(0.05, 0.5)
    if rests:
        moved[:, joint] = 1e-3 * rng.standard_normal(len(moved))
    found = moved + 5e-3 * rng.standard_normal(moved.shape)
    found[:, joint] += offset
    (said,) = wrong_velocities(moved, found, tuple('abcdefg'), np.ones(7, np.bool_))
    assert said.startswith(f'those of {"abcdefg"[joint]} have an offset of ')
    assert float(said.split()[-2]) == pytest.approx(offset, rel=0.1)


@pytest.mark.parametrize(('factor', 'said'), [
    (0.0, 'are 0'), (-1.0, 'have the opposite sign'), (1.0, '')])
def test_velocities_of_a_joint_at_one_speed_have_no_offset(factor, said):
    moved = motion(np.random.default_rng(0), ROBOTS[0])[:, 1]
    moved[:, 2] = 0.5
    found = moved.copy()
    found[:, 2] *= factor
    assert wrong_velocities(moved, found, tuple('abcdefg'), np.ones(7, np.bool_)) == (
        [f'those of c {said}'] if said else [])
