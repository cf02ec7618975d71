"""Inverse dynamics of order 2 in spatial representation: Algorithms 1 and 3 of M21, for trees.

Written with Taylor polynomials in time (`taylor`), so one source serves single calls and batches
on any processor and reads like the recursive Newton-Euler algorithm (RNEA) of order 0: since the
poses are polynomials too, eqs. (9) and (18)–(22) of M21 come out of the products.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.decorators import batch_kernel, kernel, step
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    COEFFICIENTS,
    LANES,
    integral,
    read,
    size,
    taylor4,
    taylor4x8,
    write,
    write_known,
)
from hodyn_ros.dynamics.kernels.unrolled.vectors import (
    Number,
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
_FRAME = 18  # numbers a slot: columns of R, r, twist
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


@step
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

        # Pose, a row of R and of r after the other: few enough numbers to stay in registers.
        cosine, sine = read(memory, joint, like), read(memory, joint + unit, like)
        for k in range(3):
            start, end = parent + k * unit, body + k * unit
            x, y = read(memory, start, like), read(memory, start + vector, like)
            z = read(memory, start + 2 * vector, like)
            u = x * memory[home] + y * memory[home + 3] + z * memory[home + 6]
            v = x * memory[home + 1] + y * memory[home + 4] + z * memory[home + 7]
            write(memory, end, cosine * u + sine * v)
            write(memory, end + vector, cosine * v - sine * u)
            r = read(memory, start + 3 * vector, like) + (
                x * memory[position] + y * memory[position + 1] + z * memory[position + 2])
            z = x * memory[home + 2] + y * memory[home + 5] + z * memory[home + 8]
            if translation != 0.0:
                r = r + read(memory, joint + 3 * unit, like) * translation * z
            write(memory, end + 2 * vector, z)
            write(memory, end + 3 * vector, r)

        # Screw of the joint and twist: S = (z, r × z), V = V_parent + S q̇ (eqs. 6 and 7).
        velocity = read(memory, joint + 2 * unit, like)
        z = read_vector(memory, body + 2 * vector, like)
        r = read_vector(memory, body + 3 * vector, like)
        moment = cross(r, z)
        turning = velocity * rotation
        omega = add(read_vector(memory, parent + 4 * vector, like), scale(turning, z))
        linear = add(read_vector(memory, parent + 5 * vector, like), scale(turning, moment))
        if translation != 0.0:
            linear = add(linear, scale(velocity * translation, z))
        write_vector(memory, body + 4 * vector, omega)
        write_vector(memory, body + 5 * vector, linear)
        write_vector(memory, own + 2 * vector, z)
        write_vector(memory, own + 3 * vector, moment)

        # The mass moves on the path c(t) and spins about it: the rate of momentum, eq. (15).
        x, y = read_vector(memory, body, like), read_vector(memory, body + vector, like)
        c = add(r, combine((memory[com], memory[com + 1], memory[com + 2]), x, y, z))
        force = rates(scale(mass, add(linear, cross(omega, c))))
        inertia = (
            (memory[axes], memory[axes + 1], memory[axes + 2]),
            (memory[axes + 3], memory[axes + 4], memory[axes + 5]))
        spin = combine(
            times(inertia, (dot(omega, x), dot(omega, y), dot(omega, z))), x, y, z)
        torque = subtract(rates(spin), cross(force, c))
        if acting:
            external = combine(read_vector(memory, own + vector, like), x, y, z)
            force = subtract(force, external)
            torque = subtract(torque, add(
                combine(read_vector(memory, own, like), x, y, z), cross(r, external)))
        write_known_vector(memory, own, torque)
        write_known_vector(memory, own + vector, force)

    for i in range(bodies - 1, -1, -1):
        row, joint, own = table + COLUMNS * i, first + 4 * unit * i, kept + 4 * vector * (i + 1)
        parent = kept + 4 * vector * (int(memory[row + _PARENT]) + 1)
        rotation, translation = (
            memory[row + _BODY + ROTATION], memory[row + _BODY + TRANSLATION])
        torque = read_vector(memory, own, like)
        force = read_vector(memory, own + vector, like)
        if i >= free:
            z = read_vector(memory, own + 2 * vector, like)
            moment = read_vector(memory, own + 3 * vector, like)
            work = (dot(z, torque) + dot(moment, force)) * rotation
            if translation != 0.0:
                work = work + dot(z, force) * translation
            write_known(memory, joint, work)
        write_known_vector(memory, parent, add(read_vector(memory, parent, like), torque))
        write_known_vector(
            memory, parent + vector, add(read_vector(memory, parent + vector, like), force))


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
def batch(memory: Array, q: Array, out: Array, transforms: Array, wrenches: Array) -> None:
    """The same for q (T, 5, n) and out (T, 3, n), which are not checked, with external wrenches.

    These are (T, 3, n, 6), (1, 0, 0, 0) for none; the transforms are from `wrench_transforms`.
    """
    n = q.shape[2]
    _, first, kept = joint_polynomials.offsets(n, COLUMNS, LANES)
    acting = wrenches.shape[2] > 0
    for t in range(0, q.shape[0], LANES):
        joint_polynomials.lanes(memory, 0, first, q, t)
        _place_wrenches(memory, kept, transforms, wrenches, t)
        # Twice, each without the branch, which would cost a batch a tenth of its time.
        if acting:
            _recursion(memory, n, 0, acting, LANES, taylor4x8())
        else:
            _recursion(memory, n, 0, acting, LANES, taylor4x8())
        joint_polynomials.write_torques_of_lanes(memory, first, out, t)


@batch_kernel
def batch_floating(
    memory: Array, gravity: Array, base_pose: Array, base_twist: Array, q: Array, out: Array,
    transforms: Array, wrenches: Array, base_wrench: Array,
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
    acting = wrenches.shape[2] > 0
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
        _place_wrenches(memory, kept, transforms, wrenches, t)
        if acting:  # as for `batch`
            _recursion(memory, bodies, 1, acting, LANES, taylor4x8())
        else:
            _recursion(memory, bodies, 1, acting, LANES, taylor4x8())
        joint_polynomials.write_torques_of_lanes(memory, first, out, t)
        for lane in range(min(LANES, q.shape[0] - t)):
            for k in range(6):
                wrench = kept + number * k + lane
                base_wrench[t + lane, 0, k] = memory[wrench]
                base_wrench[t + lane, 1, k] = memory[wrench + LANES]
                base_wrench[t + lane, 2, k] = 2.0 * memory[wrench + 2 * LANES]


@step
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
