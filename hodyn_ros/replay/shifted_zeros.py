"""Joints whose zero differs between log and model, by quarter turns."""
from itertools import combinations, product

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward

Array = NDArray[np.float64]

MAX_SAMPLES = 100
"""Number of samples that are enough to determine a quarter turn."""

_POOR = 0.3  # unexplained share of the efforts from which zeros are checked
_BETTER = 0.25  # greatest unexplained share with other zeros, relative to the one without
_QUARTERS = (-1, 1, 2)


def find_shifted_zeros(
    feedforward: FeedForward, q: Array, effort: Array,
) -> dict[int, float]:
    """Return the angles by which joints of the model must be turned to explain the efforts, rad.

    Up to two joints at a time are turned by quarter turns, as long as the share of the efforts
    that the prediction leaves unexplained falls to a quarter; a bias, friction and an unknown gain
    of each joint do not affect this.

    Parameters
    ----------
    feedforward : FeedForward
        Feed-forward of the robot.
    q : (S, 5, n) array
        Motions of revolute joints, rad/sᵏ.
    effort : (S, n) array
        Recorded efforts, N m; only efforts with gravity determine zeros.

    """
    known = np.isfinite(effort).all(axis=1) & np.isfinite(q).all(axis=(1, 2))
    q, effort = q[known], effort[known]
    n = effort.shape[1]
    if len(q) < 5 * n or np.any(np.ptp(effort, axis=0) <= 1e-9 * np.abs(effort).max(axis=0)):
        return {}
    shift = np.zeros(n)
    best = start = _unexplained(feedforward, q, effort, shift)
    if start < _POOR:
        return {}
    for _ in range(2):
        tried = []
        for count in (1, 2):
            for joints in combinations(range(n), count):
                for quarters in product(_QUARTERS, repeat=count):
                    other = shift.copy()
                    other[list(joints)] += 0.5 * np.pi * np.array(quarters)
                    left = _unexplained(feedforward, q, effort, other)
                    tried.append((left + 0.02 * count, left, other))
        _, left, other = min(tried, key=lambda each: each[0])
        if left > 0.7 * best:
            break
        best, shift = left, other
    if best > _BETTER * start:
        return {}
    shift = np.remainder(shift + 0.75 * np.pi, 2.0 * np.pi) - 0.75 * np.pi
    return {int(i): float(shift[i]) for i in np.flatnonzero(np.abs(shift) > 0.1)}


def _unexplained(
    feedforward: FeedForward, q: Array, effort: Array, shift: Array,
) -> float:
    """Return the share of the efforts that a prediction does not explain, of all joints."""
    moved = q.copy()
    moved[:, 0] += shift
    predicted = feedforward.torque(moved)[:, 0]
    left = 0.0
    for joint in range(effort.shape[1]):
        terms = np.column_stack([
            np.ones(len(q)), np.tanh(q[:, 1, joint] / 0.02), q[:, 1, joint]])
        rest, change = (
            values - terms @ np.linalg.lstsq(terms, values, rcond=None)[0]
            for values in (effort[:, joint], predicted[:, joint]))
        gain = max(float(change @ rest) / max(float(change @ change), 1e-12), 0.0)
        left += float(np.sum((rest - gain * change) ** 2) / np.sum(
            (effort[:, joint] - effort[:, joint].mean()) ** 2))
    return float(left / effort.shape[1])
