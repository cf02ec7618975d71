"""The reference at each instant: a plan, a stream or a stop."""
from typing import Literal

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.limits import MotionLimits
from hodyn_ros.reference.plan import Plan, hold_plan
from hodyn_ros.reference.stop import Stop, stop_along
from hodyn_ros.reference.stream import Stream

MAX_WAITING = 16
# Time after which a stop that could not begin is tried again, ns.
RETRY = 5_000_000
Mode = Literal['holding', 'following', 'streaming', 'stopping']


class ReferenceManager:
    """The reference; instants are integer nanoseconds, exact also for times since 1970.

    The reference begins by holding a position, (n,), and plans hold their last positions. So the
    reference exists at any time, and is continuous to the fourth derivative after any request
    except `latch`. It always follows a motion that ends at rest; a motion to a streamed sample
    takes over only if it is within limits as a whole. `bandwidth`, rad/s, is that of the filter
    that smooths streams.
    """

    def __init__(self, position: Array, bandwidth: float) -> None:
        self._bandwidth = bandwidth
        self._plan: Plan | Stop = hold_plan(position)
        self._start = 0
        self._waiting: list[tuple[Plan, int]] = []
        self._stream: Stream | None = None
        self._stop_limits: MotionLimits | None = None
        self._tried = 0
        self.revision = 0  #: Number of changes; a plan made before the last change no longer fits

    @property
    def streaming(self) -> bool:
        """Whether a stream is followed."""
        return self._stream is not None and not self._stream.is_stopping

    @property
    def is_full(self) -> bool:
        """Whether `MAX_WAITING` plans wait for their start."""
        return len(self._waiting) >= MAX_WAITING

    @property
    def is_held_back(self) -> bool:
        """Whether the last sample is not followed because the motion to it exceeds the limits."""
        return self._stream is not None and self._stream.is_held_back

    def next_start(self, now: int) -> float | None:
        """Return how long the next plan waits from an instant (ns) on, s; None if none waits."""
        return (self._waiting[0][1] - now) * 1e-9 if self._waiting else None

    def follow(self, plan: Plan, start: int) -> int:
        """Let a plan take over at an instant (ns); return how many later plans it drops."""
        earlier = [entry for entry in self._waiting if entry[1] < start]
        dropped = len(self._waiting) - len(earlier)
        self._waiting = [*earlier, (plan, start)]
        self.revision += 1
        return dropped

    def drop_waiting(self) -> int:
        """Drop the plans that wait for their start; return how many there were."""
        count = len(self._waiting)
        self._waiting = []
        self.revision += count > 0
        return count

    def check_free(self, now: int) -> None:
        """Raise HodynError unless a stream is followed, or may begin at an instant (ns)."""
        if not self.streaming and not self.is_idle(now):
            raise HodynError(
                'a plan or a stop is under way, or a plan waits for its start: let it end first')

    def set_target(
        self, now: int, position: Array, velocity: Array | None, until: int,
        limits: MotionLimits,
    ) -> None:
        """Follow a streamed sample from an instant (ns) on.

        `velocity` is valid until an instant (ns); see `Stream.set_target`. Raises as `check_free`.
        """
        self.check_free(now)
        if not self.streaming:
            self._stream = Stream(self.state_at(now)[0], now, self._bandwidth, limits)
            self.revision += 1
        assert self._stream is not None
        self._stream.set_target(now, position, velocity, until, limits)

    def stop(self, now: int, limits: MotionLimits) -> None:
        """Begin to stop at an instant (ns), within limits; waiting plans are dropped.

        A plan stops along its path, as soon as `stop_along` finds a stop.
        """
        self._take_over(now)
        self._waiting = []
        self.revision += 1
        if self._stream is not None:
            self._stream.stop(now, limits)
        elif self.mode(now) == 'following':
            self._stop_limits = limits
            self._try_to_stop(now)

    def latch(self, position: Array) -> None:
        """Hold a position from now on, wherever the reference was."""
        self._plan, self._start = hold_plan(position), 0
        self._waiting = []
        self._stream = self._stop_limits = None
        self.revision += 1

    def evaluate(self, now: int, out: Array) -> None:
        """Write q … q⁗ at an instant (ns) to out, (5, n); waiting plans take over when due."""
        if self._stop_limits is not None and now - self._tried >= RETRY:
            self._try_to_stop(now)
        self._take_over(now)
        if self._stream is not None:
            self._stream.evaluate(now, out)
            if self._stream.is_at_rest(now):
                self._plan, self._start = hold_plan(out[0]), 0
                self._stream = None
        if self._stream is None:
            self._plan.evaluate((now - self._start) * 1e-9, out)

    def state_at(self, instant: int) -> Array:
        """Return q … q⁗, (5, n), at an instant (ns), now or later, as planned so far."""
        if self._stream is not None:
            state = self._stream.state_at(instant)
        else:
            state = self._plan.evaluate((instant - self._start) * 1e-9)
        for waiting, its_start in self._waiting:
            if instant >= its_start:
                state = waiting.evaluate((instant - its_start) * 1e-9)
        return state

    def mode(self, now: int) -> Mode:
        """Return what the reference does at an instant (ns)."""
        if self._stream is not None:
            return 'stopping' if self._stream.is_stopping else 'streaming'
        if not 0 <= now - self._start < round(self._plan.duration * 1e9):
            return 'holding'
        is_stopping = self._stop_limits is not None or isinstance(self._plan, Stop)
        return 'stopping' if is_stopping else 'following'

    def progress(self, now: int) -> tuple[float, float] | None:
        """Return how long a plan has run, and its duration, s; None for a stream, stop or hold."""
        if self._stream is not None or self._plan.interpolation in ('hold', 'stop') or (
                self._stop_limits is not None):
            return None
        return min((now - self._start) * 1e-9, self._plan.duration), self._plan.duration

    def elapsed(self, plan: object, now: int) -> float | None:
        """Return how long a plan has run, s: negative while it waits, None if it was given up.

        A plan that has ended counts as running until another reference takes over.
        """
        for waiting, start in self._waiting:
            if waiting is plan:
                return (now - start) * 1e-9
        is_followed = (
            self._plan is plan and self._stream is None and self._stop_limits is None)
        return (now - self._start) * 1e-9 if is_followed else None

    def is_idle(self, now: int) -> bool:
        """Return whether the reference holds and no plan waits: a plan may start at any time."""
        return self.mode(now) == 'holding' and not self._waiting

    def _take_over(self, now: int) -> None:
        while self._waiting and now >= self._waiting[0][1]:
            self._plan, self._start = self._waiting.pop(0)
            self._stream = self._stop_limits = None

    def _try_to_stop(self, now: int) -> None:
        """Let the plan stop; if `stop_along` finds no stop yet, the plan continues."""
        if self._stop_limits is None:
            return
        self._tried = now
        if isinstance(self._plan, Stop) or self.mode(now) == 'holding':
            self._stop_limits = None
            return
        stop = stop_along(self._plan, (now - self._start) * 1e-9, self._stop_limits)
        if stop is not None:
            self._plan, self._start, self._stop_limits = stop, now, None
            self.revision += 1
