"""`hodyn_ros.robot.files.actuators` by the place that the docs of 0.1 named; for one release."""
from hodyn_ros.robot.files.actuators import *  # noqa: F403
