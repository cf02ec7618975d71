"""What a motion takes of each limit, as the check of plans judges it, but instant by instant."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.motor_limits import MOTOR_QUANTITIES

Array = NDArray[np.float64]

ORDERS = {
    'velocity': 1, 'acceleration': 2, 'jerk': 3, 'effort': 2, 'effort_rate': 3,
    'motor_velocity': 3, 'motor_effort': 4, 'deflection': 2, 'spring': 2,
}
"""The highest derivative of the position along the path that a quantity depends on."""


@dataclass(frozen=True)
class Column:
    """A quantity that has a limit.

    Attributes
    ----------
    joint, quantity : str
        Names of the joint, or of its motor, and of the quantity.
    order : int
        As of `ORDERS`.

    """

    joint: str
    quantity: str
    order: int


class LimitShares:
    """Signed shares of the limits, 1 at a limit, −1 at that of the other direction.

    Attributes
    ----------
    columns : list of Column
        What the shares are of: all that has a finite limit.
    is_limited : (n,) array of bool
        Which joints have a limit, or their motors.

    """

    def __init__(self, feedforward: FeedForward) -> None:
        self._feedforward = feedforward
        robot, limits = feedforward.robot, feedforward.robot.limits
        self._known: list[NDArray[np.bool_]] = []
        self.columns: list[Column] = []
        for quantity in ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate'):
            self._add(quantity, robot.joint_names, np.isfinite(getattr(limits, quantity)))
        actuators = robot.actuators
        if actuators is not None:
            self._motor_limits = actuators.motor_limits()
            for row, quantity in zip(self._motor_limits, MOTOR_QUANTITIES, strict=True):
                self._add(quantity, actuators.motor_names, np.isfinite(row))
            self._room = self._spring_room()
            self._add('spring', robot.joint_names, np.isfinite(self._room))
        self.is_limited: NDArray[np.bool_] = np.any(self._known, axis=0)
        self.orders = np.array([column.order for column in self.columns], dtype=int)

    def _add(self, quantity: str, names: tuple[str, ...], known: NDArray[np.bool_]) -> None:
        self._known.append(known)
        self.columns += [
            Column(name, quantity, ORDERS[quantity])
            for name, has in zip(names, known.tolist(), strict=True) if has]

    def _spring_room(self) -> Array:
        """Return the margins of the springs' laws without a torque, (n,), where they have one."""
        side, n = self._feedforward.motor_side, self._feedforward.robot.n
        assert side is not None
        margin: Array = side.sample(np.zeros((1, 5, n)), np.zeros((1, 3, n)))[2][0]
        return np.where(margin > 0.0, margin, np.inf)

    def __call__(self, motion: Array) -> Array:
        """Return the shares, (T, columns), of motions (T, 5, n)."""
        return np.hstack([
            values[:, known] for values, known in zip(
                self._values(np.ascontiguousarray(motion)), self._known, strict=True)])

    def _values(self, motion: Array) -> Iterator[Array]:
        limits, side = self._feedforward.robot.limits, self._feedforward.motor_side
        torque = self._feedforward.torque(motion)
        lower, upper = limits.velocity_range(motion[:, 0])
        with np.errstate(divide='ignore'):
            yield motion[:, 1] / np.where(motion[:, 1] < 0.0, -lower, upper)
        yield motion[:, 2] / limits.acceleration
        yield motion[:, 3] / limits.jerk
        yield torque[:, 0] / limits.effort
        yield torque[:, 1] / limits.effort_rate
        if side is not None:
            reference, elongation, margin = side.sample(motion, torque)
            speed, effort, deflection = self._motor_limits
            yield reference[:, 1] / speed
            yield reference[:, 3] / effort
            yield elongation / deflection
            yield 1.0 - np.where(np.isfinite(margin), margin, 0.0) / self._room
