"""Motions through poses: exact at the poses, smooth between them, the same from everywhere."""
import pickle

from mpmath import mp
import numpy as np
import pytest
from random_robots import random_pose
from scipy.interpolate import make_interp_spline
from scipy.spatial.transform import Rotation

from hodyn_ros.reference import fit_plan, fit_pose_plan


def made(seed, count=6):
    rng = np.random.default_rng(seed)
    times = np.cumsum(rng.uniform(0.5, 1.5, count)) - 0.5
    poses = [random_pose(rng)]
    for _ in range(count - 1):
        step = random_pose(rng)
        step[:3, :3] = Rotation.from_rotvec(rng.normal(scale=0.8, size=3)).as_matrix()
        poses.append(poses[-1] @ step)
    return times, np.array(poses)


@pytest.mark.parametrize('seed', range(5))
def test_it_meets_the_poses_and_rests_at_the_ends(seed):
    times, poses = made(seed)
    found = fit_pose_plan(times, poses).evaluate(times)
    np.testing.assert_allclose(found[:, 0], poses, rtol=0, atol=1e-12)
    for end in (0, -1):
        np.testing.assert_allclose(found[end, 1:], 0.0, rtol=0, atol=1e-9)
    assert np.abs(found[1:-1, 1]).max() > 0.1


@pytest.mark.parametrize('seed', range(3))
def test_its_derivatives_are_those_of_the_exponentials_in_many_digits(seed):
    """R₀ exp(s₁ φ̃₁) …, differentiated by mpmath, within a piece."""
    times, poses = made(seed, 4)
    plan = fit_pose_plan(times, poses)
    piece = 1
    t0 = 0.5 * (times[piece] + times[piece + 1])
    found = plan.evaluate(t0)
    with mp.workdps(60):
        width = mp.mpf(plan.turned.times[piece + 1]) - mp.mpf(plan.turned.times[piece])

        def rotation(t):
            s = (t - mp.mpf(plan.turned.times[piece])) / width
            result = mp.matrix(plan.start.tolist())
            for j, turn in enumerate(plan.turns):
                value = sum(
                    mp.mpf(c) * s**i
                    for i, c in enumerate(plan.turned.coefficients[piece, :, j]))
                x, y, z = (mp.mpf(c) * value for c in turn)
                angle = mp.sqrt(x * x + y * y + z * z)
                skew = mp.matrix([[0, -z, y], [z, 0, -x], [-y, x, 0]])
                result *= (
                    mp.eye(3) + mp.sin(angle) / angle * skew
                    + (1 - mp.cos(angle)) / angle**2 * skew * skew)
            return result

        for row in range(3):
            for c in range(3):
                for k in range(5):
                    expected = float(mp.diff(lambda t, r=row, d=c: rotation(t)[r, d], t0, k))
                    assert abs(found[k, row, c] - expected) < 1e-12 * 10.0**k


@pytest.mark.parametrize('seed', range(3))
def test_four_derivatives_pass_the_poses_without_a_step(seed):
    times, poses = made(seed)
    plan = fit_pose_plan(times, poses)
    before, after = plan.evaluate(times - 1e-7), plan.evaluate(times + 1e-7)
    size = np.abs(plan.evaluate(np.linspace(times[0], times[-1], 500))).max((0, 2, 3))
    for k in range(5):
        assert np.abs(after[:, k] - before[:, k]).max() < 1e-4 * size[k], k


@pytest.mark.parametrize('seed', range(3))
def test_it_is_the_same_motion_seen_from_anywhere_and_goes_back_as_far(seed):
    """A rotation of the world turns the motion; rotations stay rotations."""
    times, poses = made(seed)
    turn = random_pose(np.random.default_rng(seed + 100))
    instants = np.linspace(times[0], times[-1], 41)
    found = fit_pose_plan(times, poses).evaluate(instants)
    moved = fit_pose_plan(times, turn @ poses).evaluate(instants)
    expected = turn @ found
    np.testing.assert_allclose(moved, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    rotations = found[:, 0, :3, :3]
    np.testing.assert_allclose(
        rotations @ rotations.swapaxes(1, 2), np.tile(np.eye(3), (41, 1, 1)), atol=1e-13)


def test_about_one_axis_it_is_the_spline_of_the_angle():
    """SciPy's spline of degree 9 at rest at its ends; angles add up beyond half a turn."""
    times, angles = np.arange(5.0), np.array([0.0, 2.5, 4.5, 6.5, 6.0])
    poses = np.tile(np.eye(4), (5, 1, 1))
    poses[:, :3, :3] = Rotation.from_rotvec(
        angles[:, None] * [0.0, 0.0, 1.0]).as_matrix()
    instants = np.linspace(0.0, 4.0, 33)
    found = fit_pose_plan(times, poses).evaluate(instants)
    rest = [(k, 0.0) for k in range(1, 5)]
    expected = make_interp_spline(times, angles, k=9, bc_type=(rest, rest))(instants)
    np.testing.assert_allclose(found[:, 0, 0, 0], np.cos(expected), atol=1e-10)
    np.testing.assert_allclose(found[:, 0, 1, 0], np.sin(expected), atol=1e-10)


def test_positions_are_the_plan_of_the_positions():
    times, poses = made(9)
    plan = fit_pose_plan(times, poses)
    instants = np.linspace(-1.0, times[-1] + 1.0, 50)
    expected = fit_plan(times, poses[:, :3, 3], interpolation='global').evaluate(instants)
    np.testing.assert_array_equal(plan.evaluate(instants)[:, :, :3, 3], expected)


def test_one_pose_is_held_and_a_pickled_plan_is_the_same():
    pose = random_pose(np.random.default_rng(0))
    found = fit_pose_plan([0.0], [pose]).evaluate(3.0)
    assert found.shape == (5, 4, 4)
    np.testing.assert_allclose(found[0], pose, atol=1e-15)
    assert not found[1:].any()
    plan = fit_pose_plan(*made(1))
    again = pickle.loads(pickle.dumps(plan))
    np.testing.assert_array_equal(plan.evaluate(1.0), again.evaluate(1.0))
    assert again.duration == made(1)[0][-1]


@pytest.mark.parametrize(('times', 'poses', 'message'), [
    ([0.0, 1.0], [np.eye(4)], r'times \(2,\) and poses \(1, 4, 4\)'),
    ([0.0], [2 * np.eye(4)], r'poses\[0\] is not a homogeneous matrix'),
    ([0.0], [np.full((4, 4), np.nan)], r'poses\[0\] is no'),
    ([0.0, 1.0], [np.eye(4), np.diag([1.0, -1.0, -1.0, 1.0])], 'half a turn apart'),
    ([1.0, 0.0], [np.eye(4), np.eye(4)], 'times'),
    ([], np.zeros((0, 4, 4)), 'no poses'),
])
def test_wrong_input_is_named(times, poses, message):
    with pytest.raises(ValueError, match=message):
        fit_pose_plan(times, poses)
