"""Wrenches between bodies, of the world and of rotors: against torques, Newton and differences."""
from dataclasses import replace

from cases import case_of, random_case
from mpmath import mp
import numpy as np
import pytest
from random_robots import assert_close, random_base_motion, taylor
from rigid_bodies import mass_matrix, one_body, screw

import hodyn_ros as hd
from hodyn_ros.robot import lie


@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('seed', range(4))
def test_along_the_joints_they_are_the_torques(floating, seed):
    case = random_case(seed, 6, 4, floating=floating, serial=False)
    bodies, efforts = case.robot.bodies, case.efforts()
    in_body, in_joint, in_world = (
        case.pushed(hd.joint_wrenches, frame=frame) for frame in ('body', 'joint', 'world'))
    for expected, i in zip(efforts[:, 6 * floating:].T, range(floating, 6), strict=True):
        body = bodies[i]
        along = in_joint[:, i, 2] + body.pitch * in_joint[:, i, 5]
        if body.type == 'prismatic':
            along = in_joint[:, i, 5]
        assert_close(along, expected, 1e-11)
        assert_close(in_body[:, i] @ screw(body), expected, 1e-11)
    if floating:
        assert_close(in_world[:, 0], efforts[:, :6], 1e-12)
    poses, twists = case.of(hd.forward_kinematics, first=-1)
    for i in range(len(bodies)):
        back = hd.world_wrench(poses[i], twists[:4, i], in_body[:, i])
        assert_close(back, in_world[:, i], 1e-11)


@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_they_are_the_change_of_the_momentum_beyond_the_joint(floating, seed):
    """Newton's and Euler's laws for each subtree, summed up from the bodies' own matrices."""
    case = random_case(seed, 6, 0, floating=floating, serial=False)
    robot, found = case.robot, case.pushed(hd.joint_wrenches, frame='world')[0]
    poses, twists = case.of(hd.forward_kinematics)
    expected = np.zeros((len(robot.bodies), 6))
    for i, body in enumerate(robot.bodies):
        up = lie.adjoint(lie.inverse(poses[i]))
        inertia = up.T @ mass_matrix(body) @ up
        weight = inertia @ np.concatenate([np.zeros(3), robot.gravity])
        own = (inertia @ twists[1, i] - lie.ad(twists[0, i]).T @ inertia @ twists[0, i]
               - weight - up.T @ case.wrenches[0, i])
        j = i
        while j >= 0:
            expected[j] += own
            j = robot.bodies[j].parent
    assert_close(found, expected, 1e-12)


@pytest.mark.parametrize('frame', ['body', 'joint', 'world'])
def test_derivatives_are_those_of_order_zero_along_the_motion(frame):
    """By polynomials through values of order 0 alone, along a polynomial motion."""
    order, step = 3, 0.05
    case = random_case(7, 4, order, serial=False)
    found = case.pushed(hd.joint_wrenches, frame=frame)
    nodes = np.cos(np.pi * (np.arange(17) + 0.5) / 17) * step * 4
    values = np.array([
        replace(case, q=taylor(case.q, t)[:3], wrenches=taylor(case.wrenches, t)[:1]).pushed(
            hd.joint_wrenches, frame=frame)[0].ravel() for t in nodes])
    fitted = np.polynomial.chebyshev.Chebyshev.fit
    size = np.abs(found).reshape(order + 1, -1).max(1)
    for column in range(values.shape[1]):
        curve = fitted(nodes, values[:, column], 16)
        for k in range(order + 1):
            numeric = curve(0.0) if k == 0 else curve.deriv(k)(0.0)
            error = abs(numeric - found[k].ravel()[column]) / size[k]
            assert error < 1e-12 * 200.0**k, (k, error)


def test_a_pendulum_pulls_at_its_bearing_with_all_digits():
    """The force m (c̈ − g) on a swinging rod and its derivatives, with 40 digits."""
    length, mass, g = 0.7, 2.0, 9.81
    robot = one_body(
        'revolute', mass, [length, 0, 0], 0.01, gravity=[0, -g, 0], axis=[0, 0, 1])
    angles = np.array([0.3, 1.1, -0.7, 0.4, 2.0, -3.0])
    found = hd.joint_wrenches(robot, angles[:, None])
    with mp.workdps(40):
        def angle(t):
            return sum(mp.mpf(a) * t**k / mp.factorial(k) for k, a in enumerate(angles))

        def force(t):
            rate, acceleration = mp.diff(angle, t), mp.diff(angle, t, 2)
            return (mass * (-length * rate**2 + g * mp.sin(angle(t))),
                    mass * (length * acceleration + g * mp.cos(angle(t))))

        for c in range(2):
            expected = [
                float(a * mp.factorial(k))
                for k, a in enumerate(mp.taylor(lambda t, c=c: force(t)[c], 0, 3))]
            assert_close(found[:, 0, 3 + c], expected, 1e-13)
    assert_close(found[:, 0, 2], hd.inverse_dynamics(robot, angles[:, None])[:, 0], 1e-14)


def test_body_wrench_inverts_world_wrench():
    rng = np.random.default_rng(0)
    pose, twist = random_base_motion(rng, 4)
    wrench = rng.normal(size=(6, 6))
    world = hd.world_wrench(pose, twist[:5], wrench)
    assert_close(hd.body_wrench(pose, twist[:5], world), wrench, 1e-12)


def test_world_wrench_is_the_one_the_base_has_to_give_less():
    case = random_case(1, 4, 5, floating=True, serial=False)
    case.wrenches[:, 1:] = 0.0
    pose, twist = case.base.values()
    free, pushed = replace(case, wrenches=None).efforts(), case.efforts()
    assert_close(
        (free - pushed)[:, :6], hd.world_wrench(pose, twist[:5], case.wrenches[:, 0]), 1e-12)


def test_weight_is_what_gravity_adds():
    case = replace(random_case(2, 6, 4, floating=True, serial=False), wrenches=None)
    floats = replace(case, robot=case.robot.with_gravity([0, 0, 0]))
    weight = case.of(hd.gravity_wrenches, first=-2)
    assert_close((floats.efforts() - case.efforts())[:, :6], weight.sum(axis=1), 1e-12)


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
    case = replace(case_of(
        np.random.default_rng(3), hd.load_robot('aerial_manipulator'), 2), wrenches=None)
    pose, twist = case.base.values()
    efforts = case.efforts()
    signs = np.array([1, -1, 1, -1, 1, -1])
    matrix = hd.propeller_map(
        hd.tilted_hexagon(0.4, 0.6 * signs, np.full(6, 0.2)), np.full(6, 1.5), 0.02 * signs)
    squared_speeds = np.linalg.solve(
        matrix, hd.body_wrench(pose, twist[:2], efforts[:, :6]).T).T
    again = hd.world_wrench(pose, twist[:2], squared_speeds @ matrix.T)
    found = case.accelerations(np.hstack([again, efforts[:, 6:]]))
    assert_close(found[:, 6:], case.q[2:], 1e-9)
    assert_close(found[:, :6], twist[1:], 1e-9)
