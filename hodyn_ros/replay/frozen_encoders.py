"""Finds joints whose positions stand still while their recorded velocities go on."""
import numpy as np

from hodyn_ros.common.arrays import Array, Indices
from hodyn_ros.estimation.recorded_motion import MotionPiece

_MOVES = 0.05  # least velocity that counts, rad/s or m/s: drivers' velocities are noisy
_NET = 0.6  # least ratio of net to total travel by the velocities: noise has little net travel
_LONG = 1.0  # shortest standstill that counts, s: some drivers refresh positions rarely
_FAR = 0.05  # least net travel by the velocities during the standstill, rad or m
_STEP = 0.1  # longest time, s, for which a recorded velocity counts
_SAME = 0.5  # relative difference (RMS) below which velocities are only a constant error
_STEPS = 100.0  # least net travel, in steps of the resolution of the positions


class FrozenEncoders:
    """Finds frozen encoders in the pieces of a recording."""

    def __init__(self) -> None:
        self._longest = np.zeros(0)

    def add(self, used: MotionPiece) -> None:
        """Add the next messages that are used."""
        position, velocity = used.states.position, used.states.velocity
        if len(position) < 2:
            return
        time, steps = 1e-9 * (used.instants - used.instants[0]), np.diff(position, axis=0)
        # A message that repeats the last state has no information.
        is_new = steps.any(axis=1) | (np.diff(velocity, axis=0) != 0.0).any(axis=1)
        found = np.array([
            _longest(time, steps[is_new, joint], np.append(0, np.flatnonzero(is_new) + 1), one)
            for joint, one in enumerate(velocity.T)])
        self._longest = np.maximum(self._longest, found) if self._longest.size else found

    def named(self, names: tuple[str, ...]) -> dict[str, float]:
        """Return the joints with frozen encoders, and the longest time of each, s."""
        return {
            name: seconds for name, seconds in zip(names, self._longest.tolist(), strict=False)
            if seconds > 0.0}


def _longest(time: Array, steps: Array, index: Indices, velocity: Array) -> float:
    """Return the longest time, s, for which one joint's positions are frozen; 0 if never.

    `steps` are the changes of its position between the messages `index`.
    """
    moves, recorded = steps != 0.0, np.nan_to_num(velocity[index[1:]])
    resolution = float(np.abs(steps[moves]).min()) if moves.any() else 0.0
    fast = np.where(np.abs(recorded) > _MOVES, recorded, 0.0)
    apart = np.diff(time[index])
    seconds_each = np.minimum(apart, _STEP)
    step = np.where(moves, 0.0, fast * seconds_each)
    travel, length = np.cumsum(step), np.cumsum(np.abs(step))
    begins, ends = np.flatnonzero(np.diff(moves, prepend=True, append=True)).reshape(-1, 2).T
    seconds = time[index[ends]] - time[index[begins]]
    # A joint that has not moved before may be at rest, whatever its recorded velocities.
    longest, lasts = 0.0, (begins > 0) & (seconds > _LONG)
    stands = np.zeros(len(steps), np.bool_)
    for begin, end in zip(begins[lasts], ends[lasts], strict=True):
        stands[begin:end] = True
    there = ~stands & (apart <= _STEP)
    offset = float(np.sum((recorded * seconds_each - steps)[there])) / max(
        float(np.sum(seconds_each[there])), _STEP)
    for begin, end in zip(begins[lasts], ends[lasts], strict=True):
        if np.sqrt(np.mean((recorded[begin:end] - offset) ** 2)) < _SAME * abs(offset):
            continue  # these velocities are also off by this much while the joint moves
        passed = time[index[begin:end + 1]]
        # A return cancels the net travel: also judge from where the velocity changes its sign.
        here, total = travel[begin - 1:end], length[begin - 1:end]
        for first in (0, int(np.argmin(here)), int(np.argmax(here))):
            net = np.abs(here[first:] - here[first])
            if np.any((passed[first:] - passed[first] > _LONG) & (
                    net > max(_FAR, _STEPS * resolution)) & (
                    net > _NET * (total[first:] - total[first]))):
                longest = max(longest, float(passed[-1] - passed[0]))
    return longest
