"""Partial derivatives of inverse dynamics with respect to the motion, any order, for trees.

Q = f(q, q̇, q̈) has three partial derivatives A₀, A₁ and A₂ = M. The variation of Q⁽ᵏ⁾ is the k-th
time derivative of A₀ δq + A₁ δq̇ + A₂ δq̈, so only the A_j and their derivatives are needed:

    ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ = Σ_j k!/(m − j)! A_j[k − m + j],   A_j[l] the Taylor coefficients of A_j.

A₀ and A₁ are from Singh, Russell and Wensing, *Efficient Analytical Derivatives of Rigid-Body
Dynamics using Spatial Vector Algebra*, RA-L 2022, for joints of one screw each, here in Taylor
coefficients. In world axes the inertias and wrenches of subtrees are sums over bodies. The 6×6
matrix 2 B = v ×* I − I v × + (I v) ×̄* maps an angular velocity to its Coriolis forces. Only its
blocks Θ̇ − k̃ and −2 p̃ are not 0, with inertia Θ and angular momentum k about the origin and linear
momentum p.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import lanes, moving_base, moving_bodies
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, kernel, not_inlined, step
from hodyn_ros.dynamics.kernels.lanes import LANES, Group, put3, put6, row3, row6
from hodyn_ros.dynamics.kernels.moving_bodies import Bodies, add_subtree, momentum
from hodyn_ros.dynamics.kernels.workspace import aligned_zeros, block, borrowed
from hodyn_ros.robot import HodynError

_OF_A_GROUP = (None,) * LANES


class _Columns(NamedTuple):
    """Derivatives of a joint's wrench with respect to its position, velocity and acceleration."""

    #: `by_position`, `by_velocity`, `by_acceleration`: (r + 1, 6, LANES): by_acceleration is I S,
    #: with the inertia I of the subtree
    by_position: Array
    by_velocity: Array
    by_acceleration: Array
    #: (r + 1, 3, LANES): Sᵀ 2 B: change of the joint's torque, by Coriolis forces, per angular
    #: velocity of a joint nearer to the base
    torque: Array
    coriolis: Array  #: (r + 1, 12, LANES): 2 B of the joint's subtree: rows of Θ̇ − k̃, and 2 p


@kernel
def workspace_size(n_bodies: int, order: int) -> int:
    """Return how many doubles of scratch memory the kernels need."""
    n, k = n_bodies + 6, order + 1
    doubles: int = moving_bodies.size(n, k) + LANES * (
        33 * k + 36 * (k + 2) * k + 3 * k * n * n + 2 * LANES)
    return doubles


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory of the kernels, for one robot.

    Its entries for joints of different branches remain 0: they are never written.
    """
    return aligned_zeros(workspace_size(n_bodies, order))


def known_orders(order: int) -> tuple[None, ...]:
    """Return the kernels' argument `known`, whose length tells the compiler the loop lengths.

    Up to order 2 it has r + 1 entries. For higher orders it is empty, and they share one kernel.
    """
    return (None,) * (order + 1 if order <= 2 else 0)


@batch_kernel
def inverse_dynamics_derivatives(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, known: tuple[None, ...], base: tuple[Array, ...], wrenches: Array, q: Array,
    out: Array,
) -> None:
    """Write the partial derivatives for T motions; nothing is allocated or checked.

    `known` is from `known_orders`; `base` is (), or for a floating base pose, (T, 4, 4), and
    twist, (T, r + 2, 6); `out`, (T, r + 1, r + 3, N, N), gets ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾, where N is n, or on a
    floating base 6 + n, with the base first. The rest is as for `rnea_spatial.inverse_dynamics`.
    """
    _compute(
        parent, body_table, body_in_kernel, gravity, memory, known, base, wrenches, q, out)


@kernel
def _compute(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, known: tuple[None, ...], base: tuple[Array, ...], wrenches: Array, q: Array,
    out: Array,
) -> None:
    """Write the derivatives; both batches and single calls run this code."""
    not_inlined()
    orders = len(known) if len(known) > 0 else out.shape[1]
    n, joints = len(parent), q.shape[2]
    body_table, body_in_kernel = borrowed(body_table), borrowed(body_in_kernel)
    floating = 1 if len(base) > 0 else 0  # a constant for the compiler
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
    eta = block(memory, start, (orders + 2, 6, orders, 6, LANES))
    start += 36 * row * (orders + 2)
    numbers = block(memory, start, (LANES, LANES))
    start += LANES * LANES
    partials = block(memory, start, (3, orders, size, size, LANES))
    padded = block(memory, start, (3 * orders * size * size + LANES, LANES))
    flat = block(out, 0, (out.size,))
    none = lanes.zeros(known)
    for t in range(0, q.shape[0], LANES):
        count = min(LANES, q.shape[0] - t)
        moving_bodies.move(parent, body_table, gravity, base, q, t, bodies)
        if len(base) > 0:
            moving_base.screws(bodies, n, gravity)
            moving_base.displacements(bodies, eta)
        if wrenches.shape[1] > 0:
            for lane in range(LANES):
                moving_bodies.subtract_external(
                    body_in_kernel, wrenches[min(t + lane, len(q) - 1)], scratch, bodies, lane)
        for i in range(n - 1, floating - 1, -1):
            row, j = first + i - floating, parent[i]
            _coriolis(bodies, i, columns.coriolis)
            _columns(bodies, i, i, 2.0, columns)
            _inner(bodies, columns, i, 2.0, row, row, none, partials)
            while j >= floating:
                _inner(bodies, columns, j, 2.0, row, first + j - floating, none, partials)
                _outer(bodies, columns, j, first + j - floating, row, none, partials)
                j = parent[j]
            for c in range(first):
                _inner(bodies, columns, n + c, 1.0, row, c, none, partials)
            if len(base) > 0:
                _base_rows(columns, row, partials)
            if parent[i] >= 0:
                add_subtree(bodies, i, parent[i])
        if len(base) > 0:
            _coriolis(bodies, 0, columns.coriolis)
            for c in range(6):
                _columns(bodies, 0, n + c, 1.0, columns)
                _base_rows(columns, c, partials)
        _combine(partials, padded, eta, first, t, count, numbers, flat)
        if len(base) > 0:
            for lane in range(t, t + count):
                moving_base.about_world_origin(base[0][lane], out[lane])


@kernel
def single(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, known: tuple[None, ...], q: Array, out: Array,
) -> None:
    """Write the derivatives of one motion on a fixed base, without wrenches; shapes are checked.

    `q` is (r + 3, n), and `out` (r + 1, r + 3, n, n), with the order r of the workspace; the rest
    is as for `inverse_dynamics_derivatives`.
    """
    order, n = out.shape[0] - 1, len(parent)
    if (q.shape != (order + 3, n) or out.shape != (order + 1, order + 3, n, n)
            or memory.shape[0] != workspace_size(n, order)):
        raise HodynError(
            'q must be (r + 3, n) and out (r + 1, r + 3, n, n), with r the order and n the number '
            'of joints')
    _compute(
        parent, body_table, body_in_kernel, gravity, memory, known, (),
        block(memory, 0, (1, 0, 0, 0)), block(q, 0, (1, *q.shape)), block(out, 0, (1, *out.shape)))


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
    """Write 2 B Ṡ + I ψ̈ + S ×* f, 2 B S + 2 I Ṡ, I S and Sᵀ 2 B of a joint.

    I, B and the wrench f belong to the subtree; ψ̈ is `Bodies.acceleration`. `twice` is the factor
    of I Ṡ: 2 for a joint, 1 for a unit twist of the base, which is constant in world axes.
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
def _put(
    partials: Array, j: int, k: int, row: int, column: int, coefficients: Group,
) -> None:
    """Write the coefficients of an entry of A_j, from coefficient k on."""
    _, orders, rows, columns, _ = partials.shape
    for i, coefficient in enumerate(coefficients):
        place = ((j * orders + k + i) * rows + row) * columns + column
        lanes.write(partials, place * LANES, coefficient)


@step
def _inner(
    bodies: Bodies, columns: _Columns, carrier: int, twice: float, row: int, column: int,
    none: Group, partials: Array,
) -> None:
    """Write how a joint's torque changes with its own motion or that of a joint nearer the base.

    len(none) coefficients are computed together.
    """
    screw, rate = bodies.screw[carrier], bodies.rate[carrier]
    acceleration = bodies.acceleration[carrier]
    for k in range(0, partials.shape[1], len(none)):
        position, velocity, mass = none, none, none
        for a in range(0, k + 1, len(none)):
            wrench = lanes.rows6(columns.by_acceleration, a, none)
            along, turning = lanes.rows6(screw, k - a, none), lanes.rows6(rate, k - a, none)
            mass = lanes.add_products(mass, wrench, along)
            velocity = lanes.add_products(velocity, wrench, turning)
            position = lanes.add_products(
                position, wrench, lanes.rows6(acceleration, k - a, none))
        velocity = lanes.scaled(twice, velocity)
        for a in range(0, k + 1, len(none)):
            torque = lanes.rows3(columns.torque, a, none)
            along, turning = lanes.rows6(screw, k - a, none), lanes.rows6(rate, k - a, none)
            velocity = lanes.add_products(velocity, torque, along)
            position = lanes.add_products(position, torque, turning)
        _put(partials, 0, k, row, column, position)
        _put(partials, 1, k, row, column, velocity)
        _put(partials, 2, k, row, column, mass)
        _put(partials, 2, k, column, row, mass)


@step
def _outer(
    bodies: Bodies, columns: _Columns, carrier: int, row: int, column: int, none: Group,
    partials: Array,
) -> None:
    """Write how the torque of a joint nearer the base changes with this joint's motion."""
    for k in range(0, partials.shape[1], len(none)):
        position, velocity = none, none
        for a in range(0, k + 1, len(none)):
            along = lanes.rows6(bodies.screw[carrier], k - a, none)
            position = lanes.add_products(
                position, lanes.rows6(columns.by_position, a, none), along)
            velocity = lanes.add_products(
                velocity, lanes.rows6(columns.by_velocity, a, none), along)
        _put(partials, 0, k, row, column, position)
        _put(partials, 1, k, row, column, velocity)


@step
def _base_rows(columns: _Columns, column: int, partials: Array) -> None:
    """Write how the wrench of a floating base changes with a joint's or the base's own motion."""
    for k in range(partials.shape[1]):
        for c in range(6):
            partials[0, k, c, column] = columns.by_position[k, c]
            partials[1, k, c, column] = columns.by_velocity[k, c]
            partials[2, k, c, column] = columns.by_acceleration[k, c]


@step
def _combine(
    partials: Array, padded: Array, eta: Array, first: int, t: int, count: int,
    numbers: Array, out: Array,
) -> None:
    """Write ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ of `count` motions from t on.

    `padded` is `partials` with room for a whole group at its end; `out` is the result, flattened.
    """
    _, orders, size, _, _ = partials.shape
    entries, like = size * size, lanes.zero()
    apart = orders * (orders + 2) * entries
    nothing = lanes.zeros(_OF_A_GROUP)
    for k in range(orders):
        for m in range(orders + 2):
            start = (k * (orders + 2) + m) * entries
            shares = _share(k, m), _share(k, max(m - 1, 0)), _share(k, max(m - 2, 0))
            last = min(m, 2)
            for begin in range(0, entries, LANES):
                found = nothing
                for j in range(max(m - k, 0), last + 1):
                    place = (j * orders + k - m + j) * entries + begin
                    found = lanes.add_scaled(
                        found, shares[j], lanes.group(padded, place * LANES))
                # A group may reach into the next derivative, which is written after this one.
                if start + begin + LANES <= apart:
                    lanes.write_motions(found, out, t * apart + start + begin, apart, count - 1)
                    continue
                lanes.write_motions(found, numbers, 0, LANES, count - 1)
                for lane in range(count):
                    for i in range(entries - begin):
                        out[(t + lane) * apart + start + begin + i] = numbers[lane, i]
            if m > k + 2:
                continue
            for row in range(size):
                for column in range(first):  # A₀ multiplies the base's displacement η(t)
                    entry, total = row * size + column, like
                    for j in range(max(m - k, 1), last + 1):
                        place = (j * orders + k - m + j) * entries + entry
                        total = total + shares[j] * lanes.read(padded, place * LANES, like)
                    lanes.write(numbers, 0, total + _share(k, 0) * moving_base.displaced(
                        partials, eta, k, m, row, column))
                    for lane in range(count):
                        out[(t + lane) * apart + start + entry] = numbers[0, lane]


@step
def _share(k: int, m: int) -> float:
    """Return k!/m!."""
    share = 1.0
    for factor in range(2, k + 1):
        share *= factor
    for factor in range(2, m + 1):
        share /= factor
    return share
