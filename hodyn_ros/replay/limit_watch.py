"""Whether a recorded motion stayed within the limits of the robot: by how much, and when."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.pipeline import Chunk
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.quantities import JOINT_QUANTITIES
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
        Limit of the absolute value there, or the closer position limit; infinite where none is
        known.
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
        self._names = names
        self._table = LimitTable(FeedForward(robot))
        shape = (len(QUANTITIES), robot.n)
        # Largest excess over the limits, or value where there is none: what is compared.
        self._rank = np.full(shape, -np.inf)
        self._value, self._stamp = np.full(shape, np.nan), np.zeros(shape, dtype=np.int64)
        self._limit = np.full(shape, np.inf)
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
        # Power, the last of them, has no limit.
        upper = np.full(values.shape, np.inf)
        lower = -upper
        count = q.shape[2] * len(JOINT_QUANTITIES)
        for side, bound in zip((lower, upper), self._table.bounds(q), strict=True):
            side[:, :-1] = bound[..., :count].reshape(-1, len(JOINT_QUANTITIES), q.shape[2])
        excess = np.maximum(values - upper, lower - values)
        limited = np.isfinite(excess)
        excess = np.where(limited, excess, np.abs(values))
        broken = (excess > 0.0) & limited
        self._beyond += broken.sum(axis=0)
        at = np.argmax(excess, axis=0)
        k, j = np.indices(at.shape)
        larger = excess[at, k, j] > self._rank
        self._rank[larger] = excess[at, k, j][larger]
        self._value[larger] = values[at, k, j][larger]
        self._stamp[larger] = stamps[at][larger]
        low, high, value = lower[at, k, j], upper[at, k, j], values[at, k, j]
        nearer = np.where(high - value < value - low, high, low)
        nearer[1:] = np.abs(nearer[1:])  # of magnitudes
        self._limit[larger] = nearer[larger]
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
        return [
            Extreme(
                name, quantity, float(self._value[k, j]), float(self._limit[k, j]),
                int(self._stamp[k, j]), int(self._beyond[k, j]),
                tuple(self._intervals.get((k, j), ())))
            for j, name in enumerate(self._names) for k, quantity in enumerate(QUANTITIES)]
