"""The equations of motion of trees on fixed or floating bases: M, C, g and their derivatives.

They are computed by the composite-rigid-body algorithm (CRBA), extended to the Coriolis matrix and
to derivatives: M̄ = Sᵀ G_c M G_p S and C = Sᵀ G_c (M G_p Ṡ − ad_Vᵀ M G_p S) (AGF26 eqs. 11, 21),
with Proposition 1 corrected: Ṡ is zero in the base block. G_c and G_p, matrices of 0 and 1, sum
inertias over subtrees, so no matrix exceeds 6×6. Taylor coefficients yield all derivatives.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import checked, motions_and_base
from hodyn_ros.dynamics.body_motion import bodies_in_motion
from hodyn_ros.dynamics.kernels import composite_body
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.robot_check import check_robot


class EquationsOfMotion(NamedTuple):
    """Terms of M ν̇ + C ν + g = Q; entry k of each is the k-th time derivative.

    On a fixed base ν is q̇ and Q the joint torques. On a floating base ν is (V, q̇) with the spatial
    twist V, and Q is the base wrench followed by the joint torques. N is the length of ν.
    External wrenches are not included: `external_efforts` returns their term.

    Attributes
    ----------
    mass : (r + 1, N, N) array
        The symmetric and positive definite mass matrix.
    coriolis : (r + 1, N, N) array
        The admissible Coriolis matrix of AGF26, Lemma 1: Ṁ − 2 C is skew symmetric.
    gravity : (r + 1, N) array
        Generalized forces that balance gravity.

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

    AGF26, Proposition 1 (corrected) and Lemma 1, to the order r that q supports; on a fixed base
    MK21 eqs. (20), (25), (54) and their derivatives.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 2, n) array, or a batch (T, r + 2, n)
        Joint positions and derivatives. With a batch, T is the first axis of the results.
    base_pose, base_twist : (4, 4) and (r + 1, 6), or (T, 4, 4) and (T, r + 1, 6) arrays, optional
        Pose of a floating base, and its spatial twist (ω, v) in world axes about the world origin
        with component-wise derivatives.

    Raises
    ------
    HodynError
        For wrong shapes and for values that are not finite.

    """
    given = motions_and_base(robot, q, 2, base_pose, base_twist)
    (count, orders), base, batch = given.q.shape[:2], 6 * robot.floating, given.batch
    orders -= 1
    size = base + len(robot.bodies) - robot.floating
    mass, coriolis = np.zeros((2, count, orders, size, size))
    gravity = np.zeros((count, orders, size))
    columns = np.zeros((size, orders + 1, 6))
    if robot.floating:
        columns[:6, 0] = np.eye(6)
    products = np.empty((3, orders, 6))
    for t, bodies in enumerate(bodies_in_motion(robot, given, orders)):
        columns[base:] = bodies.screw[robot.floating:]
        composite_body.equations_of_motion(
            robot.kernel_model.parent, robot.gravity, columns, bodies.inertia, bodies.ad_inertia,
            mass[t], coriolis[t], gravity[t], products)
    if robot.coupling.followers.size:
        s = robot.coupling.matrix(base)
        mass, coriolis, gravity = s.T @ mass @ s, s.T @ coriolis @ s, gravity @ s
        mass = 0.5 * (mass + mass.swapaxes(2, 3))  # symmetric to the last bit
        size = s.shape[1]
    return EquationsOfMotion(
        mass.reshape(*batch, orders, size, size), coriolis.reshape(*batch, orders, size, size),
        gravity.reshape(*batch, orders, size))


def christoffel_symbols(robot: Robot, q: ArrayLike) -> Array:
    """Return the Christoffel symbols Γ of a fixed-base robot's mass matrix, (n, n, n).

    Γ_ijk = (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) / 2 (MR9 eq. 9.13, see `docs/theory.md`). The
    Coriolis matrix C_ij = Σ_k Γ_ijk q̇_k differs from that of `equations_of_motion`, but Ṁ − 2 C is
    skew symmetric for both. The partial derivatives are exact: ∂M/∂q_k is Ṁ for q̇ = e_k.

    Parameters
    ----------
    robot : Robot
        On a fixed base.
    q : (n,) array
        Joint positions.

    """
    check_robot(robot)
    if robot.floating:
        raise HodynError(f'robot {robot.name!r} has a floating base: Christoffel symbols need '
                         'coordinates, and its pose has none')
    position = checked(q, 'q', (robot.n,))
    partial = np.empty((robot.n, robot.n, robot.n))
    for k, unit in enumerate(np.eye(robot.n)):
        motion = np.array([position, unit, np.zeros(robot.n)])
        partial[:, :, k] = equations_of_motion(robot, motion).mass[1]
    symbols: Array = partial + partial.transpose(0, 2, 1) - partial.transpose(2, 0, 1)
    return symbols / 2.0
