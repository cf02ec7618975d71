"""Finds recorded columns (positions, velocities, efforts) in each other's place, and copies."""
from itertools import combinations, permutations

import numpy as np

from hodyn_ros.replay.recorded_torques import Chunk

_COLUMNS = ('positions', 'velocities', 'efforts')
_SPAN = 10  # number of messages over which changes are compared: noise of positions counts less
_MOVES = 0.01  # change per second, rad or m (RMS), from which a joint moves
# One column holds the velocities of another if, for each moving joint, the squared error is below
# the share _EXCHANGED of its squared changes, and _MANY times as large for the recorded velocities
# and positions; of these it must be above _EXCHANGED for one joint at least: efforts of light
# joints with viscous friction may be near their velocities.
_EXCHANGED, _MANY = 0.2, 10.0
_COPY = 1e-4  # largest squared difference of a column and its copy, as a share of the square


class RecordedColumns:
    """Compares the recorded columns with each other, whatever the model says of them.

    Only the motion itself tells them apart: a column holds positions and another their velocities
    if the other's integral is the change of the one.
    """

    def __init__(self, n: int) -> None:
        self._square, self._apart = np.zeros((2, 3, 3, n))
        self._changes, self._error = np.zeros((2, 3, 3, n))
        self._seconds = np.zeros((3, 3, n))

    def add(self, used: Chunk) -> None:
        """Add the next used messages."""
        columns = [used.states.position, used.states.velocity, used.states.effort]
        for one, other in permutations(range(3), 2):
            place, rate = columns[one], columns[other]
            known = np.isfinite(place) & np.isfinite(rate)
            rows = known.any(axis=1)
            place, rate, known = place[rows], rate[rows], known[rows]
            place, rate = (np.where(known, each, 0.0) for each in (place, rate))
            self._square[one, other] += np.sum(place ** 2, axis=0)
            self._apart[one, other] += np.sum((place - rate) ** 2, axis=0)
            time = 1e-9 * (used.instants[rows] - used.instants[:1])
            if len(time) <= _SPAN:
                continue
            step = np.diff(time)[:, np.newaxis]
            way = np.cumsum(np.vstack([0.0 * rate[:1], 0.5 * step * (rate[1:] + rate[:-1])]), 0)
            passed = time[_SPAN:] - time[:-_SPAN]
            # Not over gaps, clocks that were set, and values that are missing.
            whole = (passed > 0.0) & (passed < 2.0 * np.median(passed))
            count = np.cumsum(np.vstack([0 * known[:1], ~known]), axis=0)
            there = whole[:, np.newaxis] & (count[_SPAN + 1:] == count[:-_SPAN - 1])
            change, integral = (each[_SPAN:] - each[:-_SPAN] for each in (place, way))
            self._changes[one, other] += np.sum(there * change ** 2, axis=0)
            self._error[one, other] += np.sum(there * (change - integral) ** 2, axis=0)
            self._seconds[one, other] += np.sum(there * passed[:, np.newaxis] ** 2, axis=0)

    @property
    def sentence(self) -> str:
        """Which columns are copies, or in each other's place; empty if none."""
        moves = self._changes > _MOVES ** 2 * self._seconds
        for one, other in combinations(range(3), 2):
            if moves[one, other].any() and np.all(
                    self._apart[one, other] <= _COPY * self._square[one, other]):
                return (
                    f'The recorded {_COLUMNS[one]} and {_COLUMNS[other]} are the same numbers: '
                    'one column seems to be written in place of the other, as by a wrong index. '
                    'Correct the driver.')
        with np.errstate(divide='ignore', invalid='ignore'):
            share = self._error / self._changes
        for one, other in permutations(range(3), 2):
            own, moving, recorded = share[one, other], moves[one, other], share[0, 1]
            fits = (own < _EXCHANGED) & (_MANY * own < recorded)
            if np.any(moving & (recorded > _EXCHANGED)) and fits[moving].all():
                places = one, other, 3 - one - other
                *first, last = (
                    name for at, (place, name) in enumerate(zip(places, _COLUMNS, strict=True))
                    if at != place)
                return (
                    f'The recorded {_COLUMNS[other]} are the slopes of the recorded '
                    f'{_COLUMNS[one]}, and the velocities are not those of the positions: '
                    f'{", ".join(first)} and {last} seem to be exchanged. Correct the driver.')
        return ''
