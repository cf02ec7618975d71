"""Against an independent computation by numerical differentiation with 100 digits.

The principle of virtual power, from nothing but poses: C(t) of each body by products of
exponentials, all velocities, accelerations and partial velocities by central differences.
"""
import mpmath as mp
import numpy as np
import pytest
from random_robots import (
    assert_close,
    random_base_motion,
    random_motion,
    random_robot,
    random_wrenches,
)

import hodyn_ros as hd

ORDER = 2
DIGITS = 100
NEAR = mp.mpf(10) ** -20  # step of derivatives of poses
FAR = mp.mpf(10) ** -8  # step of derivatives of efforts: its square is the error that is left


def _matrix(array):
    return mp.matrix([[mp.mpf(float(x)) for x in row] for row in np.atleast_2d(array)])


def _vector(array):
    return mp.matrix([mp.mpf(float(x)) for x in array])


def _cross(a, b):
    return mp.matrix([
        a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


def _skew(a):
    return mp.matrix([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _unskew(m):
    return mp.matrix([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) / 2


def _pose(rotation, position):
    result = mp.eye(4)
    result[:3, :3] = rotation
    for row in range(3):
        result[row, 3] = position[row]
    return result


def _polynomial(derivatives, t):
    return [
        mp.fsum(mp.mpf(float(d)) * t**k / mp.factorial(k) for k, d in enumerate(column))
        for column in np.asarray(derivatives).T]


class Oracle:
    """Efforts of a robot at a time, by differences of poses."""

    def __init__(self, robot, q, base=None, wrenches=None):
        self.robot, self.q, self.base, self.wrenches = robot, q, base, wrenches

    def poses(self, t, shift=()):
        """Return the poses at time t, with one generalized coordinate shifted a little."""
        robot = self.robot
        q = _polynomial(self.q, t)
        result = []
        for i, body in enumerate(robot.bodies):
            if body.type == 'floating':
                pose = self.base_pose(t)
                if shift and shift[0] < 6:
                    unit = [mp.mpf(int(c == shift[0])) for c in range(6)]
                    twist = mp.matrix(4, 4)
                    twist[:3, :3] = _skew(unit[:3])
                    for row in range(3):
                        twist[row, 3] = unit[3 + row]
                    pose = pose + shift[1] * twist * pose
                result.append(pose)
                continue
            joint = i - robot.floating
            angle = q[joint]
            if shift and shift[0] - 6 * robot.floating == joint:
                angle += shift[1]
            axis, point = _vector(body.axis), _vector(body.point)
            turn, advance = mp.eye(3), angle * axis
            if body.type != 'prismatic':
                generator = _skew(axis)
                turn += mp.sin(angle) * generator + (1 - mp.cos(angle)) * generator * generator
                advance = body.pitch * angle * axis + point - turn * point
            above = result[body.parent] if body.parent >= 0 else mp.eye(4)
            result.append(above * _matrix(body.placement) * _pose(turn, advance))
        return result

    def base_pose(self, t):
        """Return the Taylor series of the solution of Ċ = [V] C."""
        pose, twists = self.base
        terms = [_matrix(pose)]
        fields = []
        for k, v in enumerate(twists):
            field = mp.matrix(4, 4)
            field[:3, :3] = _skew(_vector(v[:3]))
            for row in range(3):
                field[row, 3] = mp.mpf(float(v[3 + row]))
            fields.append(field / mp.factorial(k))
        for k in range(16):  # |t| stays below 1e-7
            total = mp.matrix(4, 4)
            for a in range(min(k + 1, len(fields))):
                total += fields[a] * terms[k - a]
            terms.append(total / (k + 1))
        result = mp.matrix(4, 4)
        for k, term in enumerate(terms):
            result += term * t**k
        return result

    def momentum(self, before, after, between, body):
        """Return angular momentum about the COM from poses around a time."""
        rotation = between[:3, :3]
        rate = (after[:3, :3] - before[:3, :3]) / (2 * NEAR)
        return rotation * _matrix(body.inertia) * rotation.T * _unskew(rate * rotation.T)

    def efforts(self, t):
        """Return the efforts at time t: base wrench and joint torques."""
        robot = self.robot
        at = [self.poses(t + j * NEAR) for j in (-2, -1, 0, 1, 2)]
        loads = []
        for i, body in enumerate(robot.bodies):
            com = mp.matrix([*map(mp.mpf, map(float, body.com)), 1])
            path = [(pose[i] * com)[:3, 0] for pose in at]
            acceleration = (path[1] - 2 * path[2] + path[3]) / NEAR**2
            force = mp.mpf(body.mass) * (acceleration - _vector(robot.gravity))
            spin = [self.momentum(at[j - 1][i], at[j + 1][i], at[j][i], body) for j in (1, 3)]
            moment = (spin[1] - spin[0]) / (2 * NEAR)
            if self.wrenches is not None:
                applied = _polynomial(self.wrenches[:, i], t)
                rotation = at[2][i][:3, :3]
                pull = rotation * mp.matrix(applied[3:])
                arm = at[2][i][:3, 3] - path[2]
                force -= pull
                moment -= rotation * mp.matrix(applied[:3]) + _cross(arm, pull)
            loads.append((com, path[2], at[2][i][:3, :3], force, moment))
        result = []
        for coordinate in range(robot.n + 6 * robot.floating):
            moved = self.poses(t, (coordinate, NEAR))
            total = mp.mpf(0)
            for pose, (com, here, rotation, force, moment) in zip(moved, loads, strict=True):
                velocity = ((pose * com)[:3, 0] - here) / NEAR
                turning = _unskew((pose[:3, :3] - rotation) / NEAR * rotation.T)
                total += (velocity.T * force)[0] + (turning.T * moment)[0]
            result.append(total)
        return mp.matrix(result)

    def derivatives(self):
        """Return efforts, first and second derivative."""
        before, now, after = (self.efforts(j * FAR) for j in (-1, 0, 1))
        stack = [now, (after - before) / (2 * FAR), (after - 2 * now + before) / FAR**2]
        return np.array([[float(x) for x in row] for row in stack])


def _efforts(robot, q, formulation, base, wrenches):
    if base is None:
        return hd.inverse_dynamics(
            robot, q, formulation=formulation, external_wrenches=wrenches)
    torque, wrench = hd.inverse_dynamics(
        robot, q, formulation=formulation, base_pose=base[0], base_twist=base[1],
        external_wrenches=wrenches)
    return np.hstack([wrench, torque])


@pytest.mark.parametrize(('floating', 'serial', 'seed'), [
    (False, True, 1), (False, False, 2), (True, False, 3), (True, True, 4)])
def test_second_order_of_all_joint_types(floating, serial, seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5, floating=floating, serial=serial)
    q = random_motion(rng, robot, ORDER)
    base = random_base_motion(rng, ORDER) if floating else None
    wrenches = random_wrenches(rng, robot, ORDER)
    with mp.workdps(DIGITS):
        expected = Oracle(robot, q, base, wrenches).derivatives()
    for formulation in ('spatial', 'body_fixed') if floating else (
            'spatial', 'body_fixed', 'closed_form'):
        assert_close(_efforts(robot, q, formulation, base, wrenches), expected, 1e-13)


@pytest.mark.parametrize('scale', 10.0 ** np.arange(-12, 6, 3))
def test_small_and_large_positions(scale):
    rng = np.random.default_rng(7)
    robot = random_robot(rng, 3, kinds=('revolute', 'helical'), serial=True)
    q = random_motion(rng, robot, ORDER)
    q[0] = scale * rng.uniform(0.1, 1.0, robot.n)
    with mp.workdps(DIGITS):
        expected = Oracle(robot, q).derivatives()
    # A helical joint far along its axis: the levers grow with q, and their rounding with them.
    tolerance = 1e-13 * max(1.0, scale)
    for formulation in ('spatial', 'body_fixed', 'closed_form'):
        assert_close(_efforts(robot, q, formulation, None, None), expected, tolerance)
