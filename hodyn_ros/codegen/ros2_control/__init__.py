"""A package of ros2_control for one robot: its generated C inside a controller in C++.

The files beside this module are the package, with names between ``@`` in place of text that
depends on the robot; `package` fills them in.
"""
from hodyn_ros.codegen.ros2_control.package import controller_contents, generate_ros2_control

__all__ = ['controller_contents', 'generate_ros2_control']
