"""Alias of `hodyn_ros.robot.files.actuators`, named in the docs of 0.1; for one release."""
from hodyn_ros.robot.files.actuators import *  # noqa: F403
