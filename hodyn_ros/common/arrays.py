"""Types of arrays, and checks that arrays suit kernels.

Kernels take arrays of float64 that are C-contiguous, aligned and writeable: for any other type
numba would compile the kernel anew, which takes seconds. Kernels do not check shapes: they would
read and write beyond the end of a smaller array.
"""
from collections.abc import Sequence
import reprlib

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.common.errors import HodynError

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]
Stamps = NDArray[np.int64]  # ns

FLOAT64 = np.dtype(np.float64)


def numbers(values: ArrayLike | Sequence[ArrayLike], name: str) -> Array:
    """Return numbers as an array for kernels, copied only if needed; HodynError for others."""
    if type(values) is np.ndarray and values.dtype is FLOAT64 and values.flags.carray:
        return values  # takes a tenth of the time of the code below
    if np.ma.is_masked(values):
        raise HodynError(f'{name} has masked entries: fill them or leave them out')
    try:
        array = np.asarray(values)
        if array.dtype.kind in 'fiub':
            return np.require(array, np.float64, ['C', 'A', 'W'])
    except (TypeError, ValueError):
        pass
    raise HodynError(f'{name}: expected numbers, got {reprlib.repr(values)}')


def number(value: ArrayLike, name: str) -> float:
    """Return a single number; raise HodynError for anything else."""
    if np.ndim(array := numbers(value, name)):
        raise HodynError(f'{name}: expected a single number, got {reprlib.repr(value)}')
    return float(array)


def check_finite(array: Array, name: str) -> None:
    """Raise HodynError, with the index, if an entry is not finite."""
    if not np.isfinite(array).all():
        place = [int(i) for i in np.argwhere(~np.isfinite(array))[0]]
        raise HodynError(f'{name}{place} is {array[tuple(place)]}: not finite')


def check_kind(array: Array, name: str) -> None:
    """Raise TypeError unless kernels can take the array."""
    if not isinstance(array, np.ndarray):
        given = reprlib.repr(array)
    elif array.dtype == np.float64 and array.flags.carray:
        return
    else:
        flags = array.flags
        given = 'one that is ' + ' and '.join(fault for fault, there in (
            (f'of {array.dtype.str}', array.dtype != np.float64),
            ('not contiguous', not flags.c_contiguous), ('not aligned', not flags.aligned),
            ('read-only', not flags.writeable)) if there)
    raise TypeError(
        f'{name} must be a writeable, C-contiguous, aligned array of float64, got {given}: '
        f"pass {name} = np.array({name}, dtype=float, order='C')")


def check_array(array: Array, name: str, shape: tuple[int, ...]) -> None:
    """Raise TypeError as `check_kind`, and HodynError unless the array has this shape."""
    if (type(array) is np.ndarray and array.shape == shape and array.dtype is FLOAT64
            and array.flags.carray):
        return  # takes a third of the time of the code below
    check_kind(array, name)
    if array.shape != shape:
        raise HodynError(f'{name} has shape {array.shape}; expected {shape}')


def check_motion(q: Array, name: str, least: int, n: int) -> None:
    """Apply `check_array` to a motion, (least or more, n), or to a batch of motions."""
    given = q.shape if isinstance(q, np.ndarray) else ()
    rows = max(least, given[-2]) if len(given) in (2, 3) else least
    check_array(q, name, (*given[:-2], rows, n) if len(given) == 3 else (rows, n))


def decimal_step(values: Array) -> float:
    """Return the largest of 0.01, 0.001, … 1e-6 of which all values are multiples, or else 0."""
    for digits in range(2, 7):
        step = 10.0 ** -digits
        counts = values / step
        if np.abs(counts - np.round(counts)).max(initial=0.0) < 1e-6:
            return step
    return 0.0
