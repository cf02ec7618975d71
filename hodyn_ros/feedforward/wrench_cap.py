"""The share of a measured wrench that the effort limits allow, whatever wrench comes next.

The wrench is smoothed by 1/(s/ω + 1)⁵, whose impulse response h is nowhere negative and has area
1: the output is a mean of the input. So if the joint torques of the input stay between two bounds,
the joint torques of the output do too. Their rate is at most the distance between these bounds
times max h, since ∫ḣ = 0 and ∫|ḣ| = 2 max h.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.reference.smoothing import MAX_SLOPE
from hodyn_ros.robot import Limits

Array = NDArray[np.float64]

RATE_SHARE = 0.5
"""Share of the effort-rate limits that wrenches may use; the rest is for the motion."""


def wrench_bounds(limits: Limits, torque: Array, bandwidth: float) -> tuple[Array, Array]:
    """Return lower and upper bounds, (n,) each, N m, of the joint torques from wrenches.

    0 is within the bounds even if the torque is already beyond its limit.

    Parameters
    ----------
    limits : Limits
        Limits of effort and effort rate.
    torque : (n,) array
        Torque of the motion without wrenches, N m.
    bandwidth : float
        ω of the filter, rad/s.

    """
    most = RATE_SHARE * limits.effort_rate / (2.0 * MAX_SLOPE * bandwidth)
    lower = np.maximum(-limits.effort - torque, -most)
    upper = np.minimum(limits.effort - torque, most)
    return np.minimum(lower, 0.0), np.maximum(upper, 0.0)


def largest_share(wanted: Array, lower: Array, upper: Array) -> tuple[float, int]:
    """Return the largest share in [0, 1] of torques, (n,), that keeps bounds around 0.

    Also returns the joint that limits it, −1 if all torques are within the bounds.
    """
    bound = np.where(wanted > 0.0, upper, lower)
    beyond = np.abs(wanted) > np.abs(bound)
    if not beyond.any():
        return 1.0, -1
    share = np.ones_like(wanted)
    share[beyond] = bound[beyond] / wanted[beyond]
    joint = int(share.argmin())
    return float(share[joint]), joint
