"""Whether the stamps of joint states, which the reference follows, advance as time does."""

# Paces, in s of the stamps per s of time, beyond which they are named; and the time, s, over which
# each of two is measured in a row, so that states that are delivered together do not matter.
FASTEST, SLOWEST, WINDOW = 1.25, 0.5, 5.0
# Difference of a step of the stamps from the time between their states from which it is a jump, s.
JUMP = 0.1
# Share of the time from which most of it is missing, the time, s, that may be missing beyond a
# share, and how much of it one event counts for: a clock that was set, or a process that was
# stopped once, is no habit.
MOST, SPARE, ONE_EVENT = 0.5, 1.5, 1.0
WRONG = (
    'the stamps of the joint states advance by {pace:.2g} s per s of time, and so do motions: '
    'check their seconds and nanoseconds, or set use_sim_time: true in a simulation')
SKIPS = (
    'the stamps of the joint states skip most of the time: the states count as lost, as motions '
    'would be far slower than the published velocities. Check the seconds and nanoseconds of the '
    'stamps')


class MissingTime:
    """Judges whether more than a share of the time of late is missing."""

    def __init__(self, share: float) -> None:
        self._share, self._seconds, self._at = share, 0.0, 0.0

    def add(self, seconds: float, at: float) -> None:
        """Note time, s, that is missing, or that comes back if it is negative, and when, s."""
        # Time cannot be missing twice, and jumps back and ahead are those of two clocks.
        counts = max(min(seconds, at - self._at, ONE_EVENT), -ONE_EVENT)
        self._seconds, self._at = min(max(self._left(at) + counts, 0.0), 2.0 * SPARE), at

    def is_more(self, at: float) -> bool:
        """Return whether more than the share of the time before `at`, s, is missing."""
        return self._left(at) > SPARE

    def _left(self, at: float) -> float:
        return max(self._seconds - self._share * (at - self._at), 0.0)


class StampPace:
    """Compares stamps with a monotonic clock; those of a simulation may have any pace."""

    def __init__(self, *, is_simulated: bool) -> None:
        #: What is wrong with the pace of the stamps; empty if nothing is
        self.wrong = ''
        #: Why states cannot be used: their stamps skip most of the time; empty if they can
        self.skips = ''
        self._is_simulated = is_simulated
        self._last = self._since = 0, 0.0  # stamps, ns, and times, s
        self._was_wrong, self._skipped = False, MissingTime(MOST)

    def see(self, stamp: int, at: float) -> None:
        """Note a stamp, ns, and the time at which it came, s; a repeated stamp is no news."""
        last, last_at = self._last
        if self._is_simulated or stamp == last:
            return
        self._last = stamp, at
        passed = at - last_at
        jump = (stamp - last) * 1e-9 - passed if last else 0.0
        if not last or abs(jump) > JUMP:
            self._since, self._was_wrong = self._last, False
        if abs(jump) > JUMP:
            self._skipped.add(jump, at)
        self.skips = SKIPS if self._skipped.is_more(at) else ''
        since, since_at = self._since
        if at - since_at > WINDOW:
            pace = (stamp - since) * 1e-9 / (at - since_at)
            is_wrong = not SLOWEST <= pace <= FASTEST
            self.wrong = WRONG.format(pace=pace) if is_wrong and self._was_wrong else ''
            self._since, self._was_wrong = self._last, is_wrong
