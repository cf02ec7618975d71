"""The feed-forward node and a simulated arm, in the namespace hodyn_demo.

ros2 launch hodyn_ros demo.launch.py robot:=panda
"""
from launch import LaunchDescription
from launch.actions import DeclareLaunchArgument
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

NAMESPACE = 'hodyn_demo'


def generate_launch_description() -> LaunchDescription:
    robot = {'robot': LaunchConfiguration('robot')}
    return LaunchDescription([
        DeclareLaunchArgument(
            'robot', default_value='panda', description='Built-in robot or path of a robot file'),
        Node(
            package='hodyn_ros', executable='feedforward', name='feedforward',
            namespace=NAMESPACE, output='screen', parameters=[robot]),
        Node(
            package='hodyn_ros', executable='simulated_driver', name='simulated_driver',
            namespace=NAMESPACE, output='screen', parameters=[robot]),
    ])
