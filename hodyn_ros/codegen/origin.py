"""Where generated code comes from: its mark, the version of this package, and the robot."""
import hashlib

from hodyn_ros.codegen.settings import Settings
from hodyn_ros.robot.files import robot_text

MARK = 'Made by hodyn generate, which overwrites this'
"""Stands at the top of each file."""


def fingerprint(settings: Settings) -> str:
    """Return the SHA-256 of the robot, in the file that `save_robot` would write."""
    return hashlib.sha256(robot_text(settings.robot).encode('utf-8')).hexdigest()
