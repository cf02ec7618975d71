"""Limits from a file of their own."""
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


@pytest.mark.parametrize(('entry', 'asked'), [
    ({'position': [-166, 166]}, 'position_min -166 of joint1, position_max 166 of joint1'),
    ({'velocity': 150.0}, 'velocity 150 of joint1'),
    ({'position': [-6.5, 6.5], 'velocity': 20.0, 'acceleration': None}, ''),
])
def test_limits_that_look_like_degrees_are_asked_about(entry, asked):
    assert said(with_limits, PANDA, {'limits': {'joint1': entry}}) == bool(asked) * [
        f'limits: limits are in rad and rad/s: are these degrees? {asked}']


def test_no_such_file_is_said():
    with pytest.raises(FileNotFoundError, match='no file of limits'):
        hd.load_robot('panda', limits='nowhere.yaml')


def test_a_limit_of_moveit_that_does_not_count_is_said():
    with pytest.warns(UserWarning, match='max_velocity counts only with has_velocity_limits'):
        robot = with_limits(PANDA, {'joint_limits': {'joint1': {'max_velocity': 0.1}}})
    assert robot.limits.velocity[0] == PANDA.limits.velocity[0]
