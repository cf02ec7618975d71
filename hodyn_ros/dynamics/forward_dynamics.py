"""Forward dynamics of any order (ABA): the motion that given efforts cause."""
from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics.hybrid_dynamics import solve
from hodyn_ros.robot import Robot
from hodyn_ros.robot.robot_check import check_robot

Array = NDArray[np.float64]


@overload
def forward_dynamics(
    robot: Robot, q: ArrayLike, tau: ArrayLike, *, external_wrenches: ArrayLike | None = ...,
) -> Array: ...


@overload
def forward_dynamics(
    robot: Robot, q: ArrayLike, tau: ArrayLike, *, base_pose: ArrayLike, base_twist: ArrayLike,
    base_wrench: ArrayLike, external_wrenches: ArrayLike | None = ...,
) -> tuple[Array, Array]: ...


def forward_dynamics(
    robot: Robot,
    q: ArrayLike,
    tau: ArrayLike,
    *,
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    base_wrench: ArrayLike | None = None,
    external_wrenches: ArrayLike | None = None,
) -> Array | tuple[Array, Array]:
    """Return the joint accelerations that torques cause, and their time derivatives.

    The articulated-body algorithm (ABA) to the order r that tau supports: AGF26, Algorithm 3
    (H-GABI). The rounding of the arguments costs more digits with each order, and more than the
    algorithm does: `docs/theory.md` has numbers. Where joints are coupled, the equations of
    motion are solved instead, in O(n³).

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (2, n) array, or a batch (T, 2, n)
        Joint positions and velocities. With a batch T comes first in all arrays, here and below.
    tau : (r + 1, n) array
        Joint torques and their derivatives, N m/sᵏ (prismatic: N/sᵏ).
    base_pose, base_twist : (4, 4) and (1, 6) arrays, optional
        Pose and spatial twist of a floating base, in world axes.
    base_wrench : (r + 1, 6) array, optional
        Wrench (moment, force) that acts on a floating base, in world axes about the world origin,
        and its component-wise derivatives; zeros for a free one.
    external_wrenches : (r + 1, n_bodies, 6) array, optional
        As for `inverse_dynamics`.

    Returns
    -------
    acceleration : (r + 1, n) array
        q̈ and its derivatives, rad/sᵏ⁺².
    base_acceleration : (r + 1, 6) array
        For a floating base only: V̇ and its derivatives, component-wise, in world axes about the
        world origin.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and a mass matrix that is not positive
        definite, naming the joint.

    Warns
    -----
    UserWarning
        As for `hybrid_dynamics`: when rounding costs a joint's acceleration its digits.

    """
    check_robot(robot)
    none_prescribed = np.zeros(robot.n, dtype=np.bool_)
    return solve(
        robot, q, tau, 'tau', none_prescribed, base_pose, base_twist, base_wrench, None,
        external_wrenches)
