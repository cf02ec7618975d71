"""Whether an arm that departed from a reference at rest is held where it is, or must not be."""
import numpy as np

from hodyn_ros.common.arrays import Array

# A departure is another one, not the last one going on, after this time without, ns.
_QUIET = 10_000_000_000
# An arm is at rest if it has moved by at most _STILL, rad or m, for this time, ns.
_RESTS, _STILL = 2_000_000_000, 0.01
_ONE_WAY, _IN_ALL = 2, 4  # greatest number of holds, in one direction and in all
# Positions in another order differ by less than _SAME, rad or m, from the former ones when both
# are sorted, and by more than _OTHER unsorted.
_SAME, _OTHER = 0.01, 0.1
_HOLDS = '~/hold holds the arm where it is'

REORDERED = (
    'the positions are those of before in another order: do they still belong to the names?')
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
    silent is held where it is each time, unless its positions came back in another order.
    """

    def __init__(self) -> None:
        self.forget()

    def leave(self, position: Array) -> None:
        """Note the position, (n,), at which joint states fell silent."""
        self._before = position.copy()

    def forget(self) -> None:
        """Take the next departure as the first one."""
        self._one_way, self._in_all, self._last, self._moved_at = 0, 0, 0, 0
        self._way = self._place = self._before = np.zeros(0)

    def why_not_held(self, error: Array, position: Array, now: int, *, is_new: bool) -> str:
        """Return why not to hold an arm that is away by `error`, (n,), at `now`, ns; or nothing.

        `is_new`: it was moved while its driver was silent, which may have been restarted.
        """
        if self._before.size and are_reordered(position, self._before):
            return f'after a silence: {REORDERED} If so, {_HOLDS}'
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


def are_reordered(position: Array, before: Array) -> bool:
    """Whether positions, (n,) each, are former ones in another order."""
    return bool(np.abs(np.sort(position) - np.sort(before)).max() < _SAME and (
        np.abs(position - before).max() > _OTHER))
