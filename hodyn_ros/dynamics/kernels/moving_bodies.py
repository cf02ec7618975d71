"""Bodies in `LANES` motions side by side: joint screws, inertias and wrenches of subtrees.

All quantities are Taylor coefficients in world axes. With a floating base they are about the
base's origin, so that a base far from the world's origin costs no digits. A body has the mass m,
the first moment h (mass times position), the inertia Θ about the origin, and the momentum
(Θ ω + h × v, m v − h × ω). All of these can be summed over bodies.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import lanes, newton_euler
from hodyn_ros.dynamics.kernels.decorators import kernel, step
from hodyn_ros.dynamics.kernels.lanes import LANES, Number, put3, put6, read, row3, row6, write
from hodyn_ros.dynamics.kernels.workspace import block
from hodyn_ros.robot.body_table import MASS, ROTATION, TRANSLATION
from hodyn_ros.robot.inertia import SYMMETRIC_ENTRIES


class Scratch(NamedTuple):
    """Scratch arrays for an external wrench on one body in one motion."""

    #: `pose`, `twist`: (12,) and (r + 1, 6): pose of the kernel frame, rows of R then r; V
    pose: Array
    twist: Array
    #: `frame`, `local`, `applied`: (r + 1, 4, 3), (r + 1, 6) and (r + 1, 6): body frame, and
    #: external wrench in it and in world axes
    frame: Array
    local: Array
    applied: Array


class Bodies(NamedTuple):
    """The arrays from which the derivatives are computed.

    n is the number of bodies, plus six for the unit twists of a floating base.
    """

    #: (n + 1, 12, LANES): poses of the kernel frames, rows of R then r; the last, at index −1, is
    #: the world's
    pose: Array
    #: `screw`, `twist`: (n, r + 3, 6, LANES) and (n, r + 2, 6, LANES): S of the joint and V of the
    #: body
    screw: Array
    twist: Array
    #: `rate`, `acceleration`: (n, r + 1, 6, LANES): Ṡ = v × S, with the parent's twist v, and
    #: S̈ + (0, −g) × S. They are the derivatives of twist and acceleration of the bodies beyond
    #: the joint with respect to its position
    rate: Array
    acceleration: Array
    #: `first`, `inertia`, `spin`: (n, r + 3, 3, LANES), (n, r + 2, 6, LANES), (n, r + 2, 3,
    #: LANES): first moment, inertia and angular momentum about the origin. Like wrench and mass,
    #: they are first those of the body, then those of its subtree.
    first: Array
    inertia: Array
    spin: Array
    wrench: Array  #: (n, r + 1, 6, LANES): wrench that the joint transmits, including the weight
    mass: Array  #: (n,): masses, kg
    #: `motion`, `turn`: (r + 3, LANES) and (2, LANES): scratch: q, q̇, … of a joint; sine and
    #: cosine
    motion: Array
    turn: Array


@kernel
def size(n: int, orders: int) -> int:
    """Return the number of doubles of `Scratch` and `Bodies`, for n bodies and r + 1 = orders."""
    bodies = 12 + 9 * (orders + 2) + 15 * (orders + 1) + 18 * orders
    rest = n + 12 + 30 * orders
    return LANES * (n * bodies + 12 + orders + 4 + (rest + LANES - 1) // LANES)


@step
def cut(memory: Array, n: int, orders: int) -> tuple[Scratch, Bodies]:
    """Return the arrays, from the start of the memory on."""
    k, row = orders, n * LANES
    start = row * 12 + 12 * LANES
    one = start + 9 * row * (k + 2)
    two = one + 15 * row * (k + 1)
    three = two + 18 * row * k
    four = three + LANES * (k + 4)
    bodies = Bodies(
        block(memory, 0, (n + 1, 12, LANES)),
        block(memory, start, (n, k + 2, 6, LANES)), block(memory, one, (n, k + 1, 6, LANES)),
        block(memory, two, (n, k, 6, LANES)), block(memory, two + 6 * row * k, (n, k, 6, LANES)),
        block(memory, start + 6 * row * (k + 2), (n, k + 2, 3, LANES)),
        block(memory, one + 6 * row * (k + 1), (n, k + 1, 6, LANES)),
        block(memory, one + 12 * row * (k + 1), (n, k + 1, 3, LANES)),
        block(memory, two + 12 * row * k, (n, k, 6, LANES)), block(memory, four, (n,)),
        block(memory, three, (k + 2, LANES)), block(memory, three + LANES * (k + 2), (2, LANES)))
    four += n
    return Scratch(
        block(memory, four, (12,)), block(memory, four + 12, (k, 6)),
        block(memory, four + 12 + 6 * k, (k, 4, 3)), block(memory, four + 12 + 18 * k, (k, 6)),
        block(memory, four + 12 + 24 * k, (k, 6))), bodies


@step
def move(
    parent: NDArray[np.int64], body_table: Array, gravity: Array, base: tuple[Array, ...],
    q: Array, t: int, bodies: Bodies,
) -> None:
    """Compute the motion of all bodies in `LANES` motions from t on.

    Lanes beyond the end of the batch repeat its last motion.
    """
    floating, last = len(parent) - q.shape[2], q.shape[0] - 1
    bodies.pose[-1] = 0.0
    bodies.pose[-1, 0] = bodies.pose[-1, 4] = bodies.pose[-1, 8] = 1.0
    for i in range(len(parent)):
        if i < floating:
            if len(base) > 0:
                for lane in range(LANES):
                    s = min(t + lane, last)
                    _place_base(base[0][s], base[1][s], bodies, lane)
        else:
            for k in range(len(bodies.motion)):
                for lane in range(LANES):
                    bodies.motion[k, lane] = q[min(t + lane, last), k, i - floating]
            _place(bodies.pose[parent[i]], body_table[i], bodies, i)
            _propagate_twist(bodies, parent[i], i)
            _screw_rates(bodies, i, gravity)
        _place_mass(body_table[i], bodies, i)
        _move_mass(bodies, i)
        _momentum_and_wrench(bodies, i, gravity)


@step
def _place_base(base_pose: Array, base_twist: Array, bodies: Bodies, lane: int) -> None:
    """Write one lane of a floating base's pose and twist, about the base's origin."""
    pose, twist = bodies.pose[0], bodies.twist[0]
    for row in range(3):
        for column in range(3):
            pose[3 * row + column, lane] = base_pose[row, column]
        pose[9 + row, lane] = 0.0
    factorial = 1.0
    for k in range(len(twist)):
        factorial *= max(k, 1)
        for c in range(6):
            twist[k, c, lane] = base_twist[k, c] / factorial
        newton_euler.cross_add(twist[k, :3, lane], base_pose[:3, 3], twist[k, 3:, lane])


@step
def _place(above: Array, body: Array, bodies: Bodies, i: int) -> None:
    """Write the pose of a kernel frame, from its parent's, and the joint's screw."""
    pose, like = bodies.pose[i], lanes.zero()
    lanes.sine_cosine(body[ROTATION], bodies.motion, bodies.turn)
    sine, cosine = read(bodies.turn, 0, like), read(bodies.turn, LANES, like)
    slide = body[TRANSLATION] * read(bodies.motion, 0, like)
    for row in range(3):
        a, b, c = row3(above, row)
        x, y, z, r = newton_euler.pose_row(
            body, a, b, c, read(above, (9 + row) * LANES, like), cosine, sine, slide)
        put3(pose, row, x, y, z)
        write(pose, (9 + row) * LANES, r)
    x, y, z = row3(pose, 3)
    put6(bodies.screw[i], 0, *newton_euler.joint_screw(
        body, read(pose, 2 * LANES, like), read(pose, 5 * LANES, like),
        read(pose, 8 * LANES, like), x, y, z))


@step
def _place_mass(body: Array, bodies: Bodies, i: int) -> None:
    """Write the mass, the centre of mass (later replaced by h), and the inertia about it."""
    pose, like = bodies.pose[i], lanes.zero()
    bodies.mass[i] = body[MASS]
    for row in range(3):
        a, b, c = row3(pose, row)
        write(bodies.first[i], row * LANES, newton_euler.com_row(
            body, a, b, c, read(pose, (9 + row) * LANES, like)))
    for entry, (row, column) in enumerate(SYMMETRIC_ENTRIES):
        a, b, c = row3(pose, row)
        d, e, f = row3(pose, column)
        write(bodies.inertia[i], entry * LANES, newton_euler.inertia_entry(
            body, a, b, c, d, e, f))


@step
def _propagate_twist(bodies: Bodies, parent: int, i: int) -> None:
    """Write joint screw and twist as `newton_euler.propagate_twist` does: Ṡ = ad_V S, V += S q̇."""
    screw, twist, like = bodies.screw[i], bodies.twist[i], lanes.zero()
    part = 1.0
    for k in range(1, len(twist)):  # coefficients of q̇
        part /= k
        write(bodies.motion, (k + 1) * LANES, part * read(bodies.motion, (k + 1) * LANES, like))
    for k in range(len(screw)):
        if k > 0:
            x, y, z, u, v, w = like, like, like, like, like, like
            for a in range(k):
                dx, dy, dz, du, dv, dw = crossed(twist, a, screw, k - 1 - a)
                x, y, z, u, v, w = x + dx, y + dy, z + dz, u + du, v + dv, w + dw
            part = 1.0 / k
            put6(screw, k, part * x, part * y, part * z, part * u, part * v, part * w)
        if k < len(twist):
            x, y, z, u, v, w = like, like, like, like, like, like
            if parent >= 0:
                x, y, z, u, v, w = row6(bodies.twist[parent], k)
            for b in range(k + 1):
                sx, sy, sz, su, sv, sw = row6(screw, k - b)
                rate = read(bodies.motion, (b + 1) * LANES, like)
                x, y, z = x + sx * rate, y + sy * rate, z + sz * rate
                u, v, w = u + su * rate, v + sv * rate, w + sw * rate
            put6(twist, k, x, y, z, u, v, w)


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
def crossed(
    twist: Array, a: int, screw: Array, b: int,
) -> tuple[Number, Number, Number, Number, Number, Number]:
    """Return the screw product of twist coefficient a and screw coefficient b."""
    px, py, pz, pu, pv, pw = row6(twist, a)
    sx, sy, sz, su, sv, sw = row6(screw, b)
    return (
        py * sz - pz * sy, pz * sx - px * sz, px * sy - py * sx,
        pv * sz - pw * sy + py * sw - pz * sv, pw * sx - pu * sz + pz * su - px * sw,
        pu * sy - pv * sx + px * sv - py * su)


@step
def _move_mass(bodies: Bodies, i: int) -> None:
    """Write h and Θ about the origin, with İ = v ×* I − I v ×."""
    mass, twist = bodies.mass[i], bodies.twist[i]
    first, inertia = bodies.first[i], bodies.inertia[i]
    x, y, z = row3(first, 0)
    hx, hy, hz = mass * x, mass * y, mass * z
    put3(first, 0, hx, hy, hz)
    xx, yy, zz, xy, xz, yz = row6(inertia, 0)
    put6(inertia, 0, xx + (y * hy + z * hz), yy + (x * hx + z * hz), zz + (x * hx + y * hy),
         xy - x * hy, xz - x * hz, yz - y * hz)
    like = lanes.zero()
    for k in range(1, len(first)):
        part = 1.0 / k
        u, v, w = row3(twist, 2 * k - 1)
        u, v, w = mass * u, mass * v, mass * w
        ixx, iyy, izz, ixy, ixz, iyz = like, like, like, like, like, like
        for a in range(k):
            x, y, z, vx, vy, vz = row6(twist, a)
            hx, hy, hz = row3(first, k - 1 - a)
            u, v, w = u + (y * hz - z * hy), v + (z * hx - x * hz), w + (x * hy - y * hx)
            xx, yy, zz, xy, xz, yz = row6(inertia, k - 1 - a)
            ixx = ixx + 2.0 * (y * xz - z * xy + vy * hy + vz * hz)
            iyy = iyy + 2.0 * (z * xy - x * yz + vx * hx + vz * hz)
            izz = izz + 2.0 * (x * yz - y * xz + vx * hx + vy * hy)
            ixy = ixy + (z * (xx - yy) + y * yz - x * xz - vx * hy - vy * hx)
            ixz = ixz + (y * (zz - xx) + x * xy - z * yz - vx * hz - vz * hx)
            iyz = iyz + (x * (yy - zz) + z * xz - y * xy - vy * hz - vz * hy)
        put3(first, k, part * u, part * v, part * w)
        if k < len(inertia):
            put6(inertia, k, part * ixx, part * iyy, part * izz, part * ixy, part * ixz,
                 part * iyz)


@step
def _momentum_and_wrench(bodies: Bodies, i: int, gravity: Array) -> None:
    """Write the angular momentum, and the rate of the momentum minus the weight."""
    mass, first, spin = bodies.mass[i], bodies.first[i], bodies.spin[i]
    gx, gy, gz = gravity[0], gravity[1], gravity[2]
    for k in range(len(spin)):
        x, y, z, _, _, _ = momentum(bodies, i, bodies.twist[i], k)
        put3(spin, k, x, y, z)
    for k in range(bodies.wrench.shape[1]):
        s = float(k + 1)
        x, y, z = row3(spin, k + 1)
        hx, hy, hz = row3(first, k)
        u, v, w = row3(first, k + 2)
        t = s * (k + 2)
        u, v, w = t * u, t * v, t * w
        if k == 0:
            u, v, w = u - mass * gx, v - mass * gy, w - mass * gz
        put6(bodies.wrench[i], k, s * x - (hy * gz - hz * gy), s * y - (hz * gx - hx * gz),
             s * z - (hx * gy - hy * gx), u, v, w)


@step
def subtract_external(
    body_in_kernel: Array, wrenches: Array, scratch: Scratch, bodies: Bodies, lane: int,
) -> None:
    """Subtract the external wrenches of one motion, given in body axes about the body origins."""
    for i in range(len(body_in_kernel)):
        for c in range(12):
            scratch.pose[c] = bodies.pose[i, c, lane]
        factorial = 1.0
        for k in range(len(scratch.twist)):
            factorial *= max(k, 1)
            for c in range(6):
                scratch.twist[k, c] = bodies.twist[i, k, c, lane]
                scratch.local[k, c] = wrenches[k, i, c] / factorial
        newton_euler.body_frame_pose(body_in_kernel[i], scratch.pose, scratch.frame)
        newton_euler.body_frame_motion(1, len(scratch.twist), scratch.twist, scratch.frame)
        newton_euler.wrench_to_world(
            0, len(scratch.twist), scratch.frame, scratch.local, scratch.applied)
        for k in range(len(scratch.twist)):
            for c in range(6):
                bodies.wrench[i, k, c, lane] -= scratch.applied[k, c]


@step
def add_subtree(bodies: Bodies, i: int, parent: int) -> None:
    """Add the sums over the subtree of body i to the sums of its parent."""
    bodies.mass[parent] += bodies.mass[i]
    lanes.add(bodies.first[parent], bodies.first[i])
    lanes.add(bodies.inertia[parent], bodies.inertia[i])
    lanes.add(bodies.spin[parent], bodies.spin[i])
    lanes.add(bodies.wrench[parent], bodies.wrench[i])


@step
def momentum(
    bodies: Bodies, i: int, motion: Array, k: int,
) -> tuple[Number, Number, Number, Number, Number, Number]:
    """Return coefficient k of the inertia of a body or subtree times a motion."""
    mx, my, mz = lanes.zero(), lanes.zero(), lanes.zero()
    fx, fy, fz = row3(motion, 2 * k + 1)
    mass = bodies.mass[i]
    fx, fy, fz = mass * fx, mass * fy, mass * fz
    for a in range(k + 1):
        x, y, z, u, v, w = row6(motion, k - a)
        hx, hy, hz = row3(bodies.first[i], a)
        xx, yy, zz, xy, xz, yz = row6(bodies.inertia[i], a)
        mx, my, mz = (
            mx + (xx * x + xy * y + xz * z + hy * w - hz * v),
            my + (xy * x + yy * y + yz * z + hz * u - hx * w),
            mz + (xz * x + yz * y + zz * z + hx * v - hy * u))
        fx, fy, fz = fx + (y * hz - z * hy), fy + (z * hx - x * hz), fz + (x * hy - y * hx)
    return mx, my, mz, fx, fy, fz
