"""Limits from a file of their own."""
import warnings

import numpy as np
import pytest
from robot_texts import said

import hodyn_ros as hd
from hodyn_ros.robot.files import with_limits

PANDA = hd.load_robot('panda')


def test_what_a_file_gives_counts_and_the_rest_stays():
    robot = with_limits(PANDA, {'limits': {
        'joint1': {'velocity': 0.5, 'effort_rate': None, 'position': [-1.0, 2.0]},
        'fer_joint7': {'position': None, 'tracking_error': 0.1}}})
    limits, before = robot.limits, PANDA.limits
    assert limits.velocity[0] == 0.5
    assert limits.effort_rate[0] == np.inf
    assert (limits.position_min[0], limits.position_max[0]) == (-1.0, 2.0)
    assert (limits.position_min[6], limits.position_max[6]) == (-np.inf, np.inf)
    assert limits.tracking_error[6] == 0.1
    np.testing.assert_array_equal(limits.velocity[1:], before.velocity[1:])
    np.testing.assert_array_equal(limits.jerk, before.jerk)


def test_a_misspelt_joint_of_a_file_of_limits_is_corrected(tmp_path):
    (tmp_path / 'limits.yaml').write_text(
        'limits: {joint1: {velocity: 1.0}, jiont2: {velocity: 1.0}}')
    with pytest.warns(UserWarning, match=(
            "jiont2' is left out: it is not a joint of 'panda'; did you mean 'joint2'\\?")):
        hd.load_robot('panda', limits=tmp_path / 'limits.yaml')


def test_the_file_of_moveit_is_taken_as_moveit_means_it(tmp_path):
    (tmp_path / 'joint_limits.yaml').write_text("""
default_velocity_scaling_factor: 0.1
joint_limits:
  panda_joint1: {has_velocity_limits: true, max_velocity: 1.0, has_acceleration_limits: true,
                 max_acceleration: 2.0, has_jerk_limits: false, max_jerk: 3.0}
  joint2: {has_position_limits: true, min_position: -0.5, max_position: 0.5}
  panda_finger_joint1: {has_velocity_limits: true, max_velocity: 0.1}
""")
    with pytest.warns(UserWarning, match="finger_joint1' is left out: it is not a joint of"):
        limits = hd.load_robot('panda', limits=tmp_path / 'joint_limits.yaml').limits
    with (pytest.warns(UserWarning, match='finger_joint1'),
          pytest.warns(UserWarning, match="joint 'joint2' is left out: it is locked at -0.4")):
        hd.load_robot('panda', limits=tmp_path / 'joint_limits.yaml', locked_joints={
            'joint2': -0.4})
    assert (limits.velocity[0], limits.acceleration[0]) == (1.0, 2.0)
    assert limits.jerk[0] == PANDA.limits.jerk[0]
    assert (limits.position_min[1], limits.position_max[1]) == (-0.5, 0.5)


@pytest.mark.parametrize(('limits', 'message'), [
    *(({'limits': {'joint1': entry}}, words) for entry, words in (
        ({'speed': 1.0}, "joint 'joint1': unknown key 'speed'"),
        ({'velocity': 0.0}, "key 'velocity': 0: must be above 0"),
        ({'position': [1.0, 0.0]}, 'lower limit is not below the upper'))),
    ({'limits': [1.0]}, 'expected a mapping of joints, got list'),
    ({'joint_limits': {'joint1': {'has_velocity_limits': True}}}, "'max_velocity' is missing"),
    ({'limits': {}, 'speeds': {}}, "unknown key 'speeds'"),
    ({'speeds': {}}, "expected the key 'limits', or MoveIt's 'joint_limits'"),
    ({'limits': {'velocity': [1.0] * 7}}, "none of its entries is a joint of 'panda'"),
    ({'joint_limits': {'joint9': {}}}, "none of its entries is a joint of 'panda'"),
    ({}, "expected the key 'limits'"),
])
def test_mistakes_are_named(limits, message):
    with pytest.raises(hd.HodynError, match=message):
        with_limits(PANDA, limits)


DEGREES = 'limits are in rad and rad/s: are these degrees?'


@pytest.mark.parametrize(('entry', 'said_of_it'), [
    ({'position': [-166, 166]}, f"{DEGREES} position_min -166 of joint1 (the robot's is -2.8973), "
     "position_max 166 of joint1 (the robot's is 2.8973)"),
    ({'velocity': 150.0}, f"{DEGREES} velocity 150 of joint1 (the robot's is 2.175)"),
    ({'velocity': 3.0}, 'velocity limits above those of the robot count: 3 of joint1 (the '
     "robot's is 2.175)"),
    ({'position': [-6.5, 6.5], 'velocity': 2.18, 'acceleration': None}, ''),
    ({'velocity': None, 'acceleration': 30.0}, ''),
])
def test_limits_that_loosen_the_robots_are_said(entry, said_of_it):
    assert said(with_limits, PANDA, {'limits': {'joint1': entry}}) == bool(said_of_it) * [
        f'limits: {said_of_it}']


@pytest.mark.parametrize('seed', range(3))
def test_limits_within_the_robots_raise_no_question(seed):
    rng = np.random.default_rng(seed)
    for robot in map(hd.load_robot, hd.robot_names()):
        assert said(with_limits, robot, {'joint_limits': {
            joint: {
                'has_velocity_limits': True, 'max_velocity': float(limit * rng.uniform(0.05, 1)),
                'has_acceleration_limits': False, 'max_acceleration': 0.0}
            for joint, limit in zip(
                robot.joint_names, np.minimum(robot.limits.velocity, 3.0), strict=True)}}) == []


def test_no_such_file_is_said():
    with pytest.raises(FileNotFoundError, match='no file of limits'):
        hd.load_robot('panda', limits='nowhere.yaml')


def test_limits_of_moveit_that_do_not_count_are_said_once():
    off = {'max_velocity': 0.1, 'has_acceleration_limits': False, 'max_acceleration': 5.0}
    joints = {'joint1': off, 'joint2': off, 'joint3': {'has_velocity_limits': False}}
    assert said(with_limits, PANDA, {'joint_limits': joints}) == [
        f'limits: max_{name} counts only with has_{name}_limits: true; it is not used for joint1, '
        'joint2' for name in ('velocity', 'acceleration')]
    with warnings.catch_warnings(action='ignore'):
        robot = with_limits(PANDA, {'joint_limits': joints})
    assert robot.limits.velocity[0] == PANDA.limits.velocity[0]
