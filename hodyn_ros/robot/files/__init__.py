"""Robot files: YAML and mappings, URDF, DH parameters, actuators."""
from hodyn_ros.robot.files.actuators import with_actuators
from hodyn_ros.robot.files.loader import load_robot
from hodyn_ros.robot.files.sources import robot_keys, robot_names, without_limits

__all__ = ['load_robot', 'robot_keys', 'robot_names', 'with_actuators', 'without_limits']
