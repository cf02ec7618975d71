"""Forward kinematics of any order: poses, twists, Jacobians and their time derivatives."""
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.dynamics import representation as representations
from hodyn_ros.dynamics.arguments import base_state
from hodyn_ros.dynamics.kernels import bodies
from hodyn_ros.dynamics.kernels.bodies import kernel
from hodyn_ros.dynamics.representation import Representation
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]

SINGULAR = 1e-10  # least singular value of a Jacobian that counts as regular, of the largest


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

    M21, Algorithm 1 (which stops at k = 4), to the order k that q supports.

    Parameters
    ----------
    robot : Robot
        An arm or tree.
    q : (k + 1, n) array, or a batch (T, k + 1, n)
        q[j] is the j-th derivative of the joint positions.
    link : str, optional
        Name of a body, of a link merged into one, or of the tool; all bodies when not given.
    representation : 'spatial', 'body_fixed' or 'hybrid'
        Of the twists (angular, linear): 'spatial', in world axes about the world origin;
        'body_fixed', in the link's axes about its origin; 'hybrid', in world axes about its
        origin, so that the linear part is the velocity of that point.
    base_pose, base_twist : (4, 4) and (k, 6), or (T, 4, 4) and (T, k, 6) arrays, optional
        Of a floating base, with T for a batch; spatial.

    Returns
    -------
    pose : (4, 4) array
        In the world. For all bodies (n_bodies, 4, 4); a batch has T before that.
    twist : (k, 6) array
        V, V̇, … V⁽ᵏ⁻¹⁾, component-wise derivatives in the representation. For all bodies
        (k, n_bodies, 6); a batch has T before that.

    Raises
    ------
    HodynError
        For wrong shapes, values that are not finite, and unknown links.

    """
    mode = representations.number(representation)
    motion, batch = _checked(robot, q)
    frames = (
        list(enumerate(robot.tree.body_in_kernel)) if link is None else [link_frame(robot, link)])
    samples, orders = len(motion), motion.shape[1] - 1
    poses = np.empty((samples, len(frames), 4, 4))
    twists = np.empty((samples, len(frames), orders, 6))
    _follow_links(
        robot.tree.parent, robot.tree.constants,
        *_coefficients(robot, motion, batch, base_pose, base_twist),
        np.array([index for index, _ in frames]), np.array([pose for _, pose in frames]), mode,
        poses, twists)
    twists = np.swapaxes(twists, 1, 2) * _factorials(orders)[:, None, None]
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
) -> Array:
    """Return the Jacobian of a link, V = J q̇, and its time derivatives (M21 eqs. 8 and 9).

    On a floating base V is what the joints add to the twist of the base; its own columns are those
    of the identity, in spatial representation.

    Parameters
    ----------
    robot, q, link, representation, base_pose, base_twist
        As for `forward_kinematics`.

    Returns
    -------
    (k + 1, 6, n) or (T, k + 1, 6, n) array
        J, J̇, … J⁽ᵏ⁾. Joints that do not carry the link have zero columns.

    """
    mode = representations.number(representation)
    motion, batch = _checked(robot, q)
    index, in_kernel = link_frame(robot, link)
    carriers = np.array(path_to(robot, index), dtype=np.int64)
    samples, orders = len(motion), motion.shape[1]
    columns = np.empty((samples, len(carriers), orders, 6))
    _follow_columns(
        robot.tree.parent, robot.tree.constants,
        *_coefficients(robot, motion, batch, base_pose, base_twist), carriers, in_kernel, mode,
        columns)
    result = np.zeros((samples, orders, 6, robot.n))
    result[..., carriers - robot.floating] = columns.transpose(0, 2, 3, 1)
    result *= _factorials(orders)[:, None, None]
    return result.reshape(*batch, orders, 6, robot.n)


def link_frame(robot: Robot, name: str) -> tuple[int, Array]:
    """Return the index of a link's body and the link's pose (4, 4) in the body's kernel frame.

    For a link fixed to the world −1 and its pose there.
    """
    index, in_body = robot.frame(name)
    return index, in_body if index < 0 else robot.tree.body_in_kernel[index] @ in_body


def path_to(robot: Robot, index: int) -> list[int]:
    """Return the indices of the bodies with joints from the base to a body, that one included."""
    path: list[int] = []
    while index >= 0 and robot.bodies[index].type != 'floating':
        path.insert(0, index)
        index = robot.bodies[index].parent
    return path


@kernel
def place_bodies(
    parent: NDArray[np.int64], constants: Array, q: Array, base_pose: Array, pose: Array,
    screw: Array,
) -> None:
    """Write poses of kernel frames, (n_bodies, 12), and joint screws (n_bodies, k, 6), order 0.

    Parameters
    ----------
    parent, constants : (n_bodies,) and (n_bodies, 30) arrays
        Of the `Tree`.
    q : (n,) array
        Joint positions.
    base_pose : (4, 4) array
        (0, 1) for a fixed base.
    pose, screw : (n_bodies, 12) and (n_bodies, k, 6) arrays
        Written.

    """
    floating = len(parent) - len(q)
    for i in range(len(parent)):
        if i < floating:
            bodies.place_base(base_pose, pose[i], screw[i])
        else:
            bodies.place(parent[i], constants[i], q[i - floating], pose, i, screw[i])


@kernel
def move_bodies(
    parent: NDArray[np.int64], start: int, stop: int, rate: Array, base_twist: Array,
    screw: Array, twist: Array,
) -> None:
    """Write coefficients start … stop − 1 of screws and twists, (n_bodies, k, 6).

    Parameters
    ----------
    parent : (n_bodies,) array
        Of the `Tree`.
    start, stop : int
        Which coefficients.
    rate : (n, k) array
        Coefficients of q̇.
    base_twist : (k, 6) array
        Coefficients of the spatial twist of a floating base.
    screw, twist : (n_bodies, k, 6) arrays
        Written; order 0 of the screws is given.

    """
    floating = len(parent) - len(rate)
    for i in range(len(parent)):
        if i < floating:
            for k in range(start, stop):
                for c in range(6):
                    twist[i, k, c] = base_twist[k, c]
                    if k > 0:
                        screw[i, k, c] = 0.0
        else:
            above = twist[parent[i]] if parent[i] >= 0 else twist[0, :0]
            bodies.move(start, stop, above, rate[i - floating], screw[i], twist[i])


@kernel
def place_link(pose: Array, in_kernel: Array, link: Array) -> None:
    """Write the pose (4, 4) of a link.

    Parameters
    ----------
    pose : (12,) array
        Of its body's kernel frame.
    in_kernel : (4, 4) array
        Of the link, in that frame.
    link : (4, 4) array
        Written.

    """
    for row in range(3):
        for column in range(4):
            link[row, column] = 0.0 if column < 3 else pose[9 + row]
            for c in range(3):
                link[row, column] += pose[3 * row + c] * in_kernel[c, column]
        link[3, row] = 0.0
    link[3, 3] = 1.0


@kernel
def _follow_links(
    parent: NDArray[np.int64], constants: Array, q: Array, rate: Array, base_pose: Array,
    base_twist: Array, index: NDArray[np.int64], in_kernel: Array, mode: int, poses: Array,
    twists: Array,
) -> None:
    """Write poses (T, m, 4, 4) and coefficients of the twists (T, m, k, 6) of m links.

    Parameters
    ----------
    parent, constants : (n_bodies,) and (n_bodies, 30) arrays
        Of the `Tree`.
    q, rate, base_pose, base_twist
        Of `_coefficients`.
    index, in_kernel : (m,) and (m, 4, 4) arrays
        Bodies of the links, and their poses in these bodies' kernel frames; −1 and the pose in the
        world for a link that is fixed.
    mode : int
        Number of the representation.
    poses, twists : (T, m, 4, 4) and (T, m, k, 6) arrays
        Written.

    """
    n, orders = len(parent), twists.shape[2]
    pose = np.empty((n, 12))
    screw, twist = np.empty((n, orders + 1, 6)), np.empty((n, orders + 1, 6))
    for t in range(len(q)):
        place_bodies(parent, constants, q[t], base_pose[t], pose, screw)
        move_bodies(parent, 0, orders, rate[t], base_twist[t], screw, twist)
        for f in range(len(index)):
            if index[f] < 0:
                poses[t, f] = in_kernel[f]
                twists[t, f] = 0.0
                continue
            place_link(pose[index[f]], in_kernel[f], poses[t, f])
            twists[t, f] = twist[index[f], :orders]
            representations.see(mode, poses[t, f], twist[index[f]], twists[t, f:f + 1])


@kernel
def _follow_columns(
    parent: NDArray[np.int64], constants: Array, q: Array, rate: Array, base_pose: Array,
    base_twist: Array, carriers: NDArray[np.int64], in_kernel: Array, mode: int, columns: Array,
) -> None:
    """Write the coefficients (T, m, k + 1, 6) of the Jacobian's columns.

    Parameters
    ----------
    parent, constants : (n_bodies,) and (n_bodies, 30) arrays
        Of the `Tree`.
    q, rate, base_pose, base_twist
        Of `_coefficients`.
    carriers : (m,) array
        The m bodies from the base to that of the link.
    in_kernel : (4, 4) array
        The link's pose in its body's kernel frame.
    mode : int
        Number of the representation.
    columns : (T, m, k + 1, 6) array
        Written.

    """
    n, orders = len(parent), columns.shape[2]
    pose = np.empty((n, 12))
    screw, twist = np.empty((n, orders, 6)), np.empty((n, orders, 6))
    link = np.empty((4, 4))
    for t in range(len(q)):
        place_bodies(parent, constants, q[t], base_pose[t], pose, screw)
        # The last coefficient of the twists lacks a rate, and is not used.
        move_bodies(parent, 0, orders, rate[t], base_twist[t], screw, twist)
        for c in range(len(carriers)):
            columns[t, c] = screw[carriers[c]]
        if len(carriers) > 0:
            place_link(pose[carriers[-1]], in_kernel, link)
            representations.see(mode, link, twist[carriers[-1]], columns[t])


def _coefficients(
    robot: Robot, motion: Array, batch: tuple[int, ...], base_pose: ArrayLike | None,
    base_twist: ArrayLike | None,
) -> tuple[Array, Array, Array, Array]:
    """Return the motion of the joints and of the base in Taylor coefficients.

    Returns
    -------
    q : (T, n) array
        Joint positions.
    rate : (T, n, k + 1) array
        Coefficients of q̇; the last, unknown, is zero.
    base_pose : (T, 4, 4) array
        Of a floating base; (T, 0, 1) for a fixed one.
    base_twist : (T, k + 1, 6) array
        Coefficients of its twist; the last, unknown, is zero.

    """
    samples, orders = len(motion), motion.shape[1]
    scale = 1.0 / _factorials(orders)[:-1, None]
    rate = np.zeros((samples, robot.n, orders))
    rate[..., :-1] = np.swapaxes(motion[:, 1:] * scale, 1, 2)
    twist = np.zeros((samples, orders, 6))
    base = base_state(robot, base_pose, base_twist, batch, orders - 1)
    if base is None:
        return motion[:, 0].copy(), rate, np.zeros((samples, 0, 1)), twist
    twist[:, :-1] = base[1].reshape(samples, orders - 1, 6) * scale
    return motion[:, 0].copy(), rate, base[0].reshape(samples, 4, 4), twist


def _checked(robot: Robot, q: ArrayLike) -> tuple[Array, tuple[int, ...]]:
    """Return q as (T, k + 1, n), and its batch shape."""
    motion = np.ascontiguousarray(q, dtype=np.float64)
    if motion.ndim not in (2, 3) or motion.shape[-2] < 1 or motion.shape[-1] != robot.n:
        raise HodynError(
            f'q has shape {motion.shape}; expected (k + 1, {robot.n}) or (T, k + 1, {robot.n}) '
            f'for the {robot.n} joints of {robot.name!r}')
    if not np.all(np.isfinite(motion)):
        place = [int(i) for i in np.argwhere(~np.isfinite(motion))[0]]
        raise HodynError(
            f'q{place} (joint {robot.joint_names[place[-1]]!r}) is {motion[tuple(place)]}: '
            'not finite')
    return motion.reshape(-1, *motion.shape[-2:]), motion.shape[:-2]


def _factorials(orders: int) -> Array:
    return np.array([math.factorial(k) for k in range(orders)], dtype=float)
