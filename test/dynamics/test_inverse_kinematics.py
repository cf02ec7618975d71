"""Motions of the joints from poses and twists of a link, at one instant and along a path."""
from hypothesis import assume, given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import assert_close, is_regular, random_robot, regular, taylor

import hodyn_ros as hd
from hodyn_ros.robot import lie

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')
READY = {
    'panda': np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    'ur10e': np.array([0.3, -1.2, 1.5, -0.8, -1.4, 0.2])}
TIMES = np.linspace(0.0, 4.0, 401)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@given(seed=st.integers(0, 10**6), order=st.integers(1, 6))
@settings(max_examples=15, deadline=None)
def test_six_joints_follow_the_twist(representation, seed, order):
    rng = np.random.default_rng(seed)
    robot, motion = random_robot(rng, 6), rng.normal(size=(order + 1, 6))
    assume(is_regular(robot, motion[0], 'body5'))
    kind = {'representation': representation}
    _, twist = hd.forward_kinematics(robot, motion, 'body5', **kind)
    found = hd.inverse_kinematics(robot, motion[0], twist, 'body5', **kind)
    # The sums that make up the twist are larger than it, and every order multiplies the error.
    for k in range(1, order + 1):
        scale = np.abs(twist[:k]).max() + np.abs(motion).max()
        np.testing.assert_allclose(found[k], motion[k], rtol=0, atol=1e-12 * 10**k * scale)
    assert_close(hd.forward_kinematics(robot, found, 'body5', **kind)[1], twist, 1e-9)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_prescribed_joints_decompose_a_redundant_arm(seed):
    rng = np.random.default_rng(seed)
    robot, motion = random_robot(rng, 8), rng.normal(size=(5, 8))
    assume(is_regular(robot, motion[0], 'body7', [0, 1, 3, 4, 6, 7]))
    _, twist = hd.forward_kinematics(robot, motion, 'body7')
    found = hd.inverse_kinematics(
        robot, motion[0], twist, 'body7',
        prescribed={'joint2': motion[1:, 2], 'joint5': motion[1:, 5]})
    np.testing.assert_allclose(
        found, motion, rtol=0, atol=1e-10 * (np.abs(twist).max() + np.abs(motion).max()))
    np.testing.assert_allclose(found[:, [2, 5]], motion[:, [2, 5]], rtol=1e-15)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('damping', [0.0, 0.1])
@pytest.mark.parametrize('seed', range(5))
def test_redundant_rates_are_the_derivatives_of_the_least_norm_law(
    representation, damping, seed,
):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 8)
    q, = regular(rng, robot, 'body7')
    twist = 0.3 * rng.normal(size=(4, 6))
    kind = {'representation': representation}
    found = hd.inverse_kinematics(robot, q, twist, 'body7', damping=damping, **kind)

    def law(t):
        jacobian = hd.jacobian(robot, taylor(found, t)[:1], 'body7', **kind)[0]
        return jacobian.T @ np.linalg.solve(
            jacobian @ jacobian.T + damping**2 * np.eye(6), taylor(twist, t)[0])

    np.testing.assert_allclose(found[1], law(0.0), rtol=1e-10, atol=1e-10)
    # q̈, q⃛, q⁗ against a polynomial through the law along the path that they describe.
    size = np.abs(found[2:]).max()
    times = np.arange(-4, 5) * 4e-3 / max(1.0, size ** (1 / 4))
    weights = np.linalg.inv(times[:, None] ** np.arange(9))
    rates = weights @ np.array([law(t) for t in times])
    for k, factorial, tolerance in ((1, 1, 1e-8), (2, 2, 1e-6), (3, 6, 1e-4)):
        np.testing.assert_allclose(
            found[k + 1], factorial * rates[k], rtol=0,
            atol=tolerance * max(1.0, np.abs(found[k + 1]).max()))
    if damping == 0.0:
        assert_close(hd.forward_kinematics(robot, found, 'body7', **kind)[1], twist, 1e-8)


def test_joints_off_the_way_to_the_link_rest():
    rng = np.random.default_rng(1)
    robot, q, twist = random_robot(rng, 7), rng.normal(size=7), rng.normal(size=(3, 6))
    found = hd.inverse_kinematics(robot, q, twist, 'body5')
    assert not found[1:, 6].any()
    assert_close(hd.forward_kinematics(robot, found, 'body5')[1], twist, 1e-9)


def test_the_panda_from_a_pose_to_the_fourth_order(panda):
    """A straight line that starts from rest: only the fourth derivatives move."""
    ready = READY['panda']
    pose, _ = hd.forward_kinematics(panda, ready[None], 'link7')
    pose[0, 3] += 0.05
    q = hd.solve_pose(panda, pose, 'link7', ready, within_limits=True)
    reached, _ = hd.forward_kinematics(panda, q[None], 'link7')
    np.testing.assert_allclose(reached, pose, atol=1e-9)
    twist = np.zeros((4, 6))
    twist[3, 3] = 1.0
    motion = hd.inverse_kinematics(panda, q, twist, 'link7', representation='hybrid')
    assert motion.shape == (5, 7)
    assert not motion[1:4].any()
    jacobian = hd.jacobian(panda, motion[:1], 'link7', representation='hybrid')[0]
    np.testing.assert_allclose(jacobian @ motion[4], twist[3], atol=1e-12)


def test_a_singular_arm_names_what_it_cannot_do_and_damping_accepts_it(panda):
    twist, rest = np.ones((2, 6)), np.zeros(2)
    with pytest.raises(ValueError, match=r"'panda' is singular: joints joint1.*cannot give"):
        hd.inverse_kinematics(panda, np.zeros(7), twist, 'link7', prescribed={'joint3': rest})
    motion = hd.inverse_kinematics(panda, np.zeros(7), twist, 'link7', damping=0.1)
    assert np.all(np.isfinite(motion))


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


def test_limits_are_kept_when_asked_for(panda):
    rng, low, high = np.random.default_rng(1), panda.limits.position_min, panda.limits.position_max
    for _ in range(20):
        goal = rng.uniform(low, high)
        pose = pose_at(panda, goal, 'link7')
        start = np.clip(goal + rng.normal(scale=0.1, size=7), low, high)
        q = hd.solve_pose(panda, pose, 'link7', start, within_limits=True)
        assert np.all((q >= low) & (q <= high))
        np.testing.assert_allclose(pose_at(panda, q, 'link7'), pose, atol=1e-9)


@pytest.mark.parametrize('seed', range(10))
def test_a_near_guess_gives_the_near_solution(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 6)
    goal, = regular(rng, robot, 'body5', largest=100)
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


def test_the_guess_is_returned_as_a_copy(panda):
    guess = np.full(7, 0.5)
    q = hd.solve_pose(panda, pose_at(panda, guess, 'link7'), 'link7', guess)
    np.testing.assert_array_equal(q, guess)
    assert not np.may_share_memory(q, guess)


@pytest.mark.parametrize('guess', [None, np.full(7, 0.5)])
def test_a_pose_out_of_reach_names_what_remains(panda, guess):
    with pytest.raises(ValueError, match=r"link 'link7' of robot 'panda' does not reach.* m and"):
        hd.solve_pose(panda, lie.pose(None, [3.0, 0.0, 0.0]), 'link7', guess)


def path(robot, link, seed):
    """Return poses about the ready one: shifts and turns in all directions."""
    rng = np.random.default_rng(seed)
    pose, _ = hd.forward_kinematics(robot, READY[robot.name][None], link)
    poses = [pose]
    for _ in range(3):
        step = np.concatenate([rng.normal(scale=0.3, size=3), rng.normal(scale=0.05, size=3)])
        poses.append(pose @ lie.exp(step))
    poses.append(pose)
    return hd.fit_pose_plan(np.arange(5.0), poses).evaluate(TIMES)


@pytest.fixture(scope='module', params=[('ur10e', 0), ('panda', 1)], ids=lambda p: p[0])
def followed(request):
    name, seed = request.param
    robot = hd.load_robot(name)
    link = robot.bodies[-1].name
    poses = path(robot, link, seed)
    return robot, link, poses, hd.follow_path(robot, TIMES, poses, link, READY[name])


def test_the_link_goes_through_the_poses_with_their_derivatives(followed):
    robot, link, poses, q = followed
    assert q.shape == (len(TIMES), 5, robot.n)
    here, twists = hd.forward_kinematics(robot, q, link)
    np.testing.assert_allclose(here, poses[:, 0], atol=1e-9)
    found = hd.pose_derivatives(here, twists)
    for k in range(5):
        size = np.abs(poses[:, k]).max()
        np.testing.assert_allclose(found[:, k], poses[:, k], atol=1e-8 * size)


def test_positions_and_derivatives_belong_together(followed):
    """Each row's change is the integral of the next, by Hermite's quintic between samples."""
    _, _, _, q = followed
    step = TIMES[1] - TIMES[0]
    for k in range(2):
        one, two, three = q[:, k], q[:, k + 1], q[:, k + 2]
        change = 0.5 * step * (two[1:] + two[:-1]) - step**2 / 12 * (three[1:] - three[:-1])
        error = np.abs(one[1:] - one[:-1] - change).max()
        assert error < 1e-6 * step * np.abs(two).max()


def test_it_begins_and_ends_at_rest(followed):
    _, _, _, q = followed
    np.testing.assert_allclose(q[[0, -1], 1:], 0.0, atol=1e-7)


def test_limits_are_kept_along_a_path_when_asked_for(panda):
    q = hd.follow_path(
        panda, TIMES, path(panda, 'link7', 1), 'link7', READY['panda'], within_limits=True)
    assert np.all(q[:, 0] >= panda.limits.position_min)
    assert np.all(q[:, 0] <= panda.limits.position_max)


def test_what_cannot_be_followed_names_its_time(panda):
    poses = path(panda, 'link7', 1)
    away = poses.copy()
    away[200:, 0, :3, 3] += 2.0
    with pytest.raises(ValueError, match=r"at 2 s: link 'link7'.*does not reach the pose"):
        hd.follow_path(panda, TIMES, away, 'link7', READY['panda'])
    turned = poses.copy()
    turned[200:] = turned[200:] @ lie.pose(lie.rotation_z(1.0))
    with pytest.raises(ValueError, match=r'at 2 s: joint .* would have to jump by'):
        hd.follow_path(panda, TIMES, turned, 'link7', READY['panda'])


@pytest.mark.parametrize(('factor', 'stretch'), [
    (0.001, r'1e\+03'), (0.5, '2'), (1.1, '0.909'), (2.0, '0.5')])
def test_times_that_are_not_those_of_the_derivatives_are_refused(panda, factor, stretch):
    poses = path(panda, 'link7', 1)
    with pytest.raises(ValueError, match=f'^times: .* the poses move {stretch} times as far'):
        hd.follow_path(panda, factor * TIMES, poses, 'link7', READY['panda'])


@pytest.mark.parametrize(('take', 'poses_noise', 'twist_noise'), [
    (slice(None, None, 20), 0.0, 0.0), (slice(None, None, 399), 0.0, 0.0),
    (slice(0, 1), 0.0, 0.0), (slice(None), 3e-4, 0.0), (slice(None), 0.0, 0.1)])
def test_coarse_samples_and_noise_are_followed(panda, take, poses_noise, twist_noise):
    rng, poses = np.random.default_rng(3), path(panda, 'link7', 1)[take, :2]
    twist = hd.pose_twist(poses, representation='hybrid')
    twist += rng.normal(scale=twist_noise, size=twist.shape) if twist_noise else 0.0
    poses[:, 0, :3, 3] += rng.normal(scale=poses_noise, size=(len(poses), 3))
    poses = hd.pose_derivatives(poses[:, 0], twist, representation='hybrid')
    q = hd.follow_path(panda, TIMES[take], poses, 'link7', READY['panda'])
    assert q.shape == (len(poses), 2, 7)
