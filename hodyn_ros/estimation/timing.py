"""Time stamps as they were recorded: what is wrong with them, and the runs without a gap.

Nothing is interpolated over: a recording is split at gaps and jumps back, and each run is smoothed
alone. States republished with fresh stamps, as joint_state_publisher does, are recognised, and
the instants at which they were sampled are restored from the states themselves.
"""
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit
from hodyn_ros.messages.joint_state_bag import JointStates

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

GAP_PERIODS = 5.0
"""A pause longer than this many typical periods is a gap."""

MIN_RUN = 8
"""Shorter runs say nothing about derivatives and are not used."""

_LISTED = 200  # gaps and resets listed one by one
_RESET_PERSISTS = 4  # samples that stay behind an earlier stamp: the clock was set back


@dataclass(frozen=True, eq=False)
class Run:
    """Samples without a gap.

    Attributes
    ----------
    message : (K,) int array
        Indices of the messages, increasing.
    sample : (K,) int array
        Index of each message's sample; republished messages share one.
    time : (S,) array
        Instants of the samples, s, strictly increasing, whole nanoseconds.

    """

    message: Indices
    sample: Indices
    time: Array

    @property
    def first_message(self) -> Indices:
        """Index of the first message that carries each sample, (S,)."""
        return self.message[np.flatnonzero(np.diff(self.sample, prepend=-1))]


class StampStatus(IntEnum):
    """How a message's stamp follows the one before, or why the message is not used.

    NO_MOTION is for runs that cannot be smoothed, which shows later than what stamps show.
    """

    FOLLOWS = 0
    AFTER_GAP = 1
    AFTER_RESET = 2
    DUPLICATE = 3
    REVERSED = 4
    NO_MOTION = 5
    LONE = 6


@dataclass(frozen=True, eq=False)
class Timing:
    """What the stamps of joint states show.

    Attributes
    ----------
    clock : str
        ``header`` or ``receive``: which stamps are used.
    stamps : (T,) int64 array
        These, ns.
    period : float
        Typical time between messages, s.
    status : (T,) int8 array
        StampStatus of each message; the first one has AFTER_RESET.
    republished : (T,) bool array
        Messages that repeat the state of the one before, bit for bit, under a new stamp.
    sampling_period : float
        Time between the samples behind republished states, s; NaN when none are republished.
    runs : tuple of Run
        Stretches without a gap.

    """

    clock: str
    stamps: NDArray[np.int64]
    period: float
    status: NDArray[np.int8]
    republished: NDArray[np.bool_]
    sampling_period: float
    runs: tuple[Run, ...]


@dataclass
class TimingStatistics:
    """What was found in the stamps of a whole recording, for the report.

    Attributes
    ----------
    clock, period, sampling_period
        As in `Timing`.
    counts : dict
        Number of messages by status.
    republished : int
        Number of republished messages.
    gaps, resets : lists of (ns, s)
        The first ones: when they begin, and the length of the pause or the jump back.
    steps : tuple of float
        Count, mean and sum of squared deviations of the times between messages in runs, s.
    latency : (float, float)
        Least and greatest receive time less header stamp, s.

    """

    clock: str
    period: float
    sampling_period: float = np.nan
    counts: dict[StampStatus, int] = field(default_factory=lambda: dict.fromkeys(StampStatus, 0))
    republished: int = 0
    gaps: list[tuple[int, float]] = field(default_factory=list)
    resets: list[tuple[int, float]] = field(default_factory=list)
    steps: tuple[int, float, float] = (0, 0.0, 0.0)
    latency: tuple[float, float] = (np.inf, -np.inf)

    @property
    def jitter(self) -> float:
        """Standard deviation of the time between messages within runs, s."""
        count, _, squares = self.steps
        return float(np.sqrt(squares / count)) if count else 0.0

    def add(self, states: JointStates, timing: Timing, chunk: slice) -> None:
        """Count the messages of a chunk of joint states; those around it are its margins."""
        for status in StampStatus:
            self.counts[status] += int(np.count_nonzero(timing.status[chunk] == status))
        self.republished += int(np.count_nonzero(timing.republished[chunk]))
        if not np.isnan(timing.sampling_period):
            self.sampling_period = timing.sampling_period
        usable = np.flatnonzero(timing.status <= StampStatus.AFTER_RESET)
        usable = usable[usable < chunk.stop]
        steps = np.diff(timing.stamps[usable]) * 1e-9
        after = usable[1:]
        inside = after >= chunk.start
        within = steps[inside & (timing.status[after] == StampStatus.FOLLOWS)]
        count, mean, squares = self.steps
        if len(within):
            both, shift = count + len(within), float(within.mean()) - mean
            squares += float(np.sum((within - within.mean()) ** 2))
            squares += shift ** 2 * count * len(within) / both
            self.steps = both, mean + shift * len(within) / both, squares
        for status, found in (
                (StampStatus.AFTER_GAP, self.gaps), (StampStatus.AFTER_RESET, self.resets)):
            for i in np.flatnonzero(inside & (timing.status[after] == status)):
                if len(found) < _LISTED:
                    found.append((int(timing.stamps[usable[i]]), abs(float(steps[i]))))
        if len(states.stamp[chunk]):
            delay = (states.received[chunk] - states.stamp[chunk]) * 1e-9
            self.latency = (
                min(self.latency[0], float(delay.min())), max(self.latency[1], float(delay.max())))


def analyse(states: JointStates, clock: str | None = None, period: float | None = None) -> Timing:
    """Classify the stamps of joint states and split them into runs.

    Parameters
    ----------
    states : JointStates
        As recorded.
    clock, period : str and float, optional
        As another part of the same recording gave them; found from these states by default.

    """
    clock = clock or choose_clock(states)
    stamps = states.stamp if clock == 'header' else states.received
    if period is None:
        period = typical_period(stamps)
    status = np.zeros(len(stamps), dtype=np.int8)
    longest = np.iinfo(np.int64).max if np.isnan(period) else int(GAP_PERIODS * period * 1e9)
    _classify(stamps, longest, status)
    index = np.flatnonzero(status <= StampStatus.AFTER_RESET)
    begins = np.flatnonzero(status[index] != StampStatus.FOLLOWS)
    republished = np.zeros(len(states), dtype=bool)
    sampling_period, runs = np.nan, []
    for begin, end in zip(begins, np.append(begins, len(index))[1:], strict=True):
        message = index[begin:end]
        if len(message) < MIN_RUN:
            status[message] = StampStatus.LONE
            continue
        time = (stamps[message] - stamps[message[0]]) * 1e-9
        run = _run(states, message, time)
        if len(run.time) < len(message):
            republished[message[1:]] = np.diff(run.sample) == 0
            sampling_period = float(np.median(np.diff(run.time)))
        runs.append(run)
    return Timing(clock, stamps, period, status, republished, sampling_period, tuple(runs))


def typical_period(stamps: NDArray[np.int64]) -> float:
    """Return the median of the positive steps of stamps, s; NaN when there is none."""
    steps = np.diff(stamps)
    steps = steps[steps > 0]
    return float(np.median(steps)) * 1e-9 if len(steps) else np.nan


def choose_clock(states: JointStates) -> str:
    """Return ``header`` when the header stamps tell time, else ``receive``."""
    ahead = np.count_nonzero(np.diff(states.stamp) > 0)
    return 'header' if len(states) > 1 and 2 * ahead > len(states) - 1 else 'receive'


_FOLLOWS, _GAP, _RESET, _DUPLICATE, _REVERSED = (int(status) for status in list(StampStatus)[:5])


@njit()
def _classify(stamps: NDArray[np.int64], gap: int, status: NDArray[np.int8]) -> None:
    """Set the status of each stamp; the first one begins a run like one after a reset."""
    if len(stamps) == 0:
        return
    status[0] = _RESET
    last = stamps[0]
    for i in range(1, len(stamps)):
        step = stamps[i] - last
        if step == 0:
            status[i] = _DUPLICATE
            continue
        if step < 0:
            end = min(len(stamps), i + _RESET_PERSISTS)
            persists = True
            for j in range(i + 1, end):
                persists = persists and stamps[j] < last and stamps[j] >= stamps[j - 1]
            status[i] = _RESET if persists else _REVERSED
            if not persists:
                continue
        else:
            status[i] = _GAP if step > gap else _FOLLOWS
        last = stamps[i]


def _run(states: JointStates, message: Indices, time: Array) -> Run:
    """Return a run, with the instants restored where its states were republished."""
    whole = Run(message, np.arange(len(message)), time)
    recorded = [values[message] for values in (states.position, states.velocity, states.effort)]
    moved = np.zeros(len(message) - 1, dtype=bool)
    for values in recorded:
        moved |= ((values[1:] != values[:-1]) & ~np.isnan(values[1:])).any(axis=1)
    # A robot at rest repeats its state as well: a republished one stands between two that moved.
    repeats = np.flatnonzero(~moved[1:-1] & moved[:-2] & moved[2:]) + 2
    if not len(repeats):
        return whole
    # At the ends one neighbour must do.
    ends = [(0, 1), (len(moved) - 1, len(moved) - 2)]
    more = [i + 1 for i, near in ends if not moved[i] and moved[near]]
    repeats = np.union1d(repeats, np.array(more, dtype=np.intp))
    fresh = np.ones(len(message), dtype=bool)
    fresh[repeats] = False
    restored = _restored(time[fresh], recorded[0][fresh], recorded[1][fresh])
    if restored is None:
        return whole
    return Run(message, np.cumsum(fresh) - 1, restored)


def _restored(time: Array, position: Array, velocity: Array) -> Array | None:
    """Return the sampling instants behind republished states, or None when they do not show.

    Between samples the positions advance by the velocity times the interval, in all joints alike,
    which measures the interval while the arm moves; where it does not, a constant period is the
    best guess. Both are weighed by their variances. The period itself is the slope of the stamps
    over the samples. Accepted when the positions then agree at least twice better with the
    velocities than under the stamps.
    """
    if len(time) < MIN_RUN or np.isnan(velocity).any():
        return None
    period = float(np.polyfit(np.arange(len(time)), time, 1)[0])
    advance = np.diff(position, axis=0)
    mean = 0.5 * (velocity[1:] + velocity[:-1])
    interval = np.full(len(advance), period)
    spread = 0.1 * period
    for _ in range(4):
        misfit = advance - interval[:, None] * mean
        weight = mean ** 2 / np.maximum(np.mean(misfit ** 2, axis=0), 1e-300)
        information = weight.sum(axis=1)
        alone = (weight * advance / np.where(mean == 0.0, 1.0, mean)).sum(axis=1)
        measured = information > 1.0 / spread ** 2
        if not measured.any():
            return None
        interval = (alone + period / spread ** 2) / (information + 1.0 / spread ** 2)
        interval *= period / np.median(interval[measured])
        spread = max(float(np.std(interval[measured])), 1e-3 * period)
    before = np.sqrt(np.mean((advance - np.diff(time)[:, None] * mean) ** 2))
    after = np.sqrt(np.mean((advance - interval[:, None] * mean) ** 2))
    if not 2.0 * after < before or interval.min() <= 0.0:
        return None
    instants = np.concatenate([[0.0], np.cumsum(interval)])
    # A state is never published before it was sampled. Instants are whole nanoseconds, as stamps
    # are: rounding them later would show in the snap.
    return np.asarray(np.round(1e9 * (instants + np.min(time - instants))) * 1e-9)
