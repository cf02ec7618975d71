"""What callers give for a robot."""
import reprlib

from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot.model import Robot


def check_robot(robot: object) -> None:
    """Raise HodynError for a name or a file where a robot is expected."""
    if not isinstance(robot, Robot):
        raise HodynError(f'robot: expected what load_robot returns, got {reprlib.repr(robot)}')
