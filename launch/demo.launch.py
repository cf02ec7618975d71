"""The feed-forward node and a simulated arm, in the namespace hodyn_demo.

ros2 launch hodyn_ros demo.launch.py robot:=panda
"""
from launch import LaunchContext, LaunchDescription
from launch.action import Action
from launch.actions import DeclareLaunchArgument, LogInfo, OpaqueFunction
from launch.substitutions import LaunchConfiguration
from launch_ros.actions import Node

from hodyn_ros.ros.executables import END_WITH_PARENT
from hodyn_ros.ros.launch_arguments import DEMO_ARGUMENTS, check_names, launched_node

NAMESPACE = 'hodyn_demo'


def nodes(context: LaunchContext) -> list[Action]:
    lines = check_names(context.launch_configurations, DEMO_ARGUMENTS)
    given = {
        argument.name: LaunchConfiguration(argument.name).perform(context)
        for argument in DEMO_ARGUMENTS}
    wanted = launched_node(given, None, name='feedforward', namespace=NAMESPACE)
    # The arm is held by each torque for a period of 1 ms: its middle.
    parameters = {
        **wanted.parameters, 'lookahead': wanted.parameters.get('lookahead') or 0.5e-3}
    common = {'package': 'hodyn_ros', 'namespace': NAMESPACE, 'output': 'screen',
              'ros_arguments': wanted.ros_arguments,
              # A launch that gets SIGTERM ends without its nodes.
              'additional_env': {END_WITH_PARENT: '1'}}
    return [
        *(LogInfo(msg=line) for line in lines),
        Node(
            executable='feedforward', name='feedforward', parameters=[parameters],
            sigterm_timeout=str(wanted.end_timeout), **common),
        Node(
            executable='simulated_driver', name='simulated_driver',
            parameters=[{'robot': wanted.parameters['robot']}], **common),
    ]


def generate_launch_description() -> LaunchDescription:
    return LaunchDescription([
        *(DeclareLaunchArgument(
            argument.name, default_value=argument.default, description=argument.description,
            choices=argument.choices and list(argument.choices)) for argument in DEMO_ARGUMENTS),
        OpaqueFunction(function=nodes)])
