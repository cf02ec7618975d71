"""The joints' Taylor polynomials, cos q(t), sin q(t), q̇(t) and q(t), and the workspace layout.

Besides motion and torques, an unrolled kernel takes one array for the model's constants and all
intermediate results, since each further array argument costs as much time as half a joint.
"""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import inlined, kernel
from hodyn_ros.dynamics.kernels.unrolled.formulas import Memory, formula
from hodyn_ros.dynamics.kernels.unrolled.taylor import LANES, lanes, read, size, write
from hodyn_ros.dynamics.kernels.unrolled.vectors import Number
from hodyn_ros.dynamics.kernels.workspace import aligned_zeros
from hodyn_ros.robot import HodynError

NUMBERS_PER_JOINT = 4
"""Polynomials per joint: cos q, sin q, q̇ and q."""

_TOGETHER = 8  # joints of one motion whose sines are computed side by side
MAX_ANGLE = 5e5
"""Largest |x| for `sine_cosine`, rad: fewer than 2¹⁹ quarter turns."""
_HALF_PI = (1.57079632673412561417e+00, 6.07710050630396597660e-11, 2.02226624879595063154e-21)
_ROUNDING = 1.5 * 2.0**52  # adding and subtracting this number rounds to an integer


def packed_workspace(rotation: Array, table: Array, frames: Array, motions: int) -> Array:
    """Return the workspace of a kernel, for a number of motions side by side.

    `rotation`, (n_bodies,), has rad per unit of q; `table`, (n_bodies, …), the constants of the
    bodies; `frames`, (…, size), the base's polynomials and room for those of the bodies.
    """
    table_at, joints_at, frames_at = offsets.py_func(
        len(table), table.shape[1], frames.shape[-1])
    array = aligned_zeros(frames_at + frames.size + 1)
    array[:len(rotation)] = rotation
    array[table_at:table_at + table.size] = table.ravel()
    joints = array[joints_at:frames_at - 2 * _TOGETHER].reshape(len(rotation), -1)
    joints[:, :motions] = 1.0  # cos 0, for a floating base, which has no joint
    array[frames_at:-1] = frames.ravel()
    array[-1] = len(rotation)  # for `check_shapes`
    return array


@inlined
def check_shapes(memory: Array, q: Array, out: Array, coefficients: int) -> None:
    """Raise HodynError unless q is (r + 3, n) and out (r + 1, n), for the workspace's n joints."""
    n = memory[memory.shape[0] - 1]
    if (q.shape[0] != coefficients + 1 or q.shape[1] != n or out.shape[0] != coefficients - 1
            or out.shape[1] != n):
        raise HodynError(
            'q must be (order + 3, n) and out (order + 1, n), with n the number of joints')


@inlined
def offsets(bodies: int, columns: int, unit: int) -> tuple[int, int, int]:
    """Return where table, joint polynomials and frames start; `unit` is the size of a number."""
    table = bodies  # after the angles per unit of q
    joints = (table + columns * bodies + _TOGETHER - 1) // _TOGETHER * _TOGETHER
    return table, joints, joints + NUMBERS_PER_JOINT * unit * bodies + 2 * _TOGETHER


@formula
def sine_cosine(x: Number) -> tuple[Number, Number]:
    """Return sin x and cos x to 1 ulp, of a float or `lanes`, for |x| ≤ `MAX_ANGLE`.

    x = n π/2 + y + tail, with π/2 in parts of 33 bits, whose products with n are exact. For
    |y| ≤ π/4 the minimax polynomials are those of fdlibm and later C libraries.
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

    # n mod 4 selects sine or cosine and the sign; factors of 0 and 1 are exact.
    turns = (n * 0.5 - 0.25 + _ROUNDING) - _ROUNDING
    swap = n - 2.0 * turns
    sign = 1.0 - 2.0 * (turns - 2.0 * ((turns * 0.5 - 0.25 + _ROUNDING) - _ROUNDING))
    keep = 1.0 - swap
    return (
        sign * (swap * cosine + keep * sine), sign * (keep - swap) * (keep * cosine + swap * sine))


@formula
def _write_joint(
    memory: Memory, at: int, turn: float, q: tuple[Number, ...], sine: Number, cosine: Number,
    like: Number,
) -> None:
    """Write the four polynomials of a joint, from `at` on.

    They are cos, sin, q̇ and q. The angle is its start plus d = d₁ t + d₂ t² + d₃ t³, with
    cos d = 1 − d₁² t²/2 − d₁ d₂ t³ and sin d = d₁ t + d₂ t² + (d₃ − d₁³/6) t³. Coefficients that
    `like` does not have are not computed.
    """
    position, velocity, second, third, snap = q
    second, third = 0.5 * second, third * (1.0 / 6.0)
    first, bend, twist = turn * velocity, turn * second, turn * third
    square = -0.5 * first * first
    mixed = -1.0 * first * bend
    cube = twist + first * square * (1.0 / 3.0)
    for k, numbers in enumerate((
            (cosine, -1.0 * sine * first, cosine * square - sine * bend,
             cosine * mixed - sine * cube),
            (sine, cosine * first, sine * square + cosine * bend, sine * mixed + cosine * cube),
            (velocity, 2.0 * second, 3.0 * third, snap * (1.0 / 6.0)),
            (position, velocity, second, third))):
        memory.write(at, k, like.made_of(numbers[:like.coefficients]))


@inlined
def single(memory: Array, first: int, at: int, q: Array, like: Number) -> None:
    """Write the polynomials of the joints of one motion, (r + 3, n).

    `memory` is from `packed_workspace`; `first` is the body of joint 0, whose polynomials start at
    memory[at]; `like` is a number of the polynomials' type.
    """
    n, joint = q.shape[1], NUMBERS_PER_JOINT * size(like)
    room = at + joint * n
    angles = lanes(_TOGETHER)
    large = False
    for start in range(0, n, _TOGETHER):
        sine, cosine = sine_cosine(_side_by_side((
            _angle(memory, first, q, start), _angle(memory, first, q, start + 1),
            _angle(memory, first, q, start + 2), _angle(memory, first, q, start + 3),
            _angle(memory, first, q, start + 4), _angle(memory, first, q, start + 5),
            _angle(memory, first, q, start + 6), _angle(memory, first, q, start + 7)), angles))
        write(memory, room, sine)
        write(memory, room + _TOGETHER, cosine)
        for i in range(start, min(start + _TOGETHER, n)):
            sine_i, cosine_i = memory[room + i - start], memory[room + i - start + _TOGETHER]
            _write_joint(
                memory, at + joint * i, memory[first + i], _row(q, i), sine_i, cosine_i, like)
            large |= not abs(memory[first + i] * q[0, i]) <= MAX_ANGLE
    if large:
        for i in range(n):
            angle = memory[first + i] * q[0, i]
            _write_joint(
                memory, at + joint * i, memory[first + i], _row(q, i), np.sin(angle),
                np.cos(angle), like)


@inlined
def _angle(memory: Array, first: int, q: Array, i: int) -> float:
    joint = min(i, q.shape[1] - 1)
    angle: float = memory[first + joint] * q[0, joint]
    return angle


@formula
def _side_by_side(numbers: tuple[float, ...], like: Number) -> Number:
    """Return floats in one register."""
    return like.made_of(numbers)


@inlined
def _row(q: Array, i: int) -> tuple[float, float, float, float, float]:
    """Return the position of a joint and its first four derivatives, 0 if q has none."""
    rows = q.shape[0]
    return (
        q[0, i], q[1, i], q[2, i], q[3, i] if rows > 3 else 0.0, q[4, i] if rows > 4 else 0.0)


@kernel
def several(memory: Array, first: int, at: int, q: Array, t: int, like: Number) -> None:
    """Write the polynomials for LANES motions; lanes beyond the batch repeat its last motion.

    `t` is the first motion in `q`, (T, r + 3, n); the rest is as for `single`.
    """
    n, joint = q.shape[2], NUMBERS_PER_JOINT * size(like)
    rows = size(like) // LANES + 1  # rows of q, known to the compiler
    large = False
    for lane in range(LANES):
        s = min(t + lane, q.shape[0] - 1)
        for k in range(rows):
            for i in range(n):
                memory[at + joint * i + LANES * k + lane] = q[s, k, i]
        for i in range(n):
            large |= not abs(memory[first + i] * q[s, 0, i]) <= MAX_ANGLE
    zero = lanes(LANES)
    for i in range(n):
        here = at + joint * i
        turn = memory[first + i]
        position = read(memory, here, zero)
        sine, cosine = sine_cosine(turn * position)
        third = read(memory, here + 3 * LANES, zero)  # undefined and unused at order 0
        fourth = read(memory, here + 4 * LANES, zero)
        motion = (
            position, read(memory, here + LANES, zero), read(memory, here + 2 * LANES, zero),
            third, fourth)
        if large:
            for lane in range(LANES):
                angle = turn * memory[here + lane]
                memory[here + rows * LANES + lane] = np.sin(angle)
                memory[here + (rows + 1) * LANES + lane] = np.cos(angle)
            sine = read(memory, here + rows * LANES, zero)
            cosine = read(memory, here + (rows + 1) * LANES, zero)
        _write_joint(memory, here, turn, motion, sine, cosine, like)


@inlined
def wrenches_of_motions(
    memory: Array, at: int, apart: int, transforms: Array, wrenches: Array, t: int, motions: int,
    like: Number,
) -> None:
    """Write the polynomials of the wrenches on bodies, for the motions of a batch from t on.

    - `at`, `apart`: where body 0's wrench starts in the workspace, and the distance from body to
      body.
    - `transforms`, (n_bodies, 6, 6): take the wrenches to the frames of the kernel.
    - `wrenches`, (T, r + 1, n_bodies, 6): the batch.
    - `motions`: how many motions are side by side in a number.
    - `like`: a number of the polynomials' type.
    """
    for lane in range(min(motions, wrenches.shape[0] - t)):
        for i in range(wrenches.shape[2]):
            factorial = 1.0
            for k in range(wrenches.shape[1]):
                factorial *= max(k, 1)
                for c in range(6):
                    total = 0.0
                    for d in range(6):
                        total += transforms[i, c, d] * wrenches[t + lane, k, i, d]
                    memory[at + apart * i + size(like) * c + motions * k + lane] = (
                        total / factorial)


@inlined
def write_derivatives(
    memory: Array, at: int, apart: int, out: Array, t: int, motions: int, order: int,
) -> None:
    """Write the derivatives of polynomials of `motions` motions side by side.

    The first polynomial starts at `at` in the workspace, and each next one `apart` further on; the
    torques are in the place of cos q. `out`, (T, order + 1, c), is for T motions and c
    polynomials; the motions from `t` on are written.
    """
    for lane in range(min(motions, out.shape[0] - t)):
        for i in range(out.shape[2]):
            factorial = 1.0
            for k in range(order + 1):
                factorial *= max(k, 1)
                out[t + lane, k, i] = factorial * memory[at + apart * i + motions * k + lane]
