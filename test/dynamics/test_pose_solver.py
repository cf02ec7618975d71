import numpy as np
import pytest
from random_robots import random_robot

import hodyn_ros as hd
from hodyn_ros.robot import lie


def pose_at(robot, q, link):
    return hd.forward_kinematics(robot, np.array(q)[None], link)[0]


@pytest.mark.parametrize('name', ['panda', 'fr3'])
def test_poses_anywhere_in_the_range_are_found(name):
    robot, rng = hd.load_robot(name), np.random.default_rng(0)
    low, high = robot.limits.position_min, robot.limits.position_max
    for _ in range(20):
        pose = pose_at(robot, rng.uniform(low, high), 'link7')
        q = hd.solve_pose(robot, pose, 'link7')
        np.testing.assert_allclose(pose_at(robot, q, 'link7'), pose, atol=1e-9)


def test_limits_are_kept_when_asked_for():
    robot, rng = hd.load_robot('panda'), np.random.default_rng(1)
    low, high = robot.limits.position_min, robot.limits.position_max
    for _ in range(20):
        goal = rng.uniform(low, high)
        pose = pose_at(robot, goal, 'link7')
        start = np.clip(goal + rng.normal(scale=0.1, size=7), low, high)
        q = hd.solve_pose(robot, pose, 'link7', start, within_limits=True)
        assert np.all((q >= low) & (q <= high))
        np.testing.assert_allclose(pose_at(robot, q, 'link7'), pose, atol=1e-9)


@pytest.mark.parametrize('seed', range(10))
def test_a_near_guess_gives_the_near_solution(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 6)
    goal = next(
        q for q in rng.normal(size=(100, 6))
        if np.linalg.cond(hd.jacobian(robot, q[None], 'body5')[0]) < 100)
    q = hd.solve_pose(
        robot, pose_at(robot, goal, 'body5'), 'body5', goal + rng.normal(scale=1e-4, size=6))
    np.testing.assert_allclose(q, goal, atol=1e-7)


def test_joints_that_do_not_carry_the_link_keep_their_guess():
    rng = np.random.default_rng(2)
    robot, goal = random_robot(rng, 7), rng.normal(size=7)
    guess = goal + 0.01
    q = hd.solve_pose(robot, pose_at(robot, goal, 'body5'), 'body5', guess)
    assert q[6] == guess[6]


def test_an_arm_of_two_joints_reaches_what_its_joints_allow():
    robot, goal = hd.load_robot('twolink'), [0.3, 1.2]
    q = hd.solve_pose(robot, pose_at(robot, goal, 'link2'), 'link2', [0.0, 1.0])
    np.testing.assert_allclose(q, goal, atol=1e-8)


def test_the_guess_is_returned_as_a_copy():
    panda, guess = hd.load_robot('panda'), np.full(7, 0.5)
    q = hd.solve_pose(panda, pose_at(panda, guess, 'link7'), 'link7', guess)
    np.testing.assert_array_equal(q, guess)
    assert not np.may_share_memory(q, guess)


@pytest.mark.parametrize('guess', [None, np.full(7, 0.5)])
def test_a_pose_out_of_reach_names_what_remains(guess):
    with pytest.raises(ValueError, match=r"link 'link7' of robot 'panda' does not reach.* m and"):
        hd.solve_pose(
            hd.load_robot('panda'), lie.pose(None, [3.0, 0.0, 0.0]), 'link7', guess)


@pytest.mark.parametrize(('change', 'message'), [
    ({'pose': np.eye(3)}, 'pose has shape'),
    ({'pose': 2.0 * np.eye(4)}, 'pose: its rotation'),
    ({'guess': np.zeros(6)}, 'guess has shape'),
    ({'guess': np.zeros(7), 'within_limits': True}, "guess of joint 'joint4' is 0, beyond"),
    ({'link': 'hand'}, "no link 'hand'"),
])
def test_bad_input_is_named(change, message):
    arguments = {'pose': np.eye(4), 'link': 'link7', **change}
    with pytest.raises(ValueError, match=message):
        hd.solve_pose(hd.load_robot('panda'), **arguments)
