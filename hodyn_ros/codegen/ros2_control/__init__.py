"""A ros2_control package for one robot: its generated C inside a controller in C++.

The files beside this module are templates: `package` replaces names between ``@`` by text that
depends on the robot.
"""
from hodyn_ros.codegen.ros2_control.package import controller_contents, generate_ros2_control

__all__ = ['controller_contents', 'generate_ros2_control']
