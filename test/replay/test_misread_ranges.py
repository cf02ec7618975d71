"""Where mistakes explain a recording alike, the ranges of the joints decide."""
from dataclasses import replace

import numpy as np
import pytest
from rough_recordings import ROBOTS, recorded

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.diagnosis import factors_and_fit
from hodyn_ros.replay.misreading import find_misreading
from hodyn_ros.replay.position_ranges import mostly_outside
from hodyn_ros.replay.reading import DEGREES
from hodyn_ros.robot.files import load_robot

RANGES = [[-3.0, 3.0], [-0.8, 0.8], [-1.3, 1.3]]


def link(name, parent, place, axis, mass, com, inertia):
    placement = np.eye(4)
    placement[:3, 3] = place
    return {
        'name': name, 'parent': parent, 'joint': f'{name}_j', 'type': 'revolute', 'axis': axis,
        'placement': placement.tolist(), 'mass': mass, 'com': com,
        'inertia': (inertia * np.eye(3)).tolist()}


def gimbal():
    """Return a camera gimbal: its last link carries little."""
    bodies = [
        link('yaw', -1, [0.0, 0.0, -0.02], [0.0, 0.0, 1.0], 6.0, [0.012, -0.004, -0.02], 5e-3),
        link('roll', 0, [-0.05, 0.0, -0.06], [1.0, 0.0, 0.0], 4.2, [0.02, 0.011, 0.004], 2e-3),
        link('pitch', 1, [0.05, -0.04, 0.0], [0.0, 1.0, 0.0], 13.5, [0.006, 0.04, 0.009], 5e-2)]
    turn = 0.35  # of the axis of roll, so that gravity depends on yaw as well
    bodies[1]['placement'][0][0] = bodies[1]['placement'][2][2] = float(np.cos(turn))
    bodies[1]['placement'][0][2] = float(np.sin(turn))
    bodies[1]['placement'][2][0] = -float(np.sin(turn))
    return load_robot({'name': 'gimbal', 'bodies': bodies, 'limits': {'position': RANGES}})


GIMBAL = gimbal()


def causes(robot, q, effort):
    fit = find_misreading(FeedForward(robot), q, effort)
    return [] if fit.reading is None else fit.reading.causes(robot.joint_names)


def test_a_zero_that_is_off_is_named_before_a_load_if_only_the_zero_is_within_the_ranges():
    said = set()
    for seed in range(40):
        rng = np.random.default_rng(seed)
        q, effort = recorded(rng, GIMBAL, off=rng.choice([0.0, 0.1]))
        quarter = rng.choice([-1, 1])
        q[:, 0, 2] += 0.5 * np.pi * quarter
        if mostly_outside(GIMBAL, q[:, 0]).any():
            is_large = 'large' if quarter > 0 else 'small'
            said |= {one.replace(is_large, 'off') for one in causes(GIMBAL, q, effort)}
    assert said == {'positions of pitch_j are 0.5 π rad too off'}


@pytest.mark.parametrize('shift', [0.0, 10.0])
def test_a_load_stays_the_cause_if_no_zero_explains_as_much(shift):
    """Also if the range of the file is wrong, so that a joint is outside."""
    robot = ROBOTS[0]
    loaded = robot.with_payload('link7', 3.0, [0.05, 0.0, 0.1])
    limits = replace(
        robot.limits, position_min=robot.limits.position_min + shift,
        position_max=robot.limits.position_max + shift)
    for seed in range(4):
        said, = causes(replace(robot, limits=limits), *recorded(
            np.random.default_rng(seed), loaded))
        assert 'the last link carries' in said


@pytest.mark.parametrize('seed', range(4))
def test_joints_outside_wrong_ranges_add_no_second_mistake(seed):
    """A turn or sign of a joint that carries little would bring it inside."""
    robot, rng = ROBOTS[seed], np.random.default_rng(seed)
    q, effort = recorded(rng, robot)
    low, high = robot.limits.position_min.copy(), robot.limits.position_max.copy()
    low[-1], high[-1] = q[:, 0, -1].max() + 0.05, q[:, 0, -1].max() + 6.0
    effort[:, 1] *= -1.0
    wrong = replace(robot, limits=replace(robot.limits, position_min=low, position_max=high))
    assert causes(wrong, q, effort) == [
        f'{robot.joint_names[1]} has efforts of the opposite sign']


def with_ranges_around(robot, q, rng):
    low, high = q[:, 0].min(axis=0), q[:, 0].max(axis=0)
    width = np.maximum(high - low, 0.3)
    return replace(robot, limits=replace(
        robot.limits, position_min=low - rng.uniform(0.0, 1.5, robot.n) * width,
        position_max=high + rng.uniform(0.0, 1.5, robot.n) * width))


@pytest.mark.parametrize('those', ['one', 'all', 'none'])
@pytest.mark.parametrize('seeds', [
    range(5), pytest.param(range(1000, 1200), marks=pytest.mark.siege)])
def test_one_joint_in_degrees_is_told_from_all_and_from_none(seeds, those):
    for seed in seeds:
        rng = np.random.default_rng(seed)
        q, effort = recorded(rng, ROBOTS[seed % len(ROBOTS)], off=rng.choice([0.0, 0.1]))
        robot = with_ranges_around(ROBOTS[seed % len(ROBOTS)], q, rng)
        turns = np.array([body.type != 'prismatic' for body in robot.joint_bodies])
        one = np.arange(robot.n) == rng.choice(np.flatnonzero(turns))
        q *= np.where({'one': one, 'all': turns, 'none': turns & False}[those], DEGREES, 1.0)
        factors, fit = factors_and_fit(
            FeedForward(robot), q, effort[:, np.newaxis], np.full(robot.n, np.nan))
        assert np.allclose(factors, np.where(one & (those == 'one'), DEGREES, 1.0)), seed
        assert (fit.reading is not None) == (those == 'all'), seed
        assert those != 'all' or fit.reading.is_in_degrees or fit.reading.may_be_degrees, seed
