"""How fast a robot may be brought to rest."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.torque import FeedForward

Array = NDArray[np.float64]

# Durations that stand in for limits which the robot file does not have, s.
STOP_TIME, JERK_TIME = 0.25, 0.05


def stop_limits(feedforward: FeedForward, position: Array) -> dict[str, Array]:
    """Return the limits of a stop that begins at a position (n,), for `reference.stop_plan`.

    These are the robot's limits of velocity, acceleration and jerk, (n,) each. The jerk is at most
    the one at which changing the acceleration of all joints at once needs the effort-rate limits,
    since jerk limits alone often allow much more. Where the robot file has no acceleration limit,
    it is that which stops the joint from its velocity limit (or 1 rad/s) in STOP_TIME; where it
    has no jerk limit, that which reaches the acceleration limit in JERK_TIME.
    """
    limits = feedforward.robot.limits
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 1.0)
    acceleration = np.where(
        np.isfinite(limits.acceleration), limits.acceleration, speed / STOP_TIME)
    jerk = np.where(np.isfinite(limits.jerk), limits.jerk, acceleration / JERK_TIME)
    units = np.zeros((position.size + 1, 5, position.size))
    units[:, 0] = position
    units[1:, 2] = np.eye(position.size)
    torque = feedforward.torque(units)[:, 0]
    inertia = np.abs(torque[1:] - torque[0]).sum(axis=0)
    return {
        'velocity': limits.velocity,
        'acceleration': acceleration,
        'jerk': np.minimum(jerk, (limits.effort_rate / inertia).min()),
    }
