"""Streamed samples in the order of their stamps, each until it is due."""
import bisect
from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import HodynError, Limits

Array = NDArray[np.float64]

MAX_WAITING = 1000
# By how much the clocks of senders may go wrong.
DRIFT = 1e-3
# How long a stream must pause when it was stopped, s: more than a slow slider does.
PAUSE = 2.0
# By how much a stamp may be older than the last and only be out of order, ns.
SET_BACK = 100_000_000


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

    Without a delay a sample counts when it comes, if its stamp is newer than the last. With one
    each is held back for what is left of the delay: the sample that was under way for the shortest
    time is held for all of it. So an uneven transport does not show, and between two samples the
    reference goes from one to the next. The stamps are of a clock of the sender's own: only their
    differences count. Times of arrival (`at`) are on a clock that nobody sets, s.

    Parameters
    ----------
    delay, timeout : float
        How long a sample is held back, and how long a velocity holds after the sample that
        brought it, s.

    """

    def __init__(self, delay: float, timeout: float) -> None:
        self._delay = round(delay * 1e9)
        self._timeout = round(timeout * 1e9)
        self._waiting: list[Sample] = []
        self._last: tuple[int, int] | None = None
        self._shift = 0
        self._heard_at = self._taken_at = -math.inf
        self._pause = math.inf
        self._is_held = self._is_followed = False

    def heard(self, at: float) -> None:
        """Note that a sample came: also one that is refused is no pause."""
        self._pause, self._heard_at = at - self._heard_at, at

    def hold(self) -> None:
        """Take no sample until the stream has paused."""
        self._is_held = True
        self.clear()

    def check_pause(self) -> None:
        """Raise HodynError while a stream goes on that was stopped."""
        if self._is_held and self._pause <= PAUSE:
            raise HodynError(
                f'the reference was stopped; let the stream fall silent for {PAUSE:g} s, then '
                'stream again')
        self._is_held = False

    def fell_silent(self, at: float) -> bool:
        """Return, once, that no sample has come for the timeout after one was followed."""
        if not (self._is_followed and self._is_silent(at)):
            return False
        self._is_followed = False
        return True

    def add(
        self, stamp: int | None, now: int, position: Array, velocity: Array | None, at: float,
    ) -> None:
        """Take a sample at an instant (ns).

        `stamp` is by the sender's clock, ns, None if it has none; the first after a silence
        begins a new stream, and so does a clock that was set back. Raises HodynError for one that
        is late or out of order.
        """
        due = now if stamp is None else self._due(stamp, now, is_first=self._is_silent(at))
        if len(self._waiting) >= MAX_WAITING:
            raise HodynError(
                f'{MAX_WAITING} samples wait already: send fewer, or make stream_delay shorter')
        bisect.insort(
            self._waiting, Sample(due, position, velocity, due + self._timeout),
            key=lambda sample: sample.due)
        self._taken_at = at

    def _due(self, stamp: int, now: int, *, is_first: bool) -> int:
        shift = now - stamp
        last, self._last = self._last, (stamp, now)
        if is_first or last is None or stamp < last[0] - max(SET_BACK, self._delay):
            self._shift = shift
        elif stamp <= last[0]:
            self._last = last
            raise HodynError('a stamp is not newer than the last')
        else:
            # Clocks go at different rates: what was the shortest way is forgotten in time.
            self._shift = min(shift, self._shift + round(DRIFT * (now - last[1])))
        late = shift - self._shift
        if not self._delay:
            return now
        if late > self._delay + self._timeout:
            self._last = last
            raise HodynError(
                f'a sample came {late * 1e-9:.3f} s later than others of its stream; stream_delay '
                f'is {self._delay * 1e-9:g} s')
        return now + self._delay - late

    def take(self, now: int) -> Sample | None:
        """Return the last sample that is due at an instant (ns), as it is then, or None."""
        sample = None
        while self._waiting and self._waiting[0].due <= now:
            sample = self._waiting.pop(0)
        if sample is None:
            return None
        self._is_followed = True
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

    def _is_silent(self, at: float) -> bool:
        return at - self._taken_at > self._timeout * 1e-9


def check_range(
    limits: Limits, joints: Sequence[str], position: Array, velocity: Array | None,
) -> None:
    """Raise HodynError for a streamed sample, (n,) each, that the arm cannot reach."""
    beyond = (position < limits.position_min) | (position > limits.position_max)
    if beyond.any():
        i = int(beyond.argmax())
        low, high = limits.position_min[i], limits.position_max[i]
        raise HodynError(f'position {position[i]:g} of joint {joints[i]!r} is ' + (
            f'below {low:g}' if position[i] < low else f'above {high:g}'))
    if velocity is not None and (np.abs(velocity) > limits.velocity).any():
        i = int((np.abs(velocity) > limits.velocity).argmax())
        raise HodynError(
            f'velocity {velocity[i]:g} of joint {joints[i]!r} is beyond {limits.velocity[i]:g}')
