"""The equations of motion in closed form, body-fixed, and their derivatives: MK21 and KM21.

Q = M q̈ + C q̇ + Q_grav + Q_ext (MK21 eq. 1) from block matrices over all bodies: the screws X,
the system Jacobian J = A X (eq. 9), the inertias and 𝖢 = −M A a − bᵀ M (eq. 22). The only
derivative that has to be known is Ȧ = A a − A a A (eq. 19). With Taylor coefficients its Leibniz
sums (KM21 eqs. 50–58) become Cauchy products of matrices, of which MK21 (29)–(53) are the first
two. Here D of (17) has its blocks at the parents, so that trees are included.

For insight and checks: the recursions are faster, O(n) against O(n³).
"""
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.argument_checks import checked_joints, external
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.body_table import ROTATION, TRANSLATION
from hodyn_ros.robot.mass_matrix import pose_in_parent, spatial_inertias

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ClosedForm:
    """Terms of Q = M q̈ + C q̇ + Q_grav + Q_ext; entry k of each is the k-th time derivative.

    Attributes
    ----------
    mass : (r + 1, n, n) array
        M, kg m² and so on.
    coriolis : (r + 1, n, n) array
        C of MK21 eqs. (20), (22).
    coriolis_skew : (r + 1, n, n) array
        C̄ of MK21 eq. (54): C̄ q̇ = C q̇, and Ṁ − 2 C̄ is skew symmetric.
    gravity : (r + 1, n) array
        Q_grav: generalized forces that balance gravity, N m (prismatic: N).
    external : (r + 1, n) array
        Q_ext: generalized forces that balance the external wrenches.

    """

    mass: Array
    coriolis: Array
    coriolis_skew: Array
    gravity: Array
    external: Array


def closed_form(
    robot: Robot, q: ArrayLike, *, external_wrenches: ArrayLike | None = None,
) -> ClosedForm:
    """Return the closed-form terms of a fixed-base robot and their time derivatives.

    MK21 eqs. (20)–(27), (29), (31), (36), (37), (40), (45), (52)–(54); KM21 (50)–(58) beyond.

    Parameters
    ----------
    robot : Robot
        Fixed base.
    q : (r + 2, n) array
        Joint positions and derivatives.
    external_wrenches : (r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics`.

    """
    if robot.floating:
        raise HodynError(
            f'robot {robot.name!r} has a floating base: use equations_of_motion')
    motion = checked_joints(q, 'q', robot, 2)
    orders = len(motion) - 1
    terms = _terms(
        robot, robot.coupling.to_bodies(motion), external(robot, external_wrenches, orders))
    scale = np.array([math.factorial(k) for k in range(orders)], dtype=float)
    s = robot.coupling.matrix()
    mass, coriolis, coriolis_skew, gravity, applied = (
        np.array(term) * scale.reshape(-1, *[1] * np.ndim(term[0])) for term in terms)
    return ClosedForm(
        s.T @ mass @ s, s.T @ coriolis @ s, s.T @ coriolis_skew @ s, gravity @ s, applied @ s)


def inverse_dynamics(robot: Robot, q: Array, wrenches: Array) -> Array:
    """Return Q and its derivatives (r + 1, n) of a motion (r + 3, n): KM21 eq. (48); no checks.

    n is the number of bodies, each with a joint of its own. wrenches are (r + 1, n_bodies, 6), or
    (0, 0, 0) for none.
    """
    orders = len(q) - 2
    mass, coriolis, _, gravity, applied = _terms(robot, q[:-1], wrenches)
    rate = [q[k + 1] / math.factorial(k) for k in range(orders + 1)]
    acceleration = [(k + 1) * rate[k + 1] for k in range(orders)]
    inertial = _product(mass, acceleration)
    centrifugal = _product(coriolis, rate)
    return np.array([
        math.factorial(k) * (inertial[k] + centrifugal[k] + gravity[k] + applied[k])
        for k in range(orders)])


def inverse_dynamics_batch(robot: Robot, q: Array, wrenches: Array, torque: Array) -> None:
    """The same for T motions: q (T, r + 3, n), wrenches (T, …) or (1, 0, 0, 0), torque (T, …)."""
    for t in range(len(q)):
        torque[t] = inverse_dynamics(robot, q[t], wrenches[t if wrenches.shape[1] else 0])


def _product(a: list[Array], b: list[Array]) -> list[Array]:
    """Return the Taylor coefficients of a(t) b(t), as many as the shorter has."""
    return [sum((a[i] @ b[k - i] for i in range(1, k + 1)), a[0] @ b[k])
            for k in range(min(len(a), len(b)))]


def _transposed(a: list[Array]) -> list[Array]:
    return [entry.T for entry in a]


def _terms(robot: Robot, q: Array, wrenches: Array) -> tuple[list[Array], ...]:
    """Return the Taylor coefficients of M, C, C̄, Q_grav and Q_ext; q (r + 2, n), n bodies."""
    model, n, orders = robot.kernel_model, len(robot.bodies), len(q) - 1
    x = np.zeros((n, 6))  # joint screws, constant in kernel frames
    x[:, 2], x[:, 5] = model.body_table[:, ROTATION], model.body_table[:, TRANSLATION]
    screws = _block_diagonal(x[:, :, None])
    screw_ads = _ad(x)
    inertia = _block_diagonal(spatial_inertias(model.body_table))
    rate = [q[k + 1] / math.factorial(k) for k in range(orders)]

    poses = _poses(robot, q[0])
    a_matrix = [_path_matrix(model.parent, poses)]
    a_times_a: list[Array] = []  # A a
    up = [np.concatenate([lie.adjoint(lie.inverse(pose)) for pose in poses])]  # U of eq. (26)
    for k in range(orders):
        a_times_a.append(sum(
            (_scaled_columns(a_matrix[k - i], rate[i], screw_ads) for i in range(k + 1)),
            np.zeros_like(inertia)))
        a_matrix.append((a_times_a[k] - _product(a_times_a, a_matrix)[k]) / (k + 1))
        up.append(-_product(a_times_a, up)[k] / (k + 1))
    jacobian = [a @ screws for a in a_matrix[:orders]]
    ad_twist = [_block_diagonal(_ad(v.reshape(n, 6))) for v in _product(jacobian, rate)]

    transposed = _transposed(jacobian)
    system = [-inertia @ a_times_a[k] - ad_twist[k].T @ inertia for k in range(orders)]
    system_skew = [system[k] + inertia @ ad_twist[k] for k in range(orders)]
    weight = -np.concatenate([np.zeros(3), robot.gravity])
    return (
        _product(transposed, [inertia @ j for j in jacobian]),
        _product(transposed, _product(system, jacobian)),
        _product(transposed, _product(system_skew, jacobian)),
        _product(transposed, [inertia @ (u @ weight) for u in up[:orders]]),
        _product(transposed, _exerted(robot, wrenches, orders)),
    )


def _exerted(robot: Robot, wrenches: Array, orders: int) -> list[Array]:
    """Return the wrenches that the robot exerts, in kernel frames, coefficients (6 n,)."""
    if len(wrenches) == 0:
        return [np.zeros(6 * len(robot.bodies)) for _ in range(orders)]
    to_kernel = [lie.adjoint(lie.inverse(pose)).T for pose in robot.kernel_model.body_in_kernel]
    return [
        -np.concatenate([t @ w for t, w in zip(to_kernel, wrenches[k], strict=True)])
        / math.factorial(k) for k in range(orders)]


def _poses(robot: Robot, q: Array) -> list[Array]:
    """Return the pose of each kernel frame (MK21 eq. 3)."""
    poses: list[Array] = []
    for i, parent in enumerate(robot.kernel_model.parent):
        above = poses[parent] if parent >= 0 else np.eye(4)
        poses.append(above @ pose_in_parent(robot.kernel_model.body_table[i], q[i]))
    return poses


def _path_matrix(parent: NDArray[np.int64], poses: list[Array]) -> Array:
    """Return A: block (i, j) is Ad_{C_i,j} for each j on the way from body i to the world."""
    n = len(poses)
    blocks = np.zeros((n, 6, n, 6))
    for i, p in enumerate(parent):
        if p >= 0:
            blocks[i] = np.tensordot(
                lie.adjoint(lie.inverse(poses[i]) @ poses[p]), blocks[p], axes=1)
        blocks[i, :, i] = np.eye(6)
    return blocks.reshape(6 * n, 6 * n)


def _scaled_columns(matrix: Array, rate: Array, screw_ads: Array) -> Array:
    """Return A a, with a = diag(q̇ᵢ ad_Xᵢ) (MK21 eq. 13)."""
    n = len(rate)
    columns = matrix.reshape(6 * n, n, 6).swapaxes(0, 1) @ (rate[:, None, None] * screw_ads)
    result: Array = columns.swapaxes(0, 1).reshape(6 * n, 6 * n)
    return result


def _block_diagonal(blocks: Array) -> Array:
    n, rows, columns = blocks.shape
    result = np.zeros((n, rows, n, columns))
    result[np.arange(n), :, np.arange(n)] = blocks
    return result.reshape(n * rows, n * columns)


def _ad(screws: Array) -> Array:
    """Return ad_X of each row, (n, 6, 6) (MK21 eq. 14)."""
    return np.array([lie.ad(screw) for screw in screws])
