"""The regressor of the inertial parameters against the inverse dynamics."""
from dataclasses import replace

from cases import random_case
import numpy as np
import pytest
from random_robots import assert_close, random_robot
from recordings import PANDA

import hodyn_ros as hd
from hodyn_ros import inertial_parameters, inverse_dynamics, torque_regressor


def parameters(robot):
    return np.array([
        inertial_parameters(body.mass, body.com, body.inertia) for body in robot.bodies])


def torque(robot, q, gravity):
    return np.einsum(
        '...kjbp,bp->...kj', torque_regressor(robot, q, gravity=gravity), parameters(robot))


@pytest.mark.parametrize('gravity', [True, False])
@pytest.mark.parametrize('seed', range(8))
def test_it_times_the_parameters_is_the_torque_of_any_tree(seed, gravity):
    robot = PANDA if seed == 0 else random_robot(
        np.random.default_rng(seed), 5, serial=seed % 2 == 0, coupled=seed % 3 == 2)
    q = np.random.default_rng(seed).normal(size=(6, 5, robot.n))
    given = robot if gravity else robot.with_gravity((0.0, 0.0, 0.0))
    expected = inverse_dynamics(given, q)
    found = torque(robot, q, gravity)
    for k in range(3):
        np.testing.assert_allclose(
            found[:, k], expected[:, k], rtol=0.0, atol=1e-11 * np.abs(expected[:, k]).max())
    np.testing.assert_allclose(torque(robot, q[0, :3], gravity), found[0, :1], rtol=1e-12)


@pytest.mark.parametrize('gravity', [True, False])
@pytest.mark.parametrize('seed', range(6))
def test_it_has_the_torques_and_the_wrench_of_a_floating_base(seed, gravity):
    order = seed % 5
    case = random_case(
        seed, 1 if seed == 0 else 6, order, floating=True, serial=False, coupled=seed == 5)
    regressors, robot = case.of(torque_regressor, gravity=gravity), case.robot
    assert regressors[1].shape == (order + 1, 6, len(robot.bodies), 10)
    given = replace(case, robot=robot if gravity else robot.with_gravity((0.0, 0.0, 0.0)))
    for found, expected in zip(regressors, given.of(inverse_dynamics), strict=True):
        assert_close(np.einsum('kjbp,bp->kj', found, parameters(robot)), expected, 1e-12)


@pytest.mark.parametrize('coupled', [False, True])
@pytest.mark.parametrize('floating', [False, True])
def test_momentum_is_linear_in_the_parameters(floating, coupled):
    case = random_case(7, 6, 1, floating=floating, serial=False, coupled=coupled)
    found, expected = case.of(hd.momentum_regressor), case.of(hd.momentum)
    assert found.shape == (3, 6, len(case.robot.bodies), 10)
    np.testing.assert_allclose(
        np.einsum('kibp,bp->ki', found, parameters(case.robot)), expected, rtol=0,
        atol=1e-12 * np.abs(expected).max())


def test_momentum_changes_by_the_wrench_of_the_base():
    """Each column for itself: of unit parameters no body has."""
    case = random_case(8, 4, 1, floating=True)
    case = replace(case, robot=case.robot.with_gravity((0.0, 0.0, 0.0)))
    (_, wrench), momentum = case.of(torque_regressor), case.of(hd.momentum_regressor)
    for k in range(2):
        np.testing.assert_allclose(
            momentum[k + 1, :, :], wrench[k], rtol=0, atol=1e-12 * np.abs(wrench[k]).max())
