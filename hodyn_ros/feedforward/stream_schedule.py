"""Streamed samples in the order of their stamps, each until it is due."""
import bisect
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]

MAX_WAITING = 1000


@dataclass(frozen=True, eq=False)
class Sample:
    """A streamed sample.

    Attributes
    ----------
    due : int
        When it counts, ns.
    position : (n,) array
        rad or m.
    velocity : (n,) array or None
        How it moves on from there; None if it stays.
    until : int
        How long the velocity holds, ns.

    """

    due: int
    position: Array
    velocity: Array | None
    until: int


class StreamSchedule:
    """Orders samples by their stamps and, with a delay, times them.

    Without a delay a sample counts when it comes, if its stamp is newer than the last. With one it
    counts at its stamp and the delay, so that an uneven transport does not show, and between two
    samples the reference goes from one to the next.

    Parameters
    ----------
    delay, timeout : float
        How long after its stamp a sample counts, and how long a velocity holds after the sample
        that brought it, s.

    """

    def __init__(self, delay: float, timeout: float) -> None:
        self._delay = round(delay * 1e9)
        self._timeout = round(timeout * 1e9)
        self._waiting: list[Sample] = []
        self._last_stamp: int | None = None

    def add(
        self, stamp: int | None, now: int, position: Array, velocity: Array | None,
        *, is_first: bool,
    ) -> None:
        """Take a sample at an instant (ns).

        `stamp` is on the same clock, None if it has none; `is_first` begins a new stream. Raises
        HodynError for one that is late or out of order.
        """
        if is_first:
            self._last_stamp = None
        if stamp is None or not self._delay:
            due = now
        else:
            due = stamp + self._delay
            if due < now - self._timeout:
                raise HodynError(
                    f'a sample came {(now - stamp) * 1e-9:.3f} s after its stamp; stream_delay is '
                    f'{self._delay * 1e-9:g} s')
            if due > now + self._delay + self._timeout:
                raise HodynError(
                    f'the stamp of a sample is {(stamp - now) * 1e-9:.3f} s ahead of the joint '
                    "states' clock")
        if stamp is not None:
            if self._last_stamp is not None and stamp <= self._last_stamp:
                raise HodynError('a stamp is not newer than the last')
            self._last_stamp = stamp
        if len(self._waiting) >= MAX_WAITING:
            raise HodynError(f'{MAX_WAITING} samples wait already: their stamps are ahead of time')
        bisect.insort(
            self._waiting, Sample(due, position, velocity, due + self._timeout),
            key=lambda sample: sample.due)

    def take(self, now: int) -> Sample | None:
        """Return the last sample that is due at an instant (ns), as it is then, or None."""
        sample = None
        while self._waiting and self._waiting[0].due <= now:
            sample = self._waiting.pop(0)
        if sample is None:
            return None
        velocity, until = sample.velocity, sample.until
        if velocity is None and self._waiting:
            following = self._waiting[0]
            until = max(until, following.due)
            velocity = (following.position - sample.position) / (
                (following.due - sample.due) * 1e-9)
        if velocity is None:
            return sample
        position = sample.position + (now - sample.due) * 1e-9 * velocity
        return Sample(now, position, velocity, until)

    def clear(self) -> None:
        """Drop what waits."""
        self._waiting.clear()
