"""Finds what is wrong with recorded time stamps, and the runs without a gap.

No gap is interpolated: a recording is split at gaps and jumps back, and each run is smoothed by
itself. States that were read more than once are recognised, and the instants at which they were
sampled are restored from the states themselves if these determine them (`sampling_clock`).
"""
from dataclasses import dataclass, replace
from enum import IntEnum
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.common.jit import njit
from hodyn_ros.estimation.astray_positions import astray
from hodyn_ros.estimation.deliveries import burst_size, were_held_up
from hodyn_ros.estimation.empty_states import empty
from hodyn_ros.estimation.interpolated_states import interpolated
from hodyn_ros.estimation.period_count import MAX_MOVE
from hodyn_ros.estimation.position_leaps import leaps
from hodyn_ros.estimation.repeated_states import repeats, seen_before, torn
from hodyn_ros.estimation.sampling_clock import Instants, sampling_instants
from hodyn_ros.messages.joint_state_bag import JointStates

GAP_PERIODS = 5.0
"""Number of typical periods from which a pause is a gap."""

MIN_RUN = 8
"""Least number of samples in a run; shorter runs do not determine derivatives."""

# If messages come in bursts, a gap is at least _GAP_BURSTS periods and _LONGEST_BURST bursts long.
_GAP_BURSTS = 15.0
_LONGEST_BURST = 3.0
_LONG_PAUSE = 5.0  # greatest pause that counts in the mean step, in usual pauses
_RESET_PERSISTS = 4  # least number of earlier stamps in a row after a clock was set back


@dataclass(frozen=True, eq=False)
class Run(Instants):
    """Samples without a gap; `time` counts from the first stamp, rounded to whole nanoseconds."""

    message: Indices  #: (K,): indices of the messages, increasing
    sample: Indices  #: (K,): index of each message's sample; republished messages share one

    @property
    def first_message(self) -> Indices:
        """Index of the first message that carries each sample, (S,)."""
        return self.message[np.flatnonzero(np.diff(self.sample, prepend=-1))]

    def part(self, messages: slice) -> 'Run':
        """Return the samples of some messages; `time` counts from the first of these samples."""
        begin, end = np.searchsorted(self.message, (messages.start, messages.stop))
        sample = self.sample[begin:end]
        inner = slice(*(sample[[0, -1]] + (0, 1))) if len(sample) else slice(0, 0)
        time = self.time[inner]
        return replace(
            self, message=self.message[begin:end], sample=sample - inner.start,
            time=time - time[:1], determined=self.determined[inner])


class StampStatus(IntEnum):
    """How a message's stamp follows the previous one, or why the message is not used.

    AFTER_STEP: the samples show that the clock was set, by less than the length of a gap, or that
    the driver stalled.
    AFTER_LEAP: a joint's position leaps before this message, and stays there.
    NO_MOTION: the run cannot be smoothed; this status is set last. STALE: the state
    repeats an earlier message, with a different one in between. TORN: positions of one sample with
    velocities of another. ASTRAY: a position is far off the positions before and after. EMPTY: all
    positions are 0, in place of data. INTERPOLATED: the position is on a line between samples.
    """

    FOLLOWS = 0
    AFTER_GAP = 1
    AFTER_STEP = 2
    AFTER_LEAP = 3
    AFTER_RESET = 4
    DUPLICATE = 5
    REVERSED = 6
    NO_MOTION = 7
    LONE = 8
    STALE = 9
    TORN = 10
    ASTRAY = 11
    EMPTY = 12
    INTERPOLATED = 13


@dataclass(frozen=True, eq=False)
class Timing:
    """Stamps of joint states, classified."""

    clock: str  #: The stamps that are used: ``header`` or ``receive``
    stamps: NDArray[np.int64]  #: (T,): the used stamps, ns
    period: float  #: Typical time between messages, s
    #: (T,): StampStatus of each message; AFTER_RESET for the first if it is used
    status: NDArray[np.int8]
    #: (T,): messages that repeat the previous state, bit for bit, under a new stamp
    republished: Flags
    off: Array  #: (T, n): how far astray positions are off their neighbours, rad; 0 for others
    leap: Array  #: (T, n): by how much positions leap before each message, rad or m; else 0
    runs: tuple[Run, ...]  #: Stretches without a gap


def analyse(states: JointStates, clock: str | None = None, period: float | None = None) -> Timing:
    """Classify the stamps of joint states and split them into runs.

    Clock and period may be those of another part of the recording; by default they are found from
    these states.
    """
    clock = clock or choose_clock(states)
    stamps = states.stamp if clock == 'header' else states.received
    if period is None:
        period = typical_period(stamps)
    status = np.full(len(stamps), StampStatus.EMPTY, dtype=np.int8)
    longest = np.iinfo(np.int64).max
    if not np.isnan(period):
        burst = burst_size(np.diff(stamps), 1e9 * period)
        longest = int(period * 1e9 * (
            max(_GAP_BURSTS, _LONGEST_BURST * burst) if burst > 1 else GAP_PERIODS))
    filled = np.flatnonzero(~empty(
        1e-9 * (stamps - stamps[:1]).astype(np.float64), states.position))
    followed = np.zeros(len(filled), dtype=np.int8)
    _classify(stamps[filled], longest, followed)
    status[filled] = followed
    index = np.flatnonzero(status <= StampStatus.AFTER_RESET)
    # A pause of the stamps is a gap only if the restored instants have it as well.
    steps = np.diff(stamps[index], prepend=0)
    apart = steps > longest + MAX_MOVE * np.nan_to_num(period) * 1e9
    if apart[1:].any():
        # New states that come close together after a pause were held up.
        fresh = np.append(True, (np.diff(states.position[index], axis=0) != 0.0).any(axis=1))
        held_up = np.zeros(len(index), dtype=bool)
        held_up[fresh] = were_held_up(np.diff(stamps[index[fresh]], prepend=0), 1e9 * period)
        apart &= ~held_up
    begins = np.flatnonzero((status[index] == StampStatus.AFTER_RESET) | (
        (status[index] == StampStatus.AFTER_GAP) & apart))
    republished = np.zeros(len(states), dtype=bool)
    off, leap = np.zeros((2, *states.position.shape))
    runs: list[Run] = []
    for begin, end in zip(begins, np.append(begins, len(index))[1:], strict=True):
        message = index[begin:end]
        off[message] = astray(1e-9 * stamps[message].astype(np.float64), states.position[message])
        fits = ~off[message].any(axis=1)
        status[message[~fits]] = StampStatus.ASTRAY
        message = message[fits]
        leap[message] = leaps(
            1e-9 * (stamps[message] - stamps[message[:1]]), states.position[message])
        for part in np.split(message, np.flatnonzero(leap[message].any(axis=1))):
            found = _runs(states, part, stamps, status, longest * 1e-9)
            if leap[part[0]].any() and status[part[0]] <= StampStatus.AFTER_RESET:
                status[part[0]] = StampStatus.AFTER_LEAP
            for run in found:
                if len(run.time) < MIN_RUN:
                    status[run.message] = StampStatus.LONE
                    continue
                republished[run.message[1:]] = np.diff(run.sample) == 0
                runs.append(run)
    return Timing(clock, stamps, period, status, republished, off, leap, tuple(runs))


def typical_period(stamps: NDArray[np.int64]) -> float:
    """Return the median of the positive steps of stamps, s; NaN without such a step.

    For messages in bursts it is the mean step; a long pause counts as at most five usual ones.
    """
    steps = np.diff(stamps)
    steps = steps[steps > 0]
    if not len(steps):
        return np.nan
    mean = float(np.mean(np.sort(steps)[:-(len(steps) // 50) or None]))
    if burst_size(steps, mean) > 1:
        pause = float(np.median(steps[steps > mean]))
        return 1e-9 * float(np.mean(np.minimum(steps, _LONG_PAUSE * pause)))
    return 1e-9 * float(np.median(steps))


def choose_clock(states: JointStates) -> str:
    """Return ``header`` if most header stamps increase, else ``receive``."""
    ahead = np.count_nonzero(np.diff(states.stamp) > 0)
    return 'header' if len(states) > 1 and 2 * ahead > len(states) - 1 else 'receive'


_FOLLOWS, _GAP, _RESET, _DUPLICATE, _REVERSED = (int(status) for status in (
    StampStatus.FOLLOWS, StampStatus.AFTER_GAP, StampStatus.AFTER_RESET, StampStatus.DUPLICATE,
    StampStatus.REVERSED))


@njit()
def _classify(stamps: NDArray[np.int64], gap: int, status: NDArray[np.int8]) -> None:
    """Set the status of each stamp; that of the first is AFTER_RESET."""
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
    """Set statuses; return the runs between long pauses (`longest`, s) and steps of the clock."""
    position, velocity = states.position[message], states.velocity[message]
    for useless, why in (
            (seen_before(position, velocity, states.effort[message]), StampStatus.STALE),
            (torn(position, velocity), StampStatus.TORN),
            (interpolated(position, velocity, states.effort[message]), StampStatus.INTERPOLATED)):
        if useless.any():
            used = message[~useless]
            status[used[0]], status[message[useless]] = status[message[0]], why
            return _runs(states, used, stamps, status, longest)
    time = (stamps[message] - stamps[message[0]]) * 1e-9
    fresh = ~repeats(time, position, velocity, states.effort[message])
    first = np.flatnonzero(fresh)
    older = np.append(-np.inf, time[:-1])
    paused = status[message[first]] == StampStatus.AFTER_GAP
    status[message[1:]] = StampStatus.FOLLOWS
    runs = []
    edges, last = np.append(first, len(message)), 0
    for found in sampling_instants(time[first], older[first], position[first], velocity[first]):
        # Evenly spaced samples do not show a gap; then the pause of the stamps counts.
        inside = slice(last + 1, last + len(found.time))
        gaps = 1 + np.flatnonzero(
            paused[inside] & (found.evenly_spaced | (np.diff(found.time) > longest)))
        status[message[first[last + gaps]]] = StampStatus.AFTER_GAP
        if last:
            status[message[first[last]]] = StampStatus.AFTER_STEP
        for begin, end in pairwise([0, *gaps, len(found.time)]):
            part = slice(edges[last + begin], edges[last + end])
            # Whole nanoseconds, as stamps are: rounding them later would show in the snap.
            at = np.round(1e9 * (found.time[begin:end] - time[part.start])) * 1e-9
            runs.append(Run(
                at, found.sampling_period, found.determined[begin:end], found.misfit,
                found.evenly_spaced, message[part], np.cumsum(fresh[part]) - 1))
        last += len(found.time)
    return runs
