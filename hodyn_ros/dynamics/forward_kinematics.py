"""Forward kinematics of any order: poses, twists, Jacobians and their time derivatives."""
import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.argument_checks import motions_and_base
from hodyn_ros.dynamics.body_motion import joints_and_base
from hodyn_ros.dynamics.kernels.kinematics import jacobian_columns, link_motions
from hodyn_ros.dynamics.taylor_coefficients import derivatives
from hodyn_ros.dynamics.twist_representation import Representation, representation_number
from hodyn_ros.robot import HodynError, Robot

# A singular value of J counts as 0 if it is at most this fraction of the largest one.
SINGULAR_JACOBIAN = 1e-10


def forward_kinematics(
    robot: Robot,
    q: ArrayLike,
    link: str | None = None,
    *,
    representation: Representation = 'spatial',
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
) -> tuple[Array, Array]:
    """Return the pose of every body, or of one link, and its twist with derivatives.

    Implements M21, Algorithm 1, to the order k that q supports; the paper stops at k = 4.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (k + 1, n) array, or a batch (T, k + 1, n)
        q[j] is the j-th derivative of the joint positions; the positions alone may be (n,).
    link : str, optional
        Name of a body, of a link that is merged into a body, or of the tool; by default all
        bodies.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Representation of the twists (angular, linear): 'spatial', in world axes about the world
        origin; 'body_fixed', in the link's axes about the link's origin; 'hybrid', in world axes
        about the link's origin, so that the linear part is the velocity of that point.
    base_pose, base_twist : (4, 4) and (k, 6), or (T, 4, 4) and (T, k, 6) arrays, optional
        Pose and spatial twist of a floating base.

    Returns
    -------
    pose : (4, 4) array
        Pose in the world; (n_bodies, 4, 4) for all bodies. A batch has T as first axis.
    twist : (k, 6) array
        V, V̇, … V⁽ᵏ⁻¹⁾, component-wise derivatives in the representation; (k, n_bodies, 6) for
        all bodies. A batch has T as first axis.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and unknown links.

    """
    number = representation_number(representation)
    given = motions_and_base(robot, q, 1, base_pose, base_twist)
    frames = (
        list(enumerate(robot.kernel_model.body_in_kernel)) if link is None
        else [link_frame(robot, link)])
    samples, orders, batch = len(given.q), given.q.shape[1] - 1, given.batch
    poses = np.empty((samples, len(frames), 4, 4))
    twists = np.empty((samples, len(frames), orders, 6))
    link_motions(
        robot.kernel_model.parent, robot.kernel_model.body_table,
        *joints_and_base(robot, given), np.array([index for index, _ in frames]),
        np.array([pose for _, pose in frames]), number, poses, twists)
    twists = derivatives(np.swapaxes(twists, 1, 2), 1)
    if link is None:
        return (
            poses.reshape(*batch, len(frames), 4, 4),
            twists.reshape(*batch, orders, len(frames), 6))
    return poses.reshape(*batch, 4, 4), twists.reshape(*batch, orders, 6)


def jacobian(
    robot: Robot,
    q: ArrayLike,
    link: str,
    *,
    representation: Representation = 'spatial',
    base_pose: ArrayLike | None = None,
    base_twist: ArrayLike | None = None,
    base_columns: bool = False,
) -> Array:
    """Return the Jacobian of a link, V = J q̇, and its time derivatives (M21, equations 8 and 9).

    On a floating base, J q̇ is the part of V due to the joints; with `base_columns`, V is J times
    (base twist, q̇).

    Parameters
    ----------
    robot, q, link, representation, base_pose, base_twist
        As for `forward_kinematics`.
    base_columns : bool
        Put six columns for the spatial twist of a floating base before the others.

    Returns
    -------
    (k + 1, 6, n) or (T, k + 1, 6, n) array; with base_columns 6 + n instead of n
        J, J̇, … J⁽ᵏ⁾. Joints that do not carry the link have zero columns.

    """
    number = representation_number(representation)
    given = motions_and_base(robot, q, 1, base_pose, base_twist)
    index, in_kernel = link_frame(robot, link)
    carriers = np.array(path_to(robot, index), dtype=np.int64)
    samples, orders = given.q.shape[:2]
    if base_columns and not robot.floating:
        raise HodynError(f'robot {robot.name!r} has a fixed base: leave out base_columns')
    first = 6 * base_columns
    columns = np.empty((samples, first + len(carriers), orders, 6))
    jacobian_columns(
        robot.kernel_model.parent, robot.kernel_model.body_table,
        *joints_and_base(robot, given), carriers, index, in_kernel, number, columns)
    columns = derivatives(columns.transpose(0, 2, 3, 1), 1)
    result = np.zeros((samples, orders, 6, len(robot.bodies) - robot.floating))
    result[..., carriers - robot.floating] = columns[..., first:]
    result = np.concatenate([columns[..., :first], robot.coupling.to_joints(result)], axis=-1)
    return result.reshape(*given.batch, orders, 6, first + robot.n)


def link_frame(robot: Robot, name: str) -> tuple[int, Array]:
    """Return the index of a link's body and the link's pose (4, 4) in the body's kernel frame.

    For a link fixed to the world, return −1 and its pose in the world.
    """
    index, in_body = robot.frame(name)
    return index, in_body if index < 0 else robot.kernel_model.body_in_kernel[index] @ in_body


def path_to(robot: Robot, index: int) -> list[int]:
    """Return the indices of a body and its ancestors, the body last, without a floating base."""
    path: list[int] = []
    while index >= 0 and robot.bodies[index].type != 'floating':
        path.insert(0, index)
        index = robot.bodies[index].parent
    return path
