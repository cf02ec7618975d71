"""The time of a reference: it advances with the stamps of joint states, but skips their jumps."""
from collections import deque
import math

WINDOW = 9
MIN_INTERVALS = 5  # intervals needed for a period
MAX_INTERVAL = 1.0  # longest interval that counts, s
MAX_PERIODS = 3.0  # longest step between two stamps that is always allowed, in periods
# How many times faster than this machine's clock a simulated clock may run.
MAX_SPEED = 20.0
# A step between two stamps may be AHEAD times as long as the time that has passed, plus ARRIVAL,
# the uncertainty of times of arrival, s. A longer step shows that the clock was set.
AHEAD, ARRIVAL = 2.0, 1e-3
# Later steps may make up for a delay of states of at most LATEST, s. A delay is forgotten with the
# time constant FORGOTTEN, s.
LATEST, FORGOTTEN = 0.05, 0.5


class TypicalInterval:
    """The interval of a given rank among the latest nine: one or two gaps do not change it.

    The rank, at least 0 and below 1, counts from the shortest interval; 0.5 is the median.
    """

    def __init__(self, rank: float) -> None:
        self._rank = rank
        self._latest: deque[float] = deque(maxlen=WINDOW)
        self._value: float | None = 0.0

    def add(self, interval: float) -> None:
        """Take an interval."""
        self._latest.append(interval)
        if len(self._latest) >= MIN_INTERVALS:
            self._value = None

    @property
    def value(self) -> float:
        """The interval, in the unit of those given; 0 while there are fewer than five."""
        if self._value is None:
            self._value = sorted(self._latest)[int(self._rank * len(self._latest))]
        return self._value


class ReferenceClock:
    """Turns stamps into instants without gaps: the time that a stamp skips is left out.

    A step between two stamps moves the reference by the same time if it is at most three periods
    long. A longer step may have up to `max_step`, s, and about twice the time that has passed.
    After any other step (the process was held up, states were lost, the clock was set), the
    reference moves on by one period only. It continues smoothly from where it was and never
    catches up. The instants are `lookahead`, s, after the stamps, the first of which came `at` a
    time of a monotonic clock, s. The clock of a simulation may run faster than real time.
    """

    def __init__(
        self, stamp: int, max_step: float, lookahead: float, at: float = -math.inf, *,
        is_simulated: bool = False,
    ) -> None:
        self.stamp = stamp  #: The last stamp, ns
        self.left_out = 0  #: Total time that was left out, ns
        self._lookahead = round(lookahead * 1e9)
        self._max_step = max_step
        self._ahead = MAX_SPEED if is_simulated else AHEAD
        # Delay of the last states, s: how much more time has passed than their stamps show.
        self._late = 0.0
        # A low rank: lost states and hold-ups lengthen many intervals; only a driver that catches
        # up after a hold-up shortens some.
        self._period = TypicalInterval(0.25)
        self._moved_at = at

    @property
    def max_step(self) -> int:
        """Longest step between two stamps that the reference follows, ns."""
        return round(max(self._max_step * 1e9, MAX_PERIODS * self._period.value))

    @property
    def period(self) -> float:
        """A short one of the latest intervals of stamps, ns; 0 while too few are known."""
        return self._period.value

    @property
    def now(self) -> int:
        """The instant of the last stamp, ns."""
        return self.stamp + self._lookahead - self.left_out

    def move_to(self, stamp: int, at: float) -> float:
        """Move on to a stamp, ns; return the seconds that were left out, negative if set back.

        `at` is the time of the call on a monotonic clock, s: a step much longer than the time
        that has passed does not count for the period. While the period is unknown, 0 is returned
        for a step ahead, even if time is left out.
        """
        step = stamp - self.stamp
        self.stamp = stamp
        passed, self._moved_at = at - self._moved_at, at
        longest = 1e9 * min(self._max_step, self._ahead * passed + ARRIVAL + self._late)
        late = self._late * math.exp(-passed / FORGOTTEN) + passed - 1e-9 * abs(step)
        self._late = min(max(late, 0.0), LATEST) if passed < math.inf else 0.0
        is_allowed = 0 <= step <= longest
        # The period is computed only if it matters: most steps are allowed without it.
        known = 0.0 if is_allowed else self._period.value
        if 0 < step <= 1e9 * min(MAX_INTERVAL, MAX_SPEED * passed + ARRIVAL):
            self._period.add(step)
        if is_allowed or 0 <= step <= MAX_PERIODS * known:
            return 0.0
        kept = round(known) if known else min(max(step, 0), round(longest))
        self.left_out += step - kept
        return (step - kept) * 1e-9 if known or step < 0 else 0.0

    def skip_to(self, stamp: int) -> None:
        """Move on to a stamp, ns, leaving out all but a period, as nothing was followed."""
        step = stamp - self.stamp
        self.left_out += step - min(max(step, 0), round(self._period.value))
        self.stamp = stamp

    def resume_at(self, stamp: int) -> None:
        """Move on to a stamp, ns, of joint states that are back.

        If it is not within three periods after the last one, all but a period is left out.
        """
        if 0 <= stamp - self.stamp <= MAX_PERIODS * self._period.value:
            self.stamp = stamp
        else:
            self.skip_to(stamp)
