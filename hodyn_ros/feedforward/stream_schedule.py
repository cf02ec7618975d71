"""Queue of streamed samples in the order of their stamps, each kept until it is due."""
import bisect
from collections.abc import Sequence
from dataclasses import dataclass
import math

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.plausible_state import FREE_VELOCITY, beyond_range
from hodyn_ros.limits.margins import at_limits, both
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.many_turns import too_many_turns

MAX_WAITING = 1000
# Largest relative error of the rate of a sender's clock.
DRIFT = 1e-3
# How long a stream must pause after a stop, s: longer than the pauses of a slow slider.
PAUSE = 2.0
# A stamp that is older than the last by more than this, ns, shows a clock that was set back.
SET_BACK = 100_000_000
# How long a reference at its velocity limit lags behind samples without velocities, s.
LAG = 0.3


class ImpossibleSample(HodynError):
    """A streamed position that no arm can have, so that its sender must be mistaken."""


@dataclass(frozen=True, eq=False)
class Sample:
    """A streamed sample."""

    due: int  #: Instant at which the sample is due, ns
    position: Array  #: (n,): position, rad or m
    velocity: Array | None  #: (n,): velocity from there on, rad/s or m/s; None to stay
    until: int  #: Instant until which the velocity is used, ns


class StreamSchedule:
    """Orders samples by their stamps and, with a delay, times them.

    Without a delay a sample is due when it arrives, if its stamp is newer than the last. With a
    `delay`, s, a sample waits for the delay minus the excess of its transport time over the
    shortest one. So uneven transport times have no effect, and the reference moves from each
    sample to the next. A velocity is used until `timeout`, s, after its sample is due. Stamps are
    on the sender's own clock, so only their differences count. Times of arrival (`at`) are on a
    monotonic clock, s.
    """

    def __init__(self, delay: float, timeout: float) -> None:
        self._delay = round(delay * 1e9)
        self._timeout = round(timeout * 1e9)
        self._waiting: list[Sample] = []
        self._last: tuple[int, int] | None = None
        self._shift = 0
        self._stale: int | None = None  # the last stamp that was refused
        self._heard_at = self._taken_at = -math.inf
        self._why_held = ''
        self._is_followed = False
        #: Why the last sample was refused; empty if it was taken
        self.why_refused = ''

    def heard(self, at: float) -> None:
        """Note that a sample came, refused or not: a stream of refused samples has not paused."""
        if at - self._heard_at > PAUSE:
            self._why_held = ''
        self._heard_at = at

    def hold(self, why: str = 'the reference was stopped') -> None:
        """Take no sample until the stream has paused."""
        self._why_held = why
        self.clear()

    def begin(self, heard_at: float) -> None:
        """Take no sample of a stream that is under way: a forgotten slider must not move the arm.

        `heard_at`, s, is the time at which the last sample came or the node began to listen.
        """
        self._why_held = 'the stream was under way when the node became active'
        self._heard_at = heard_at

    def check_pause(self) -> None:
        """Raise HodynError while a stopped stream goes on."""
        if self._why_held:
            raise HodynError(
                f'{self._why_held}; let it fall silent for {PAUSE:g} s, then stream again')

    def fell_silent(self, at: float) -> bool:
        """Return True, once, if a sample was followed and none was taken for the timeout."""
        if not (self._is_followed and self._is_silent(at)):
            return False
        self._is_followed = False
        return True

    def refusal(self, at: float) -> str:
        """Return why a stream that goes on is not followed; empty if it is, or has paused."""
        if self._is_followed or not self.why_refused or at - self._heard_at > PAUSE:
            return ''
        return f'streamed samples are refused: {self.why_refused}'

    def add(
        self, stamp: int | None, now: int, position: Array, velocity: Array | None, at: float,
    ) -> None:
        """Take a sample at an instant (ns).

        `stamp` is on the sender's clock, ns; None for a sample without a stamp. A new stream
        begins after a silence, with a new stamp, and when the sender's clock was set back.
        Raises HodynError for a sample that is too late or out of order.
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
        # A repeated stamp begins no stream: one that never changes would be followed now and then.
        is_first = is_first and last is not None and stamp not in (last[0], self._stale)
        if last is None or is_first or stamp < last[0] - max(SET_BACK, self._delay):
            self._shift = shift
        elif stamp <= last[0]:
            self._last, self._stale = last, stamp
            raise HodynError(
                'a stamp is not newer than the last: stamp each sample, or send a stamp of 0')
        else:
            # Clocks run at different rates, so the shortest transport time is slowly forgotten.
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
        """Return the last sample due at an instant (ns), moved on to that instant, or None."""
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
        """Drop the waiting samples."""
        self._waiting.clear()

    def _is_silent(self, at: float) -> bool:
        return at - self._taken_at > self._timeout * 1e-9


def check_range(
    robot: Robot, joints: Sequence[str], position: Array, reference: Array, delay: float = 0.0,
) -> None:
    """Raise HodynError for a streamed position, (n,), that the arm cannot reach.

    The error is an ImpossibleSample if no arm can have the position, as in degrees, or if a joint
    without a range would turn many times from the `reference`, (n,), to it. The reference may be
    behind by the stream's `delay`, s.
    """
    limits = robot.limits
    position = at_limits(position, limits.position_min, limits.position_max)
    far, may_be = beyond_range(robot, joints, position)
    if not may_be:
        raise ImpossibleSample(far)
    fastest = np.where(np.isfinite(limits.velocity), limits.velocity, FREE_VELOCITY)
    if turns := too_many_turns(
            robot, joints, position - reference, fastest * (delay + LAG)):
        raise ImpossibleSample(turns)
    beyond = (position < limits.position_min) | (position > limits.position_max)
    if beyond.any():
        i = int(beyond.argmax())
        low, high = limits.position_min[i], limits.position_max[i]
        side, end = ('below', low) if position[i] < low else ('above', high)
        said, limit = both(position[i], end)
        raise HodynError(f'position {said} of joint {joints[i]!r} is {side} {limit}')


def beyond_speed(robot: Robot, joints: Sequence[str], velocity: Array | None) -> str:
    """Return which streamed velocity, (n,), is beyond its limit; empty if none is."""
    limits = robot.limits.velocity
    if velocity is None or (np.abs(velocity) <= limits).all():
        return ''
    i = int((np.abs(velocity) > limits).argmax())
    said, limit = both(velocity[i], limits[i])
    return f'velocity {said} of joint {joints[i]!r} is beyond {limit}'
