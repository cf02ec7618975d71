"""Recorded columns in each other's place, and copies, are recognised, and only those."""
from itertools import combinations, permutations
from types import SimpleNamespace

import numpy as np
import pytest
from rough_recordings import ROBOTS, diagnosed, recorded

from hodyn_ros.replay.exchanged_columns import RecordedColumns

NAMES = np.array(['positions', 'velocities', 'efforts'])


def columns(seed):
    """Return positions, velocities with noise and efforts, (100, n), in 10 s."""
    rng = np.random.default_rng(seed)
    robot = ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, robot, off=rng.choice([0.0, 0.2]), size=rng.choice([0.1, 1.0]))
    velocity = q[:, 1]
    return q[:, 0], velocity + 0.1 * velocity.std(axis=0) * rng.standard_normal(
        velocity.shape), effort


def said(position, velocity, effort):
    found = RecordedColumns(position.shape[1])
    found.add(SimpleNamespace(
        instants=100_000_000 * np.arange(len(position)),
        states=SimpleNamespace(position=position, velocity=velocity, effort=effort)))
    return found.sentence


@pytest.mark.parametrize('seed', range(20))
def test_columns_in_each_others_place_are_recognised(seed):
    sound = columns(seed)
    for order in permutations(range(3)):
        moved = NAMES[np.array(order) != np.arange(3)]
        names = f'{", ".join(moved[:-1])} and {moved[-1]}' if len(moved) else ''
        assert said(*(sound[k] for k in order)).partition(': ')[2] == (
            names and f'{names} seem to be exchanged. Correct the driver.')
    position, velocity, effort = sound
    near = effort.copy()
    near[:, -1] = 0.6 * velocity[:, -1]  # the effort of a light joint with viscous friction
    assert 'velocities and efforts seem' in said(position, near, velocity)
    unknown = np.where(np.arange(100)[:, np.newaxis] // 40 == 1, np.nan, velocity)
    assert 'velocities and efforts seem' in said(position, effort, unknown)


@pytest.mark.parametrize('seed', range(20))
def test_a_copy_of_another_column_is_recognised(seed):
    """Efforts that are positions were explained by swapped and turned joints."""
    sound = columns(seed)
    for one, other in combinations(range(3), 2):
        for place, of in ((one, other), (other, one)):
            copied = list(sound)
            copied[place] = np.round(sound[of], 4)
            assert said(*copied).startswith(
                f'The recorded {NAMES[one]} and {NAMES[other]} are the same numbers: ')


@pytest.mark.parametrize('seed', range(20))
def test_of_other_columns_nothing_is_said(seed):
    position, velocity, effort = columns(seed)
    for wrong in (velocity, 1.3 * velocity, -velocity, np.degrees(velocity), 0.0 * velocity,
                  np.full_like(velocity, np.nan)):
        assert said(position, wrong, effort) == ''
    for wrong in (velocity, -velocity):  # efforts that are mostly viscous friction
        assert said(position, velocity + 0.02 * np.std(velocity, axis=0), wrong) == ''
    for wrong in (0.0 * effort, np.full_like(effort, np.nan), np.abs(effort)):
        assert said(position, velocity, wrong) == ''
    assert said(np.degrees(position), velocity, effort) == ''
    assert said(0.0 * position, 0.0 * velocity, 0.0 * effort) == ''
    one = effort.copy()
    one[:, 0] = velocity[:, 0]
    assert said(position, velocity, one) == ''


def test_nothing_else_is_said_of_exchanged_velocities_and_efforts():
    q, effort = recorded(np.random.default_rng(7), ROBOTS[0])
    found = diagnosed(q, q[:, 1].copy(), effort)
    sentence, = found.sentences
    assert sentence == (
        'The recorded efforts are the slopes of the recorded positions, and the velocities are '
        'not those of the positions: velocities and efforts seem to be exchanged. Correct the '
        'driver.')
    assert found.is_wrong
    assert found.is_misread
    assert found.without(['gains', 'links', 'zeros']) is found
    assert not diagnosed(q, effort, q[:, 1].copy()).columns
