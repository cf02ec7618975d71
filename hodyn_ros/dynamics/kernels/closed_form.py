"""The closed form of the equations of motion, body-fixed, any order, for trees: MK21 and KM21.

It uses block matrices over all bodies: the path matrix A with Ȧ = A a − A a A (MK21 eq. 19), the
system Jacobian J = A X with J̇ = −A a J (eq. 12) and U with U̇ = −A a U. Block (i, j) is 0 unless
body j is on the path from body i to the world. In Taylor coefficients the Leibniz sums of KM21
(50)–(58) are Cauchy products. Kernel frames replace the body frames.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import newton_euler
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, kernel, step
from hodyn_ros.dynamics.kernels.newton_euler import body_momentum, row6
from hodyn_ros.dynamics.kernels.rnea_body_fixed import subtract_external
from hodyn_ros.dynamics.kernels.workspace import (
    block,
    borrowed,
    check_shapes,
    new_workspace,
    take,
)
from hodyn_ros.robot.body_table import ROTATION, TRANSLATION


@step
def workspace_size(n_bodies: int, order: int) -> int:
    """Return how many doubles of scratch memory the kernels need."""
    n, orders = n_bodies, order + 1
    return (
        2 * 36 * n * n * orders + 6 * n * n * (orders + 1) + 3 * 6 * n * orders
        + n * (orders + 1) + 12 * n + 42 + 6 * n * n * orders * 3
        + orders * (3 * n * n + 2 * n))


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory of the kernels."""
    return new_workspace(workspace_size, n_bodies, order)


@batch_kernel
def inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, base: tuple[Array, ...], wrenches: Array, q: Array, torque: Array,
) -> None:
    """Write Q and its derivatives for T motions; arguments as in `rnea_spatial`.

    `base` is not read, since the closed form is for fixed bases.
    """
    for t in range(q.shape[0]):
        w = wrenches[t if wrenches.shape[1] > 0 else 0]
        _inverse_dynamics(
            parent, body_table, body_in_kernel, gravity, memory, w, q[t], torque[t])


@kernel
def single(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, q: Array, out: Array,
) -> None:
    """Write Q and its derivatives for one motion without wrenches, as in `rnea_spatial`."""
    n = len(parent)
    check_shapes(q, out, n, memory.shape[0], workspace_size(n, out.shape[0] - 1))
    _inverse_dynamics(
        parent, body_table, body_in_kernel, gravity, memory, block(memory, 0, (0, 0, 0)), q, out)


@kernel
def _inverse_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, wrenches: Array, q: Array, torque: Array,
) -> None:
    """Write Q = M q̈ + C q̇ + Q_grav + Q_ext and its derivatives (KM21, the sum before (46))."""
    orders, n = torque.shape[0], len(parent)
    # These arrays are at the end of the memory, because `terms` uses the start.
    weight, at = take(
        memory, workspace_size(n, orders - 1) - orders * n * (3 * n + 2), (orders, n))
    external, at = take(memory, at, (orders, n))
    mass, at = take(memory, at, (orders, n, n))
    coriolis, at = take(memory, at, (orders, n, n))
    skew, _ = take(memory, at, (orders, n, n))
    terms(
        parent, body_table, body_in_kernel, gravity, memory, wrenches, q, mass, coriolis, skew,
        weight, external)
    rate = block(memory, 0, (orders + 1, n))  # in place of the path matrix
    factorial = 1.0
    for k in range(orders + 1):
        factorial *= max(k, 1)
        for i in range(n):
            rate[k, i] = q[k + 1, i] / factorial
    factorial = 1.0
    for k in range(orders):
        factorial *= max(k, 1)
        for i in range(n):
            total = weight[k, i] + external[k, i]
            for a in range(k + 1):
                for j in range(n):
                    total += (
                        mass[a, i, j] * (k - a + 1) * rate[k - a + 1, j]
                        + coriolis[a, i, j] * rate[k - a, j])
            torque[k, i] = factorial * total


@kernel
def terms(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array,
    memory: Array, wrenches: Array, q: Array, mass: Array, coriolis: Array, skew: Array,
    weight: Array, external: Array,
) -> tuple[Array, Array]:
    """Write the Taylor coefficients of M, C, C̄, Q_grav and Q_ext (MK21 eqs. 20–27, 54).

    Return coefficients, in `memory` and in kernel frames, of the system Jacobian (body i and joint
    j), (r + 2, n, n, 6), and of the system twist, (r + 1, n, 6). Each of the n bodies has a joint.
    The model's arrays are as for `inverse_dynamics`, `memory` is from `workspace`, and:

    - `wrenches`, (r + 1, n, 6): external, in body axes about the body origins; (0, 0, 0) for none.
    - `q`, (r + 2 or more, n): joint positions and derivatives.
    - `mass`, `coriolis`, `skew`, (r + 1, n, n), and `weight`, `external`, (r + 1, n): written.
    """
    orders, n = mass.shape[0], len(parent)
    body_table, body_in_kernel = borrowed(body_table), borrowed(body_in_kernel)
    path, at = take(memory, 0, (orders, n, n, 6, 6))
    path_a, at = take(memory, at, (orders, n, n, 6, 6))  # A a
    jacobian, at = take(memory, at, (orders + 1, n, n, 6))
    up, at = take(memory, at, (orders, n, 6))  # U G
    twist, at = take(memory, at, (orders, n, 6))
    exerted, at = take(memory, at, (n, orders, 6))  # W of MK21 eq. (27)
    rate, at = take(memory, at, (orders + 1, n))
    pose, at = take(memory, at, (n, 12))
    screw, at = take(memory, at, (1, 6))
    step_ad, at = take(memory, at, (6, 6))
    products, _ = take(memory, at, (3, orders, n, n, 6))  # M J, 𝖢 J and (𝖢 + M b) J

    factorial = 1.0
    for k in range(orders):
        factorial *= max(k, 1)
        for i in range(n):
            rate[k, i] = q[k + 1, i] / factorial
    for i in range(n):
        newton_euler.joint_pose(parent[i], body_table[i], q[0, i], pose, i, screw)
        _weight_in_body(pose[i], gravity, up[0, i])
        exerted[i] = 0.0
        if wrenches.shape[0] > 0:
            subtract_external(wrenches[:, i], body_in_kernel[i], exerted[i])
        for j in range(n):
            for row in range(6):
                for c in range(6):
                    path[0, i, j, row, c] = 1.0 if i == j and row == c else 0.0
                for k in range(orders + 1):
                    jacobian[k, i, j, row] = 0.0
        if parent[i] >= 0:
            _step_from_parent(pose[parent[i]], pose[i], step_ad)
            j = parent[i]
            while j >= 0:
                for row in range(6):
                    for c in range(6):
                        total = 0.0
                        for d in range(6):
                            total += step_ad[row, d] * path[0, parent[i], j, d, c]
                        path[0, i, j, row, c] = total
                j = parent[j]
        j = i
        while j >= 0:
            for row in range(6):
                jacobian[0, i, j, row] = (
                    path[0, i, j, row, 2] * body_table[j, ROTATION]
                    + path[0, i, j, row, 5] * body_table[j, TRANSLATION])
            j = parent[j]

    for k in range(orders):
        for i in range(n):
            for c in range(6):
                twist[k, i, c] = 0.0
            j = i
            while j >= 0:
                for a in range(k + 1):
                    for c in range(6):
                        twist[k, i, c] += jacobian[a, i, j, c] * rate[k - a, j]
                _path_times_a(k, body_table[j], rate, path, i, j, path_a)
                j = parent[j]
        for i in range(n):
            _next_rows(k, parent, i, path_a, path, jacobian, up)

    for k in range(orders):
        for i in range(n):
            j = i
            while j >= 0:
                _body_products(k, body_table[i], jacobian, twist, i, j, products)
                j = parent[j]
        _project(
            k, parent, exerted, jacobian, up, products, mass, coriolis, skew, weight, external)
    return jacobian, twist


@step
def _weight_in_body(pose: Array, gravity: Array, up: Array) -> None:
    """Write U G = (0, −Rᵀ g) (MK21 eq. 26)."""
    for c in range(3):
        up[c], up[3 + c] = 0.0, 0.0
        for row in range(3):
            up[3 + c] -= pose[3 * row + c] * gravity[row]


@step
def _step_from_parent(above: Array, pose: Array, out: Array) -> None:
    """Write Ad (6, 6) of the parent's pose in the body's frame."""
    x, y, z = above[9] - pose[9], above[10] - pose[10], above[11] - pose[11]
    for row in range(3):
        a, b, c = pose[row], pose[3 + row], pose[6 + row]
        # Row of Rᵀ times the skew matrix of the offset.
        u, v, w = b * z - c * y, c * x - a * z, a * y - b * x
        for column in range(3):
            d, e, f = above[column], above[3 + column], above[6 + column]
            out[row, column] = a * d + b * e + c * f
            out[3 + row, 3 + column] = out[row, column]
            out[row, 3 + column] = 0.0
            out[3 + row, column] = u * d + v * e + w * f


@step
def _path_times_a(
    k: int, body: Array, rate: Array, path: Array, i: int, j: int, path_a: Array,
) -> None:
    """Write coefficient k of block (i, j) of A a, with a = diag(q̇ ad_X) (MK21 eq. 13)."""
    rho, h = body[ROTATION], body[TRANSLATION]
    for row in range(6):
        x, y, u, v = 0.0, 0.0, 0.0, 0.0
        for a in range(k + 1):
            x += path[a, i, j, row, 0] * rate[k - a, j]
            y += path[a, i, j, row, 1] * rate[k - a, j]
            u += path[a, i, j, row, 3] * rate[k - a, j]
            v += path[a, i, j, row, 4] * rate[k - a, j]
        # ad_X of X = (0, 0, ρ, 0, 0, h) has only these entries.
        path_a[k, i, j, row, 0] = rho * y + h * v
        path_a[k, i, j, row, 1] = -rho * x - h * u
        path_a[k, i, j, row, 2] = 0.0
        path_a[k, i, j, row, 3] = rho * v
        path_a[k, i, j, row, 4] = -rho * u
        path_a[k, i, j, row, 5] = 0.0


@step
def _next_rows(
    k: int, parent: NDArray[np.int64], i: int, path_a: Array, path: Array, jacobian: Array,
    up: Array,
) -> None:
    """Write coefficient k + 1 of body i's rows of A, J and U G from those up to k."""
    last = path.shape[0] - 1
    part = 1.0 / (k + 1)
    j = i
    while j >= 0:
        for row in range(6):
            for c in range(6):
                if k < last:
                    path[k + 1, i, j, row, c] = part * path_a[k, i, j, row, c]
        j = parent[j]
    if k < last:
        for row in range(6):
            up[k + 1, i, row] = 0.0
    between = i
    while between >= 0:
        for a in range(k + 1):
            for row in range(6):
                for d in range(6):
                    factor = part * path_a[a, i, between, row, d]
                    if factor == 0.0:
                        continue
                    if k < last:
                        up[k + 1, i, row] -= factor * up[k - a, between, d]
                    j = between
                    while j >= 0:
                        jacobian[k + 1, i, j, row] -= factor * jacobian[k - a, between, j, d]
                        if k < last:
                            for c in range(6):
                                path[k + 1, i, j, row, c] -= (
                                    factor * path[k - a, between, j, d, c])
                        j = parent[j]
        between = parent[between]


@step
def _body_products(
    k: int, body: Array, jacobian: Array, twist: Array, i: int, j: int, products: Array,
) -> None:
    """Write coefficient k of M J, 𝖢 J = M J̇ − bᵀ M J and (𝖢 + M b) J (MK21 eqs. 20, 22, 54)."""
    a, b, c, x, y, z = row6(jacobian[k, i], j)
    (products[0, k, i, j, 0], products[0, k, i, j, 1], products[0, k, i, j, 2],
     products[0, k, i, j, 3], products[0, k, i, j, 4], products[0, k, i, j, 5]) = body_momentum(
        body, a, b, c, x, y, z)
    a, b, c, x, y, z = row6(jacobian[k + 1, i], j)
    a, b, c, x, y, z = body_momentum(body, a, b, c, x, y, z)
    a, b, c, x, y, z = (
        (k + 1) * a, (k + 1) * b, (k + 1) * c, (k + 1) * x, (k + 1) * y, (k + 1) * z)
    d, e, f, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0  # b J
    for s in range(k + 1):
        ox, oy, oz, vx, vy, vz = row6(twist[s], i)
        lx, ly, lz, px, py, pz = row6(products[0, k - s, i], j)
        a += oy * lz - oz * ly + vy * pz - vz * py
        b += oz * lx - ox * lz + vz * px - vx * pz
        c += ox * ly - oy * lx + vx * py - vy * px
        x += oy * pz - oz * py
        y += oz * px - ox * pz
        z += ox * py - oy * px
        lx, ly, lz, px, py, pz = row6(jacobian[k - s, i], j)
        d += oy * lz - oz * ly
        e += oz * lx - ox * lz
        f += ox * ly - oy * lx
        u += vy * lz - vz * ly + oy * pz - oz * py
        v += vz * lx - vx * lz + oz * px - ox * pz
        w += vx * ly - vy * lx + ox * py - oy * px
    d, e, f, u, v, w = body_momentum(body, d, e, f, u, v, w)
    for place, value in enumerate((a, b, c, x, y, z)):
        products[1, k, i, j, place] = value
    for place, value in enumerate((a + d, b + e, c + f, x + u, y + v, z + w)):
        products[2, k, i, j, place] = value


@step
def _project(
    k: int, parent: NDArray[np.int64], exerted: Array, jacobian: Array, up: Array,
    products: Array, mass: Array, coriolis: Array, skew: Array, weight: Array, external: Array,
) -> None:
    """Write coefficient k of Jᵀ M J, Jᵀ 𝖢 J, Jᵀ (𝖢 + M b) J, Jᵀ M U G and Jᵀ W."""
    n = len(parent)
    for i in range(n):
        weight[k, i], external[k, i] = 0.0, 0.0
        for j in range(n):
            mass[k, i, j], coriolis[k, i, j], skew[k, i, j] = 0.0, 0.0, 0.0
    for body in range(n):
        i = body
        while i >= 0:
            j = body
            while j >= 0:
                m, c_ij, s_ij = 0.0, 0.0, 0.0
                for a in range(k + 1):
                    for c in range(6):
                        entry = jacobian[a, body, i, c]
                        m += entry * products[0, k - a, body, j, c]
                        c_ij += entry * products[1, k - a, body, j, c]
                        s_ij += entry * products[2, k - a, body, j, c]
                mass[k, i, j] += m
                coriolis[k, i, j] += c_ij
                skew[k, i, j] += s_ij
                j = parent[j]
            heavy, acting = 0.0, 0.0
            for a in range(k + 1):
                for c in range(6):  # M is symmetric
                    heavy += products[0, a, body, i, c] * up[k - a, body, c]
                    acting += jacobian[a, body, i, c] * exerted[body, k - a, c]
            weight[k, i] += heavy
            external[k, i] += acting
            i = parent[i]
