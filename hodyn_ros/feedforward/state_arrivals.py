"""When joint states come, how often, and whether they are lost."""
from collections import deque

from hodyn_ros.feedforward.reference_clock import MAX_PERIODS, TypicalInterval

# Least timeout, in periods.
SILENT_PERIODS = 5.0
# Period, s, from which a driver is too slow: the arm would feel the steps of a plan. The states of
# such a driver also have this timeout.
SLOW = 0.3
# Timeout while the period of the driver is not known yet, s.
FIRST_SILENCE = 1.0
# If no timeout is given, it is PAUSES times the second longest pause in the last MEMORY, s, but at
# least SHORTEST and at most LONGEST, s; or SILENT_PERIODS, if these are longer.
SHORTEST, LONGEST = 0.05, 0.25
PAUSES = 2.0
MEMORY = 60.0
# Interval between calls of the watch, in its periods, above which the process was held up.
LATE = 2.0
# The clock of the states stands still if SAME_STAMPS states in a row have the same stamp, and no
# new stamp has come for STILL, s.
SAME_STAMPS, STILL = 3, 0.1
# Number of stamps in a row with several states each, from which stamps count as coarse.
COARSE_STAMPS = 3
# Number of stamps in a row that come more than once, from which all are said to. A stamp that
# comes once halves the count, of at most MOST_REPEATED. Copies come within the next COPIED stamps.
REPEATED_STAMPS, MOST_REPEATED, COPIED = 8, 64, 32
REPEATED = (
    'each stamp comes more than once, and only the first state with it is answered: does the '
    'driver have two timers, does a second node repeat its messages, or are the stamps coarse?')
# The mean of the last SAID intervals is reported once states have come for SAID_AFTER, s: a mean
# of few intervals depends on jitter and lost states.
SAID, SAID_AFTER = 200, 1.0
LONG_TIMEOUT = 1.0  # timeout, s, from which the log warns of a wrong unit
TIMEOUT_PERIOD = 10.0  # shortest time between log lines about the timeout, s
UNTIL_LOST = (
    '; until then a motion waits for the next state, and nothing is published (with trigger: '
    'timer, the motion goes on). state_timeout is in s')
STANDS_STILL = (
    'the clock of the joint states stands still: their stamps do not change. Let the driver, or '
    'the simulator, go on')


class StateArrivals:
    """Times of arrival, on a monotonic clock, s.

    `timeout`, s, is the longest time without a state, at least five periods. With 0 it is chosen
    by the arrivals: twice the second longest pause within a minute, between 0.05 and 0.25 s, or
    five periods if these are longer. Unless states `may_be_slow`, as in a simulation, the timeout
    of states that come, or have new stamps, every 0.3 s or less often is 0.3 s, or `timeout` if
    this is longer.
    """

    def __init__(self, timeout: float, *, may_be_slow: bool = False) -> None:
        self.first = self.last = 0.0  #: When the first and the last state came
        self.gaps = 0  #: How often two states were more than three periods apart
        self._timeout, self._may_be_slow = timeout, may_be_slow
        self._intervals = TypicalInterval(0.5)
        self._said: deque[float] = deque(maxlen=SAID)
        self._pauses: deque[tuple[float, float]] = deque(maxlen=16)
        self._is_late = False
        self._watched_at = 0.0
        self._is_excused = False
        self._stamp = self._same_stamps = self._coarse_stamps = self._repeats = 0
        self._stands_still = False
        self._told_timeout = 0.0, 0.0
        self._latest: deque[int] = deque(maxlen=COPIED)
        self._is_repeated, self._repeated_stamps = False, 0

    @property
    def period(self) -> float:
        """Median interval, s; 0 before it is known."""
        return self._intervals.value

    @property
    def said_period(self) -> str:
        """The mean interval in words; empty while too few states have come."""
        if self.period >= SLOW:
            return f'{1e3 * SLOW:.3g} ms or more'
        is_known = self.period > 0.0 and self.last - self.first > SAID_AFTER
        return f'{1e3 * self._mean:.3g} ms' if is_known else ''

    @property
    def _mean(self) -> float:
        return sum(self._said) / max(len(self._said), 1)

    @property
    def usual(self) -> float:
        """The period by which a state is late, s; 0 before it is known.

        It is the mean interval, as most intervals of states that come in groups are short, or the
        median while states come less often than before.
        """
        return max(self.period, self._mean) if self.period else 0.0

    @property
    def too_slow(self) -> str:
        """Why states come too rarely for following a motion; empty if they do not."""
        if self.period < SLOW or self._may_be_slow:
            return ''
        rare = 'have a new stamp' if self.are_coarse else 'come'
        return (
            f'the joint states {rare} only every {self.said_period}; the node follows no motion '
            f'at so low a rate: the driver must send and stamp them at least every {1e3 * SLOW:g} '
            'ms')

    @property
    def timeout(self) -> float:
        """Longest time without a state at present, s."""
        period = self.period
        timeout = max(self._timeout, SILENT_PERIODS * period if period else FIRST_SILENCE)
        if period >= SLOW and not self._may_be_slow:
            return max(self._timeout, SLOW)
        if self._timeout:
            return timeout
        pauses = sorted(pause for _, pause in self._pauses)
        usual = pauses[-2] if len(pauses) > 1 else 0.0
        return max(timeout, min(max(SHORTEST, PAUSES * usual), LONGEST))

    def news_of_timeout(self, at: float) -> tuple[bool, str]:
        """Return whether the timeout is long, and a line about it; empty if it is known."""
        timeout, (told, again_at) = self.timeout, self._told_timeout
        if not (abs(timeout - told) > 0.2 * told and at > again_at and self.said_period):
            return False, ''
        self._told_timeout = timeout, at + TIMEOUT_PERIOD
        is_long = timeout > LONG_TIMEOUT and not self._may_be_slow
        raised = f', as state_timeout, {self._timeout:g} s, is shorter than 5 periods' if (
            0.0 < self._timeout < SILENT_PERIODS * self.period) else ''
        return is_long, (
            f'joint states come every {self.said_period}: they count as lost after '
            f'{timeout:.3g} s without one{raised}{UNTIL_LOST if is_long else ""}')

    def arrived(self, at: float, stamp: int = 0) -> None:
        """Note the time at which a state arrived, and its stamp, ns, if it is known.

        States that come after a loss are compared with each other until they agree, so several
        with the same stamp may arrive here.
        """
        if stamp and stamp == self._stamp:
            self._same_stamps += 1
            return
        self._stamp = stamp
        self._latest.append(stamp)
        self._repeated_stamps = (
            min(self._repeated_stamps + 1, MOST_REPEATED) if self._is_repeated
            else self._repeated_stamps // 2)
        self._is_repeated = False
        interval, self.last = at - self.last if self.last else 0.0, at
        self.first = self.first or at
        self._is_late = self._stands_still = False
        self._coarse_stamps = self._coarse_stamps + 1 if self._same_stamps > 1 else 0
        self._repeats, self._same_stamps = self._same_stamps, 0
        if interval > 0.0:
            self.gaps += 0.0 < MAX_PERIODS * self.usual < interval
            self._intervals.add(min(interval, SLOW))
            self._said.append(min(interval, SLOW))
            while self._pauses and at - self._pauses[0][0] > MEMORY:
                self._pauses.popleft()
            if 0.5 * SHORTEST < interval < LONGEST:
                self._pauses.append((at, interval))

    def stale(self, at: float, stamp: int = 0, *, is_same: bool) -> str:
        """Note a state with the last stamp or an older one; return what is wrong with it."""
        self._is_repeated = self._is_repeated or is_same or stamp in self._latest
        self._same_stamps = self._same_stamps + 1 if is_same else 0
        self._stands_still = (
            self._same_stamps >= SAME_STAMPS and at - self.last > STILL and not self.are_coarse)
        if is_same and self.are_coarse:
            return (
                f'the stamps are coarse: {self._repeats + 1} states in a row have the same one, '
                'and only the first is answered. Let the driver stamp them more finely')
        return self.stands_still or 'a stamp is not newer than the last'

    @property
    def are_coarse(self) -> bool:
        """Whether each of the last stamps came with several states in a row."""
        return self._coarse_stamps >= COARSE_STAMPS

    @property
    def repeated(self) -> str:
        """Question why each stamp comes more than once; empty unless this is all that is wrong."""
        are_so = self._repeated_stamps >= REPEATED_STAMPS
        return REPEATED if are_so and not (self.are_coarse or self._stands_still) else ''

    @property
    def stands_still(self) -> str:
        """Sentence about a clock of the states that stands still; empty if it goes on."""
        return STANDS_STILL if self._stands_still else ''

    def may_judge(self, at: float, period: float) -> bool:
        """Return whether a watch that is called every `period`, s, may judge now.

        It may not if this process was held up itself, as states may then still wait to be read.
        Of two calls in a row at least one may judge, as the process may always be late.
        """
        since, self._watched_at = at - self._watched_at, at
        self._is_excused = since > LATE * period and not self._is_excused
        return not self._is_excused

    def is_late(self, at: float) -> bool:
        """Return True, once, if no state has come for more than three periods."""
        was_late = self._is_late
        self._is_late = 0.0 < MAX_PERIODS * self.usual < at - self.last
        return self._is_late and not was_late

    def are_lost(self, at: float) -> bool:
        """Return whether no state has come for longer than `timeout`."""
        return at - self.last > self.timeout
