"""Motions side by side: arrays (…, LANES) whose last axis is one number in a SIMD register.

The numbers add, subtract and multiply. With numba switched off they are arrays of numpy.
"""
from typing import TYPE_CHECKING, Any

import numba as nb
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.kernels.decorators import step
from hodyn_ros.dynamics.kernels.unrolled.taylor import LANES as LANES

Array = NDArray[np.float64]
Number = Any  # of LANES motions

if TYPE_CHECKING or nb.config.DISABLE_JIT:
    def numbers(width: int) -> Number:
        """Return a number of `width` zeros."""
        return np.zeros(width)

    def read(array: Array, start: int, like: Number) -> Number:
        """Return the number that starts at an entry of an array."""
        return array.reshape(-1)[start:start + LANES].copy()

    def write(array: Array, start: int, number: Number) -> None:
        """Store a number from an entry of an array on."""
        array.reshape(-1)[start:start + LANES] = number
else:
    from hodyn_ros.dynamics.kernels.unrolled.taylor import lanes as numbers
    from hodyn_ros.dynamics.kernels.unrolled.taylor import read, write


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
def put_lane(values: Array, lane: int, array: Array) -> None:
    """Write the numbers (k, c) of one motion to an array (k, c, LANES)."""
    for k in range(array.shape[0]):
        for c in range(array.shape[1]):
            array[k, c, lane] = values[k, c]


@step
def add(array: Array, other: Array) -> None:
    """Add to an array (k, c, LANES) another."""
    for k in range(array.shape[0]):
        for c in range(array.shape[1]):
            for lane in range(LANES):
                array[k, c, lane] += other[k, c, lane]
