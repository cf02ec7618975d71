"""Whether a recorded motion stayed within the limits of the robot: by how much, and when."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.pipeline import Chunk
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

QUANTITIES = ('position', 'velocity', 'acceleration', 'jerk', 'torque', 'torque_rate', 'power')
_LISTED = 20


@dataclass(frozen=True)
class Extreme:
    """The largest value of one quantity of one joint.

    Attributes
    ----------
    joint, quantity : str
        `power` is what the joint delivers, Q q̇, W.
    value : float
        With its sign; of a position, the one closest to its limit.
    limit : float
        Limit of the absolute value, or the closer position limit; infinite where none is known.
    stamp : int
        When, ns.
    beyond : int
        Messages beyond the limit.
    intervals : tuple of (ns, ns)
        The first ones of them, as first and last stamp.

    """

    joint: str
    quantity: str
    value: float
    limit: float
    stamp: int
    beyond: int
    intervals: tuple[tuple[int, int], ...]


class LimitWatch:
    """Gathers the extremes of a motion chunk by chunk."""

    def __init__(self, robot: Robot, names: tuple[str, ...]) -> None:
        limits, n = robot.limits, robot.n
        self._names = names
        self._low, self._high = limits.position_min, limits.position_max
        unlimited = np.full(n, np.inf)
        self._limits = np.array([
            unlimited, limits.velocity, limits.acceleration, limits.jerk, limits.effort,
            limits.effort_rate, unlimited])
        shape = (len(QUANTITIES), n)
        # Largest excess over the limits, or value where there is none: what is compared.
        self._rank = np.full(shape, -np.inf)
        self._value, self._stamp = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
        self._beyond = np.zeros(shape, dtype=np.int64)
        self._intervals: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def add(self, chunk: Chunk) -> None:
        """Look at the estimated motion and its torques."""
        q, torque, stamps = chunk.q[chunk.used], chunk.torque[chunk.used], chunk.stamps[chunk.used]
        if not len(stamps):
            return
        values = np.stack(
            [q[:, 0], q[:, 1], q[:, 2], q[:, 3], torque[:, 0], torque[:, 1],
             torque[:, 0] * q[:, 1]], axis=1)
        excess = np.abs(values) - np.where(np.isfinite(self._limits), self._limits, 0.0)
        outside = np.maximum(q[:, 0] - self._high, self._low - q[:, 0])
        excess[:, 0] = np.where(np.isfinite(outside), outside, np.abs(q[:, 0]))
        limited = np.isfinite(self._limits)
        limited[0] = np.isfinite(self._high) | np.isfinite(self._low)
        broken = (excess > 0.0) & limited
        self._beyond += broken.sum(axis=0)
        at = np.argmax(excess, axis=0)
        k, j = np.indices(at.shape)
        larger = excess[at, k, j] > self._rank
        self._rank[larger] = excess[at, k, j][larger]
        self._value[larger] = values[at, k, j][larger]
        self._stamp[larger] = stamps[at][larger]
        for quantity, joint in np.argwhere(broken.any(axis=0)):
            found = self._intervals.setdefault((int(quantity), int(joint)), [])
            edges = np.diff(np.concatenate([[0], broken[:, quantity, joint], [0]]).astype(np.int8))
            for begin, end in zip(
                    np.flatnonzero(edges == 1), np.flatnonzero(edges == -1), strict=True):
                if len(found) < _LISTED:
                    found.append((int(stamps[begin]), int(stamps[end - 1])))

    @property
    def extremes(self) -> list[Extreme]:
        """All quantities of all joints."""
        found = []
        for j, name in enumerate(self._names):
            for k, quantity in enumerate(QUANTITIES):
                limit = self._limits[k, j]
                value = float(self._value[k, j])
                if k == 0:
                    near_high = self._high[j] - value < value - self._low[j]
                    limit = self._high[j] if near_high else self._low[j]
                found.append(Extreme(
                    name, quantity, value, float(limit), int(self._stamp[k, j]),
                    int(self._beyond[k, j]), tuple(self._intervals.get((k, j), ()))))
        return found
