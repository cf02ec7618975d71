"""Finds leaps of a joint's position to another place, where it stays: no joint moves that fast.

The encoder has slipped, or the drive has repeated its last position for a while.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices

_AROUND = 10  # number of messages on each side that show the usual motion
_NEAR = 3  # number of steps on each side whose mean slope is taken as that of the motion
_OFF = 8.0  # least leap, in usual deviations nearby; noise and motion stay below it
_FARTHER = 2.0  # least leap, in usual steps
_OTHERS = 3  # number of largest deviations nearby that do not count: another fault may cause them
_LEAST = 5e-3  # least leap, rad or m; smaller ones disturb little
_STEPS = 10.0  # least leap, in steps of the resolution
_ACCELERATION = 100.0  # least acceleration of a leap, rad/s² or m/s²: no arm reaches it
# A wrong stamp may look like a leap: all joints moved on for longer than the stamps say. The leap
# is real if it would take the joint _LATE periods or more. It is also real if the other joints
# deviate by less than the share _TIMELY of the motion expected in this time (sums of squares).
_TIMELY, _LATE = 0.1, 20.0
_MOST = 0.005  # greatest share of samples before which positions leap


def leaps(time: Array, position: Array) -> Array:
    """Return by how much positions, (T, n), leap before each message, rad or m; 0 if they do not.

    In a leap a single joint moves; after late or lost messages all joints have moved on. A single
    false position, there and back, is no leap (see `astray`). Leaps are rare: if there are more
    than two, and more than one in 200 samples, all are returned as 0. `time`, (T,), are stamps, s.
    """
    found = np.zeros_like(position)
    fresh = np.append(True, (np.diff(position, axis=0) != 0.0).any(axis=1))[:len(position)]
    first = np.flatnonzero(fresh)
    if len(first) < 2 * _AROUND + 3:
        return found
    seconds = np.maximum(np.diff(time[first]), 1e-9)[:, None]
    steps = np.diff(position[first], axis=0)
    count = len(steps)
    # The mean slope of steps nearby, without the step itself.
    passed, gone = (
        np.vstack([np.zeros((1, one.shape[1])), np.cumsum(one, axis=0)]) for one in (
            seconds, steps))
    low, high = (np.clip(np.arange(count) + end, 0, count) for end in (-_NEAR, _NEAR + 1))
    nearby = (gone[high] - gone[low] - steps) / (passed[high] - passed[low] - seconds)
    rest = steps - seconds * nearby
    # After a held-up message only the stamp leaps: `rest` is large, but the step is not.
    sizes = np.minimum(np.abs(steps), np.abs(rest))
    resolution = np.where(steps != 0.0, np.abs(steps), np.inf).min(axis=0)
    i, joint = np.nonzero(sizes > np.maximum.reduce(np.broadcast_arrays(
        _LEAST, _STEPS * resolution, _ACCELERATION * seconds ** 2)))
    begin = np.clip(i - _AROUND, 0, count - 2 * _AROUND - 1)
    window = begin[:, None] + np.arange(2 * _AROUND + 1)
    # The mean slopes next to a leap include the leap, so they do not show what is usual.
    others = np.abs(window - i[:, None]) > _NEAR
    usual, step = (
        np.sort(np.where(others, np.abs(values)[window, joint[:, None]], 0.0), axis=1)[
            :, -1 - _OTHERS] for values in (rest, steps))
    is_leap = (sizes[i, joint] > np.maximum(_OFF * usual, _FARTHER * step)) & ~_in_time(
        rest[i], nearby[i], joint, float(np.median(seconds))) & ~_returns(rest, i, joint)
    i, joint = i[is_leap], joint[is_leap]
    if len(np.unique(i)) <= max(2.0, _MOST * count):
        found[first[i + 1], joint] = rest[i, joint]
    return found


def _in_time(rest: Array, slope: Array, joint: Indices, period: float) -> Flags:
    """Return which leaps, (c,), may be a motion for longer than the stamps say.

    `slope`, (c, n), rad/s or m/s, are the usual slopes of all joints; `rest`, (c, n), rad or m, is
    how far the joints moved beyond them.
    """
    rows = np.arange(len(joint))
    own = slope[rows, joint]
    longer = rest[rows, joint] / np.where(own == 0.0, 1e-12, own)
    ways = longer[:, None] * slope
    deviations = np.abs(rest)
    ways[rows, joint] = deviations[rows, joint] = 0.0
    if rest.shape[1] > 3:  # a second joint may leap at the same time
        second = np.argmax(deviations, axis=1)
        ways[rows, second] = deviations[rows, second] = 0.0
    shown = np.sum(deviations ** 2, axis=1) < _TIMELY * np.sum(ways ** 2, axis=1)
    return np.asarray(~shown & (np.abs(longer) < _LATE * period))


def _returns(rest: Array, i: Indices, joint: Indices) -> Flags:
    """Return which leaps, (c,), are reversed within a few steps."""
    beside = np.clip(i[:, None] + np.arange(-_NEAR, _NEAR + 1), 0, len(rest) - 1)
    size = rest[i, joint]
    return np.asarray(
        (rest[beside, joint[:, None]] * np.sign(size)[:, None]).min(axis=1, initial=np.inf)
        < -0.5 * np.abs(size))
