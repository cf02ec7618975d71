"""Centre of mass, momentum and energy, against the recursion and against one another."""
import numpy as np
import pytest
from random_robots import random_pose, random_robot

import hodyn_ros as hd

SEEDS = range(6)


def random_motion(seed, rows):
    """Return a random tree, its joints' motion and that of its base, if it has one."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 6, floating=seed % 2 == 1, serial=seed % 3 == 0)
    q = rng.normal(size=(rows, robot.n))
    if not robot.floating:
        return robot, q, {}
    return robot, q, {'base_pose': random_pose(rng), 'base_twist': rng.normal(size=(rows - 1, 6))}


def shorter(base, rows):
    """Return the motion of the base as far as it goes with so many rows of q."""
    return {**base, 'base_twist': base['base_twist'][:rows - 1]} if base else {}


@pytest.mark.parametrize('seed', SEEDS)
def test_momentum_is_that_of_the_mass_matrix_and_energy_half_its_product(seed):
    robot, q, base = random_motion(seed, 2)
    mass = hd.equations_of_motion(robot, q, **base).mass[0]
    rate = np.concatenate([base['base_twist'][0], q[1]]) if base else q[1]
    found = hd.energy(robot, q, **base)
    np.testing.assert_allclose(found.kinetic[0], 0.5 * rate @ mass @ rate, rtol=1e-12)
    if base:
        # The rows of the base are the momentum of all bodies.
        np.testing.assert_allclose(
            hd.momentum(robot, q, **base)[0], mass[:6] @ rate, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_the_centre_of_mass_moves_as_the_linear_momentum_says(seed):
    robot, q, base = random_motion(seed, 5)
    total = sum(body.mass for body in robot.bodies)
    position = hd.center_of_mass(robot, q, **base)
    linear = hd.momentum(robot, q, **base)[:, 3:]
    assert position.shape == (5, 3)
    np.testing.assert_allclose(
        total * position[1:], linear, rtol=0.0, atol=1e-12 * np.abs(linear).max())
    bodies, _ = hd.forward_kinematics(robot, q, **base)
    expected = sum(
        body.mass * (pose[:3, :3] @ body.com + pose[:3, 3])
        for body, pose in zip(robot.bodies, bodies, strict=True)) / total
    np.testing.assert_allclose(position[0], expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize('seed', SEEDS)
def test_energy_grows_by_the_power_of_the_efforts(seed):
    """And so do its derivatives, by those of the power."""
    robot, q, base = random_motion(seed, 5)
    found = hd.energy(robot, q, **base)
    if base:
        torque, wrench = hd.inverse_dynamics(robot, q, **shorter(base, 5))
        effort = np.hstack([wrench, torque])
        rate = np.hstack([base['base_twist'], q[1:]])
    else:
        effort, rate = hd.inverse_dynamics(robot, q), q[1:]
    power = [
        effort[0] @ rate[0],
        effort[1] @ rate[0] + effort[0] @ rate[1],
        effort[2] @ rate[0] + 2.0 * effort[1] @ rate[1] + effort[0] @ rate[2]]
    np.testing.assert_allclose(
        (found.kinetic + found.potential)[1:], power, rtol=0.0, atol=1e-11 * np.abs(power).max())


@pytest.mark.parametrize('seed', [1, 3])
def test_momentum_changes_by_the_wrenches_from_outside(seed):
    robot, q, base = random_motion(seed, 4)
    _, wrench = hd.inverse_dynamics(robot, q, **base)
    position = hd.center_of_mass(robot, q[:2], **shorter(base, 2))
    weight = sum(body.mass for body in robot.bodies) * robot.gravity
    outside = wrench.copy()
    outside[:, 3:] += [weight, 0.0 * weight]
    outside[:, :3] += np.cross(position, weight)
    np.testing.assert_allclose(
        hd.momentum(robot, q, **base)[1:], outside, rtol=0.0, atol=1e-11 * np.abs(outside).max())


def test_a_plain_vector_of_positions_will_do_on_a_floating_base():
    robot, q, base = random_motion(1, 3)
    expected = hd.center_of_mass(robot, q, **base)[:1]
    for given in ({}, {'base_twist': np.empty((0, 6))}):
        found = hd.center_of_mass(robot, q[0], base_pose=base['base_pose'], **given)
        np.testing.assert_array_equal(found, expected)


def test_a_plain_vector_of_positions_will_do():
    panda = hd.load_robot('panda')
    q = np.linspace(-1.0, 1.0, 7)
    for found, expected in zip(
            hd.forward_kinematics(panda, q, 'link7'),
            hd.forward_kinematics(panda, q[None], 'link7'), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        hd.jacobian(panda, q, 'link7'), hd.jacobian(panda, q[None], 'link7'))
    np.testing.assert_array_equal(hd.center_of_mass(panda, q), hd.center_of_mass(panda, q[None]))
