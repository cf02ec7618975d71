"""The limits of a robot's motions in one table: each quantity of each joint, motor and reflex.

Check, stretch and retiming of plans and the watch over recordings ask it how near a motion is to
what. A column is a quantity of a joint or motor; its bounds may depend on where and how fast the
joint is.
"""
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.torque import FeedForward
from hodyn_ros.limits.quantities import (
    EFFORTS,
    KINEMATIC,
    MOTOR_QUANTITIES,
    ORDERS,
    SCALABLE,
    UNITS,
)
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.reflexes import Commands, Reflex

Array = NDArray[np.float64]
Places = NDArray[np.intp]

COMMANDED_RATE = 'commanded_rate'
SMALLEST_ROOM = 1e-12


@dataclass(frozen=True)
class Column:
    """A quantity of a joint or of one of its motors.

    Attributes
    ----------
    joint : str
        Name of the joint, or of the motor.
    quantity, unit : str
        As of `limits.quantities`; SI.
    order : int
        The highest derivative of the position along the path that it depends on.
    place : int
        Of the joint in the robot.
    reflex : str
        The vendor's name of what stops the arm beyond the bounds; empty for limits.

    """

    joint: str
    quantity: str
    unit: str
    order: int
    place: int
    reflex: str = ''


@dataclass(frozen=True, eq=False)
class _Part:
    """Columns next to each other that are of the same quantity."""

    source: str
    places: Places
    columns: slice
    reflex: Reflex | None = None


class LimitTable:
    """What a robot's motions are judged by.

    Parameters
    ----------
    feedforward : FeedForward
        Torques are full ones, with gravity and friction, whatever outputs leave out.
    commands : 'effort' or 'position', optional
        What the arm is commanded: the reflexes that its vendor's controller has for it are columns
        as well, of the derivatives that its differences are means of: a motion from rest to rest
        within these bounds trips none.

    Attributes
    ----------
    columns : list of Column
        All, also of what has no limit.
    lower, upper : (C,) arrays
        The bounds as far as they are constant, infinite where there is none.
    limited : (K,) array of int
        The columns that a slower motion comes away from its bounds in: all with bounds but
        positions.
    orders : (K,) array of int
        Of these.
    limit_count : int
        How many of the columns are no reflexes, which come last.
    depends : (C,) array of bool
        Whose bounds depend on where, or how fast, a joint is.

    """

    def __init__(self, feedforward: FeedForward, commands: Commands | None = None) -> None:
        self.feedforward = feedforward
        robot, limits, actuators = (
            feedforward.robot, feedforward.robot.limits, feedforward.robot.actuators)
        every = np.arange(robot.n)
        self.columns: list[Column] = []
        self._parts: list[_Part] = []
        self._lower: list[Array] = []
        self._upper: list[Array] = []
        self._neutral: list[Array] = []
        self._add('position', every, limits.position_min, limits.position_max)
        for quantity in SCALABLE:
            bound = getattr(limits, quantity)
            self._add(quantity, every, -bound, bound)
        if actuators is not None:
            motors = np.asarray(actuators.motor_joints)
            for quantity, bound in zip(MOTOR_QUANTITIES, actuators.motor_limits(), strict=True):
                places = np.arange(motors.size)
                if quantity == 'deflection':
                    places = places[~np.asarray(actuators.rigid)[motors]]
                self._add(
                    quantity, places, -bound, bound, joints=motors, names=actuators.motor_names)
            self._add_springs()
        self.limit_count = len(self.columns)
        if commands is not None and robot.reflexes is not None:
            for stop in robot.reflexes.stops:
                if stop.commands == commands:
                    self._add_reflex(stop)
        self.lower, self.upper, neutral = (
            np.concatenate(rows) for rows in (self._lower, self._upper, self._neutral))
        orders = np.array([column.order for column in self.columns])
        self.depends: NDArray[np.bool_] = np.array([
            column.quantity == 'velocity' and bool(limits.depend_on_position[column.place])
            for column in self.columns])
        self.limited: Places = np.flatnonzero((orders > 0) & (
            np.isfinite(self.lower) | np.isfinite(self.upper) | self.depends))
        self.orders = orders[self.limited]
        self._neutral_limited = neutral[self.limited]
        for part in self._parts:
            if part.reflex is not None and part.reflex.speed.size > 1:
                self.depends[part.columns] = True

    def _add(
        self, quantity: str, places: Places, lower: Array, upper: Array, *,
        source: str = '', reflex: Reflex | None = None, neutral: Array | None = None,
        joints: Places | None = None, names: tuple[str, ...] = (),
    ) -> None:
        if not places.size:
            return
        robot = self.feedforward.robot
        names = names or robot.joint_names
        joint_of = places if joints is None else joints[places]
        self.columns += [
            Column(names[place], quantity, unit(robot, joint, quantity), ORDERS[quantity], joint,
                   '' if reflex is None else reflex.name)
            for place, joint in zip(places.tolist(), joint_of.tolist(), strict=True)]
        self._parts.append(_Part(
            source or quantity, places,
            slice(len(self.columns) - places.size, len(self.columns)), reflex))
        self._lower.append(lower[places])
        self._upper.append(upper[places])
        self._neutral.append(np.zeros(places.size) if neutral is None else neutral[places])

    def _add_springs(self) -> None:
        """Add what is left of the springs' torque, or of the stiffness, where a law has such."""
        side, robot = self.feedforward.motor_side, self.feedforward.robot
        assert side is not None
        assert robot.actuators is not None
        room: Array = side.sample(np.zeros((1, 5, robot.n)), np.zeros((1, 3, robot.n)))[2][0]
        known = np.isfinite(room)
        for quantity, chosen in (
                ('stiffness_left', robot.actuators.variable),
                ('spring_torque_left', ~np.asarray(robot.actuators.variable))):
            self._add(
                quantity, np.flatnonzero(known & chosen), np.zeros(robot.n),
                np.full(robot.n, np.inf), source='spring',
                neutral=np.maximum(room, SMALLEST_ROOM))

    def _add_reflex(self, stop: Reflex) -> None:
        """Add the joints of a reflex, but those that a limit of the same bounds already."""
        robot = self.feedforward.robot
        assert robot.reflexes is not None
        commanded = stop.quantity == 'effort_rate' and not robot.reflexes.gravity
        bound = stop.limit.max(axis=0)
        known = np.isfinite(bound)
        if stop.speed.size == 1 and not commanded:
            known &= bound < getattr(robot.limits, stop.quantity)
        self._add(
            stop.quantity, np.flatnonzero(known), -bound, bound, reflex=stop,
            source=COMMANDED_RATE if commanded else '')

    def values(self, motion: Array) -> Array:
        """Return what motions (T, 5, n) take of each quantity, (T, C)."""
        motion = np.ascontiguousarray(motion)
        feedforward = self.feedforward
        torque = feedforward.torque(motion)
        found = dict(zip(KINEMATIC, motion.transpose(1, 0, 2), strict=False))
        found.update(zip(EFFORTS, torque.transpose(1, 0, 2), strict=False))
        if feedforward.motor_side is not None:
            reference, elongation, margin = feedforward.motor_side.sample(motion, torque)
            found.update({
                'motor_velocity': reference[:, 1], 'motor_effort': reference[:, 3],
                'deflection': elongation, 'spring': margin})
        if any(part.source == COMMANDED_RATE for part in self._parts):
            found[COMMANDED_RATE] = feedforward.torque(motion, gravity=False)[:, 1]
        return np.hstack([found[part.source][:, part.places] for part in self._parts])

    def bounds(self, motion: Array) -> tuple[Array, Array]:
        """Return the lower and the upper bounds where motions (T, 5, n) are, (T, C) or (C,)."""
        if not self.depends.any():
            return self.lower, self.upper
        lower, upper = (np.tile(bound, (len(motion), 1)) for bound in (self.lower, self.upper))
        limits = self.feedforward.robot.limits
        for part in self._parts:
            if part.reflex is not None:
                limit = part.reflex.limit_at(motion[:, 1], limits.stopping_range(motion[:, 0]))
                lower[:, part.columns] = -limit[:, part.places]
                upper[:, part.columns] = limit[:, part.places]
            elif part.source == 'velocity':
                lower[:, part.columns], upper[:, part.columns] = limits.velocity_range(
                    motion[:, 0])
        return lower, upper

    def margins(self, motion: Array) -> Array:
        """Return what is left to the nearer bound, (T, C); −|value| where there is none."""
        values = self.values(motion)
        lower, upper = self.bounds(motion)
        left = np.minimum(upper - values, values - lower)
        return np.where(np.isfinite(left), left, -np.abs(values))

    def shares(self, motion: Array) -> Array:
        """Return the parts of their bounds that motions (T, 5, n) take, (T, K) of `limited`.

        1 at an upper bound, −1 at a lower one, 0 where nothing is taken.
        """
        lower, upper = (bound[..., self.limited] for bound in self.bounds(motion))
        taken = self.values(motion)[:, self.limited] - self._neutral_limited
        bound = np.where(
            taken < 0.0, self._neutral_limited - lower, upper - self._neutral_limited)
        with np.errstate(divide='ignore', invalid='ignore'):
            shares: Array = np.where(taken == 0.0, 0.0, taken / bound)
        return shares

    @property
    def limited_columns(self) -> list[Column]:
        """Those that `shares` are of."""
        return [self.columns[i] for i in self.limited]

    def check_finite(self, values: Array, instants: Array) -> None:
        """Raise HodynError, with joint and instant, for values (T, C) that are not finite."""
        efforts = np.array([column.quantity in EFFORTS for column in self.columns])
        bad = ~np.isfinite(values) & efforts
        if bad.any():
            sample, column = np.argwhere(bad)[0]
            raise HodynError(
                f'{self.columns[column].joint}: the torque at {instants[sample]:.4g} s is not '
                'finite; check the plan and the robot file')


def unit(robot: Robot, joint: int, quantity: str) -> str:
    """Return the SI unit of a quantity of a joint."""
    return UNITS[quantity][robot.joint_bodies[joint].type == 'prismatic']
