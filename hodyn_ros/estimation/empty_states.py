"""States of zeros that a driver sends while it has no data: before it is connected, or in between.

They are exact zeros of all joints at once, where the arm is elsewhere.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, decimal_step

_MIN_JOINTS = 2  # a single joint may stand at 0 and be set to another zero
_LEAST = 5e-3  # least distance of the arm from zero, rad or m: nearer, it may stand there
_ACCELERATION = 100.0  # least acceleration of a leap from rest, rad/s² or m/s²: no arm reaches it


def empty(time: Array, position: Array) -> Flags:
    """Return which states, positions (T, n), are zeros in place of data, (T,).

    An arm that stands at zero in all joints leaves it and returns step by step. Zeros are none if
    the position leaps there and back, or at one end of the recording. `time`, (T,), are stamps, s.
    """
    zeros = (position == 0.0).all(axis=1)
    found = np.zeros(len(zeros), dtype=bool)
    if position.shape[1] < _MIN_JOINTS or not zeros.any() or zeros.all():
        return found
    # Rounded to two decimals, 0 is near what it was rounded from.
    least = max(_LEAST, 1.5 * decimal_step(position))
    edges = np.flatnonzero(np.diff(zeros, prepend=False, append=False))
    begins, ends = edges[::2], edges[1::2]
    for begin, end in zip(begins, ends, strict=True):
        found[begin:end] = all(
            np.abs(position[outside]).max() > max(
                least, 0.5 * _ACCELERATION * (time[inside] - time[outside]) ** 2)
            for outside, inside in ((begin - 1, begin), (end, end - 1))
            if 0 <= outside < len(zeros))
    return found
