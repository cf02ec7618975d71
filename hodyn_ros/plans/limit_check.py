"""Checks q … q⃛, Q and Q̇ of a plan against the robot's limits, also between samples.

If the robot has actuators, three more things are checked: speed and torque of their motors,
deflection of their springs, and whether the springs can carry the torque at all.

All quantities are sampled densely enough for the plan's polynomials, and their peaks are refined
(`limits.peaks`). Limits apply to the full torque, with gravity and friction, even if the published
torque leaves these out.
"""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable, question_of_units, unit
from hodyn_ros.limits.margins import LimitMargin, margins
from hodyn_ros.limits.peaks import largest
from hodyn_ros.limits.quantities import QUANTITIES
from hodyn_ros.reference import Plan
from hodyn_ros.reference.extrema import sample_times
from hodyn_ros.robot import Robot

MAX_STEP = 5e-3
"""Largest time between samples of torques, s."""


# A plan out of range is probably in degrees if a position exceeds _MANY_TURNS, rad, or in mm if a
# position is beyond the range by more than _FAR, m.
_MANY_TURNS, _FAR = 12.0, 2.0


@dataclass(frozen=True)
class LimitReport:
    """The worst value of each quantity of each joint, joint by joint."""

    worst: tuple[LimitMargin, ...]

    def __repr__(self) -> str:
        """Return one line, since all margins would fill pages."""
        return f'<LimitReport: {self.summary or "within all known limits"}>'

    @property
    def violations(self) -> tuple[LimitMargin, ...]:
        """Entries beyond their limits: joints first, then motors and springs.

        In each group the largest excess relative to the limit is first. Joints are before motors
        and springs because their motion causes that of the motors, and because any excess over a
        limit of 0, which some springs have, would be the largest.
        """
        beyond = [entry for entry in self.worst if entry.exceeded]
        return tuple(sorted(beyond, key=lambda e: (
            QUANTITIES[e.quantity].of != 'joint', e.margin / max(abs(e.limit), 1e-12))))

    @property
    def within_limits(self) -> bool:
        """Whether all quantities are within their limits."""
        return not self.violations

    @property
    def summary(self) -> str:
        """The first violation and the number of others; empty without violations."""
        worst, *others = self.violations or ('',)
        return f'{worst}{f" (and {len(others)} more)" if others else ""}'

    @property
    def knows_limits(self) -> bool:
        """Whether any quantity of any joint has a limit."""
        return any(entry.is_known for entry in self.worst)

    @property
    def unknown_quantities(self) -> list[str]:
        """Quantities that lack a limit; if only some joints lack it, with their names."""
        found: dict[str, list[str]] = {}
        for entry in self.worst:
            if not entry.is_known and not entry.is_needless:
                found.setdefault(entry.quantity, []).append(entry.joint)
        everyone = len({entry.joint for entry in self.worst})
        return [quantity if len(joints) == everyone else f'{quantity} of {", ".join(joints)}'
                for quantity, joints in found.items()]


def doubt_of_units(robot: Robot, positions: Array) -> str:
    """Return a question about points, (m, n), that are probably in degrees or mm; else empty.

    Only the points count: between them, velocities may lead a plan far out of the range.
    """
    limits = robot.limits
    beyond = np.maximum(positions - limits.position_max, limits.position_min - positions)
    worst = beyond.argmax(axis=0)
    joints = np.arange(robot.n)
    value, most = positions[worst, joints], beyond[worst, joints]
    is_mistaken = (most > 0.0) & np.where(robot.turns, abs(value) > _MANY_TURNS, most > _FAR)
    units = {unit(robot, joint, 'position') for joint in np.flatnonzero(is_mistaken).tolist()}
    return f'; {question_of_units(units)}' if units else ''


def check_limits(plan: Plan, feedforward: FeedForward) -> LimitReport:
    """Return the worst value of each quantity over the whole plan, its ends included."""
    return LimitReport(worst_margins(plan, LimitTable(feedforward)))


def worst_margins(plan: Plan, table: LimitTable) -> tuple[LimitMargin, ...]:
    """Return where each column of a table is closest to its limits; without limits, where largest.

    Columns of joints come first, joint by joint, then those of motors, springs and reflexes.
    """
    nearest = [
        (column.rank, column.margin(*found))
        for half in table.halves if half.columns
        for column, found in zip(half.columns, _nearest(plan, half), strict=True)]
    return tuple(entry for _, entry in sorted(nearest, key=lambda one: one[0]))


def _nearest(plan: Plan, table: LimitTable) -> list[tuple[float, float, float, float]]:
    """Return when each column is nearest to a bound, and its value and bounds at this instant."""
    def nearness(instants: Array) -> Array:
        values, lower, upper = table.taken(plan.evaluate(instants))
        table.check_finite(values, instants)
        return -margins(values, lower, upper)

    _, instants = largest(nearness, sample_times(plan, MAX_STEP))
    there = (
        np.broadcast_to(values, 2 * instants.shape).diagonal().tolist()
        for values in table.taken(plan.evaluate(instants)))
    return list(zip(instants.tolist(), *there, strict=True))
