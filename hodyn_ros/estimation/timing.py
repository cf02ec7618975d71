"""Time stamps as they were recorded: what is wrong with them, and the runs without a gap.

Nothing is interpolated over: a recording is split at gaps and jumps back, and each run is smoothed
alone. States that were read more than once are recognised, and the instants at which they were
sampled are restored from the states themselves where these tell them (`sampling_clock`).
"""
from dataclasses import dataclass, field, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit
from hodyn_ros.estimation.bursts import are_pairs, burst_size, made_up_for
from hodyn_ros.estimation.clock_fit import MAX_MOVE
from hodyn_ros.estimation.sampling_clock import Instants, sampling_instants
from hodyn_ros.messages.joint_state_bag import JointStates

Array = NDArray[np.float64]
Indices = NDArray[np.intp]

GAP_PERIODS = 5.0
"""A pause longer than this many typical periods is a gap."""

MIN_RUN = 8
"""Shorter runs say nothing about derivatives and are not used."""

_GAP_BURSTS = 15.0  # the same of messages that come in bursts, at least
_LONGEST_BURST = 3.0  # as often as a usual one: the pause before it is no gap
_LONGEST_HOLD_UP = 100.0  # periods: in a longer one the samples are counted for too long
_LONG_PAUSE = 5.0  # usual pauses between bursts: longer ones are no times of sampling
_MIN_CHANGES = 3  # numbers that change from state to state: that none does is no accident
_CLEAR_STEPS = 2.5  # of the resolution: noise about one value seldom makes more
_MOST_TORN = 0.02  # share of messages that are read while they are written
_AROUND = 5  # messages on both sides that tell how an arm moves
_LOOKBACK = 20  # messages that a second publisher may be behind the first
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
        Instants of the samples since the first stamp of the run, s, strictly increasing, whole
        nanoseconds.
    sampling_period : float
        The period that the instants were restored with, s; NaN where they are the stamps.
    told : (S,) bool array
        Whether the samples themselves tell the interval before each one.
    misfit : float
        RMS by which the steps of the stamps contradict the positions, s; NaN where not known.
    spread : bool
        Whether messages that came in bursts are spread evenly, for want of a clock.

    """

    message: Indices
    sample: Indices
    time: Array
    sampling_period: float
    told: NDArray[np.bool_]
    misfit: float
    spread: bool = False

    @property
    def first_message(self) -> Indices:
        """Index of the first message that carries each sample, (S,)."""
        return self.message[np.flatnonzero(np.diff(self.sample, prepend=-1))]

    def part(self, messages: slice) -> 'Run':
        """Return the samples of some messages; the instants are as in the whole run."""
        begin, end = np.searchsorted(self.message, (messages.start, messages.stop))
        sample = self.sample[begin:end]
        inner = slice(*(sample[[0, -1]] + (0, 1))) if len(sample) else slice(0, 0)
        time = self.time[inner]
        return replace(
            self, message=self.message[begin:end], sample=sample - inner.start,
            time=time - time[:1], told=self.told[inner])


class StampStatus(IntEnum):
    """How a message's stamp follows the one before, or why the message is not used.

    AFTER_STEP is where the clock of the stamps was set by less than a gap, which the samples tell.
    NO_MOTION is for runs that cannot be smoothed, which shows later than what stamps show; STALE
    for states that an earlier message showed already, and another one since; TORN for positions of
    one sample with velocities of another.
    """

    FOLLOWS = 0
    AFTER_GAP = 1
    AFTER_STEP = 2
    AFTER_RESET = 3
    DUPLICATE = 4
    REVERSED = 5
    NO_MOTION = 6
    LONE = 7
    STALE = 8
    TORN = 9


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
    runs : tuple of Run
        Stretches without a gap.

    """

    clock: str
    stamps: NDArray[np.int64]
    period: float
    status: NDArray[np.int8]
    republished: NDArray[np.bool_]
    runs: tuple[Run, ...]


@dataclass
class TimingStatistics:
    """What was found in the stamps of a whole recording, for the report.

    Attributes
    ----------
    clock, period
        As in `Timing`.
    sampling_period : float
        The mean period by which instants were restored, s; NaN where all are the stamps.
    restored, told : int
        Number of messages whose instants were restored, and of those whose intervals the samples
        themselves tell; the others are counted by their stamps.
    spread : int
        Number of messages that came in bursts and are spread evenly, for want of a clock.
    largest_move : float
        The farthest that an instant lies from the stamp under which it was first seen, s.
    counts : dict
        Number of messages by status.
    republished : int
        Number of republished messages.
    gaps, resets : lists of (ns, s)
        The first ones: when they begin, and the length of the pause or the jump back.
    clock_steps : list of int
        The stamps after which the clock was set by less than a gap, ns.
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
    restored: int = 0
    spread: int = 0
    told: int = 0
    largest_move: float = 0.0
    gaps: list[tuple[int, float]] = field(default_factory=list)
    resets: list[tuple[int, float]] = field(default_factory=list)
    clock_steps: list[int] = field(default_factory=list)
    steps: tuple[int, float, float] = (0, 0.0, 0.0)
    latency: tuple[float, float] = (np.inf, -np.inf)
    _misfit: tuple[int, float] = (0, 0.0)

    @property
    def misfit(self) -> float:
        """RMS by which steps of the stamps contradict the positions, s; NaN if these tell none."""
        count, squares = self._misfit
        return float(np.sqrt(squares / count)) if count else np.nan

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
        for run in timing.runs:
            self._add_run(timing, run, chunk)
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
        stepped = after[inside & (timing.status[after] == StampStatus.AFTER_STEP)]
        self.clock_steps += [
            int(stamp) for stamp in timing.stamps[stepped]][:_LISTED - len(self.clock_steps)]
        for status, found in (
                (StampStatus.AFTER_GAP, self.gaps), (StampStatus.AFTER_RESET, self.resets)):
            for i in np.flatnonzero(inside & (timing.status[after] == status)):
                if len(found) < _LISTED:
                    found.append((int(timing.stamps[usable[i]]), abs(float(steps[i]))))
        if len(states.stamp[chunk]):
            delay = (states.received[chunk] - states.stamp[chunk]) * 1e-9
            self.latency = (
                min(self.latency[0], float(delay.min())), max(self.latency[1], float(delay.max())))

    def _add_run(self, timing: Timing, run: Run, chunk: slice) -> None:
        first = run.first_message
        mine = (first >= chunk.start) & (first < chunk.stop)
        count = int(np.count_nonzero(mine))
        if not np.isnan(run.misfit):
            self._misfit = self._misfit[0] + count, self._misfit[1] + count * run.misfit ** 2
        if not count or (np.isnan(run.sampling_period) and not run.spread):
            return
        if run.spread:
            self.spread += count
        else:
            before = self.sampling_period if self.restored else run.sampling_period
            self.restored += count
            self.sampling_period = before + (
                run.sampling_period - before) * count / self.restored
            self.told += int(np.count_nonzero(run.told & mine))
        stamps = (timing.stamps[first] - timing.stamps[run.message[0]]) * 1e-9
        self.largest_move = max(
            self.largest_move, float(np.max(np.abs(run.time - stamps)[mine])))


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
    longest = np.iinfo(np.int64).max
    if not np.isnan(period):
        burst = burst_size(np.abs(np.diff(stamps)), 1e9 * period)
        longest = int(period * 1e9 * (
            max(_GAP_BURSTS, _LONGEST_BURST * burst) if burst > 1 else GAP_PERIODS))
    _classify(stamps, longest, status)
    index = np.flatnonzero(status <= StampStatus.AFTER_RESET)
    # Whether a pause of the stamps is one of the samples shows when their instants are known.
    steps = np.diff(stamps[index], prepend=0)
    apart = steps > longest + MAX_MOVE * np.nan_to_num(period) * 1e9
    if apart[1:].any():
        # What comes at once after a pause, and is no state that was read before, was held up.
        fresh = np.append(True, (np.diff(states.position[index], axis=0) != 0.0).any(axis=1))
        held_up = np.zeros(len(index))
        held_up[fresh] = made_up_for(np.diff(stamps[index[fresh]], prepend=0), 1e9 * period)
        apart &= (held_up == 0.0) | (held_up > _LONGEST_HOLD_UP)
    begins = np.flatnonzero((status[index] == StampStatus.AFTER_RESET) | (
        (status[index] == StampStatus.AFTER_GAP) & apart))
    republished = np.zeros(len(states), dtype=bool)
    runs: list[Run] = []
    for begin, end in zip(begins, np.append(begins, len(index))[1:], strict=True):
        for run in _runs(states, index[begin:end], stamps, status, longest * 1e-9):
            if len(run.time) < MIN_RUN:
                status[run.message] = StampStatus.LONE
                continue
            republished[run.message[1:]] = np.diff(run.sample) == 0
            runs.append(run)
    return Timing(clock, stamps, period, status, republished, tuple(runs))


def typical_period(stamps: NDArray[np.int64]) -> float:
    """Return the median of the positive steps of stamps, s; NaN when there is none.

    Of messages that come in bursts, the mean step; of long pauses a part only.
    """
    steps = np.sort(np.diff(stamps))
    steps = steps[steps > 0]
    if not len(steps):
        return np.nan
    median, mean = float(np.median(steps)), float(np.mean(steps[:-(len(steps) // 50) or None]))
    if mean > 2.0 * median or are_pairs(steps, mean):
        pause = float(np.median(steps[steps > mean]))
        return 1e-9 * float(np.mean(np.minimum(steps, _LONG_PAUSE * pause)))
    return 1e-9 * median


def choose_clock(states: JointStates) -> str:
    """Return ``header`` when the header stamps tell time, else ``receive``."""
    ahead = np.count_nonzero(np.diff(states.stamp) > 0)
    return 'header' if len(states) > 1 and 2 * ahead > len(states) - 1 else 'receive'


_FOLLOWS, _GAP, _RESET, _DUPLICATE, _REVERSED = (int(status) for status in (
    StampStatus.FOLLOWS, StampStatus.AFTER_GAP, StampStatus.AFTER_RESET, StampStatus.DUPLICATE,
    StampStatus.REVERSED))


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


def _runs(
    states: JointStates, message: Indices, stamps: NDArray[np.int64], status: NDArray[np.int8],
    longest: float,
) -> list[Run]:
    """Return messages as runs, apart where `longest` passed, or where their clock was set."""
    # Efforts may be fresh where the encoders were not read anew.
    recorded = np.hstack([states.position[message], states.velocity[message]])
    if np.count_nonzero(~np.isnan(recorded[0])) < _MIN_CHANGES:
        recorded = np.hstack([recorded, states.effort[message]])
    changed = (recorded[1:] != recorded[:-1]) & ~np.isnan(recorded[1:])
    changes = np.concatenate([[len(recorded[0])], np.count_nonzero(changed, axis=1)])
    stale = _seen_before(recorded, _clear_changes(recorded))
    if stale.any():
        status[message[stale]] = StampStatus.STALE
        return _runs(states, message[~stale], stamps, status, longest)
    torn = _torn(states.position[message], states.velocity[message])
    if torn.any():
        status[message[torn]] = StampStatus.TORN
        return _runs(states, message[~torn], stamps, status, longest)
    time = (stamps[message] - stamps[message[0]]) * 1e-9
    fresh = ~_repeats(changes, time, states.position[message])
    first = np.flatnonzero(fresh)
    older = np.append(-np.inf, time[:-1])
    found = sampling_instants(
        time[first], older[first], states.position[message[first]],
        states.velocity[message[first]])
    paused = status[message[first[1:]]] == StampStatus.AFTER_GAP
    status[message[1:]] = StampStatus.FOLLOWS
    # Who spreads what came after a pause has no other measure of it.
    gaps = np.flatnonzero(paused & (found.spread | (np.diff(found.time) > longest))) + 1
    status[message[first[gaps]]] = StampStatus.AFTER_GAP
    status[message[first[found.breaks]]] = StampStatus.AFTER_STEP
    breaks = np.union1d(gaps, found.breaks)
    runs = []
    for begin, end in zip(np.append(0, breaks), np.append(breaks, len(first)), strict=True):
        last = first[end] if end < len(first) else len(message)
        part = slice(first[begin], last)
        runs.append(_run(found, slice(begin, end), message[part], fresh[part], time[part.start]))
    return runs


def _run(
    found: Instants, part: slice, message: Indices, fresh: NDArray[np.bool_], start: float,
) -> Run:
    # Whole nanoseconds, as stamps are: rounding them later would show in the snap.
    time = np.round(1e9 * (found.time[part] - start)) * 1e-9
    return Run(
        message, np.cumsum(fresh) - 1, time, found.period, found.told[part], found.misfit,
        found.spread)


def _clear_changes(recorded: Array) -> Indices:
    """Return how many numbers of each state are several of their steps from the one before.

    Those of an arm that stands take turns between few values, and whole states recur by chance.
    """
    steps = np.abs(np.diff(recorded, axis=0))
    resolution = np.where(steps > 0.0, steps, np.inf).min(axis=0, initial=np.inf)
    clear = np.count_nonzero(steps > _CLEAR_STEPS * resolution, axis=1)
    return np.concatenate([[len(recorded[0])], clear])


def _torn(position: Array, velocity: Array) -> NDArray[np.bool_]:
    """Return which states have positions of one sample and velocities of another.

    Who reads a state while another thread writes it gets some. One half repeats the message
    before, bit for bit, and the other clearly does not; in the message after it is the other half
    that repeats, if that is of the next sample. They are rare: where a half is refreshed less
    often than the other, as a rule, it is no tear.
    """
    torn = np.zeros(len(position), dtype=bool)
    if len(torn) <= 2 * _AROUND:
        return torn
    halves = (position, velocity)
    moved = np.stack([_clear_changes(half) >= _MIN_CHANGES for half in halves])
    same = np.stack([np.append(False, (half[1:] == half[:-1]).all(axis=1)) for half in halves])
    around = np.ones(2 * _AROUND + 1)
    moves = np.stack([np.convolve(half, around, 'same') > _AROUND for half in moved])
    half_read = same & moves & moved[::-1]
    if np.count_nonzero(half_read) > _MOST_TORN * len(torn):
        return torn
    for i in np.flatnonzero(half_read.any(axis=0)):
        # What completes a torn state is whole.
        torn[i] = not (torn[i - 1] and half_read[0, i - 1] != half_read[0, i])
    return torn


def _seen_before(recorded: Array, changes: Indices) -> NDArray[np.bool_]:
    """Return which states some earlier message showed, and another one since."""
    rows = np.unique(np.nan_to_num(recorded), axis=0, return_inverse=True)
    state: Indices = rows[1].reshape(-1)
    order = np.argsort(state, kind='stable')
    again = np.flatnonzero(np.diff(state[order]) == 0)
    apart = np.zeros(len(state), dtype=np.intp)
    apart[order[again + 1]] = order[again + 1] - order[again]
    return np.asarray((apart > 1) & (apart <= _LOOKBACK) & (changes >= _MIN_CHANGES))


def _repeats(changes: Indices, time: Array, position: Array) -> NDArray[np.bool_]:
    """Return which messages repeat the state before, bit for bit, though the arm moves.

    A robot at rest repeats its state as well, but longer than a reader does who reads each state
    several times; and numbers that hardly ever change are no states of an arm that moves. Where
    states were held up on their way, the next one is as far away as those of an arm that moves.
    """
    repeats = changes == 0
    moves = np.flatnonzero(~repeats)
    if not repeats.any() or len(moves) < 3 or np.median(changes[moves[1:]]) < _MIN_CHANGES:
        return np.zeros(len(changes), dtype=bool)
    ends = np.append(moves[1:], len(changes))
    reads = ends - moves
    typical = float(np.median(reads[:-1]))
    passed = time[ends - 1] - time[moves]
    # Reads that were held up and then made up for, all at once, are no rest.
    rests = (reads > 3.0 * typical) & (passed > 3.0 * typical * np.median(np.diff(time)))
    steps = np.abs(np.diff(position[moves], axis=0)).sum(axis=1)
    # The last digit of an arm that stands is no motion.
    steps[_clear_changes(position[moves])[1:] < min(_MIN_CHANGES, position.shape[1])] = 0.0
    for i in np.flatnonzero(rests):
        around = np.concatenate([steps[max(0, i - _AROUND):i], steps[i + 1:i + 1 + _AROUND]])
        usual = float(np.median(around)) if len(around) else 0.0
        # States that were held up may come late, all of them: the next one is a usual step away.
        least = 0.5 * usual * (reads[i] / typical if reads[i] > MAX_MOVE else 1.0)
        if i < len(steps) and steps[i] > least > 0.0:
            continue
        repeats[moves[i]:ends[i]] = False
    return np.asarray(repeats)
