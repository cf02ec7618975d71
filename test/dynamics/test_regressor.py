"""The regressor of the inertial parameters against the inverse dynamics."""
import numpy as np
import pytest
from random_robots import random_robot
from recordings import PANDA

from hodyn_ros import inertial_parameters, inverse_dynamics, load_robot, torque_regressor


def torque(robot, q, gravity):
    parameters = np.array([
        inertial_parameters(body.mass, body.com, body.inertia) for body in robot.bodies])
    return np.einsum('...kjbp,bp->...kj', torque_regressor(robot, q, gravity=gravity), parameters)


@pytest.mark.parametrize('gravity', [True, False])
@pytest.mark.parametrize('seed', range(8))
def test_it_times_the_parameters_is_the_torque_of_any_tree(seed, gravity):
    robot = PANDA if seed == 0 else random_robot(
        np.random.default_rng(seed), 5, serial=seed % 2 == 0)
    q = np.random.default_rng(seed).normal(size=(6, 5, robot.n))
    given = robot if gravity else robot.with_gravity((0.0, 0.0, 0.0))
    expected = inverse_dynamics(given, q)
    found = torque(robot, q, gravity)
    for k in range(3):
        np.testing.assert_allclose(
            found[:, k], expected[:, k], rtol=0.0, atol=1e-11 * np.abs(expected[:, k]).max())
    np.testing.assert_allclose(torque(robot, q[0, :3], gravity), found[0, :1], rtol=1e-12)


def test_a_floating_base_is_refused():
    robot = load_robot('aerial_manipulator')
    with pytest.raises(ValueError, match='floating base'):
        torque_regressor(robot, np.zeros((1, 3, robot.n)))


@pytest.mark.parametrize(('given', 'message'), [
    ((1.0, [0.0, 0.0], np.eye(3)), r'com has shape \(2,\)'),
    ((1.0, np.zeros(3), np.ones(3)), r'inertia has shape \(3,\)'),
    ((np.nan, np.zeros(3), np.eye(3)), 'mass.* not finite')])
def test_a_body_that_is_none_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        inertial_parameters(*given)
