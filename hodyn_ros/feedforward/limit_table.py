"""The limits of a robot's motions in one table: each quantity of each joint, motor and reflex.

The check, stretch and retiming of plans and the checks of cycles and recordings use the table to
find how near a motion is to each limit. A column is a quantity of a joint or motor; its bounds may
depend on the position and velocity of the joint.
"""
from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
import copy
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.common.errors import check_choice
from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.limits.margins import (
    TOLERANCE,
    Extremes,
    LimitMargin,
    margins,
    position_slack,
    shares,
)
from hodyn_ros.limits.quantities import (
    CHECKED,
    EFFORTS,
    KINEMATIC,
    MOTOR_QUANTITIES,
    QUANTITIES,
    Quantity,
)
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.reflexes import COMMANDS, Commands, Reflex

COMMANDED_RATE = 'commanded_rate'
SPRING = 'spring'
SMALLEST_ROOM = 1e-12  # least margin of a spring at rest, so that shares of it are finite
KINDS = ('joint', 'motor', 'spring')


@dataclass(frozen=True)
class Column:
    """A quantity of a joint or of one of its motors."""

    joint: str  #: Name of the joint, or of the motor
    #: `quantity`, `unit`: As in `limits.quantities`; SI
    quantity: str
    unit: str
    order: int  #: Highest derivative of position along the path on which the quantity depends
    place: int  #: Index of the joint in the robot
    #: Sort key: joint by joint, then motor by motor, then spring by spring, reflexes last
    rank: tuple[bool, int, int]
    #: The reflex that stops the arm beyond the bounds; None for limits
    reflex: Reflex | None = None

    def margin(
        self, time: float, value: float, lower: float, upper: float, **more: Any,
    ) -> LimitMargin:
        """Return the margin at the closest approach; the values are as for `LimitMargin`."""
        if self.reflex is not None:
            more.update(reflex=self.reflex.name, commands=self.reflex.commands)
        return LimitMargin(
            self.joint, self.quantity, self.unit, time, value, lower, upper, **more)


@dataclass(frozen=True, eq=False)
class _Part:
    """Adjacent columns of one quantity; `places` are their indices in the array of `source`.

    Shares of a bound count from `neutral`, the value at rest.
    """

    quantity: Quantity
    source: str
    places: Indices
    lower: Array
    upper: Array
    neutral: float | Array = 0.0
    reflex: Reflex | None = None


class LimitTable:
    """The limits and reflexes against which motions of a robot are checked.

    Parameters
    ----------
    feedforward : FeedForward
        Gives the torques, always with gravity and friction, even if the output leaves them out.
    *commands : 'effort' or 'position', optional
        Quantities that are commanded to the arm. The reflexes that the vendor's controller has
        for them become columns too. A reflex compares differences of successive commands, which
        are means of a derivative. Its column bounds this derivative, so a motion from rest to rest
        within the bounds trips no reflex.
    quantities : sequence of str, optional
        The quantities of the columns that are not reflexes, in this order.

    """

    def __init__(
        self, feedforward: FeedForward, *commands: Commands, quantities: Sequence[str] = CHECKED,
    ) -> None:
        for kind in commands:
            check_choice(kind, 'commands', COMMANDS)
        self.feedforward = feedforward
        parts = [self._part(QUANTITIES[name]) for name in quantities]
        if feedforward.robot.reflexes is not None:
            parts += [self._reflex(stop) for stop in feedforward.robot.reflexes.stops
                      if stop.commands in commands]
        self._arrange([part for part in parts if part.places.size])

    def _part(self, row: Quantity) -> _Part:
        """Return the columns of a quantity."""
        robot, side = self.feedforward.robot, self.feedforward.motor_side
        bound = getattr(robot.limits, row.name, np.full(robot.n, np.inf))
        if row.name == 'position':
            return _Part(row, row.name, np.arange(robot.n), robot.limits.position_min,
                         robot.limits.position_max)
        if row.of == 'joint':
            return _Part(row, row.name, np.arange(robot.n), -bound, bound)
        if side is None:
            return _Part(row, row.name, np.arange(0), bound, bound)
        actuators = side.actuators
        if row.of == 'motor':
            bound = actuators.motor_limits()[MOTOR_QUANTITIES.index(row.name)]
            sprung = ~np.asarray(actuators.rigid)[actuators.motor_joints]
            return _Part(row, row.name, np.flatnonzero(sprung | (row.name != 'deflection')),
                         -bound, bound)
        # The torque or stiffness that a spring still has in reserve, if its law limits it.
        room: Array = side.sample(np.zeros((1, 5, robot.n)), np.zeros((1, 3, robot.n)))[2][0]
        chosen = np.isfinite(room) & (actuators.variable == (row.name == 'stiffness_left'))
        return _Part(row, SPRING, np.flatnonzero(chosen), np.zeros(robot.n),
                     np.full(robot.n, np.inf), np.maximum(room, SMALLEST_ROOM))

    def _reflex(self, stop: Reflex) -> _Part:
        """Return the columns of a reflex."""
        reflexes, bound = self.feedforward.robot.reflexes, stop.limit.max(axis=0)
        commanded = stop.quantity == 'effort_rate' and reflexes and not reflexes.gravity
        return _Part(
            QUANTITIES[stop.quantity], COMMANDED_RATE if commanded else stop.quantity,
            np.flatnonzero(np.isfinite(bound)), -bound, bound, reflex=stop)

    def _arrange(self, parts: list[_Part]) -> None:
        """Set the columns and arrays that follow from parts."""
        robot = self.feedforward.robot
        self.columns: list[Column] = []  #: All columns, with or without a limit
        self._parts: list[tuple[_Part, slice]] = []
        rows: list[Sequence[NDArray[Any]]] = [
            (*np.empty((3, 0)), *np.empty((2, 0), dtype=bool))]
        for part in parts:
            row, places = part.quantity, part.places
            names, joints = robot.joint_names, np.arange(robot.n)
            if row.of == 'motor' and robot.actuators is not None:
                names, joints = robot.actuators.motor_names, robot.actuators.motor_joints
            self._parts.append((part, slice(len(self.columns), len(self.columns) + places.size)))
            self.columns += [
                Column(
                    names[i], row.name, unit(robot, joints[i], row.name), row.order,
                    int(joints[i]), (part.reflex is not None, KINDS.index(row.of), i), part.reflex)
                for i in places.tolist()]
            bounded = np.isfinite(part.lower) | np.isfinite(part.upper)
            if part.source == 'velocity':
                bounded |= robot.limits.depend_on_position
            # A limit with the same or narrower bounds makes a reflex redundant.
            spare = (part.reflex is not None) & (part.source == row.name) & (
                part.upper >= getattr(robot.limits, row.name, np.inf))
            spare &= part.reflex is None or part.reflex.speed.size == 1
            rows.append([np.broadcast_to(each, part.upper.shape)[places] for each in (
                part.lower, part.upper, part.neutral, bounded,
                (row.order > 0) & bounded & ~spare)])
        #: `lower`, `upper`: (C,): the constant bounds, infinite for none;
        #: `bounded`: (C,): columns that have a bound
        self.lower, self.upper, neutral, self.bounded, counts = (
            np.concatenate(row) for row in zip(*rows, strict=True))
        #: (C,): columns that are reflexes
        self.is_reflex = np.array([column.reflex is not None for column in self.columns])
        #: (K,): bounded columns that a slower motion relieves: all except positions, and except
        #: reflexes that a limit with the same or narrower bounds makes redundant
        self.limited: Indices = np.flatnonzero(counts)
        self.limited_columns = [self.columns[i] for i in self.limited]
        #: (K,): `Column.order` of the `limited` columns
        self.orders = np.array([column.order for column in self.limited_columns], dtype=int)
        self._neutral_limited = neutral[self.limited]
        self._sources = {part.source for part in parts}
        self._depends = bool(robot.limits.depend_on_position.any()) or any(
            part.reflex is not None and part.reflex.speed.size > 1 for part in parts)

    @cached_property
    def halves(self) -> tuple[LimitTable, LimitTable]:
        """Two tables: of the kinematic quantities, which are cheap, and of all others."""
        tables = copy.copy(self), copy.copy(self)
        for is_kinematic, table in zip((True, False), tables, strict=True):
            table._arrange([
                part for part, _ in self._parts if (part.source in KINEMATIC) is is_kinematic])
        return tables

    def found(self, motion: Array, torque: Array | None = None) -> dict[str, Array]:
        """Return the values, by source, of motions (T, 5, n) with torques (T, 3, n)."""
        feedforward, sources = self.feedforward, self._sources
        found = dict(zip(KINEMATIC, motion.transpose(1, 0, 2), strict=False))
        if sources <= set(KINEMATIC):
            return found
        if torque is None:
            torque = feedforward.torque(np.ascontiguousarray(motion))
        found.update(zip(EFFORTS, torque.transpose(1, 0, 2), strict=False))
        if 'power' in sources:
            found['power'] = torque[:, 0] * motion[:, 1]
        if feedforward.motor_side is not None and sources & {*MOTOR_QUANTITIES, SPRING}:
            reference, elongation, margin = feedforward.motor_side.sample(motion, torque)
            found.update(zip(
                (*MOTOR_QUANTITIES, SPRING),
                (reference[:, 1], reference[:, 3], elongation, margin), strict=True))
        if COMMANDED_RATE in sources:
            found[COMMANDED_RATE] = feedforward.torque(
                np.ascontiguousarray(motion), gravity=False)[:, 1]
        return found

    def rows(
        self, motion: Array, found: dict[str, Array],
    ) -> Iterator[tuple[slice, Array, Array, Array]]:
        """Return, quantity by quantity, its columns, values (T, k), lower and upper bounds.

        `found` are the values of the motions by source. Constant bounds are (k,), others (T, k).
        """
        limits = self.feedforward.robot.limits
        for part, columns in self._parts:
            values, stop = found[part.source], part.reflex
            if part.places.size < values.shape[1]:
                values = values[:, part.places]
            lower, upper = self.lower[columns], self.upper[columns]
            if self._depends and stop is not None:
                upper = stop.limit_at(
                    motion[:, 1], limits.stopping_range(motion[:, 0]))[:, part.places]
                lower = -upper
            elif self._depends and part.source == 'velocity':
                lower, upper = limits.velocity_range(motion[:, 0])
            yield columns, values, lower, upper

    def taken(
        self, motion: Array, torque: Array | None = None,
    ) -> tuple[Array, Array, Array]:
        """Return the values of motions, (T, C), and their bounds, (T, C) or (C,).

        `torque`, (T, 3, n), replaces the computed torques of the motions.
        """
        _, *parts = zip(*self.rows(motion, self.found(motion, torque)), strict=True)
        values = np.hstack(parts[0])
        if not self._depends:
            return values, self.lower, self.upper
        lower, upper = (
            np.hstack([np.broadcast_to(bound, of.shape)
                       for bound, of in zip(bounds, parts[0], strict=True)])
            for bounds in parts[1:])
        return values, lower, upper

    def gather(
        self, into: Extremes, instants: NDArray[Any], motion: Array, found: dict[str, Array],
    ) -> None:
        """Add samples of a motion to its extremes: limits by margins, reflexes by shares."""
        for columns, values, lower, upper in self.rows(motion, found):
            into.add(columns, instants, values, lower, upper, (
                shares(values, upper) if self.is_reflex[columns.start]
                else -margins(values, lower, upper)))

    def extremes_of(self, instants: Any) -> Extremes:
        """Return an `Extremes` that gathers samples, for instants of this type."""
        allowed = np.where(self.is_reflex, 1.0 + TOLERANCE, np.where(
            [column.quantity == 'position' for column in self.columns],
            np.minimum(position_slack(self.lower), position_slack(self.upper)), 0.0))
        return Extremes(np.where(self.bounded, allowed, np.inf), instants)

    def shares(self, motion: Array, torque: Array | None = None) -> Array:
        """Return the shares, (T, K), of the `limited` columns' bounds that motions (T, 5, n) use.

        A share is 1 at an upper bound, −1 at a lower one, and 0 at the value at rest. `torque` is
        as for `taken`.
        """
        values, lower, upper = (part[..., self.limited] for part in self.taken(motion, torque))
        taken = values - self._neutral_limited
        bound = np.where(
            taken < 0.0, self._neutral_limited - lower, upper - self._neutral_limited)
        with np.errstate(divide='ignore', invalid='ignore'):
            found: Array = np.where(taken == 0.0, 0.0, taken / bound)
        return found

    def worst_of_reflexes(
        self, gathered: Extremes, known: Sequence[bool] | Flags | None = None,
    ) -> tuple[LimitMargin, ...]:
        """Return each reflex at its closest joint, by gathered shares, the closest reflex first.

        `known`, (C,), marks the columns that count; by default all do.
        """
        worst: dict[Reflex, LimitMargin] = {}
        order = np.argsort(-gathered.nearness, kind='stable').tolist()
        for c in order:
            column = self.columns[c]
            stop = column.reflex
            if stop is None or stop in worst or not (known is None or known[c]):
                continue
            # Of columns that trip the reflex at the same time, `order` puts the nearest first.
            by = min(
                (other for other in order if gathered.intervals[other]
                 and self.columns[other].reflex is stop),
                key=lambda other: gathered.intervals[other][0][0], default=None)
            tripped = {} if by is None else {
                'tripped_at': gathered.intervals[by][0][0], 'tripped_by': self.columns[by].joint}
            worst[stop] = self._margin_of(gathered, c, **tripped)
        return tuple(worst.values())

    def extremes(self, gathered: Extremes) -> list[LimitMargin]:
        """Return the gathered extreme of each column."""
        return [
            self._margin_of(
                gathered, c, beyond=int(gathered.beyond[c]),
                intervals=tuple(gathered.intervals[c]))
            for c in range(len(self.columns))]

    def _margin_of(self, gathered: Extremes, c: int, **more: Any) -> LimitMargin:
        return self.columns[c].margin(
            gathered.instant[c].item(), float(gathered.value[c]), float(gathered.lower[c]),
            float(gathered.upper[c]), **more)

    def check_finite(self, values: Array, instants: Array) -> None:
        """Raise HodynError for values, (T, C), of joints (not motors) that are not finite."""
        finite = np.isfinite(values)
        for sample, c in () if finite.all() else np.argwhere(~finite):
            column = self.columns[c]
            if QUANTITIES[column.quantity].of == 'joint':
                raise HodynError(
                    f'{column.joint}: the {QUANTITIES[column.quantity].title} at '
                    f'{instants[sample]:.4g} s is not finite; check the plan and the robot file')


def unit(robot: Robot, joint: int, quantity: str) -> str:
    """Return the SI unit of a quantity of a joint."""
    row = QUANTITIES[quantity]
    return row.unit if robot.turns[joint] else row.unit_of_prismatic


def question_of_units(units: Collection[str], or_else: str = '') -> str:
    """Ask whether positions that are far out of range, rad or m, are in degrees or mm.

    `or_else` is another question for the same sentence.
    """
    mistaken = {'rad': 'degrees', 'm': 'millimetres'}
    right = ' and '.join(of for of in mistaken if of in units)
    wrong = ' and '.join(other for of, other in mistaken.items() if of in units)
    return f'positions are in {right}: are these {wrong}{or_else}?'
