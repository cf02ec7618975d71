"""Joints of several positions: spherical and planar ones, of every source, as chains."""
import warnings

import numpy as np
import pytest
from random_robots import random_mapping, random_rotation
from rigid_bodies import link
from robot_texts import inertial, joined_link, urdf

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_mapping
from hodyn_ros.robot.spherical import spherical_joints


def swing(kind):
    """Return a URDF of a bob on a joint, hook, of a kind."""
    return urdf(joined_link(
        'bob', kind=kind, inside='', joint='hook', origin='xyz="0 0 2" rpy="0.1 0.2 0.3"',
        axis='0 0 1', inertial=inertial(1, 0.01, 0.01, 0.01, 'xyz="0 0 -0.5"')), name='swing')


def arm():
    """Return three bodies, the second on a spherical joint, parents by index."""
    mapping = random_mapping(np.random.default_rng(1), 3, kinds=('revolute',))
    del mapping['bodies'][1]['axis']
    mapping['bodies'][1]['type'] = 'spherical'
    return mapping


def test_a_spherical_joint_is_three_turns_about_a_point():
    robot = hd.load_robot(arm())
    names = ('joint0', 'joint1_x', 'joint1_y', 'joint1_z', 'joint2')
    assert robot.joint_names == names
    assert [body.parent for body in robot.bodies] == [-1, 0, 1, 2, 3]
    assert robot.bodies[3].name == 'body1'
    assert spherical_joints(robot) == {'joint1': 1}
    a, b, c = 0.3, -0.4, 0.5
    home, _ = hd.forward_kinematics(robot, np.zeros(5), 'body1')
    moved, _ = hd.forward_kinematics(robot, np.array([0.0, a, b, c, 0.0]), 'body1')
    turned = np.linalg.inv(home) @ moved
    np.testing.assert_allclose(
        turned[:3, :3], lie.rotation_x(a) @ lie.rotation_y(b) @ lie.rotation_z(c), atol=1e-14)
    point = np.append(arm()['bodies'][1]['point'], 1.0)
    np.testing.assert_allclose(turned @ point, point, atol=1e-14)


def test_a_planar_joint_of_a_mapping_is_that_of_a_urdf():
    expected = hd.load_robot(swing('planar'))
    robot = hd.load_robot({'name': 'swing', 'bodies': [link(
        'bob', joint='hook', kind='planar', axis=[0, 0, 1], com=[0, 0, -0.5],
        placement=expected.bodies[0].placement)]})
    assert robot.joint_names == expected.joint_names == ('hook_x', 'hook_y', 'hook_yaw')
    np.testing.assert_array_equal(
        robot.kernel_model.body_table, expected.kernel_model.body_table)


@pytest.mark.parametrize('ending', ['yaml', 'urdf'])
def test_a_saved_robot_has_its_spherical_joints_and_their_centers(tmp_path, ending):
    center = random_rotation(np.random.default_rng(2))
    robot = hd.load_robot({**arm(), 'gravity': [0, 0, -9.80665]}).with_rotation('joint1', center)
    path = tmp_path / f'arm.{ending}'
    hd.save_robot(robot, path)
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # its links without mass are meant
        again = hd.load_robot(path)
    np.testing.assert_allclose(hd.SphericalJoint(again, 'joint1').center, center, atol=1e-14)
    q = np.random.default_rng(3).normal(size=(4, 5))
    np.testing.assert_allclose(
        hd.inverse_dynamics(again, q), hd.inverse_dynamics(robot, q), atol=1e-10)


def test_the_same_robot_is_where_it_was_after_its_chart_is_moved():
    robot = hd.load_robot(arm())
    rotation = random_rotation(np.random.default_rng(4))
    moved = robot.with_rotation('joint1', rotation)
    again = moved.with_rotation('joint1', np.eye(3))
    q = np.array([0.3, 0.0, 0.0, 0.0, -0.7])
    there = q.copy()
    there[1:4] = hd.SphericalJoint(robot, 'joint1').coordinates(rotation)[0]
    for name in ('body0', 'body1', 'body2'):
        expected, _ = hd.forward_kinematics(robot, there, name)
        found, _ = hd.forward_kinematics(moved, q, name)
        np.testing.assert_allclose(found, expected, atol=1e-14)
    np.testing.assert_allclose(
        again.kernel_model.body_table, robot.kernel_model.body_table, atol=1e-14)


def test_a_urdf_may_say_spherical():
    robot = hd.load_robot(swing('spherical'))
    assert robot.joint_names == ('hook_x', 'hook_y', 'hook_z')
    assert not np.isfinite(robot.limits.position_max).any()
    locked = hd.load_robot(swing('spherical'), locked_joints={'hook_z': 0.2})
    assert locked.joint_names == ('hook_x', 'hook_y')
    with pytest.raises(hd.HodynError, match="no joint 'hook' to lock; its joints are hook_x, hoo"):
        hd.load_robot(swing('spherical'), locked_joints={'hook': 0.2})


@pytest.mark.parametrize('change', [
    lambda bodies: bodies[1].update(mass=0.1, com=[0, 0, 0], inertia=0.01 * np.eye(3)),
    lambda bodies: bodies[2].update(axis=[0, 0.6, 0.8]),
    lambda bodies: bodies[3].update(point=[0, 0, 0.1]),
    lambda bodies: bodies[2].update(placement=lie.pose(None, [0.1, 0, 0])),
    lambda bodies: bodies[3].update(joint='other'),
    lambda bodies: bodies[3].update(parent=bodies[1]['name']),
])
def test_other_joints_of_such_names_are_no_spherical_joint(change):
    mapping = robot_mapping(hd.load_robot(arm()))
    assert spherical_joints(hd.load_robot(mapping))
    change(mapping['bodies'])
    assert not spherical_joints(hd.load_robot(mapping))
