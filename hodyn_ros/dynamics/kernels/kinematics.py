"""Motion of all bodies and of links: poses, twists, Jacobian columns, to any order (M21, Alg. 1).

All are Taylor coefficients, as in `newton_euler`.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import newton_euler
from hodyn_ros.dynamics.kernels.decorators import kernel
from hodyn_ros.dynamics.kernels.newton_euler import cross_add

SPATIAL, BODY_FIXED, HYBRID = 0, 1, 2
"""Numbers of the representations, for `change_representation`."""


@kernel
def body_poses(
    parent: NDArray[np.int64], body_table: Array, q: Array, base_pose: Array, pose: Array,
    screw: Array,
) -> None:
    """Write the poses of the kernel frames, and coefficient 0 of the joint screws.

    `parent`, (n_bodies,), and `body_table`, (n_bodies, 30), are from the `KernelModel`; `q` is
    (n,); `base_pose` (4, 4), or (0, 1) for a fixed base; `pose`, (n_bodies, 12), and `screw`,
    (n_bodies, k, 6), are written.
    """
    floating = len(parent) - len(q)
    for i in range(len(parent)):
        if i < floating:
            newton_euler.floating_base_pose(base_pose, pose[i], screw[i])
        else:
            newton_euler.joint_pose(parent[i], body_table[i], q[i - floating], pose, i, screw[i])


@kernel
def body_twists(
    parent: NDArray[np.int64], start: int, stop: int, rate: Array, base_twist: Array,
    screw: Array, twist: Array,
) -> None:
    """Write coefficients `start` to `stop` − 1 of the joint screws and the bodies' twists.

    - `rate`, (n, k): coefficients of q̇.
    - `base_twist`, (k, 6): coefficients of the spatial twist of a floating base.
    - `screw`, `twist`, (n_bodies, k, 6): written; coefficient 0 of the screws is given.
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
            newton_euler.propagate_twist(
                start, stop, above, rate[i - floating], screw[i], twist[i])


@kernel
def link_pose(pose: Array, in_kernel: Array, link: Array) -> None:
    """Write the pose of a link, (4, 4).

    `pose`, (12,), is that of its body's kernel frame, rows of R then r; `in_kernel`, (4, 4), the
    pose of the link in that frame.
    """
    for row in range(3):
        for column in range(4):
            link[row, column] = 0.0 if column < 3 else pose[9 + row]
            for c in range(3):
                link[row, column] += pose[3 * row + c] * in_kernel[c, column]
        link[3, row] = 0.0
    link[3, 3] = 1.0


@kernel
def link_motions(
    parent: NDArray[np.int64], body_table: Array, q: Array, rate: Array, base_pose: Array,
    base_twist: Array, index: NDArray[np.int64], in_kernel: Array, representation: int,
    poses: Array, twists: Array,
) -> None:
    """Write the poses, and the coefficients of the twists, of m links.

    - `parent`, `body_table`, (n_bodies,) and (n_bodies, 30): from the `KernelModel`.
    - `q`, `rate`, (T, n) and (T, n, k + 1): joint positions and coefficients of q̇.
    - `base_pose`, `base_twist`, (T, 4, 4), or (T, 0, 1) for a fixed base, and (T, k + 1, 6): pose,
      and coefficients of the spatial twist.
    - `index`, `in_kernel`, (m,) and (m, 4, 4): bodies of the links, and the links' poses in the
      kernel frames of these bodies; −1 and the pose in the world for a fixed link.
    - `representation`: SPATIAL, BODY_FIXED or HYBRID.
    - `poses`, `twists`, (T, m, 4, 4) and (T, m, k, 6): written.
    """
    n, orders = len(parent), twists.shape[2]
    pose = np.empty((n, 12))
    screw, twist = np.empty((n, orders + 1, 6)), np.empty((n, orders + 1, 6))
    for t in range(len(q)):
        body_poses(parent, body_table, q[t], base_pose[t], pose, screw)
        body_twists(parent, 0, orders, rate[t], base_twist[t], screw, twist)
        for f in range(len(index)):
            if index[f] < 0:
                poses[t, f] = in_kernel[f]
                twists[t, f] = 0.0
                continue
            link_pose(pose[index[f]], in_kernel[f], poses[t, f])
            twists[t, f] = twist[index[f], :orders]
            change_representation(representation, poses[t, f], twist[index[f]], twists[t, f:f + 1])


@kernel
def jacobian_columns(
    parent: NDArray[np.int64], body_table: Array, q: Array, rate: Array, base_pose: Array,
    base_twist: Array, carriers: NDArray[np.int64], index: int, in_kernel: Array,
    representation: int, columns: Array,
) -> None:
    """Write the coefficients of the Jacobian's columns, for motions as in `link_motions`.

    - `carriers`, (m,): the bodies with joints from the base to the body of the link.
    - `index`, `in_kernel`, (4, 4): the body of the link, or −1 for the world, and the link's pose
      in its kernel frame.
    - `columns`, (T, m, k + 1, 6): written. In (T, 6 + m, k + 1, 6), the first six columns are for
      the twist of a floating base.
    """
    n, orders, first = len(parent), columns.shape[2], columns.shape[1] - len(carriers)
    pose = np.empty((n, 12))
    screw, twist = np.empty((n, orders, 6)), np.empty((n, orders, 6))
    link = np.empty((4, 4))
    for t in range(len(q)):
        body_poses(parent, body_table, q[t], base_pose[t], pose, screw)
        # The last coefficient of q̇ is unknown, so the last one of the twists is not used.
        body_twists(parent, 0, orders, rate[t], base_twist[t], screw, twist)
        columns[t, :first] = 0.0
        for c in range(first):  # the base moves all bodies alike
            columns[t, c, 0, c] = 1.0
        for c in range(len(carriers)):
            columns[t, first + c] = screw[carriers[c]]
        if index >= 0:
            link_pose(pose[index], in_kernel, link)
            change_representation(representation, link, twist[index], columns[t])


@kernel
def change_representation(representation: int, pose: Array, twist: Array, screws: Array) -> None:
    """Convert the coefficients of spatial screws, (m, k, 6), in place to a `representation`.

    `pose`, (4, 4), and `twist`, (k − 1 or more, 6), are the pose of the moving frame and the
    coefficients of its spatial twist.
    """
    if representation == SPATIAL:
        return
    orders = screws.shape[1]
    origin = np.empty((orders, 3))
    for row in range(3):
        origin[0, row] = pose[row, 3]
    newton_euler.point_motion(1, orders, twist, origin)
    for screw in screws:
        for k in range(orders):
            for a in range(k + 1):  # v + ω × p
                cross_add(screw[k - a, :3], origin[a], screw[k, 3:])
    if representation == HYBRID:
        return
    axes = np.empty((3, orders, 3))
    for column in range(3):
        for row in range(3):
            axes[column, 0, row] = pose[row, column]
        newton_euler.direction_rate(1, orders, twist, axes[column])
    converted = np.empty(6)
    for screw in screws:
        for k in range(orders - 1, -1, -1):  # downward: order k needs the lower ones unconverted
            for column in range(3):
                angular, linear = 0.0, 0.0
                for a in range(k + 1):
                    for c in range(3):
                        angular += axes[column, a, c] * screw[k - a, c]
                        linear += axes[column, a, c] * screw[k - a, 3 + c]
                converted[column], converted[3 + column] = angular, linear
            for c in range(6):
                screw[k, c] = converted[c]
