"""The feed-forward node beside a driver.

ros2 launch hodyn_ros feedforward.launch.py robot:=panda joint_states:=/franka/joint_states
"""
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

CONFIG = Path(get_package_share_directory('hodyn_ros')) / 'config'
JOINT_STATES = {'panda': 'franka/joint_states', 'fr3': 'franka/joint_states'}


def arguments() -> list[Action]:
    return [
        DeclareLaunchArgument(
            'robot', default_value='panda',
            description='Built-in robot (panda, fr3, iiwa14, …) or path of a robot file'),
        DeclareLaunchArgument(
            'params_file', default_value='',
            description="Parameters file; empty: the robot's in config/, or generic.yaml"),
        DeclareLaunchArgument(
            'namespace', default_value='', description='Namespace of the node'),
        DeclareLaunchArgument(
            'joint_states', default_value='',
            description="Topic of the joint states; empty: the driver's "
            '(franka/joint_states for panda and fr3, else joint_states)'),
        DeclareLaunchArgument(
            'joint_trajectory', default_value='~/joint_trajectory',
            description='Topic of the trajectories to follow'),
        DeclareLaunchArgument(
            'auto_activate', default_value='true', choices=['true', 'false'],
            description='Configure and activate at start, without a lifecycle manager'),
    ]


def node(context: LaunchContext) -> list[Action]:
    value = {name: LaunchConfiguration(name).perform(context) for name in (
        'robot', 'params_file', 'namespace', 'joint_states', 'joint_trajectory', 'auto_activate')}
    own = CONFIG / f'{value["robot"]}.yaml'
    file = value['params_file'] or str(own if own.is_file() else CONFIG / 'generic.yaml')
    states = value['joint_states'] or JOINT_STATES.get(value['robot'], 'joint_states')
    return [Node(
        package='hodyn_ros', executable='feedforward', name='feedforward',
        namespace=value['namespace'], output='screen',
        parameters=[file, {
            'robot': value['robot'], 'auto_activate': value['auto_activate'] == 'true'}],
        remappings=[
            ('joint_states', states), ('~/joint_trajectory', value['joint_trajectory'])],
    )]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([*arguments(), OpaqueFunction(function=node)])
