"""Which names are those of a locked joint."""
from dataclasses import replace

import numpy as np
import pytest
from random_robots import random_mapping, random_robot
from rigid_bodies import link
from robot_texts import saved

import hodyn_ros as hd
from hodyn_ros.robot.files import robot_keys
from hodyn_ros.robot.locked_joints import (
    check_followers,
    elsewhere,
    index_of,
    locked_indices,
    locked_position,
)

pytestmark = pytest.mark.fast


@pytest.mark.parametrize(('names', 'prefix', 'index'), [
    (['a', 'grip'], '', 1), (['left_grip', 'right_grip'], 'right_', 1),
    (['left_grip'], 'right_', None), (['left_grip'], '', None), (['biggrip'], None, None),
    (['left_grip'], None, 0), (['left_grip', 'right_grip'], None, None), ([], '', None)])
def test_a_joint_is_found_with_its_arms_prefix_and_no_other(names, prefix, index):
    assert index_of('grip', names, prefix) == index


def test_locked_joints_are_found_by_the_prefix_of_the_arm():
    robot = replace(hd.load_robot('panda'), locked=(('grip', 0.02), ('tool', 1.0)))
    assert locked_indices(robot, ['left_grip', 'tool'], 'left_') == {'grip': 0, 'tool': 1}
    assert locked_indices(robot, ['right_grip', 'grip_r'], 'left_') == {}
    robot = replace(robot, harmless_locks=frozenset({'grip', 'tool'}))
    assert not locked_indices(robot, ['left_grip', 'tool'], 'left_')
    robot = replace(robot, shifting_locks=frozenset({'grip'}))
    assert locked_indices(robot, ['left_grip', 'tool'], 'left_') == {'grip': 0}
    assert locked_position(robot, 'left_grip', 'left_') == 0.02
    assert locked_position(robot, 'biggrip', '') is None


@pytest.mark.parametrize('seed', range(20))
def test_a_stream_may_name_followers_that_are_where_their_leaders_lead_them(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8, ('revolute',), serial=False, coupled=True)
    prefix = ['', 'left_'][seed % 2]
    position = rng.uniform(-2.0, 2.0, robot.n)
    leaders = dict(zip(robot.joint_names, position, strict=True))
    followers = {
        prefix + body.joint: body.mimic.position(leaders[body.mimic.joint])
        for body in robot.bodies if body.mimic is not None}
    assert followers
    check_followers(robot, position, followers, prefix)
    rounded = {name: float(np.float32(at)) for name, at in followers.items()}
    check_followers(robot, position, rounded, prefix)
    name = rng.choice(list(followers))
    for wrong in (followers[name] + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-2.5, 1), np.nan):
        with pytest.raises(ValueError, match=f'^{name} is at .*, but it follows {prefix}'):
            check_followers(robot, position, followers | {name: wrong}, prefix)
    with pytest.raises(ValueError, match="joint 'hand' is not one of robot"):
        check_followers(robot, position, followers | {'hand': 0.0}, prefix)


def test_a_joint_that_stands_and_one_that_moves_are_told_apart():
    assert elsewhere('grip', 0.02, 0.04, 0.04) == 'grip is locked at 0.02, but stands at 0.04'
    assert elsewhere('elbow', 0.5, 0.0, 2.0) == 'elbow is locked at 0.5, but moves from 0 to 2'


@pytest.mark.parametrize('seed', range(40))
def test_no_torque_depends_on_locks_that_are_harmless(seed):
    rng = np.random.default_rng(seed)
    mapping = random_mapping(rng, 6, serial=False)
    joints = [body['joint'] for body in mapping['bodies']]
    locked = rng.choice(joints, size=3, replace=False)

    def robot(moved=()):
        return hd.load_robot(mapping, locked_joints={
            joint: 0.2 + 0.5 * (joint in moved) for joint in locked})

    harmless = robot().harmless_locks
    q = rng.normal(size=(20, 3, robot().n))
    np.testing.assert_allclose(
        hd.inverse_dynamics(robot(harmless), q), hd.inverse_dynamics(robot(), q), rtol=0.0,
        atol=1e-9)


@pytest.mark.parametrize('seed', range(40))
def test_no_torque_depends_on_slides_along_the_axes_that_turn_them(seed):
    """Most machines have parallel axes: rails, lifts on columns, SCARA arms."""
    rng = np.random.default_rng(seed)
    mapping = random_mapping(rng, 6, kinds=('revolute', 'prismatic', 'helical'), serial=False)
    for body in mapping['bodies']:
        body['axis'] = np.eye(3)[rng.choice(3, p=[0.1, 0.1, 0.8])]
        turn = np.eye(3)[rng.permutation(3)] if rng.random() < 0.3 else np.eye(3)
        body['placement'][:3, :3] = turn * np.linalg.det(turn)
    locked = rng.choice([body['joint'] for body in mapping['bodies']], size=3, replace=False)
    kinds = {body['joint']: body['type'] for body in mapping['bodies']}
    robot = hd.load_robot(mapping, locked_joints=dict.fromkeys(locked, 0.2))
    q = rng.normal(size=(20, 3, robot.n))
    torques = hd.inverse_dynamics(robot, q)
    for joint in locked:
        moved = hd.load_robot(mapping, locked_joints=dict.fromkeys(locked, 0.2) | {joint: 0.7})
        same = np.allclose(hd.inverse_dynamics(moved, q), torques, rtol=0.0, atol=1e-9)
        if kinds[joint] == 'prismatic':
            assert same == (joint in robot.harmless_locks), joint
        assert same >= (joint in robot.harmless_locks), joint
        if joint in robot.harmless_locks:
            free = hd.load_robot(mapping, locked_joints=dict.fromkeys(set(locked) - {joint}, 0.2))
            own = [free.joint_names.index(name) for name in robot.joint_names]
            moving = np.zeros((20, 3, free.n))
            moving[:, :, own] = q
            orders = 2 if joint in robot.shifting_locks else 3
            moving[:, :orders, free.joint_names.index(joint)] = rng.normal(size=(20, orders))
            np.testing.assert_allclose(
                hd.inverse_dynamics(free, moving)[:, 0, own], torques[:, 0], rtol=0.0, atol=1e-9)


def test_what_follows_a_locked_joint_may_matter():
    mapping = {'name': 'arm', 'bodies': [
        link('lift', kind='prismatic', axis=[0.0, 0.0, 1.0]), link('arm', 'lift'),
        link('cable', 'arm', axis=[1.0, 0.0, 0.0], mimic={'joint': 'jlift'}),
        link('tip', 'cable')]}
    assert not hd.load_robot(mapping, locked_joints={'jlift': 0.1}).harmless_locks
    del mapping['bodies'][2]['mimic']
    locked = {'jlift': 0.1, 'jcable': 0.0}
    assert hd.load_robot(mapping, locked_joints=locked).harmless_locks == {'jlift'}
    mapping['bodies'] = [
        link('pinion'), link('rail', kind='prismatic', mimic={'joint': 'jpinion'}),
        link('arm', 'rail')]
    assert hd.load_robot(mapping, locked_joints={'jpinion': 0.1}).shifting_locks == {
        'jpinion', 'jrail'}


def test_a_locked_lift_on_a_turning_column_is_no_reason_to_wait():
    mapping = {'name': 'palletizer', 'bodies': [
        link('column', axis=[0.0, 0.0, 1.0]),
        link('lift', 'column', 'prismatic', axis=[0.0, 0.0, -1.0]), link('arm', 'lift')]}
    robot = hd.load_robot(mapping, locked_joints={'jlift': 0.1})
    assert robot.harmless_locks == robot.shifting_locks == {'jlift'}
    mapping['bodies'][1]['axis'] = [0.0, 0.6, 0.8]
    assert not hd.load_robot(mapping, locked_joints={'jlift': 0.1}).harmless_locks


def test_wheels_and_another_arm_are_no_reason_to_wait(tmp_path):
    robot = hd.load_robot({'name': 'cell', 'bodies': [
        link('lift', kind='prismatic'), link('wheel'), link('arm', 'lift'), link('other', 'lift'),
        link('hand', 'arm')]}, locked_joints={
            'jlift': 0.1, 'jwheel': 0.0, 'jother': 0.0, 'jhand': 0.0})
    assert robot.harmless_locks == {'jlift', 'jwheel', 'jother'}
    assert saved(robot, tmp_path / 'cell.yaml').harmless_locks == robot.harmless_locks


def test_only_harmless_locks_can_shift_the_arm():
    keys = {**robot_keys('panda'), 'locked': {'lift': 0.0, 'grip': 0.0}}
    lock = {'harmless_locks': ['lift'], 'shifting_locks': ['lift']}
    assert hd.load_robot({**keys, **lock}).shifting_locks == {'lift'}
