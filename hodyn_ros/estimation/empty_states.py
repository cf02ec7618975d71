"""Finds states of zeros that a driver sends while it has no data, such as before it is connected.

All positions of such a state are exactly 0 although the arm is elsewhere.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, decimal_step

_MIN_JOINTS = 2  # least number of joints: the zero of a single joint may be set while it is at 0
_LEAST = 5e-3  # least distance of the arm from zero, rad or m: a nearer arm may be at zero
_ACCELERATION = 100.0  # least acceleration of a leap, rad/s² or m/s²: no arm reaches it
# A moving arm may reach zero within this number of its usual steps, since stamps may jitter.
_STEPS = 3.0


def empty(time: Array, position: Array) -> Flags:
    """Return which states, positions (T, n), are zeros in place of data, (T,).

    An arm that really is at zero in all joints gets there step by step. Zeros stand for missing
    data if the position leaps to them and back; at an end of the recording one leap is enough.
    `time`, (T,), are stamps, s.
    """
    zeros = (position == 0.0).all(axis=1)
    found = np.zeros(len(zeros), dtype=bool)
    if position.shape[1] < _MIN_JOINTS or not zeros.any() or zeros.all():
        return found
    # If positions are rounded to two decimals, zero and the last step have errors of rounding.
    least = max(_LEAST, 2.5 * decimal_step(position))
    edges = np.flatnonzero(np.diff(zeros, prepend=False, append=False))
    begins, ends = edges[::2], edges[1::2]
    for begin, end in zip(begins, ends, strict=True):
        found[begin:end] = all(
            _off_zero(before) > max(least, 0.5 * _ACCELERATION * passed ** 2)
            for before, passed in (
                (position[:begin][::-1], time[begin] - time[begin - 1]),
                (position[end:], time[end % len(time)] - time[end - 1]))
            if len(before))
    return found


def _off_zero(position: Array) -> float:
    """Return the least distance from zero at which the next state is expected, rad or m.

    `position`, (T, n), are the states before, the last one first. The arm may have stayed, or
    moved on by up to `_STEPS` of its last steps.
    """
    last = position[0]
    # A state that was read again shows no step.
    other = position[np.argmax((position != last).any(axis=1))]
    step = last - other
    steps = np.clip(-last @ step / max(step @ step, 1e-300), 0.0, _STEPS)
    return float(np.abs(last + steps * step).max())
