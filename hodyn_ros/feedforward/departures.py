"""Whether an arm that departed from a reference at rest is held where it is, or must not be."""
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

    def __init__(self, robot: Robot, tolerance: Array) -> None:
        """Take the robot, and how far its joints may be from the reference, (n,)."""
        self._robot, self._tolerance = robot, tolerance
        self.forget()

    def leave(self, position: Array) -> None:
        """Note the position, (n,), at which joint states fell silent."""
        self._before = position.copy()

    def forget(self) -> None:
        """Take the next departure as the first one."""
        self._one_way, self._in_all, self._last, self._moved_at = 0, 0, 0, 0
        self._way = self._place = self._before = np.zeros(0)

    def why_not_held(
        self, position: Array, reference: Array, now: int, *, is_new: bool,
    ) -> str:
        """Return why not to hold an arm away from its reference, (n,), at `now`, ns; or nothing.

        `is_new`: its driver was silent and may have been restarted.
        """
        error = (position - reference) / self._tolerance
        if self._before.size:
            if question := question_of_leap(self._robot, position, self._before):
                return f'after a silence; {question} If they are right, {_HOLDS}'
            is_new &= bool((np.abs(position - self._before) > self._tolerance).any())
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
