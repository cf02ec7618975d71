"""The uncertainty of an estimated motion, propagated to the torques to first order."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.estimation.derivatives import Motion
from hodyn_ros.feedforward import FeedForward

_PROBE = 1e-3  # step, in standard deviations, over which the torques are linear


def torque_deviation(feedforward: FeedForward, motion: Motion, every: int = 1) -> Array:
    """Return the standard deviations of Q, Q̇, Q̈, (S, 3, n), due to errors of the motion.

    Each joint's covariance is split into five independent directions, along which the torques are
    differentiated numerically, at each `every`-th sample; the deviations in between are linearly
    interpolated. The model itself is taken as exact.
    """
    count, orders, n = motion.q.shape
    chosen = np.unique(np.append(np.arange(0, count, every), count - 1))
    q = np.ascontiguousarray(motion.q[chosen])
    variance = np.zeros((len(chosen), 3, n))
    covariance = motion.covariance[chosen]
    scale = np.sqrt(np.maximum(
        np.diagonal(covariance, axis1=2, axis2=3), np.finfo(float).tiny))
    # The five derivatives differ by many orders of magnitude, so correlations are decomposed.
    values, vectors = np.linalg.eigh(covariance / (scale[..., :, None] * scale[..., None, :]))
    directions = vectors * np.sqrt(np.maximum(values, 0.0))[:, :, None, :]
    directions *= scale[:, :, :, None]
    above, below = np.empty_like(variance), np.empty_like(variance)
    for joint in range(n):
        for k in range(orders):
            step = _PROBE * directions[:, joint, :, k]
            moved = q.copy()
            moved[:, :, joint] += step
            feedforward.torque(moved, above)
            moved[:, :, joint] -= 2.0 * step
            feedforward.torque(moved, below)
            variance += ((above - below) / (2.0 * _PROBE)) ** 2
    deviation = np.sqrt(variance)
    if len(chosen) == count:
        return deviation
    at = np.searchsorted(chosen, np.arange(count), side='right') - 1
    at = np.minimum(at, len(chosen) - 2)
    weight = ((np.arange(count) - chosen[at]) / (chosen[at + 1] - chosen[at]))[:, None, None]
    return np.asarray((1.0 - weight) * deviation[at] + weight * deviation[at + 1])
