"""The wrenches that joints transmit between bodies, and their time derivatives."""
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import external, motions_and_base
from hodyn_ros.dynamics.kernels import rnea_spatial
from hodyn_ros.robot import HodynError, Robot

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

    It is the load of wrist sensors, bearings and the base: W̄ᵢ of M21 eqs. (26), (30), Algorithm 3,
    W_j of AGF26 Algorithm 2. The parent exerts it on the body, and the body exerts the opposite on
    the parent or the world. Its component along the joint's screw is the motor's torque, as from
    `inverse_dynamics`; the bearing exerts the rest. It includes inertia and weight of all bodies
    beyond the joint, and the external wrenches on them. On a floating base the first wrench is the
    base wrench.

    Each coupled joint is treated as if it had its own motor.

    Parameters
    ----------
    robot : Robot
        An arm or tree. Links without a joint between them are one body: to get the wrench between
        them, define a joint there and keep it at rest.
    q : (r + 3, n) array, or a batch (T, r + 3, n)
        q[k] is the k-th derivative of the joint positions.
    frame : 'body', 'joint' or 'world'
        'body': in the body's axes about its origin. 'joint': about the joint's point, in axes
        fixed to the body with z along the joint's axis. 'world': in world axes about the world
        origin, as in M21 and AGF26.
    base_pose, base_twist : (4, 4) and (r + 2, 6), or (T, 4, 4) and (T, r + 2, 6) arrays, optional
        Pose of a floating base, and its spatial twist with derivatives, as for `inverse_dynamics`.
    external_wrenches : (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array, optional
        Wrenches of the environment on the bodies, as for `inverse_dynamics`.

    Returns
    -------
    (r + 1, n_bodies, 6) or (T, r + 1, n_bodies, 6) array
        (moment, force), N m and N, and the derivatives of these components, per sᵏ.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite and an unknown frame.

    """
    motions, moved, batch = motions_and_base(robot, q, 3, base_pose, base_twist)
    if frame not in get_args(WrenchFrame):
        raise HodynError(f'frame {frame!r}: expected one of {", ".join(get_args(WrenchFrame))}')
    count, orders, n_bodies = len(motions), motions.shape[1] - 2, len(robot.bodies)
    base = (*moved, np.empty((count, orders, 6))) if moved else ()
    model = robot.kernel_model
    in_kernel = {
        'body': model.body_in_kernel, 'joint': np.tile(np.eye(4), (n_bodies, 1, 1)),
        'world': np.zeros((0, 4, 4))}[frame]
    torque = np.empty((count, orders, n_bodies - robot.floating))
    result = np.empty((count, orders, n_bodies, 6))
    rnea_spatial.joint_wrenches(
        model.parent, model.body_table, model.body_in_kernel, robot.gravity,
        rnea_spatial.workspace(n_bodies, orders - 1), base,
        external(robot, external_wrenches, orders, batch), robot.coupling.to_bodies(motions),
        torque, in_kernel, result)
    return result.reshape(*batch, orders, n_bodies, 6)
