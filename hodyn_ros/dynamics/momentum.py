"""Centre of mass, momentum and energy of a robot, with their time derivatives.

They are sums over the bodies, computed from Taylor polynomials of the twist V and of the spatial
inertia M, with Ṁ = −M ad_V − ad_Vᵀ M (AGF26 eq. 61). M contains the mass, first and second moment.
"""
from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import motions_and_base
from hodyn_ros.dynamics.body_motion import Bodies, bodies_in_motion
from hodyn_ros.dynamics.taylor_coefficients import derivatives, product
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.body_table import MASS


class Energy(NamedTuple):
    """Energy of a robot; entry k of each array is its k-th time derivative: J, W, W/s, …

    Attributes
    ----------
    kinetic : (k,) or (T, k) array
        ½ Σ Vᵀ M V over the bodies.
    potential : (k,) or (T, k) array
        −m gᵀ p with the centre of mass p: 0 if p is at the height of the world's origin.

    """

    kinetic: Array
    potential: Array


def center_of_mass(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the position of the centre of mass of all moving bodies, and its derivatives.

    Parameters
    ----------
    robot : Robot
        An arm or tree. Links that are fixed to the world do not count.
    q : (k + 1, n) array, or a batch (T, k + 1, n)
        Joint positions and derivatives; the positions alone may be (n,).
    base_pose, base_twist : (4, 4) and (k, 6), or (T, 4, 4) and (T, k, 6) arrays, optional
        Pose of a floating base, and its spatial twist in world axes about the world origin with
        component-wise derivatives.

    Returns
    -------
    (k + 1, 3) or (T, k + 1, 3) array
        In world axes, m/sᵏ.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and a robot without mass.

    """
    given = motions_and_base(robot, q, 1, base_pose, base_twist)
    mass = float(robot.kernel_model.body_table[:, MASS].sum())
    if mass == 0.0:
        raise HodynError(f'robot {robot.name!r} has no mass')
    position = np.empty((*given.q.shape[:2], 3))
    for t, bodies in enumerate(bodies_in_motion(robot, given, position.shape[1])):
        position[t] = _first_moment(bodies) / mass
    return _derivatives(position, given.batch)


def momentum(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the spatial momentum Σ M V of all bodies about the world origin, and derivatives.

    Its first derivative is the sum of all wrenches on the robot from outside, gravity included.
    The angular momentum about the centre of mass p is the angular part minus p × the linear part.

    Parameters
    ----------
    robot, base_pose, base_twist
        As for `center_of_mass`.
    q : (k + 1, n) array, or a batch (T, k + 1, n)
        Joint positions and derivatives, k ≥ 1.

    Returns
    -------
    (k, 6) or (T, k, 6) array
        Angular (N m s) and linear (N s) momentum in world axes, and their derivatives.

    Raises
    ------
    HodynError
        For wrong shapes and for values that are not finite.

    """
    given = motions_and_base(robot, q, 2, base_pose, base_twist)
    total = np.empty((len(given.q), given.q.shape[1] - 1, 6))
    for t, bodies in enumerate(bodies_in_motion(robot, given, total.shape[1])):
        total[t] = _momenta(bodies).sum(axis=1)
    return _derivatives(total, given.batch)


def energy(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Energy:
    """Return the kinetic and the potential energy, with derivatives.

    The derivative of their sum is the power of the torques, Qᵀ q̇, and of all external wrenches.
    Only the links' energy counts, without springs, motors and `rotor_inertia`.

    Parameters
    ----------
    robot, q, base_pose, base_twist
        As for `momentum`.

    Returns
    -------
    Energy
        `kinetic` and `potential`, in J, W, W/s, …: (k,) each for q of shape (k + 1, n), or (T, k)
        for a batch.

    Raises
    ------
    HodynError
        For wrong shapes and for values that are not finite.

    """
    given = motions_and_base(robot, q, 2, base_pose, base_twist)
    orders = given.q.shape[1] - 1
    kinetic, potential = np.empty((2, len(given.q), orders))
    for t, bodies in enumerate(bodies_in_motion(robot, given, orders)):
        kinetic[t] = 0.5 * product(
            functools.partial(np.einsum, 'bc,bc->'), bodies.twist.swapaxes(0, 1)[:orders],
            _momenta(bodies))
        potential[t] = -_first_moment(bodies) @ robot.gravity
    return Energy(_derivatives(kinetic, given.batch), _derivatives(potential, given.batch))


def _first_moment(bodies: Bodies) -> Array:
    """Return the coefficients of Σ m p, (k, 3), from the off-diagonal blocks of M."""
    total = bodies.inertia.sum(axis=0)
    return np.stack((total[:, 2, 4], total[:, 0, 5], total[:, 1, 3]), axis=-1)


def _momenta(bodies: Bodies) -> Array:
    """Return the coefficients of M V of each body, (k, n_bodies, 6)."""
    return product(
        functools.partial(np.einsum, 'brc,bc->br'), bodies.inertia.swapaxes(0, 1),
        bodies.twist.swapaxes(0, 1))


def _derivatives(coefficients: Array, batch: tuple[int, ...]) -> Array:
    """Return derivatives for coefficients (T, k, …), without axis T if there is no batch."""
    return derivatives(coefficients, 1).reshape(*batch, *coefficients.shape[1:])
