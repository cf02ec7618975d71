"""The smallest uniform time stretch that brings a plan within every limit."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.peaks import blocks
from hodyn_ros.limits.quantities import KINEMATIC
from hodyn_ros.plans.limit_check import MAX_STEP, LimitReport, worst_margins
from hodyn_ros.reference import Plan
from hodyn_ros.reference.extrema import sample_times

Array = NDArray[np.float64]

MAX_FACTOR = 1000.0
SCAN = 1.05
# Factors are offered to four digits after the point.
RESOLUTION = 1e-4
# A factor at which only gravity is left of the torques.
STATIC = 1e9


@dataclass(frozen=True)
class TimeScaling:
    """The factor by which a plan must be slower to pass its limits, or why there is none.

    Attributes
    ----------
    factor : float or None
        At least 1.
    reason : str
        Why there is none; empty when there is one.

    """

    factor: float | None
    reason: str = ''


def smallest_time_scaling(plan: Plan, limits: FeedForward | LimitTable) -> TimeScaling:
    """Find the smallest factor ≥ 1 by a scan, then bisection, on the check itself.

    Of the limits of a feed-forward's robot, or of a table. Torque is not monotone in the factor:
    centrifugal terms may have carried what gravity then does not.
    """
    table = limits if isinstance(limits, LimitTable) else LimitTable(limits)
    robot = table.feedforward.robot
    out = LimitReport(worst_margins(
        plan, LimitTable(table.feedforward, quantities=('position',)))).violations
    if out:
        return TimeScaling(None, (
            f'no stretch mends it: {out[0].joint} is out of its range at {out[0].time:.4g} s '
            'whatever the speed'))
    if not starts_and_ends_at_rest(plan):
        return TimeScaling(None, 'no stretch: only a plan that starts and ends at rest has one')
    search = _Search(plan, table)
    if search.excess(STATIC) > 1.0:
        time, column = search.worst
        if column.reflex:
            return TimeScaling(None, (
                'no stretch was found that trips no reflex: its weight alone trips '
                f'{column.reflex.name}'))
        joint = robot.joint_names[column.place]
        return TimeScaling(
            None, f'no stretch mends it: {joint} cannot hold the weight at {time:.4g} s')
    failing = search.kinematic_factor()
    if failing > MAX_FACTOR:
        worst = next(
            entry for entry in LimitReport(worst_margins(plan, table)).violations
            if entry.quantity in KINEMATIC[1:])
        return TimeScaling(None, f'no stretch up to {MAX_FACTOR:g} mends it: {worst}')
    while True:
        factor = search.smallest(failing)
        factor = float(np.ceil(factor / RESOLUTION - 1e-6) * RESOLUTION)
        if factor > MAX_FACTOR:
            return TimeScaling(None, f'no stretch up to {MAX_FACTOR:g} mends it')
        violations = LimitReport(worst_margins(plan.stretched(factor), table)).violations
        if not violations:
            return TimeScaling(round(factor, 4))
        # Peaks between the samples, which the check refines, join the search.
        search.add(np.array([entry.time / factor for entry in violations]))
        failing = factor + RESOLUTION


def starts_and_ends_at_rest(plan: Plan) -> bool:
    """Whether q̇ … q⁗ vanish at both ends, to round-off of what the pieces there do."""
    if plan.times.size == 1:
        return True
    ends = plan.evaluate(plan.times[[0, -1]])
    h = np.diff(plan.times)[[0, -1]]
    size = np.abs(plan.coefficients[[0, -1], 1:]).max(axis=(1, 2))
    # A short piece moves little, and is as uncertain as the positions at its ends.
    round_off = 1e4 * np.finfo(float).eps * np.abs(ends[:, 0]).max(axis=1)
    scale = (1e-9 * size + round_off + 1e-21)[:, None] / h[:, None] ** np.arange(1, 5)
    return bool((np.abs(ends[:, 1:]).max(axis=2) <= scale).all())


class _Search:
    """Tests factors on the instants that failed before, and on all only when those pass."""

    def __init__(self, plan: Plan, table: LimitTable) -> None:
        self.plan = plan
        self.table = table
        self.columns = table.limited_columns
        self.instants = sample_times(plan, MAX_STEP)
        self.active: Array = np.empty(0)
        self.worst = (0.0, table.columns[0])

    def add(self, instants: Array) -> None:
        """Test these instants first from now on."""
        self.active = np.unique(np.concatenate([self.active, instants]))

    def kinematic_factor(self) -> float:
        """Return the factor ≥ 1 that the sampled derivatives of the position ask for."""
        kinematic = np.array([column.quantity in KINEMATIC for column in self.columns], dtype=bool)
        roots = 1.0 / self.table.orders[kinematic]
        return max((
            float((self._shares(part, 1.0)[:, kinematic] ** roots).max(initial=1.0))
            for part in blocks(self.instants)), default=1.0)

    def smallest(self, start: float) -> float:
        """Return the smallest factor from `start` on that passes, or one beyond MAX_FACTOR.

        Only the scan tests all instants; the check does so for the result as well.
        """
        failing = factor = start
        while self.excess(factor) > 1.0 and factor <= MAX_FACTOR:
            failing, factor = factor, factor * SCAN
        while factor - failing > RESOLUTION / 2.0:
            middle = 0.5 * (failing + factor)
            if self._shares(self.active, middle).max() > 1.0:
                failing = middle
            else:
                factor = middle
        return factor

    def excess(self, factor: float) -> float:
        """Return the largest share of a limit that is taken."""
        if self.active.size:
            largest = float(self._shares(self.active, factor).max(initial=0.0))
            if largest > 1.0:
                return largest
        largest = 0.0
        failed = []
        for part in blocks(self.instants):
            shares = self._shares(part, factor)
            worst = float(shares.max(initial=0.0))
            if worst > 1.0:
                # The worst instant of each column stands for its neighbours.
                failed.append(part[np.unique(shares.argmax(axis=0)[shares.max(axis=0) > 1.0])])
            if worst > largest:
                largest = worst
                sample, column = np.unravel_index(int(shares.argmax()), shares.shape)
                self.worst = (float(part[sample]), self.columns[column])
        if failed:
            self.add(np.concatenate(failed))
        return largest

    def _shares(self, instants: Array, factor: float) -> Array:
        """Return the shares of the limits, (T, columns), of the plan so much slower."""
        motion = self.plan.evaluate(instants)
        motion *= (factor ** -np.arange(5.0))[:, None]
        return np.abs(self.table.shares(motion))
