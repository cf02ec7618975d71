"""Finds messages between samples: positions that were interpolated linearly from a slower log."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags

_LONGEST = 50  # greatest number of messages from one sample to the next that is tried
_LEAST = 20  # least number of samples; by chance, a few bends may be regular
# Greatest ratio of the mean squared bend in between to that at the samples: of positions, and of
# others, whose noise and friction is between the reversals of a motion at constant velocities.
_STRAIGHT, _EXACT = 0.05, 1e-3
# Share of the samples with a bend that counts, above this part of the mean: where a joint moves at
# constant velocity or rests, no sample has one.
_BENT, _COUNTS = 0.3, 0.01


def interpolated(position: Array, *others: Array) -> Flags:
    """Return which positions, (T, n), lie on straight lines between every N-th message.

    Rounding and noise bend every line, and a coarse encoder at a constant velocity has its bends
    in pairs. A motion at constant velocities that reverses regularly also consists of lines: so
    must all `others` do, (T, n) each, velocities and efforts, as far as they change.
    """
    found = np.zeros(len(position), np.bool_)
    if len(found) < 2 * _LEAST:
        return found
    energies = [_bends(position), *filter(np.size, map(_bends, others))]
    if not energies[0].size:
        return found
    for each in range(min(_LONGEST, len(found) // _LEAST), 1, -1):
        count = len(position) // each
        tables = [energy[:count * each].reshape(count, each) for energy in energies]
        at = int(np.argmax(tables[0].mean(axis=0)))
        # A gap within the log is one great bend.
        bends = [np.minimum(own, np.quantile(own, 0.9)) for own in (
            table[:, at] for table in tables)]
        are_straight = all(
            np.delete(table.mean(axis=0), at).max() < most * own.mean()
            for table, own, most in zip(
                tables, bends, (_STRAIGHT, _EXACT, _EXACT), strict=False))
        if are_straight and np.mean(bends[0] > _COUNTS * bends[0].mean()) > _BENT:
            found[np.arange(len(found)) % each != at] = True
            return found
    return found


def _bends(values: Array) -> Array:
    """Return the squares of the bends at each message, (T,), of values, (T, n); empty if none."""
    bend = np.nan_to_num(np.diff(values, n=2, axis=0), posinf=0.0, neginf=0.0)
    square = np.mean(bend ** 2, axis=0)
    changes = square > 0.0  # not where all values are missing
    if not changes.any():
        return np.zeros(0)
    return np.pad(np.mean(bend[:, changes] ** 2 / square[changes], axis=1), 1)
