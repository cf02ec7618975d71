"""Joint torques as linear functions of the bodies' inertial parameters.

Atkeson, An and Hollerbach, IJRR 1986: τ = Y(q, q̇, q̈) π, with π the ten parameters of each body.
"""
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.argument_checks import checked, checked_motions
from hodyn_ros.dynamics.taylor_coefficients import product
from hodyn_ros.robot import Body, HodynError, Robot
from hodyn_ros.robot.inertia import pack
from hodyn_ros.robot.lie import skew

Array = NDArray[np.float64]

PARAMETERS = 10
"""Of a body: m, m c (3), inertia about the origin of its frame (xx yy zz xy xz yz)."""


def inertial_parameters(mass: float, com: Array, inertia: Array) -> Array:
    """Return the ten parameters of a body from its mass, com and inertia about the com.

    Parameters
    ----------
    mass : float
        kg.
    com : (3,) array
        In the body's axes, from its origin, m.
    inertia : (3, 3) array
        About the com, kg m².

    Returns
    -------
    (10,) array
        m, m c, and the inertia about the origin: xx, yy, zz, xy, xz, yz.

    Raises
    ------
    HodynError
        For wrong shapes and values that are not finite.

    """
    mass = float(checked(mass, 'mass', ()))
    com, inertia = checked(com, 'com', (3,)), checked(inertia, 'inertia', (3, 3))
    about_origin = inertia - mass * skew(com) @ skew(com)
    return np.concatenate([[mass], mass * com, pack(about_origin)])


def torque_regressor(robot: Robot, q: ArrayLike, *, gravity: bool = True) -> Array:
    """Return Y of the rigid-body torques Q = Σ_b Y_b π_b, and its time derivatives.

    To the order r that q supports. The parameters π of `inertial_parameters` do not move, so that
    Q⁽ᵏ⁾ = Σ_b Y_b⁽ᵏ⁾ π_b.

    Parameters
    ----------
    robot : Robot
        Fixed base; of its bodies only the joints count.
    q : (r + 3, n) array, or a batch (T, r + 3, n)
        Joint positions and derivatives, as for `inverse_dynamics`.
    gravity : bool
        False leaves its torque out.

    Returns
    -------
    (r + 1, n, n_bodies, 10) or (T, r + 1, n, n_bodies, 10) array
        N m/sᵏ (prismatic: N/sᵏ) per unit of each parameter.

    Raises
    ------
    HodynError
        For a robot with a floating base, wrong shapes, and values that are not finite.

    """
    motions, batch = checked_motions(q, 'q', robot, 3)
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base; a regressor needs a fixed one')
    count, orders = len(motions), motions.shape[1] - 2
    motions = robot.coupling.to_bodies(motions)
    factorials = np.array([math.factorial(k) for k in range(orders)], dtype=float)
    # Of q, q̇ and q̈, (3, orders, T, n).
    joints = np.array([
        motions[:, k:k + orders] / factorials[:, None] for k in range(3)]).swapaxes(1, 2)
    rest = np.zeros((orders, count, 3))
    weight = rest.copy()
    if gravity:
        weight[0] = -robot.gravity
    # Of each body, in its axes: rotation and origin in the parent, ω, ω̇, acceleration of the
    # origin less that of gravity. All in Taylor coefficients, (orders, T, …).
    rotations: list[Array] = []
    origins: list[Array] = []
    spins: list[Array] = []
    spin_rates: list[Array] = []
    accelerations: list[Array] = []
    for j, body in enumerate(robot.bodies):
        rotation, origin = _joint_pose(body, joints[0, :, :, j])
        velocity, acceleration = (
            joints[k, :, :, j, None] * body.screw for k in (1, 2))
        at_base = body.parent < 0
        spin, spin_rate, moved = (rest, rest, weight) if at_base else (
            spins[body.parent], spin_rates[body.parent], accelerations[body.parent])
        moved = moved + _cross(spin_rate, origin) + _cross(spin, _cross(spin, origin))
        spin, spin_rate, moved = (
            product(_turned_back, rotation, v) for v in (spin, spin_rate, moved))
        # The joint's own motion, in the body's axes; its origin moves by `velocity`.
        turn, shift = velocity[..., :3], velocity[..., 3:]
        moved = moved + acceleration[..., 3:] + _cross(turn, shift) + 2.0 * _cross(spin, shift)
        spin_rate = spin_rate + acceleration[..., :3] + _cross(spin, turn)
        rotations.append(rotation)
        origins.append(origin)
        spins.append(spin + turn)
        spin_rates.append(spin_rate)
        accelerations.append(moved)
    out = np.zeros((count, orders, len(robot.bodies), len(robot.bodies), PARAMETERS))
    for b in range(len(robot.bodies)):
        moment, force = _wrenches(spins[b], spin_rates[b], accelerations[b])
        j = b
        while j >= 0:
            screw = robot.bodies[j].screw
            out[:, :, j, b] = (screw[:3] @ moment + screw[3:] @ force).swapaxes(0, 1)
            force = product(np.matmul, rotations[j], force)
            moment = product(np.matmul, rotations[j], moment) + product(
                np.matmul, _skews(origins[j]), force)
            j = robot.bodies[j].parent
    out *= factorials[:, None, None, None]
    out = np.moveaxis(robot.coupling.to_joints(np.moveaxis(out, 2, -1)), -1, 2)
    return out.reshape(*batch, *out.shape[1:])


def base_parameters(robot: Robot, *, gravity: bool = True) -> Array:
    """Return an orthonormal basis of the inertial parameters that torques depend on.

    Those combinations that any motion at all determines, by random ones; see `torque_regressor`.

    Returns
    -------
    (10 n_bodies, b) array
        A combination each column.

    """
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (200, 3, robot.n))
    table = torque_regressor(robot, q, gravity=gravity).reshape(200 * robot.n, -1)
    _, values, rows = np.linalg.svd(table, full_matrices=False)
    return np.ascontiguousarray(rows[values > 1e-9 * values[0]].T)


def _cross(a: Array, b: Array) -> Array:
    return product(np.cross, a, b)


def _turned_back(rotation: Array, v: Array) -> Array:
    turned: Array = np.einsum('tji,tj->ti', rotation, v)
    return turned


def _joint_pose(body: Body, q: Array) -> tuple[Array, Array]:
    """Return rotation and origin in the parent."""
    turn, shift = np.zeros((*q.shape, 3, 3)), np.zeros((*q.shape, 3))
    turn[0] = np.eye(3)
    if body.type == 'prismatic':
        shift[:] = q[..., None] * body.axis
    else:
        axis = skew(body.axis)
        sine, cosine = (values[..., None, None] for values in _sine_and_cosine(q))
        turn += sine * axis - cosine * (axis @ axis)
        turn[0] += axis @ axis
        shift[:] = body.pitch * q[..., None] * body.axis - turn @ body.point
        shift[0] += body.point
    home = body.placement
    origin = shift @ home[:3, :3].T
    origin[0] += home[:3, 3]
    return home[:3, :3] @ turn, origin


def _sine_and_cosine(q: Array) -> tuple[Array, Array]:
    """Return those of an angle with these coefficients."""
    sine, cosine = np.empty_like(q), np.empty_like(q)
    sine[0], cosine[0] = np.sin(q[0]), np.cos(q[0])
    for k in range(1, len(q)):
        sine[k] = sum(i * q[i] * cosine[k - i] for i in range(1, k + 1)) / k
        cosine[k] = -sum(i * q[i] * sine[k - i] for i in range(1, k + 1)) / k
    return sine, cosine


def _wrenches(spin: Array, spin_rate: Array, acceleration: Array) -> tuple[Array, Array]:
    """Return moments about the origin and forces of unit parameters, (orders, T, 3, 10) each."""
    moment, force = np.zeros((2, *spin.shape, PARAMETERS))
    turning = _skews(spin)
    force[..., 0] = acceleration
    force[..., 1:4] = _skews(spin_rate) + product(np.matmul, turning, turning)
    moment[..., 1:4] = -_skews(acceleration)
    moment[..., 4:] = _times_inertia(spin_rate) + product(
        np.matmul, turning, _times_inertia(spin))
    return moment, force


def _times_inertia(v: Array) -> Array:
    """Return L with I v = L (xx yy zz xy xz yz)."""
    out = np.zeros((*v.shape, 6))
    for row, column, entry in (
            (0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 3, 1), (1, 3, 0), (0, 4, 2), (2, 4, 0),
            (1, 5, 2), (2, 5, 1)):
        out[..., row, column] = v[..., entry]
    return out


def _skews(v: Array) -> Array:
    out = np.zeros((*v.shape, 3))
    out[..., 2, 1], out[..., 0, 2], out[..., 1, 0] = v[..., 0], v[..., 1], v[..., 2]
    out[..., 1, 2], out[..., 2, 0], out[..., 0, 1] = -v[..., 0], -v[..., 1], -v[..., 2]
    return out
