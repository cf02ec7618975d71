"""RNEA, the recursive Newton-Euler algorithm: inverse dynamics, spatial, any order, for trees.

These are Algorithms 1 and 3 of M21 and, for trees and floating bases, Algorithms 1 and 2 (H-GRNE)
of AGF26. In Taylor coefficients one loop serves every order.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import newton_euler
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, kernel, step
from hodyn_ros.dynamics.kernels.workspace import (
    block,
    borrowed,
    check_shapes,
    new_workspace,
    take,
)
from hodyn_ros.robot.body_table import MASS


@step
def workspace_size(n_bodies: int, order: int) -> int:
    """Return how many doubles of scratch memory the kernels need."""
    per_body = 12 + (6 + 6) * (order + 2) + 6 * (order + 1)
    scratch = (1 + 3 + 6 + 3 + 3) * (order + 3) + (12 + 6 + 6) * (order + 1)
    return n_bodies * per_body + scratch


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory of the kernels."""
    return new_workspace(workspace_size, n_bodies, order)


@step
def _motion_and_wrench(
    memory: Array, n: int, order: int,
) -> tuple[Array, Array, Array, Array, int]:
    """Return poses, coefficients of screws, twists, wrenches, and where free memory starts."""
    pose, at = take(memory, 0, (n, 12))
    screw, at = take(memory, at, (n, order + 2, 6))
    twist, at = take(memory, at, (n, order + 2, 6))
    wrench, at = take(memory, at, (n, order + 1, 6))
    return pose, screw, twist, wrench, at


@batch_kernel
def inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, base: tuple[Array, ...], wrenches: Array, q: Array, torque: Array,
) -> None:
    """Write Q and its derivatives for T motions; nothing is allocated or checked.

    - `parent`, `body_table`, `body_in_kernel`, (n_bodies,), (n_bodies, 30), (n_bodies, 4, 4): from
      the `KernelModel`.
    - `gravity`, (3,), m/s².
    - `memory`: from `workspace`.
    - `base`: (), or for a floating base (body 0) its pose, (T, 4, 4); its spatial twist with
      derivatives, (T, r + 2, 6); and the wrench that must act on it, in world axes about the world
      origin, (T, r + 1, 6), which is written.
    - `wrenches`, (T, r + 1, n_bodies, 6): external, on the bodies, in body axes about the body
      origins; (1, 0, 0, 0) for none.
    - `q`, (T, r + 3, n): joint positions and derivatives.
    - `torque`, (T, r + 1, n): written.
    """
    none = block(memory, 0, (0, 0))
    for t in range(q.shape[0]):
        w = wrenches[t if wrenches.shape[1] > 0 else 0]
        if len(base) == 0:
            _inverse_dynamics(
                parent, body_table, body_in_kernel, gravity, q[t], none, none, w, torque[t], none,
                memory)
        else:
            _inverse_dynamics(
                parent, body_table, body_in_kernel, gravity, q[t], base[0][t], base[1][t], w,
                torque[t], base[2][t], memory)


@batch_kernel
def joint_wrenches(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, base: tuple[Array, ...], wrenches: Array, q: Array, torque: Array,
    in_kernel: Array, transmitted: Array,
) -> None:
    """Write Q and also the wrenches of the joints, which the recursion leaves in memory.

    `transmitted`, (T, r + 1, n_bodies, 6), gets W̄ of M21 eq. (30) and its component-wise
    derivatives. They are in the axes and about the origins of the frames whose poses in the kernel
    frames are `in_kernel`, (n_bodies, 4, 4), or of the world if `in_kernel` is (0, 4, 4). The
    other arguments are as for `inverse_dynamics`.
    """
    n, order = len(parent), torque.shape[1] - 1
    pose, _, twist, wrench, _ = _motion_and_wrench(memory, n, order)
    frame, local = np.empty((order + 1, 4, 3)), np.empty((order + 1, 6))
    for t in range(q.shape[0]):
        moved = base
        if len(base) > 0:
            moved = (base[0][t:t + 1], base[1][t:t + 1], base[2][t:t + 1])
        acting = wrenches[t:t + 1] if wrenches.shape[1] > 0 else wrenches[:1]
        inverse_dynamics(
            parent, body_table, body_in_kernel, gravity, memory, moved, acting, q[t:t + 1],
            torque[t:t + 1])
        for i in range(n):
            local[:] = wrench[i]
            if in_kernel.shape[0] > 0:
                newton_euler.body_frame_pose(in_kernel[i], pose[i], frame)
                newton_euler.body_frame_motion(1, order + 1, twist[i], frame)
                newton_euler.wrench_to_frame(0, order + 1, frame, wrench[i], local)
            factorial = 1.0
            for k in range(order + 1):
                factorial *= max(k, 1)
                for c in range(6):
                    transmitted[t, k, i, c] = factorial * local[k, c]


@kernel
def single(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, q: Array, out: Array,
) -> None:
    """Write Q, Q̇, … of one motion on a fixed base, without wrenches; shapes are checked.

    `q` is (r + 3, n), and `out` (r + 1, n), with the order r of the workspace; the rest is as for
    `inverse_dynamics`.
    """
    n = len(parent)
    check_shapes(q, out, n, memory.shape[0], workspace_size(n, out.shape[0] - 1))
    none = block(memory, 0, (0, 0))
    _inverse_dynamics(
        parent, body_table, body_in_kernel, gravity, q, none, none, block(memory, 0, (0, 0, 0)),
        out, none, memory)


@kernel
def _inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, wrenches: Array, torque: Array, base_wrench: Array,
    memory: Array,
) -> None:
    """Write Q, Q̇, … of one motion; pose, twist and wrench of a fixed base are (0, 0)."""
    order, n = torque.shape[0] - 1, len(parent)
    body_table, body_in_kernel = borrowed(body_table), borrowed(body_in_kernel)
    floating = n - torque.shape[1]
    twists = order + 2
    pose, screw, twist, wrench, at = _motion_and_wrench(memory, n, order)
    rate, at = take(memory, at, (twists,))
    com, at = take(memory, at, (twists + 1, 3))
    inertia, at = take(memory, at, (twists, 6))
    spin, at = take(memory, at, (twists, 3))
    force, at = take(memory, at, (order + 1, 3))
    frame, at = take(memory, at, (order + 1, 4, 3))
    local, at = take(memory, at, (order + 1, 6))
    applied, _ = take(memory, at, (order + 1, 6))

    for i in range(n):
        p = parent[i]
        if i < floating:
            newton_euler.floating_base_pose(base_pose, pose[i], screw[i])
            factorial = 1.0
            for k in range(twists):
                factorial *= max(k, 1)
                for c in range(6):
                    twist[i, k, c] = base_twist[k, c] / factorial
        else:
            newton_euler.joint_pose(p, body_table[i], q[0, i - floating], pose, i, screw[i])
            factorial = 1.0
            for k in range(twists):
                factorial *= max(k, 1)
                rate[k] = q[k + 1, i - floating] / factorial
            parent_twist = twist[p] if p >= 0 else twist[0, :0]
            newton_euler.propagate_twist(0, twists, parent_twist, rate, screw[i], twist[i])
        newton_euler.com_position(body_table[i], pose[i], com)
        newton_euler.point_motion(1, twists + 1, twist[i], com)
        newton_euler.com_inertia(body_table[i], pose[i], inertia)
        newton_euler.inertia_rate(1, twists, twist[i], inertia)
        newton_euler.angular_momentum(1, twists, twist[i], inertia, spin)
        newton_euler.newton_euler_wrench(
            0, order + 1, body_table[i, MASS], gravity, com, spin, force, wrench[i])
        if wrenches.shape[0] > 0:
            factorial = 1.0
            for k in range(order + 1):
                factorial *= max(k, 1)
                for c in range(6):
                    local[k, c] = wrenches[k, i, c] / factorial
            newton_euler.body_frame_pose(body_in_kernel[i], pose[i], frame)
            newton_euler.body_frame_motion(1, order + 1, twist[i], frame)
            newton_euler.wrench_to_world(0, order + 1, frame, local, applied)
            for k in range(order + 1):
                for c in range(6):
                    wrench[i, k, c] -= applied[k, c]

    for i in range(n - 1, -1, -1):
        factorial = 1.0
        for k in range(order + 1):
            factorial *= max(k, 1)
            if i < floating:
                for c in range(6):
                    base_wrench[k, c] = factorial * wrench[i, k, c]
                continue
            total = 0.0
            for a in range(k + 1):
                for c in range(6):
                    total += screw[i, a, c] * wrench[i, k - a, c]
            torque[k, i - floating] = factorial * total
            if parent[i] >= 0:
                for c in range(6):
                    wrench[parent[i], k, c] += wrench[i, k, c]
