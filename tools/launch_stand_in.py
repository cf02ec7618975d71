"""What the launch files need of `launch` and `launch_ros`, where ROS is not installed."""
from pathlib import Path
import runpy
import sys
from types import ModuleType

ROOT = Path(__file__).parents[1]


class DeclareLaunchArgument:
    """An argument, with the checks of the real one."""

    def __init__(self, name, *, default_value=None, description=None, choices=None):
        assert choices is None or default_value in choices, name
        self.name, self.default, self.choices = name, default_value, choices
        assert description


class OpaqueFunction:
    """A function that is called when the description is launched."""

    def __init__(self, *, function):
        self.function = function


class LogInfo:
    """A line of launch's own log."""

    def __init__(self, *, msg):
        print(f'[INFO] [launch.user]: {msg}')


class LaunchDescription:
    """Actions in their order."""

    def __init__(self, actions):
        self.actions = actions


class LaunchConfiguration:
    """The value of an argument."""

    def __init__(self, name):
        self.name = name

    def perform(self, context):
        return context[self.name]


class Context(dict):
    """The values of arguments, also of those that nobody declared."""

    launch_configurations = property(dict)


class Node:
    """A node, with what it was given."""

    def __init__(self, *, package, executable, name, namespace, parameters, output,
                 remappings=(), ros_arguments=(), respawn=False, respawn_delay=None,
                 sigterm_timeout='5', additional_env=None):
        assert additional_env == {'HODYN_END_WITH_PARENT': '1'}
        assert package == 'hodyn_ros'
        assert output == 'screen'
        assert (ROOT / 'libexec' / executable).is_file()
        [self.parameters] = parameters
        self.executable, self.name, self.namespace = executable, name, namespace
        self.remappings, self.ros_arguments = dict(remappings), list(ros_arguments)
        self.respawn, self.sigterm_timeout = respawn, float(sigterm_timeout)
        assert not respawn or respawn_delay > 0.0


def launch(monkeypatch, file, **arguments):
    """Return the nodes of a launch file by name, as `ros2 launch` starts them."""
    for name, contents in {
        'launch': {'LaunchContext': Context, 'LaunchDescription': LaunchDescription},
        'launch.action': {'Action': object},
        'launch.actions': {
            'DeclareLaunchArgument': DeclareLaunchArgument, 'LogInfo': LogInfo,
            'OpaqueFunction': OpaqueFunction},
        'launch.substitutions': {'LaunchConfiguration': LaunchConfiguration},
        'launch_ros': {}, 'launch_ros.actions': {'Node': Node},
        'ament_index_python': {},
        'ament_index_python.packages': {'get_package_share_directory': lambda _: str(ROOT)},
    }.items():
        module = ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    description = runpy.run_path(str(ROOT / 'launch' / file))['generate_launch_description']()
    declared = {
        action.name: action for action in description.actions
        if isinstance(action, DeclareLaunchArgument)}
    context = Context(
        {name: action.default for name, action in declared.items()} | arguments)
    for name, action in declared.items():
        assert action.choices is None or context[name] in action.choices
    nodes = [
        node for action in description.actions if isinstance(action, OpaqueFunction)
        for node in action.function(context) if isinstance(node, Node)]
    return {node.name: node for node in nodes}
