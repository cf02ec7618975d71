"""URDF 1.1 and 1.2: quaternions, limits of acceleration and jerk, as urdfdom reads them."""
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_mapping

FULL = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def arm(version='1.2', origin='', limit=FULL, second=''):
    inertial = (
        '<inertial><origin xyz="0.1 0 0"/><mass value="2"/><inertia ixx="0.02" ixy="0" ixz="0" '
        'iyy="0.03" iyz="0" izz="0.025"/></inertial>')
    joints = ''.join(
        f'<link name="l{k}">{inertial}</link><joint name="j{k}" type="revolute">'
        f'<parent link="l{k - 1}"/><child link="l{k}"/><axis xyz="0 0 1"/>{text}</joint>\n'
        for k, text in enumerate((f'<origin {origin}/>{limit}', second), 1) if text)
    return f'<robot name="arm" version="{version}">\n<link name="l0"/>\n{joints}</robot>'


@pytest.mark.parametrize(('version', 'quaternion', 'rotation'), [
    *((version, '0 0.6 0 0.8', lie.rotation_y(2.0 * np.arctan2(0.6, 0.8)))
      for version in ('1.1', '1.2')),
    ('1.1', '0 0 0.71 0.71', lie.rotation_z(np.pi / 2))])  # of few digits
def test_a_quaternion_turns(version, quaternion, rotation):
    """It was read as no rotation, without a word."""
    robot = hd.load_robot(arm(version, f'quat_xyzw="{quaternion}" xyz="1 2 3"'))
    home, _ = hd.forward_kinematics(robot, [0.0], 'l1')
    np.testing.assert_allclose(home, lie.pose(rotation, [1.0, 2.0, 3.0]), atol=1e-15)


def test_limits_are_taken():
    robot = hd.load_robot(arm(
        limit='<limit lower="-1" upper="2" acceleration="5" deceleration="4" jerk="60"/>'))
    assert robot.limits.acceleration.tolist() == [4.0]  # the lesser of the two
    assert robot.limits.jerk.tolist() == [60.0]
    assert np.isinf([robot.limits.velocity, robot.limits.effort]).all()
    assert robot_mapping(robot)['limits'] == {
        'position': [[-1.0, 2.0]], 'acceleration': [4.0], 'jerk': [60.0]}
    with pytest.warns(UserWarning, match="'j1', <limit>: jerk is 0: taken as unknown"):
        robot = hd.load_robot(arm(limit='<limit lower="-1" upper="2" jerk="0"/>'))
    assert np.isinf(robot.limits.jerk).all()


def test_limits_of_a_follower_bind_what_it_follows():
    robot = hd.load_robot(arm(limit='<limit lower="-1" upper="1"/>', second=(
        '<limit lower="-9" upper="9" velocity="8" acceleration="6" jerk="4"/>'
        '<mimic joint="j1" multiplier="-2"/>')))
    assert [getattr(robot.limits, name).tolist() for name in ('velocity', 'acceleration', 'jerk')
            ] == [[4.0], [3.0], [2.0]]


@pytest.mark.parametrize('limits', [
    {'acceleration': [4.0], 'jerk': [60.0]}, {'jerk': [60.0]}, {'velocity': [3.0]}, {}])
def test_what_is_saved_is_of_the_version_that_it_needs(tmp_path, limits):
    keys = robot_mapping(hd.load_robot(arm()))
    robot = hd.load_robot({**keys, 'limits': {'position': [[-1.0, 2.0]], **limits}})
    hd.save_robot(robot, tmp_path / 'arm.urdf')
    assert ('version="1.2"' in (tmp_path / 'arm.urdf').read_text()) == ('jerk' in limits)
    again = hd.load_robot(tmp_path / 'arm.urdf')
    for name in ('position_max', 'velocity', 'effort', 'acceleration', 'jerk'):
        assert getattr(again.limits, name) == getattr(robot.limits, name), name


@pytest.mark.parametrize(('text', 'message'), [
    (arm('1.3'), "URDF: version '1.3' is not known"),
    (arm('1'), "URDF: version '1' is not known; known are 1.0, 1.1, 1.2"),
    (arm('1.0', 'quat_xyzw="0 0 0 1"'), "line 3, joint 'j1', <origin>: quat_xyzw needs URDF 1.1; "
     'ROS ignores it in a file of version 1.0: write <robot version="1.1"'),
    (arm('1.1', limit=FULL.replace('effort', 'jerk="1" effort')), 'jerk needs URDF 1.2; .*1.1'),
    (arm(origin='quat_xyzw="0 0 0 1" rpy="0.5 0 0"'), 'has rpy and quat_xyzw; keep one'),
    (arm(origin='quat_xyzw="0 0 0 0.98"'), 'quat_xyzw has length 0.98 instead of 1'),
    (arm(origin='quat_xyzw="0 0 0 0"'), 'quat_xyzw has length 0 instead of 1'),
    (arm(origin='quat_xyzw="0 0 0"'), "quat_xyzw is '0 0 0', expected 4 numbers"),
    (arm(limit='<limit lower="-1"/>'), 'only lower is given; URDF 1.2 needs lower and upper'),
    (arm(limit='<limit lower="-1" upper="1" jerk="-3"/>'), 'jerk is -3; write the real one'),
    (arm(limit='<limit lower="-1" upper="1" jerk="nan"/>'), "jerk is 'nan', not finite"),
    (arm('1.1', limit='<limit lower="-1" upper="1"/>'),
     'velocity is missing; ROS refuses a <limit> without it: write the largest that the drive '
     'gives, velocity="…" in rad/s, or velocity="0" if it is not known'),
])
def test_what_ros_would_read_otherwise_is_refused(text, message):
    with pytest.raises(ValueError, match=message):
        hd.load_robot(text)
