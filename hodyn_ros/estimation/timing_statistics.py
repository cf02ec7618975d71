"""Statistics of the stamps of a whole recording, counted chunk by chunk."""
from dataclasses import dataclass, field

import numpy as np

from hodyn_ros.common.arrays import Array, decimal_step
from hodyn_ros.estimation.timing import Run, StampStatus, Timing
from hodyn_ros.messages.joint_state_bag import JointStates

_LISTED = 200  # greatest number of gaps, resets, … that are listed one by one
_REGULAR = 0.1  # greatest RMS distance of regular steps from whole periods; random ones have 0.29
# Pauses by chance have distances whose deviation is near their mean; that of two mixed rates, or
# of a rate that is converted, is below this part of it. The bound is lower for few distances.
_BY_CHANCE = 0.5


@dataclass
class TimingStatistics:
    """Statistics of the stamps of a whole recording, for the report."""

    #: `clock`, `period`: As in `Timing`
    clock: str
    period: float
    #: The mean period by which instants were restored, s; NaN if none were
    sampling_period: float = np.nan
    #: Number of messages by status
    counts: dict[StampStatus, int] = field(default_factory=lambda: dict.fromkeys(StampStatus, 0))
    headers_not_ahead: int = 0  #: Number of header stamps that are not later than the previous one
    republished: int = 0  #: Number of republished messages
    restored: int = 0  #: Number of samples with restored instants
    #: Number of samples that arrived in bursts and were spaced evenly here, as no sampling period
    #: was found
    evenly_spaced: int = 0
    #: Number of restored samples whose interval from the previous one follows from the states, not
    #: from the stamps
    determined: int = 0
    #: Number of samples that regular steps within runs leave out: lost, or never published
    missing: int = 0
    #: Greatest distance of an instant from the first stamp of its sample, s
    largest_move: float = 0.0
    #: `gaps`, `resets`: the first 200, (ns, s): the last stamp before, and the length of the pause
    #: or of the jump back
    gaps: list[tuple[int, float]] = field(default_factory=list)
    resets: list[tuple[int, float]] = field(default_factory=list)
    #: The first 200 times that the stamps jumped by less than a gap, unlike the motion: the stamp
    #: after each, ns
    clock_steps: list[int] = field(default_factory=list)
    #: list of (ns, int, float): the first 200 messages with positions far off their neighbours:
    #: time since the first stamp, index of the joint, and how far, rad
    astray: list[tuple[int, int, float]] = field(default_factory=list)
    #: (float, float): least and greatest receive time minus header stamp, s
    latency: tuple[float, float] = (np.inf, -np.inf)
    #: Decimal step to which all positions are rounded, rad or m; 0 if they are not
    decimal: float = np.inf
    _steps: Array = field(default_factory=lambda: np.zeros(3))
    _misfit: Array = field(default_factory=lambda: np.zeros(2))
    _begin: int | None = None

    @property
    def misfit(self) -> float:
        """RMS by which steps of the stamps contradict the positions, s; NaN if not determined."""
        count, squares = self._misfit
        return float(np.sqrt(squares / count)) if count else np.nan

    @property
    def resampled(self) -> str:
        """A sentence on interpolated positions; empty if there are none."""
        between = self.counts[StampStatus.INTERPOLATED]
        kept = sum(self.counts[status] for status in StampStatus
                   if status <= StampStatus.AFTER_RESET)
        if not between:
            return ''
        rate = kept / (between + kept) / self.period
        return (
            f'The positions of {between} messages lie on straight lines between regular others: '
            f'the log seems to be resampled by linear interpolation from about {rate:.3g} Hz, '
            'unless the motion is made of straight lines. '
            'They are left out, since their derivatives would be wrong. Use the original samples.')

    @property
    def jitter(self) -> float:
        """Standard deviation of the time between messages within runs, s."""
        count, total, squares = self._steps
        return float(np.sqrt(max(squares / count - (total / count) ** 2, 0.0))) if count else 0.0

    def add(self, states: JointStates, timing: Timing, chunk: slice) -> None:
        """Count the messages of a chunk; the states around it are its margins."""
        for status in StampStatus:
            self.counts[status] += int(np.count_nonzero(timing.status[chunk] == status))
        self._add_astray(timing, chunk)
        self.decimal = min(self.decimal, decimal_step(states.position[chunk]))
        headers = states.stamp[max(chunk.start - 1, 0):chunk.stop]
        self.headers_not_ahead += int(np.count_nonzero(np.diff(headers) <= 0))
        self.republished += int(np.count_nonzero(timing.republished[chunk]))
        for run in timing.runs:
            self._add_run(timing, run, chunk)
        usable = np.flatnonzero(timing.status <= StampStatus.AFTER_RESET)
        usable = usable[usable < chunk.stop]
        steps = np.diff(timing.stamps[usable]) * 1e-9
        after = usable[1:]
        inside = after >= chunk.start
        # Steps minus the typical one: sums of squares of small numbers lose no digits.
        within = steps[inside & (timing.status[after] == StampStatus.FOLLOWS)] - self.period
        self._steps += len(within), within.sum(), within @ within
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

    def _add_astray(self, timing: Timing, chunk: slice) -> None:
        if self._begin is None and len(timing.stamps):
            self._begin = int(timing.stamps[0])
        for i in np.flatnonzero(timing.status[chunk] == StampStatus.ASTRAY) + chunk.start:
            if len(self.astray) < _LISTED:
                joint = int(np.argmax(np.abs(timing.off[i])))
                self.astray.append((
                    int(timing.stamps[i]) - (self._begin or 0), joint,
                    float(timing.off[i, joint])))

    def _add_run(self, timing: Timing, run: Run, chunk: slice) -> None:
        first = run.first_message
        mine = (first >= chunk.start) & (first < chunk.stop)
        count = int(np.count_nonzero(mine))
        self.missing += int(max(_left_out(run)[mine].sum(), 0.0))
        if not np.isnan(run.misfit):
            self._misfit += count, count * run.misfit ** 2
        if not count or (np.isnan(run.sampling_period) and not run.evenly_spaced):
            return
        if run.evenly_spaced:
            self.evenly_spaced += count
        else:
            before = self.sampling_period if self.restored else run.sampling_period
            self.restored += count
            self.sampling_period = before + (
                run.sampling_period - before) * count / self.restored
            self.determined += int(np.count_nonzero(run.determined & mine))
        stamps = (timing.stamps[first] - timing.stamps[run.message[0]]) * 1e-9
        self.largest_move = max(
            self.largest_move, float(np.max(np.abs(run.time - stamps)[mine])))


def _left_out(run: Run) -> Array:
    """Return how many samples are missing before each, (S,); −1 for one that catches up.

    The period is the median step, in which most messages follow each other. All are 0 if the steps
    are no multiples of it, or if the pauses are as regular as those of a slower rate.
    """
    if run.evenly_spaced or len(run.time) < 2:
        return np.zeros(len(run.time))
    steps = np.diff(run.time) / np.median(np.diff(run.time))
    periods = np.rint(steps)
    apart = np.diff(np.flatnonzero(periods > 1.0))
    if np.sqrt(np.mean((steps - periods) ** 2)) > _REGULAR or (len(apart) > 1 and (
            apart.std() < _BY_CHANCE * (1.0 - len(apart) ** -0.5) * apart.mean())):
        return np.zeros(len(run.time))
    return np.append(0.0, periods - 1.0)
