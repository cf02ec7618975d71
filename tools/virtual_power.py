"""Efforts by the principle of virtual power, from nothing but poses, with hundreds of digits.

Poses of the bodies are products of exponentials; velocities, accelerations, partial velocities and
the derivatives of the efforts are all central differences. Nothing of the package is used, so that
its numbers can be judged by these.
"""
import mpmath as mp
import numpy as np


def _matrix(array):
    return mp.matrix([[mp.mpf(x) for x in row] for row in np.atleast_2d(array)])


def _vector(array):
    return mp.matrix([mp.mpf(x) for x in array])


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


def _twist_matrix(twist):
    result = mp.matrix(4, 4)
    result[:3, :3] = _skew(twist[:3])
    for row in range(3):
        result[row, 3] = twist[3 + row]
    return result


def _polynomial(derivatives, t):
    return [
        mp.fsum(mp.mpf(d) * t**k / mp.factorial(k) for k, d in enumerate(column))
        for column in np.asarray(derivatives).T]


def _difference_weights(order, reach):
    """Return w (order + 1, 2 reach + 1): the k-th derivative of f is about Σ w[k, j] f(j - reach).

    They belong to the polynomial through all the points.
    """
    points = range(-reach, reach + 1)
    powers = mp.matrix([[mp.mpf(j) ** k for j in points] for k in range(2 * reach + 1)])
    inverse = powers**-1
    return [
        [mp.factorial(k) * inverse[j, k] for j in range(2 * reach + 1)] for k in range(order + 1)]


class VirtualPower:
    """A robot that moves through a time 0.

    Parameters
    ----------
    robot
        Has `bodies`, `gravity`, `n` and `floating`, as `hodyn_ros.Robot` has them.
    q
        Positions and their derivatives at time 0 (any number, n).
    base
        Pose (4, 4) of a floating base and its spatial twist with derivatives (any number, 6).
    wrenches
        What the environment exerts on each body (any number, n_bodies, 6), in the body's axes.
    """

    # Steps of differences of poses and of efforts. The error of a difference is about the step's
    # square, or the step where one side alone is used (partial velocities); round-off is divided
    # by the step to the power of the order.
    near = mp.mpf(10) ** -30
    far = mp.mpf(10) ** -20

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
                    pose = pose + shift[1] * _twist_matrix(unit) * pose
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
        fields = [
            _twist_matrix(_vector(v)) / mp.factorial(k) for k, v in enumerate(twists)]
        for k in range(16):  # |t| stays far below 1
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
        rate = (after[:3, :3] - before[:3, :3]) / (2 * self.near)
        return rotation * _matrix(body.inertia) * rotation.T * _unskew(rate * rotation.T)

    def efforts(self, t):
        """Return the efforts at time t: base wrench and joint torques."""
        robot, near = self.robot, self.near
        at = [self.poses(t + j * near) for j in (-2, -1, 0, 1, 2)]
        loads = []
        for i, body in enumerate(robot.bodies):
            com = mp.matrix([*map(mp.mpf, map(float, body.com)), 1])
            path = [(pose[i] * com)[:3, 0] for pose in at]
            acceleration = (path[1] - 2 * path[2] + path[3]) / near**2
            force = mp.mpf(body.mass) * (acceleration - _vector(robot.gravity))
            spin = [self.momentum(at[j - 1][i], at[j + 1][i], at[j][i], body) for j in (1, 3)]
            moment = (spin[1] - spin[0]) / (2 * near)
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
            moved = self.poses(t, (coordinate, near))
            total = mp.mpf(0)
            for pose, (com, here, rotation, force, moment) in zip(moved, loads, strict=True):
                velocity = ((pose * com)[:3, 0] - here) / near
                turning = _unskew((pose[:3, :3] - rotation) / near * rotation.T)
                total += (velocity.T * force)[0] + (turning.T * moment)[0]
            result.append(total)
        return mp.matrix(result)

    def derivatives(self, order=2):
        """Return the efforts and their derivatives to the order, (order + 1, 6 + n or n)."""
        return np.array([[float(x) for x in row] for row in self.efforts_in_digits(order)])

    def efforts_in_digits(self, order):
        """Return the same as lists of numbers of mpmath, of 30 digits."""
        reach = (order + 1) // 2
        # Round-off that is left, relative to the efforts: 30 digits below 1.
        with mp.workdps(30 - round(float(2 * mp.log10(self.near) + order * mp.log10(self.far)))):
            efforts = [self.efforts(j * self.far) for j in range(-reach, reach + 1)]
            weights = _difference_weights(order, reach)
            return [
                [mp.fsum(w * e[i] for w, e in zip(row, efforts, strict=True)) / self.far**k
                 for i in range(len(efforts[0]))]
                for k, row in enumerate(weights)]
