"""Poses, twists and spatial inertias of all bodies of a moving robot, in Taylor coefficients."""
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import Motions
from hodyn_ros.dynamics.kernels.composite_body import body_inertias
from hodyn_ros.dynamics.kernels.kinematics import body_poses, body_twists
from hodyn_ros.dynamics.taylor_coefficients import factorials
from hodyn_ros.robot import Robot


class Bodies(NamedTuple):
    """The bodies of a robot in one motion, in world axes about the world origin."""

    pose: Array  #: (n_bodies, 12): poses of the kernel frames, rows of R then the origin
    #: `screw`, `twist`: (n_bodies, k + 1, 6): coefficients of the joints' screws and of the
    #: bodies' twists. Coefficient k of the twists needs derivative k + 1 of q, which is not given
    #: and counts as 0.
    screw: Array
    twist: Array
    #: `inertia`, `ad_inertia`: (n_bodies, inertias, 6, 6): coefficients of the spatial inertia M
    #: and of ad_Vᵀ M. Coefficient k of ad_Vᵀ M contains that of the twists: do not use either.
    inertia: Array
    ad_inertia: Array


def joints_and_base(robot: Robot, given: Motions) -> tuple[Array, Array, Array, Array]:
    """Return the motions of the bodies' joints and of the base in the layout of the kernels.

    The first two arrays are q, (T, m), and the coefficients of q̇, (T, m, k + 1), of all m joints,
    also those that follow others. The last two are the pose, (T, 4, 4), and the coefficients of
    the twist, (T, k + 1, 6), of a floating base; for a fixed base they are (T, 0, 1) and zeros.
    The last coefficients of q̇ and of the twist are unknown and set to 0.
    """
    motion = robot.coupling.to_bodies(given.q)
    count, orders, n = motion.shape
    scale = factorials(orders)[:-1, np.newaxis]
    rate, twist = np.zeros((count, n, orders)), np.zeros((count, orders, 6))
    rate[..., :-1] = (motion[:, 1:] / scale).swapaxes(1, 2)
    pose = np.zeros((count, 0, 1))
    if given.base:
        pose, twist[:, :-1] = given.base[0], given.base[1] / scale
    return motion[:, 0].copy(), rate, pose, twist


def bodies_in_motion(robot: Robot, given: Motions, inertias: int = 0) -> Iterator[Bodies]:
    """Yield the bodies in each motion; the next motion overwrites the arrays.

    `inertias` is the number of coefficients of the inertias, at most k + 1.
    """
    model, n, orders = robot.kernel_model, len(robot.bodies), given.q.shape[1]
    bodies = Bodies(
        np.empty((n, 12)), *np.empty((2, n, orders, 6)), *np.empty((2, n, inertias, 6, 6)))
    com, about_com = np.empty((1, 3)), np.empty((1, 6))
    for q, rate, pose, twist in zip(*joints_and_base(robot, given), strict=True):
        body_poses(model.parent, model.body_table, q, pose, bodies.pose, bodies.screw)
        body_twists(model.parent, 0, orders, rate, twist, bodies.screw, bodies.twist)
        if inertias:
            body_inertias(
                model.body_table, bodies.pose, bodies.twist, bodies.inertia, bodies.ad_inertia,
                com, about_com)
        yield bodies
