"""Swapped joints that only the model's friction tells apart are recognised, and only those."""
from dataclasses import replace

import numpy as np
from rough_recordings import ROBOTS, diagnosed, recorded

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.swapped_friction import swapped_friction


def rubbing(seed, off=0.0, spread=0.0):
    """Return a robot with a recording of its friction, by far the most of the wrist's efforts.

    Links are `off`, and the friction of the model by a `spread`.
    """
    rng, robot = np.random.default_rng(seed), ROBOTS[seed % len(ROBOTS)]
    q, effort = recorded(rng, replace(robot, friction=None), off=off)
    wrist = np.arange(robot.n) >= robot.n - 3
    amplitude = np.where(wrist, [*[1.0] * (robot.n - 3), 30.0, 10.0, 3.0], 1.0)
    slope, none = np.full(robot.n, 50.0), np.zeros(robot.n)
    law = SigmoidFriction(amplitude, slope, none, 0.3 * amplitude)
    effort += FeedForward(replace(robot, friction=law)).torque(q)[:, 0] - FeedForward(
        robot).torque(q, friction=False)[:, 0]
    law = replace(law, amplitude=amplitude * np.exp(spread * rng.standard_normal(robot.n)))
    return replace(robot, friction=law), q, effort


def swap(values, i, j):
    other = values.copy()
    other[..., [i, j]] = other[..., [j, i]]
    return other


def said(robot, q, effort):
    return swapped_friction(
        FeedForward(robot), EffortSamples(q, effort), robot.joint_names, gravity=True)


def test_swapped_joints_of_the_wrist_are_found():
    found = []
    for seed in range(16):
        robot, q, effort = rubbing(seed, off=0.05 * (seed % 2))
        i, j = robot.n - 3, robot.n - 1 - seed % 2
        names = f'{robot.joint_names[i]} and {robot.joint_names[j]}'
        sentence = said(robot, swap(q, i, j), swap(effort, i, j))
        assert not sentence or f'if the joints {names} are swapped' in sentence
        found.append(bool(sentence))
    assert np.mean(found) >= 0.8


def test_sound_recordings_of_any_friction_have_no_swapped_joints():
    for seed in range(100, 124):
        robot, q, effort = rubbing(seed, off=0.1, spread=[0.0, 0.3, 0.7][seed % 3])
        assert said(robot, q, effort) == ''
        assert said(replace(robot, friction=None), q, effort) == ''


def test_nothing_else_is_said_of_joints_swapped_by_their_friction():
    """It was said that friction, or gains, would explain the errors."""
    robot, q, effort = rubbing(0)
    i, j = robot.n - 3, robot.n - 1
    q, effort = swap(q, i, j), swap(effort, i, j)
    found = diagnosed(q, effort, q[:, 1].copy(), robot)
    sentence, = found.sentences
    assert sentence.startswith('With the friction of the model, ')
    assert found.is_misread
