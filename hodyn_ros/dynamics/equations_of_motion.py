"""The equations of motion of trees on fixed or floating bases: M, C, g and their derivatives.

AGF26, section 4: M̄ = Sᵀ G_c M G_p S and C = Sᵀ G_c (M G_p Ṡ − ad_Vᵀ M G_p S) (eqs. 11, 21), with
Proposition 1 mended: Ṡ is zero in the base block. The products of the boolean matrices G_c, G_p
with the inertias are inertias of subtrees, so that nothing larger than 6×6 appears; Taylor
coefficients give every time derivative.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.arguments import base_state, checked, checked_joints, coefficients
from hodyn_ros.dynamics.forward_kinematics import move_bodies, place_bodies
from hodyn_ros.dynamics.kernels import bodies
from hodyn_ros.dynamics.kernels.bodies import kernel, six
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]


class EquationsOfMotion(NamedTuple):
    """Terms of M ν̇ + C ν + g = Q; entry k of each is the k-th time derivative.

    ν is q̇, or on a floating base (V, q̇) with the spatial twist V first; N is its length, and Q is
    the joint torques, with the base wrench first. `external_efforts` adds external wrenches.

    Attributes
    ----------
    mass : (r + 1, N, N) array
        The symmetric and positive mass matrix.
    coriolis : (r + 1, N, N) array
        The admissible Coriolis matrix of AGF26, Lemma 1: Ṁ − 2 C is skew symmetric.
    gravity : (r + 1, N) array
        What holds the weight.

    """

    mass: Array
    coriolis: Array
    gravity: Array


def equations_of_motion(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> EquationsOfMotion:
    """Return the mass matrix, the Coriolis matrix and gravity, with their time derivatives.

    AGF26, Proposition 1 (mended) and Lemma 1, to the order r that q supports; on a fixed base MK21
    eqs. (20), (25), (54) and their derivatives.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 2, n) array
        Joint positions and derivatives.
    base_pose, base_twist : (4, 4) and (r + 1, 6) arrays, optional
        Of a floating base: the spatial twist (ω, v) in world axes about the world origin and its
        component-wise derivatives.

    Raises
    ------
    HodynError
        For wrong shapes and for values that are not finite.

    """
    motion = checked_joints(q, 'q', robot, 2)
    orders = len(motion) - 1
    base = base_state(robot, base_pose, base_twist, (), orders)
    tree, n_bodies, size = robot.tree, len(robot.bodies), robot.n + 6 * robot.floating

    pose, screw = np.empty((n_bodies, 12)), np.empty((n_bodies, orders + 1, 6))
    twist = np.empty((n_bodies, orders + 1, 6))
    rate = coefficients(motion[1:], orders + 1).T.copy()
    base_pose, base_twist = (np.zeros((0, 1)), np.zeros((0, 6))) if base is None else base
    place_bodies(tree.parent, tree.constants, motion[0], base_pose, pose, screw)
    move_bodies(
        tree.parent, 0, orders + 1, rate, coefficients(base_twist, orders + 1), screw, twist)

    inertia, swept = np.empty((2, n_bodies, orders, 6, 6))
    _sweep_inertias(
        tree.constants, pose, twist, inertia, swept, np.empty((1, 3)), np.empty((1, 6)))
    columns = np.zeros((size, orders + 1, 6))
    if robot.floating:
        columns[:6, 0] = np.eye(6)
    columns[size - robot.n:] = screw[robot.floating:]

    mass, coriolis = np.zeros((2, orders, size, size))
    gravity = np.zeros((orders, size))
    _fill(
        tree.parent, robot.gravity, columns, inertia, swept, mass, coriolis, gravity,
        np.empty((3, orders, 6)))
    return EquationsOfMotion(mass, coriolis, gravity)


def christoffel_symbols(robot: Robot, q: ArrayLike) -> Array:
    """Return the Christoffel symbols Γ of a fixed-base robot's mass matrix, (n, n, n).

    Γ_ijk = (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) / 2 (MR9 eq. 9.13): the Coriolis
    matrix C_ij = Σ_k Γ_ijk q̇_k is another one with Ṁ − 2 C skew symmetric. The partial
    derivatives are exact: ∂M/∂q_k is Ṁ for a unit rate of joint k.

    Parameters
    ----------
    robot : Robot
        On a fixed base.
    q : (n,) array
        Joint positions.

    """
    if robot.floating:
        raise HodynError(f'robot {robot.name!r} has a floating base: Christoffel symbols want '
                         'coordinates, and its pose has none')
    position = checked(q, 'q', (robot.n,))
    partial = np.empty((robot.n, robot.n, robot.n))
    for k, unit in enumerate(np.eye(robot.n)):
        motion = np.array([position, unit, np.zeros(robot.n)])
        partial[:, :, k] = equations_of_motion(robot, motion).mass[1]
    symbols: Array = partial + partial.transpose(0, 2, 1) - partial.transpose(2, 0, 1)
    return symbols / 2.0


@kernel
def _fill(
    parent: NDArray[np.int64], gravity: Array, columns: Array, inertia: Array, swept: Array,
    mass: Array, coriolis: Array, weight: Array, products: Array,
) -> None:
    """Write mass, Coriolis matrix and weight.

    Parameters
    ----------
    parent : (n_bodies,) array
        Of the `Tree`.
    gravity : (3,) array
        m/s².
    columns : (N, r + 2, 6) array
        Coefficients of S; Ṡ = 0 in the six of a floating base.
    inertia, swept : (n_bodies, r + 1, 6, 6) arrays
        M and ad_Vᵀ M of each body; left summed up over its subtree.
    mass, coriolis, weight : (r + 1, N, N), (r + 1, N, N) and (r + 1, N) arrays
        Zeros, written.
    products : (3, r + 1, 6) array
        Scratch.

    """
    n, orders, size = len(parent), mass.shape[0], mass.shape[1]
    first = size - n  # column of body 0: the last of the base's when that floats
    floating = 1 if first > 0 else 0
    along, across, back = products[0], products[1], products[2]
    for i in range(n - 1, 0, -1):
        p = parent[i]
        if p >= 0:
            for k in range(orders):
                for row in range(6):
                    for c in range(6):
                        inertia[p, k, row, c] += inertia[i, k, row, c]
                        swept[p, k, row, c] += swept[i, k, row, c]

    for j in range(size):
        body = max(j - first, 0)
        _products(columns[j], inertia[body], swept[body], along, across, back)
        i, carrier = j, body  # all columns on the way to the world
        while i >= 0:
            factorial = 1.0
            for k in range(orders):
                factorial *= max(k, 1)
                m, here, there = 0.0, 0.0, 0.0
                for a in range(k + 1):
                    for c in range(6):
                        s = columns[i, k - a, c]
                        rate = (k - a + 1) * columns[i, k - a + 1, c]
                        m += s * along[a, c]
                        here += s * across[a, c]
                        there += rate * along[a, c] - s * back[a, c]
                mass[k, i, j] = mass[k, j, i] = factorial * m
                coriolis[k, j, i] = factorial * there
                coriolis[k, i, j] = factorial * here
            if i < 6 * floating:
                i -= 1
            else:
                carrier = parent[carrier]
                i = carrier + first if carrier >= 0 else -1
        factorial = 1.0
        for k in range(orders):
            factorial *= max(k, 1)
            for c in range(3):
                weight[k, j] -= factorial * along[k, 3 + c] * gravity[c]


@kernel
def _products(
    screw: Array, inertia: Array, swept: Array, along: Array, across: Array, back: Array,
) -> None:
    """Coefficients of M S, M Ṡ − ad_Vᵀ M S and (ad_Vᵀ M)ᵀ S."""
    for k in range(len(along)):
        for row in range(6):
            along[k, row], across[k, row], back[k, row] = 0.0, 0.0, 0.0
            for a in range(k + 1):
                for c in range(6):
                    s, rate = screw[k - a, c], (k - a + 1) * screw[k - a + 1, c]
                    along[k, row] += inertia[a, row, c] * s
                    across[k, row] += inertia[a, row, c] * rate - swept[a, row, c] * s
                    back[k, row] += swept[a, c, row] * s


@kernel
def _sweep_inertias(
    constants: Array, pose: Array, twist: Array, inertia: Array, swept: Array, com: Array,
    about_com: Array,
) -> None:
    """M and ad_Vᵀ M of each body: Ṁ = −M ad_V − ad_Vᵀ M (AGF26 eq. 61).

    Parameters
    ----------
    constants : (n_bodies, 30) array
        Of the `Tree`.
    pose, twist : (n_bodies, 12) and (n_bodies, r + 2, 6) arrays
        Of the kernel frames; coefficients of the twists.
    inertia, swept : (n_bodies, r + 1, 6, 6) arrays
        Coefficients of M and ad_Vᵀ M, written.
    com, about_com : (1, 3) and (1, 6) arrays
        Scratch.

    """
    orders = swept.shape[1]
    for i in range(len(constants)):
        bodies.place_com(constants[i], pose[i], com)
        bodies.place_inertia(constants[i], pose[i], about_com)
        bodies.spatial_inertia(constants[i, 14], com[0], about_com[0], inertia[i, 0])
        for k in range(orders):
            for c in range(6):
                x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for a in range(k + 1):
                    px, py, pz, pu, pv, pw = six(twist[i], a)
                    mx, my, mz, fx, fy, fz = six(inertia[i, k - a], c)  # M is symmetric
                    x -= py * mz - pz * my + pv * fz - pw * fy
                    y -= pz * mx - px * mz + pw * fx - pu * fz
                    z -= px * my - py * mx + pu * fy - pv * fx
                    u -= py * fz - pz * fy
                    v -= pz * fx - px * fz
                    w -= px * fy - py * fx
                swept[i, k, 0, c], swept[i, k, 1, c], swept[i, k, 2, c] = x, y, z
                swept[i, k, 3, c], swept[i, k, 4, c], swept[i, k, 5, c] = u, v, w
            if k + 1 < orders:
                for row in range(6):
                    for c in range(6):
                        inertia[i, k + 1, row, c] = (
                            swept[i, k, row, c] + swept[i, k, c, row]) / -(k + 1)
