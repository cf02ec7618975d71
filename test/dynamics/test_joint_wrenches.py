"""Wrenches between bodies, against torques, Newton's law for subtrees and differences."""
from mpmath import mp
import numpy as np
import pytest
from random_robots import (
    assert_close,
    random_base_motion,
    random_motion,
    random_robot,
    random_wrenches,
    taylor,
)

import hodyn_ros as hd
from hodyn_ros.robot import lie

FRAMES = ('body', 'joint', 'world')


def made(seed, floating, order, n_bodies=6):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, n_bodies, floating=floating, serial=False)
    q, wrenches = random_motion(rng, robot, order), random_wrenches(rng, robot, order)
    base = {}
    if floating:
        pose, twist = random_base_motion(rng, order)
        base = {'base_pose': pose, 'base_twist': twist}
    return robot, q, base, wrenches


def torques(robot, q, base, wrenches):
    found = hd.inverse_dynamics(robot, q, external_wrenches=wrenches, **base)
    return found if base else (found, None)


@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('seed', range(4))
def test_along_the_joints_they_are_the_torques(floating, seed):
    robot, q, base, wrenches = made(seed, floating, 4)
    expected, base_wrench = torques(robot, q, base, wrenches)
    options = {**base, 'external_wrenches': wrenches}
    in_joint = hd.joint_wrenches(robot, q, frame='joint', **options)
    in_body = hd.joint_wrenches(robot, q, frame='body', **options)
    in_world = hd.joint_wrenches(robot, q, frame='world', **options)
    for j, i in enumerate(range(floating, len(robot.bodies))):
        body = robot.bodies[i]
        screw = np.concatenate([body.axis, np.cross(body.point, body.axis)])
        screw[3:] += body.pitch * body.axis
        along = in_joint[:, i, 2] + body.pitch * in_joint[:, i, 5]
        if body.type == 'prismatic':
            screw, along = np.concatenate([np.zeros(3), body.axis]), in_joint[:, i, 5]
        assert_close(along, expected[:, j], 1e-11)
        assert_close(in_body[:, i] @ screw, expected[:, j], 1e-11)
    if floating:
        assert_close(in_world[:, 0], base_wrench, 1e-12)
    poses, twists = hd.forward_kinematics(robot, q[:-1], **{
        key: value if key == 'base_pose' else value[:-1] for key, value in base.items()})
    for i in range(len(robot.bodies)):
        back = hd.world_wrench(poses[i], twists[:4, i], in_body[:, i])
        assert_close(back, in_world[:, i], 1e-11)


@pytest.mark.parametrize('floating', [False, True])
@pytest.mark.parametrize('seed', range(3))
def test_they_are_the_change_of_the_momentum_beyond_the_joint(floating, seed):
    """Newton's and Euler's laws for each subtree, summed up from the bodies' own matrices."""
    robot, q, base, wrenches = made(seed, floating, 0)
    found = hd.joint_wrenches(robot, q, frame='world', external_wrenches=wrenches, **base)[0]
    poses, twists = hd.forward_kinematics(robot, q, **base)
    expected = np.zeros((len(robot.bodies), 6))
    for i, body in enumerate(robot.bodies):
        up = lie.adjoint(lie.inverse(poses[i]))
        offset = body.mass * lie.skew(body.com)
        inertia = up.T @ np.block([
            [body.inertia - offset @ lie.skew(body.com), offset],
            [-offset, body.mass * np.eye(3)]]) @ up
        weight = inertia @ np.concatenate([np.zeros(3), robot.gravity])
        own = (inertia @ twists[1, i] - lie.ad(twists[0, i]).T @ inertia @ twists[0, i]
               - weight - up.T @ wrenches[0, i])
        j = i
        while j >= 0:
            expected[j] += own
            j = robot.bodies[j].parent
    assert_close(found, expected, 1e-12)


@pytest.mark.parametrize('frame', FRAMES)
def test_derivatives_are_those_of_order_zero_along_the_motion(frame):
    """By polynomials through values of order 0 alone, along a polynomial motion."""
    rng = np.random.default_rng(7)
    robot = random_robot(rng, 4, serial=False)
    order, step = 3, 0.05
    q, wrenches = random_motion(rng, robot, order), random_wrenches(rng, robot, order)
    found = hd.joint_wrenches(robot, q, frame=frame, external_wrenches=wrenches)
    nodes = np.cos(np.pi * (np.arange(17) + 0.5) / 17) * step * 4
    values = np.array([hd.joint_wrenches(
        robot, taylor(q, t)[:3], frame=frame, external_wrenches=taylor(wrenches, t)[:1])[0].ravel()
        for t in nodes])
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
    robot = hd.load_robot({'name': 'pendulum', 'gravity': [0, -g, 0], 'bodies': [{
        'name': 'rod', 'parent': -1, 'type': 'revolute', 'placement': np.eye(4),
        'axis': [0, 0, 1], 'point': [0, 0, 0], 'mass': mass, 'com': [length, 0, 0],
        'inertia': 0.01 * np.eye(3)}]})
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


@pytest.mark.parametrize(('options', 'message'), [
    ({'frame': 'hybrid'}, "frame 'hybrid': expected one of body, joint, world"),
    ({'q': np.zeros((2, 7))}, 'q has shape'),
    ({'external_wrenches': np.zeros((2, 7, 6))}, 'external_wrenches has shape'),
    ({'base_pose': np.eye(4)}, 'fixed base'),
])
def test_wrong_input_is_named(options, message):
    arguments = {'q': np.zeros((3, 7)), **options}
    with pytest.raises(ValueError, match=message):
        hd.joint_wrenches(hd.load_robot('panda'), **arguments)
