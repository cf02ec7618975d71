"""The feed-forward node beside a driver.

ros2 launch hodyn_ros feedforward.launch.py robot:=panda
ros2 launch hodyn_ros feedforward.launch.py params_file:=my_arm.yaml
"""
from pathlib import Path

from ament_index_python.packages import get_package_share_directory
from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from hodyn_ros.ros.executables import END_WITH_PARENT
from hodyn_ros.ros.launch_arguments import NODE_ARGUMENTS, check_names, launched_node


def node(context: LaunchContext) -> list[Action]:
    lines = check_names(context.launch_configurations, NODE_ARGUMENTS)
    given = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in NODE_ARGUMENTS}
    wanted = launched_node(given, Path(get_package_share_directory('hodyn_ros')) / 'config')
    return [*(LogInfo(msg=line) for line in lines), Node(
        package='hodyn_ros', executable='feedforward', name=given['name'],
        namespace=given['namespace'], output='screen', parameters=[wanted.parameters],
        remappings=wanted.remappings, ros_arguments=wanted.ros_arguments,
        # A launch that gets SIGTERM ends without its nodes.
        additional_env={END_WITH_PARENT: '1'},
        respawn=given['respawn'] == 'true', respawn_delay=1.0,
        sigterm_timeout=str(wanted.end_timeout))]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([
        *(DeclareLaunchArgument(
            argument.name, default_value=argument.default, description=argument.description,
            choices=argument.choices and list(argument.choices)) for argument in NODE_ARGUMENTS),
        OpaqueFunction(function=node)])
