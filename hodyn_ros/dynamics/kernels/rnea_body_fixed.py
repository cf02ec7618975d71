"""RNEA, the recursive Newton-Euler algorithm: inverse dynamics, body-fixed, any order, for trees.

This is the recursion of KM21, section II (to second order M21, appendix B), for trees and floating
bases, in Taylor coefficients: V_k by Cauchy products, Π_k = M V_k, and
W_k = (k + 1) Π_{k+1} − Σ ad_{V_a}ᵀ Π_{k−a}, with no derivatives of joint screws or inertias.
Kernel frames replace the body frames: each joint turns about and moves along their z axis.
Gravity enters as an acceleration −g of the world, which starts from rest; poses and rotations are
not affected.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import newton_euler
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, kernel, step
from hodyn_ros.dynamics.kernels.newton_euler import cross_add, row6
from hodyn_ros.dynamics.kernels.workspace import (
    block,
    borrowed,
    check_shapes,
    new_workspace,
    take,
)
from hodyn_ros.robot.body_table import HOME_POSITION, HOME_ROTATION, ROTATION, TRANSLATION


@step
def workspace_size(n_bodies: int, order: int) -> int:
    """Return how many doubles of scratch memory the kernels need."""
    per_body, scratch = (3 + 6) * (order + 2) + 6 * (order + 1), (6 + 6 + 12) * (order + 2)
    return n_bodies * per_body + scratch


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory of the kernels."""
    return new_workspace(workspace_size, n_bodies, order)


@batch_kernel
def inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, base: tuple[Array, ...], wrenches: Array, q: Array, torque: Array,
) -> None:
    """Write Q and its derivatives for T motions; arguments as in `rnea_spatial`."""
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


@kernel
def single(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, q: Array, out: Array,
) -> None:
    """Write Q, Q̇, … of one motion without wrenches; arguments and errors as in `rnea_spatial`."""
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
    q, wrenches = borrowed(q), borrowed(wrenches)
    floating = n - torque.shape[1]
    twists = order + 2
    joint, at = take(memory, 0, (n, 3, twists))
    twist, at = take(memory, at, (n, twists, 6))
    wrench, at = take(memory, at, (n, order + 1, 6))
    above, at = take(memory, at, (twists, 6))
    momentum, at = take(memory, at, (twists, 6))
    frame, _ = take(memory, at, (twists, 4, 3))

    for i in range(n):
        if i < floating:
            _base_twist(base_pose, base_twist, gravity, above, momentum, frame, twist[i])
        else:
            if parent[i] >= 0:
                _twist_at_home(body_table[i], twist[parent[i]], above)
            else:
                _world_twist_at_home(body_table[i], gravity, above)
            _joint_coefficients(body_table[i], q[:, i - floating], joint[i])
            _joint_twist(body_table[i], q[:, i - floating], joint[i], above, twist[i])
        _newton_euler_wrench(body_table[i], twist[i], momentum, wrench[i])
        if wrenches.shape[0] > 0:
            subtract_external(wrenches[:, i], body_in_kernel[i], wrench[i])

    for i in range(n - 1, -1, -1):
        factorial = 1.0
        if i < floating:
            newton_euler.wrench_to_world(0, order + 1, frame, wrench[i], momentum)
            for k in range(order + 1):
                factorial *= max(k, 1)
                for c in range(6):
                    base_wrench[k, c] = factorial * momentum[k, c]
            continue
        rotation, translation = body_table[i, ROTATION], body_table[i, TRANSLATION]
        for k in range(order + 1):
            factorial *= max(k, 1)
            torque[k, i - floating] = factorial * (
                rotation * wrench[i, k, 2] + translation * wrench[i, k, 5])
        if parent[i] >= 0:
            _add_to_parent(body_table[i], joint[i], wrench[i], above, wrench[parent[i]])


@step
def _base_twist(
    base_pose: Array, base_twist: Array, gravity: Array, spatial: Array, velocity: Array,
    frame: Array, twist: Array,
) -> None:
    """Write the body-fixed twist Ad_C⁻¹ (V + (0, −g t)) of the base from the spatial one."""
    factorial = 1.0
    for k in range(twist.shape[0]):
        factorial *= max(k, 1)
        for c in range(6):
            spatial[k, c] = base_twist[k, c] / factorial
    for row in range(3):
        for c in range(4):
            frame[0, c, row] = base_pose[row, c]
    newton_euler.body_frame_motion(1, twist.shape[0], spatial, frame)
    for k in range(twist.shape[0]):  # `velocity` is the base origin's
        for c in range(3):
            velocity[k, c] = spatial[k, 3 + c]
            if k == 1:
                velocity[k, c] -= gravity[c]
        for a in range(k + 1):
            cross_add(spatial[a, :3], frame[k - a, 3], velocity[k, :3])
    for k in range(twist.shape[0]):
        for c in range(3):
            twist[k, c] = 0.0
            twist[k, 3 + c] = 0.0
            for a in range(k + 1):
                for row in range(3):
                    twist[k, c] += frame[a, c, row] * spatial[k - a, row]
                    twist[k, 3 + c] += frame[a, c, row] * velocity[k - a, row]


@step
def _world_twist_at_home(body: Array, gravity: Array, above: Array) -> None:
    """Write the world's twist, with acceleration −g, in the axes of a first joint at q = 0."""
    for k in range(above.shape[0]):
        for c in range(6):
            above[k, c] = 0.0
    for c in range(3):
        for row in range(3):
            above[1, 3 + c] -= body[HOME_ROTATION + 3 * row + c] * gravity[row]


@step
def _twist_at_home(body: Array, parent_twist: Array, above: Array) -> None:
    """Write the parent's twist in the joint's frame at q = 0, by the constant part of Ad."""
    px, py, pz = body[HOME_POSITION], body[HOME_POSITION + 1], body[HOME_POSITION + 2]
    for k in range(above.shape[0]):
        wx, wy, wz, vx, vy, vz = row6(parent_twist, k)
        vx += wy * pz - wz * py
        vy += wz * px - wx * pz
        vz += wx * py - wy * px
        for c in range(3):
            x, y, z = (
                body[HOME_ROTATION + c], body[HOME_ROTATION + 3 + c],
                body[HOME_ROTATION + 6 + c])
            above[k, c] = x * wx + y * wy + z * wz
            above[k, 3 + c] = x * vx + y * vy + z * vz


@step
def _joint_coefficients(body: Array, q: Array, joint: Array) -> None:
    """Write the coefficients of cos ρq, sin ρq and h q."""
    rotation, translation = body[ROTATION], body[TRANSLATION]
    cosine, sine, advance = joint
    cosine[0], sine[0], advance[0] = np.cos(rotation * q[0]), np.sin(rotation * q[0]), q[0]
    factorial = 1.0
    for k in range(1, len(sine)):
        factorial *= k
        advance[k] = q[k] / factorial
        cosine[k], sine[k] = 0.0, 0.0
        for a in range(1, k + 1):
            rate = rotation * a * advance[a] / k
            cosine[k] -= rate * sine[k - a]
            sine[k] += rate * cosine[k - a]
    for k in range(len(sine)):
        advance[k] *= translation


@step
def _joint_twist(
    body: Array, q: Array, joint: Array, above: Array, twist: Array,
) -> None:
    """Write V = Ad V_parent + X q̇ (M21 eq. 40); `above` is V_parent in the frame at q = 0."""
    rotation, translation = body[ROTATION], body[TRANSLATION]
    cosine, sine, advance = joint
    twists = twist.shape[0]
    if translation != 0.0:
        for k in range(twists):
            for a in range(k + 1):
                above[k, 3] += advance[a] * above[k - a, 1]
                above[k, 4] -= advance[a] * above[k - a, 0]
    factorial = 1.0
    for k in range(twists):
        factorial *= max(k, 1)
        rate = q[k + 1] / factorial
        if rotation == 0.0:
            for c in range(6):
                twist[k, c] = above[k, c]
        else:
            wx, wy, vx, vy = 0.0, 0.0, 0.0, 0.0
            for a in range(k + 1):
                c, s = cosine[a], sine[a]
                ax, ay, _, bx, by, _ = row6(above, k - a)
                wx += c * ax + s * ay
                wy += c * ay - s * ax
                vx += c * bx + s * by
                vy += c * by - s * bx
            twist[k, 0], twist[k, 1], twist[k, 2] = wx, wy, above[k, 2]
            twist[k, 3], twist[k, 4], twist[k, 5] = vx, vy, above[k, 5]
        twist[k, 2] += rotation * rate
        twist[k, 5] += translation * rate


@step
def _newton_euler_wrench(body: Array, twist: Array, momentum: Array, wrench: Array) -> None:
    """Write Π = M V and W = Π̇ − ad_Vᵀ Π (KM21 eq. 13), about the frame's origin."""
    for k in range(twist.shape[0]):
        wx, wy, wz, vx, vy, vz = row6(twist, k)
        (momentum[k, 0], momentum[k, 1], momentum[k, 2],
         momentum[k, 3], momentum[k, 4], momentum[k, 5]) = newton_euler.body_momentum(
            body, wx, wy, wz, vx, vy, vz)
    for k in range(wrench.shape[0]):
        mx, my, mz, fx, fy, fz = row6(momentum, k + 1)
        mx, my, mz = (k + 1) * mx, (k + 1) * my, (k + 1) * mz
        fx, fy, fz = (k + 1) * fx, (k + 1) * fy, (k + 1) * fz
        for a in range(k + 1):
            wx, wy, wz, vx, vy, vz = row6(twist, a)
            lx, ly, lz, px, py, pz = row6(momentum, k - a)
            mx += wy * lz - wz * ly + vy * pz - vz * py
            my += wz * lx - wx * lz + vz * px - vx * pz
            mz += wx * ly - wy * lx + vx * py - vy * px
            fx += wy * pz - wz * py
            fy += wz * px - wx * pz
            fz += wx * py - wy * px
        wrench[k, 0], wrench[k, 1], wrench[k, 2] = mx, my, mz
        wrench[k, 3], wrench[k, 4], wrench[k, 5] = fx, fy, fz


@step
def subtract_external(derivatives: Array, body_in_kernel: Array, wrench: Array) -> None:
    """Subtract the external wrench, after a constant change of axes and origin."""
    factorial = 1.0
    for k in range(wrench.shape[0]):
        factorial *= max(k, 1)
        for row in range(3):
            nxt, last = (row + 1) % 3, (row + 2) % 3
            moment, force = 0.0, 0.0
            for c in range(3):
                moment += body_in_kernel[row, c] * derivatives[k, c] / factorial
                force += body_in_kernel[row, c] * derivatives[k, 3 + c] / factorial
            wrench[k, row] -= moment
            wrench[k, 3 + row] -= force
            wrench[k, nxt] -= body_in_kernel[last, 3] * force
            wrench[k, last] += body_in_kernel[nxt, 3] * force


@step
def _add_to_parent(
    body: Array, joint: Array, wrench: Array, home: Array, parent_wrench: Array,
) -> None:
    """Add Adᵀ W to the parent's wrench, the transpose of `_twist_at_home` and `_joint_twist`."""
    rotation, translation = body[ROTATION], body[TRANSLATION]
    cosine, sine, advance = joint
    order = wrench.shape[0] - 1
    for k in range(order + 1):
        if rotation == 0.0:
            for c in range(6):
                home[k, c] = wrench[k, c]
            continue
        mx, my, fx, fy = 0.0, 0.0, 0.0, 0.0
        for a in range(k + 1):
            c, s = cosine[a], sine[a]
            ax, ay, _, bx, by, _ = row6(wrench, k - a)
            mx += c * ax - s * ay
            my += c * ay + s * ax
            fx += c * bx - s * by
            fy += c * by + s * bx
        home[k, 0], home[k, 1], home[k, 2] = mx, my, wrench[k, 2]
        home[k, 3], home[k, 4], home[k, 5] = fx, fy, wrench[k, 5]
    if translation != 0.0:
        for k in range(order + 1):
            for a in range(k + 1):
                home[k, 0] -= advance[a] * home[k - a, 4]
                home[k, 1] += advance[a] * home[k - a, 3]
    px, py, pz = body[HOME_POSITION], body[HOME_POSITION + 1], body[HOME_POSITION + 2]
    for k in range(order + 1):
        mx, my, mz, fx, fy, fz = row6(home, k)
        for row in range(3):
            x, y, z = (
                body[HOME_ROTATION + 3 * row], body[HOME_ROTATION + 3 * row + 1],
                body[HOME_ROTATION + 3 * row + 2])
            parent_wrench[k, row] += x * mx + y * my + z * mz
            home[k, 3 + row] = x * fx + y * fy + z * fz
            parent_wrench[k, 3 + row] += home[k, 3 + row]
        fx, fy, fz = home[k, 3], home[k, 4], home[k, 5]
        parent_wrench[k, 0] += py * fz - pz * fy
        parent_wrench[k, 1] += pz * fx - px * fz
        parent_wrench[k, 2] += px * fy - py * fx
