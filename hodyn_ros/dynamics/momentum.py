"""Centre of mass, momentum and energy of a robot, with their time derivatives.

They are sums over the bodies, computed from Taylor polynomials of the twist V and of the spatial
inertia M, with Ṁ = −M ad_V − ad_Vᵀ M (AGF26 eq. 61). M contains the mass, first and second moment.
"""
from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.argument_checks import checked_motions, factorials
from hodyn_ros.dynamics.body_motion import BodyMotion
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.body_table import MASS

Array = NDArray[np.float64]


class Energy(NamedTuple):
    """Energy of a robot, J; entry k of each is the k-th time derivative, W for the first.

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
    motions, batch = checked_motions(q, 'q', robot, 1)
    mass = float(robot.kernel_model.body_table[:, MASS].sum())
    if mass == 0.0:
        raise HodynError(f'robot {robot.name!r} has no mass')
    orders = motions.shape[1]
    bodies = BodyMotion(robot, motions, batch, base_pose, base_twist, orders)
    position = np.empty((len(motions), orders, 3))
    for t in range(len(motions)):
        bodies.evaluate(t)
        position[t] = _first_moment(bodies) / mass
    return _derivatives(position, batch)


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
    motions, batch = checked_motions(q, 'q', robot, 2)
    orders = motions.shape[1] - 1
    bodies = BodyMotion(robot, motions, batch, base_pose, base_twist, orders)
    total = np.empty((len(motions), orders, 6))
    for t in range(len(motions)):
        bodies.evaluate(t)
        total[t] = _momenta(bodies).sum(axis=0)
    return _derivatives(total, batch)


def energy(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Energy:
    """Return the kinetic and the potential energy, with derivatives.

    The derivative of their sum is the power of the torques, Qᵀ q̇, and of all external wrenches. It
    is the energy of the links, without springs, motors and `rotor_inertia`.

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
    motions, batch = checked_motions(q, 'q', robot, 2)
    orders = motions.shape[1] - 1
    bodies = BodyMotion(robot, motions, batch, base_pose, base_twist, orders)
    kinetic, potential = np.empty((2, len(motions), orders))
    for t in range(len(motions)):
        bodies.evaluate(t)
        kinetic[t] = 0.5 * _product('bc,bc->', bodies.twist[:, :orders], _momenta(bodies))
        potential[t] = -_first_moment(bodies) @ robot.gravity
    return Energy(_derivatives(kinetic, batch), _derivatives(potential, batch))


def _first_moment(bodies: BodyMotion) -> Array:
    """Return the coefficients of Σ m p, (k, 3), from the off-diagonal blocks of M."""
    total = bodies.inertia.sum(axis=0)
    return np.stack((total[:, 2, 4], total[:, 0, 5], total[:, 1, 3]), axis=-1)


def _momenta(bodies: BodyMotion) -> Array:
    """Return the coefficients of M V of each body, (n_bodies, k, 6)."""
    orders = bodies.inertia.shape[1]
    return np.moveaxis(_product('brc,bc->br', bodies.inertia, bodies.twist[:, :orders]), 0, 1)


def _product(subscripts: str, a: Array, b: Array) -> Array:
    """Return the coefficients of a product on axis 0; the factors have theirs on axis 1."""
    return np.array([
        sum(np.einsum(subscripts, a[:, i], b[:, k - i]) for i in range(k + 1))
        for k in range(a.shape[1])])


def _derivatives(coefficients: Array, batch: tuple[int, ...]) -> Array:
    """Return derivatives of coefficients (T, k, …), without axis T for one motion."""
    orders, *rest = coefficients.shape[1:]
    scaled: Array = coefficients * factorials(orders).reshape(-1, *(1 for _ in rest))
    return scaled.reshape(*batch, orders, *rest)
