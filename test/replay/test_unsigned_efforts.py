"""Efforts without their signs are recognised, and only those."""
import numpy as np
import pytest
from rough_recordings import ROBOTS, diagnosed, recorded, robots_of

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.unsigned_efforts import unsigned_efforts

SAID = 'are never negative, and fit the magnitudes of the torques'


def said(robot, q, effort):
    return unsigned_efforts(
        FeedForward(robot), EffortSamples(q, effort), effort.min(axis=0), robot.joint_names)


@pytest.mark.parametrize('off', [0.0, 0.2])
def test_efforts_without_signs_are_recognised(off):
    for _, rng, robot in robots_of(range(20)):
        q, effort = recorded(rng, robot, off=off)
        assert SAID in said(robot, q, np.abs(effort))


def test_only_the_joints_without_signs_are_named():
    """They were explained by joints in another order, or by nothing; so nothing else is said."""
    robot = ROBOTS[0]
    q, effort = recorded(np.random.default_rng(3), robot)
    joint = np.argmin(np.abs(np.mean(np.sign(effort), axis=0)))
    effort[:, joint] = np.abs(effort[:, joint])
    found = diagnosed(q, effort, q[:, 1].copy())
    sentence, = found.sentences
    assert sentence.startswith(f'The efforts of {robot.joint_names[joint]} {SAID}')
    assert found.is_wrong


def test_of_other_efforts_nothing_is_said():
    """Of sound ones, and those that are never negative for another reason."""
    for seed, rng, robot in robots_of(range(20)):
        q, effort = recorded(rng, robot, off=0.2)
        noise = np.abs(np.random.default_rng(seed).standard_normal(effort.shape))
        constant = np.abs(np.mean(effort, axis=0)) + 0.01 * noise
        for other in (
                effort, effort - effort.min(axis=0), np.maximum(effort, 0.0), noise, constant):
            assert said(robot, q, other) == ''
