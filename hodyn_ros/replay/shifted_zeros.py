"""Joints whose zero differs between log and model, by quarter turns."""
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.friction_fit import FrictionFit, is_measured

Array = NDArray[np.float64]

MAX_SAMPLES = 120
"""Number of samples that are enough to determine a quarter turn."""

_QUARTERS = (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi)
# A turn must lower the sum of the logarithms of the unexplained shares by more than this.
_WORTH = 0.05


class ZeroSearch:
    """Searches for quarter turns of joints with which a model explains recorded efforts.

    Bias and friction of each joint are fitted as well.

    Parameters
    ----------
    feedforward : FeedForward
        Feed-forward of the robot.
    q : (S, 5, n) array
        Recorded motion, of which at most `MAX_SAMPLES` samples are used.
    effort : (S, n) array
        Recorded efforts; only efforts with gravity determine zeros.
    gains : bool
        Whether the efforts are in an unknown unit.

    """

    def __init__(
        self, feedforward: FeedForward, q: Array, effort: Array, *, gains: bool = True,
    ) -> None:
        self._feedforward, self._gains = feedforward, gains
        rows = np.flatnonzero(np.isfinite(q).all(axis=(1, 2)) & np.isfinite(effort).any(axis=1))
        rows = rows[::len(rows) // MAX_SAMPLES + 1]
        self._q, self._effort = q[rows], effort[rows]
        known = np.isfinite(self._effort)
        self._judged = (known.sum(axis=0) >= 5 * effort.shape[1]) & is_measured(self._effort)
        self._known = known & self._judged

    def unexplained(self, turn: Array) -> Array:
        """Return the unexplained share of the variance of each measured effort.

        `turn`, (n,), rad, is added to the recorded positions.
        """
        q = self._q.copy()
        q[:, 0] += turn
        torque = self._feedforward.torque(q, friction=False)[:, 0]
        fit = FrictionFit(len(turn), 1)
        fit.add(q[:, 1], (torque,), self._effort, self._known)
        left: Array = fit.unexplained(gain=None if self._gains else 1.0)[self._judged]
        return left

    def turns(self) -> Array:
        """Return the turns of the joints, (n,), rad.

        Two joints are turned at a time, as long as that explains more. A joint whose turn explains
        little more keeps its zero.
        """
        robot = self._feedforward.robot
        turnable = [j for j in np.flatnonzero(self._judged).tolist() if (
            robot.joint_bodies[j].type == 'revolute')]

        def cost(turn: Array) -> float:
            left = np.log(np.maximum(self.unexplained(turn), 1e-12)).sum()
            return float(left) + _WORTH * np.count_nonzero(turn)

        best = np.zeros(robot.n)
        least = cost(best)
        while True:
            tried = []
            for joints in combinations(turnable, min(2, len(turnable))):
                for quarters in product(_QUARTERS, repeat=len(joints)):
                    turn = best.copy()
                    turn[list(joints)] = quarters
                    tried.append((cost(turn), turn))
            value, turn = min(tried, key=lambda each: each[0])
            if not value < least - 1e-9:
                return best
            least, best = value, turn
