"""Forward and hybrid dynamics to any order, for trees: the O(n) recursions H-GABI and H-GHYB.

AGF26, Algorithms 3 and 4, in Taylor coefficients. At each order the highest derivatives enter
linearly, with the same articulated inertias M^A (Lemma 2). So each order goes in three steps: all
bodies move as if the unknown accelerations were zero; the wrenches that this takes run down to the
base; the missing accelerations run up again. With zero for the unknowns, bias twists and momenta
(eqs. 65, 66) need no formulas of their own: they are those of the inverse dynamics.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels import bodies
from hodyn_ros.dynamics.kernels.bodies import kernel, step
from hodyn_ros.dynamics.kernels.workspace import block, borrowed
from hodyn_ros.robot import Tree

Array = NDArray[np.float64]

# Of S · M^A S against the sum of its terms' sizes: below, rounding is all that is left of it.
_SINGULAR = 1e-13


def workspace(tree: Tree, order: int) -> Array:
    """Return the scratch memory that `hybrid_dynamics` needs for this tree and order."""
    return np.empty(len(tree.parent) * _per_body(order) + 36)


@kernel
def _per_body(order: int) -> int:
    return 12 + 22 * (order + 2) + 3 * (order + 3) + 33 * (order + 1) + 50


@kernel
def hybrid_dynamics(
    parent: NDArray[np.int64], constants: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, moved: NDArray[np.bool_], given: Array,
    base_moved: bool, base_given: Array, wrenches: Array, found: Array, base_found: Array,
    memory: Array,
) -> int:
    """Write what is not given of accelerations and torques; nothing is allocated or checked.

    Parameters
    ----------
    parent, constants, body_in_kernel, gravity, wrenches, memory
        As for `spatial.inverse_dynamics`.
    q : (2, n) array
        Positions and velocities.
    base_pose, base_twist : (4, 4) and (1, 6) arrays
        The spatial twist; (0, 1) each for a fixed base.
    moved, given, found : (n,), (r + 1, n) and (r + 1, n) arrays
        Where `moved`, given are q̈ and its derivatives and the torque is found; elsewhere, the
        other way round.
    base_moved, base_given, base_found : bool, (r + 1, 6) and (r + 1, 6) arrays
        The same for the base: V̇ … or the wrench.

    Returns
    -------
    int
        −1, or the body whose articulated inertia is not positive about its joint.

    """
    order, n = given.shape[0] - 1, len(parent)
    constants, body_in_kernel = borrowed(constants), borrowed(body_in_kernel)
    floating = n - given.shape[1]
    jets = order + 2
    pose = block(memory, 0, (n, 12))
    size = n * 12
    rate = block(memory, size, (n, jets))
    size += n * jets
    screw = block(memory, size, (n, jets, 6))
    size += n * jets * 6
    twist = block(memory, size, (n, jets, 6))
    size += n * jets * 6
    inertia = block(memory, size, (n, jets, 6))
    size += n * jets * 6
    spin = block(memory, size, (n, jets, 3))
    size += n * jets * 3
    com = block(memory, size, (n, jets + 1, 3))
    size += n * (jets + 1) * 3
    force = block(memory, size, (n, order + 1, 3))
    size += n * (order + 1) * 3
    wrench = block(memory, size, (n, order + 1, 6))
    size += n * (order + 1) * 6
    articulated = block(memory, size, (n, 6, 6))
    size += n * 36
    reaction = block(memory, size, (n, 6))  # U = M^A S
    size += n * 6
    resistance = block(memory, size, (n,))  # S · U
    size += n
    surplus = block(memory, size, (n,))  # of torque, over what the tentative motion takes
    size += n
    missing = block(memory, size, (n, 6))  # acceleration
    size += n * 6
    frame = block(memory, size, (n, order + 1, 4, 3))
    size += n * (order + 1) * 12
    local = block(memory, size, (n, order + 1, 6))
    size += n * (order + 1) * 6
    applied = block(memory, size, (n, order + 1, 6))
    size += n * (order + 1) * 6
    factors = block(memory, size, (6, 6))

    for i in range(n):
        if i < floating:
            bodies.place_base(base_pose, pose[i], screw[i])
            for c in range(6):
                twist[i, 0, c] = base_twist[0, c]
        else:
            bodies.place(parent[i], constants[i], q[0, i - floating], pose, i, screw[i])
            rate[i, 0] = q[1, i - floating]
            above = twist[parent[i]] if parent[i] >= 0 else twist[0, :0]
            bodies.move(0, 1, above, rate[i], screw[i], twist[i])
        bodies.place_com(constants[i], pose[i], com[i])
        bodies.follow(1, 2, twist[i], com[i])
        bodies.place_inertia(constants[i], pose[i], inertia[i])
        bodies.spatial_inertia(constants[i, 14], com[i, 0], inertia[i, 0], articulated[i])

    for i in range(n - 1, -1, -1):
        if i < floating:
            if not base_moved and not _factorize(articulated[0], factors):
                return 0
            continue
        p = parent[i]
        if not moved[i - floating]:
            scale = 0.0
            resistance[i] = 0.0
            for row in range(6):
                reaction[i, row] = 0.0
                for c in range(6):
                    part = articulated[i, row, c] * screw[i, 0, c]
                    reaction[i, row] += part
                    scale += abs(screw[i, 0, row] * part)
                resistance[i] += screw[i, 0, row] * reaction[i, row]
            if not resistance[i] > _SINGULAR * scale:
                return i
        if p >= 0:
            for row in range(6):
                for c in range(6):
                    entry = articulated[i, row, c]
                    if not moved[i - floating]:
                        entry -= reaction[i, row] * reaction[i, c] / resistance[i]
                    articulated[p, row, c] += entry

    factorial = 1.0  # k!
    for k in range(order + 1):
        factorial *= max(k, 1)
        for i in range(n):  # as if the unknown accelerations were zero
            if i < floating:
                for c in range(6):
                    twist[i, k + 1, c] = (
                        base_given[k, c] / ((k + 1) * factorial) if base_moved else 0.0)
            else:
                rate[i, k + 1] = (
                    given[k, i - floating] / ((k + 1) * factorial) if moved[i - floating] else 0.0)
                above = twist[parent[i]] if parent[i] >= 0 else twist[0, :0]
                bodies.move(k + 1, k + 2, above, rate[i], screw[i], twist[i])
            bodies.follow(k + 2, k + 3, twist[i], com[i])
            bodies.turn_inertia(k + 1, k + 2, twist[i], inertia[i])
            bodies.spin_momentum(k + 1, k + 2, twist[i], inertia[i], spin[i])
            bodies.balance(
                k, k + 1, constants[i, 14], gravity, com[i], spin[i], force[i], wrench[i])
            if wrenches.shape[0] > 0:
                if k == 0:
                    bodies.place_frame(body_in_kernel[i], pose[i], frame[i])
                else:
                    bodies.follow_frame(k, k + 1, twist[i], frame[i])
                for c in range(6):
                    local[i, k, c] = wrenches[k, i, c] / factorial
                bodies.to_world(k, k + 1, frame[i], local[i], applied[i])
                for c in range(6):
                    wrench[i, k, c] -= applied[i, k, c]

        for i in range(n - 1, floating - 1, -1):  # down to the base
            share = 0.0
            if not moved[i - floating]:
                surplus[i] = (
                    given[k, i - floating] / factorial - _torque(k, screw[i], wrench[i]))
                share = surplus[i] / resistance[i]
            if parent[i] >= 0:
                for c in range(6):
                    wrench[parent[i], k, c] += wrench[i, k, c] + (
                        share * reaction[i, c] if not moved[i - floating] else 0.0)

        for i in range(n):  # and up again
            for c in range(6):
                missing[i, c] = missing[parent[i], c] if parent[i] >= 0 else 0.0
            if i < floating:
                if not base_moved:
                    for c in range(6):
                        missing[i, c] = base_given[k, c] / factorial - wrench[i, k, c]
                    _solve(factors, missing[i])
            elif not moved[i - floating]:
                acceleration = surplus[i]
                for c in range(6):
                    acceleration -= reaction[i, c] * missing[i, c]
                acceleration /= resistance[i]
                for c in range(6):
                    missing[i, c] += screw[i, 0, c] * acceleration
                rate[i, k + 1] = acceleration / (k + 1)
                found[k, i - floating] = factorial * acceleration
            _accelerate(
                k, missing[i], constants[i, 14], articulated[i], inertia[i, 0], twist[i], com[i],
                spin[i], force[i], wrench[i])
            if i < floating:
                for c in range(6):
                    base_found[k, c] = factorial * (
                        wrench[i, k, c] if base_moved else (k + 1) * twist[i, k + 1, c])
            elif moved[i - floating]:
                found[k, i - floating] = factorial * _torque(k, screw[i], wrench[i])
    return -1


@step
def _torque(k: int, screw: Array, wrench: Array) -> float:
    """Coefficient k of S · W."""
    total = 0.0
    for a in range(k + 1):
        for c in range(6):
            total += screw[a, c] * wrench[k - a, c]
    return total


@step
def _accelerate(
    k: int, missing: Array, mass: float, articulated: Array, inertia: Array, twist: Array,
    com: Array, spin: Array, force: Array, wrench: Array,
) -> None:
    """Add a missing acceleration, coefficient k of V̇, to all that depends on it linearly."""
    for c in range(6):
        twist[k + 1, c] += missing[c] / (k + 1)
        for row in range(6):
            wrench[k, row] += articulated[row, c] * missing[c]
    x, y, z = missing[:3]
    xx, yy, zz, xy, xz, yz = inertia
    spin[k + 1, 0] += (xx * x + xy * y + xz * z) / (k + 1)
    spin[k + 1, 1] += (xy * x + yy * y + yz * z) / (k + 1)
    spin[k + 1, 2] += (xz * x + yz * y + zz * z) / (k + 1)
    for c in range(3):
        nxt, last = (c + 1) % 3, (c + 2) % 3
        of_com = missing[3 + c] + missing[nxt] * com[0, last] - missing[last] * com[0, nxt]
        com[k + 2, c] += of_com / ((k + 1) * (k + 2))
        force[k, c] += mass * of_com


@step
def _factorize(matrix: Array, factors: Array) -> bool:
    """Write L and D of L D Lᵀ = matrix (6, 6), D on the diagonal; False unless positive."""
    for row in range(6):
        for c in range(row + 1):
            value = matrix[row, c]
            for d in range(c):
                value -= factors[row, d] * factors[d, d] * factors[c, d]
            if c < row:
                factors[row, c] = value / factors[c, c]
            else:
                if not value > _SINGULAR * matrix[row, row]:
                    return False
                factors[row, row] = value
    return True


@step
def _solve(factors: Array, x: Array) -> None:
    """Replace x by the solution of L D Lᵀ y = x."""
    for row in range(6):
        for c in range(row):
            x[row] -= factors[row, c] * x[c]
    for row in range(6):
        x[row] /= factors[row, row]
    for row in range(5, -1, -1):
        for c in range(row + 1, 6):
            x[row] -= factors[c, row] * x[c]
