"""States of zeros that a driver sends while it has no data: before it is connected, or in between.

They are exact zeros of all joints at once, where the arm is elsewhere.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, decimal_step

_MIN_JOINTS = 2  # a single joint may stand at 0 and be set to another zero
_LEAST = 5e-3  # least distance of the arm from zero, rad or m: nearer, it may stand there
_ACCELERATION = 100.0  # least acceleration of a leap, rad/s² or m/s²: no arm reaches it
_STEPS = 3.0  # number of its steps to zero at which a moving arm does not leap: stamps may jitter


def empty(time: Array, position: Array) -> Flags:
    """Return which states, positions (T, n), are zeros in place of data, (T,).

    An arm that stands at zero in all joints, or passes through it, does so step by step. Zeros are
    none if the position leaps there and back, or at one end of the recording. `time`, (T,), are
    stamps, s.
    """
    zeros = (position == 0.0).all(axis=1)
    found = np.zeros(len(zeros), dtype=bool)
    if position.shape[1] < _MIN_JOINTS or not zeros.any() or zeros.all():
        return found
    # Rounded to two decimals, 0 is near what it was rounded from, and so is the last step.
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
    """Return how far from zero the next positions are expected at the nearest, rad or m.

    `position`, (T, n), are those before, the last one first. The arm may have stayed, or taken
    another few of its steps.
    """
    last = position[0]
    # A state that was read again shows no step.
    other = position[np.argmax((position != last).any(axis=1))]
    step = last - other
    steps = np.clip(-last @ step / max(step @ step, 1e-300), 0.0, _STEPS)
    return float(np.abs(last + steps * step).max())
