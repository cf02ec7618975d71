"""Bodies in `LANES` motions side by side: joint screws, inertias and wrenches of subtrees.

Each motion by the steps of `newton_euler`, then all of them at once, in Taylor coefficients and
world axes. On a floating base all is about the base's origin, so that a base far away costs no
digits. The weight is in the wrenches, and in the accelerations as one of −g of the world.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels import lanes, newton_euler
from hodyn_ros.dynamics.kernels.decorators import kernel, step
from hodyn_ros.dynamics.kernels.lanes import LANES, Number, put3, put6, row3, row6
from hodyn_ros.dynamics.kernels.workspace import block
from hodyn_ros.robot.body_table import MASS

Array = NDArray[np.float64]


class Motion(NamedTuple):
    """One motion of the bodies in newton_euler's coefficients: that of all, and of the last body.

    Attributes
    ----------
    pose, twist : (n, 12) and (n, r + 3, 6) arrays
        Pose of the kernel frame, rows of R then r, and V, whose last coefficient is not known.
    rate, screw : (r + 3,) and (r + 3, 6) arrays
        q̇ and S.
    com, inertia, spin : (r + 3, 3), (r + 2, 6) and (r + 2, 3) arrays
        Centre of mass, inertia and angular momentum about it.
    force, wrench : (r + 1, 3) and (r + 1, 6) arrays
        Of the motion.
    frame, local, applied : (r + 1, 4, 3), (r + 1, 6) and (r + 1, 6) arrays
        Body frame, and external wrench in it and in world axes.
    origin : (3,) array
        Of a floating base.

    """

    pose: Array
    twist: Array
    rate: Array
    screw: Array
    com: Array
    inertia: Array
    spin: Array
    force: Array
    wrench: Array
    frame: Array
    local: Array
    applied: Array
    origin: Array


class Bodies(NamedTuple):
    """What the derivatives are made of, of `LANES` motions: (n, coefficients, …, LANES).

    Attributes
    ----------
    screw : (n, r + 3, 6, LANES) array
        S of the joint.
    rate, acceleration : (n, r + 1, 6, LANES) arrays
        Ṡ = v × S and S̈ + (0, −g) × S, with v of the parent: how velocity and acceleration of the
        bodies beyond change with the joint's position.
    com, inertia, spin : (n, r + 3, 3, LANES), (n, r + 2, 6, LANES), (n, r + 2, 3, LANES) arrays
        Of the body alone as in `Motion`, then summed up over its subtree: mass times position,
        inertia and angular momentum about the origin.
    wrench : (n, r + 1, 6, LANES) array
        What the joint transmits.
    mass : (n,) array
        Of the subtree.

    """

    screw: Array
    rate: Array
    acceleration: Array
    com: Array
    inertia: Array
    spin: Array
    wrench: Array
    mass: Array


@kernel
def size(n: int, orders: int) -> int:
    """Return how many doubles the arrays of both take, for n bodies and r + 1 = orders."""
    motion = 12 * n + 6 * n * (orders + 2) + 10 * (orders + 2) + 9 * (orders + 1) + 33 * orders
    return motion + 3 + n + LANES * n * (9 * (orders + 2) + 9 * (orders + 1) + 18 * orders)


@step
def cut(memory: Array, n: int, orders: int) -> tuple[Motion, Bodies]:
    """Return the arrays, which start at the memory's begin."""
    k, start = orders, 12 * n + 6 * n * (orders + 2)
    low = start + 10 * (k + 2) + 9 * (k + 1)
    motion = Motion(
        block(memory, 0, (n, 12)), block(memory, 12 * n, (n, k + 2, 6)),
        block(memory, start, (k + 2,)), block(memory, start + k + 2, (k + 2, 6)),
        block(memory, start + 7 * (k + 2), (k + 2, 3)),
        block(memory, start + 10 * (k + 2), (k + 1, 6)),
        block(memory, start + 10 * (k + 2) + 6 * (k + 1), (k + 1, 3)),
        block(memory, low, (k, 3)), block(memory, low + 3 * k, (k, 6)),
        block(memory, low + 9 * k, (k, 4, 3)), block(memory, low + 21 * k, (k, 6)),
        block(memory, low + 27 * k, (k, 6)), block(memory, low + 33 * k, (3,)))
    start, row = low + 33 * k + 3, n * LANES
    one, two = start + 9 * row * (k + 2), start + 9 * row * (k + 2) + 9 * row * (k + 1)
    return motion, Bodies(
        block(memory, start, (n, k + 2, 6, LANES)), block(memory, two, (n, k, 6, LANES)),
        block(memory, two + 6 * row * k, (n, k, 6, LANES)),
        block(memory, start + 6 * row * (k + 2), (n, k + 2, 3, LANES)),
        block(memory, one, (n, k + 1, 6, LANES)),
        block(memory, one + 6 * row * (k + 1), (n, k + 1, 3, LANES)),
        block(memory, two + 12 * row * k, (n, k, 6, LANES)),
        block(memory, two + 18 * row * k, (n,)))


@step
def move(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, wrenches: Array, motion: Motion, bodies: Bodies,
    lane: int,
) -> None:
    """Move all bodies by one motion, and write to its lane what the derivatives need of each."""
    n, orders = len(parent), len(motion.wrench)
    floating = n - q.shape[1]
    pose, twist, rate, com = motion.pose, motion.twist, motion.rate, motion.com
    inertia, spin, wrench = motion.inertia, motion.spin, motion.wrench
    for i in range(n):
        p, body = parent[i], body_table[i]
        factorial = 1.0
        if i < floating:
            newton_euler.floating_base_pose(base_pose, pose[i], motion.screw)
            for c in range(3):
                motion.origin[c], pose[i, 9 + c] = base_pose[c, 3], 0.0
            for k in range(orders + 1):
                factorial *= max(k, 1)
                for c in range(6):
                    twist[i, k, c] = base_twist[k, c] / factorial
                newton_euler.cross_add(twist[i, k, :3], motion.origin, twist[i, k, 3:])
        else:
            newton_euler.joint_pose(p, body, q[0, i - floating], pose, i, motion.screw)
            for k in range(orders + 1):
                factorial *= max(k, 1)
                rate[k] = q[k + 1, i - floating] / factorial
            rate[orders + 1] = 0.0  # not known, nor needed but for the last twist
            above = twist[p] if p >= 0 else twist[0, :0]
            newton_euler.propagate_twist(0, orders + 2, above, rate, motion.screw, twist[i])
            lanes.put_lane(motion.screw, lane, bodies.screw[i])
        newton_euler.com_position(body, pose[i], com)
        newton_euler.point_motion(1, orders + 2, twist[i], com)
        newton_euler.com_inertia(body, pose[i], inertia)
        newton_euler.inertia_rate(1, orders + 1, twist[i], inertia)
        newton_euler.angular_momentum(0, orders + 1, twist[i], inertia, spin)
        newton_euler.newton_euler_wrench(
            0, orders, body[MASS], gravity, com, spin, motion.force, wrench)
        if wrenches.shape[0] > 0:
            factorial = 1.0
            for k in range(orders):
                factorial *= max(k, 1)
                for c in range(6):
                    motion.local[k, c] = wrenches[k, i, c] / factorial
            newton_euler.body_frame_pose(body_in_kernel[i], pose[i], motion.frame)
            newton_euler.body_frame_motion(1, orders, twist[i], motion.frame)
            newton_euler.wrench_to_world(0, orders, motion.frame, motion.local, motion.applied)
            for k in range(orders):
                for c in range(6):
                    wrench[k, c] -= motion.applied[k, c]
        lanes.put_lane(com, lane, bodies.com[i])
        lanes.put_lane(inertia, lane, bodies.inertia[i])
        lanes.put_lane(spin, lane, bodies.spin[i])
        lanes.put_lane(wrench, lane, bodies.wrench[i])


@step
def complete(body_table: Array, gravity: Array, bodies: Bodies) -> None:
    """Write what follows from the motions: rates of the screws, inertias about the origin."""
    for i in range(len(body_table)):
        bodies.mass[i] = body_table[i, MASS]
        _screw_rates(bodies, i, gravity)
        _about_origin(bodies, i)


@step
def _screw_rates(bodies: Bodies, i: int, gravity: Array) -> None:
    """Write Ṡ, and S̈ + (0, −g) × S."""
    screw, gx, gy, gz = bodies.screw[i], gravity[0], gravity[1], gravity[2]
    for k in range(bodies.rate.shape[1]):
        x, y, z = row3(screw, 2 * k)
        s = float(k + 1)
        a, b, c, d, e, f = row6(screw, k + 1)
        put6(bodies.rate[i], k, s * a, s * b, s * c, s * d, s * e, s * f)
        s *= k + 2
        a, b, c, d, e, f = row6(screw, k + 2)
        put6(bodies.acceleration[i], k, s * a, s * b, s * c, s * d + (y * gz - z * gy),
             s * e + (z * gx - x * gz), s * f + (x * gy - y * gx))


@step
def _about_origin(bodies: Bodies, i: int) -> None:
    """Replace a body's centre of mass, inertia and angular momentum by those about the origin."""
    mass, com, inertia, spin = bodies.mass[i], bodies.com[i], bodies.inertia[i], bodies.spin[i]
    for k in range(len(inertia)):
        xx, yy, zz, xy, xz, yz = row6(inertia, k)
        lx, ly, lz = row3(spin, k)
        for a in range(k + 1):
            x, y, z = row3(com, a)
            x, y, z = mass * x, mass * y, mass * z
            u, v, w = row3(com, k - a)
            xx, yy, zz = xx + (y * v + z * w), yy + (x * u + z * w), zz + (x * u + y * v)
            xy, xz, yz = xy - x * v, xz - x * w, yz - y * w
            u, v, w = row3(com, k - a + 1)
            s = float(k - a + 1)
            lx, ly, lz = (
                lx + s * (y * w - z * v), ly + s * (z * u - x * w), lz + s * (x * v - y * u))
        put6(inertia, k, xx, yy, zz, xy, xz, yz)
        put3(spin, k, lx, ly, lz)
    for k in range(len(com)):
        x, y, z = row3(com, k)
        put3(com, k, mass * x, mass * y, mass * z)


@step
def add_subtree(bodies: Bodies, i: int, parent: int) -> None:
    """Add the sums over the bodies from i on to those of its parent."""
    bodies.mass[parent] += bodies.mass[i]
    lanes.add(bodies.com[parent], bodies.com[i])
    lanes.add(bodies.inertia[parent], bodies.inertia[i])
    lanes.add(bodies.spin[parent], bodies.spin[i])
    lanes.add(bodies.wrench[parent], bodies.wrench[i])


@step
def momentum(
    bodies: Bodies, i: int, motion: Array, k: int,
) -> tuple[Number, Number, Number, Number, Number, Number]:
    """Return coefficient k of the inertia of a subtree times a motion."""
    mx, my, mz = lanes.zero(), lanes.zero(), lanes.zero()
    fx, fy, fz = row3(motion, 2 * k + 1)
    mass = bodies.mass[i]
    fx, fy, fz = mass * fx, mass * fy, mass * fz
    for a in range(k + 1):
        x, y, z, u, v, w = row6(motion, k - a)
        cx, cy, cz = row3(bodies.com[i], a)
        xx, yy, zz, xy, xz, yz = row6(bodies.inertia[i], a)
        mx, my, mz = (
            mx + (xx * x + xy * y + xz * z + cy * w - cz * v),
            my + (xy * x + yy * y + yz * z + cz * u - cx * w),
            mz + (xz * x + yz * y + zz * z + cx * v - cy * u))
        fx, fy, fz = fx + (y * cz - z * cy), fy + (z * cx - x * cz), fz + (x * cy - y * cx)
    return mx, my, mz, fx, fy, fz
