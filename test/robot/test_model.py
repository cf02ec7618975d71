import pickle

import numpy as np
import pytest
from random_robots import random_inertia, random_mapping, random_motion, random_pose, random_robot
from robot_texts import chain

import hodyn_ros as hd
from hodyn_ros.robot import lie


@pytest.mark.parametrize('seed', range(5))
def test_a_payload_acts_as_a_body_welded_on(seed):
    rng = np.random.default_rng(seed)
    mapping = random_mapping(rng, 4, serial=False)
    mapping['bodies'].append(
        {'name': 'flange', 'type': 'fixed', 'parent': 'body2', 'placement': random_pose(rng)})
    load = {'mass': 1.3, 'com': rng.normal(size=3), 'inertia': random_inertia(rng, 1.3)}
    robot = hd.load_robot(mapping)
    welded = hd.load_robot({**mapping, 'bodies': [*mapping['bodies'], {
        'name': 'load', 'type': 'fixed', 'parent': 'flange', 'placement': np.eye(4), **load}]})
    motion = random_motion(rng, robot, 2)
    np.testing.assert_allclose(
        hd.inverse_dynamics(robot.with_payload('flange', **load), motion),
        hd.inverse_dynamics(welded, motion), rtol=1e-12, atol=1e-12)
    assert robot.bodies[2].mass == pytest.approx(mapping['bodies'][2]['mass'])


def test_a_payload_without_inertia_is_a_point_mass(panda):
    loaded = panda.with_payload('link7', 2.0, [0, 0, 0.1])
    assert loaded.bodies[6].mass == panda.bodies[6].mass + 2.0
    assert loaded.joint_names == panda.joint_names


@pytest.mark.parametrize(('arguments', 'message'), [
    (('link9', 1.0, [0, 0, 0]), "no link 'link9'; its links are .*, [a-z_0-9]*$"),
    (('left_link7', 1.0, [0, 0, 0]), "; if 'link7' is meant, leave out the prefix$"),
    *((('link7', *load), f"payload on 'link7': {words}") for load, words in (
        ((-1.0, [0, 0, 0]), 'mass is -1 kg'), ((np.nan, [0, 0, 0]), 'mass'),
        ((1.0, [0, 0]), 'com'),
        ((1.0, [0, 0, 0], np.diag([1.0, 1.0, 3.0])), 'inertia.*triangle'),
        ((1.0, [0, 0, 0], np.diag([1.0, 1.0, -1.0])), '.*not positive'))),
])
def test_impossible_payloads_are_refused(panda, arguments, message):
    with pytest.raises(ValueError, match=message):
        panda.with_payload(*arguments)


@pytest.mark.parametrize('seed', range(5))
def test_a_mounted_arm_feels_gravity_turned(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5, serial=False)
    base = random_pose(rng)
    mounted = robot.with_base_pose(random_pose(rng)).with_base_pose(base)
    turned = robot.with_gravity(base[:3, :3].T @ robot.gravity)
    motion = random_motion(rng, robot, 2)
    expected = hd.inverse_dynamics(turned, motion)
    np.testing.assert_allclose(
        hd.inverse_dynamics(mounted, motion), expected, atol=1e-12 * np.abs(expected).max())
    np.testing.assert_array_equal(mounted.base_pose, base)


def test_the_base_pose_of_a_file_moves_the_links_fixed_to_the_world():
    rng = np.random.default_rng(0)
    mapping, base, placement = random_mapping(rng, 2), random_pose(rng), random_pose(rng)
    mapping['bodies'].append(
        {'name': 'stand', 'type': 'fixed', 'parent': -1, 'placement': placement})
    index, pose = hd.load_robot({**mapping, 'base_pose': base}).frame('stand')
    assert index == -1
    np.testing.assert_allclose(pose, base @ placement, atol=1e-14)


@pytest.mark.parametrize(('name', 'pose', 'message'), [
    ('panda', 2.0 * np.eye(4), 'base_pose: its rotation'),
    ('panda', np.eye(3), 'base_pose: expected finite'),
    ('aerial_manipulator', np.eye(4), 'floating base')])
def test_a_base_pose_must_be_a_pose_of_a_fixed_base(name, pose, message):
    with pytest.raises(ValueError, match=message):
        hd.load_robot(name).with_base_pose(pose)


def test_a_robot_is_immutable_and_survives_pickling():
    rng = np.random.default_rng(0)
    robot = hd.load_robot({
        **random_mapping(rng, 3), 'tool': {'link': 'body2', 'placement': random_pose(rng)}})
    for changed in (robot, robot.with_base_pose(random_pose(rng)), pickle.loads(
            pickle.dumps(robot))):
        for array in (changed.bodies[0].inertia, changed.frames['tool'][1], changed.limits.effort):
            with pytest.raises(ValueError, match='read-only'):
                array[0] = 1.0
        with pytest.raises(TypeError):
            changed.frames['tool'] = (0, np.eye(4))
        with pytest.raises(AttributeError):
            changed.name = 'other'
    again = pickle.loads(pickle.dumps(robot.with_base_pose(lie.pose(None, [1.0, 2.0, 3.0]))))
    np.testing.assert_array_equal(again.base_pose[:3, 3], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(
        again.kernel_model.body_table[1:], robot.kernel_model.body_table[1:])


def test_a_name_is_no_robot():
    with pytest.raises(hd.HodynError, match="a Robot from load_robot, got 'panda'"):
        hd.inverse_dynamics('panda', np.zeros((3, 7)))


def test_a_slide_may_be_less_far_from_its_reference_than_a_turning_joint():
    kinds = 'prismatic', 'revolute', 'prismatic'
    assert hd.load_robot(chain(*kinds)).tracking_tolerance.tolist() == [0.05, 0.2, 0.05]
    limits = {'tracking_error': [0.01, 0.1, None]}
    assert hd.load_robot(chain(*kinds, limits=limits)).tracking_tolerance.tolist() == [
        0.01, 0.1, 0.05]
