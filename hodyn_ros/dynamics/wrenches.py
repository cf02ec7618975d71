"""Wrenches and their time derivatives between body and world axes, and those of gravity."""
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.arrays import numbers
from hodyn_ros.dynamics.argument_checks import (
    base_state,
    checked,
    checked_joints,
    checked_pose,
    coefficients,
    external,
)
from hodyn_ros.dynamics.kernels.kinematics import (
    body_poses,
    body_twists,
    com_motions,
    wrenches_to_world,
)
from hodyn_ros.robot import Robot, lie
from hodyn_ros.robot.body_table import MASS

Array = NDArray[np.float64]


def world_wrench(pose: ArrayLike, twist: ArrayLike, wrench: ArrayLike) -> Array:
    """Return a body's wrench in world axes about the world origin, with time derivatives.

    AGF26 eqs. (67)–(69): W⁰ = Ad⁻ᵀ W with d/dt Ad⁻ᵀ = −ad_Vᵀ Ad⁻ᵀ.

    Parameters
    ----------
    pose : (4, 4) array
        Pose of the body.
    twist : (r, 6) array
        Spatial twist of the body and its component-wise derivatives.
    wrench : (r + 1, 6) array
        (moment, force) in body axes about its origin; derivatives of the components.

    """
    body, ads = _operands(pose, twist, wrench)
    to_world = lie.adjoint(lie.inverse(checked_pose(pose, 'pose'))).T
    image: list[Array] = []
    for top in reversed(range(len(body))):  # from the highest derivative of the components on
        below, image = image, [to_world @ body[top]]
        for k, rest in enumerate(below):
            transported = sum(ads[a] @ image[k - a] for a in range(k + 1))
            image.append((rest - transported) / (k + 1))
    return _derivatives(image)


def body_wrench(pose: ArrayLike, twist: ArrayLike, wrench: ArrayLike) -> Array:
    """Return a wrench given in world axes in the axes of a body: the inverse of `world_wrench`.

    AGF26 Table 5(b): the wrench on the base as its rotors must give it, W = Ad_Cᵀ W⁰,
    Ẇ = Ad_Cᵀ (ad_Vᵀ W⁰ + Ẇ⁰), and so on.
    """
    world, ads = _operands(pose, twist, wrench)
    to_body = lie.adjoint(checked_pose(pose, 'pose')).T
    image = [w / math.factorial(k) for k, w in enumerate(world)]
    result = []
    while image:
        result.append(to_body @ image[0])
        image = [
            (k + 1) * image[k + 1] + sum(ads[a] @ image[k - a] for a in range(k + 1))
            for k in range(len(image) - 1)]
    return np.array(result)


def gravity_wrenches(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the wrench of gravity on each body and its derivatives, (r + 1, n_bodies, 6).

    (moment, force) in world axes about the world origin: W = M G with G = (0, g), M21 eqs. (23),
    (24) and (25), the latter with the sign of M ad_V̇ corrected. Since M G = (m c × g, m g), all
    derivatives follow from the path c(t) of the centre of mass.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 1, n) array
        Joint positions and derivatives.
    base_pose, base_twist : (4, 4) and (r, 6) arrays, optional
        Pose of a floating base, and its spatial twist with derivatives.

    """
    motion = checked_joints(q, 'q', robot, 1)
    base = base_state(robot, base_pose, base_twist, (), len(motion) - 1)
    pose, _, twist = _motion(robot, motion, base)
    com = np.empty((len(robot.bodies), len(motion), 3))
    com_motions(robot.kernel_model.body_table, pose, twist, com)
    mass = robot.kernel_model.body_table[:, MASS]
    result = np.zeros((len(motion), len(robot.bodies), 6))
    for k in range(len(motion)):
        weighted = math.factorial(k) * mass[:, None] * com[:, k]
        result[k, :, :3] = np.cross(weighted, robot.gravity)
    result[0, :, 3:] = mass[:, None] * robot.gravity
    return result


def external_efforts(
    robot: Robot,
    q: ArrayLike,
    external_wrenches: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the efforts that balance external wrenches, and their derivatives, (r + 1, N).

    −Sᵀ G_c W of AGF26 eqs. (13) and (19), corrected, to any order; on a fixed base Q_ext of MK21
    eqs. (27), (37), (53). Joint torques, on a floating base with the base wrench first: what
    external wrenches add to the terms of `equations_of_motion`.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 1, n) array
        Joint positions and derivatives.
    external_wrenches : (r + 1, n_bodies, 6) array
        As for `inverse_dynamics`.
    base_pose, base_twist : (4, 4) and (r, 6) arrays, optional
        Pose of a floating base, and its spatial twist with derivatives.

    """
    motion = checked_joints(q, 'q', robot, 1)
    orders = len(motion)
    base = base_state(robot, base_pose, base_twist, (), orders - 1)
    wrenches = coefficients(external(robot, external_wrenches, orders), orders)
    pose, screw, twist = _motion(robot, motion, base)
    total = np.empty((len(robot.bodies), orders, 6))
    wrenches_to_world(
        np.ascontiguousarray(wrenches.swapaxes(0, 1)), robot.kernel_model.body_in_kernel, pose,
        twist, np.empty((orders, 4, 3)), total)
    for i in range(len(total) - 1, 0, -1):
        if robot.kernel_model.parent[i] >= 0:
            total[robot.kernel_model.parent[i]] += total[i]
    result = np.empty((orders, robot.n + 6 * robot.floating))
    for k in range(orders):
        joints: Array = np.asarray(
            sum(np.sum(screw[:, a] * total[:, k - a], axis=1) for a in range(k + 1)))
        base_part = total[0, k, :6 * robot.floating]
        result[k] = -math.factorial(k) * np.concatenate(
            [base_part, robot.coupling.to_joints(joints[robot.floating:])])
    return result


def _motion(
    robot: Robot, q: Array, base: tuple[Array, Array] | None,
) -> tuple[Array, Array, Array]:
    """Return poses, and coefficients of screws and twists, one less than q has."""
    model, orders, n_bodies = robot.kernel_model, len(q), len(robot.bodies)
    q = robot.coupling.to_bodies(q)
    base_pose, base_twist = base if base is not None else (np.zeros((0, 1)), np.zeros((0, 6)))
    pose, (screw, twist) = np.empty((n_bodies, 12)), np.zeros((2, n_bodies, orders, 6))
    body_poses(model.parent, model.body_table, q[0], base_pose, pose, screw)
    body_twists(
        model.parent, 0, orders, np.ascontiguousarray(coefficients(q[1:], orders).T),
        coefficients(base_twist, orders), screw, twist)
    return pose, screw, twist


def _operands(
    pose: ArrayLike, twist: ArrayLike, wrench: ArrayLike,
) -> tuple[Array, list[Array]]:
    """Return the wrench, checked, and the coefficients of ad_Vᵀ."""
    values = numbers(wrench, 'wrench')
    orders = len(values)
    values = checked(values, 'wrench', (max(orders, 1), 6))
    twists = checked(twist, 'twist', (orders - 1, 6))
    return values, [lie.ad(v).T / math.factorial(k) for k, v in enumerate(twists)]


def _derivatives(coefficients: list[Array]) -> Array:
    return np.array([math.factorial(k) * x for k, x in enumerate(coefficients)])
