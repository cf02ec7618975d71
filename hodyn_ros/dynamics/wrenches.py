"""Wrenches with time derivatives: change of axes, gravity, the efforts that balance wrenches."""
import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array, numbers
from hodyn_ros.dynamics.argument_checks import checked, external, motions_and_base
from hodyn_ros.dynamics.body_motion import bodies_in_motion
from hodyn_ros.dynamics.inverse_dynamics import model_of
from hodyn_ros.dynamics.kernels import rnea_spatial
from hodyn_ros.dynamics.pose_motion import pose_derivatives
from hodyn_ros.dynamics.taylor_coefficients import coefficients, derivatives, product
from hodyn_ros.robot import HodynError, Robot, lie
from hodyn_ros.robot.body_table import COM_INERTIA, MASS


def world_wrench(pose: ArrayLike, twist: ArrayLike, wrench: ArrayLike) -> Array:
    """Return a body's wrench in world axes about the world origin, with time derivatives.

    AGF26 eqs. (67)–(69): W⁰ = Ad⁻ᵀ W with d/dt Ad⁻ᵀ = −ad_Vᵀ Ad⁻ᵀ.

    Parameters
    ----------
    pose : (4, 4) array, or a batch (T, 4, 4)
        Pose of the body.
    twist : (r, 6) or (T, r, 6) array
        Spatial twist of the body and its component-wise derivatives.
    wrench : (r + 1, 6) or (T, r + 1, 6) array
        (moment, force) in the body's axes about its origin, N m and N, and the derivatives of the
        components.

    Returns
    -------
    (r + 1, 6) or (T, r + 1, 6) array
        (moment, force) in world axes about the world origin, and its component-wise derivatives.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and matrices that are not rotations.

    """
    rotation, across, moment, force = _operands(pose, twist, wrench)
    force = product(np.matmul, rotation, force)
    moment = product(np.matmul, rotation, moment) + product(np.matmul, across, force)
    return _stacked(moment, force)


def body_wrench(pose: ArrayLike, twist: ArrayLike, wrench: ArrayLike) -> Array:
    """Convert a wrench from world axes to a body's axes: the inverse of `world_wrench`.

    W = Ad_Cᵀ W⁰, Ẇ = Ad_Cᵀ (ad_Vᵀ W⁰ + Ẇ⁰), and so on: in AGF26 Table 5(b) the wrench that the
    rotors must exert on the base. Shapes and errors are the same as for `world_wrench`.
    """
    rotation, across, moment, force = _operands(pose, twist, wrench)
    back = rotation.swapaxes(-1, -2)
    moment = moment - product(np.matmul, across, force)
    return _stacked(product(np.matmul, back, moment), product(np.matmul, back, force))


def gravity_wrenches(
    robot: Robot,
    q: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the wrench of gravity on each body and its derivatives.

    They are (moment, force) in world axes about the world origin: W⁽ʳ⁾ = M⁽ʳ⁾ G with G = (0, g)
    (AGF26 eqs. 63, 64). In M21 eqs. (23)–(25), G is (0, −g), which yields −W, and M ad_V̇ has the
    wrong sign.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 1, n) array, or a batch (T, r + 1, n)
        Joint positions and derivatives.
    base_pose, base_twist : (4, 4) and (r, 6), or (T, 4, 4) and (T, r, 6) arrays, optional
        Pose of a floating base, and its spatial twist with derivatives.

    Returns
    -------
    (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array
        N m/sᵏ and N/sᵏ.

    Raises
    ------
    HodynError
        For wrong shapes and for values that are not finite.

    """
    given = motions_and_base(robot, q, 1, base_pose, base_twist)
    count, orders = given.q.shape[:2]
    result = np.empty((count, orders, len(robot.bodies), 6))
    for t, bodies in enumerate(bodies_in_motion(robot, given, orders)):
        result[t] = (bodies.inertia[..., 3:] @ robot.gravity).swapaxes(0, 1)
    return derivatives(result, 1).reshape(*given.batch, *result.shape[1:])


def external_efforts(
    robot: Robot,
    q: ArrayLike,
    external_wrenches: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> Array:
    """Return the efforts that balance external wrenches, and their derivatives.

    `equations_of_motion` leaves out this term. On a floating base the wrench on the base comes
    before the joint torques. The formula is −Sᵀ G_c W (AGF26 eqs. 13 and 19, corrected), where G_c
    sums over the bodies that a joint carries. On a fixed base it is Q_ext of MK21 eqs. (27), (37),
    (53), whose W is −`external_wrenches`.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (r + 1, n) array, or a batch (T, r + 1, n)
        Joint positions and derivatives.
    external_wrenches : (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array
        As for `inverse_dynamics`.
    base_pose, base_twist : (4, 4) and (r, 6), or (T, 4, 4) and (T, r, 6) arrays, optional
        Pose of a floating base, and its spatial twist with derivatives.

    Returns
    -------
    (r + 1, N) or (T, r + 1, N) array
        N m/sᵏ (prismatic: N/sᵏ); N is n, or n + 6 on a floating base.

    Raises
    ------
    HodynError
        For wrong shapes and for values that are not finite.

    """
    given = motions_and_base(robot, q, 1, base_pose, base_twist)
    count, orders = given.q.shape[:2]
    wrenches = external(
        robot, numbers(external_wrenches, 'external_wrenches'), orders, given.batch)
    # They are the inverse dynamics of the robot without mass: the two derivatives more of the
    # motion that it needs have no effect, and are 0.
    parent, body_table, *others = model_of(robot)
    massless, more = body_table.copy(), ((0, 0), (0, 2), (0, 0))
    massless[:, MASS] = massless[:, COM_INERTIA:COM_INERTIA + 6] = 0.0
    motion = np.pad(robot.coupling.to_bodies(given.q), more)
    torque, base_wrench = np.empty((count, orders, motion.shape[-1])), np.empty((count, orders, 6))
    base = (given.base[0], np.pad(given.base[1], more), base_wrench) if given.base else ()
    rnea_spatial.inverse_dynamics(
        parent, massless, *others, rnea_spatial.workspace(len(robot.bodies), orders - 1), base,
        wrenches, motion, torque)
    result = robot.coupling.to_joints(torque)
    if given.base:
        result = np.concatenate([base_wrench, result], axis=-1)
    return result.reshape(*given.batch, *result.shape[1:])


def _operands(
    pose: ArrayLike, twist: ArrayLike, wrench: ArrayLike,
) -> tuple[Array, Array, Array, Array]:
    """Return coefficients of R and p̃ of the pose, (r + 1, …, 3, 3), and of moment and force.

    Moment and force are columns, (r + 1, …, 3, 1).
    """
    values = numbers(wrench, 'wrench')
    if values.ndim not in (2, 3) or values.shape[-2] == 0 or values.shape[-1] != 6:
        raise HodynError(f'wrench has shape {values.shape}; expected (r + 1, 6) or (T, r + 1, 6)')
    values = checked(values, 'wrench', values.shape)
    *batch, orders, _ = values.shape
    twists = checked(twist, 'twist', (*batch, orders - 1, 6))
    poses = coefficients(np.moveaxis(pose_derivatives(pose, twists), -3, 0), orders)
    wrenches = coefficients(np.moveaxis(values, -2, 0), orders)[..., np.newaxis]
    return (
        poses[..., :3, :3], lie.skew(poses[..., :3, 3]), wrenches[..., :3, :],
        wrenches[..., 3:, :])


def _stacked(moment: Array, force: Array) -> Array:
    """Return the derivatives of a wrench (…, r + 1, 6) from coefficients (r + 1, …, 3, 1)."""
    wrench = derivatives(np.concatenate([moment, force], axis=-2)[..., 0])
    return np.moveaxis(wrench, 0, -2)
