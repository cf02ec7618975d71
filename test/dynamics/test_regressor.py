"""The regressor of the inertial parameters against the inverse dynamics."""
import numpy as np
import pytest
from random_robots import assert_close, random_base_motion, random_motion, random_robot
from recordings import PANDA

import hodyn_ros as hd
from hodyn_ros import inertial_parameters, inverse_dynamics, load_robot, torque_regressor


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
    rng = np.random.default_rng(seed)
    robot = random_robot(
        rng, 1 if seed == 0 else 6, floating=True, serial=False, coupled=seed == 5)
    given = robot if gravity else robot.with_gravity((0.0, 0.0, 0.0))
    order, pi = seed % 5, parameters(robot)
    q, (pose, twist) = random_motion(rng, robot, order), random_base_motion(rng, order)
    base = {'base_pose': pose, 'base_twist': twist}
    regressors = torque_regressor(robot, q, gravity=gravity, **base)
    assert regressors[1].shape == (order + 1, 6, len(robot.bodies), 10)
    for found, expected in zip(regressors, inverse_dynamics(given, q, **base), strict=True):
        assert_close(np.einsum('kjbp,bp->kj', found, pi), expected, 1e-12)


@pytest.mark.parametrize('coupled', [False, True])
@pytest.mark.parametrize('floating', [False, True])
def test_momentum_is_linear_in_the_parameters(floating, coupled):
    rng = np.random.default_rng(7)
    robot = random_robot(rng, 6, floating=floating, serial=False, coupled=coupled)
    q, (pose, twist) = random_motion(rng, robot, 1), random_base_motion(rng, 1)
    base = {'base_pose': pose, 'base_twist': twist} if floating else {}
    found = hd.momentum_regressor(robot, q, **base)
    assert found.shape == (3, 6, len(robot.bodies), 10)
    expected = hd.momentum(robot, q, **base)
    np.testing.assert_allclose(
        np.einsum('kibp,bp->ki', found, parameters(robot)), expected, rtol=0,
        atol=1e-12 * np.abs(expected).max())


def test_momentum_changes_by_the_wrench_of_the_base():
    """Each column for itself: of unit parameters no body has."""
    rng = np.random.default_rng(8)
    robot = random_robot(rng, 4, floating=True).with_gravity((0.0, 0.0, 0.0))
    q, (pose, twist) = random_motion(rng, robot, 1), random_base_motion(rng, 1)
    _, wrench = torque_regressor(robot, q, base_pose=pose, base_twist=twist)
    momentum = hd.momentum_regressor(robot, q, base_pose=pose, base_twist=twist)
    for k in range(2):
        np.testing.assert_allclose(
            momentum[k + 1, :, :], wrench[k], rtol=0, atol=1e-12 * np.abs(wrench[k]).max())


def test_a_base_that_does_not_fit_the_robot_is_named():
    robot = load_robot('aerial_manipulator')
    for function in (torque_regressor, hd.momentum_regressor):
        with pytest.raises(ValueError, match='floating base: give its base_pose and base_twist'):
            function(robot, np.zeros((3, robot.n)))
        with pytest.raises(ValueError, match='fixed base: leave out base_pose'):
            function(PANDA, np.zeros((3, 7)), base_pose=np.eye(4), base_twist=np.zeros((2, 6)))


@pytest.mark.parametrize(('given', 'message'), [
    ((1.0, [0.0, 0.0], np.eye(3)), r'com has shape \(2,\)'),
    ((1.0, np.zeros(3), np.ones(3)), r'inertia has shape \(3,\)'),
    ((np.nan, np.zeros(3), np.eye(3)), 'mass.* not finite')])
def test_a_body_that_is_none_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        inertial_parameters(*given)
