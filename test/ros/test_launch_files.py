"""Which parameters, names and topics the launch files give the nodes."""
from pathlib import Path

from launch_stand_in import launch
import pytest
import yaml

from hodyn_ros.feedforward.settings import longest_end
from hodyn_ros.robot import HodynError
from hodyn_ros.ros import parameter_file
from hodyn_ros.ros.feedforward_node import main
from hodyn_ros.ros.given_parameters import read_arguments
from hodyn_ros.ros.parameters import TABLE

ROOT = Path(__file__).parents[2]
FILE = 'feedforward.launch.py'
DEMO = 'demo.launch.py'


def configured(name):
    values = yaml.safe_load((ROOT / 'config' / f'{name}.yaml').read_text())
    values = values['/**']['ros__parameters']
    constraints = values.pop('constraints')
    return values | {f'constraints.{name}': value for name, value in constraints.items()}


@pytest.fixture
def params_file(tmp_path):
    """Return a function that writes parameters, or a text, to a file and returns its path."""
    def write(text='', node='/**', **values):
        path = tmp_path / 'mine.yaml'
        path.write_text(text or yaml.safe_dump({node: {'ros__parameters': values}}))
        return str(path)
    return write


def test_the_users_file_wins_over_the_packages(monkeypatch, params_file):
    """A copied file with another robot came up as an active Panda."""
    file = params_file(robot='fr3', auto_activate=False, fade=2)
    node = launch(monkeypatch, FILE, params_file=file)['feedforward']
    assert node.parameters == {
        **configured('fr3'), 'robot': 'fr3', 'auto_activate': False, 'fade': 2.0}
    # The robot decides about gravity where the file does not.
    assert node.parameters['gravity_in_output'] is False
    # The driver's topic is that of the robot of the file.
    assert node.remappings == {'joint_states': 'franka/joint_states'}
    # A second signal would end the node in motion.
    assert node.sigterm_timeout > longest_end(2.0)


def test_the_command_line_wins_over_the_users_file(monkeypatch, params_file):
    file = params_file(
        robot='fr3', auto_activate=False, gravity_in_output=False, joint_prefix='left_')
    node = launch(
        monkeypatch, FILE, params_file=file, robot='iiwa14', auto_activate='true',
        gravity_in_output='true', joint_prefix='right_', use_sim_time='true')['feedforward']
    assert node.parameters == {
        **configured('iiwa14'), 'robot': 'iiwa14', 'auto_activate': True,
        'gravity_in_output': True, 'joint_prefix': 'right_', 'use_sim_time': True}
    assert node.remappings == {}


@pytest.mark.parametrize(('robot', 'config', 'topic'), [
    ('', 'panda', 'franka/joint_states'), ('panda', 'panda', 'franka/joint_states'),
    ('fr3', 'fr3', 'franka/joint_states'), ('iiwa14', 'iiwa14', None),
    ('ur10e', 'ur10e', None),
    ('twolink', 'generic', None), ('robot_description', 'generic', None),
    (str(ROOT / 'hodyn_ros' / 'robot' / 'builtin' / 'panda.yaml'), 'generic', None)])
def test_without_a_file_the_robots_own_or_the_generic_one_is_taken(
        monkeypatch, robot, config, topic):
    node = launch(monkeypatch, FILE, robot=robot)['feedforward']
    assert node.parameters == {**configured(config), 'robot': robot or 'panda'}
    assert node.remappings.get('joint_states') == topic


def test_names_topics_and_the_rest(monkeypatch):
    node = launch(
        monkeypatch, FILE, name='arm', namespace='left', joint_states='/left/joint_states',
        reference='/target', external_wrench='ft', stiffness='k', torque='tau', respawn='true',
        joint_trajectory='/plan', log_level='debug')['arm']
    assert node.namespace == 'left'
    assert node.remappings == {
        'joint_states': '/left/joint_states', '~/reference': '/target',
        '~/external_wrench': 'ft', '~/stiffness': 'k', '~/torque': 'tau',
        '~/joint_trajectory': '/plan'}
    assert node.ros_arguments == ['--log-level', 'debug']
    assert node.respawn


def test_the_demo_takes_robot_and_file(monkeypatch, params_file):
    file = params_file(robot='iiwa14', fade=1.0)
    nodes = launch(monkeypatch, DEMO, params_file=file, log_level='warn')
    assert nodes['feedforward'].parameters == {
        'robot': 'iiwa14', 'fade': 1.0, 'lookahead': 0.0005}
    assert nodes['simulated_driver'].parameters == {'robot': 'iiwa14'}
    assert {node.namespace for node in nodes.values()} == {'hodyn_demo'}
    nodes = launch(monkeypatch, DEMO, params_file=file, robot='fr3')
    assert {node.parameters['robot'] for node in nodes.values()} == {'fr3'}
    nodes = launch(monkeypatch, DEMO)
    assert {node.parameters['robot'] for node in nodes.values()} == {'panda'}


WRONG_FILES = [
    ('', 'not a parameter file: it should begin with /**:'),
    ('a: [\n', 'line 2, column 1: not valid YAML'),
    ('/**:\n  ros__parameters:\n    robto: fr3\n', "line 3: unknown parameter 'robto'; did you "
     "mean 'robot'?"),
    ('/**:\n  ros__parameters:\n    robot: fr3\n    deep:\n      er: 1\n',
     "line 5: unknown parameter 'deep.er'"),
    ('/**:\n  ros__parameters:\n    locked_joints:\n      finger: 0.0\n',
     "line 4: parameter 'locked_joints' is a mapping with the key 'finger': it takes a value or"),
    ('feedfoward:\n  ros__parameters:\n    robot: fr3\n',
     "line 1: nothing for the node '/feedforward', only for 'feedfoward'; write /** or"),
    ('/left/feedforward:\n  ros__parameters:\n    robot: fr3\n', "only for '/left/feedforward'"),
    ('robot: fr3\n', 'line 1: no ros__parameters in it'),
    ('feedforward:\n  ros_parameters:\n    robot: fr3\n',
     "line 2: 'ros_parameters': did you mean 'ros__parameters'?"),
    ('/**:\n  ros__parameters:\n    robot: fr3\nfeedforward:\n  ros__parameter: {}\n',
     "line 5: 'ros__parameter': did you mean 'ros__parameters'?"),
    ('/**:\n  ros__parameters: 3\n', 'line 2: ros__parameters is 3; expected a mapping'),
    ('/**:\n  ros__parameters:\n    robot: fr3\n    robot: panda\n', "key 'robot' occurs twice"),
]
WRONG_VALUES = [
    ('/**:\n  ros__parameters:\n    fade: 100.0\n', 'line 3: fade is 100.0; expected 0.2 to 10'),
    ('/**:\n  ros__parameters:\n    robot: fr4\n', "no robot 'fr4'"),
    ('/**:\n  ros__parameters:\n    command_joints: [a, 1]\n', 'expected an array of strings'),
]


@pytest.mark.parametrize('file', [FILE, DEMO])
@pytest.mark.parametrize(('text', 'message'), [*WRONG_FILES, *WRONG_VALUES])
def test_a_wrong_file_is_one_line_and_no_node(
        monkeypatch, params_file, file, text, message):
    """The node came up with the defaults of the code: on a Franka with gravity twice."""
    path = params_file(text or ' ')
    message = message.replace("'/feedforward'", "'/hodyn_demo/feedforward'" if file == DEMO else (
        "'/feedforward'"))
    with pytest.raises(HodynError) as caught:
        launch(monkeypatch, file, params_file=path)
    assert str(caught.value).startswith(path)
    assert message in str(caught.value)
    assert '\n' not in str(caught.value)


@pytest.mark.parametrize(('arguments', 'message'), [
    ({'params_file': '/nowhere.yaml'}, "'/nowhere.yaml': there is no such file"),
    ({'params_file': '/'}, "'/': there is no such file"),
    ({'robot': 'pandas'}, "no robot 'pandas': .*; did you mean 'panda'?"),
])
def test_what_is_not_there_is_one_line_and_no_node(monkeypatch, arguments, message):
    with pytest.raises(HodynError, match=message):
        launch(monkeypatch, FILE, **arguments)


@pytest.mark.parametrize(('text', 'message'), WRONG_FILES)
def test_the_node_itself_refuses_a_wrong_file(params_file, capfd, text, message):
    """It did not notice, as the client library takes from a file what it knows."""
    path = params_file(text or ' ')
    assert main(['node', '--ros-args', '--params-file', path]) == 2
    error = capfd.readouterr().err
    assert message in error
    assert error.count('\n') == 1


@pytest.mark.live
@pytest.mark.parametrize(('arguments', 'message'), [
    (['--ros-args', '--params-file', '/nowhere.yaml'], 'there is no such file'),
    (['robot:=fr3'], "'robot:=fr3' would be ignored"),
    (['--ros-args', '-p', 'robto:=fr3'], "unknown parameter 'robto'; did you mean 'robot'?"),
    (['--ros-args', '-p', 'robot'], "'-p robot'"),
    (['--ros-args', '--log-level', 'loud'], "'--log-level loud'"),
    (['--ros-args', '--parms-file', 'x'], '--parms-file'),
])
def test_the_node_refuses_what_would_go_unnoticed(
        ros_environment, capfd, arguments, message):
    assert main(['node', *arguments]) == 2
    error = capfd.readouterr().err
    assert message in error
    assert 'Traceback' not in error


def test_the_name_that_the_command_line_gives_the_node_counts(params_file):
    path = params_file(node='/left/arm', robot='fr3')
    for remaps in (['-r', '__ns:=/left', '-r', '__node:=arm'],
                   ['--remap', '__ns:=left', '-r', 'feedforward:__node:=arm']):
        read_arguments(
            ['node', '--ros-args', *remaps, '--params-file', path], 'feedforward')
    with pytest.raises(HodynError, match="nothing for the node '/feedforward'"):
        read_arguments(
            ['node', '--ros-args', '--params-file', path], 'feedforward')


@pytest.mark.parametrize(('words', 'message'), [
    (['--params-file', 'F'], 'write feedforward --ros-args --params-file F$'),
    (['--halp'], 'write feedforward --ros-args -p NAME:=VALUE, or --params-file FILE; the param'),
    (['--ros-args', '-p', 'robot=panda'], '-p robot=panda: write -p robot:=panda$'),
])
def test_of_words_that_miss_something_the_command_is_said(words, message):
    with pytest.raises(HodynError, match=message):
        read_arguments(['node', *words], 'feedforward')


def test_the_file_that_launch_hands_on_is_taken(params_file):
    """It is dumped with the tuples that launch_ros makes of arrays."""
    path = params_file(yaml.dump(
        {'/**': {'ros__parameters': {'payload_com': (0.0, 0.1, 0.2), 'command_joints': ('',)}}}))
    assert '!!python/tuple' in Path(path).read_text()
    found = parameter_file.read(path, '/feedforward', lambda *_: '')
    assert found == {'payload_com': [0.0, 0.1, 0.2], 'command_joints': ['']}


def test_numbers_are_read_as_ros_reads_them(monkeypatch, params_file):
    path = params_file(
        '/**:\n  ros__parameters:\n    fade: 1\n    max_time_step: 1e-1\n'
        '    payload_com: [0, 0.1, 1e-2]\n')
    given = launch(monkeypatch, FILE, params_file=path)['feedforward'].parameters
    for name, value in (('fade', 1.0), ('max_time_step', 0.1), ('payload_com', [0.0, 0.1, 0.01])):
        assert given[name] == value
        assert {type(x) for x in (value if isinstance(value, list) else [value])} == {float}


@pytest.mark.parametrize('name', ['panda', 'fr3', 'iiwa14', 'ur10e', 'generic'])
def test_a_copied_file_of_the_package_is_taken_as_it_is(monkeypatch, params_file, name):
    path = params_file((ROOT / 'config' / f'{name}.yaml').read_text())
    node = launch(monkeypatch, FILE, params_file=path)['feedforward']
    assert node.parameters == configured(name)
    assert set(node.parameters) == {name for name in TABLE if 'JOINT' not in name}


@pytest.mark.parametrize('file', [FILE, DEMO])
def test_a_mistyped_argument_is_named_and_one_of_another_file_ignored(monkeypatch, file):
    """`robbot:=ur10e` started a Panda."""
    with pytest.raises(HodynError, match=r"no launch argument 'robbot'; did you mean 'robot'\?"):
        launch(monkeypatch, file, robbot='ur10e')
    assert launch(monkeypatch, file, use_rviz='true', world='empty.sdf')


@pytest.mark.parametrize('file', [FILE, DEMO])
def test_a_parameter_given_as_an_argument_does_not_go_unnoticed(monkeypatch, capsys, file):
    """The arm came up without the payload of `payload_mass:=2`."""
    assert launch(monkeypatch, file, payload_mass='2', rate='30', world='empty.sdf')
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[2] for line in lines] == ['payload_mass', 'rate']
    assert all('and is not set: write it in a params_file' in line for line in lines)
