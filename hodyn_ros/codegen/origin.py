"""The origin of generated code: its mark, and a fingerprint of the robot."""
import hashlib

from hodyn_ros.codegen.settings import Settings
from hodyn_ros.robot.files import robot_text

MARK = 'Made by hodyn generate, which overwrites this'
"""Text at the top of each generated file."""


def fingerprint(settings: Settings) -> str:
    """Return the SHA-256 of the file that `save_robot` would write for the robot."""
    return hashlib.sha256(robot_text(settings.robot).encode('utf-8')).hexdigest()
