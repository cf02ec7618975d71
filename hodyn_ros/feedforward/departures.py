"""Whether an arm that departed from a reference at rest is held where it is, or must not be."""
import numpy as np

from hodyn_ros.common.arrays import Array

# A departure is another one, not the last one going on, after this time without, ns.
_QUIET = 10_000_000_000
# An arm is at rest if it has moved by at most _STILL, rad or m, for this time, ns.
_RESTS, _STILL = 2_000_000_000, 0.01
_ONE_WAY, _IN_ALL = 2, 4  # greatest number of holds, in one direction and in all


class Departures:
    """The last departures, of which two in one direction, and four in all, are followed by a hold.

    A controller of positions carries an unknown weight by their error. A hold takes the error away
    and the arm sinks: repeated holds would follow it to the floor. Behind springs that are much
    stiffer or softer than the model's, a hold moves the motors, and the arm swings about. An arm
    that a hand or another controller moves departs again, too, but stays where it is left. So all
    holds but the first wait until the arm rests.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Take the next departure as the first one."""
        self._count, self._holds, self._last, self._moved_at = 0, 0, 0, 0
        self._way = self._place = np.zeros(0)

    def may_hold(self, error: Array, position: Array, now: int) -> bool:
        """Return whether to hold an arm that is away by `error`, (n,), at `now`, ns."""
        if self._holds and now - self._last > _QUIET:
            self.forget()
        self._last = now
        if not self._place.size or np.abs(position - self._place).max() > _STILL:
            self._place, self._moved_at = position.copy(), now
        count = self._count if self._holds and error @ self._way > 0.0 else 0
        if count >= _ONE_WAY or self._holds >= _IN_ALL or (
                self._holds and now - self._moved_at < _RESTS):
            return False
        self._count, self._holds, self._way = count + 1, self._holds + 1, error.copy()
        return True
