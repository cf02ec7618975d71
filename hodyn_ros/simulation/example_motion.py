"""An example motion that suits any robot, for the demo."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import Robot

REST_TO_REST_PEAK = 2.461
"""Peak velocity of a polynomial motion of degree 9 from rest to rest, by 1 rad in 1 s."""


def home(robot: Robot) -> Array:
    """Return the middle of each joint's range, (n,), rad or m; 0 for joints without a range."""
    limits = robot.limits
    bounded = np.isfinite(limits.position_min) & np.isfinite(limits.position_max)
    middle = np.zeros(robot.n)
    middle[bounded] = 0.5 * (limits.position_min[bounded] + limits.position_max[bounded])
    return middle


def fastest(robot: Robot) -> Array:
    """Return the joints' velocity limits, (n,), rad/s or m/s; 1 for joints without a limit."""
    limits = robot.limits.velocity
    return np.where(np.isfinite(limits), limits, 1.0)


def example_waypoints(
    robot: Robot, duration: float, *, speed: float = 0.4, seed: int = 1,
) -> tuple[Array, Array]:
    """Return times (m,) and positions (m, n) of a motion from `home` and back.

    It takes `duration`, s, with a random waypoint about every 1.5 s. A move from rest to rest
    between two waypoints would need at most the share `speed` of `fastest`.
    """
    pieces = max(2, round(duration / 1.5))
    times = np.linspace(0.0, duration, pieces + 1)
    span = robot.limits.position_max - robot.limits.position_min
    reach = np.minimum(
        0.5 * speed * fastest(robot) * times[1] / REST_TO_REST_PEAK,
        np.where(np.isfinite(span), 0.3 * span, np.inf))
    offsets = np.random.default_rng(seed).uniform(-1.0, 1.0, (pieces + 1, robot.n))
    offsets[[0, -1]] = 0.0
    return times, home(robot) + reach * offsets
