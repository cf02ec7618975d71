"""Parameters of a node's command line: -p wins over files, the last over others."""
import json
from pathlib import Path
import re
import subprocess
import sys

import pytest
from rclpy.parameter import Parameter

from hodyn_ros.robot import HodynError
from hodyn_ros.ros.feedforward_node import main
from hodyn_ros.ros.given_parameters import as_overrides, read_arguments
from hodyn_ros.ros.parameters import TABLE

GENERIC = str(Path(__file__).parents[2] / 'config' / 'generic.yaml')


def given(*words):
    return read_arguments(['feedforward', '--ros-args', *words], 'feedforward')


@pytest.fixture
def file(tmp_path):
    """Return a function that writes lines of parameters to a file and returns its path."""
    def write(*lines, name='mine.yaml'):
        path = tmp_path / name
        path.write_text('\n    '.join(('/**:\n  ros__parameters:', *lines)))
        return str(path)
    return write


@pytest.mark.parametrize(('words', 'message'), [
    (['-p', 'gravity_in_output:=0'],
     '-p gravity_in_output:=0: gravity_in_output is 0; expected a truth value (true or false)'),
    (['-p', 'payload_mass:=0.3kg'], "-p payload_mass:=0.3kg: payload_mass is '0.3kg'; expected a"),
    (['--param', 'fade:=hello'], "--param fade:=hello: fade is 'hello'; expected a number"),
    (['-p', 'tracking_tolerance:=[-0.2]'],
     '-p tracking_tolerance:=[-0.2]: tracking_tolerance is [-0.2]; expected finite numbers: -1, '),
    (['-p', 'locked_joints:=[elbow:0.5]'],
     "-p locked_joints:=[elbow:0.5]: locked_joints: 'elbow:0.5'; expected JOINT=VALUE, for exam"),
])
def test_a_wrong_value_after_a_file_is_one_line_and_no_node(capfd, words, message):
    """The node started with gravity, the file's value, and said nothing."""
    assert main([
        'node', '--ros-args', '--params-file', GENERIC, '-p', 'robot:=panda', *words]) == 2
    error = capfd.readouterr().err
    assert message in error
    assert error.count('\n') == 1


@pytest.mark.parametrize(('words', 'message'), [
    (['--params_file', 'a.yaml'],
     "argument '--params_file' after --ros-args is unknown to ROS; did you mean '--params-file'?"),
    (['-p', 'robot:=panda', 'x'], "argument 'x' after --ros-args is unknown to ROS"),
    (['--disable-stdout-logs', '--log-level', 'warn', '-p', 'robot:=panda'], '')])
def test_words_that_ros_does_not_know_are_named(words, message):
    if not message:
        assert given(*words) == {'robot': 'panda'}
        return
    with pytest.raises(HodynError) as error:
        given(*words)
    assert str(error.value) == message


@pytest.mark.live
def test_security_that_this_ros_does_not_have_is_one_line(
        ros_environment, capfd, monkeypatch, tmp_path):
    """It was a traceback."""
    (tmp_path / 'enclaves' / 'arm').mkdir(parents=True)
    for name, value in (('ENABLE', 'true'), ('STRATEGY', 'Enforce'), ('KEYSTORE', tmp_path)):
        monkeypatch.setenv(f'ROS_SECURITY_{name}', str(value))
    assert main(['node', '--ros-args', '-p', 'robot:=panda', '--enclave', '/arm']) == 2
    said = capfd.readouterr().err
    assert 'Traceback' not in said
    assert re.search('FATAL.*error creating node', said)


@pytest.mark.live
@pytest.mark.parametrize(('value', 'hint'), [
    ('command_joints:=[a:b]', 'in lists, write texts with a colon in quotes, as ["a:b"]: '),
    ('payload_com:=[0, 0.1, 0]', 'a list has numbers with and without a point; write 0.0 for 0: '),
])
def test_what_ros_cannot_read_comes_with_what_to_do(ros_environment, capfd, value, hint):
    assert main(['node', '--ros-args', '-p', value]) == 2
    assert f'feedforward: command line: {hint}' in capfd.readouterr().err


@pytest.mark.live
def test_a_file_that_ros_cannot_read_comes_with_what_to_do(ros_environment, capfd, file):
    path = file('locked_joints: [joint7:=0.02]')
    assert main(['node', '--ros-args', '--params-file', path]) == 2
    assert ('feedforward: parameter file: in lists, write texts with a colon in quotes' in
            capfd.readouterr().err)


@pytest.mark.live
def test_a_decimal_wins_over_a_whole_number_of_before(live, file):
    """ROS kept the whole number of the file, whatever came later."""
    path = file('fade: 1', 'payload_com: [0, 0, 0]', 'tracking_tolerance: [1]')
    node = live(ready=False, command=[
        sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--ros-args', '--params-file',
        path, '-p', 'fade:=0.3', '-p', 'tracking_tolerance:=[0.5]', '-p', 'auto_activate:=false'])
    assert node.get('fade', 'payload_com', 'tracking_tolerance') == [
        0.3, [0.0, 0.0, 0.0], [0.5]]


@pytest.mark.parametrize(('line', 'message'), [
    ('gravity_in_output: "no"', "line 3: gravity_in_output is 'no'; expected a truth value"),
    ('fade: abc', "line 3: fade is 'abc'; expected a number"),
    ('on: 1', "line 3: unknown parameter 'True'"),
    ('rate: 0', 'line 3: rate is 0.0; expected 1 to 10000'),
    ('use_sim_time: 1', 'line 3: use_sim_time is 1; expected a truth value'),
    ('qos_overrides: {/joint_states: {subscription: {depth: much}}}',
     "line 3: qos_overrides./joint_states.subscription.depth is 'much'; expected a whole number"),
])
def test_a_wrong_value_in_a_second_file_is_named_with_its_line(file, line, message):
    with pytest.raises(HodynError, match=r'mine\.yaml, ') as error:
        given('--params-file', GENERIC, '--params-file', file(line))
    assert message in str(error.value)


@pytest.mark.parametrize(('words', 'values'), [
    (['-p', 'fade:=1', '-p', 'fade:=1e-0'], {'fade': 1.0}),
    (['-p', 'feedforward:fade:=2', '-p', 'another:fade:=x'], {'fade': 2.0}),
    (['-p', 'joint_prefix:="left_"', '-p', "payload_link:=''"],
     {'joint_prefix': 'left_', 'payload_link': ''}),
    (['-p', 'robot:=<robot name="x"/>'], {'robot': '<robot name="x"/>'}),
    (['-p', 'payload_com:=[0, 0.1, 1e-2]'], {'payload_com': [0.0, 0.1, 0.01]}),
    (['-p', 'constraints.fer_joint1.goal:=0.1'], {'constraints.fer_joint1.goal': 0.1}),
    (['-p', 'use_sim_time:=true'], {'use_sim_time': True}),
])
def test_values_are_read_as_they_are_meant(words, values):
    assert given(*words) == values


def test_the_last_of_files_and_options_counts(file):
    first, second = file('fade: 3', name='a.yaml'), file('fade: 0.5', name='b.yaml')
    assert given('--params-file', first, '--params-file', second) == {'fade': 0.5}
    assert given('-p', 'fade:=2', '--params-file', first) == {'fade': 2.0}
    assert given('--params-file', first, '-p', 'fade:=2') == {'fade': 2.0}


def test_an_option_without_a_value_says_how_to_give_an_empty_one():
    with pytest.raises(HodynError, match="no value; write joint_prefix:=\"''\" for an empty"):
        given('-p', 'joint_prefix:=')


def test_a_joint_whose_name_begins_with_a_digit_belongs_in_a_file(file):
    with pytest.raises(HodynError, match='begins with a digit on the command line; write it in a'):
        given('-p', 'constraints.1L.goal:=0.1')
    assert given('--params-file', file('constraints: {1L: {goal: 0.1}}')) == {
        'constraints.1L.goal': 0.1}


def test_an_empty_array_keeps_the_type_of_its_parameter():
    found = as_overrides({'locked_joints': [], 'payload_com': [], 'use_sim_time': True})
    assert {one.name: one.type_ for one in found} == {
        'locked_joints': Parameter.Type.STRING_ARRAY, 'payload_com': Parameter.Type.DOUBLE_ARRAY}


@pytest.mark.parametrize('word', ['--help', '-h'])
def test_help_lists_each_parameter_with_its_default(capfd, word):
    with pytest.raises(SystemExit) as end:
        main(['node', word])
    assert not end.value.code
    printed, error = capfd.readouterr()
    assert printed.startswith('usage: ')
    assert ' --ros-args [--params-file FILE] [-p NAME:=VALUE …]' in printed
    assert error == ''
    for name, row in TABLE.items():
        default = list(row.default) if isinstance(row.default, tuple) else row.default
        assert f'\n{name}:={json.dumps(default)}\n    ' in printed
        assert row.metadata['description'] in ' '.join(printed.split())


@pytest.mark.live
def test_help_ends_quietly_when_its_reader_has_closed_the_pipe(ros_environment):
    """`feedforward --help | head -1` ended in a traceback."""
    process = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros.ros.feedforward_node', '--help'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait() == 141


@pytest.mark.live
def test_the_service_names_a_parameter_that_there_is_not(live):
    """It said `Invalid access to undeclared parameter(s): []`."""
    node = live('auto_activate:=false', ready=False)
    assert node.set(payload_mas=1.0) == (
        "unknown parameter 'payload_mas'; did you mean 'payload_mass'?")
    assert node.set(**{'constraints.joint1.goal': 0.1}) == (
        'constraints.joint1.goal: can only be given at start, by -p or a parameter file')
    assert node.set(tracking_tolerance=[-0.2]) == (
        'tracking_tolerance is [-0.2]; expected finite numbers: -1, 0 or above 0')
    assert node.set(fade=0.7) == ''
    assert node.get('fade') == [0.7]
