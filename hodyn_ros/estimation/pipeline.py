"""From a bag to torques, chunk by chunk: memory does not grow with the recording.

The stamps of each chunk are classified, its motion is smoothed and its torques computed with a
margin on both sides, longer than the memory of the smoother; the margins are then dropped.
"""
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import threads
from hodyn_ros.estimation.derivatives import (
    Motion,
    Noise,
    Samples,
    fit_noise,
    smooth,
    velocity_lag,
)
from hodyn_ros.estimation.effort_unit import EffortUnit
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.estimation.message_counts import MessageCounts
from hodyn_ros.estimation.timing import (
    MIN_RUN,
    Run,
    StampStatus,
    analyse,
    choose_clock,
    typical_period,
)
from hodyn_ros.estimation.timing_statistics import TimingStatistics
from hodyn_ros.estimation.uncertainty import torque_deviation
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_state_bag import JointStateBag, JointStates
from hodyn_ros.robot import HodynError

Array = NDArray[np.float64]

CHUNK_SIZE = 16_384
"""Messages of a chunk without its margins."""

_FIT_WHOLE = 4000  # messages: shorter recordings are fitted whole
_FIT_WINDOWS, _FIT_WINDOW = 8, 500  # longer ones in windows spread over them
_TIMED_WINDOW = 2000  # messages around each: few do not tell the clock behind their stamps
_MARGIN_MEMORIES = 12.0
_DEVIATION_PERIOD = 0.1  # s: uncertainties change slowly
_REASONS = {
    StampStatus.DUPLICATE: 'stamp of the message before',
    StampStatus.REVERSED: 'stamp out of order',
    StampStatus.NO_MOTION: 'positions and velocities too large for a motion, or that contradict '
                           'each other',
    StampStatus.STALE: 'state of an earlier message, as a second publisher repeats it',
    StampStatus.TORN: 'positions and velocities of different samples: read while it was written',
    StampStatus.LONE: 'in a run too short to differentiate',
}


@dataclass(frozen=True, eq=False)
class Chunk:
    """What was computed of some messages, one after the other.

    Attributes
    ----------
    states : JointStates
        As recorded, (T,).
    stamps : (T,) int64 array
        The stamps that are used, ns.
    instants : (T,) int64 array
        When the states were sampled, ns: their stamps, unless the samples tell more.
    used : (T,) bool array
        Whether the motion is known at these messages.
    q, q_deviation : (T, 5, n) arrays
        The estimated motion and its standard deviation, rad/sᵏ; NaN where not used.
    torque, deviation : (T, 3, n) arrays
        Q, Q̇, Q̈, N m/sᵏ, and standard deviations that come from those of the motion; NaN where
        not used.
    predicted : (T, 2, n) array
        What the recorded effort is to be compared with, and its rate: Q and Q̇, less gravity where
        the driver reports efforts without it.
    slow : (T, 2, n) array
        The same and the recorded effort, both within the bandwidth of the motion, N m.
    begins : (T,) bool array
        First messages of runs.

    """

    states: JointStates
    stamps: NDArray[np.int64]
    instants: NDArray[np.int64]
    used: NDArray[np.bool_]
    q: Array
    q_deviation: Array
    torque: Array
    deviation: Array
    predicted: Array
    slow: Array
    begins: NDArray[np.bool_]


class Pipeline:
    """Computes the torques of a recorded motion.

    Attributes
    ----------
    noise : Noise
        Parameters of the smoother, fitted to the recording before anything is computed.
    timing_statistics : TimingStatistics
        What the stamps showed of the chunks computed so far.
    gravity_share : float
        The share of the gravity torque that the recorded efforts contain, by least squares: 1, or
        0 where the driver subtracts it; NaN when no effort changes or gravity causes none. Efforts
        of joints that never change are no measurements, and left out.
    effort_factor : float
        How many times the model's torques the efforts are, see `EffortUnit.factor`: of those in
        another unit, which then contain gravity; NaN of those that may be in N m.
    efforts_recorded : bool
        Whether any effort is.
    bandwidth : float
        Of the joint that is known to the fastest, Hz.
    velocity_lag : (float, float)
        How far the recorded velocities run behind the positions, and its standard deviation, s;
        NaN when none are recorded or the arm hardly accelerates.

    Parameters
    ----------
    bag : JointStateBag
        Open.
    feedforward : FeedForward
        Feed-forward of the robot.
    bandwidth : float, optional
        Of the motion, Hz; that of maximum likelihood by default.

    """

    def __init__(
        self, bag: JointStateBag, feedforward: FeedForward, *, bandwidth: float | None = None,
    ) -> None:
        self._bag = bag
        self._feedforward = feedforward
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
        found = [(window, run) for window, run in parts if len(run.time) >= MIN_RUN]
        runs = [samples(window, run) for window, run in found]
        if not runs:
            raise HodynError(
                f'{bag.path}: no {MIN_RUN} joint states in a row on {bag.topic} to estimate '
                f'derivatives from, of {bag.total}' + (bag.wants and f': {bag.wants}'))
        self.noise: Noise = fit_noise(runs)
        if bandwidth is not None:
            self.noise = self.noise.with_bandwidth(bandwidth)
        self.bandwidth = float(self.noise.bandwidth.max())
        self.velocity_lag = velocity_lag(runs, self.noise)
        self.timing_statistics = TimingStatistics(clock, period)
        efforts = whole.effort
        known = np.isfinite(efforts)
        self.efforts_recorded = bool(known.any())
        low, high = (getattr(np, name)(np.where(known, efforts, end), axis=0) for name, end in (
            ('min', np.inf), ('max', -np.inf)))
        self.gravity_share, self.effort_factor = self._unit_and_gravity(found, high > low)

    @property
    def gravity_recorded(self) -> bool:
        """Whether the recorded efforts are taken to contain gravity."""
        return not self.gravity_share < 0.5 or bool(np.isfinite(self.effort_factor))

    def _unit_and_gravity(
        self, runs: list[tuple[JointStates, Run]], changes: NDArray[np.bool_],
    ) -> tuple[float, float]:
        """Return `gravity_share` and `effort_factor`, by the efforts of joints that change."""
        product = square = 0.0
        unit, feedforward = EffortUnit(self._feedforward.robot.n), self._feedforward
        first = 0
        for window, run in runs:
            try:
                q = smooth(samples(window, run), self.noise).q
            except HodynError:
                continue  # counted when the chunks are computed
            weightless = feedforward.torque(q, gravity=False)[:, 0]
            gravity = feedforward.torque(q)[:, 0] - weightless
            effort = window.effort[run.first_message]
            rest = effort - weightless
            known = np.isfinite(rest) & changes
            block = first + np.floor(run.time).astype(np.intp)
            first = int(block[-1]) + 1
            unit.add(
                gravity, feedforward.torque(q, gravity=False, friction=False)[:, 0], q[:, 1],
                effort, known, block)
            product += float(np.sum((gravity * rest)[known]))
            square += float(np.sum(gravity[known] ** 2))
        return product / square if square > 0.0 else np.nan, unit.factor

    @property
    def counts(self) -> MessageCounts:
        """What became of each message, once all chunks were computed.

        Raises HodynError when the bag changed while it was read.
        """
        bag, statuses = self._bag, self.timing_statistics.counts
        if sum(statuses.values()) != bag.usable:
            raise HodynError(f'{bag.path}: changed while it was read')
        left_out = {reason: statuses[status] for status, reason in _REASONS.items()}
        return MessageCounts(
            topic=bag.topic, total=bag.total, used=bag.usable - sum(left_out.values()),
            unusable={
                **{reason: count for reason, count in left_out.items() if count},
                **bag.unusable},
            lost=bag.lost, in_part=bag.in_part, notes=tuple(bag.notes))

    def chunks(self, progress: Callable[[int], None] | None = None) -> Iterator[Chunk]:
        """Compute chunk after chunk, in another thread, while the one before is looked at.

        Parameters
        ----------
        progress : callable, optional
            Called with the number of messages done.

        """
        for chunk in self._computed():
            yield chunk
            if progress is not None:
                progress(len(chunk.stamps))

    def _computed(self) -> Iterator[Chunk]:
        margin = int(max(64, np.ceil(_MARGIN_MEMORIES * self.noise.memory.max()
                                     / self.noise.step)))
        waiting: deque[Future[Chunk]] = deque()
        with ThreadPoolExecutor(1) as ahead:
            for piece in _with_margins(self._bag.blocks(), CHUNK_SIZE, margin):
                waiting.append(ahead.submit(self._compute, *piece))
                if len(waiting) >= min(2, threads()):
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()

    def _compute(self, states: JointStates, inner: slice) -> Chunk:
        timing = analyse(states, self.timing_statistics.clock, self.timing_statistics.period)
        count, n = states.position.shape
        q, q_deviation = (np.full((count, 5, n), np.nan) for _ in range(2))
        torque, deviation = (np.full((count, 3, n), np.nan) for _ in range(2))
        predicted, slow = (np.full((count, 2, n), np.nan) for _ in range(2))
        begins = np.zeros(count, dtype=bool)
        instants = timing.stamps.copy()
        every = max(1, int(_DEVIATION_PERIOD / self.noise.step))
        for run in timing.runs:
            try:
                motion: Motion = smooth(samples(states, run), self.noise)
            except HodynError:
                timing.status[run.message] = StampStatus.NO_MOTION
                continue
            found = self._feedforward.torque(motion.q)
            spread = torque_deviation(self._feedforward, motion, every)
            q[run.message], q_deviation[run.message] = (
                motion.q[run.sample], motion.deviation[run.sample])
            torque[run.message], deviation[run.message] = found[run.sample], spread[run.sample]
            if not self.gravity_recorded:
                found = self._feedforward.torque(motion.q, gravity=False)
            predicted[run.message] = found[run.sample, :2]
            both = np.hstack([found[:, 0], states.effort[run.first_message]])
            slow[run.message] = low_pass(
                run.time, both, self.bandwidth).reshape(-1, 2, n)[run.sample]
            begins[run.message[0]] = True
            passed = np.round(run.time * 1e9).astype(np.int64)
            instants[run.message] = timing.stamps[run.message[0]] + passed[run.sample]
        used = np.isfinite(torque).all(axis=(1, 2))
        timing.status[~used & (timing.status <= StampStatus.AFTER_RESET)] = StampStatus.NO_MOTION
        self.timing_statistics.add(states, timing, inner)
        return Chunk(states[inner], timing.stamps[inner], instants[inner], used[inner], q[inner],
                    q_deviation[inner], torque[inner], deviation[inner], predicted[inner],
                    slow[inner], begins[inner])


def samples(states: JointStates, run: Run) -> Samples:
    """Return the samples of a run."""
    first = run.first_message
    return Samples(run.time, states.position[first], states.velocity[first])


def _windows(bag: JointStateBag) -> list[tuple[JointStates, slice]]:
    """Read what the smoother is fitted to, and what tells its instants.

    All of a short bag; the middles of windows of a long one.
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

    The last one has a quarter of the size at least: few states do not tell the clock behind them.
    Yields the states with the margins, and where the chunk lies in them.
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
