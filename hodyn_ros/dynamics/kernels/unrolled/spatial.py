"""Inverse dynamics, orders 0 to 2, in spatial form: M21 (docs/theory.md), Algs. 1, 3, for trees.

The numbers are Taylor polynomials in time (`taylor`). So one source serves single calls and
batches on any processor, and reads like the recursive Newton-Euler algorithm (RNEA) of order 0.
Since the poses are polynomials too, their products yield eqs. (9) and (18)–(22) of M21.
"""
import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import batch_kernel, inlined, kernel
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials
from hodyn_ros.dynamics.kernels.unrolled.formulas import Memory, formula
from hodyn_ros.dynamics.kernels.unrolled.joint_polynomials import NUMBERS_PER_JOINT
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    LANES,
    integral,
    number_size,
    polynomial,
    size,
    write_known,
)
from hodyn_ros.dynamics.kernels.unrolled.vectors import (
    Number,
    Vector,
    add,
    combine,
    cross,
    dot,
    rates,
    read_vector,
    scale,
    subtract,
    times,
    write_known_vector,
    write_vector,
)
from hodyn_ros.dynamics.kernels.workspace import block, borrowed
from hodyn_ros.robot import Robot, lie
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

# Columns of this kernel's table; from _BODY on, the columns of `KernelModel.body_table`.
_PARENT, _PARENT_SLOT, _SLOT, _BODY = 0, 1, 2, 3
COLUMNS = _BODY + ORIGIN_INERTIA
_KEPT = 12  # numbers per body: wrench, and the joint's screw
_TORQUE, _FORCE, _AXIS, _MOMENT = 0, 3, 6, 9  # places of the wrench and the screw
_FRAME = 18  # numbers per slot: columns x, y, z of R, r, twist
_X, _Y, _Z, _R, _OMEGA, _LINEAR = 0, 3, 6, 9, 12, 15  # places in a slot
_COSINE, _SINE, _VELOCITY, _POSITION = range(4)  # places of a joint's polynomials


def workspace(robot: Robot, order: int, motions: int) -> Array:
    """Return the array for the kernels of an order, for a number of motions side by side."""
    model = robot.kernel_model
    parent = model.parent
    slots = _frame_slots(parent)
    table = np.column_stack([
        parent, slots[parent], slots[:-1], model.body_table[:, :ORIGIN_INERTIA]])
    kept = np.zeros((_KEPT * (1 + len(parent)), number_size(order + 2, motions)))
    frames = np.zeros((_FRAME * (1 + slots.max()), kept.shape[1]))
    frames[(_X, _Y + 1, _Z + 2), :motions] = 1.0
    frames[_LINEAR:_LINEAR + 3, motions:2 * motions] = -robot.gravity[:, np.newaxis]
    return joint_polynomials.packed_workspace(
        table[:, _BODY + ROTATION], table, np.concatenate([kept, frames]), motions)


def wrench_transforms(robot: Robot) -> Array:
    """Return the matrices (n, 6, 6) that take wrenches from body frames to this kernel's."""
    return np.array([
        lie.adjoint(lie.inverse(pose)).T for pose in robot.kernel_model.body_in_kernel])


def _frame_slots(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the workspace slot of each body's frame; the base (last entry) has slot 0.

    A slot is free again once all children of its body are computed, so that a batch stays in the
    first-level cache: an arm needs two slots besides the base's.
    """
    slots = np.zeros(len(parent) + 1, dtype=np.int64)
    free: list[int] = []
    for i, before in enumerate(parent):
        slots[i] = free.pop() if free else slots.max() + 1
        free += [int(slots[j]) for j in (before, i) if j >= 0 and j not in parent[i + 1:]]
    return slots


@formula
def _move(
    memory: Memory, parent: int, body: int, joint: int, home: int, position: int, like: Number,
) -> None:
    """Write the pose of a body that turns about its joint's axis, from its parent's pose.

    Each iteration computes one row of R and r, so that few registers are needed.
    """
    cosine, sine = memory.read(joint, _COSINE, like), memory.read(joint, _SINE, like)
    rotation, translation = memory.floats(home, 9), memory.floats(position, 3)
    for k in range(3):
        x, y, z, r = (memory.read(parent, place + k, like) for place in (_X, _Y, _Z, _R))
        u, v, w = (
            x * rotation[column] + y * rotation[column + 3] + z * rotation[column + 6]
            for column in range(3))
        memory.write(body, _X + k, cosine * u + sine * v)
        memory.write(body, _Y + k, cosine * v - sine * u)
        memory.write(body, _Z + k, w)
        memory.write(
            body, _R + k,
            r + (x * translation[0] + y * translation[1] + z * translation[2]))


@formula
def _slide(memory: Memory, body: int, joint: int, translation: float, like: Number) -> None:
    """Move a body along its joint's axis."""
    _add_along_axis(memory, body, _R, memory.read(joint, _POSITION, like) * translation, like)


@formula
def _screw_and_twist(
    memory: Memory, parent: int, body: int, own: int, joint: int, rotation: float, like: Number,
) -> None:
    """Write the screw S = (z, r × z) of a turning joint, and V = V_parent + S q̇ (eqs. 6, 7)."""
    z = memory.read_vector(body, _Z, like)
    moment = cross(memory.read_vector(body, _R, like), z)
    turning = memory.read(joint, _VELOCITY, like) * rotation
    memory.write_vector(
        body, _OMEGA, add(memory.read_vector(parent, _OMEGA, like), scale(turning, z)))
    memory.write_vector(
        body, _LINEAR, add(memory.read_vector(parent, _LINEAR, like), scale(turning, moment)))
    memory.write_vector(own, _AXIS, z)
    memory.write_vector(own, _MOMENT, moment)


@formula
def _add_sliding(memory: Memory, body: int, joint: int, translation: float, like: Number) -> None:
    """Add to a body's twist the twist of a sliding joint."""
    _add_along_axis(memory, body, _LINEAR, memory.read(joint, _VELOCITY, like) * translation, like)


def _add_along_axis(
    memory: Memory, body: int, place: int, amount: Number, like: Number,
) -> None:
    along = scale(amount, memory.read_vector(body, _Z, like))
    memory.write_vector(body, place, add(memory.read_vector(body, place, like), along))


@formula
def _rate_of_momentum(
    memory: Memory, body: int, mass: float, com: int, axes: int, like: Number,
) -> tuple[Vector, Vector]:
    """Return the torque and the force that a body's motion needs, eq. (15).

    The centre of mass moves on the path c(t), and the body turns about it.
    """
    x, y, z, r, omega, linear = (
        memory.read_vector(body, place, like) for place in (_X, _Y, _Z, _R, _OMEGA, _LINEAR))
    c = add(r, combine(memory.floats(com, 3), x, y, z))
    force = rates(scale(mass, add(linear, cross(omega, c))))
    inertia = memory.floats(axes, 6)
    spin = combine(
        times((inertia[:3], inertia[3:]), (dot(omega, x), dot(omega, y), dot(omega, z))), x, y, z)
    return subtract(rates(spin), cross(force, c)), force


@formula
def _without(
    torque: Vector, force: Vector, memory: Memory, own: int, body: int, like: Number,
) -> tuple[Vector, Vector]:
    """Return a wrench minus the external one, which is stored, in body axes, at `own`."""
    x, y, z, r = (memory.read_vector(body, place, like) for place in (_X, _Y, _Z, _R))
    external = combine(memory.read_vector(own, _FORCE, like), x, y, z)
    moment = add(
        combine(memory.read_vector(own, _TORQUE, like), x, y, z), cross(r, external))
    return subtract(torque, moment), subtract(force, external)


@formula
def _turning_effort(memory: Memory, own: int, rotation: float, like: Number) -> Number:
    """Return the torque of a joint that turns: the component of the wrench along its screw."""
    torque, force, axis, moment = (
        memory.read_vector(own, place, like) for place in (_TORQUE, _FORCE, _AXIS, _MOMENT))
    return (dot(axis, torque) + dot(moment, force)) * rotation


@formula
def _with_sliding_effort(
    effort: Number, memory: Memory, own: int, translation: float, like: Number,
) -> Number:
    """Add the force of a joint that slides."""
    force = memory.read_vector(own, _FORCE, like)
    return effort + dot(memory.read_vector(own, _AXIS, like), force) * translation


@formula
def _pass_on(memory: Memory, own: int, parent: int, like: Number) -> None:
    """Add the wrench of a body to its parent's wrench."""
    for place in (_TORQUE, _FORCE):
        total = add(
            memory.read_vector(parent, place, like), memory.read_vector(own, place, like))
        memory.write_vector(parent, place, total, known=True)


@inlined
def _recursion(
    memory: Array, bodies: int, free: int, acting: bool, like: Number,
) -> None:
    """Compute twists outward and wrenches inward; the torque of joint i replaces cos qᵢ.

    Gravity enters as the velocity −g t of the base, whose pose and twist are given and whose
    wrench is written. `free` is 1 if body 0 is a floating base, which has no joint, else 0. With
    `acting`, external wrenches are stored at the places of the bodies' wrenches. `like` is a
    number of the polynomials' type.
    """
    unit = size(like)
    table, first, kept = joint_polynomials.offsets(bodies, COLUMNS, unit)
    vector = 3 * unit
    frames = kept + _KEPT * unit * (bodies + 1)
    write_vector(memory, kept, (like, like, like))
    write_vector(memory, kept + vector, (like, like, like))
    for i in range(bodies):
        row, joint, own = table + COLUMNS * i, first + 4 * unit * i, kept + 4 * vector * (i + 1)
        parent = frames + _FRAME * unit * int(memory[row + _PARENT_SLOT])
        body = frames + _FRAME * unit * int(memory[row + _SLOT])
        home, position = row + _BODY + HOME_ROTATION, row + _BODY + HOME_POSITION
        com, axes = row + _BODY + COM, row + _BODY + COM_INERTIA
        rotation, translation, mass = (
            memory[row + _BODY + ROTATION], memory[row + _BODY + TRANSLATION],
            memory[row + _BODY + MASS])

        _move(memory, parent, body, joint, home, position, like)
        if translation != 0.0:
            _slide(memory, body, joint, translation, like)
        _screw_and_twist(memory, parent, body, own, joint, rotation, like)
        if translation != 0.0:
            _add_sliding(memory, body, joint, translation, like)
        torque, force = _rate_of_momentum(memory, body, mass, com, axes, like)
        if acting:
            torque, force = _without(torque, force, memory, own, body, like)
        write_known_vector(memory, own, torque)
        write_known_vector(memory, own + vector, force)

    for i in range(bodies - 1, -1, -1):
        row, joint, own = table + COLUMNS * i, first + 4 * unit * i, kept + 4 * vector * (i + 1)
        parent = kept + 4 * vector * (int(memory[row + _PARENT]) + 1)
        rotation, translation = (
            memory[row + _BODY + ROTATION], memory[row + _BODY + TRANSLATION])
        if i >= free:
            effort = _turning_effort(memory, own, rotation, like)
            if translation != 0.0:
                effort = _with_sliding_effort(effort, memory, own, translation, like)
            write_known(memory, joint, effort)
        _pass_on(memory, own, parent, like)


@functools.cache
def single(order: int) -> Any:
    """Return the kernel for one motion: memory, q (order + 3, n) and out (order + 1, n).

    Other shapes raise HodynError.
    """
    coefficients = order + 2

    @kernel
    def single(memory: Array, q: Array, out: Array) -> None:
        memory, q, out = borrowed(memory), borrowed(q), borrowed(out)
        joint_polynomials.check_shapes(memory, q, out, coefficients)
        like = polynomial(coefficients, 1)
        unit = size(like)
        _, first, _ = joint_polynomials.offsets(q.shape[1], COLUMNS, unit)
        joint_polynomials.single(memory, 0, first, q, like)
        _recursion(memory, q.shape[1], 0, False, like)
        out = block(out, 0, (1, order + 1, q.shape[1]))
        joint_polynomials.write_derivatives(
            memory, first, NUMBERS_PER_JOINT * unit, out, 0, 1, order)

    return single


@functools.cache
def batch(order: int) -> Any:
    """Return the kernel for a batch, `LANES` motions at a time, with external wrenches.

    It takes memory, q (T, order + 3, n) and out (T, order + 1, n), which are not checked, the
    transforms from `wrench_transforms`, and wrenches (T, order + 1, n, 6), whose third axis has
    length 0 if there are none.
    """
    coefficients = order + 2

    @batch_kernel
    def batch(
        memory: Array, q: Array, out: Array, transforms: Array, wrenches: Array,
    ) -> None:
        memory, q, out = borrowed(memory), borrowed(q), borrowed(out)
        n, like = q.shape[2], polynomial(coefficients, LANES)
        unit, joint, body = size(like), NUMBERS_PER_JOINT * size(like), _KEPT * size(like)
        _, first, kept = joint_polynomials.offsets(n, COLUMNS, unit)
        for t in range(0, q.shape[0], LANES):
            joint_polynomials.several(memory, 0, first, q, t, like)
            if wrenches.shape[2] > 0:
                joint_polynomials.wrenches_of_motions(
                    memory, kept + body, body, transforms, wrenches, t, LANES, like)
            _recursion(memory, n, 0, wrenches.shape[2] > 0, like)
            joint_polynomials.write_derivatives(memory, first, joint, out, t, LANES, order)

    return batch


@functools.cache
def floating(order: int, motions: int) -> Any:
    """Return the kernel for a batch on a floating base, 1 or `LANES` motions at a time.

    It takes memory; gravity (3,); base_pose (T, 4, 4) and base_twist (T, order + 2, 6), the
    spatial twist and its derivatives; q, out, transforms and wrenches as for `batch`, where body 0
    is the base; and base_wrench (T, order + 1, 6), written: the wrench that must act on the base,
    in world axes about the world origin.
    """
    coefficients = order + 2

    @batch_kernel
    def floating(
        memory: Array, gravity: Array, base_pose: Array, base_twist: Array, q: Array, out: Array,
        transforms: Array, wrenches: Array, base_wrench: Array,
    ) -> None:
        memory, q, out = borrowed(memory), borrowed(q), borrowed(out)
        base_wrench = borrowed(base_wrench)
        bodies, like = q.shape[2] + 1, polynomial(coefficients, motions)
        unit, joint, body = size(like), NUMBERS_PER_JOINT * size(like), _KEPT * size(like)
        _, first, kept = joint_polynomials.offsets(bodies, COLUMNS, unit)
        first += joint
        frame = kept + body * (bodies + 1)
        for t in range(0, q.shape[0], motions):
            _place_base(memory, frame, gravity, base_pose, base_twist, t, motions, like)
            if motions == 1:
                joint_polynomials.single(memory, 1, first, q[t], like)
            else:
                joint_polynomials.several(memory, 1, first, q, t, like)
            if wrenches.shape[2] > 0:
                joint_polynomials.wrenches_of_motions(
                    memory, kept + body, body, transforms, wrenches, t, motions, like)
            _recursion(memory, bodies, 1, wrenches.shape[2] > 0, like)
            joint_polynomials.write_derivatives(memory, first, joint, out, t, motions, order)
            joint_polynomials.write_derivatives(memory, kept, unit, base_wrench, t, motions, order)

    return floating


@inlined
def _place_base(
    memory: Array, frame: int, gravity: Array, base_pose: Array, base_twist: Array, t: int,
    motions: int, like: Number,
) -> None:
    """Write the polynomials of the base's pose and of its twist minus g t, from motion t on."""
    unit = size(like)
    for lane in range(motions):
        s = min(t + lane, base_pose.shape[0] - 1)
        for k in range(12):
            here = frame + unit * k + lane
            memory[here] = base_pose[s, k % 3, k // 3]
            for a in range(motions, unit, motions):
                memory[here + a] = 0.0
        for k in range(6):
            factorial = 1.0
            for a in range(base_twist.shape[1]):
                factorial *= max(a, 1)
                memory[frame + unit * (_OMEGA + k) + motions * a + lane] = (
                    base_twist[s, a, k] / factorial)
    _move_base(memory, frame, base_twist.shape[1] - 1, like)
    for k in range(3):
        for lane in range(motions):
            memory[frame + unit * (_LINEAR + k) + motions + lane] -= gravity[k]


@kernel
def _move_base(memory: Array, frame: int, derivatives: int, like: Number) -> None:
    """Complete the polynomials of the base's pose, whose coefficient 0 is given, from its twist.

    Ẋ = ω × X for the columns of R and ṙ = v + ω × r; each iteration yields one coefficient more.
    """
    step = size(like)
    omega = read_vector(memory, frame + _OMEGA * step, like)
    linear = read_vector(memory, frame + _LINEAR * step, like)
    for k in range(4):
        present = read_vector(memory, frame + 3 * k * step, like)
        moving = present
        for _ in range(derivatives):
            rate = cross(omega, moving)
            if k == 3:
                rate = add(rate, linear)
            moving = add(present, (integral(rate[0]), integral(rate[1]), integral(rate[2])))
        write_vector(memory, frame + 3 * k * step, moving)
