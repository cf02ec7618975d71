"""How close a recorded motion came to the reflexes of the vendor's controller."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.pipeline import Chunk
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.robot.reflexes import Reflex

Array = NDArray[np.float64]


@dataclass(frozen=True)
class ReflexExtreme:
    """Where an estimated motion came closest to a reflex.

    Attributes
    ----------
    name, commands : str
        As of `Reflex`.
    joint, quantity : str
        Which joint came closest, and in what.
    value, limit : float
        Magnitude there, and what is allowed there.
    stamp : int
        When, ns.

    """

    name: str
    commands: str
    joint: str
    quantity: str
    value: float
    limit: float
    stamp: int

    @property
    def share(self) -> float:
        """Part of what is allowed."""
        return self.value / self.limit if self.limit > 0.0 else np.inf


class ReflexWatch:
    """Gathers the reflexes that a motion came close to, chunk by chunk.

    Only quantities that the recording resolves are looked at.

    Parameters
    ----------
    feedforward : FeedForward
        Of the robot, with its reflexes.
    names : tuple of str
        The joints as the recording calls them.

    """

    def __init__(self, feedforward: FeedForward, names: tuple[str, ...]) -> None:
        self._feedforward, self._names = feedforward, names
        self._reflexes = feedforward.robot.reflexes
        self._best: dict[tuple[Reflex, int], ReflexExtreme] = {}

    def add(self, chunk: Chunk) -> None:
        """Look at the estimated motion and its torques."""
        q, torque, stamps = chunk.q[chunk.used], chunk.torque[chunk.used], chunk.stamps[chunk.used]
        if not len(stamps) or self._reflexes is None:
            return
        commanded = torque if self._reflexes.gravity else self._feedforward.torque(
            np.ascontiguousarray(q), gravity=False)
        values = {
            'velocity': q[:, 1], 'acceleration': q[:, 2], 'jerk': q[:, 3],
            'effort': torque[:, 0], 'effort_rate': commanded[:, 1]}
        stopping = self._feedforward.robot.limits.stopping_range(q[:, 0])
        for stop in self._reflexes.stops:
            limit, value = stop.limit_at(q[:, 1], stopping), np.abs(values[stop.quantity])
            with np.errstate(divide='ignore', invalid='ignore'):
                shares = np.where(value > 0.0, value / limit, 0.0)
            for joint, at in enumerate(shares.argmax(axis=0).tolist()):
                best = self._best.get((stop, joint))
                if best is None or shares[at, joint] > best.share:
                    self._best[stop, joint] = ReflexExtreme(
                        stop.name, stop.commands, self._names[joint], stop.quantity,
                        float(value[at, joint]), float(limit[at, joint]), int(stamps[at]))

    def extremes(
        self, motion_supported: NDArray[np.bool_], torque_supported: NDArray[np.bool_],
    ) -> list[ReflexExtreme]:
        """Return those of the joint that came closest, of each reflex, the closest first.

        Parameters
        ----------
        motion_supported, torque_supported : (5, n) and (3, n) arrays of bool
            What the recording resolves.

        """
        known = {
            'velocity': motion_supported[1], 'acceleration': motion_supported[2],
            'jerk': motion_supported[3], 'effort': torque_supported[0],
            'effort_rate': torque_supported[1]}
        worst: dict[Reflex, ReflexExtreme] = {}
        for (stop, joint), found in self._best.items():
            if known[stop.quantity][joint] and (
                    stop not in worst or found.share > worst[stop].share):
                worst[stop] = found
        return sorted(worst.values(), key=lambda found: -found.share)
