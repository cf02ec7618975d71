"""Several motions at once: the last axis of an array (…, LANES) has one entry per motion.

The entries along this axis form a *number*: one SIMD register, which can be added, subtracted and
multiplied. If numba is switched off, a number is a numpy array.
"""
from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.dynamics.kernels.decorators import step
from hodyn_ros.dynamics.kernels.unrolled import joint_polynomials
from hodyn_ros.dynamics.kernels.unrolled.formulas import Memory, formula
from hodyn_ros.dynamics.kernels.unrolled.taylor import LANES as LANES

Number = Any  # one value for each of LANES motions
Group = tuple[Number, ...]
Rows = tuple[Group, ...]

if TYPE_CHECKING or nb.config.DISABLE_JIT:
    def numbers(width: int) -> Number:
        """Return a number of `width` zeros."""
        return np.zeros(width)

    def read(array: Array, start: int, like: Number) -> Number:
        """Return the number that starts at an entry of an array."""
        return array.reshape(-1)[start:start + LANES].copy()

    def write(array: Array, start: int, number: Number) -> None:
        """Store a number at an entry of an array."""
        array.reshape(-1)[start:start + LANES] = number

    def write_motions(group: Group, out: Array, start: int, apart: int, last: int) -> None:
        """Write a group of numbers motion by motion."""
        for motion in range(last + 1):
            place = start + apart * motion
            out.reshape(-1)[place:place + LANES] = [number[motion] for number in group]
else:
    from hodyn_ros.dynamics.kernels.unrolled.taylor import lanes as numbers
    from hodyn_ros.dynamics.kernels.unrolled.taylor import read, write
    from hodyn_ros.dynamics.kernels.unrolled.taylor import write_motions as write_motions


@step
def zero() -> Number:
    """Return the number 0."""
    return numbers(LANES)


@step
def row3(array: Array, k: int) -> tuple[Number, Number, Number]:
    """Return row k of an array (…, 3, LANES)."""
    like, start = zero(), 3 * LANES * k
    return (
        read(array, start, like), read(array, start + LANES, like),
        read(array, start + 2 * LANES, like))


@step
def row6(array: Array, k: int) -> tuple[Number, Number, Number, Number, Number, Number]:
    """Return row k of an array (…, 6, LANES)."""
    x, y, z = row3(array, 2 * k)
    u, v, w = row3(array, 2 * k + 1)
    return x, y, z, u, v, w


def _reader(width: int) -> Any:
    if TYPE_CHECKING or nb.config.DISABLE_JIT:
        def rows(array: Array, start: int, together: Group, like: Number) -> Rows:
            places = range(start, start + len(together) * width * LANES, LANES)
            found = [read(array, place, like) for place in places]
            return tuple(
                tuple(found[width * i:width * (i + 1)]) for i in range(len(together)))
        return rows

    @formula
    def read_rows(memory: Memory, start: int, together: Group, like: Number) -> Rows:
        return tuple(
            tuple(memory.read(start, width * i + c, like) for c in range(width))
            for i in range(len(together)))
    return read_rows


_read_threes, _read_sixes, _read_group = _reader(3), _reader(6), _reader(LANES)


@step
def rows3(array: Array, k: int, together: Group) -> Rows:
    """Return len(together) rows of an array (…, 3, LANES), from row k on."""
    rows: Rows = _read_threes(array, 3 * LANES * k, together, zero())
    return rows


@step
def rows6(array: Array, k: int, together: Group) -> Rows:
    """Return len(together) rows of an array (…, 6, LANES), from row k on."""
    rows: Rows = _read_sixes(array, 6 * LANES * k, together, zero())
    return rows


@step
def group(array: Array, start: int) -> Group:
    """Return `LANES` numbers, from an entry of an array on."""
    found: Group = _read_group(array, start, (zero(),), zero())[0]
    return found


@formula
def add_scaled(sums: Group, factor: float, group: Group) -> Group:
    """Return sums + factor × group, number by number."""
    return tuple(
        total + factor * number for total, number in zip(sums, group, strict=True))


@formula
def scaled(factor: float, group: Group) -> Group:
    """Return a group of numbers times a factor."""
    return tuple(factor * number for number in group)


@formula
def _zeros(known: tuple[None, ...], number: Number) -> Group:
    return (number,) * max(len(known), 1)


@step
def zeros(known: tuple[None, ...]) -> Group:
    """Return len(known) zeros, but at least one."""
    found: Group = _zeros(known, zero())
    return found


@formula
def add_products(sums: Group, a: Rows, b: Rows) -> Group:
    """Add the first len(sums) coefficients of the scalar product a · b to `sums`.

    Row i of a or b is the i-th Taylor coefficient of a vector with six components. If the rows of
    a have only three, only the first three components of b are used.
    """
    result = list(sums)
    # In this loop order most numbers stay in registers, and no addition waits for another one.
    for j, right in enumerate(b):
        for c in range(len(a[0])):
            for i in range(len(result) - j):
                result[i + j] = result[i + j] + a[i][c] * right[c]
    return tuple(result)


@step
def put3(array: Array, k: int, x: Number, y: Number, z: Number) -> None:
    """Write row k of an array (…, 3, LANES)."""
    start = 3 * LANES * k
    write(array, start, x)
    write(array, start + LANES, y)
    write(array, start + 2 * LANES, z)


@step
def put6(
    array: Array, k: int, x: Number, y: Number, z: Number, u: Number, v: Number, w: Number,
) -> None:
    """Write row k of an array (…, 6, LANES)."""
    put3(array, 2 * k, x, y, z)
    put3(array, 2 * k + 1, u, v, w)


@step
def sine_cosine(turn: float, position: Array, out: Array) -> None:
    """Write sine and cosine of `turn` times the number at the start of an array."""
    sine, cosine = joint_polynomials.sine_cosine(turn * read(position, 0, zero()))
    write(out, 0, sine)
    write(out, LANES, cosine)
    for lane in range(LANES):
        angle = turn * position[0, lane]
        if not abs(angle) <= joint_polynomials.MAX_ANGLE:
            out[0, lane], out[1, lane] = np.sin(angle), np.cos(angle)


@step
def add(array: Array, other: Array) -> None:
    """Add another array to an array (…, LANES)."""
    for start in range(0, array.size, LANES):
        write(array, start, read(array, start, zero()) + read(other, start, zero()))
