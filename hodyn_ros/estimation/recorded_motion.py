"""Estimates the motion of a bag piece by piece: memory does not grow with the recording.

Each piece has a margin on both sides. It is longer than the memory of the smoother, so that a part
of it is left for the filters that follow.
"""
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, fields
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.common.jit import threads
from hodyn_ros.estimation.derivatives import (
    Motion,
    Noise,
    Samples,
    fit_noise,
    smooth,
)
from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.estimation.stamp_faults import stamp_faults
from hodyn_ros.estimation.timing import (
    MIN_RUN,
    Run,
    StampStatus,
    analyse,
    choose_clock,
    typical_period,
)
from hodyn_ros.estimation.timing_statistics import TimingStatistics
from hodyn_ros.estimation.velocity_lag import velocity_lag
from hodyn_ros.messages.joint_state_bag import JointStateBag, JointStates
from hodyn_ros.robot import HodynError

T = TypeVar('T')
P = TypeVar('P', bound='MotionPiece')
Runs = list[tuple[Run, Motion]]

CHUNK_SIZE = 16_384
"""Number of messages of a piece without its margins."""

_FIT_WHOLE = 4000  # greatest number of messages of a recording that is fitted as a whole
_FIT_WINDOWS, _FIT_WINDOW = 8, 500  # number of windows of a longer recording, messages in each
# Messages that are read per window, to determine the clock; the middle `_FIT_WINDOW` are fitted.
_TIMED_WINDOW = 2000
_MARGIN_MEMORIES = 12.0  # length of a margin, in memories of the smoother
_REASONS = {
    StampStatus.DUPLICATE: 'same stamp as the message before',
    StampStatus.REVERSED: 'stamp out of order',
    StampStatus.NO_MOTION: 'positions and velocities that are too large for a motion, or '
                           'contradict each other',
    StampStatus.STALE: 'state of an earlier message, repeated by a second publisher',
    StampStatus.TORN: 'positions and velocities of different samples: the state was read while it '
                      'was being written',
    StampStatus.EMPTY: 'all positions are exactly 0, as from a driver that has no data',
    StampStatus.INTERPOLATED: 'on a straight line between two samples',
    StampStatus.LONE: 'in a run too short to differentiate',
}


@dataclass(frozen=True, eq=False)
class MotionPiece:
    """The motion at consecutive messages."""

    states: JointStates  #: As recorded, (T,)
    stamps: NDArray[np.int64]  #: (T,): the stamps that are used, ns
    #: (T,): when the states were sampled, ns: restored instants, else their stamps
    instants: NDArray[np.int64]
    used: Flags  #: (T,): whether the motion is known at these messages
    begins: Flags  #: (T,): first messages of runs
    leap: Array  #: (T, n): leap of positions just before each message, rad or m; 0 if none
    #: `q`, `q_deviation`: (T, 5, n): the estimated motion and its standard deviation, rad/sᵏ; NaN
    #: where not used
    q: Array
    q_deviation: Array

    def __getitem__(self: P, index: slice | Flags) -> P:
        return type(self)(*(getattr(self, one.name)[index] for one in fields(self)))


class RecordedMotion:
    """Estimates the motion of a recording from its open bag.

    `bandwidth`, Hz, is that of the motion; by default it is the most likely one.
    """

    def __init__(self, bag: JointStateBag, *, bandwidth: float | None = None) -> None:
        self._bag = bag
        windows = _windows(bag)
        whole = JointStates.joined([window for window, _ in windows])
        clock = choose_clock(whole)
        period = typical_period(whole.stamp if clock == 'header' else whole.received)
        with ThreadPoolExecutor(threads()) as pool:
            timings = pool.map(
                lambda window: analyse(window, clock, period), [window for window, _ in windows])
        parts = [
            (window, run.part(inner)) for (window, inner), timing in zip(
                windows, timings, strict=True) for run in timing.runs]
        #: The parts to which the smoother was fitted
        self.sampled = [(window, run) for window, run in parts if len(run.time) >= MIN_RUN]
        #: (T, n): recorded efforts of all windows that were read for the fit
        self.efforts = whole.effort
        runs = [samples(window, run) for window, run in self.sampled]
        if not runs:
            causes = [bag.wants, stamp_faults(
                whole.stamp if clock == 'header' else whole.received, clock)]
            raise HodynError(': '.join(filter(None, [
                f'{bag.path}: of the {bag.total} joint states on {bag.topic}, no {MIN_RUN} in a '
                'row can be differentiated', '; '.join(filter(None, causes))])))
        #: Parameters of the smoother, fitted to the recording before anything is computed
        self.noise: Noise = fit_noise(runs)
        if bandwidth is not None:
            self.noise = self.noise.with_bandwidth(bandwidth)
        self.bandwidth = float(self.noise.bandwidth.max())  #: Largest bandwidth of the joints, Hz
        #: Lag of the recorded velocities behind the positions
        self.velocity_lag = velocity_lag(runs, self.noise)
        #: Statistics of the stamps of the pieces computed so far
        self.timing_statistics = TimingStatistics(clock, period)

    @property
    def counts(self) -> MessageCounts:
        """What became of each message; known only after all pieces have been evaluated.

        HodynError: messages are missing or new, as the bag changed while it was read.
        """
        bag, statuses = self._bag, self.timing_statistics.counts
        if sum(statuses.values()) != bag.usable:
            raise HodynError(f'{bag.path}: changed while it was read')
        left_out = {reason: statuses[status] for status, reason in _REASONS.items()}
        if astray := self.timing_statistics.astray:
            passed, joint, off = max(astray, key=lambda each: abs(each[2]))
            left_out[
                f'a position off its neighbours, {bag.names[joint]} by {abs(off):.2g} rad at '
                f't = {1e-9 * passed:.4g} s'] = statuses[StampStatus.ASTRAY]
        return MessageCounts(
            topic=bag.topic, total=bag.total, used=bag.usable - sum(left_out.values()),
            unusable={
                **{reason: count for reason, count in left_out.items() if count},
                **bag.unusable},
            lost=bag.lost, in_part=bag.in_part, notes=tuple(bag.notes))

    def evaluated(self, evaluate: Callable[[MotionPiece, Runs, slice], T]) -> Iterator[T]:
        """Evaluate piece after piece in another thread, while the caller uses the previous one.

        `evaluate` gets each piece with margins, its runs of samples with the motion estimated from
        them, and the slice of the piece without its margins.
        """
        margin = int(max(64, np.ceil(_MARGIN_MEMORIES * self.noise.memory.max()
                                     / min(self.noise.step, self.timing_statistics.period))))
        waiting: deque[Future[T]] = deque()
        with ThreadPoolExecutor(1) as ahead:
            for states, inner in _with_margins(self._bag.blocks(), CHUNK_SIZE, margin):
                waiting.append(ahead.submit(
                    lambda *given: evaluate(*self._piece(*given)), states, inner))
                if len(waiting) >= min(2, threads()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _piece(self, states: JointStates, inner: slice) -> tuple[MotionPiece, Runs, slice]:
        timing = analyse(states, self.timing_statistics.clock, self.timing_statistics.period)
        count, n = states.position.shape
        q, deviation = (np.full((count, 5, n), np.nan) for _ in range(2))
        begins = np.zeros(count, dtype=bool)
        instants = timing.stamps.copy()
        runs = []
        for run in timing.runs:
            try:
                motion = smooth(samples(states, run), self.noise)
            except HodynError:
                timing.status[run.message] = StampStatus.NO_MOTION
                continue
            runs.append((run, motion))
            q[run.message], deviation[run.message] = (
                motion.q[run.sample], motion.deviation[run.sample])
            begins[run.message[0]] = True
            passed = np.round(run.time * 1e9).astype(np.int64)
            instants[run.message] = timing.stamps[run.message[0]] + passed[run.sample]
        used = np.isfinite(q).all(axis=(1, 2))
        timing.status[~used & (timing.status <= StampStatus.AFTER_RESET)] = StampStatus.NO_MOTION
        self.timing_statistics.add(states, timing, inner)
        return MotionPiece(
            states, timing.stamps, instants, used, begins, timing.leap, q, deviation), runs, inner


def samples(states: JointStates, run: Run) -> Samples:
    """Return the samples of a run."""
    first = run.first_message
    return Samples(run.time, states.position[first], states.velocity[first])


def _windows(bag: JointStateBag) -> list[tuple[JointStates, slice]]:
    """Read windows of states; return each with the part to which the smoother is fitted.

    A short bag is one window. In a long one the middles of windows are fitted; the states around
    them determine their instants.
    """
    if bag.usable <= _FIT_WHOLE:
        return [(JointStates.joined(list(bag.blocks())), slice(0, bag.usable))]
    begins = np.linspace(0, bag.usable - _TIMED_WINDOW, _FIT_WINDOWS).astype(int)
    pieces: list[list[JointStates]] = [[] for _ in begins]
    passed = 0
    for block in bag.blocks():
        for window, begin in zip(pieces, begins - passed, strict=True):
            piece = block[max(0, begin):max(0, begin + _TIMED_WINDOW)]
            if len(piece):
                window.append(piece)
        passed += len(block)
    first = (_TIMED_WINDOW - _FIT_WINDOW) // 2
    return [(JointStates.joined(window), slice(first, first + _FIT_WINDOW)) for window in pieces]


def _with_margins(
    blocks: Iterable[JointStates], size: int, margin: int,
) -> Iterator[tuple[JointStates, slice]]:
    """Cut blocks into chunks of `size` with up to `margin` more on both sides.

    The last chunk has at least a quarter of the size, since few states do not determine the clock.
    Yields the states with the margins, and the slice of the chunk in them.
    """
    kept: list[JointStates] = []
    length = before = 0
    for block in blocks:
        kept.append(block)
        length += len(block)
        while length >= before + size + max(margin, size // 4):
            states = JointStates.joined(kept)
            yield states[:before + size + margin], slice(before, before + size)
            drop = max(0, before + size - margin)
            kept, length = [states[drop:]], length - drop
            before = before + size - drop
    if length > before:
        yield JointStates.joined(kept), slice(before, length)
