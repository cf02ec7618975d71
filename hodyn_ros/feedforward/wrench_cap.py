"""How much of a measured wrench the effort limits leave room for, whatever comes after it.

The wrench is smoothed by 1/(s/ω + 1)⁵, whose impulse response h is nowhere negative and has area
1: what comes out is a mean of what went in. So where the joint torques of all that goes in lie
between two bounds, those of what comes out do. Their rate is at most the distance of these bounds
times max h, since ∫ḣ = 0 and ∫|ḣ| = 2 max h.
"""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.reference.smoothing import MAX_SLOPE
from hodyn_ros.robot import Limits

Array = NDArray[np.float64]

RATE_SHARE = 0.5
"""Of the effort-rate limits, how much wrenches may take; the rest is the motion's."""


def wrench_bounds(limits: Limits, torque: Array, bandwidth: float) -> tuple[Array, Array]:
    """Return between which bounds, each (n,), N m, the joint torques of wrenches may lie.

    Both contain 0, also where the torque is beyond its limit already.

    Parameters
    ----------
    limits : Limits
        Of effort and effort rate.
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
    """Return the largest share in [0, 1] of torques, (n,), that is within bounds around 0.

    And the joint that it is due to, −1 where they are within as they are.
    """
    bound = np.where(wanted > 0.0, upper, lower)
    beyond = np.abs(wanted) > np.abs(bound)
    if not beyond.any():
        return 1.0, -1
    share = np.ones_like(wanted)
    share[beyond] = bound[beyond] / wanted[beyond]
    joint = int(share.argmin())
    return float(share[joint]), joint
