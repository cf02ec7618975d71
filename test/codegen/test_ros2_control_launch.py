"""The launch file of the package of ros2_control, with what stands in for launch."""
import runpy
import sys
from types import ModuleType, SimpleNamespace
from xml.etree import ElementTree

import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.codegen.ros2_control import generate_ros2_control


class Words:
    """An action, a substitution or a value, with the words that it was given."""

    def __init__(self, *values, **words):
        self.values = values
        vars(self).update(words)

    def perform(self, context):
        return context[self.values[0]]


@pytest.fixture
def launch(monkeypatch, tmp_path):
    """Launch the package of a Panda with arguments; return the nodes by executable."""
    generate_ros2_control(hd.load_robot('panda'), tmp_path / 'package')
    for name, contents in {
            'ament_index_python.packages': ['get_package_share_directory'],
            'launch': ['LaunchDescription'],
            'launch.actions': ['DeclareLaunchArgument', 'OpaqueFunction', 'Shutdown'],
            'launch.substitutions': ['LaunchConfiguration'], 'launch_ros.actions': ['Node'],
            'launch_ros.parameter_descriptions': ['ParameterValue']}.items():
        module = ModuleType(name)
        vars(module).update(dict.fromkeys(contents, Words))
        monkeypatch.setitem(sys.modules, name, module)
    for name in ('ament_index_python', 'launch_ros'):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    sys.modules['ament_index_python.packages'].get_package_share_directory = (
        lambda package: tmp_path / 'package')

    def start(**arguments):
        file = tmp_path / 'package' / 'launch' / 'controller.launch.py'
        actions = runpy.run_path(str(file))['generate_launch_description']().values[0]
        defaults = {
            one.values[0]: one.default_value for one in actions if hasattr(one, 'default_value')}
        assert arguments.keys() <= defaults.keys()
        nodes = actions[-1].function({**defaults, **arguments})
        return SimpleNamespace(**{node.executable: node for node in nodes})

    return start


def hardware(nodes):
    text = nodes.robot_state_publisher.parameters[0]['robot_description']
    assert text.value_type is str  # launch reads other texts as YAML
    return ElementTree.fromstring(text.values[0]).find('ros2_control/hardware')


def test_without_arguments_the_hardware_is_a_mock(launch, tmp_path):
    nodes = launch()
    assert hardware(nodes).findtext('plugin') == 'mock_components/GenericSystem'
    manager = nodes.ros2_control_node
    assert manager.package == 'controller_manager'
    example, clock = manager.parameters
    assert example == str(tmp_path / 'package' / 'config' / 'controllers.yaml')
    assert clock == {'use_sim_time': False}
    controllers = yaml.safe_load((tmp_path / 'package' / 'config' / 'controllers.yaml').open())
    assert set(nodes.spawner.arguments) < set(
        controllers['/**']['controller_manager']['ros__parameters'])
    assert manager.on_exit is not None  # nothing waits for a manager that has gone


def test_with_an_mjcf_it_is_mujoco_with_or_without_a_window(launch, tmp_path):
    model = tmp_path / 'arm & table.xml'
    model.write_text('<mujoco/>')
    nodes = launch(mujoco_model=str(model), headless='true')
    assert nodes.ros2_control_node.package == 'mujoco_ros2_control'
    assert nodes.ros2_control_node.parameters[1] == {'use_sim_time': True}
    assert nodes.robot_state_publisher.parameters[1] == {'use_sim_time': True}
    part = hardware(nodes)
    assert part.findtext('plugin') == 'mujoco_ros2_control/MujocoSystemInterface'
    assert {one.get('name'): one.text for one in part.findall('param')} == {
        'mujoco_model': str(model), 'headless': 'true'}
    assert hardware(launch(mujoco_model=str(model))).findall('param')[1].text == 'false'


@pytest.mark.parametrize('argument', ['mujoco_model', 'controllers'])
def test_files_that_are_not_there_are_named(launch, argument):
    with pytest.raises(FileNotFoundError, match=r'not_there\.xml'):
        launch(**{argument: 'not_there.xml'})
