"""Check that an argument is a loaded robot."""
import reprlib

from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot.model import Robot


def check_robot(robot: object) -> None:
    """Raise HodynError unless this is a Robot, for example if it is a robot's name."""
    if not isinstance(robot, Robot):
        raise HodynError(f'robot: expected a Robot from load_robot, got {reprlib.repr(robot)}')
