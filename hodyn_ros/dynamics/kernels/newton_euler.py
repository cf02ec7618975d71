"""One body in spatial representation: joint pose, twist and Newton-Euler wrench, to any order.

The spatial kernels share these steps. They compute in Taylor coefficients x_k = x⁽ᵏ⁾ / k!, which
turn the Leibniz sums of M21 eqs. (9), (14), (18)–(22) and of AGF26 (61)–(69) into Cauchy products;
the first axis of an array is k. A step computes the coefficients `start` … `stop` − 1 from the
lower ones, so a caller can compute all orders of a body at once or, if each order needs the
solution of the previous order, all bodies order by order.

The Newton-Euler equations are taken about the world origin, with the momentum split into that of
the mass at its centre c(t) and the angular momentum about c. This needs neither a 6×6 inertia
matrix nor its derivatives, and gravity enters only the force.

`body` is a row of `KernelModel.body_table`. A `Number` may also be a SIMD number of `lanes`.
"""
from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import inlined, step
from hodyn_ros.robot.body_table import (
    COM,
    COM_INERTIA,
    HOME_POSITION,
    HOME_ROTATION,
    MASS,
    ORIGIN_INERTIA,
    ROTATION,
    TRANSLATION,
)
from hodyn_ros.robot.inertia import SYMMETRIC_ENTRIES

Number = Any  # a float, or a number of `lanes`


@inlined
def cross_add(a: Array, b: Array, out: Array) -> None:
    """Add a × b to out, all (3,)."""
    out[0] += a[1] * b[2] - a[2] * b[1]
    out[1] += a[2] * b[0] - a[0] * b[2]
    out[2] += a[0] * b[1] - a[1] * b[0]


@step
def row3(array: Array, k: int) -> tuple[float, float, float]:
    """Return row k of an array (…, 3), without the reference count of a row view."""
    return array[k, 0], array[k, 1], array[k, 2]


@step
def row6(array: Array, k: int) -> tuple[float, float, float, float, float, float]:
    """Return row k of an array (…, 6), without the reference count of a row view."""
    return array[k, 0], array[k, 1], array[k, 2], array[k, 3], array[k, 4], array[k, 5]


@step
def floating_base_pose(base_pose: Array, pose: Array, screw: Array) -> None:
    """Write the pose of a floating base, rows of R then r, and a zero joint screw."""
    for row in range(3):
        for column in range(3):
            pose[3 * row + column] = base_pose[row, column]
        pose[9 + row] = base_pose[row, 3]
    for c in range(6):
        screw[0, c] = 0.0


@step
def joint_pose(parent: int, body: Array, q: float, pose: Array, i: int, screw: Array) -> None:
    """Write the pose of kernel frame i, rows of R then r, and its joint screw S (M21 (4), (7))."""
    rotation, translation = body[ROTATION], body[TRANSLATION]
    sine, cosine = np.sin(rotation * q), np.cos(rotation * q)
    for row in range(3):
        a, b, c, origin = 1.0 * (row == 0), 1.0 * (row == 1), 1.0 * (row == 2), 0.0
        if parent >= 0:
            a, b, c = pose[parent, 3 * row], pose[parent, 3 * row + 1], pose[parent, 3 * row + 2]
            origin = pose[parent, 9 + row]
        pose[i, 3 * row], pose[i, 3 * row + 1], pose[i, 3 * row + 2], pose[i, 9 + row] = pose_row(
            body, a, b, c, origin, cosine, sine, translation * q)
    screw[0, 0], screw[0, 1], screw[0, 2], screw[0, 3], screw[0, 4], screw[0, 5] = joint_screw(
        body, pose[i, 2], pose[i, 5], pose[i, 8], pose[i, 9], pose[i, 10], pose[i, 11])


@step
def pose_row(
    body: Array, a: Number, b: Number, c: Number, origin: Number, cosine: Number, sine: Number,
    slide: Number,
) -> tuple[Number, Number, Number, Number]:
    """Return a row of a kernel frame's R and r, from the same row of its parent's."""
    x = a * body[HOME_ROTATION] + b * body[HOME_ROTATION + 3] + c * body[HOME_ROTATION + 6]
    y = a * body[HOME_ROTATION + 1] + b * body[HOME_ROTATION + 4] + c * body[HOME_ROTATION + 7]
    z = a * body[HOME_ROTATION + 2] + b * body[HOME_ROTATION + 5] + c * body[HOME_ROTATION + 8]
    origin = (
        origin + a * body[HOME_POSITION] + b * body[HOME_POSITION + 1]
        + c * body[HOME_POSITION + 2])
    return cosine * x + sine * y, cosine * y - sine * x, z, origin + slide * z


@step
def joint_screw(
    body: Array, ex: Number, ey: Number, ez: Number, rx: Number, ry: Number, rz: Number,
) -> tuple[Number, Number, Number, Number, Number, Number]:
    """Return the screw S of a joint from axis z and origin of its kernel frame."""
    rotation, translation = body[ROTATION], body[TRANSLATION]
    return (
        rotation * ex, rotation * ey, rotation * ez,
        rotation * (ry * ez - rz * ey) + translation * ex,
        rotation * (rz * ex - rx * ez) + translation * ey,
        rotation * (rx * ey - ry * ex) + translation * ez)


@step
def propagate_twist(
    start: int, stop: int, parent_twist: Array, rate: Array, screw: Array, twist: Array,
) -> None:
    """Write joint screw and twist: Ṡ = ad_V S and V = V_parent + S q̇ (M21 eqs. 6 and 9).

    All are coefficients: `rate`, (k,), of q̇; `parent_twist`, (k, 6), or (0, 6) if the parent is
    the world; `screw` and `twist`, (k, 6), written, but coefficient 0 of `screw` is given.
    """
    for k in range(start, stop):
        if k > 0:
            x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
            for a in range(k):
                px, py, pz, pu, pv, pw = row6(twist, a)
                sx, sy, sz, su, sv, sw = row6(screw, k - 1 - a)
                x += py * sz - pz * sy
                y += pz * sx - px * sz
                z += px * sy - py * sx
                u += pv * sz - pw * sy + py * sw - pz * sv
                v += pw * sx - pu * sz + pz * su - px * sw
                w += pu * sy - pv * sx + px * sv - py * su
            part = 1.0 / k  # one division instead of six
            screw[k, 0], screw[k, 1], screw[k, 2] = x * part, y * part, z * part
            screw[k, 3], screw[k, 4], screw[k, 5] = u * part, v * part, w * part
        x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        if parent_twist.shape[0] > 0:
            x, y, z, u, v, w = row6(parent_twist, k)
        for b in range(k + 1):
            sx, sy, sz, su, sv, sw = row6(screw, k - b)
            x += sx * rate[b]
            y += sy * rate[b]
            z += sz * rate[b]
            u += su * rate[b]
            v += sv * rate[b]
            w += sw * rate[b]
        twist[k, 0], twist[k, 1], twist[k, 2] = x, y, z
        twist[k, 3], twist[k, 4], twist[k, 5] = u, v, w


@step
def _next_coefficient(k: int, u: float, v: float, w: float, twist: Array, vector: Array) -> None:
    """Write coefficient k > 0 of a vector x with ẋ = ω × x + y, where y_(k−1) is (u, v, w)."""
    for a in range(k):
        wx, wy, wz = twist[a, 0], twist[a, 1], twist[a, 2]
        x, y, z = row3(vector, k - 1 - a)
        u += wy * z - wz * y
        v += wz * x - wx * z
        w += wx * y - wy * x
    part = 1.0 / k
    vector[k, 0], vector[k, 1], vector[k, 2] = u * part, v * part, w * part


@step
def direction_rate(start: int, stop: int, twist: Array, direction: Array) -> None:
    """Write the motion of a body-fixed direction, ė = ω × e; start > 0."""
    for k in range(start, stop):
        _next_coefficient(k, 0.0, 0.0, 0.0, twist, direction)


@step
def point_motion(start: int, stop: int, twist: Array, point: Array) -> None:
    """Write the motion of a body-fixed point, ṗ = v + ω × p; start > 0."""
    for k in range(start, stop):
        _next_coefficient(k, twist[k - 1, 3], twist[k - 1, 4], twist[k - 1, 5], twist, point)


@step
def com_position(body: Array, pose: Array, com: Array) -> None:
    """Write the position of the centre of mass, coefficient 0."""
    for row in range(3):
        com[0, row] = com_row(
            body, pose[3 * row], pose[3 * row + 1], pose[3 * row + 2], pose[9 + row])


@step
def com_row(body: Array, a: Number, b: Number, c: Number, origin: Number) -> Number:
    """Return a component of the position of the centre of mass, from that row of R and r."""
    return origin + a * body[COM] + b * body[COM + 1] + c * body[COM + 2]


@step
def com_inertia(body: Array, pose: Array, inertia: Array) -> None:
    """Write the inertia Θ about the centre of mass in world axes, packed, coefficient 0."""
    for entry, (row, column) in enumerate(SYMMETRIC_ENTRIES):
        inertia[0, entry] = inertia_entry(
            body, pose[3 * row], pose[3 * row + 1], pose[3 * row + 2],
            pose[3 * column], pose[3 * column + 1], pose[3 * column + 2])


@step
def inertia_entry(
    body: Array, a: Number, b: Number, c: Number, d: Number, e: Number, f: Number,
) -> Number:
    """Return an entry of Θ about the centre of mass in world axes, from two rows of R."""
    xx, yy, zz = body[COM_INERTIA], body[COM_INERTIA + 1], body[COM_INERTIA + 2]
    xy, xz, yz = body[COM_INERTIA + 3], body[COM_INERTIA + 4], body[COM_INERTIA + 5]
    return (
        a * (xx * d + xy * e + xz * f) + b * (xy * d + yy * e + yz * f)
        + c * (xz * d + yz * e + zz * f))


@step
def spatial_inertia(mass: float, com: Array, inertia: Array, out: Array) -> None:
    """Write the 6×6 inertia matrix in world axes about the world origin (AGF26 eq. 60)."""
    x, y, z = com
    xx, yy, zz, xy, xz, yz = inertia
    for row in range(6):
        for c in range(6):
            out[row, c] = 0.0
    out[0, 0] = xx + mass * (y * y + z * z)
    out[1, 1] = yy + mass * (x * x + z * z)
    out[2, 2] = zz + mass * (x * x + y * y)
    out[0, 1] = out[1, 0] = xy - mass * x * y
    out[0, 2] = out[2, 0] = xz - mass * x * z
    out[1, 2] = out[2, 1] = yz - mass * y * z
    out[3, 3] = out[4, 4] = out[5, 5] = mass
    out[1, 3] = out[3, 1] = mass * z
    out[2, 3] = out[3, 2] = -mass * y
    out[0, 4] = out[4, 0] = -mass * z
    out[2, 4] = out[4, 2] = mass * x
    out[0, 5] = out[5, 0] = mass * y
    out[1, 5] = out[5, 1] = -mass * x


@step
def inertia_rate(start: int, stop: int, twist: Array, inertia: Array) -> None:
    """Write the change of the inertia in world axes, Θ̇ = ω̃ Θ − Θ ω̃; start > 0."""
    for k in range(start, stop):
        ixx, iyy, izz, ixy, ixz, iyz = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
        for a in range(k):
            x, y, z = twist[a, 0], twist[a, 1], twist[a, 2]
            xx, yy, zz, xy, xz, yz = row6(inertia, k - 1 - a)
            ixx += 2.0 * (y * xz - z * xy)
            iyy += 2.0 * (z * xy - x * yz)
            izz += 2.0 * (x * yz - y * xz)
            ixy += z * (xx - yy) + y * yz - x * xz
            ixz += y * (zz - xx) + x * xy - z * yz
            iyz += x * (yy - zz) + z * xz - y * xy
        part = 1.0 / k
        inertia[k, 0], inertia[k, 1], inertia[k, 2] = ixx * part, iyy * part, izz * part
        inertia[k, 3], inertia[k, 4], inertia[k, 5] = ixy * part, ixz * part, iyz * part


@step
def angular_momentum(start: int, stop: int, twist: Array, inertia: Array, spin: Array) -> None:
    """Write the angular momentum Θ ω about the centre of mass."""
    for k in range(start, stop):
        lx, ly, lz = 0.0, 0.0, 0.0
        for a in range(k + 1):
            x, y, z = twist[k - a, 0], twist[k - a, 1], twist[k - a, 2]
            xx, yy, zz, xy, xz, yz = row6(inertia, a)
            lx += xx * x + xy * y + xz * z
            ly += xy * x + yy * y + yz * z
            lz += xz * x + yz * y + zz * z
        spin[k, 0], spin[k, 1], spin[k, 2] = lx, ly, lz


@step
def newton_euler_wrench(
    start: int, stop: int, mass: float, gravity: Array, com: Array, spin: Array, force: Array,
    wrench: Array,
) -> None:
    """Write force m (c̈ − g) and wrench (c × f + d/dt(Θ ω), f) (M21 eqs. 15–22, AGF26 eq. 57).

    Coefficient k reads coefficient k + 2 of c and k + 1 of Θ ω.
    """
    for k in range(start, stop):
        for c in range(3):
            force[k, c] = mass * (k + 2) * (k + 1) * com[k + 2, c]
            if k == 0:
                force[k, c] -= mass * gravity[c]
            wrench[k, 3 + c] = force[k, c]
        x, y, z = (k + 1) * spin[k + 1, 0], (k + 1) * spin[k + 1, 1], (k + 1) * spin[k + 1, 2]
        for a in range(k + 1):
            cx, cy, cz = row3(com, a)
            fx, fy, fz = row3(force, k - a)
            x += cy * fz - cz * fy
            y += cz * fx - cx * fz
            z += cx * fy - cy * fx
        wrench[k, 0], wrench[k, 1], wrench[k, 2] = x, y, z


@step
def body_momentum(
    body: Array, a: float, b: float, c: float, x: float, y: float, z: float,
) -> tuple[float, float, float, float, float, float]:
    """Return M V of a twist V = (a, b, c, x, y, z) in a kernel frame, about its origin."""
    mass = body[MASS]
    cx, cy, cz = mass * body[COM], mass * body[COM + 1], mass * body[COM + 2]
    xx, yy, zz = body[ORIGIN_INERTIA], body[ORIGIN_INERTIA + 1], body[ORIGIN_INERTIA + 2]
    xy, xz, yz = (
        body[ORIGIN_INERTIA + 3], body[ORIGIN_INERTIA + 4], body[ORIGIN_INERTIA + 5])
    return (
        xx * a + xy * b + xz * c + cy * z - cz * y, xy * a + yy * b + yz * c + cz * x - cx * z,
        xz * a + yz * b + zz * c + cx * y - cy * x,
        mass * x + b * cz - c * cy, mass * y + c * cx - a * cz, mass * z + a * cy - b * cx)


@step
def body_frame_pose(body_in_kernel: Array, pose: Array, frame: Array) -> None:
    """Write coefficient 0 of a body's frame, (…, 4, 3): the columns of R, then the origin."""
    for row in range(3):
        for c in range(3):
            entry = 0.0
            for d in range(3):
                entry += pose[3 * row + d] * body_in_kernel[d, c]
            frame[0, c, row] = entry
        frame[0, 3, row] = pose[9 + row]
        for d in range(3):
            frame[0, 3, row] += pose[3 * row + d] * body_in_kernel[d, 3]


@step
def body_frame_motion(start: int, stop: int, twist: Array, frame: Array) -> None:
    """Write the motion of the columns of R and of the origin; start > 0."""
    for c in range(3):
        direction_rate(start, stop, twist, frame[:, c])
    point_motion(start, stop, twist, frame[:, 3])


@step
def wrench_to_world(start: int, stop: int, frame: Array, wrench: Array, world: Array) -> None:
    """Write Ad⁻ᵀ W, a body wrench in world axes about the world origin (AGF26 eq. 69)."""
    for k in range(start, stop):
        for c in range(6):
            world[k, c] = 0.0
        for a in range(k + 1):
            for c in range(3):
                for row in range(3):
                    world[k, row] += frame[a, c, row] * wrench[k - a, c]
                    world[k, 3 + row] += frame[a, c, row] * wrench[k - a, 3 + c]
        for a in range(k + 1):
            cross_add(frame[a, 3], world[k - a, 3:], world[k, :3])


@step
def wrench_to_frame(start: int, stop: int, frame: Array, world: Array, local: Array) -> None:
    """Write Adᵀ W, the inverse of `wrench_to_world`.

    The moments of `world` are moved to the frame's origin in place.
    """
    for k in range(stop - 1, start - 1, -1):
        for a in range(k + 1):
            cross_add(world[k - a, 3:], frame[a, 3], world[k, :3])
        for c in range(3):
            local[k, c], local[k, 3 + c] = 0.0, 0.0
    for k in range(start, stop):
        for a in range(k + 1):
            for c in range(3):
                for row in range(3):
                    local[k, c] += frame[a, c, row] * world[k - a, row]
                    local[k, 3 + c] += frame[a, c, row] * world[k - a, 3 + row]
