"""Whether an arm that departed from a reference at rest is held where it is, or sinks."""
import numpy as np

from hodyn_ros.common.arrays import Array

# A departure is another one, not the last one going on, after this time without, ns.
_QUIET = 10_000_000_000
# An arm is at rest if it has moved by at most _STILL, rad or m, for this time, ns.
_RESTS, _STILL = 2_000_000_000, 0.01


class Departures:
    """The last departures in one direction, of which two are followed by a hold.

    A controller of positions carries an unknown weight by their error. A hold takes the error away
    and the arm sinks: repeated holds would follow it to the floor. An arm that a hand or another
    controller moves departs again, too, but stays where it is left. So the second hold waits until
    the arm rests, and the third departure in the same direction shows that it sinks.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Take the next departure as the first one."""
        self._count, self._last, self._moved_at = 0, 0, 0
        self._way = self._place = np.zeros(0)

    def may_hold(self, error: Array, position: Array, now: int) -> bool:
        """Return whether to hold an arm that is away by `error`, (n,), at `now`, ns."""
        if self._count and (now - self._last > _QUIET or error @ self._way < 0.0):
            self.forget()
        self._last = now
        if not self._place.size or np.abs(position - self._place).max() > _STILL:
            self._place, self._moved_at = position.copy(), now
        if self._count > 1 or (self._count and now - self._moved_at < _RESTS):
            return False
        self._count, self._way = self._count + 1, error.copy()
        return True
