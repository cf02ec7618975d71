"""Partial derivatives of inverse dynamics with respect to the motion, any order, for trees.

Q = f(q, q̇, q̈) has three partial derivatives A₀, A₁ and A₂ = M, and since the variation of Q⁽ᵏ⁾ is
the k-th derivative of A₀ δq + A₁ δq̇ + A₂ δq̈, only these and their time derivatives are needed:

    ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ = Σ_j k!/(m − j)! A_j[k − m + j],   A_j[l] the Taylor coefficients of A_j.

A₀ and A₁ are those of Singh, Russell and Wensing, *Efficient Analytical Derivatives of Rigid-Body
Dynamics using Spatial Vector Algebra*, RA-L 2022, for joints of one screw each, here in Taylor
coefficients. In world axes inertias and wrenches of subtrees are sums, and of the 6×6 matrix
2 B = v ×* I − I v × + (I v) ×̄* two blocks remain, Θ̇ − k̃ and −2 p̃: with Θ and k about the origin
and p the linear momentum, it maps an angular velocity to the Coriolis forces that go with it.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels import lanes, moving_bodies
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, kernel, step
from hodyn_ros.dynamics.kernels.lanes import LANES, Number, put3, put6, row3, row6
from hodyn_ros.dynamics.kernels.moving_bodies import Bodies, add_subtree, momentum
from hodyn_ros.dynamics.kernels.workspace import block, borrowed
from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]


class _Columns(NamedTuple):
    """Derivatives of the wrench at a joint with respect to its position, velocity, acceleration.

    Attributes
    ----------
    by_position, by_velocity, by_acceleration : (r + 1, 6, LANES) arrays
        The last is I S, with I of the subtree.
    torque : (r + 1, 3, LANES) array
        Sᵀ 2 B: change of the joint's torque by Coriolis forces with the angular velocity of bodies
        nearer to the base.
    coriolis : (r + 1, 12, LANES) array
        2 B of its subtree: rows of Θ̇ − k̃, and 2 p.

    """

    by_position: Array
    by_velocity: Array
    by_acceleration: Array
    torque: Array
    coriolis: Array


@kernel
def workspace_size(n_bodies: int, order: int) -> int:
    """Return how many doubles of scratch memory the kernels need."""
    n, k = n_bodies + 6, order + 1
    doubles: int = moving_bodies.size(n, k) + LANES * (
        33 * k + 36 * (k + 2) * k + (3 * k + 1) * n * n)
    return doubles


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory of the kernels."""
    return np.zeros(workspace_size(n_bodies, order))


@batch_kernel
def inverse_dynamics_derivatives(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, base: tuple[Array, ...], wrenches: Array, q: Array, out: Array,
) -> None:
    """Write the partial derivatives for T motions; nothing is allocated or checked.

    Parameters
    ----------
    parent, body_table, body_in_kernel, gravity, memory, wrenches, q
        As for `rnea_spatial.inverse_dynamics`.
    base : () or tuple of (T, 4, 4) and (T, r + 2, 6) arrays
        For a floating base: pose and twist.
    out : (T, r + 1, r + 3, N, N) array
        ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾, written; N is n, or on a floating base 6 + n, with the base first.

    """
    orders, n, joints = out.shape[1], len(parent), q.shape[2]
    body_table, body_in_kernel = borrowed(body_table), borrowed(body_in_kernel)
    floating = n - joints
    first = 6 * floating
    scratch, bodies = moving_bodies.cut(memory, n + first, orders)
    start, row, size = moving_bodies.size(n + first, orders), LANES * orders, first + joints
    columns = _Columns(
        block(memory, start, (orders, 6, LANES)),
        block(memory, start + 6 * row, (orders, 6, LANES)),
        block(memory, start + 12 * row, (orders, 6, LANES)),
        block(memory, start + 18 * row, (orders, 3, LANES)),
        block(memory, start + 21 * row, (orders, 12, LANES)))
    start += 33 * row
    spread = block(memory, start, (orders + 2, 6, orders, 6, LANES))
    start += 36 * row * (orders + 2)
    numbers = block(memory, start, (size, size, LANES))
    partials = block(memory, start + LANES * size * size, (3, orders, size, size, LANES))
    partials[:] = 0.0  # and so it remains for joints of different branches
    none = block(memory, 0, (0, 0))
    for t in range(0, q.shape[0], LANES):
        count = min(LANES, q.shape[0] - t)
        for lane in range(count):
            if len(base) == 0:
                moving_bodies.place(
                    parent, body_table, q[t + lane, 0], none, none, scratch, bodies, lane)
            else:
                moving_bodies.place(
                    parent, body_table, q[t + lane, 0], base[0][t + lane], base[1][t + lane],
                    scratch, bodies, lane)
        moving_bodies.move(parent, body_table, gravity, q[t:t + count], count, bodies)
        if floating:
            moving_bodies.base_screws(bodies, n, gravity)
            moving_bodies.displacements(bodies, spread)
        if wrenches.shape[1] > 0:
            for lane in range(count):
                moving_bodies.subtract_external(
                    body_in_kernel, wrenches[t + lane], scratch, bodies, lane)
        for i in range(n - 1, floating - 1, -1):
            row, j = first + i - floating, parent[i]
            _coriolis(bodies, i, columns.coriolis)
            _columns(bodies, i, i, 2.0, columns)
            _inner(bodies, columns, i, 2.0, row, row, partials)
            while j >= floating:
                _inner(bodies, columns, j, 2.0, row, first + j - floating, partials)
                _outer(bodies, columns, j, first + j - floating, row, partials)
                j = parent[j]
            for c in range(first):
                _inner(bodies, columns, n + c, 1.0, row, c, partials)
            if floating:
                _base_rows(columns, row, partials)
            if parent[i] >= 0:
                add_subtree(bodies, i, parent[i])
        if floating:
            _coriolis(bodies, 0, columns.coriolis)
            for c in range(6):
                _columns(bodies, 0, n + c, 1.0, columns)
                _base_rows(columns, c, partials)
        _combine(partials, spread, first, t, count, numbers, out)
        if len(base) > 0:
            for lane in range(t, t + count):
                _about_world_origin(base[0][lane], out[lane])


@kernel
def single(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, q: Array, out: Array,
) -> None:
    """The same for one motion on a fixed base, without wrenches; wrong shapes raise HodynError.

    Parameters
    ----------
    parent, body_table, body_in_kernel, gravity, memory
        As for `inverse_dynamics_derivatives`.
    q, out : (r + 3, n) and (r + 1, r + 3, n, n) arrays
        With the order r of the workspace.

    """
    order, n = out.shape[0] - 1, len(parent)
    if (q.shape != (order + 3, n) or out.shape != (order + 1, order + 3, n, n)
            or memory.shape[0] != workspace_size(n, order)):
        raise HodynError(
            'q must be (r + 3, n) and out (r + 1, r + 3, n, n), with r the order and n the number '
            'of joints')
    inverse_dynamics_derivatives(
        parent, body_table, body_in_kernel, gravity, memory, (), block(memory, 0, (1, 0, 0, 0)),
        block(q, 0, (1, *q.shape)), block(out, 0, (1, *out.shape)))


@step
def _coriolis(bodies: Bodies, i: int, coriolis: Array) -> None:
    """Write 2 B of a subtree."""
    for k in range(len(coriolis)):
        s = float(k + 1)
        xx, yy, zz, xy, xz, yz = row6(bodies.inertia[i], k + 1)
        x, y, z = row3(bodies.spin[i], k)
        u, v, w = row3(bodies.first[i], k + 1)
        put6(coriolis, 2 * k, s * xx, s * xy + z, s * xz - y, s * xy - z, s * yy, s * yz + x)
        put6(coriolis, 2 * k + 1, s * xz + y, s * yz - x, s * zz,
             2.0 * s * u, 2.0 * s * v, 2.0 * s * w)


@step
def _columns(bodies: Bodies, i: int, joint: int, twice: float, columns: _Columns) -> None:
    """Write 2 B Ṡ + I ψ̈ + S ×* f, 2 B S + 2 I Ṡ, I S and Sᵀ 2 B of a joint, I and B of a subtree.

    For a unit twist of the base, which is constant in world axes, I Ṡ counts once.
    """
    coriolis = columns.coriolis
    for k in range(len(coriolis)):
        mx, my, mz, fx, fy, fz = momentum(bodies, i, bodies.acceleration[joint], k)
        nx, ny, nz, gx, gy, gz = momentum(bodies, i, bodies.rate[joint], k)
        nx, ny, nz, gx, gy, gz = (
            twice * nx, twice * ny, twice * nz, twice * gx, twice * gy, twice * gz)
        ix, iy, iz, hx, hy, hz = momentum(bodies, i, bodies.screw[joint], k)
        put6(columns.by_acceleration, k, ix, iy, iz, hx, hy, hz)
        tx, ty, tz = lanes.zero(), lanes.zero(), lanes.zero()
        for a in range(k + 1):
            xx, xy, xz, yx, yy, yz = row6(coriolis, 2 * a)
            zx, zy, zz, px, py, pz = row6(coriolis, 2 * a + 1)
            x, y, z = row3(bodies.rate[joint], 2 * (k - a))
            mx, my, mz = (
                mx + (xx * x + xy * y + xz * z), my + (yx * x + yy * y + yz * z),
                mz + (zx * x + zy * y + zz * z))
            fx, fy, fz = fx + (y * pz - z * py), fy + (z * px - x * pz), fz + (x * py - y * px)
            x, y, z, u, v, w = row6(bodies.screw[joint], k - a)
            nx, ny, nz = (
                nx + (xx * x + xy * y + xz * z), ny + (yx * x + yy * y + yz * z),
                nz + (zx * x + zy * y + zz * z))
            gx, gy, gz = gx + (y * pz - z * py), gy + (z * px - x * pz), gz + (x * py - y * px)
            tx, ty, tz = (
                tx + (xx * x + yx * y + zx * z + py * w - pz * v),
                ty + (xy * x + yy * y + zy * z + pz * u - px * w),
                tz + (xz * x + yz * y + zz * z + px * v - py * u))
            kx, ky, kz, lx, ly, lz = row6(bodies.wrench[i], a)
            mx, my, mz = (
                mx + (y * kz - z * ky + v * lz - w * ly), my + (z * kx - x * kz + w * lx - u * lz),
                mz + (x * ky - y * kx + u * ly - v * lx))
            fx, fy, fz = fx + (y * lz - z * ly), fy + (z * lx - x * lz), fz + (x * ly - y * lx)
        put6(columns.by_position, k, mx, my, mz, fx, fy, fz)
        put6(columns.by_velocity, k, nx, ny, nz, gx, gy, gz)
        put3(columns.torque, k, tx, ty, tz)


@step
def _dot(a: Array, k: int, b: Array, m: int) -> Number:
    """Return the scalar product of two rows of six."""
    x, y, z, u, v, w = row6(a, k)
    p, q, r, s, t, o = row6(b, m)
    return x * p + y * q + z * r + (u * s + v * t + w * o)


@step
def _put(partials: Array, j: int, k: int, row: int, column: int, number: Number) -> None:
    """Write an entry of coefficient k of A_j."""
    _, orders, rows, columns, _ = partials.shape
    lanes.write(partials, (((j * orders + k) * rows + row) * columns + column) * LANES, number)


@step
def _inner(
    bodies: Bodies, columns: _Columns, carrier: int, twice: float, row: int, column: int,
    partials: Array,
) -> None:
    """Write how a torque changes with the motion of joints nearer to the base, or of its own."""
    screw, rate = bodies.screw[carrier], bodies.rate[carrier]
    acceleration = bodies.acceleration[carrier]
    for k in range(partials.shape[1]):
        position, velocity, mass = lanes.zero(), lanes.zero(), lanes.zero()
        for a in range(k + 1):
            x, y, z = row3(columns.torque, a)
            u, v, w = row3(rate, 2 * (k - a))
            position = position + x * u + y * v + z * w
            u, v, w = row3(screw, 2 * (k - a))
            velocity = velocity + x * u + y * v + z * w
            position = position + _dot(columns.by_acceleration, a, acceleration, k - a)
            velocity = velocity + twice * _dot(columns.by_acceleration, a, rate, k - a)
            mass = mass + _dot(columns.by_acceleration, a, screw, k - a)
        _put(partials, 0, k, row, column, position)
        _put(partials, 1, k, row, column, velocity)
        _put(partials, 2, k, row, column, mass)
        _put(partials, 2, k, column, row, mass)


@step
def _outer(
    bodies: Bodies, columns: _Columns, carrier: int, row: int, column: int, partials: Array,
) -> None:
    """Write how the torque of a joint on the way to the base changes with this joint's motion."""
    screw = bodies.screw[carrier]
    for k in range(partials.shape[1]):
        position, velocity = lanes.zero(), lanes.zero()
        for a in range(k + 1):
            position = position + _dot(columns.by_position, a, screw, k - a)
            velocity = velocity + _dot(columns.by_velocity, a, screw, k - a)
        _put(partials, 0, k, row, column, position)
        _put(partials, 1, k, row, column, velocity)


@step
def _base_rows(columns: _Columns, column: int, partials: Array) -> None:
    """Write how the wrench of a floating base changes with the motion of a joint, or its own."""
    for k in range(partials.shape[1]):
        for c in range(6):
            partials[0, k, c, column] = columns.by_position[k, c]
            partials[1, k, c, column] = columns.by_velocity[k, c]
            partials[2, k, c, column] = columns.by_acceleration[k, c]


@step
def _combine(
    partials: Array, spread: Array, first: int, t: int, count: int, numbers: Array, out: Array,
) -> None:
    """Write ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ of some motions from the coefficients of the three partial derivatives."""
    _, orders, size, _, _ = partials.shape
    like, factorial = lanes.zero(), 1.0
    for k in range(orders):
        factorial *= max(k, 1)
        for m in range(orders + 2):
            low, high = max(0, m - k), min(2, m)  # the j that have a part in it
            if low > high:
                out[t:t + count, k, m] = 0.0
                continue
            for row in range(size):
                for column in range(size):
                    total, scale = lanes.zero(), factorial  # k! / (m - j)!
                    for part in range(2, m - high + 1):
                        scale /= part
                    # A displacement of the base changes with time: see `_add_displaced`.
                    for j in range(high, max(low, column < first) - 1, -1):
                        start = ((j * orders + k - m + j) * size + row) * size + column
                        total = total + scale * lanes.read(partials, start * LANES, like)
                        scale /= m - j + 1
                    lanes.write(numbers, (row * size + column) * LANES, total)
                for column in range(first):
                    _add_displaced(partials, spread, factorial, k, m, row, column, numbers)
            for lane in range(count):
                target = out[t + lane, k, m]
                for row in range(size):
                    for column in range(size):
                        target[row, column] = numbers[row, column, lane]


@step
def _add_displaced(
    partials: Array, spread: Array, factorial: float, k: int, m: int, row: int, column: int,
    numbers: Array,
) -> None:
    """Add the part of the base's displacement, k! times coefficient k of A₀ η."""
    like, size = lanes.zero(), partials.shape[2]
    place = (row * size + column) * LANES
    total = lanes.read(numbers, place, like)
    for a in range(k + 1):
        for c in range(6):
            total = total + factorial * lanes.read(
                partials, ((a * size + row) * size + c) * LANES, like) * lanes.read(
                    spread[m, column], (6 * (k - a) + c) * LANES, like)
    lanes.write(numbers, place, total)


@step
def _about_world_origin(pose: Array, out: Array) -> None:
    """Move the base's wrench and twist from the base's origin to the world's."""
    x, y, z = pose[0, 3], pose[1, 3], pose[2, 3]
    for k in range(out.shape[0]):
        for m in range(out.shape[1]):
            for i in range(out.shape[2]):
                u, v, w = out[k, m, 3, i], out[k, m, 4, i], out[k, m, 5, i]
                out[k, m, 0, i] += y * w - z * v
                out[k, m, 1, i] += z * u - x * w
                out[k, m, 2, i] += x * v - y * u
            for i in range(out.shape[2]):
                u, v, w = out[k, m, i, 3], out[k, m, i, 4], out[k, m, i, 5]
                out[k, m, i, 0] += y * w - z * v
                out[k, m, i, 1] += z * u - x * w
                out[k, m, i, 2] += x * v - y * u
