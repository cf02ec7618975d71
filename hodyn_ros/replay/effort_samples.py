"""Samples of a motion with measured efforts, by which a model is judged."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.replay.friction_fit import FrictionFit, is_measured

MAX_SAMPLES = 120
"""Number of samples that are enough to determine a quarter turn."""


class EffortSamples:
    """At most `MAX_SAMPLES` samples of a motion with efforts, and which of them count.

    Bias and friction of each joint are fitted whenever torques are compared with these efforts.
    """

    def __init__(self, q: Array, effort: Array) -> None:
        """Take motions, (S, 5, n), and efforts, (S, n); NaN where they are not known."""
        rows = np.flatnonzero(np.isfinite(q).all(axis=(1, 2)) & np.isfinite(effort).any(axis=1))
        rows = rows[::len(rows) // MAX_SAMPLES + 1]
        self.q, self.effort = q[rows], effort[rows]
        known = np.isfinite(self.effort)
        #: Which joints measure enough efforts, (n,)
        self.judged = (known.sum(axis=0) >= 5 * effort.shape[1]) & is_measured(self.effort)
        self.known = known & self.judged

    def unexplained(self, torque: Array, gain: float | None = 1.0) -> Array:
        """Return the share of the variance of each judged effort that torques, (S, n), leave.

        If `gain` is None, the gain of each joint's torque is fitted.
        """
        fit = FrictionFit(self.effort.shape[1], 1)
        fit.add(self.q[:, 1], (torque,), self.effort, self.known)
        return np.asarray(fit.unexplained(gain=gain)[self.judged])

    def share(self, torque: Array) -> float:
        """Return the share of the variance of all judged efforts that torques leave."""
        measured = np.where(self.known, self.effort, np.nan)[:, self.judged]
        variance = np.nan_to_num(np.nanvar(measured, axis=0))
        return float(self.unexplained(torque) @ variance) / max(float(variance.sum()), 1e-300)

    def square(self, torque: Array) -> float:
        """Return the sum of the squares of the errors; bias and friction are not fitted."""
        error = np.where(self.known, self.effort - torque, 0.0)
        return float(np.sum(error ** 2))
