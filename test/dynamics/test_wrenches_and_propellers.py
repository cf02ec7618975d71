import numpy as np
import pytest
from random_robots import assert_close, random_base_motion, random_motion, random_robot

import hodyn_ros as hd


def test_body_wrench_inverts_world_wrench():
    rng = np.random.default_rng(0)
    pose, twist = random_base_motion(rng, 4)
    wrench = rng.normal(size=(6, 6))
    world = hd.world_wrench(pose, twist[:5], wrench)
    assert_close(hd.body_wrench(pose, twist[:5], world), wrench, 1e-12)


def test_world_wrench_is_the_one_the_base_has_to_give_less():
    rng = np.random.default_rng(1)
    robot = random_robot(rng, 4, floating=True, serial=False)
    pose, twist = random_base_motion(rng, 5)
    q = random_motion(rng, robot, 5)
    wrenches = np.zeros((6, 4, 6))
    wrenches[:, 0] = rng.normal(size=(6, 6))
    base = {'base_pose': pose, 'base_twist': twist}
    _, free = hd.inverse_dynamics(robot, q, **base)
    _, pushed = hd.inverse_dynamics(robot, q, external_wrenches=wrenches, **base)
    assert_close(free - pushed, hd.world_wrench(pose, twist[:5], wrenches[:, 0]), 1e-12)


def test_weight_is_what_gravity_adds():
    rng = np.random.default_rng(2)
    robot = random_robot(rng, 6, floating=True, serial=False)
    pose, twist = random_base_motion(rng, 4)
    q = random_motion(rng, robot, 4)
    base = {'base_pose': pose, 'base_twist': twist}
    _, heavy = hd.inverse_dynamics(robot, q, **base)
    _, weightless = hd.inverse_dynamics(robot.with_gravity([0, 0, 0]), q, **base)
    weight = hd.gravity_wrenches(robot, q[:5], base_pose=pose, base_twist=twist[:4])
    assert_close(weightless - heavy, weight.sum(axis=1), 1e-12)


def test_level_hexagon_lifts_and_turns_about_the_vertical():
    poses = hd.tilted_hexagon(0.4, np.zeros(6), np.zeros(6))
    drag = 0.02 * np.array([1, -1, 1, -1, 1, -1])
    matrix = hd.propeller_map(poses, np.full(6, 1.5), drag)
    assert matrix.shape == (6, 6)
    angles = np.pi / 3 * np.array([1, 0, -1, -2, -3, -4])
    expected = np.array([
        0.6 * np.sin(angles), -0.6 * np.cos(angles), drag, np.zeros(6), np.zeros(6),
        np.full(6, 1.5)])
    assert np.allclose(matrix, expected, atol=1e-15)
    assert np.linalg.matrix_rank(matrix) == 4


def test_tilted_hexagon_commands_every_direction():
    signs = np.array([1, -1, 1, -1, 1, -1])
    poses = hd.tilted_hexagon(0.4, 0.6 * signs, np.full(6, 0.2))
    matrix = hd.propeller_map(poses, np.full(6, 1.5), 0.02 * signs)
    assert np.linalg.cond(matrix) < 1e2
    # Ry comes last: with no tilt about the arm the thrust stays in the plane of arm and vertical.
    poses = hd.tilted_hexagon(0.4, np.zeros(6), np.full(6, 0.2))
    column = hd.propeller_map(poses, np.ones(6), np.zeros(6))[:, 1]  # the arm along x
    assert np.allclose(column[3:], [np.sin(0.2), 0.0, np.cos(0.2)])


def test_rotor_speeds_that_fly_the_aerial_manipulator():
    """From the base wrench to rotor speeds and back, with derivatives."""
    rng = np.random.default_rng(3)
    robot = hd.load_robot('aerial_manipulator')
    pose, twist = random_base_motion(rng, 2)
    q = random_motion(rng, robot, 2)
    torque, wrench = hd.inverse_dynamics(robot, q, base_pose=pose, base_twist=twist)
    signs = np.array([1, -1, 1, -1, 1, -1])
    matrix = hd.propeller_map(
        hd.tilted_hexagon(0.4, 0.6 * signs, np.full(6, 0.2)), np.full(6, 1.5), 0.02 * signs)
    squared_speeds = np.linalg.solve(matrix, hd.body_wrench(pose, twist[:2], wrench).T).T
    again = hd.world_wrench(pose, twist[:2], squared_speeds @ matrix.T)
    found, base_found = hd.forward_dynamics(
        robot, q[:2], torque, base_pose=pose, base_twist=twist[:1], base_wrench=again)
    assert_close(found, q[2:], 1e-9)
    assert_close(base_found, twist[1:], 1e-9)


@pytest.mark.parametrize(('call', 'message'), [
    (lambda: hd.tilted_hexagon(0.4, np.zeros(5), np.zeros(6)), r'alpha has shape \(5,\)'),
    (lambda: hd.propeller_map(np.eye(4), np.ones(4), np.ones(4)), 'poses has shape'),
    (lambda: hd.propeller_map([np.eye(4)], [np.nan], [0.0]), r'thrust\[0\] is nan'),
    (lambda: hd.world_wrench(np.eye(4), np.zeros((2, 6)), np.zeros((2, 6))), 'twist has shape'),
    (lambda: hd.world_wrench(2 * np.eye(4), np.zeros((0, 6)), np.zeros((1, 6))), 'rotation'),
    (lambda: hd.body_wrench(np.eye(4), np.zeros((0, 6)), np.zeros(6)), 'wrench has shape'),
])
def test_wrong_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
