"""Whether an arm that departed from a reference at rest is held where it is, or must not be."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.leaps import question_of_leap
from hodyn_ros.robot import Robot

# A departure is another one, not the last one going on, after this time without, ns.
_QUIET = 10_000_000_000
# An arm is at rest if it has moved by at most _STILL, rad or m, for this time, ns.
_RESTS, _STILL = 2_000_000_000, 0.01
_ONE_WAY, _IN_ALL = 2, 4  # greatest number of holds, in one direction and in all
_HOLDS = '~/hold holds the arm where it is'

STAYS = (
    'the reference stays, since an arm that sinks or swings would be followed. Look at payload, '
    f'gains, springs and brakes, or what moves it; {_HOLDS}')


class Departures:
    """Counts the holds after departures: two in one direction and four in all are the most.

    A controller of positions carries an unknown weight by their error. A hold takes the error away
    and the arm sinks: repeated holds would follow it to the floor. Behind springs that are much
    stiffer or softer than the model's, a hold moves the motors, and the arm swings about. An arm
    that a hand or another controller moves departs again, too, but stays where it is left. So all
    holds but the first wait until the arm rests. Only an arm that was moved while its driver was
    silent is held where it is each time, unless its positions seem to be wrong since.
    """

    def __init__(self, robot: Robot, tolerance: Array, *, asks: bool = True) -> None:
        """Take how far joints may be from the reference, (n,), and whether to doubt positions."""
        self._robot, self._tolerance, self._asks = robot, tolerance, asks
        self._before = self._doubtful = np.zeros(0)
        self._question = ''  # what may be wrong with the positions since a silence
        self.forget()

    def leave(self, position: Array) -> None:
        """Note the position, (n,), at which joint states fell silent."""
        if self._question:
            self._doubtful = position.copy()
        else:
            self._before = position.copy()

    def come_back(self, names: Sequence[str], position: Array) -> bool:
        """Note the first position, (n,), after a silence; return whether the arm was moved."""
        if not self._question or (np.abs(position - self._doubtful) > self._tolerance).any():
            self._question = question_of_leap(
                self._robot, names, position, self._before) if self._asks else ''
        return bool((np.abs(position - self._before) > self._tolerance).any())

    def see(self, *, is_away: bool) -> None:
        """Note whether the arm is away from its reference: at it, its positions are right."""
        if not is_away:
            self._question = ''

    def forget(self) -> None:
        """Take the next departure as the first one."""
        self._one_way, self._in_all, self._last, self._moved_at = 0, 0, 0, 0
        self._way = self._place = np.zeros(0)
        self._question = ''

    def why_not_held(
        self, position: Array, reference: Array, now: int, *, is_new: bool,
    ) -> str:
        """Return why not to hold an arm away from its reference, (n,), at `now`, ns; or nothing.

        `is_new`: it was moved while its driver was silent, which may have been restarted.
        """
        if self._question:
            return (
                f'after a silence: the reference stays. {self._question} If they are right, '
                f'{_HOLDS}')
        error = (position - reference) / self._tolerance
        if self._in_all and now - self._last > _QUIET:
            self.forget()
        self._last = now
        if not self._place.size or np.abs(position - self._place).max() > _STILL:
            self._place, self._moved_at = position.copy(), now
        count = self._one_way if self._in_all and error @ self._way > 0.0 else 0
        if not is_new and (count >= _ONE_WAY or self._in_all >= _IN_ALL or (
                self._in_all and now - self._moved_at < _RESTS)):
            return f'again: {STAYS}'
        self._one_way, self._in_all, self._way = count + 1, self._in_all + 1, error.copy()
        return ''
