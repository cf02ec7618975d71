"""Centre of mass, momentum and energy, against the recursion and against one another."""
from dataclasses import replace

from cases import random_case
import numpy as np
import pytest

import hodyn_ros as hd

SEEDS = range(6)


def moving(seed, order):
    """Return the case of a random tree; every second one floats."""
    return random_case(seed, 6, order, floating=seed % 2 == 1, serial=seed % 3 == 0)


@pytest.mark.parametrize('seed', SEEDS)
def test_momentum_is_that_of_the_mass_matrix_and_energy_half_its_product(seed):
    case = moving(seed, -1)
    mass, rate = case.of(hd.equations_of_motion).mass[0], case.velocity[0]
    found = case.of(hd.energy)
    np.testing.assert_allclose(found.kinetic[0], 0.5 * rate @ mass @ rate, rtol=1e-12)
    if case.base:
        # The rows of the base are the momentum of all bodies.
        np.testing.assert_allclose(
            case.of(hd.momentum)[0], mass[:6] @ rate, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_the_centre_of_mass_moves_as_the_linear_momentum_says(seed):
    case = moving(seed, 2)
    total = sum(body.mass for body in case.robot.bodies)
    position, linear = case.of(hd.center_of_mass), case.of(hd.momentum)[:, 3:]
    assert position.shape == (5, 3)
    np.testing.assert_allclose(
        total * position[1:], linear, rtol=0.0, atol=1e-12 * np.abs(linear).max())
    bodies, _ = case.of(hd.forward_kinematics)
    expected = sum(
        body.mass * (pose[:3, :3] @ body.com + pose[:3, 3])
        for body, pose in zip(case.robot.bodies, bodies, strict=True)) / total
    np.testing.assert_allclose(position[0], expected, rtol=0.0, atol=1e-13)


@pytest.mark.parametrize('seed', SEEDS)
def test_energy_grows_by_the_power_of_the_efforts(seed):
    """And so do its derivatives, by those of the power."""
    case = replace(moving(seed, 2), wrenches=None)
    found, effort, rate = case.of(hd.energy), case.efforts(), case.velocity
    power = [
        effort[0] @ rate[0],
        effort[1] @ rate[0] + effort[0] @ rate[1],
        effort[2] @ rate[0] + 2.0 * effort[1] @ rate[1] + effort[0] @ rate[2]]
    np.testing.assert_allclose(
        (found.kinetic + found.potential)[1:], power, rtol=0.0, atol=1e-11 * np.abs(power).max())


@pytest.mark.parametrize('seed', [1, 3])
def test_momentum_changes_by_the_wrenches_from_outside(seed):
    case = moving(seed, 1)
    _, outside = case.of(hd.inverse_dynamics)
    position = case.of(hd.center_of_mass, first=2)
    weight = sum(body.mass for body in case.robot.bodies) * case.robot.gravity
    outside[:, 3:] += [weight, 0.0 * weight]
    outside[:, :3] += np.cross(position, weight)
    np.testing.assert_allclose(
        case.of(hd.momentum)[1:], outside, rtol=0.0, atol=1e-11 * np.abs(outside).max())


def test_a_plain_vector_of_positions_will_do_on_a_floating_base():
    case = moving(1, 0)
    expected = case.of(hd.center_of_mass)[:1]
    for given in ({}, {'base_twist': np.empty((0, 6))}):
        found = hd.center_of_mass(
            case.robot, case.q[0], base_pose=case.base['base_pose'], **given)
        np.testing.assert_array_equal(found, expected)


def test_a_plain_vector_of_positions_will_do(panda):
    q = np.linspace(-1.0, 1.0, 7)
    for found, expected in zip(
            hd.forward_kinematics(panda, q, 'link7'),
            hd.forward_kinematics(panda, q[None], 'link7'), strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(
        hd.jacobian(panda, q, 'link7'), hd.jacobian(panda, q[None], 'link7'))
    np.testing.assert_array_equal(hd.center_of_mass(panda, q), hd.center_of_mass(panda, q[None]))
