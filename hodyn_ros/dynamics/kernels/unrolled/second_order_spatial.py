"""Inverse dynamics of order 2 in spatial representation: Algorithms 1 and 3 of M21, for trees.

Written with Taylor polynomials in time (`taylor`), so one source serves single calls and batches
on any processor and reads like the recursive Newton-Euler algorithm (RNEA) of order 0: since the
poses are polynomials too, eqs. (9) and (18)–(22) of M21 come out of the products.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.decorators import batch_kernel, inlined, kernel
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials
from hodyn_ros.dynamics.kernels.unrolled.formulas import Memory, formula
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    COEFFICIENTS,
    LANES,
    integral,
    read,
    size,
    taylor4,
    taylor4x8,
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
from hodyn_ros.dynamics.kernels.workspace import borrowed
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

Array = NDArray[np.float64]

# Columns of this kernel's table; from _BODY on those of `KernelModel.body_table`.
_PARENT, _PARENT_SLOT, _SLOT, _BODY = 0, 1, 2, 3
COLUMNS = _BODY + ORIGIN_INERTIA
_KEPT = 12  # numbers a body: wrench, and screw of the joint
_TORQUE, _FORCE, _AXIS, _MOMENT = 0, 3, 6, 9  # where these are
_FRAME = 18  # numbers a slot: columns x, y, z of R, r, twist
_X, _Y, _Z, _R, _OMEGA, _LINEAR = 0, 3, 6, 9, 12, 15  # where these are
_COSINE, _SINE, _VELOCITY, _POSITION = range(4)  # polynomials of a joint
_FACTORIALS = (1.0, 1.0, 2.0, 6.0)


def workspace(robot: Robot, motions: int) -> Array:
    """Return the array for `single`, or for `batch` by `LANES` motions at a time."""
    model = robot.kernel_model
    parent = model.parent
    slots = _frame_slots(parent)
    table = np.column_stack([
        parent, slots[parent], slots[:-1], model.body_table[:, :ORIGIN_INERTIA]])
    kept = np.zeros((_KEPT * (1 + len(parent)), COEFFICIENTS, motions))
    frames = np.zeros((1 + slots.max(), _FRAME, COEFFICIENTS, motions))
    frames[0, (0, 4, 8), 0] = 1.0
    frames[0, 15:18, 1] = -robot.gravity[:, np.newaxis]
    frames = frames.reshape(-1, COEFFICIENTS, motions)
    return joint_polynomials.packed_workspace(
        table[:, _BODY + ROTATION], table, np.concatenate([kept, frames]))


def wrench_transforms(robot: Robot) -> Array:
    """Return what takes wrenches from the frames of bodies to those of this kernel, (n, 6, 6)."""
    return np.array([
        lie.adjoint(lie.inverse(pose)).T for pose in robot.kernel_model.body_in_kernel])


def _frame_slots(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the workspace slot of each body's frame; the base (last entry) has slot 0.

    A slot is used again once all children of its body are done, to keep a batch in the first-level
    cache: an arm needs two slots beside the base's.
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
    """Write the pose of a body that turns about its joint's axis, from that of its parent.

    A row of R and of r after the other: few enough numbers to stay in registers.
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
def _spin(
    memory: Memory, parent: int, body: int, own: int, joint: int, rotation: float, like: Number,
) -> None:
    """Write the screw of a joint, S = (z, r × z), and a twist, V = V_parent + S q̇ (eqs. 6, 7)."""
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
    """Add to a twist that of a joint which slides."""
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
    """Return the torque and the force that a body's motion takes, eq. (15).

    The mass moves on the path c(t) and spins about it.
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
    """Return a wrench less the external one, which is in its place in the axes of the body."""
    x, y, z, r = (memory.read_vector(body, place, like) for place in (_X, _Y, _Z, _R))
    external = combine(memory.read_vector(own, _FORCE, like), x, y, z)
    moment = add(
        combine(memory.read_vector(own, _TORQUE, like), x, y, z), cross(r, external))
    return subtract(torque, moment), subtract(force, external)


@formula
def _work_of_turning(memory: Memory, own: int, rotation: float, like: Number) -> Number:
    """Return the torque of a joint, what the wrench does along its screw."""
    torque, force, axis, moment = (
        memory.read_vector(own, place, like) for place in (_TORQUE, _FORCE, _AXIS, _MOMENT))
    return (dot(axis, torque) + dot(moment, force)) * rotation


@formula
def _with_work_of_sliding(
    work: Number, memory: Memory, own: int, translation: float, like: Number,
) -> Number:
    """Add the force of a joint that slides."""
    force = memory.read_vector(own, _FORCE, like)
    return work + dot(memory.read_vector(own, _AXIS, like), force) * translation


@formula
def _pass_on(memory: Memory, own: int, parent: int, like: Number) -> None:
    """Add the wrench of a body to that of its parent."""
    for place in (_TORQUE, _FORCE):
        total = add(
            memory.read_vector(parent, place, like), memory.read_vector(own, place, like))
        memory.write_vector(parent, place, total, known=True)


@inlined
def _recursion(
    memory: Array, bodies: int, free: int, acting: bool, motions: int, like: Number,
) -> None:
    """Twists outward, wrenches inward; the torque of joint i takes the place of cos qᵢ.

    Gravity enters as the velocity −g t of the base, whose pose and twist are given and whose
    wrench is written. `free` is 1 when body 0 is a floating base, which has no joint, else 0;
    `acting` says that external wrenches are in the place of the bodies' own; `like` is of the type
    to compute with.
    """
    table, first, kept = joint_polynomials.offsets(bodies, COLUMNS, motions)
    unit = size(like)
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
        _spin(memory, parent, body, own, joint, rotation, like)
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
            work = _work_of_turning(memory, own, rotation, like)
            if translation != 0.0:
                work = _with_work_of_sliding(work, memory, own, translation, like)
            write_known(memory, joint, work)
        _pass_on(memory, own, parent, like)


@kernel
def single(memory: Array, q: Array, out: Array) -> None:
    """Write Q, Q̇, Q̈ (3, n) of a motion q (5, n); other shapes raise HodynError."""
    memory, q, out = borrowed(memory), borrowed(q), borrowed(out)
    joint_polynomials.check_shapes(memory, q, out)
    n = q.shape[1]
    _, first, _ = joint_polynomials.offsets(n, COLUMNS, 1)
    joint_polynomials.single(memory, 0, first, q)
    _recursion(memory, n, 0, False, 1, taylor4())
    joint_polynomials.write_torques(memory, first, out)


@batch_kernel
def batch(
    memory: Array, q: Array, out: Array, transforms: Array, wrenches: Array | None,
) -> None:
    """The same for q (T, 5, n) and out (T, 3, n), which are not checked, with external wrenches.

    These are (T, 3, n, 6), or None, for which a kernel of its own is compiled; the transforms are
    from `wrench_transforms`.
    """
    n = q.shape[2]
    _, first, kept = joint_polynomials.offsets(n, COLUMNS, LANES)
    for t in range(0, q.shape[0], LANES):
        joint_polynomials.lanes(memory, 0, first, q, t)
        if wrenches is not None:
            _place_wrenches(memory, kept, transforms, wrenches, t)
        _recursion(memory, n, 0, wrenches is not None, LANES, taylor4x8())
        joint_polynomials.write_torques_of_lanes(memory, first, out, t)


@batch_kernel
def batch_floating(
    memory: Array, gravity: Array, base_pose: Array, base_twist: Array, q: Array, out: Array,
    transforms: Array, wrenches: Array | None, base_wrench: Array,
) -> None:
    """The same on a floating base, which body 0 then is.

    Parameters
    ----------
    memory : array
        From `workspace`.
    gravity : (3,) array
        m/s².
    base_pose, base_twist : (T, 4, 4) and (T, 4, 6) arrays
        The spatial twist and its derivatives.
    q, out : (T, 5, n) and (T, 3, n) arrays
        As for `batch`.
    transforms, wrenches : (n + 1, 6, 6) and (T, 3, n + 1, 6) arrays
        As for `batch`.
    base_wrench : (T, 3, 6) array
        Written: what must act on the base, in world axes about the world origin.

    """
    bodies = q.shape[2] + 1
    _, first, kept = joint_polynomials.offsets(bodies, COLUMNS, LANES)
    first += joint_polynomials.DOUBLES_PER_JOINT * LANES
    number = COEFFICIENTS * LANES
    base_frame = kept + _KEPT * number * (bodies + 1)
    for t in range(0, q.shape[0], LANES):
        for lane in range(LANES):
            s = min(t + lane, q.shape[0] - 1)
            for k in range(12):
                memory[base_frame + number * k + lane] = base_pose[s, k % 3, k // 3]
            for k in range(6):
                for a in range(COEFFICIENTS):
                    memory[base_frame + number * (12 + k) + LANES * a + lane] = (
                        base_twist[s, a, k] / _FACTORIALS[a])
        _move_base(memory, base_frame, gravity, taylor4x8())
        joint_polynomials.lanes(memory, 1, first, q, t)
        if wrenches is not None:
            _place_wrenches(memory, kept, transforms, wrenches, t)
        _recursion(memory, bodies, 1, wrenches is not None, LANES, taylor4x8())
        joint_polynomials.write_torques_of_lanes(memory, first, out, t)
        for lane in range(min(LANES, q.shape[0] - t)):
            for k in range(6):
                wrench = kept + number * k + lane
                base_wrench[t + lane, 0, k] = memory[wrench]
                base_wrench[t + lane, 1, k] = memory[wrench + LANES]
                base_wrench[t + lane, 2, k] = 2.0 * memory[wrench + 2 * LANES]


@inlined
def _place_wrenches(
    memory: Array, kept: int, transforms: Array, wrenches: Array, t: int,
) -> None:
    """Put the external wrenches of the motions t … t + 7 in the place of the bodies' own."""
    body = _KEPT * COEFFICIENTS * LANES
    joint_polynomials.wrenches_of_lanes(memory, kept + body, body, transforms, wrenches, t)


@kernel
def _move_base(memory: Array, base: int, gravity: Array, like: Number) -> None:
    """Complete the polynomials of the base's pose by its twist; add −g t to the latter.

    Coefficient 0 is given. Ẋ = ω × X for the columns of R and ṙ = v + ω × r; each iteration yields
    one coefficient more.
    """
    step = size(like)
    omega = read_vector(memory, base + 12 * step, like)
    linear = read_vector(memory, base + 15 * step, like)
    for k in range(4):
        address = base + 3 * k * step
        present = (
            _constant(memory, address, like), _constant(memory, address + step, like),
            _constant(memory, address + 2 * step, like))
        moving = present
        for _ in range(COEFFICIENTS - 1):
            rate = cross(omega, moving)
            if k == 3:
                rate = add(rate, linear)
            moving = add(present, (integral(rate[0]), integral(rate[1]), integral(rate[2])))
        write_vector(memory, address, moving)
    for k in range(3):
        address = base + (15 + k) * step + LANES
        for lane in range(LANES):
            memory[address + lane] -= gravity[k]


@kernel
def _constant(memory: Array, address: int, like: Number) -> Number:
    """Return the polynomial whose coefficient 0 is at an address, its further coefficients 0."""
    for k in range(LANES, COEFFICIENTS * LANES):
        memory[address + k] = 0.0
    return read(memory, address, like)
