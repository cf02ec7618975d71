"""Checks a plan before it runs: q … q⃛, Q and Q̇ against the robot's limits, between samples too.

A robot with actuators has its motors checked as well: their speed and torque, the deflection of
the springs, and whether the springs can carry the torque at all.

Kinematic peaks are exact (`reference.extrema`). Everything else is sampled densely enough for the
polynomials under it, and its peaks refined (`limits.peaks`). Limits are of the full torque, with
gravity and friction, whatever the outputs leave out.
"""
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import Column, LimitTable
from hodyn_ros.limits.peaks import BLOCK, largest
from hodyn_ros.limits.quantities import (
    JOINT_QUANTITIES,
    KINEMATIC,
    MOTOR_QUANTITIES,
    SPRING_QUANTITIES,
)
from hodyn_ros.reference import Plan, extrema

Array = NDArray[np.float64]

# A piece is of degree 9: Q and Q̇ have no more than a few turns on it.
SAMPLES_PER_PIECE = 12
MAX_STEP = 5e-3
# Round-off, so that a peak brought to its limit on purpose passes.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class LimitMargin:
    """Where a quantity of a joint comes closest to its limit, or exceeds it most.

    Attributes
    ----------
    joint, quantity, unit : str
        Names of the joint and the quantity, and the SI unit of the latter.
    time : float
        s, from the plan's zero.
    value, lower, upper : float
        In `unit`; a limit is infinite where none is known, and the value then the largest.

    """

    joint: str
    quantity: str
    unit: str
    time: float
    value: float
    lower: float
    upper: float

    @property
    def limit(self) -> float:
        """The limit that is nearer."""
        return self.upper if self.upper - self.value <= self.value - self.lower else self.lower

    @property
    def margin(self) -> float:
        """What is left to the limit, in `unit`; negative beyond it."""
        return min(self.upper - self.value, self.value - self.lower)

    @property
    def exceeded(self) -> bool:
        """Whether the value is beyond its limit by more than round-off."""
        return self.margin < -TOLERANCE * max(1.0, abs(self.value))

    def __str__(self) -> str:
        return (
            f'{self.joint}: {self.quantity} {self.value:.6g} {self.unit} at {self.time:.4g} s, '
            f'limit {self.limit:.6g} {self.unit}')


@dataclass(frozen=True)
class LimitReport:
    """The worst value of each quantity of each joint, joint by joint."""

    worst: tuple[LimitMargin, ...]

    @property
    def violations(self) -> tuple[LimitMargin, ...]:
        """Those beyond their limits, the largest excess in proportion first."""
        beyond = [entry for entry in self.worst if entry.exceeded]
        return tuple(sorted(beyond, key=lambda e: e.margin / max(abs(e.limit), 1e-12)))

    @property
    def within_limits(self) -> bool:
        """Whether no limit is passed."""
        return not self.violations

    @property
    def knows_limits(self) -> bool:
        """Whether there is a limit that might be passed."""
        return any(np.isfinite([entry.lower, entry.upper]).any() for entry in self.worst)

    @property
    def unknown_quantities(self) -> list[str]:
        """The quantities, but positions, that no joint has a limit of, or of which joints."""
        found: dict[str, list[str]] = {}
        for entry in self.worst:
            known = np.isfinite([entry.lower, entry.upper]).any()
            if entry.quantity != 'position' and not known:
                found.setdefault(entry.quantity, []).append(entry.joint)
        everyone = len({entry.joint for entry in self.worst})
        return [quantity if len(joints) == everyone else f'{quantity} of {", ".join(joints)}'
                for quantity, joints in found.items()]


def check_limits(plan: Plan, feedforward: FeedForward) -> LimitReport:
    """Return the worst value of each quantity over the whole plan, holds at its ends included."""
    return LimitReport(worst_margins(plan, LimitTable(feedforward)))


def worst_margins(plan: Plan, table: LimitTable) -> tuple[LimitMargin, ...]:
    """Return where each column of a table comes closest to its limits, or is largest.

    Joint by joint, then the motors', then reflexes, which say nothing of their names.
    """
    found = [_exact(plan, table), _between_samples(plan, table)]
    return tuple(
        min((LimitMargin(column.joint, column.quantity, column.unit, *part[c])
             for part in found if c in part), key=lambda entry: entry.margin)
        for c, column in sorted(enumerate(table.columns), key=_place(table.columns)))


def _place(columns: Sequence[Column]) -> Callable[[tuple[int, Column]], tuple[int, int]]:
    """Return a key by which columns are sorted joint by joint, then motor by motor."""
    def group(column: Column) -> int:
        kinds = (JOINT_QUANTITIES, MOTOR_QUANTITIES, SPRING_QUANTITIES)
        kind = next(i for i, kind in enumerate(kinds) if column.quantity in kind)
        return len(kinds) if column.reflex else kind

    first: dict[tuple[int, str], int] = {}
    for c, column in enumerate(columns):
        first.setdefault((group(column), column.joint), c)
    return lambda one: (group(one[1]), first[group(one[1]), one[1].joint])


Found = dict[int, tuple[float, float, float, float]]
"""By column: instant, value there, lower and upper bound there."""


def _exact(plan: Plan, table: LimitTable) -> Found:
    """Return what is closest to constant bounds of derivatives of the position."""
    peaks = [extrema(plan, order) for order in range(len(KINEMATIC))]
    found: Found = {}
    for c, column in enumerate(table.columns):
        if column.quantity in KINEMATIC:
            values, times = peaks[column.order]
            lower, upper = float(table.lower[c]), float(table.upper[c])
            below, above = values[:, column.place].tolist()
            if np.isinf(lower) and np.isinf(upper):
                side = int(abs(above) > abs(below))
            else:
                side = int(upper - above < below - lower)
            found[c] = (
                float(times[side, column.place]), (below, above)[side], lower, upper)
    return found


def _between_samples(plan: Plan, table: LimitTable) -> Found:
    """Return what is closest to its bounds of all else."""
    sought = np.flatnonzero(
        [column.quantity not in KINEMATIC for column in table.columns] | table.depends)

    def nearness(instants: Array) -> Array:
        motion = plan.evaluate(instants)
        margins = table.margins(motion)
        table.check_finite(margins, instants)
        nearness: Array = -margins[:, sought]
        return nearness

    _, instants = largest(nearness, sample_times(plan))
    motion = plan.evaluate(instants)
    rows = np.arange(sought.size), sought
    values = table.values(motion)[rows]
    lower, upper = (
        np.broadcast_to(bound, (sought.size, len(table.columns)))[rows]
        for bound in table.bounds(motion))
    return dict(zip(sought.tolist(), zip(
        instants.tolist(), values.tolist(), lower.tolist(), upper.tolist(), strict=True),
        strict=True))


def sample_times(plan: Plan) -> Array:
    """Return instants (T,) that resolve the torques of a plan, its knots among them."""
    spacings = np.diff(plan.times)
    if not spacings.size:
        held: Array = plan.times.copy()
        return held
    counts = np.maximum(SAMPLES_PER_PIECE, np.ceil(spacings / MAX_STEP)).astype(int)
    first = np.repeat(np.cumsum(counts) - counts, counts)
    within = np.arange(counts.sum()) - first
    instants = np.repeat(plan.times[:-1], counts) + within * np.repeat(spacings / counts, counts)
    return np.append(instants, plan.times[-1])


def blocks(instants: Array) -> Iterator[Array]:
    """Split instants so that what is computed for each part at once stays small."""
    for first in range(0, instants.size, BLOCK):
        yield instants[first:first + BLOCK]
