"""Whether the stamps of joint states, which the reference follows, advance as real time does."""

# A pace of the stamps, in s per s of real time, beyond FASTEST or SLOWEST is reported if it is
# measured over WINDOW, s, twice in a row: once may be due to states that are delivered together.
FASTEST, SLOWEST, WINDOW = 1.25, 0.5, 5.0
# A step of the stamps is a jump if it differs from the time between arrivals by more than this, s.
JUMP = 0.1
# Stamps cannot be used if they skip more than the share MOST of real time. In addition to a share,
# SPARE, s, may be missing. One event counts for at most ONE_EVENT, s: it does not matter that a
# clock was set once, or a process stopped once.
MOST, SPARE, ONE_EVENT = 0.5, 1.5, 1.0
WRONG = (
    'the stamps of the joint states advance by {pace:.2g} s per s of time, and so do motions: '
    'check their seconds and nanoseconds, or set use_sim_time: true in a simulation')
SKIPS = (
    'the stamps of the joint states skip most of the time: the states count as lost, as motions '
    'would be far slower than the published velocities. Check the seconds and nanoseconds of the '
    'stamps')


class MissingTime:
    """Judges whether more than a share of the recent time is missing."""

    def __init__(self, share: float) -> None:
        self._share, self._seconds, self._at = share, 0.0, 0.0

    def add(self, seconds: float, at: float) -> None:
        """Note how many seconds are missing at the time `at`, s; negative for a jump back."""
        # No more time can be missing than has passed. A jump back undoes a jump ahead, as when
        # two clocks alternate.
        counts = max(min(seconds, at - self._at, ONE_EVENT), -ONE_EVENT)
        self._seconds, self._at = min(max(self._left(at) + counts, 0.0), 2.0 * SPARE), at

    def is_more(self, at: float) -> bool:
        """Return whether more than the share of the time before `at`, s, is missing."""
        return self._left(at) > SPARE

    def _left(self, at: float) -> float:
        return max(self._seconds - self._share * (at - self._at), 0.0)


class StampPace:
    """Compares stamps with a monotonic clock; stamps of a simulation may have any pace."""

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
