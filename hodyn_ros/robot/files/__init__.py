"""Robot files: YAML and mappings, URDF, MJCF, DH parameters, limits, actuators."""
from hodyn_ros.robot.files.actuators import with_actuators
from hodyn_ros.robot.files.joint_limits import with_limits
from hodyn_ros.robot.files.loader import load_robot
from hodyn_ros.robot.files.sources import robot_keys, robot_names
from hodyn_ros.robot.files.writer import robot_mapping, robot_text, save_robot

__all__ = [
    'load_robot', 'robot_keys', 'robot_mapping', 'robot_names', 'robot_text', 'save_robot',
    'with_actuators', 'with_limits',
]
