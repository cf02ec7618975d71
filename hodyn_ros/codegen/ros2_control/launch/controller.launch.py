# @mark@.
"""Start a controller manager with the controller of @robot@, on mock or simulated hardware."""
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

MOCK = '<plugin>mock_components/GenericSystem</plugin>'


def nodes(context):
    """Return the nodes."""
    share = Path(get_package_share_directory('@package@'))
    description = (share / 'config' / 'robot.urdf').read_text('utf-8')
    model = LaunchConfiguration('mujoco_model').perform(context)
    if model:
        description = description.replace(
            MOCK, '<plugin>mujoco_ros2_control/MujocoSystemInterface</plugin>'
            f'<param name="mujoco_model">{Path(model).resolve()}</param>')
    controllers = LaunchConfiguration('controllers').perform(context) or str(
        share / 'config' / 'controllers.yaml')
    return [
        Node(package='robot_state_publisher', executable='robot_state_publisher',
             parameters=[{'robot_description': description}]),
        Node(package='mujoco_ros2_control' if model else 'controller_manager',
             executable='ros2_control_node', output='both',
             parameters=[controllers, {'use_sim_time': bool(model)}]),
        Node(package='controller_manager', executable='spawner',
             arguments=['joint_state_broadcaster', 'feedforward_controller'])]


def generate_launch_description():
    """Return the description."""
    return LaunchDescription([
        DeclareLaunchArgument(
            'mujoco_model', default_value='',
            description='MJCF for mujoco_ros2_control; without it the hardware is a mock.'),
        DeclareLaunchArgument(
            'controllers', default_value='', description='parameters, in place of the example'),
        OpaqueFunction(function=nodes)])
