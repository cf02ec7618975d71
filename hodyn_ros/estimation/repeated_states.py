"""Finds messages without a new sample: read again, repeated by another publisher, or torn."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Indices

# A state is clearly new only if at least this many of its values change clearly; with fewer
# changes, states recur by chance.
_MIN_CHANGES = 3
_CLEAR_STEPS = 2.5  # noise about a constant value seldom exceeds this many steps of the resolution
_MOST_TORN = 0.02  # greatest share of messages that are torn
# At two equal values the motion reverses if the values before and after them differ by less than
# this share of the total change. Two samples on either side of a reversal may be equal in all
# joints, and are then no repeat.
_TURNS = 0.2
_AROUND = 5  # number of messages on each side that show the usual motion
_LOOKBACK = 20  # greatest number of messages by which a second publisher lags
# An unchanged state is a repeat if the chance that no number changes is at most _CHANCE. How often
# each number changes is counted in _NEAR steps on both sides.
_NEAR, _CHANCE = 10, 1e-4
# If a state is read more often than this, the arm counts as moving only if the next step is large
# in proportion to the number of reads.
_LONG_READ = 20


def _compared(position: Array, velocity: Array, effort: Array) -> Array:
    """Return the values that distinguish states: efforts only if few others are recorded.

    Efforts may change without new encoder values.
    """
    recorded = np.hstack([position, velocity])
    few = np.count_nonzero(~np.isnan(recorded[0])) < _MIN_CHANGES
    return np.hstack([recorded, effort]) if few else recorded


def _clear_changes(recorded: Array) -> Indices:
    """Return how many numbers of each state change by several steps of their resolution.

    At rest, numbers alternate between few values, and whole states recur by chance.
    """
    steps = np.abs(np.diff(recorded, axis=0))
    resolution = np.where(steps > 0.0, steps, np.inf).min(axis=0, initial=np.inf)
    clear = np.count_nonzero(steps > _CLEAR_STEPS * resolution, axis=1)
    return np.concatenate([[len(recorded[0])], clear])


def torn(position: Array, velocity: Array) -> Flags:
    """Return which states have positions of one sample and velocities of another.

    They occur if a state is read while another thread writes it. One half repeats the last
    message bit for bit, and the other clearly does not. The next message may complete the sample:
    it then repeats the half that was new, and its other half is new. Torn states are rare: if
    many seem torn, one half is only refreshed less often, and none is returned.
    """
    found = np.zeros(len(position), dtype=bool)
    if len(found) <= 2 * _AROUND:
        return found
    halves = (position, velocity)
    moved = np.stack([_clear_changes(half) >= _MIN_CHANGES for half in halves])
    same = np.zeros((2, len(found)), dtype=bool)
    changed = [half[1:] != half[:-1] for half in halves]
    fresh = np.append(0, 1 + np.flatnonzero(np.hstack(changed).any(axis=1)))
    for half, one in zip(same, changed, strict=True):
        half[fresh] = np.append(False, ~one.any(axis=1))[fresh] & (
            _chance_of_none(one[fresh[1:] - 1]) <= _CHANCE)
    around = np.ones(2 * _AROUND + 1)
    moves = np.stack([np.convolve(half, around, 'same') > _AROUND for half in moved])
    half_read = same & moves & moved[::-1]
    if np.count_nonzero(half_read) > _MOST_TORN * len(found):
        return found
    for i in np.flatnonzero(half_read.any(axis=0)):
        # The message that completes a torn state is not torn itself.
        found[i] = not (found[i - 1] and half_read[0, i - 1] != half_read[0, i]) and not _turns(
            halves[np.argmax(half_read[:, i])][max(i - 2, 0):i + 2])
    return found


def _turns(values: Array) -> bool:
    """Whether values, (4, n), with two equal ones in the middle, go back the way they came."""
    size = np.abs(np.diff(values, axis=0)).sum()
    return bool(np.abs(values[-1] - values[0]).sum() < _TURNS * size)


def seen_before(position: Array, velocity: Array, effort: Array) -> Flags:
    """Return which states repeat an earlier message, with a different one in between."""
    recorded = _compared(position, velocity, effort)
    rows = np.unique(np.nan_to_num(recorded), axis=0, return_inverse=True)
    state: Indices = rows[1].reshape(-1)
    order = np.argsort(state, kind='stable')
    again = np.flatnonzero(np.diff(state[order]) == 0)
    apart = np.zeros(len(state), dtype=np.intp)
    apart[order[again + 1]] = order[again + 1] - order[again]
    return np.asarray((apart > 1) & (apart <= _LOOKBACK) & (
        _clear_changes(recorded) >= _MIN_CHANGES))


def _chance_of_none(changed: Flags) -> Array:
    """Estimate, from the steps around each state, the chance that none of its numbers changes.

    The result is (S,); `changed`, (S−1, m), says which numbers changed in each step.
    """
    counts = np.vstack([np.zeros(changed.shape[1]), np.cumsum(changed, axis=0)])
    state = np.arange(len(changed) + 1)
    begin, end = np.maximum(state - _NEAR, 0), np.minimum(state + _NEAR, len(changed))
    share = (counts[end] - counts[begin] + 0.5) / (end - begin + 1.0)[:, None]
    return np.asarray(np.prod(1.0 - share, axis=1))


def repeats(
    time: Array, position: Array, velocity: Array, effort: Array,
) -> Flags:
    """Return which messages repeat the last state, bit for bit, though the arm moves.

    A long run of equal states counts as a rest, unless the step after it is about as large as the
    steps around it: then the arm moved and its states were only held up. An unchanged state is no
    repeat where numbers change so seldom, as in slow motion, that it may be unchanged by chance.
    """
    recorded = _compared(position, velocity, effort)
    changed = (recorded[1:] != recorded[:-1]) & ~np.isnan(recorded[1:])
    changes = np.concatenate([[len(recorded[0])], np.count_nonzero(changed, axis=1)])
    again = changes == 0
    moves = np.flatnonzero(~again)
    if not again.any() or len(moves) < 3:
        return np.zeros(len(changes), dtype=bool)
    ends = np.append(moves[1:], len(changes))
    for i in np.flatnonzero(_chance_of_none(changed[moves[1:] - 1]) > _CHANCE):
        again[moves[i]:ends[i]] = False
    reads = ends - moves
    typical = float(np.median(reads[:-1]))
    passed = time[ends - 1] - time[moves]
    # Reads that were held up and then came all at once are not a rest.
    rests = (reads > 3.0 * typical) & (passed > 3.0 * typical * np.median(np.diff(time)))
    steps = np.abs(np.diff(position[moves], axis=0)).sum(axis=1)
    # A change of the last digit while the arm stands is not a motion.
    steps[_clear_changes(position[moves])[1:] < min(_MIN_CHANGES, position.shape[1])] = 0.0
    for i in np.flatnonzero(rests):
        around = np.concatenate([steps[max(0, i - _AROUND):i], steps[i + 1:i + 1 + _AROUND]])
        usual = float(np.median(around)) if len(around) else 0.0
        # Held-up states may all arrive late: then none is missing, and the next step is a usual
        # one. After very many reads, only a step in proportion to their number shows a motion.
        least = 0.5 * usual * (reads[i] / typical if reads[i] > _LONG_READ else 1.0)
        if i < len(steps) and steps[i] > least > 0.0:
            continue
        again[moves[i]:ends[i]] = False
    return np.asarray(again)
