"""Which reference is followed at an instant: a plan, a stream or a stop."""
from collections.abc import Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.reference.plan import Plan
from hodyn_ros.reference.stop import hold_plan, stop_plan
from hodyn_ros.reference.stream import StreamFilter

Array = NDArray[np.float64]
MAX_WAITING = 16
Mode = Literal['holding', 'following', 'streaming', 'stopping']


class ReferenceManager:
    """The reference on a clock of integer nanoseconds, which keeps their digits at epoch times.

    It starts by holding a position; plans hold their ends, so there is a reference at any time,
    and it is continuous to the fourth derivative whatever is asked of it.

    Parameters
    ----------
    position : (n,) array
        Where to hold.
    bandwidth : float
        Bandwidth of the filter that smooths streams, rad/s.

    Attributes
    ----------
    streaming : bool
        Whether a stream is followed.
    revision : int
        Counts what was asked for; a plan made for an earlier one does not fit any more.

    """

    def __init__(self, position: Array, bandwidth: float) -> None:
        self._plan, self._start = hold_plan(position), 0
        self._waiting: list[tuple[Plan, int]] = []
        self._filter = StreamFilter(position, bandwidth)
        self.streaming = False
        self._last = 0
        self.revision = 0

    @property
    def is_full(self) -> bool:
        """Whether so many plans wait for their start that no more should."""
        return len(self._waiting) >= MAX_WAITING

    def follow(self, plan: Plan, start: int) -> None:
        """Let a plan take over at an instant (ns); those that would start later are dropped."""
        self._waiting = [entry for entry in self._waiting if entry[1] < start]
        self._waiting.append((plan, start))
        self.revision += 1

    def set_target(
        self, now: int, position: Array, velocity: Array | None = None,
    ) -> None:
        """Follow a streamed sample from an instant (ns) on, smoothed; plans are dropped."""
        if not self.streaming:
            self._filter.reset(self.state_at(now))
            self._last = now
            self._waiting = []
            self.streaming = True
            self.revision += 1
        self._filter.set_target(position, velocity)

    def stop(self, now: int, limits: Mapping[str, ArrayLike]) -> None:
        """Come to rest as fast as the limits of `stop_plan` allow; plans are dropped."""
        self._switch_to_stop(self.state_at(now), now, limits)

    def reset_clock(self, now: int, limits: Mapping[str, ArrayLike]) -> None:
        """Stop, carrying on from the last reference at another instant (ns): the clock was set."""
        self._switch_to_stop(self.state_at(self._last), now, limits)
        self._last = now

    def evaluate(self, now: int, out: Array) -> None:
        """Write q … q⁗ at an instant (ns) to out, (5, n); waiting plans take over when due."""
        if self.streaming:
            self._filter.advance(max(now - self._last, 0) * 1e-9, out)
        else:
            while self._waiting and now >= self._waiting[0][1]:
                self._plan, self._start = self._waiting.pop(0)
            self._plan.evaluate((now - self._start) * 1e-9, out)
        self._last = now

    def state_at(self, instant: int) -> Array:
        """Return q … q⁗, (5, n), at an instant (ns) now or later; of a stream, the latest."""
        if self.streaming:
            state: Array = self._filter.state.copy()
            return state
        plan, start = self._plan, self._start
        for waiting, its_start in self._waiting:
            if instant >= its_start:
                plan, start = waiting, its_start
        return plan.evaluate((instant - start) * 1e-9)

    def mode(self, now: int) -> Mode:
        """Return what the reference does at an instant (ns)."""
        if self.streaming:
            return 'streaming'
        if not 0 <= now - self._start < round(self._plan.duration * 1e9):
            return 'holding'
        return 'stopping' if self._plan.interpolation == 'stop' else 'following'

    def is_idle(self, now: int) -> bool:
        """Return whether it holds and nothing waits: then a plan may start at any time."""
        return self.mode(now) == 'holding' and not self._waiting

    def _switch_to_stop(
        self, state: Array, now: int, limits: Mapping[str, ArrayLike],
    ) -> None:
        self._plan, self._start = stop_plan(state, **limits), now
        self._waiting = []
        self.streaming = False
        self.revision += 1
