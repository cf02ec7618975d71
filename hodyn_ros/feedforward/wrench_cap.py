"""The share of a measured wrench that the effort limits allow, whatever wrench comes next.

The wrench is smoothed by 1/(s/ω + 1)⁵, whose impulse response h is nowhere negative and has area
1: the output is a mean of the input. So if the joint torques of the input stay between two bounds,
the joint torques of the output do too. Their rate is at most the distance between these bounds
times max h, since ∫ḣ = 0 and ∫|ḣ| = 2 max h.
"""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.reference.smoothing import MAX_SLOPE
from hodyn_ros.robot import Limits

RATE_SHARE = 0.5
"""Share of the effort-rate limits that wrenches may use; the rest is for the motion."""


def wrench_share(
    limits: Limits, torque: Array, wanted: Array, bandwidth: float,
) -> tuple[float, int, str]:
    """Return the largest share, in [0, 1], of wrenches that the limits allow with a motion.

    Also returns the joint, and its limit `effort` or `effort_rate`, that exclude a larger share;
    −1 and an empty text for a share of 1. `torque`, (n,), is that of the motion without wrenches,
    `wanted`, (n,), that of the whole wrenches, N m; `bandwidth`, rad/s, is ω of the filter.
    """
    by_rate = RATE_SHARE * limits.effort_rate / (2.0 * MAX_SLOPE * bandwidth)
    # Nothing is left for wrenches if the torque is already beyond its limit.
    by_effort = np.maximum(limits.effort - np.sign(wanted) * torque, 0.0)
    room, size = np.minimum(by_effort, by_rate), np.abs(wanted)
    beyond = size > room
    if not beyond.any():
        return 1.0, -1, ''
    share = np.ones_like(size)
    share[beyond] = room[beyond] / size[beyond]
    joint = int(share.argmin())
    quantity = 'effort' if by_effort[joint] <= by_rate[joint] else 'effort_rate'
    return float(share[joint]), joint, quantity
