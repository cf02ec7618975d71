"""Whether the stamps of joint states, which the reference follows, advance as time does."""
from hodyn_ros.feedforward.reference_clock import ReferenceClock

# Paces, in s of the reference per s of time, beyond which a driver's clock is wrong.
FASTEST, SLOWEST = 1.25, 0.5
# How far ahead of the fastest pace, and behind the slowest, the reference may be, s: states that
# wait are delivered together, and the reference leaves out the time of hold-ups.
AHEAD, BEHIND = 0.4, 1.0
# Share of the time that stamps may skip; how much more they may, s; and how much one skip counts
# for, s: a process that was stopped once, or a clock that was set, is no fault.
SKIPPED, SPARE, ONE_SKIP = 0.8, 1.3, 1.0
PAUSE = 1.0  # time without states, s, after which pace and time are compared anew
WRONG = (
    'the motion runs at {pace:.2g} s per s of time, as the stamps of the joint states do: check '
    'their seconds and nanoseconds, or set use_sim_time: true in a simulation')
SKIPS = (
    'the stamps of the joint states skip nearly all of the time: they count as lost, since a '
    'motion would be far slower than its velocities. Check the seconds and nanoseconds')


class StampPace:
    """Compares stamps with a monotonic clock; those of a simulation may have any pace.

    `max_step` is as for `ReferenceClock`.
    """

    def __init__(self, max_step: float, *, is_simulated: bool) -> None:
        #: What is wrong with the pace that the reference has; empty if nothing is
        self.wrong = ''
        #: Why states cannot be used: their stamps skip nearly all of the time; empty if they can
        self.skips = ''
        self._clock = ReferenceClock(0, max_step, 0.0)
        self._is_simulated = is_simulated
        self._ahead = self._behind = self._skipped = 0.0
        self._last_at = self._skipped_at = 0.0
        self._since = 0.0, 0

    def see(self, stamp: int, at: float) -> None:
        """Note a stamp, ns, and the time at which it came, s."""
        if self._is_simulated:
            return
        clock = self._clock
        if not self._last_at:
            clock.stamp = stamp
        before, left_out = clock.now, clock.left_out
        clock.move_to(stamp, at)
        passed, self._last_at = at - self._last_at, at
        if passed > PAUSE:
            self._ahead = self._behind = 0.0
            self._since = at, clock.now
            passed = PAUSE
        else:
            step = (clock.now - before) * 1e-9
            self._ahead = min(max(self._ahead + step - FASTEST * passed, 0.0), 2.0 * AHEAD)
            self._behind = min(max(self._behind + SLOWEST * passed - step, 0.0), 2.0 * BEHIND)
        skipped = max((clock.left_out - left_out) * 1e-9, 0.0)
        if skipped:  # a clock that was set has not skipped more than the time since the last skip
            skipped, self._skipped_at = min(skipped, at - self._skipped_at, ONE_SKIP), at
        self._skipped = min(max(self._skipped + skipped - SKIPPED * passed, 0.0), 2.0 * SPARE)
        if not self._ahead and not self._behind:
            self._since = at, clock.now
        is_wrong = self._ahead > AHEAD or self._behind > BEHIND
        self.wrong = WRONG.format(
            pace=(clock.now - self._since[1]) * 1e-9 / (at - self._since[0])) if is_wrong else ''
        self.skips = SKIPS if self._skipped > SPARE else ''
