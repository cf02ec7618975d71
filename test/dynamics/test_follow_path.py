"""Joint motions along paths of poses: they meet them, and belong together between samples."""
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.robot import lie

READY = {
    'panda': np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]),
    'ur10e': np.array([0.3, -1.2, 1.5, -0.8, -1.4, 0.2])}
TIMES = np.linspace(0.0, 4.0, 401)


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


def test_limits_are_kept_when_asked_for():
    robot = hd.load_robot('panda')
    q = hd.follow_path(
        robot, TIMES, path(robot, 'link7', 1), 'link7', READY['panda'], within_limits=True)
    assert np.all(q[:, 0] >= robot.limits.position_min)
    assert np.all(q[:, 0] <= robot.limits.position_max)


def test_what_cannot_be_followed_names_its_time():
    robot = hd.load_robot('panda')
    poses = path(robot, 'link7', 1)
    away = poses.copy()
    away[200:, 0, :3, 3] += 2.0
    with pytest.raises(ValueError, match=r"at 2 s: link 'link7'.*does not reach the pose"):
        hd.follow_path(robot, TIMES, away, 'link7', READY['panda'])
    turned = poses.copy()
    turned[200:] = turned[200:] @ lie.pose(lie.rotation_z(1.0))
    with pytest.raises(ValueError, match=r'at 2 s: joint .* would have to jump by'):
        hd.follow_path(robot, TIMES, turned, 'link7', READY['panda'])


@pytest.mark.parametrize(('change', 'message'), [
    ({'poses': np.zeros((2, 1, 4, 4))}, 'poses has shape'),
    ({'times': [0.0]}, 'times has shape'),
    ({'times': [1.0, 1.0]}, 'times must increase'),
    ({'link': 'hand7'}, 'hand7'),
])
def test_wrong_input_is_named(change, message):
    robot = hd.load_robot('panda')
    arguments = {
        'times': TIMES[:2], 'poses': path(robot, 'link7', 1)[:2], 'link': 'link7', **change}
    with pytest.raises(ValueError, match=message):
        hd.follow_path(robot, **arguments)
