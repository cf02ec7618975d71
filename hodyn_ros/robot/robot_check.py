"""Check that an argument is a loaded robot."""
import reprlib

from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot.model import Robot


def check_robot(robot: object) -> None:
    """Raise HodynError unless this is a Robot, for example for the name of one."""
    if not isinstance(robot, Robot):
        raise HodynError(f'robot: expected what load_robot returns, got {reprlib.repr(robot)}')
