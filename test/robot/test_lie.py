import mpmath
import numpy as np
import pytest
from random_robots import random_pose

from hodyn_ros.robot import lie

ANGLES = np.geomspace(1e-12, np.pi, 120)
EPS = np.finfo(float).eps


def screws():
    rng = np.random.default_rng(0)
    for angle in ANGLES:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        yield np.concatenate([angle * axis, rng.normal(size=3)])


def exact_exp(screw):
    """Return exp of a screw at 60 digits."""
    wx, wy, wz, vx, vy, vz = map(mpmath.mpf, map(float, screw))
    return mpmath.expm(mpmath.matrix(
        [[0, -wz, wy, vx], [wz, 0, -wx, vy], [-wy, wx, 0, vz], [0, 0, 0, 0]]))


def array(matrix):
    return np.array(matrix.tolist(), dtype=float)


def test_exp_and_log_to_full_precision_at_every_angle():
    with mpmath.workdps(60):
        for screw in screws():
            exact = array(exact_exp(screw))
            np.testing.assert_allclose(lie.exp(screw), exact, rtol=0, atol=8 * EPS)
            # Off the identity, where rounding of 1 does not hide the small entries.
            angle = np.linalg.norm(screw[:3])
            off = array(exact_exp(screw) - mpmath.eye(4))[:3, :3]
            mine = lie.rotation_exp(screw[:3]) - np.eye(3)
            assert np.abs(mine - off).max() <= 4 * EPS * max(1.0, angle)
            back = lie.log(exact)
            # One ulp of R moves ω by eps (θ / sin θ at most on the way, which is finite in ω).
            sign = np.sign(back[:3] @ screw[:3])
            assert angle < 3.1 or sign != 0
            np.testing.assert_allclose(sign * back[:3], screw[:3], rtol=0, atol=10 * EPS)
            if sign > 0:
                np.testing.assert_allclose(back[3:], screw[3:], rtol=0, atol=40 * EPS)


def test_the_rate_of_a_logarithm_to_full_precision_at_every_angle():
    """By d/dt exp(X) = [V] exp(X), V = Σ ad_X^k Ẋ / (k + 1)!, to many digits."""
    rng = np.random.default_rng(2)
    with mpmath.workdps(60):
        for screw in (*screws(), np.array([0.0, 0.0, 3.0, 1.0, 2.0, 3.0]), np.zeros(6)):
            rate = rng.normal(size=6)
            term, twist = mpmath.matrix(rate.tolist()), mpmath.matrix(rate.tolist())
            product = mpmath.matrix(lie.ad(screw).tolist())
            for k in range(1, 80):
                term = product * term / (k + 1)
                twist += term
            found = lie.dexp_inverse(screw, np.array(twist.tolist(), dtype=float)[:, 0])
            np.testing.assert_allclose(
                found, rate, rtol=0, atol=20 * EPS * max(1.0, np.abs(screw).max())**2)


def test_rotations_of_a_half_turn_and_near_it():
    rng = np.random.default_rng(1)
    for short in [0.0, *np.geomspace(1e-15, 1e-3, 40)]:
        axis = rng.normal(size=3)
        axis /= np.linalg.norm(axis)
        rotation = lie.rotation_exp((np.pi - short) * axis)
        vector = lie.rotation_log(rotation)
        assert np.linalg.norm(vector) == pytest.approx(np.pi - short, abs=1e-14)
        np.testing.assert_allclose(lie.rotation_exp(vector), rotation, atol=4e-15)
    for axis in np.eye(3):
        np.testing.assert_allclose(
            lie.rotation_log(2.0 * np.outer(axis, axis) - np.eye(3)), np.pi * axis)


def test_no_motion():
    np.testing.assert_array_equal(lie.exp(np.zeros(6)), np.eye(4))
    np.testing.assert_array_equal(lie.log(np.eye(4)), np.zeros(6))
    np.testing.assert_array_equal(lie.exp([0, 0, 0, 1, 2, 3])[:3, 3], [1, 2, 3])


@pytest.mark.parametrize('seed', range(5))
def test_group_laws(seed):
    rng = np.random.default_rng(seed)
    a, b, x = random_pose(rng), random_pose(rng), rng.normal(size=6)
    np.testing.assert_allclose(lie.exp(lie.log(a)), a, atol=1e-14)
    np.testing.assert_allclose(lie.exp(x) @ lie.exp(-x), np.eye(4), atol=1e-14)
    np.testing.assert_allclose(lie.exp(lie.adjoint(a) @ x), a @ lie.exp(x) @ lie.inverse(a),
                               atol=1e-13)
    np.testing.assert_allclose(lie.adjoint(a @ b), lie.adjoint(a) @ lie.adjoint(b), atol=1e-14)


@pytest.mark.parametrize('shape', [(), (4,), (2, 3)])
def test_many_at_once_are_the_same_one_by_one(shape):
    rng = np.random.default_rng(len(shape))
    screws = rng.normal(size=(*shape, 6))
    poses = np.empty((*shape, 4, 4))
    for place in np.ndindex(*shape):
        poses[place] = lie.exp(screws[place])
    for function, arguments in (
        (lie.skew, screws[..., :3]), (lie.ad, screws), (lie.adjoint, poses),
        (lie.inverse, poses),
    ):
        together = function(arguments)
        for place in np.ndindex(*shape):
            np.testing.assert_allclose(together[place], function(arguments[place]), atol=1e-15)
    a, b = screws[..., :3], screws[..., 3:]
    np.testing.assert_allclose(
        (lie.skew(a) @ b[..., None])[..., 0], np.cross(a, b), rtol=0, atol=1e-14)


def test_ad_is_the_derivative_of_the_adjoint():
    rng = np.random.default_rng(8)
    screw, h = rng.normal(size=6), 1e-6
    numeric = (lie.adjoint(lie.exp(h * screw)) - lie.adjoint(lie.exp(-h * screw))) / (2 * h)
    np.testing.assert_allclose(lie.ad(screw), numeric, atol=1e-9)


@pytest.mark.parametrize('seed', range(3))
def test_rounded_rotations_need_more_digits(seed):
    rng = np.random.default_rng(seed)
    for digits in (2, 3, 4, 5, 7, 8):
        rotation = lie.rotation_exp(rng.normal(size=3))
        fault = lie.pose_fault(lie.pose(rotation.round(digits)))
        assert fault is None if digits >= 7 else 'if it is rounded, give seven digits' in fault
        assert 'digits' not in lie.pose_fault(lie.pose(rotation @ np.diag([1.0, 1.1, 1.0])))


def test_a_transposed_pose_is_asked_about():
    pose = lie.pose(lie.exp([0.3, 0.2, 0.1, 0.0, 0.0, 0.0])[:3, :3], [0.1, 0.2, 0.3])
    assert lie.pose_fault(pose.T).endswith(': is it transposed?')
    pose[3, 0] = 0.1
    assert lie.pose_fault(pose) == 'its last row must be 0, 0, 0, 1'
