"""What each joint transmits: the wrenches between bodies and their time derivatives."""
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.argument_checks import base_state, checked_motions, external
from hodyn_ros.dynamics.kernels import rnea_spatial
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]
WrenchFrame = Literal['body', 'joint', 'world']


def joint_wrenches(
    robot: Robot,
    q: ArrayLike,
    *,
    frame: WrenchFrame = 'body',
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
) -> Array:
    """Return the wrench that each joint exerts on its body, with time derivatives.

    W̄ᵢ of M21 eqs. (26), (30) and Algorithm 3, W_j of AGF26 Algorithm 2: what wrist sensors,
    bearings and the base feel. It is exerted by the parent on the body, along the joint's screw by
    the motor (there it is the torque of `inverse_dynamics`), else by the bearing; the parent, or
    the world, feels the opposite. On a floating base the first one is the base wrench. The bodies
    beyond the joint, their weight and the wrenches of the environment on them are included.

    Where joints are coupled, each of them is taken to have a motor of its own.

    Parameters
    ----------
    robot : Robot
        An arm or tree. Links without a joint between them are one body: to know the wrench between
        them, give them a joint and let it rest.
    q : (r + 3, n) array, or a batch (T, r + 3, n)
        q[k] is the k-th derivative of the joint positions.
    frame : 'body', 'joint' or 'world'
        'body': in the body's axes about its origin. 'joint': in axes fixed in the body whose z is
        the joint's axis, about the joint's point; these are the body's axes where the joint's axis
        is its z. 'world': in world axes about the world origin, as M21 and AGF26 have it.
    base_pose, base_twist : (4, 4) and (r + 2, 6), or (T, 4, 4) and (T, r + 2, 6) arrays, optional
        Pose of a floating base, and its spatial twist with derivatives, as for `inverse_dynamics`.
    external_wrenches : (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array, optional
        Of the environment on the bodies, as for `inverse_dynamics`.

    Returns
    -------
    (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array
        (moment, force), N m and N, and the derivatives of these components, per sᵏ.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite and an unknown frame.

    """
    motions, batch = checked_motions(q, 'q', robot, 3)
    if frame not in get_args(WrenchFrame):
        raise HodynError(f'frame {frame!r}: expected one of {", ".join(get_args(WrenchFrame))}')
    count, orders, n_bodies = len(motions), motions.shape[1] - 2, len(robot.bodies)
    moved = base_state(robot, base_pose, base_twist, batch, orders + 1)
    base: tuple[Array, ...] = ()
    if moved is not None:
        base = (
            moved[0].reshape(count, 4, 4), moved[1].reshape(count, orders + 1, 6),
            np.empty((count, orders, 6)))
    wrenches = external(robot, external_wrenches, orders, batch)
    model = robot.kernel_model
    in_kernel = {
        'body': model.body_in_kernel, 'joint': np.tile(np.eye(4), (n_bodies, 1, 1)),
        'world': np.zeros((0, 4, 4))}[frame]
    torque = np.empty((count, orders, n_bodies - robot.floating))
    result = np.empty((count, orders, n_bodies, 6))
    rnea_spatial.joint_wrenches(
        model.parent, model.body_table, model.body_in_kernel, robot.gravity,
        rnea_spatial.workspace(n_bodies, orders - 1), base,
        wrenches.reshape(count, *wrenches.shape[-3:]), robot.coupling.to_bodies(motions), torque,
        in_kernel, result)
    return result.reshape(*batch, orders, n_bodies, 6)
