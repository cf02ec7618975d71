"""The joints' Taylor polynomials, cos q(t), sin q(t), q̇(t) and q(t), and the workspace layout.

An unrolled kernel takes one array beside motion and torques, with the constants of the model and
room for all that is computed: each array that is passed costs as much time as half a joint.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.decorators import inlined, kernel
from hodyn_ros.dynamics.kernels.unrolled.formulas import formula
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    COEFFICIENTS,
    LANES,
    float64x8,
    float64x8_of,
    read,
    taylor4_of,
    write,
)
from hodyn_ros.dynamics.kernels.unrolled.vectors import Number
from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]

DOUBLES_PER_JOINT = 4 * COEFFICIENTS  # and motion: the four polynomials

MAX_ANGLE = 5e5
"""Largest |x| for `sine_cosine`, rad: below it, x is less than 2¹⁹ quarter turns."""
_HALF_PI = (1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_ROUNDING = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


def packed_workspace(rotation: Array, table: Array, frames: Array) -> Array:
    """Return the workspace of a kernel.

    Parameters
    ----------
    rotation : (n_bodies,) array
        rad per unit of q.
    table : (n_bodies, …) array
        The constants of the bodies.
    frames : (…, 4, motions) array
        Polynomials: those of the base, and room for those of the bodies.

    """
    table_at, joints_at, frames_at = offsets.py_func(
        len(table), table.shape[1], frames.shape[-1])
    # Aligned to the register size, for speed.
    size = frames_at + frames.size + 1
    room = np.zeros(size + LANES)
    start = -room.ctypes.data // 8 % LANES
    array = room[start:start + size]
    array[:len(rotation)] = rotation
    array[table_at:table_at + table.size] = table.ravel()
    rest = array[joints_at:frames_at - 2 * LANES].reshape(len(rotation), 4, *frames.shape[-2:])
    rest[:, 0, 0] = 1.0  # cos 0, for a floating base, which is no joint
    array[frames_at:-1] = frames.ravel()
    array[-1] = len(rotation)  # for `check_shapes`
    return array


@inlined
def check_shapes(memory: Array, q: Array, out: Array) -> None:
    """Raise HodynError unless q is (5, n) and out (3, n), n the joints of the workspace."""
    n = memory[memory.shape[0] - 1]
    if q.shape[0] != 5 or q.shape[1] != n or out.shape[0] != 3 or out.shape[1] != n:
        raise HodynError('q must be (5, n) and out (3, n), with n the number of joints')


@inlined
def offsets(bodies: int, columns: int, motions: int) -> tuple[int, int, int]:
    """Return where table, joint polynomials and frames start in the workspace."""
    table = bodies + LANES  # the angles per unit of q are read a register at a time
    joints = (table + columns * bodies + LANES - 1) // LANES * LANES
    return table, joints, joints + DOUBLES_PER_JOINT * motions * bodies + 2 * LANES


@formula
def sine_cosine(x: Number) -> tuple[Number, Number]:
    """Return sin x and cos x to 1 ulp, of a float or `Float64x8`, for |x| ≤ `MAX_ANGLE`.

    x = n π/2 + y + tail: π/2 is taken in parts of 33 bits, whose products with n are exact. Then
    the minimax polynomials on |y| ≤ π/4 that libraries of the C language have used since fdlibm.
    """
    n = (x * 0.6366197723675814 + _ROUNDING) - _ROUNDING
    first = x - n * _HALF_PI[0]
    second = n * _HALF_PI[1]
    rest = first - second
    error = n * _HALF_PI[2] - ((first - rest) - second)
    y = rest - error
    tail = (rest - y) - error

    z = y * y
    odd = -1.66666666666666324348e-01 + z * (8.33333333332248946124e-03 + z * (
        -1.98412698298579493134e-04 + z * (2.75573137070700676789e-06 + z * (
            -2.50507602534068634195e-08 + z * 1.58969099521155010221e-10))))
    sine = y + (z * y * odd + tail * (1.0 - 0.5 * z))
    even = 4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (
        2.48015872894767294178e-05 + z * (-2.75573143513906633035e-07 + z * (
            2.08757232129817482790e-09 + z * -1.13596475577881948265e-11))))
    half = 0.5 * z
    top = 1.0 - half
    cosine = top + (((1.0 - top) - half) + (z * z * even - y * tail))

    # n mod 4 says which of both is wanted and its sign; 0 and 1 as factors are exact.
    turns = (n * 0.5 - 0.25 + _ROUNDING) - _ROUNDING
    swap = n - 2.0 * turns
    sign = 1.0 - 2.0 * (turns - 2.0 * ((turns * 0.5 - 0.25 + _ROUNDING) - _ROUNDING))
    keep = 1.0 - swap
    return (
        sign * (swap * cosine + keep * sine), sign * (keep - swap) * (keep * cosine + swap * sine))


@formula
def _turned(
    sine: Number, cosine: Number, first: Number, second: Number, third: Number,
) -> tuple[Number, Number, Number, Number, Number, Number, Number, Number]:
    """Return the coefficients of cos and sin of q + d(t) with d = d₁ t + d₂ t² + d₃ t³.

    cos d = 1 − d₁² t²/2 − d₁ d₂ t³ and sin d = d₁ t + d₂ t² + (d₃ − d₁³/6) t³.
    """
    square = -0.5 * first * first
    mixed = -1.0 * first * second
    cube = third + first * square * (1.0 / 3.0)
    return (
        cosine, -1.0 * sine * first, cosine * square - sine * second, cosine * mixed - sine * cube,
        sine, cosine * first, sine * square + cosine * second, sine * mixed + cosine * cube)


@inlined
def single(memory: Array, first: int, at: int, q: Array) -> None:
    """Write the polynomials of the joints of one motion.

    Parameters
    ----------
    memory : array
        From `packed_workspace`.
    first, at : int
        Body of joint 0, and where its polynomials start in the workspace.
    q : (5, n) array
        Joint positions and derivatives.

    """
    n = q.shape[1]
    room = at + DOUBLES_PER_JOINT * n
    large = False
    for start in range(0, n, LANES):
        sine, cosine = sine_cosine(float64x8_of((
            _angle(memory, first, q, start), _angle(memory, first, q, start + 1),
            _angle(memory, first, q, start + 2), _angle(memory, first, q, start + 3),
            _angle(memory, first, q, start + 4), _angle(memory, first, q, start + 5),
            _angle(memory, first, q, start + 6), _angle(memory, first, q, start + 7))))
        write(memory, room, sine)
        write(memory, room + LANES, cosine)
        for i in range(start, min(start + LANES, n)):
            sine_i, cosine_i = memory[room + i - start], memory[room + i - start + LANES]
            _write_joint(memory, first, at, q, i, sine_i, cosine_i)
            large |= not abs(memory[first + i] * q[0, i]) <= MAX_ANGLE
    if large:
        for i in range(n):
            angle = memory[first + i] * q[0, i]
            _write_joint(memory, first, at, q, i, np.sin(angle), np.cos(angle))


@inlined
def _angle(memory: Array, first: int, q: Array, i: int) -> float:
    joint = min(i, q.shape[1] - 1)
    angle: float = memory[first + joint] * q[0, joint]
    return angle


@inlined
def _write_joint(
    memory: Array, first: int, at: int, q: Array, i: int, sine: float, cosine: float,
) -> None:
    turn = memory[first + i]
    velocity, second = q[1, i], 0.5 * q[2, i]
    third, fourth = q[3, i] * (1.0 / 6.0), q[4, i] * (1.0 / 6.0)
    c0, c1, c2, c3, s0, s1, s2, s3 = _turned(
        sine, cosine, turn * velocity, turn * second, turn * third)
    here = at + DOUBLES_PER_JOINT * i
    write(memory, here, taylor4_of((c0, c1, c2, c3)))
    write(memory, here + 4, taylor4_of((s0, s1, s2, s3)))
    write(memory, here + 8, taylor4_of((velocity, q[2, i], 0.5 * q[3, i], fourth)))
    write(memory, here + 12, taylor4_of((q[0, i], velocity, second, third)))


@kernel
def lanes(memory: Array, first: int, at: int, q: Array, t: int) -> None:
    """The same for the motions t … t + 7 of a batch; beyond its end the last one is repeated.

    Parameters
    ----------
    memory, first, at
        As for `single`.
    q : (T, 5, n) array
        The batch.
    t : int
        First motion.

    """
    n = q.shape[2]
    large = False
    for lane in range(LANES):
        s = min(t + lane, q.shape[0] - 1)
        for k in range(5):
            for i in range(n):
                memory[at + DOUBLES_PER_JOINT * LANES * i + LANES * k + lane] = q[s, k, i]
        for i in range(n):
            large |= not abs(memory[first + i] * q[s, 0, i]) <= MAX_ANGLE
    like = float64x8()
    for i in range(n):
        here = at + DOUBLES_PER_JOINT * LANES * i
        turn = memory[first + i]
        position = read(memory, here, like)
        velocity = read(memory, here + LANES, like)
        second = 0.5 * read(memory, here + 2 * LANES, like)
        third = (1.0 / 6.0) * read(memory, here + 3 * LANES, like)
        fourth = (1.0 / 6.0) * read(memory, here + 4 * LANES, like)
        sine, cosine = sine_cosine(turn * position)
        if large:
            for lane in range(LANES):
                angle = turn * memory[here + lane]
                memory[here + 5 * LANES + lane] = np.sin(angle)
                memory[here + 6 * LANES + lane] = np.cos(angle)
            sine = read(memory, here + 5 * LANES, like)
            cosine = read(memory, here + 6 * LANES, like)
        for k, number in enumerate(_turned(
                sine, cosine, turn * velocity, turn * second, turn * third)):
            write(memory, here + LANES * k, number)
        write(memory, here + 8 * LANES, velocity)
        write(memory, here + 9 * LANES, 2.0 * second)
        write(memory, here + 10 * LANES, 3.0 * third)
        write(memory, here + 11 * LANES, fourth)
        write(memory, here + 12 * LANES, position)
        write(memory, here + 13 * LANES, velocity)
        write(memory, here + 14 * LANES, second)
        write(memory, here + 15 * LANES, third)


@inlined
def wrenches_of_lanes(
    memory: Array, at: int, apart: int, transforms: Array, wrenches: Array, t: int,
) -> None:
    """Write the polynomials of the wrenches on bodies for the motions t … t + 7 of a batch.

    Parameters
    ----------
    memory : array
        From `packed_workspace`.
    at, apart : int
        Where those on body 0 start in the workspace, and how far after them those on body 1 do.
    transforms : (n_bodies, 6, 6) array
        What takes them to the frames of the kernel.
    wrenches : (T, 3, n_bodies, 6) array
        The batch.
    t : int
        First motion.

    """
    for lane in range(min(LANES, wrenches.shape[0] - t)):
        for i in range(wrenches.shape[2]):
            factorial = 1.0
            for k in range(3):
                factorial *= max(k, 1)
                for c in range(6):
                    total = 0.0
                    for d in range(6):
                        total += transforms[i, c, d] * wrenches[t + lane, k, i, d]
                    here = at + apart * i + LANES * (COEFFICIENTS * c + k)
                    memory[here + lane] = total / factorial


@inlined
def write_torques(memory: Array, at: int, out: Array) -> None:
    """Write Q, Q̇ and Q̈ of one motion, found in place of cos q, to out (3, n)."""
    for i in range(out.shape[1]):
        here = at + DOUBLES_PER_JOINT * i
        out[0, i], out[1, i], out[2, i] = memory[here], memory[here + 1], 2.0 * memory[here + 2]


@inlined
def write_torques_of_lanes(memory: Array, at: int, out: Array, t: int) -> None:
    """The same for the motions t … t + 7 of a batch, out (T, 3, n)."""
    for lane in range(min(LANES, out.shape[0] - t)):
        for i in range(out.shape[2]):
            here = at + DOUBLES_PER_JOINT * LANES * i + lane
            out[t + lane, 0, i] = memory[here]
            out[t + lane, 1, i] = memory[here + LANES]
            out[t + lane, 2, i] = 2.0 * memory[here + 2 * LANES]
