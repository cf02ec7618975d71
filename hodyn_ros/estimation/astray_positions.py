"""Finds single positions that are impossible: far off the positions before and after."""
import numpy as np

from hodyn_ros.common.arrays import Array

_AROUND = 10  # number of messages on each side that show the usual motion
_OFF = 8.0  # least jump, in usual deviations nearby; noise and motion stay below it
_FARTHER = 2.0  # least jump, in usual steps nearby
_OTHERS = 3  # number of largest deviations nearby that do not count: another fault may cause them
_LEAST = 1e-3  # least jump, rad or m; smaller ones disturb little
_STEPS = 10.0  # least jump, in steps of the resolution; encoders flicker by less
_ACCELERATION = 100.0  # least acceleration of a jump and back, rad/s²: no arm reaches it
# Greatest time of a jump and back, over the longest time of two steps nearby: in a longer time, an
# arm may have moved there and back.
_LONG = 1.5
_MOST = 0.01  # greatest share of samples with impossible positions


def astray(time: Array, position: Array) -> Array:
    """Return how far positions, (T, n), are off the mean of their neighbours, rad; 0 if they fit.

    A faulty read or a row of zeros is a single jump and back. Late or lost messages are not: their
    positions lie between their neighbours. Faulty reads are rare: if more than 1 % of the samples
    (and more than one) seem faulty, or for fewer than 23 samples, the result is 0 everywhere.
    `time`, (T,), are stamps, s.
    """
    off = np.zeros_like(position)
    # A state that is read several times is one sample.
    fresh = np.append(True, (np.diff(position, axis=0) != 0.0).any(axis=1))[:len(position)]
    first = np.flatnonzero(fresh)
    time, read = time[first], position[first]
    count = len(first)
    if count < 2 * _AROUND + 3:
        return off
    steps = np.diff(read, axis=0)
    before, after = steps[:-1], steps[1:]
    jump = np.minimum(np.abs(before), np.abs(after))
    sizes = np.abs(steps)
    resolution = np.where(sizes > 0.0, sizes, np.inf).min(axis=0)
    candidates = (before * after < 0.0) & (np.abs(before + after) < 0.5 * jump) & (
        jump > np.maximum(_LEAST, _STEPS * resolution))
    bend = 0.5 * np.abs(before - after)
    spans = time[2:] - time[:-2]
    i, joint = np.nonzero(candidates)  # jumps at message i + 1
    begin = np.clip(i - _AROUND, 0, count - 2 - (2 * _AROUND + 1))
    window = begin[:, None] + np.arange(2 * _AROUND + 1)
    others = np.abs(window - i[:, None]) > 1
    usual, step = (
        np.sort(np.where(others, values[window, joint[:, None]], 0.0), axis=1)[:, -1 - _OTHERS]
        for values in (bend, np.maximum(np.abs(before), np.abs(after))))
    longest = np.where(others, spans[window], 0.0).max(axis=1)
    period = 0.5 * np.maximum(spans[window].mean(axis=1), spans[i])
    found = (jump[i, joint] > np.maximum(_OFF * usual, _FARTHER * step)) & (
        spans[i] <= _LONG * longest) & (2.0 * jump[i, joint] > _ACCELERATION * period ** 2)
    i, joint = i[found], joint[found]
    if len(np.unique(i)) > max(1.0, _MOST * count):
        return off
    sample = np.zeros_like(read)
    sample[i + 1, joint] = read[i + 1, joint] - 0.5 * (read[i, joint] + read[i + 2, joint])
    off[:] = sample[np.cumsum(fresh) - 1]
    return off
