"""RNEA, the recursive Newton-Euler algorithm: inverse dynamics, spatial, any order, for trees.

Algorithms 1 and 3 of M21, for trees and a floating base Algorithms 1 and 2 (H-GRNE) of AGF26,
in Taylor coefficients, so that one loop serves every order.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels import bodies
from hodyn_ros.dynamics.kernels.decorators import kernel
from hodyn_ros.dynamics.kernels.workspace import block, borrowed
from hodyn_ros.robot.body_table import MASS

Array = NDArray[np.float64]


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory that `inverse_dynamics` needs."""
    per_body = 12 + (6 + 6) * (order + 2) + 6 * (order + 1)
    scratch = (1 + 3 + 6 + 3 + 3) * (order + 3) + (12 + 6 + 6) * (order + 1)
    return np.empty(n_bodies * per_body + scratch)


@kernel
def inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, wrenches: Array, torque: Array, base_wrench: Array,
    memory: Array,
) -> None:
    """Write Q and its derivatives for T ≥ 1 motions; nothing is allocated or checked.

    Parameters
    ----------
    parent, body_table, body_in_kernel : (n_bodies,), (n_bodies, 30), (n_bodies, 4, 4) arrays
        From the `KernelModel`.
    gravity : (3,) array
        m/s².
    q : (T, r + 3, n) array
        Joint positions and derivatives.
    base_pose, base_twist : (T, 4, 4) and (T, r + 2, 6) arrays
        Pose of a floating base, which body 0 then is, and its spatial twist with derivatives;
        (1, 0, 0) each for a fixed base.
    wrenches : (T, r + 1, n_bodies, 6) array
        External wrenches on the bodies, in body axes about the body origins; (1, 0, 0, 0) for
        none.
    torque : (T, r + 1, n) array
        Written.
    base_wrench : (T, r + 1, 6) array
        Written: the wrench that must act on a floating base, in world axes about the world
        origin; (1, 0, 0) for a fixed base.
    memory : array
        From `workspace`.

    """
    floating, forced = len(parent) - q.shape[2], min(wrenches.shape[1], 1)
    for t in range(q.shape[0]):
        b, w = t * floating, t * forced
        _inverse_dynamics(
            parent, body_table, body_in_kernel, gravity, q[t], base_pose[b], base_twist[b],
            wrenches[w], torque[t], base_wrench[b], memory)


@kernel
def _inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, wrenches: Array, torque: Array, base_wrench: Array,
    memory: Array,
) -> None:
    """The same for one motion, without the first axis."""
    order, n = torque.shape[0] - 1, len(parent)
    body_table, body_in_kernel = borrowed(body_table), borrowed(body_in_kernel)
    floating = n - torque.shape[1]
    twists = order + 2
    pose = block(memory, 0, (n, 12))
    size = n * 12
    screw = block(memory, size, (n, twists, 6))
    size += n * twists * 6
    twist = block(memory, size, (n, twists, 6))
    size += n * twists * 6
    wrench = block(memory, size, (n, order + 1, 6))
    size += n * (order + 1) * 6
    rate = block(memory, size, (twists,))
    size += twists
    com = block(memory, size, (twists + 1, 3))
    size += (twists + 1) * 3
    inertia = block(memory, size, (twists, 6))
    size += twists * 6
    spin = block(memory, size, (twists, 3))
    size += twists * 3
    force = block(memory, size, (order + 1, 3))
    size += (order + 1) * 3
    frame = block(memory, size, (order + 1, 4, 3))
    size += (order + 1) * 12
    local = block(memory, size, (order + 1, 6))
    size += (order + 1) * 6
    applied = block(memory, size, (order + 1, 6))

    for i in range(n):
        p = parent[i]
        if i < floating:
            bodies.floating_base_pose(base_pose, pose[i], screw[i])
            factorial = 1.0
            for k in range(twists):
                factorial *= max(k, 1)
                for c in range(6):
                    twist[i, k, c] = base_twist[k, c] / factorial
        else:
            bodies.joint_pose(p, body_table[i], q[0, i - floating], pose, i, screw[i])
            factorial = 1.0
            for k in range(twists):
                factorial *= max(k, 1)
                rate[k] = q[k + 1, i - floating] / factorial
            parent_twist = twist[p] if p >= 0 else twist[0, :0]
            bodies.propagate_twist(0, twists, parent_twist, rate, screw[i], twist[i])
        bodies.com_position(body_table[i], pose[i], com)
        bodies.point_motion(1, twists + 1, twist[i], com)
        bodies.com_inertia(body_table[i], pose[i], inertia)
        bodies.inertia_rate(1, twists, twist[i], inertia)
        bodies.angular_momentum(1, twists, twist[i], inertia, spin)
        bodies.newton_euler_wrench(
            0, order + 1, body_table[i, MASS], gravity, com, spin, force, wrench[i])
        if wrenches.shape[0] > 0:
            factorial = 1.0
            for k in range(order + 1):
                factorial *= max(k, 1)
                for c in range(6):
                    local[k, c] = wrenches[k, i, c] / factorial
            bodies.body_frame_pose(body_in_kernel[i], pose[i], frame)
            bodies.body_frame_motion(1, order + 1, twist[i], frame)
            bodies.wrench_to_world(0, order + 1, frame, local, applied)
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
