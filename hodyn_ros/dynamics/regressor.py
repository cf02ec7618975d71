"""Torques, base wrench and momentum as linear functions of the bodies' inertial parameters.

Atkeson, An and Hollerbach, IJRR 1986: τ = Y(q, q̇, q̈) π, with π the ten parameters of each body.
"""
from typing import overload

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import Motions, checked, motions_and_base
from hodyn_ros.dynamics.pose_motion import pose_derivatives
from hodyn_ros.dynamics.taylor_coefficients import factorials, product, transposed
from hodyn_ros.robot import Body, Robot
from hodyn_ros.robot.inertia import pack
from hodyn_ros.robot.lie import ad, skew

PARAMETERS = 10
"""Parameters per body: m, m c (3), inertia about its frame's origin (xx yy zz xy xz yz)."""


def inertial_parameters(mass: float, com: Array, inertia: Array) -> Array:
    """Return the ten parameters of a body from mass, centre of mass c and inertia about c.

    Parameters
    ----------
    mass : float
        kg.
    com : (3,) array
        c in the body's axes, from its origin, m.
    inertia : (3, 3) array
        Inertia about c in the body's axes, kg m².

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


@overload
def torque_regressor(robot: Robot, q: ArrayLike, *, gravity: bool = ...) -> Array: ...


@overload
def torque_regressor(
    robot: Robot, q: ArrayLike, *, gravity: bool = ..., base_pose: ArrayLike,
    base_twist: ArrayLike,
) -> tuple[Array, Array]: ...


def torque_regressor(
    robot: Robot, q: ArrayLike, *, gravity: bool = True, base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Return the regressor Y of the rigid-body torques Q = Σ_b Y_b π_b, and its time derivatives.

    The derivatives go up to the order r that q supports. The parameters π of `inertial_parameters`
    are constant, so Q⁽ᵏ⁾ = Σ_b Y_b⁽ᵏ⁾ π_b. The recursion is that of KM21 section II, whose momenta
    M V are linear in π.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 3, n) array, or a batch (T, r + 3, n)
        Joint positions and derivatives, as for `inverse_dynamics`.
    gravity : bool
        Whether the torques include those that balance gravity.
    base_pose, base_twist : (4, 4) and (r + 2, 6), or (T, 4, 4) and (T, r + 2, 6) arrays, optional
        Pose and spatial twist of a floating base, as for `inverse_dynamics`.

    Returns
    -------
    torque : (r + 1, n, n_bodies, 10) or (T, r + 1, n, n_bodies, 10) array
        N m/sᵏ (prismatic: N/sᵏ) per unit of each parameter.
    base_wrench : (r + 1, 6, n_bodies, 10) or (T, r + 1, 6, n_bodies, 10) array
        Only for a floating base: the regressor of its wrench (moment, force), in world axes about
        the world origin.

    Raises
    ------
    HodynError
        For wrong shapes, and values that are not finite.

    """
    given = motions_and_base(robot, q, 3, base_pose, base_twist)
    bodies, base = _Bodies(robot, given, gravity), robot.floating
    count, orders, batch = len(given.q), given.q.shape[1] - 2, given.batch
    steps = np.arange(1.0, orders + 1)[:, None, None, None]
    rows = np.zeros((count, orders, len(robot.bodies) - base, len(robot.bodies), PARAMETERS))
    at_base = np.zeros((count, orders, 6, len(robot.bodies), PARAMETERS))
    for b in range(len(robot.bodies)):
        momentum = bodies.momentum(b)
        wrench = steps * momentum[1:] - product(  # Π̇ − ad_Vᵀ Π
            np.matmul, ad(bodies.twists[b][:orders]).swapaxes(-1, -2), momentum)
        j = b
        while j >= base:
            rows[:, :, j - base, b] = (robot.bodies[j].screw @ wrench).swapaxes(0, 1)
            wrench, j = bodies.in_parent(j, wrench), robot.bodies[j].parent
        if base:
            at_base[:, :, :, b] = bodies.in_parent(0, wrench).swapaxes(0, 1)
    scale = factorials(orders)[:, None, None, None]
    rows = np.moveaxis(robot.coupling.to_joints(np.moveaxis(rows * scale, 2, -1)), -1, 2)
    torque = rows.reshape(*batch, *rows.shape[1:])
    return (torque, (at_base * scale).reshape(*batch, *at_base.shape[1:])) if base else torque


def momentum_regressor(
    robot: Robot, q: ArrayLike, *, base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the regressor Y of the momentum Σ M V = Σ_b Y_b π_b, with derivatives.

    Unlike `torque_regressor`, it needs no accelerations (M21 eq. 10).

    Parameters
    ----------
    robot, q, base_pose, base_twist
        As for `momentum`.

    Returns
    -------
    (k, 6, n_bodies, 10) or (T, k, 6, n_bodies, 10) array
        Angular (N m s) and linear (N s) momentum in world axes about the world origin, and their
        derivatives, per unit of each parameter of `inertial_parameters`.

    Raises
    ------
    HodynError
        For wrong shapes, and values that are not finite.

    """
    given = motions_and_base(robot, q, 2, base_pose, base_twist)
    bodies, orders = _Bodies(robot, given, False), given.q.shape[1] - 1
    out = np.zeros((len(given.q), orders, 6, len(robot.bodies), PARAMETERS))
    for b in range(len(robot.bodies)):
        momentum, j = bodies.momentum(b), b
        while j >= 0:
            momentum, j = bodies.in_parent(j, momentum), robot.bodies[j].parent
        out[:, :, :, b] = momentum.swapaxes(0, 1)
    out *= factorials(orders)[:, None, None, None]
    return out.reshape(*given.batch, *out.shape[1:])


class _Bodies:
    """The poses and twists of the bodies of a robot: Taylor coefficients (k, T, …) of T motions.

    k is the number of derivatives of the positions. Gravity is modelled as an acceleration −g of
    the world, which starts from rest.
    """

    def __init__(self, robot: Robot, given: Motions, gravity: bool) -> None:
        count, orders = len(given.q), given.q.shape[1] - 1
        scale = factorials(orders)[:, None, None]
        # Coefficients of q and q̇, (k, T, n).
        joints = robot.coupling.to_bodies(given.q).swapaxes(0, 1)
        positions, rates = joints[:-1] / scale, joints[1:] / scale
        world = np.zeros((orders, count, 6))
        if gravity:
            world[1, :, 3:] = -robot.gravity
        #: (k, T, 6, 6) for each body: Ad_C⁻ᵀ of its pose C in the parent. It takes wrenches to the
        #: parent's axes; its transpose takes the parent's twist to the body's axes.
        self.to_parent: list[Array] = []
        self.twists: list[Array] = []  #: (k, T, 6) for each body: its body-fixed twist
        for j, body in enumerate(robot.bodies):
            twist = world if body.parent < 0 else self.twists[body.parent]
            if given.base and j == 0:
                place, moving = given.base
                poses = pose_derivatives(place, moving)[:, :-1]
                poses = poses.swapaxes(0, 1) / scale[..., None]
                rotation, origin = poses[..., :3, :3], poses[..., :3, 3]
                twist, own = world + moving.swapaxes(0, 1) / scale, np.zeros(6)
            else:
                joint = j - robot.floating
                rotation, origin = _joint_pose(body, positions[:, :, joint])
                own = rates[:, :, joint, None] * body.screw
            matrix = np.zeros((orders, count, 6, 6))
            matrix[..., :3, :3] = matrix[..., 3:, 3:] = rotation
            matrix[..., :3, 3:] = product(np.matmul, skew(origin), rotation)
            self.to_parent.append(matrix)
            self.twists.append(product(transposed, matrix, twist) + own)

    def momentum(self, b: int) -> Array:
        """Return the momentum of body b per unit of each parameter, (k, T, 6, 10)."""
        spin, velocity = self.twists[b][..., :3], self.twists[b][..., 3:]
        out = np.zeros((*spin.shape[:2], 6, PARAMETERS))
        out[..., 3:, 0] = velocity
        out[..., 3:, 1:4] = skew(spin)
        out[..., :3, 1:4] = -skew(velocity)
        out[..., :3, 4:] = _times_inertia(spin)
        return out

    def in_parent(self, j: int, wrenches: Array) -> Array:
        """Return momenta or wrenches (k, T, 6, …) of body j in the axes of its parent."""
        return product(np.matmul, self.to_parent[j][:len(wrenches)], wrenches)


def base_parameters(robot: Robot, *, gravity: bool = True) -> Array:
    """Return an orthonormal basis (10 n_bodies, b) of the identifiable inertial parameters.

    For a fixed base. The torques depend only on these b combinations of parameters, one per
    column. They are found from the `torque_regressor` of random motions.
    """
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (200, 3, robot.n))
    table = torque_regressor(robot, q, gravity=gravity).reshape(200 * robot.n, -1)
    _, values, rows = np.linalg.svd(table, full_matrices=False)
    return np.ascontiguousarray(rows[values > 1e-9 * values[0]].T)


def _joint_pose(body: Body, q: Array) -> tuple[Array, Array]:
    """Return the coefficients of a body's rotation and origin in its parent, from those of q."""
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
    """Return the coefficients of sin q and cos q from those of q."""
    sine, cosine = np.empty_like(q), np.empty_like(q)
    sine[0], cosine[0] = np.sin(q[0]), np.cos(q[0])
    for k in range(1, len(q)):
        sine[k] = sum(i * q[i] * cosine[k - i] for i in range(1, k + 1)) / k
        cosine[k] = -sum(i * q[i] * sine[k - i] for i in range(1, k + 1)) / k
    return sine, cosine


def _times_inertia(v: Array) -> Array:
    """Return the matrix L with I v = L (xx, yy, zz, xy, xz, yz)."""
    out = np.zeros((*v.shape, 6))
    for row, column, entry in (
            (0, 0, 0), (1, 1, 1), (2, 2, 2), (0, 3, 1), (1, 3, 0), (0, 4, 2), (2, 4, 0),
            (1, 5, 2), (2, 5, 1)):
        out[..., row, column] = v[..., entry]
    return out
