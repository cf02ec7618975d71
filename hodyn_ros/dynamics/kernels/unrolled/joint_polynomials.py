"""What joints do, as polynomials in time: cos q(t), sin q(t), q̇(t) and q(t).

With them the layout of the one array that a kernel of order 2 needs beside motion and torques:
constants of the model, and room for all that is computed. It is one because each array that is
passed costs as much time as half a joint.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.bodies import kernel, step
from hodyn_ros.dynamics.kernels.unrolled.taylor import (
    COEFFICIENTS,
    LANES,
    gathered_jet,
    gathered_lanes,
    lanes,
    read,
    write,
)
from hodyn_ros.dynamics.kernels.unrolled.vectors import Number

Array = NDArray[np.float64]

JOINT = 4 * COEFFICIENTS  # doubles a joint and motion: the four polynomials

LARGEST_ANGLE = 5e5
"""The largest |x| for `sine_cosine`, rad: below it, x is less than 2¹⁹ quarter turns."""
_HALF_PI = (1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_ROUNDING = 1.5 * 2.0**52  # adding and subtracting it rounds to an integer


def packed(rotation: Array, table: Array, frames: Array) -> Array:
    """Return a kernel's array.

    Parameters
    ----------
    rotation : (n_bodies,) array
        rad per unit of q.
    table : (n_bodies, …) array
        The constants of the bodies.
    frames : (…, 4, motions) array
        Polynomials: what is given of the mount and room for the bodies.

    """
    table_at, joints_at, frames_at = places.py_func(
        len(table), table.shape[1], frames.shape[-1])
    # Registers are read fastest from addresses that are multiples of their size.
    room = np.zeros(frames_at + frames.size + LANES)
    start = -room.ctypes.data // 8 % LANES
    array = room[start:start + frames_at + frames.size]
    array[:len(rotation)] = rotation
    array[table_at:table_at + table.size] = table.ravel()
    rest = array[joints_at:frames_at - 2 * LANES].reshape(len(rotation), 4, *frames.shape[-2:])
    rest[:, 0, 0] = 1.0  # cos 0, for a floating base, which is no joint
    array[frames_at:] = frames.ravel()
    return array


@step
def places(bodies: int, columns: int, motions: int) -> tuple[int, int, int]:
    """Return where table, joints and frames start in a kernel's array."""
    table = bodies + LANES  # the angles per unit of q are read a register at a time
    joints = (table + columns * bodies + LANES - 1) // LANES * LANES
    return table, joints, joints + JOINT * motions * bodies + 2 * LANES


@step
def sine_cosine(x: Number) -> tuple[Number, Number]:
    """Return sin x and cos x to 1 ulp, of a float or `Lanes`, for |x| ≤ `LARGEST_ANGLE`.

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


@step
def _turned(
    sine: Number, cosine: Number, first: Number, second: Number, third: Number,
) -> tuple[Number, Number, Number, Number, Number, Number, Number, Number]:
    """Coefficients of cos and sin of q + d(t), of which d's are given, first to third.

    cos d = 1 − d₁² t²/2 − d₁ d₂ t³ and sin d = d₁ t + d₂ t² + (d₃ − d₁³/6) t³.
    """
    square = -0.5 * first * first
    mixed = -1.0 * first * second
    cube = third + first * square * (1.0 / 3.0)
    return (
        cosine, -1.0 * sine * first, cosine * square - sine * second, cosine * mixed - sine * cube,
        sine, cosine * first, sine * square + cosine * second, sine * mixed + cosine * cube)


@step
def one(memory: Array, first: int, at: int, q: Array) -> None:
    """Write the polynomials of the joints of a motion.

    Parameters
    ----------
    memory : array
        Of `packed`.
    first, at : int
        Joint 0 is the body `first`, whose polynomials are at `at`.
    q : (5, n) array
        Joint positions and derivatives.

    """
    n = q.shape[1]
    room = at + JOINT * n
    large = False
    for start in range(0, n, LANES):
        sine, cosine = sine_cosine(gathered_lanes((
            _angle(memory, first, q, start), _angle(memory, first, q, start + 1),
            _angle(memory, first, q, start + 2), _angle(memory, first, q, start + 3),
            _angle(memory, first, q, start + 4), _angle(memory, first, q, start + 5),
            _angle(memory, first, q, start + 6), _angle(memory, first, q, start + 7))))
        write(memory, room, sine)
        write(memory, room + LANES, cosine)
        for i in range(start, min(start + LANES, n)):
            sine_i, cosine_i = memory[room + i - start], memory[room + i - start + LANES]
            _one(memory, first, at, q, i, sine_i, cosine_i)
            large |= not abs(memory[first + i] * q[0, i]) <= LARGEST_ANGLE
    if large:
        for i in range(n):
            angle = memory[first + i] * q[0, i]
            _one(memory, first, at, q, i, np.sin(angle), np.cos(angle))


@step
def _angle(memory: Array, first: int, q: Array, i: int) -> float:
    joint = min(i, q.shape[1] - 1)
    angle: float = memory[first + joint] * q[0, joint]
    return angle


@step
def _one(
    memory: Array, first: int, at: int, q: Array, i: int, sine: float, cosine: float,
) -> None:
    turn = memory[first + i]
    velocity, second = q[1, i], 0.5 * q[2, i]
    third, fourth = q[3, i] * (1.0 / 6.0), q[4, i] * (1.0 / 6.0)
    c0, c1, c2, c3, s0, s1, s2, s3 = _turned(
        sine, cosine, turn * velocity, turn * second, turn * third)
    here = at + JOINT * i
    write(memory, here, gathered_jet((c0, c1, c2, c3)))
    write(memory, here + 4, gathered_jet((s0, s1, s2, s3)))
    write(memory, here + 8, gathered_jet((velocity, q[2, i], 0.5 * q[3, i], fourth)))
    write(memory, here + 12, gathered_jet((q[0, i], velocity, second, third)))


@kernel
def eight(memory: Array, first: int, at: int, q: Array, t: int) -> None:
    """The same for the motions t … t + 7 of a batch; after its end the last is repeated.

    Parameters
    ----------
    memory, first, at
        As for `one`.
    q : (T, 5, n) array
        The batch.
    t : int
        Its first motion to write.

    """
    n = q.shape[2]
    large = False
    for lane in range(LANES):
        s = min(t + lane, q.shape[0] - 1)
        for k in range(5):
            for i in range(n):
                memory[at + JOINT * LANES * i + LANES * k + lane] = q[s, k, i]
        for i in range(n):
            large |= not abs(memory[first + i] * q[s, 0, i]) <= LARGEST_ANGLE
    like = lanes()
    for i in range(n):
        here = at + JOINT * LANES * i
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


@step
def torques_of_one(memory: Array, at: int, out: Array) -> None:
    """Copy Q, Q̇ and Q̈ of a motion, which stand where cos q stood, to out (3, n)."""
    for i in range(out.shape[1]):
        here = at + JOINT * i
        out[0, i], out[1, i], out[2, i] = memory[here], memory[here + 1], 2.0 * memory[here + 2]


@step
def torques_of_eight(memory: Array, at: int, out: Array, t: int) -> None:
    """The same for the motions t … t + 7 of a batch, out (T, 3, n)."""
    for lane in range(min(LANES, out.shape[0] - t)):
        for i in range(out.shape[2]):
            here = at + JOINT * LANES * i + lane
            out[t + lane, 0, i] = memory[here]
            out[t + lane, 1, i] = memory[here + LANES]
            out[t + lane, 2, i] = 2.0 * memory[here + 2 * LANES]
