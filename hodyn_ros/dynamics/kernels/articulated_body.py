"""ABA, the articulated-body algorithm: forward and hybrid dynamics, any order, for trees.

These are the O(n) recursions H-GABI and H-GHYB (AGF26, Algorithms 3 and 4) in Taylor coefficients.
At each order the highest derivatives enter linearly, with the same articulated inertias M^A (Lemma
2). So each order takes three sweeps. Outward: all bodies move tentatively, with zero for the
unknown accelerations; so the formulas of inverse dynamics yield the bias terms (eqs. 65, 66).
Inward: the wrenches and torque residuals of this motion are collected. Outward: the acceleration
corrections follow.

With a floating base, all quantities are about the base's origin: inertias contain the squared
distance from the origin, so they would lose digits if the world's origin were far away.
"""
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.dynamics.kernels import newton_euler
from hodyn_ros.dynamics.kernels.decorators import kernel, step
from hodyn_ros.dynamics.kernels.factorization import SINGULAR, factorize, solve
from hodyn_ros.dynamics.kernels.workspace import borrowed, take
from hodyn_ros.robot.body_table import MASS

_EPSILON = 2.0**-52


class _State(NamedTuple):
    """Arrays of the algorithm: the first axis is for bodies, the second for coefficients."""

    pose: Array  #: (n, 12): pose of the kernel frame, rows of R then r
    #: `rate`, `screw`, `twist`: (n, r + 2), (n, r + 2, 6) and (n, r + 2, 6): q̇, S and V
    rate: Array
    screw: Array
    twist: Array
    #: `inertia`, `spin`: (n, r + 2, 6) and (n, r + 2, 3): inertia and angular momentum about the
    #: centre of mass, in world axes
    inertia: Array
    spin: Array
    #: `com`, `force`, `wrench`: (n, r + 3, 3), (n, r + 1, 3) and (n, r + 1, 6): position of the
    #: centre of mass; force and wrench that the motion needs
    com: Array
    force: Array
    wrench: Array
    articulated: Array  #: (n, 6, 6): articulated inertia M^A
    #: `reaction`, `joint_inertia`: (n, 6) and (n,): U = M^A S and S · U
    reaction: Array
    joint_inertia: Array
    #: (n,): given torque minus that of the tentative motion, at the current order
    torque_residual: Array
    #: (n, 6): acceleration minus that of the tentative motion, at the current order
    acceleration_correction: Array
    #: `frame`, `local`, `applied`: (n, r + 1, 4, 3), (n, r + 1, 6) and (n, r + 1, 6): body frame,
    #: and external wrench in it and in world axes
    frame: Array
    local: Array
    applied: Array


def workspace(n_bodies: int, order: int) -> Array:
    """Return the scratch memory that `hybrid_dynamics` needs."""
    per_body = 12 + 22 * (order + 2) + 3 * (order + 3) + 33 * (order + 1) + 50
    return np.empty(n_bodies * per_body + 36)


@kernel
def hybrid_dynamics_batch(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, prescribed: Flags, inputs: Array,
    base_prescribed: bool, base_inputs: Array, wrenches: Array, outputs: Array,
    base_outputs: Array, round_off: Array, memory: Array,
) -> int:
    """Run `hybrid_dynamics` for T motions: arrays of a motion have a first axis of length T.

    Return −1, or t n_bodies + i if `hybrid_dynamics` returns body i in motion t.
    """
    for t in range(len(q)):
        singular = hybrid_dynamics(
            parent, body_table, body_in_kernel, gravity, q[t], base_pose[t], base_twist[t],
            prescribed, inputs[t], base_prescribed, base_inputs[t], wrenches[t], outputs[t],
            base_outputs[t], round_off[t], memory)
        if singular >= 0:
            failed: int = t * len(parent) + singular
            return failed
    return -1


@kernel
def hybrid_dynamics(
    parent: NDArray[np.int64], body_table: Array, body_in_kernel: Array, gravity: Array, q: Array,
    base_pose: Array, base_twist: Array, prescribed: Flags, inputs: Array,
    base_prescribed: bool, base_inputs: Array, wrenches: Array, outputs: Array,
    base_outputs: Array, round_off: Array, memory: Array,
) -> int:
    """Write the unknown accelerations and torques; nothing is allocated or checked.

    Return −1, or the body whose articulated inertia is not positive about its joint. The model's
    arrays are as for `rnea_spatial.inverse_dynamics`, `memory` is from `workspace`, and:

    - `q`, (2, n): positions and velocities.
    - `base_pose`, (4, 4), `base_twist`, (1, 6): pose and spatial twist of a floating base; (0, 1)
      each for a fixed base.
    - `prescribed`, (n,); `inputs`, `outputs`, (r + 1, n): for a prescribed joint, inputs are q̈
      and its derivatives, and outputs its torque; for another joint, inputs are its torque, and
      outputs q̈.
    - `base_prescribed`; `base_inputs`, `base_outputs`, (r + 1, 6): the same for the base: V̇ and
      its derivatives, or the wrench.
    - `wrenches`, (r + 1, n_bodies, 6): external, in body axes about the body origins; (0, 0, 0)
      for none.
    - `round_off`, (2, n_bodies): the first row gets a rough bound of the rounding error of each
      joint's acceleration, rad/s² or m/s², 0 for prescribed joints; the second row is scratch
      memory.
    """
    order, n = inputs.shape[0] - 1, len(parent)
    body_table, body_in_kernel = borrowed(body_table), borrowed(body_in_kernel)
    floating = n - inputs.shape[1]
    state, factors = _cut(memory, n, order)
    for i in range(n):
        if i < floating:
            newton_euler.floating_base_pose(base_pose, state.pose[i], state.screw[i])
            for c in range(3):
                state.pose[i, 9 + c] = 0.0
            for c in range(6):
                state.twist[i, 0, c] = base_twist[0, c]
            _shift(state.twist[i, 0], 3, base_pose, 1.0)
        else:
            newton_euler.joint_pose(
                parent[i], body_table[i], q[0, i - floating], state.pose, i, state.screw[i])
            state.rate[i, 0] = q[1, i - floating]
            newton_euler.propagate_twist(
                0, 1, _parent_twist(state, parent[i]), state.rate[i], state.screw[i],
                state.twist[i])
        newton_euler.com_position(body_table[i], state.pose[i], state.com[i])
        newton_euler.point_motion(1, 2, state.twist[i], state.com[i])
        newton_euler.com_inertia(body_table[i], state.pose[i], state.inertia[i])
        newton_euler.spatial_inertia(
            body_table[i, MASS], state.com[i, 0], state.inertia[i, 0], state.articulated[i])

    round_off[:] = 0.0
    for i in range(n - 1, floating - 1, -1):
        if not _articulate(state, i, parent[i], prescribed[i - floating], round_off):
            return i
    round_off[0, :floating] = 0.0
    if floating > 0 and not base_prescribed and not factorize(state.articulated[0], factors):
        return 0

    factorial = 1.0  # k!
    for k in range(order + 1):
        factorial *= max(k, 1)
        for i in range(n):
            if i < floating:
                for c in range(6):
                    state.twist[i, k + 1, c] = (
                        base_inputs[k, c] / ((k + 1) * factorial) if base_prescribed else 0.0)
                _shift(state.twist[i, k + 1], 3, base_pose, 1.0)
            else:
                state.rate[i, k + 1] = (
                    inputs[k, i - floating] / ((k + 1) * factorial)
                    if prescribed[i - floating] else 0.0)
                newton_euler.propagate_twist(
                    k + 1, k + 2, _parent_twist(state, parent[i]), state.rate[i], state.screw[i],
                    state.twist[i])
            _tentative_wrench(state, i, k, body_table[i, MASS], gravity)
            if wrenches.shape[0] > 0:
                for c in range(6):
                    state.local[i, k, c] = wrenches[k, i, c] / factorial
                _subtract_external(state, i, k, body_in_kernel[i])

        for i in range(n - 1, floating - 1, -1):
            share = 0.0  # joint acceleration that the residual alone would cause
            if not prescribed[i - floating]:
                state.torque_residual[i] = (
                    inputs[k, i - floating] / factorial
                    - _torque(k, state.screw[i], state.wrench[i]))
                share = state.torque_residual[i] / state.joint_inertia[i]
                if k == 0:
                    terms = 0.0
                    for c in range(6):
                        terms += abs(state.screw[i, 0, c] * state.wrench[i, 0, c])
                    round_off[1, i] = _EPSILON * terms
            if parent[i] >= 0:
                for c in range(6):
                    state.wrench[parent[i], k, c] += state.wrench[i, k, c] + (
                        share * state.reaction[i, c] if not prescribed[i - floating] else 0.0)

        for i in range(n):
            correction = state.acceleration_correction[i]
            for c in range(6):
                correction[c] = (
                    state.acceleration_correction[parent[i], c] if parent[i] >= 0 else 0.0)
            if i < floating:
                if not base_prescribed:
                    for c in range(6):
                        correction[c] = base_inputs[k, c] / factorial
                    _shift(correction, 0, base_pose, 1.0)
                    for c in range(6):
                        correction[c] -= state.wrench[i, k, c]
                    solve(factors, correction)
            elif not prescribed[i - floating]:
                if k == 0:
                    for c in range(6):
                        round_off[1, i] += _EPSILON * abs(state.reaction[i, c] * correction[c])
                acceleration = _joint_acceleration(state, i)
                if k == 0:
                    round_off[0, i] = round_off[0, i] * abs(acceleration) + (
                        round_off[1, i] / state.joint_inertia[i])
                state.rate[i, k + 1] = acceleration / (k + 1)
                outputs[k, i - floating] = factorial * acceleration
            _correct(state, i, k, body_table[i, MASS])
            if i < floating:
                for c in range(6):
                    base_outputs[k, c] = factorial * (
                        state.wrench[i, k, c] if base_prescribed
                        else (k + 1) * state.twist[i, k + 1, c])
                _shift(base_outputs[k], 0 if base_prescribed else 3, base_pose, -1.0)
            elif prescribed[i - floating]:
                outputs[k, i - floating] = factorial * _torque(
                    k, state.screw[i], state.wrench[i])
    return -1


@step
def _cut(memory: Array, n: int, order: int) -> tuple[_State, Array]:
    """Return the arrays that share the workspace: the state, and the factors of the base."""
    twists, wrenches = order + 2, order + 1
    pose, at = take(memory, 0, (n, 12))
    rate, at = take(memory, at, (n, twists))
    screw, at = take(memory, at, (n, twists, 6))
    twist, at = take(memory, at, (n, twists, 6))
    inertia, at = take(memory, at, (n, twists, 6))
    spin, at = take(memory, at, (n, twists, 3))
    com, at = take(memory, at, (n, twists + 1, 3))
    force, at = take(memory, at, (n, wrenches, 3))
    wrench, at = take(memory, at, (n, wrenches, 6))
    articulated, at = take(memory, at, (n, 6, 6))
    reaction, at = take(memory, at, (n, 6))
    joint_inertia, at = take(memory, at, (n,))
    torque_residual, at = take(memory, at, (n,))
    correction, at = take(memory, at, (n, 6))
    frame, at = take(memory, at, (n, wrenches, 4, 3))
    local, at = take(memory, at, (n, wrenches, 6))
    applied, at = take(memory, at, (n, wrenches, 6))
    factors, _ = take(memory, at, (6, 6))
    return _State(
        pose, rate, screw, twist, inertia, spin, com, force, wrench, articulated, reaction,
        joint_inertia, torque_residual, correction, frame, local, applied), factors


@step
def _shift(vector: Array, first: int, base_pose: Array, sign: float) -> None:
    """Move a twist (`first` 3) or wrench (0) from the world's to the base's origin; −1: back."""
    other = 3 - first
    for c in range(3):
        nxt, last = (c + 1) % 3, (c + 2) % 3
        vector[first + c] += sign * (
            vector[other + nxt] * base_pose[last, 3] - vector[other + last] * base_pose[nxt, 3])


@step
def _parent_twist(state: _State, parent: int) -> Array:
    return state.twist[parent] if parent >= 0 else state.twist[0, :0]


@step
def _articulate(
    state: _State, i: int, parent: int, prescribed: bool, round_off: Array,
) -> bool:
    """Add the articulated inertia to the parent's; False if not positive for a free joint."""
    articulated, screw = state.articulated[i], state.screw[i, 0]
    if not prescribed:
        scale = 0.0
        state.joint_inertia[i] = 0.0
        for row in range(6):
            state.reaction[i, row] = 0.0
            for c in range(6):
                part = articulated[row, c] * screw[c]
                state.reaction[i, row] += part
                scale += abs(screw[row] * part)
            state.joint_inertia[i] += screw[row] * state.reaction[i, row]
        if not state.joint_inertia[i] > SINGULAR * scale:
            return False
        # The children added absolute errors; from here on the error is relative to the inertia.
        round_off[0, i] = (round_off[0, i] + _EPSILON * scale) / state.joint_inertia[i]
        if parent >= 0:
            passed_on = 0.0
            for row in range(6):
                passed_on += state.screw[parent, 0, row] * state.reaction[i, row]
            round_off[0, parent] += (
                round_off[0, i] * passed_on * passed_on / state.joint_inertia[i])
    else:
        round_off[0, i] = 0.0
    if parent >= 0:
        for row in range(6):
            for c in range(6):
                entry = articulated[row, c]
                if not prescribed:
                    entry -= (
                        state.reaction[i, row] * state.reaction[i, c] / state.joint_inertia[i])
                state.articulated[parent, row, c] += entry
    return True


@step
def _tentative_wrench(state: _State, i: int, k: int, mass: float, gravity: Array) -> None:
    """Write coefficient k of the wrench of a body whose twist is known to coefficient k + 1."""
    newton_euler.point_motion(k + 2, k + 3, state.twist[i], state.com[i])
    newton_euler.inertia_rate(k + 1, k + 2, state.twist[i], state.inertia[i])
    newton_euler.angular_momentum(k + 1, k + 2, state.twist[i], state.inertia[i], state.spin[i])
    newton_euler.newton_euler_wrench(
        k, k + 1, mass, gravity, state.com[i], state.spin[i], state.force[i], state.wrench[i])


@step
def _subtract_external(state: _State, i: int, k: int, body_in_kernel: Array) -> None:
    """Subtract coefficient k of the external wrench, which is in `local`."""
    if k == 0:
        newton_euler.body_frame_pose(body_in_kernel, state.pose[i], state.frame[i])
    else:
        newton_euler.body_frame_motion(k, k + 1, state.twist[i], state.frame[i])
    newton_euler.wrench_to_world(k, k + 1, state.frame[i], state.local[i], state.applied[i])
    for c in range(6):
        state.wrench[i, k, c] -= state.applied[i, k, c]


@step
def _torque(k: int, screw: Array, wrench: Array) -> float:
    """Return coefficient k of S · W."""
    total = 0.0
    for a in range(k + 1):
        for c in range(6):
            total += screw[a, c] * wrench[k - a, c]
    return total


@step
def _joint_acceleration(state: _State, i: int) -> float:
    """Return a = (u − U · V̇) / (S · U), u the residual, and add S a to the correction V̇."""
    correction = state.acceleration_correction[i]
    acceleration: float = state.torque_residual[i]
    for c in range(6):
        acceleration -= state.reaction[i, c] * correction[c]
    acceleration /= state.joint_inertia[i]
    for c in range(6):
        correction[c] += state.screw[i, 0, c] * acceleration
    return acceleration


@step
def _correct(state: _State, i: int, k: int, mass: float) -> None:
    """Add a body's acceleration correction, coefficient k of V̇, to all that is linear in V̇."""
    correction, inertia, com = state.acceleration_correction[i], state.inertia[i], state.com[i]
    for c in range(6):
        state.twist[i, k + 1, c] += correction[c] / (k + 1)
        for row in range(6):
            state.wrench[i, k, row] += state.articulated[i, row, c] * correction[c]
    x, y, z = correction[0], correction[1], correction[2]
    xx, yy, zz, xy, xz, yz = newton_euler.row6(inertia, 0)
    state.spin[i, k + 1, 0] += (xx * x + xy * y + xz * z) / (k + 1)
    state.spin[i, k + 1, 1] += (xy * x + yy * y + yz * z) / (k + 1)
    state.spin[i, k + 1, 2] += (xz * x + yz * y + zz * z) / (k + 1)
    for c in range(3):
        nxt, last = (c + 1) % 3, (c + 2) % 3
        of_com = (
            correction[3 + c] + correction[nxt] * com[0, last] - correction[last] * com[0, nxt])
        com[k + 2, c] += of_com / ((k + 1) * (k + 2))
        state.force[i, k, c] += mass * of_com
