"""Counters and measured times of the node, published once a second."""
from collections import Counter
from collections.abc import Callable, Mapping
import time

from diagnostic_msgs.msg import DiagnosticStatus, KeyValue
import numpy as np

from hodyn_ros.feedforward.reasons import cause_of
from hodyn_ros.ros.parameters import MAX_LOOKAHEAD

WINDOW = 4096  # number of latest durations whose percentiles are reported


class Durations:
    """The latest `WINDOW` durations of one kind, and their percentiles."""

    def __init__(self) -> None:
        self._values = np.zeros(WINDOW)
        self._count = 0

    def add(self, seconds: float) -> None:
        """Add a duration, s."""
        self._values[self._count % WINDOW] = seconds
        self._count += 1

    def percentiles(self) -> tuple[float, float]:
        """Return p50 and p99 of the latest durations, s; 0 if there are none."""
        count = min(self._count, WINDOW)
        if not count:
            return 0.0, 0.0
        # By rank, without interpolation, to be fast: a state may be waiting for its answer.
        ranks = count // 2, 99 * count // 100
        ordered = np.partition(self._values[:count], ranks)
        return float(ordered[ranks[0]]), float(ordered[ranks[1]])


class Complaints:
    """Rejected inputs: counted by topic, and each cause logged at most once in a period.

    Rejections that differ only in their numbers have the same cause. The node's own events, which
    have no topic, are different causes even if only their numbers differ, and no flood of
    rejections suppresses them.
    """

    PERIOD = 1.0  # s
    MAX_REASONS = 64  # most causes that are logged in a period
    MAX_TEXT = 2000  # characters of a cause that are kept

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.last: dict[str, str] = {}
        self._logged: dict[tuple[str, str], float] = {}

    def add(self, topic: str, cause: str) -> bool:
        """Count a rejection; return whether it should be logged."""
        self.counts[topic] += 1
        self.last[topic] = cause = printable(cause[:self.MAX_TEXT])
        return self.is_news(topic, cause)

    def is_news(self, topic: str, text: str) -> bool:
        """Return whether a text should be logged: its cause was not logged in the last period."""
        cause = topic, cause_of(text) if topic else text
        now = time.monotonic()
        if len(self._logged) >= self.MAX_REASONS:
            self._logged = {c: at for c, at in self._logged.items() if now - at < self.PERIOD}
        if now - self._logged.get(cause, -self.PERIOD) < self.PERIOD or (
                topic and len(self._logged) >= self.MAX_REASONS):
            return False
        self._logged[cause] = now
        return True


def printable(text: str, *, keep: str = '') -> str:
    """Return a text in which unprintable characters, except those in `keep`, are '?'."""
    return ''.join(c if c.isprintable() or c in keep else '?' for c in text)


class Monitor:
    """Counters of a node since its activation, and its rate since the last report."""

    def __init__(self, error: Callable[[str], object] = lambda line: None) -> None:
        """Take the function that logs errors."""
        self._error = error
        #: Number of messages by topic, including rejected ones
        self.received: Counter[str] = Counter()
        self.complaints = Complaints()  #: Rejected inputs
        #: Durations from the arrival of a joint state until its answers are published, s
        self.work = Durations()
        self.age = Durations()  #: Times from the stamp of a joint state to its arrival, s
        self.cycles = 0
        self.overruns = 0
        self._reported_cycles = 0
        self._reported_at = time.monotonic()

    def reject(self, topic: str, cause: Exception | str) -> bool:
        """Count a rejected message; log the cause and return True unless it was just logged."""
        is_news = self.complaints.add(topic, str(cause))
        if is_news:
            self._error(f'{topic} rejected: {self.complaints.last[topic]}')
        return is_news

    def cycle(self, work: float, period: float) -> None:
        """Count a cycle that took `work`, s; `period`, s, is 0 if it is not known yet."""
        self.cycles += 1
        self.work.add(work)
        self.overruns += 0.0 < period < work

    def status(
        self, name: str, robot: str, state: str, reason: str, statistics: Mapping[str, str],
    ) -> DiagnosticStatus:
        """Return a report; `statistics`, of the supervisor, are added to the node's own."""
        now = time.monotonic()
        rate = (self.cycles - self._reported_cycles) / max(now - self._reported_at, 1e-9)
        self._reported_cycles, self._reported_at = self.cycles, now
        work, late_work = self.work.percentiles()
        age, late_age = self.age.percentiles()
        lookahead = max(age + work, 0.0)
        values = {
            'state': state,
            'reason': reason,
            'rate (Hz)': f'{rate:.1f}',
            'work p50 (us)': f'{work * 1e6:.0f}',
            'work p99 (us)': f'{late_work * 1e6:.0f}',
            'state age p50 (us)': f'{age * 1e6:.0f}',
            'state age p99 (us)': f'{late_age * 1e6:.0f}',
            # The torque acts when it is published or later: by then the state is this old.
            'suggested lookahead (s)': f'{lookahead:.6f}' if lookahead <= MAX_LOOKAHEAD else (
                f'none: states are {age:.3f} s old when they arrive. Do driver and node use one '
                'clock?'),
            'cycles': str(self.cycles),
            'overruns': str(self.overruns),
            **statistics,
        }
        for topic, count in sorted(self.received.items()):
            values[f'received {topic}'] = str(count)
        for topic, count in sorted(self.complaints.counts.items()):
            values[f'rejected {topic}'] = str(count)
            values[f'last rejected {topic}'] = self.complaints.last[topic]
        return DiagnosticStatus(
            level=level(state, reason), name=name,
            message=f'{state}: {reason}' if reason else state, hardware_id=robot,
            values=[KeyValue(key=key, value=value) for key, value in values.items()])


def level(state: str, reason: str) -> bytes:
    """Return the severity of a state of the node, for its reason, which may be empty."""
    warns = reason or state in ('stopping', 'fading')
    severity: bytes = DiagnosticStatus.ERROR if state == 'fault' else (
        DiagnosticStatus.WARN if warns else DiagnosticStatus.OK)
    return severity
