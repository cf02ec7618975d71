"""Derivatives of poses and twists, against kinematics, exponentials and each other."""
from cases import random_case
from mpmath import mp
import numpy as np
import pytest
from random_robots import assert_close, random_base_motion

import hodyn_ros as hd
from hodyn_ros.robot import lie

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('batch', [(), (3,)])
@pytest.mark.parametrize('order', [0, 1, 6])
def test_twists_come_back(representation, batch, order):
    rng = np.random.default_rng(order)
    poses = np.array([random_base_motion(rng, 0)[0] for _ in range(3)])
    pose = poses if batch else poses[0]
    twist = rng.normal(size=(*batch, order, 6))
    derivatives = hd.pose_derivatives(pose, twist, representation=representation)
    assert derivatives.shape == (*batch, order + 1, 4, 4)
    back = hd.pose_twist(derivatives, representation=representation)
    np.testing.assert_allclose(back, twist, rtol=0, atol=1e-10 * 4.0**order)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('seed', range(3))
def test_they_are_those_of_the_kinematics_in_every_representation(representation, seed):
    """A chain of joints moves a link; each representation is computed by other kernels."""
    case = random_case(seed, 5, 3, floating=True, serial=False)
    here, spatial = case.of(hd.forward_kinematics, 'body4')
    _, other = case.of(hd.forward_kinematics, 'body4', representation=representation)
    derivatives = hd.pose_derivatives(here, spatial)
    assert_close(
        hd.pose_derivatives(here, other, representation=representation), derivatives, 1e-11)
    assert_close(hd.pose_twist(derivatives, representation=representation), other, 1e-11)


@pytest.mark.parametrize('representation', ['spatial', 'body_fixed'])
def test_a_constant_twist_is_an_exponential(representation):
    """Its derivatives with 40 digits: [V]ᵏ exp([V] t) C."""
    rng = np.random.default_rng(1)
    pose, _ = random_base_motion(rng, 0)
    twist = np.zeros((5, 6))
    twist[0] = rng.normal(size=6)
    generator = np.zeros((4, 4))
    generator[:3, :3], generator[:3, 3] = lie.skew(twist[0, :3]), twist[0, 3:]
    with mp.workdps(40):
        power, expected = mp.matrix(pose.tolist()), [pose]
        for _ in range(5):
            power = (
                mp.matrix(generator.tolist()) * power if representation == 'spatial'
                else power * mp.matrix(generator.tolist()))
            expected.append(np.array(power.tolist(), dtype=float))
    found = hd.pose_derivatives(pose, twist, representation=representation)
    assert_close(found, expected, 1e-14)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_they_are_the_derivatives_of_the_poses_nearby(representation):
    """The pose a time h later, by its Taylor sum, has the twist a time h later."""
    rng = np.random.default_rng(2)
    order, h = 12, 0.02
    pose, twist = random_base_motion(rng, order - 2)
    derivatives = hd.pose_derivatives(pose, twist, representation=representation)
    powers = [
        [h**(j - k) / np.prod(np.arange(1.0, j - k + 1)) if j >= k else 0.0
         for j in range(order + 1)] for k in range(6)]
    later = np.einsum('kj,jab->kab', powers, derivatives)
    expected = np.einsum('kj,ja->ka', np.array(powers)[:5, :order], twist)
    assert_close(hd.pose_twist(later, representation=representation), expected, 1e-9)


def test_a_base_in_hybrid_twists_gets_the_spatial_ones_of_the_dynamics():
    """A drone on a circle: forces are those of its centre of mass."""
    robot = hd.load_robot({'name': 'ball', 'gravity': [0, 0, -9.81], 'bodies': [{
        'name': 'ball', 'parent': -1, 'type': 'floating', 'placement': np.eye(4),
        'mass': 2.0, 'com': [0, 0, 0], 'inertia': 0.01 * np.eye(3)}]})
    pose = lie.pose(None, [3.0, 1.0, 2.0])
    turn, velocity = [0.3, -0.2, 0.5], np.array([[1, 2, 0], [0.5, 0, 1], [-1, 3, 2], [0, 1, 0]])
    hybrid = np.zeros((4, 6))
    hybrid[0, :3], hybrid[:, 3:] = turn, velocity
    spatial = hd.pose_twist(hd.pose_derivatives(pose, hybrid, representation='hybrid'))
    _, wrench = hd.inverse_dynamics(
        robot, np.zeros((5, 0)), base_pose=pose, base_twist=spatial)
    expected = 2.0 * velocity[1:]
    expected[0, 2] += 2.0 * 9.81
    assert_close(wrench[:, 3:], expected, 1e-13)
