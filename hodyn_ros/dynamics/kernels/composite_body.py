"""CRBA, the composite-rigid-body algorithm: M, C, g and derivatives, for trees (AGF26 Prop. 1)."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels import newton_euler
from hodyn_ros.dynamics.kernels.decorators import kernel
from hodyn_ros.dynamics.kernels.newton_euler import row6
from hodyn_ros.robot.body_table import MASS


@kernel
def equations_of_motion(
    parent: NDArray[np.int64], gravity: Array, columns: Array, inertia: Array, ad_inertia: Array,
    mass: Array, coriolis: Array, weight: Array, products: Array,
) -> None:
    """Write mass matrix, Coriolis matrix and gravity terms.

    - `gravity`, (3,), m/s².
    - `columns`, (N, r + 2, 6): coefficients of S, a row per joint. A floating base has the first
      six rows, where Ṡ = 0.
    - `inertia`, `ad_inertia`, (n_bodies, r + 1, 6, 6): M and ad_Vᵀ M of each body on entry, and
      their sums over its subtree (composite inertia) on return.
    - `mass`, `coriolis`, (r + 1, N, N), `weight`, (r + 1, N): zeros on entry; written.
    - `products`, (3, r + 1, 6): scratch.
    """
    n, orders, size = len(parent), mass.shape[0], mass.shape[1]
    first = size - n  # column of body 0; for a floating base the last of its six
    floating = 1 if first > 0 else 0
    M_S, M_dS_minus_adT_M_S, M_ad_S = products[0], products[1], products[2]
    for i in range(n - 1, 0, -1):
        p = parent[i]
        if p >= 0:
            for k in range(orders):
                for row in range(6):
                    for c in range(6):
                        inertia[p, k, row, c] += inertia[i, k, row, c]
                        ad_inertia[p, k, row, c] += ad_inertia[i, k, row, c]

    for j in range(size):
        body = max(j - first, 0)
        _products(columns[j], inertia[body], ad_inertia[body], M_S, M_dS_minus_adT_M_S, M_ad_S)
        i, carrier = j, body  # i runs through all columns from j to the world
        while i >= 0:
            factorial = 1.0
            for k in range(orders):
                factorial *= max(k, 1)
                m, c_ij, c_ji = 0.0, 0.0, 0.0
                for a in range(k + 1):
                    for c in range(6):
                        s = columns[i, k - a, c]
                        rate = (k - a + 1) * columns[i, k - a + 1, c]
                        m += s * M_S[a, c]
                        c_ij += s * M_dS_minus_adT_M_S[a, c]
                        c_ji += rate * M_S[a, c] - s * M_ad_S[a, c]
                mass[k, i, j] = mass[k, j, i] = factorial * m
                coriolis[k, j, i] = factorial * c_ji
                coriolis[k, i, j] = factorial * c_ij
            if i < 6 * floating:
                i -= 1
            else:
                carrier = parent[carrier]
                i = carrier + first if carrier >= 0 else -1
        factorial = 1.0
        for k in range(orders):
            factorial *= max(k, 1)
            for c in range(3):
                weight[k, j] -= factorial * M_S[k, 3 + c] * gravity[c]


@kernel
def _products(
    screw: Array, inertia: Array, ad_inertia: Array, M_S: Array,
    M_dS_minus_adT_M_S: Array, M_ad_S: Array,
) -> None:
    """Write the coefficients of M S, M Ṡ − ad_Vᵀ M S and (ad_Vᵀ M)ᵀ S."""
    for k in range(len(M_S)):
        for row in range(6):
            M_S[k, row], M_dS_minus_adT_M_S[k, row], M_ad_S[k, row] = 0.0, 0.0, 0.0
            for a in range(k + 1):
                for c in range(6):
                    s, rate = screw[k - a, c], (k - a + 1) * screw[k - a + 1, c]
                    M_S[k, row] += inertia[a, row, c] * s
                    M_dS_minus_adT_M_S[k, row] += (
                        inertia[a, row, c] * rate - ad_inertia[a, row, c] * s)
                    M_ad_S[k, row] += ad_inertia[a, c, row] * s


@kernel
def body_inertias(
    body_table: Array, pose: Array, twist: Array, inertia: Array, ad_inertia: Array, com: Array,
    about_com: Array,
) -> None:
    """Write M and ad_Vᵀ M of each body: Ṁ = −M ad_V − ad_Vᵀ M (AGF26 eq. 61).

    - `body_table`, (n_bodies, 30): from the `KernelModel`.
    - `pose`, `twist`, (n_bodies, 12), (n_bodies, r + 1 or more, 6): of the kernel frames, twists
      as coefficients.
    - `inertia`, `ad_inertia`, (n_bodies, r + 1, 6, 6): coefficients of M and ad_Vᵀ M, written.
    - `com`, `about_com`, (1, 3) and (1, 6): scratch.
    """
    orders = ad_inertia.shape[1]
    for i in range(len(body_table)):
        newton_euler.com_position(body_table[i], pose[i], com)
        newton_euler.com_inertia(body_table[i], pose[i], about_com)
        newton_euler.spatial_inertia(body_table[i, MASS], com[0], about_com[0], inertia[i, 0])
        for k in range(orders):
            for c in range(6):
                x, y, z, u, v, w = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
                for a in range(k + 1):
                    px, py, pz, pu, pv, pw = row6(twist[i], a)
                    mx, my, mz, fx, fy, fz = row6(inertia[i, k - a], c)  # M is symmetric
                    x -= py * mz - pz * my + pv * fz - pw * fy
                    y -= pz * mx - px * mz + pw * fx - pu * fz
                    z -= px * my - py * mx + pu * fy - pv * fx
                    u -= py * fz - pz * fy
                    v -= pz * fx - px * fz
                    w -= px * fy - py * fx
                ad_inertia[i, k, 0, c], ad_inertia[i, k, 1, c], ad_inertia[i, k, 2, c] = x, y, z
                ad_inertia[i, k, 3, c], ad_inertia[i, k, 4, c], ad_inertia[i, k, 5, c] = u, v, w
            if k + 1 < orders:
                for row in range(6):
                    for c in range(6):
                        inertia[i, k + 1, row, c] = (
                            ad_inertia[i, k, row, c] + ad_inertia[i, k, c, row]) / -(k + 1)
