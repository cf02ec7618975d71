"""An example motion that suits any robot, for the demo."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

REST_TO_REST_PEAK = 2.461
"""Peak velocity of the unit motion from rest to rest in unit time, degree 9."""


def home(robot: Robot) -> Array:
    """Return the middle of each joint's range, (n,); zero where it has none."""
    limits = robot.limits
    bounded = np.isfinite(limits.position_min) & np.isfinite(limits.position_max)
    middle = np.zeros(robot.n)
    middle[bounded] = 0.5 * (limits.position_min[bounded] + limits.position_max[bounded])
    return middle


def example_waypoints(
    robot: Robot, duration: float, *, speed: float = 0.4, seed: int = 1,
) -> tuple[Array, Array]:
    """Return times (m,) and positions (m, n) of a motion from `home` and back.

    Parameters
    ----------
    robot : Robot
        Its limits bound the motion.
    duration : float
        Seconds; a waypoint about every 1.5 s.
    speed : float
        Share of the velocity limits that the motion uses at the most; 1 rad/s where there is none.
    seed : int
        Chooses the waypoints.

    """
    pieces = max(2, round(duration / 1.5))
    times = np.linspace(0.0, duration, pieces + 1)
    velocity = np.where(np.isfinite(robot.limits.velocity), robot.limits.velocity, 1.0)
    span = robot.limits.position_max - robot.limits.position_min
    reach = np.minimum(
        0.5 * speed * velocity * times[1] / REST_TO_REST_PEAK,
        np.where(np.isfinite(span), 0.3 * span, np.inf))
    offsets = np.random.default_rng(seed).uniform(-1.0, 1.0, (pieces + 1, robot.n))
    offsets[[0, -1]] = 0.0
    return times, home(robot) + reach * offsets
