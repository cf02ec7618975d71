"""Finds messages between samples: positions that were interpolated linearly from a slower log."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags

_LONGEST = 50  # greatest number of messages from one sample to the next that is tried
_LEAST = 20  # least number of samples; by chance, a few bends may be regular
_STRAIGHT = 0.05  # greatest ratio of the mean squared bend in between to that at the samples
# Share of the samples with a bend that counts, above this part of the mean: where a joint moves at
# constant velocity or rests, no sample has one.
_BENT, _COUNTS = 0.3, 0.01


def interpolated(position: Array) -> Flags:
    """Return which positions, (T, n), lie on straight lines between every N-th message.

    Rounding and noise bend every line. A coarse encoder at a constant velocity has its bends in
    pairs, a reversal of constant velocities has one: neither looks like a line between samples.
    """
    found = np.zeros(len(position), np.bool_)
    if len(found) < 2 * _LEAST:
        return found
    bend = np.diff(position, n=2, axis=0)
    square = np.mean(bend ** 2, axis=0)
    moves = square > 0.0
    if not moves.any():
        return found
    energy = np.pad(np.mean(bend[:, moves] ** 2 / square[moves], axis=1), 1)
    for each in range(min(_LONGEST, len(found) // _LEAST), 1, -1):
        count = len(energy) // each
        table = energy[:count * each].reshape(count, each)
        mean = table.mean(axis=0)
        at = int(np.argmax(mean))
        bends = table[:, at]
        # A gap within the log is one great bend.
        bends = np.minimum(bends, np.quantile(bends, 0.9))
        is_straight = np.delete(mean, at).max() < _STRAIGHT * bends.mean()
        if is_straight and np.mean(bends > _COUNTS * bends.mean()) > _BENT:
            found[np.arange(len(found)) % each != at] = True
            return found
    return found
