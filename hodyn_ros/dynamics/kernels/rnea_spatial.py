"""Inverse dynamics to any order in spatial representation, for trees: the O(n) recursion.

Algorithms 1 and 3 of M21, for trees and a floating base Algorithms 1 and 2 (H-GRNE) of AGF26,
written for Taylor coefficients, so that one loop serves every order.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels import bodies
from hodyn_ros.dynamics.kernels.bodies import kernel
from hodyn_ros.dynamics.kernels.workspace import block, borrowed
from hodyn_ros.robot import Tree

Array = NDArray[np.float64]


def workspace(tree: Tree, order: int) -> Array:
    """Return the scratch memory that `inverse_dynamics` needs for this tree and order."""
    return np.empty(len(tree.parent) * _per_body(order) + _scratch(order))


@kernel
def _per_body(order: int) -> int:
    return 12 + 6 * (order + 2) + 6 * (order + 2) + 6 * (order + 1)


@kernel
def _scratch(order: int) -> int:
    return (1 + 3 + 6 + 3 + 3) * (order + 3) + (12 + 6 + 6) * (order + 1)


@kernel
def inverse_dynamics(
    parent: NDArray[np.int64], constants: Array, body_in_kernel: Array, gravity: Array, q: Array,
    wrenches: Array, torque: Array, memory: Array,
) -> None:
    """Write Q and its derivatives for one motion; nothing is allocated or checked.

    Parameters
    ----------
    parent, constants, body_in_kernel : (n_bodies,), (n_bodies, 30), (n_bodies, 4, 4) arrays
        Of a `Tree`.
    gravity : (3,) array
        m/s².
    q : (r + 3, n) array
        Joint positions and derivatives.
    wrenches : (r + 1, n_bodies, 6) array
        Of the environment on the bodies, in body axes about the body origins; or (0, 0, 0) for
        none.
    torque : (r + 1, n) array
        Written.
    memory : array
        Of `workspace`.

    """
    none = block(memory, 0, (0, 1))
    inverse_dynamics_floating(
        parent, constants, body_in_kernel, gravity, q, none, none, wrenches, torque, none, memory)


@kernel
def inverse_dynamics_floating(
    parent: NDArray[np.int64], constants: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, wrenches: Array, torque: Array, base_wrench: Array,
    memory: Array,
) -> None:
    """The same on a floating base, which body 0 then is.

    Parameters
    ----------
    parent, constants, body_in_kernel, gravity, q, wrenches, torque, memory
        As for `inverse_dynamics`.
    base_pose, base_twist : (4, 4) and (r + 2, 6) arrays
        The spatial twist and its derivatives; (0, 1) each for a fixed base.
    base_wrench : (r + 1, 6) array
        Written: what must act on the base, in world axes about the world origin.

    """
    order, n = torque.shape[0] - 1, len(parent)
    constants, body_in_kernel = borrowed(constants), borrowed(body_in_kernel)
    floating = n - torque.shape[1]
    jets = order + 2
    pose = block(memory, 0, (n, 12))
    size = n * 12
    screw = block(memory, size, (n, jets, 6))
    size += n * jets * 6
    twist = block(memory, size, (n, jets, 6))
    size += n * jets * 6
    wrench = block(memory, size, (n, order + 1, 6))
    size += n * (order + 1) * 6
    rate = block(memory, size, (jets,))
    size += jets
    com = block(memory, size, (jets + 1, 3))
    size += (jets + 1) * 3
    inertia = block(memory, size, (jets, 6))
    size += jets * 6
    spin = block(memory, size, (jets, 3))
    size += jets * 3
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
            bodies.place_base(base_pose, pose[i], screw[i])
            factorial = 1.0
            for k in range(jets):
                factorial *= max(k, 1)
                for c in range(6):
                    twist[i, k, c] = base_twist[k, c] / factorial
        else:
            bodies.place(p, constants[i], q[0, i - floating], pose, i, screw[i])
            factorial = 1.0
            for k in range(jets):
                factorial *= max(k, 1)
                rate[k] = q[k + 1, i - floating] / factorial
            above = twist[p] if p >= 0 else twist[0, :0]
            bodies.move(0, jets, above, rate, screw[i], twist[i])
        bodies.place_com(constants[i], pose[i], com)
        bodies.follow(1, jets + 1, twist[i], com)
        bodies.place_inertia(constants[i], pose[i], inertia)
        bodies.turn_inertia(1, jets, twist[i], inertia)
        bodies.spin_momentum(1, jets, twist[i], inertia, spin)
        bodies.balance(
            0, order + 1, constants[i, 14], gravity, com, spin, force, wrench[i])
        if wrenches.shape[0] > 0:
            factorial = 1.0
            for k in range(order + 1):
                factorial *= max(k, 1)
                for c in range(6):
                    local[k, c] = wrenches[k, i, c] / factorial
            bodies.place_frame(body_in_kernel[i], pose[i], frame)
            bodies.follow_frame(1, order + 1, twist[i], frame)
            bodies.to_world(0, order + 1, frame, local, applied)
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


@kernel
def inverse_dynamics_batch(
    parent: NDArray[np.int64], constants: Array, body_in_kernel: Array, gravity: Array, q: Array,
    wrenches: Array, torque: Array, memory: Array,
) -> None:
    """The same for T motions: q (T, r + 3, n), wrenches (T, …) or (1, 0, 0, 0), torque (T, …)."""
    for t in range(q.shape[0]):
        w = wrenches[t] if wrenches.shape[1] > 0 else wrenches[0]
        inverse_dynamics(parent, constants, body_in_kernel, gravity, q[t], w, torque[t], memory)


@kernel
def inverse_dynamics_floating_batch(
    parent: NDArray[np.int64], constants: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, wrenches: Array, torque: Array, base_wrench: Array,
    memory: Array,
) -> None:
    """`inverse_dynamics_floating` for T motions, T on the first axis of all but the tree."""
    for t in range(q.shape[0]):
        w = wrenches[t] if wrenches.shape[1] > 0 else wrenches[0]
        inverse_dynamics_floating(
            parent, constants, body_in_kernel, gravity, q[t], base_pose[t], base_twist[t], w,
            torque[t], base_wrench[t], memory)
