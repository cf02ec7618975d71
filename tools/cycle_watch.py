"""What every message of a node, and every pair of neighbours, must keep; judged from outside."""
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import resources
import itertools

import numpy as np
import yaml

MARGIN = 0.06  # by which torques and their rates may pass their limits unsaid
ROUNDING = 1e-5
# A state counts as said at the moment of a message when it came so much before or after, s.
SAID_WITHIN = 0.4
# Two received messages so far apart may have had others between them that were lost, s.
LOST_WITHIN = 2.0
# As fast as around a pair of cycles, by so many before and after, torques may change between them.
AROUND = 2
# Where states come in fits and starts, the node's own idea of the period is greater, s.
TAKEN_WHOLE = 0.05
# Findings of one kind so close are one, s.
ONE_EPISODE = 2.0
# So the node says that time was left out, and where the reference was latched.
LEFT_OUT = 'the reference continues from where it was'
LATCHED = 'held where it is'
# How late a message may come, s.
DELIVERED_WITHIN = 0.15
NANOSECOND = 1e-9
QUANTITIES = ('q', 'q̇', 'Q', 'Q̇')
UNITS = ('rad', 'rad/s', 'N m', 'N m/s')


@dataclass(frozen=True)
class Limits:
    """Limits of an arm, each of shape (n,)."""

    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    jerk: np.ndarray
    effort: np.ndarray
    effort_rate: np.ndarray

    @staticmethod
    def of(robot: str) -> 'Limits':
        """Read those of a built-in robot from its file."""
        path = resources.files('hodyn_ros.robot.builtin').joinpath(f'{robot}.yaml')
        found = yaml.safe_load(path.read_text('utf-8'))['limits']
        lower, upper = np.array(found['position'], float).T
        return Limits(lower, upper, *(np.array(found[name], float) for name in (
            'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate')))


@dataclass
class Said:
    """A message of `~/state`."""

    time: float
    word: str
    reason: str


@dataclass
class Cycle:
    """One stamp's messages: rows q, q̇, Q, Q̇, Q̈, the latter two NaN until they come."""

    time: float
    stamp: int
    run: int
    rows: np.ndarray


@dataclass
class Finding:
    """Something that must not be, or that `~/state` explains."""

    time: float
    what: str
    explanation: str = ''
    near: list[Cycle] = field(default_factory=list)
    times: int = 1


def _largest_around(values: np.ndarray) -> np.ndarray:
    """Return the largest magnitude around each pair of neighbours, (T − 1, n) of (T, n)."""
    padded = np.pad(np.nan_to_num(np.abs(values)), ((AROUND, AROUND), (0, 0)))
    return np.max([
        padded[k:k + len(values) - 1] for k in range(2 * AROUND + 2)], axis=0)


@dataclass
class Watch:
    """Judge of the messages of a node.

    Parameters
    ----------
    limits : Limits
        Of the arm.
    names : list of str
        Joints in the order of the messages.
    max_time_step : float
        The node's parameter: what stamps advance beyond it is left out.
    period : float
        Of the driver.

    """

    limits: Limits
    names: list[str]
    max_time_step: float
    period: float
    violations: list[Finding] = field(default_factory=list)
    departures: list[Finding] = field(default_factory=list)
    counts: Counter = field(default_factory=Counter)
    said: deque = field(default_factory=lambda: deque(maxlen=5000))

    def __post_init__(self) -> None:
        self.use = np.zeros((6, len(self.names)))
        self.residual = np.zeros(4)
        self.run = 0
        # When the node was held up, (begin, end) in s, and the stamps of the states sent to it.
        self.held_up: deque[tuple[float, float]] = deque(maxlen=100)
        self.sent: deque[int] = deque(maxlen=3000)
        self._by_stamp: dict[int, Cycle] = {}
        self._pending: deque[Cycle] = deque()
        self._judged: list[Cycle] = []
        self._row: list[Cycle] = []

    # What comes in.

    def hear_state(self, time: float, word: str, reason: str) -> None:
        """Take a message of `~/state`."""
        self.counts['state'] += 1
        if word in ('stopping', 'fault') and not reason:
            self._violate(time, f'~/state says {word!r} without a reason')
        self.said.append(Said(time, word, reason))

    def hear_torque(
        self, time: float, stamp: int, names: list[str], position: np.ndarray,
        velocity: np.ndarray, effort: np.ndarray,
    ) -> None:
        """Take a message of `~/torque`."""
        self.counts['torque'] += 1
        if list(names) != self.names:
            self._violate(time, f'~/torque names {names}')
            return
        rows = np.full((5, len(self.names)), np.nan)
        rows[:3] = position, velocity, effort
        if not np.isfinite(rows[:3]).all():
            self._violate(time, f'~/torque is not finite: {rows[:3].tolist()}')
            return
        cycle = Cycle(time, stamp, self.run, rows)
        self._pending.append(cycle)
        self._by_stamp[stamp] = cycle
        while len(self._by_stamp) > 2000:
            del self._by_stamp[next(iter(self._by_stamp))]

    def hear_derivative(self, topic: str, time: float, stamp: int, effort: np.ndarray) -> None:
        """Take a message of `~/torque_rate` or `~/torque_accel`."""
        self.counts[topic] += 1
        if not np.isfinite(effort).all():
            self._violate(time, f'~/{topic} is not finite: {list(effort)}')
            return
        if stamp in self._by_stamp:
            self._by_stamp[stamp].rows[3 if topic == 'torque_rate' else 4] = effort
        else:
            self.counts[f'{topic} without torque'] += 1

    # What must hold.

    def judge(self, until: float) -> None:
        """Judge what came before a time, and after what was judged the last time."""
        fresh = []
        while self._pending and self._pending[0].time <= until:
            fresh.append(self._pending.popleft())
        if not fresh:
            return
        known = self._judged
        self._row = row = known + fresh
        self._judged = row[-3:]
        self._judge_limits(fresh)
        if len(row) > 1:
            self._judge_pairs(row, max(len(known) - 1, 0))

    def _judge_limits(self, cycles: list[Cycle]) -> None:
        limits = self.limits
        rows = np.stack([cycle.rows for cycle in cycles])
        middle, half = (limits.upper + limits.lower) / 2, (limits.upper - limits.lower) / 2
        use = np.stack((
            np.abs(rows[:, 0] - middle) / half, np.abs(rows[:, 1]) / limits.velocity,
            np.abs(rows[:, 2]) / limits.effort,
            np.nan_to_num(np.abs(rows[:, 3])) / limits.effort_rate), axis=1)
        self.use[:4] = np.maximum(self.use[:4], use.max(axis=0))
        allowed = np.array([1.0 + 1e-9, 1.0 + ROUNDING, 1.0 + MARGIN, 1.0 + MARGIN])
        for k, quantity, joint in np.argwhere(use > allowed[:, None]):
            cycle, name = cycles[k], self.names[joint]
            text = (
                f'{QUANTITIES[quantity]} of {name} is {rows[k, quantity, joint]:.5g} '
                f'{UNITS[quantity]}, {use[k, quantity, joint]:.5f} of its limit')
            # Torques beyond their limits are allowed while it is said which and why.
            self._find(cycle.time, text, self._names_joint(cycle, name) if quantity > 1 else '')

    def _names_joint(self, cycle: Cycle, name: str) -> str:
        short = name[-6:]
        return next((f'{one.word}: {one.reason}' for one in self._said_around(
            cycle.time, cycle.time, latched=True) if short in one.reason), '')

    def _judge_pairs(self, row: list[Cycle], first: int) -> None:
        """Judge neighbours k and k + 1 of a row, from the first pair on."""
        rows = np.stack([cycle.rows for cycle in row])
        stamps = np.array([cycle.stamp for cycle in row], np.int64)
        h = np.diff(stamps) * NANOSECOND
        apart = np.array([
            a.run != b.run or self._was_inactive(a, b) for a, b in itertools.pairwise(row)])
        close = (h > 0.0) & (h <= self.max_time_step) & ~apart
        step = np.where(close, h, 1.0)[:, None, None]
        ahead = [cycle.rows for cycle in itertools.islice(self._pending, AROUND)]
        misfit = np.where(close[:, None, None], self._misfit(
            rows[:-1], rows[1:], step, around=_largest_around(np.stack([*rows, *ahead])[:, 4])[
                :h.size]), 0.0)
        fresh = np.arange(h.size) >= first
        self.counts['neighbours'] += int((close & fresh).sum())
        self.counts['neighbours across a restart'] += int((apart & fresh).sum())
        self.counts['neighbours across a gap'] += int((~close & ~apart & fresh & (h > 0)).sum())
        self.counts['neighbours back in time'] += int((~apart & fresh & (h <= 0)).sum())
        fits = close & (misfit.max(axis=(1, 2)) <= 1.0)
        for k in np.flatnonzero(fresh & ~apart & ~fits):
            # What is near the greatest step may have been left out on a machine that is busy,
            # and what follows a cycle by the node's own clock, which it says.
            if close[k] and h[k] < 0.7 * self.max_time_step and not self._says_left_out(
                    row[k + 1]):
                self._find_step(row[k], row[k + 1], h[k], misfit[k])
            else:
                self._judge_gap(row[k], row[k + 1], h[k])
        if not (fits & fresh).any():
            return
        self.residual = np.maximum(self.residual, misfit[fits & fresh].max(axis=(0, 2)))
        self._judge_higher(row, np.diff(rows[:, 1], axis=0), h, fits, first)

    def _judge_higher(
        self, row: list[Cycle], change: np.ndarray, h: np.ndarray, fits: np.ndarray, first: int,
    ) -> None:
        """Judge q̈ and q⃛ by first and second differences of q̇."""
        limits = self.limits
        h = np.where(fits, h, 1.0)
        acceleration = change / h[:, None]
        self.use[4] = np.maximum(self.use[4], (
            np.abs(acceleration[fits]) / limits.acceleration).max(axis=0))
        both = fits[1:] & fits[:-1] & (np.arange(1, h.size) >= first)
        jerk = 2.0 * np.diff(acceleration, axis=0) / (h[1:] + h[:-1])[:, None]
        use = np.abs(jerk) / (limits.jerk * (1.0 + ROUNDING) + 1e-8 / h[1:, None] ** 2)
        use[~both] = 0.0
        self.use[5] = np.maximum(self.use[5], use.max(axis=0, initial=0.0))
        for k, joint in np.argwhere(use > 1.0):
            self._find(
                row[k + 2].time, f'q⃛ of {self.names[joint]} is {jerk[k, joint]:.5g} rad/s³ from '
                f'differences over {h[k] * 1e3:.3f} and {h[k + 1] * 1e3:.3f} ms',
                self._explained(row[k], row[k + 2]))

    def _judge_gap(self, a: Cycle, b: Cycle, h: float) -> None:
        """Judge neighbours between which the reference may have moved on by less than their time.

        What is missing beyond the greatest step is left out; and messages between them may have
        been lost on their way.
        """
        # The node's own idea of the period, of which it is three, may be greater.
        longest = 2.0 * max(self.max_time_step, 3.0 * self.period)
        reach = max(self._moved_on(a, b, longest), longest, h if h < TAKEN_WHOLE else 0.0)
        times = np.linspace(0.0, reach, 2001)[:, None, None]
        # Less is known across a gap: while torques change fast, they may swing within it.
        swing = np.zeros((4, len(self.names)))
        rate = np.nan_to_num(np.abs(a.rows[3]) + np.abs(b.rows[3]))
        swing[3] = np.minimum(rate / 100.0, 1.0) * self.limits.effort_rate
        swing[2] = swing[3] * longest / 2.0
        misfit = self._misfit(a.rows, b.rows, times, reach / 2000, swing)
        best = misfit.max(axis=(1, 2)).argmin()
        if misfit[best].max() > 1.0:
            self._find_step(a, b, h, misfit[best])
        elif times[best, 0, 0] > longest:
            self.counts['neighbours far apart that fit as a whole'] += 1

    def _moved_on(self, a: Cycle, b: Cycle, longest: float) -> float:
        """Return by how much the reference may have moved on, given the states that were sent."""
        if not 0 < b.stamp - a.stamp < LOST_WITHIN / NANOSECOND or any(
                begin < b.time and end > a.time - DELIVERED_WITHIN
                for begin, end in self.held_up):
            return longest
        between = sorted(one for one in self.sent if a.stamp < one < b.stamp)
        gaps = np.diff([a.stamp, *between, b.stamp]) * NANOSECOND
        return float(np.where(gaps <= longest, gaps, longest / 2.0).sum())

    def _misfit(
        self, a: np.ndarray, b: np.ndarray, h: np.ndarray, slack: float = 0.0,
        swing: np.ndarray | float = 0.0, around: np.ndarray | float = 0.0,
    ) -> np.ndarray:
        """Return by how much q, q̇, Q, Q̇ disagree after times, in units of what may be.

        The trapezoidal rule errs by h³/12 of the third derivative, or h²/4 of the second; with
        its correction by 0.032 h³ of the third, for which the spread of the second stands.

        Parameters
        ----------
        a, b : (..., 5, n) arrays
            Rows of cycles.
        h : (T, 1, 1) array
            Times between them.
        slack : float
            How well these are known, s.
        swing : (4, n) array
            What is allowed beside.
        around : (T, n) array
            The largest |Q̈| in cycles around: it may be as large between these as well.

        Returns
        -------
        (T, 4, n) array

        """
        h = h[..., 0]
        q0, v0, t0, r0, a0 = np.moveaxis(a, -2, 0)
        q1, v1, t1, r1, a1 = np.moveaxis(b, -2, 0)
        limits = self.limits
        reach = h + slack
        spread = np.maximum(np.nan_to_num(np.abs(a1) + np.abs(a0)), around)
        spread = spread + 0.2 * spread.max(axis=-1, keepdims=True)  # joints move each other
        residuals = np.stack(np.broadcast_arrays(
            q1 - q0 - h / 2 * (v0 + v1),
            v1 - v0,
            t1 - t0 - h / 2 * (r0 + r1) + h**2 / 12 * (a1 - a0),
            r1 - r0 - h / 2 * (a0 + a1)), axis=-2)
        allowed = np.stack(np.broadcast_arrays(
            1e-9 + slack * limits.velocity + 1.01 * np.minimum(
                limits.jerk * reach**3 / 12, limits.acceleration * reach**2 / 4),
            1e-9 + (1.0 + ROUNDING) * limits.acceleration * reach,
            np.minimum(
                0.01 + 30.0 * h + 0.15 * reach**2 * spread, np.maximum(0.45, 50.0 * h))
            + slack * limits.effort_rate,
            1.0 + 0.8 * reach * spread + slack * spread + 500.0 * h), axis=-2)
        return np.nan_to_num(np.abs(residuals)) / (allowed + swing)

    def _find_step(self, a: Cycle, b: Cycle, h: float, misfit: np.ndarray) -> None:
        quantity, joint = np.unravel_index(misfit.argmax(), misfit.shape)
        changes = ', '.join(
            f'{name} by {change:.3g} {unit}' for name, unit, change in zip(
                QUANTITIES, UNITS, np.abs(b.rows[:4] - a.rows[:4]).max(axis=1), strict=True))
        self._find(b.time, (
            f'a step over {h:.6f} s in {QUANTITIES[quantity]} of {self.names[joint]}, '
            f'{misfit.max():.3g} of what may be; the largest changes: {changes}'),
            self._explained(a, b))

    # What the node says.

    def _said_around(self, begin: float, end: float, *, latched: bool = False) -> Iterator[Said]:
        for one in reversed(self.said):
            if one.time > end + SAID_WITHIN:
                continue
            if one.time < begin - SAID_WITHIN:
                if latched:
                    yield one
                return
            yield one

    def _was_inactive(self, a: Cycle, b: Cycle) -> bool:
        return any(
            one.word in ('inactive', 'waiting') and a.time - 0.05 <= one.time <= b.time + 0.05
            for one in self._said_around(a.time, b.time))

    def _says_left_out(self, cycle: Cycle) -> bool:
        return any(
            abs(one.time - cycle.time) < 0.1 and LEFT_OUT in one.reason
            for one in self._said_around(cycle.time, cycle.time))

    def _explained(self, a: Cycle, b: Cycle) -> str:
        return next((f'{one.word}: {one.reason}' for one in self._said_around(a.time, b.time)
                     if LATCHED in one.reason), '')

    def _find(self, time: float, what: str, explanation: str) -> None:
        found = self.departures if explanation else self.violations
        self._add(found, Finding(time, what, explanation))

    def _violate(self, time: float, what: str) -> None:
        self._add(self.violations, Finding(time, what))

    def _add(self, found: list[Finding], new: Finding) -> None:
        """Add a finding, or count it as part of one that is going on."""
        kind = new.what.split(' is ')[0].split(' over ')[0]
        for one in reversed(found):
            if new.time - one.time > ONE_EPISODE:
                break
            if one.what.startswith(kind) and one.explanation == new.explanation:
                one.times += 1
                return
        index = next((k for k, c in enumerate(self._row) if c.time >= new.time), len(self._row))
        new.near = self._row[max(index - 4, 0):index + 3]
        found.append(new)
