"""Angles that a driver sends relative to the base, as palletizers and small arms often do."""
import numpy as np
import pytest
from rigid_bodies import link
from rough_recordings import ROBOTS, recorded

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.misreading import find_misreading

UR = ROBOTS[2]
ALONG = [[1, 0, 0, 0.5], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
PALLETIZER = hd.load_robot({'name': 'palletizer', 'bodies': [
    link('turn', axis=[0.0, 0.0, 1.0], com=[0.02, 0.0, 0.1]),
    link('shoulder', 'turn', mass=5.0, com=[0.2, 0.0, 0.0]),
    link('elbow', 'shoulder', mass=3.0, axis=[0.0, -1.0, 0.0], placement=ALONG)],
    'limits': {'position': [[-3, 3], [-2, 2], [-2, 2]], 'velocity': [3, 3, 3],
               'effort': [100, 100, 100]}})
LEVEL = hd.load_robot({'name': 'level', 'bodies': [
    link('turn', axis=[0.0, 0.0, 1.0], com=[0.02, 0.0, 0.1]),
    link('shoulder', 'turn', joint='lower', mass=5.0, com=[0.2, 0.0, 0.0]),
    link('knee', 'shoulder', placement=ALONG, mimic={'joint': 'lower', 'multiplier': -1.0}),
    link('elbow', 'knee', joint='upper', mass=3.0, axis=[0.0, -1.0, 0.0])],
    'limits': {'position': [[-3, 3], [-2, 2], [-2, 2]]}})
"""An arm whose last joint turns against a link that keeps its direction."""
CASES = [
    (UR, [(2, {1: 1})]), (UR, [(2, {1: 1}), (3, {1: 1, 2: 1})]), (UR, [(3, {1: 1, 2: 1})]),
    (PALLETIZER, [(2, {1: -1})])]


def absolute(robot, seed, angles, *, efforts):
    """Return a recording in which these joints have the sum of the angles, and maybe efforts."""
    q, effort = recorded(np.random.default_rng(seed), robot, off=0.02)
    read, done = q.copy(), effort.copy()
    for joint, before in angles:
        for other, sign in before.items():
            read[:, :, joint] += sign * q[:, :, other]
    for joint, before in reversed(angles) if efforts else ():
        for other, sign in before.items():
            done[:, other] -= sign * done[:, joint]
    return read, done


@pytest.mark.parametrize('efforts', [False, True])
@pytest.mark.parametrize(('robot', 'angles'), CASES)
@pytest.mark.parametrize('seeds', [
    range(3), pytest.param(range(1000, 1025), marks=pytest.mark.siege)])
def test_angles_to_the_base_are_named(robot, angles, efforts, seeds):
    names = robot.joint_names
    right = []
    for seed in seeds:
        fit = find_misreading(FeedForward(robot), *absolute(robot, seed, angles, efforts=efforts))
        if fit.unexplained < 0.1 and fit.reading is None:
            continue  # the mistake hardly shows
        said = [] if fit.reading is None else fit.reading.causes(names)
        right.append(said == [
            f'positions of {names[joint]} are measured from the base, not from the link before'
            + ', and so are the efforts' * efforts for joint, _ in angles])
    assert len(right) > 0.6 * len(seeds)
    assert np.mean(right) >= 0.95, (said, right)


@pytest.mark.parametrize('efforts', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_angles_to_the_link_before_are_named_if_the_model_has_those_to_the_base(efforts, seed):
    q, effort = absolute(LEVEL, seed, [(2, {1: 1})], efforts=efforts)
    reading = find_misreading(FeedForward(LEVEL), q, effort).reading
    assert reading.causes(LEVEL.joint_names) == [
        'positions of upper are measured from the link before, not from the base'
        + ', and so are the efforts' * efforts]
    assert reading.remedies[0].startswith('Let the driver add the angle of the joint before')
