"""Inverse dynamics of order 2 in spatial representation: Algorithms 1 and 3 of M21, for trees.

Written with polynomials in time (`jets`), so one text serves single calls and batches on any
processor and reads like the Newton-Euler algorithm of order 0: since the poses are polynomials
too, eqs. (9) and (18)–(22) of M21 come out of the products.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.bodies import kernel, step
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials as joints
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    COEFFICIENTS,
    LANES,
    integral,
    jet,
    jets,
    read,
    size,
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
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

CONSTANTS = 27  # parent, places of the parent's and the body's frame, then the first 24 of `Tree`
_KEPT = 12  # numbers a body: wrench, and screw of the joint
_FRAME = 18  # columns of R, r, twist
_FACTORIALS = (1.0, 1.0, 2.0, 6.0)


def memory(robot: Robot, motions: int) -> Array:
    """Return the array for `one` motion, or for `many` by 8 motions at a time."""
    parent = robot.tree.parent
    places = _frame_places(parent)
    table = np.column_stack([
        parent, places[parent], places[:-1], robot.tree.constants[:, :CONSTANTS - 3]])
    kept = np.zeros((_KEPT * (1 + len(parent)), COEFFICIENTS, motions))
    frames = np.zeros((1 + places.max(), _FRAME, COEFFICIENTS, motions))
    frames[0, (0, 4, 8), 0] = 1.0
    frames[0, 15:18, 1] = -robot.gravity[:, np.newaxis]
    frames = frames.reshape(-1, COEFFICIENTS, motions)
    return joints.packed(table[:, 15], table, np.concatenate([kept, frames]))


def _frame_places(parent: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each body's frame is kept, and last the mount's, 0.

    A place is used again once all children of its body are done, since a batch must stay in the
    first cache to be fast: an arm needs two places beside the mount's.
    """
    places = np.zeros(len(parent) + 1, dtype=np.int64)
    free: list[int] = []
    for i, before in enumerate(parent):
        places[i] = free.pop() if free else places.max() + 1
        free += [int(places[j]) for j in (before, i) if j >= 0 and j not in parent[i + 1:]]
    return places


@step
def _recursion(memory: Array, bodies: int, free: int, motions: int, like: Number) -> None:
    """Twists outward, wrenches inward; the torque of joint i takes the place of cos qᵢ.

    Gravity comes in as the velocity −g t of the mount, whose pose and twist are given and whose
    wrench is written. `free` is 1 when body 0 is a floating base, which has no joint, else 0;
    `like` is of the type to compute with.
    """
    table, first, kept = joints.places(bodies, CONSTANTS, motions)
    unit = size(like)
    vector = 3 * unit
    frames = kept + _KEPT * unit * (bodies + 1)
    write_vector(memory, kept, (like, like, like))
    write_vector(memory, kept + vector, (like, like, like))
    for i in range(bodies):
        row, joint, own = table + 27 * i, first + 4 * unit * i, kept + 4 * vector * (i + 1)
        parent = frames + _FRAME * unit * int(memory[row + 1])
        body = frames + _FRAME * unit * int(memory[row + 2])
        home, com, axes = row + 3, row + 18, row + 21
        rotation, shift, mass = memory[row + 15], memory[row + 16], memory[row + 17]

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
                x * memory[home + 9] + y * memory[home + 10] + z * memory[home + 11])
            z = x * memory[home + 2] + y * memory[home + 5] + z * memory[home + 8]
            if shift != 0.0:
                r = r + read(memory, joint + 3 * unit, like) * shift * z
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
        if shift != 0.0:
            linear = add(linear, scale(velocity * shift, z))
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
        write_known_vector(memory, own, subtract(rates(spin), cross(force, c)))
        write_known_vector(memory, own + vector, force)

    for i in range(bodies - 1, -1, -1):
        row, joint, own = table + 27 * i, first + 4 * unit * i, kept + 4 * vector * (i + 1)
        parent = kept + 4 * vector * (int(memory[row]) + 1)
        rotation, shift = memory[row + 15], memory[row + 16]
        torque = read_vector(memory, own, like)
        force = read_vector(memory, own + vector, like)
        if i >= free:
            z = read_vector(memory, own + 2 * vector, like)
            moment = read_vector(memory, own + 3 * vector, like)
            work = (dot(z, torque) + dot(moment, force)) * rotation
            if shift != 0.0:
                work = work + dot(z, force) * shift
            write_known(memory, joint, work)
        write_known_vector(memory, parent, add(read_vector(memory, parent, like), torque))
        write_known_vector(
            memory, parent + vector, add(read_vector(memory, parent + vector, like), force))


@kernel
def one(memory: Array, q: Array, out: Array) -> None:
    """Write Q, Q̇, Q̈ (3, n) of a motion q (5, n); nothing is checked or allocated."""
    n = q.shape[1]
    _, first, _ = joints.places(n, CONSTANTS, 1)
    joints.one(memory, 0, first, q)
    _recursion(memory, n, 0, 1, jet())
    joints.torques_of_one(memory, first, out)


@kernel
def many(memory: Array, q: Array, out: Array) -> None:
    """The same for q (T, 5, n) and out (T, 3, n)."""
    n = q.shape[2]
    _, first, _ = joints.places(n, CONSTANTS, LANES)
    for t in range(0, q.shape[0], LANES):
        joints.eight(memory, 0, first, q, t)
        _recursion(memory, n, 0, LANES, jets())
        joints.torques_of_eight(memory, first, out, t)


@kernel
def many_floating(
    memory: Array, gravity: Array, base_pose: Array, base_twist: Array, q: Array, out: Array,
    base_wrench: Array,
) -> None:
    """The same on a floating base, which body 0 then is.

    Parameters
    ----------
    memory : array
        Of the function `memory`.
    gravity : (3,) array
        m/s².
    base_pose, base_twist : (T, 4, 4) and (T, 4, 6) arrays
        The spatial twist and its derivatives.
    q, out : (T, 5, n) and (T, 3, n) arrays
        As for `many`.
    base_wrench : (T, 3, 6) array
        Written: what must act on the base, in world axes about the world origin.

    """
    bodies = q.shape[2] + 1
    _, first, kept = joints.places(bodies, CONSTANTS, LANES)
    first += joints.JOINT * LANES
    number = COEFFICIENTS * LANES
    mount = kept + _KEPT * number * (bodies + 1)
    for t in range(0, q.shape[0], LANES):
        for lane in range(LANES):
            s = min(t + lane, q.shape[0] - 1)
            for k in range(12):
                memory[mount + number * k + lane] = base_pose[s, k % 3, k // 3]
            for k in range(6):
                for a in range(COEFFICIENTS):
                    memory[mount + number * (12 + k) + LANES * a + lane] = (
                        base_twist[s, a, k] / _FACTORIALS[a])
        _move_mount(memory, mount, gravity, jets())
        joints.eight(memory, 1, first, q, t)
        _recursion(memory, bodies, 1, LANES, jets())
        joints.torques_of_eight(memory, first, out, t)
        for lane in range(min(LANES, q.shape[0] - t)):
            for k in range(6):
                wrench = kept + number * k + lane
                base_wrench[t + lane, 0, k] = memory[wrench]
                base_wrench[t + lane, 1, k] = memory[wrench + LANES]
                base_wrench[t + lane, 2, k] = 2.0 * memory[wrench + 2 * LANES]


@kernel
def _move_mount(memory: Array, mount: int, gravity: Array, like: Number) -> None:
    """Complete the mount's pose, of which the present is given, by its twist; add −g t to that.

    Ẋ = ω × X for the columns of R and ṙ = v + ω × r; each iteration yields one coefficient more.
    """
    step = size(like)
    omega = read_vector(memory, mount + 12 * step, like)
    linear = read_vector(memory, mount + 15 * step, like)
    for k in range(4):
        place = mount + 3 * k * step
        present = (
            _present(memory, place, like), _present(memory, place + step, like),
            _present(memory, place + 2 * step, like))
        moving = present
        for _ in range(COEFFICIENTS - 1):
            rate = cross(omega, moving)
            if k == 3:
                rate = add(rate, linear)
            moving = add(present, (integral(rate[0]), integral(rate[1]), integral(rate[2])))
        write_vector(memory, place, moving)
    for k in range(3):
        place = mount + (15 + k) * step + LANES
        for lane in range(LANES):
            memory[place + lane] -= gravity[k]


@kernel
def _present(memory: Array, place: int, like: Number) -> Number:
    """Return the constant that stands at a place, its further coefficients 0."""
    for k in range(LANES, COEFFICIENTS * LANES):
        memory[place + k] = 0.0
    return read(memory, place, like)
