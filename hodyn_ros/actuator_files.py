"""Alias of `hodyn_ros.robot.files.actuators`, kept for one release: the docs of 0.1 name it."""
from hodyn_ros.robot.files.actuators import *  # noqa: F403
