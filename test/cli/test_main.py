"""The command line: options that have no effect are refused, faults are one line."""
import subprocess
import sys

import pytest

import hodyn_ros as hd
from hodyn_ros.cli import main


def refusal(capsys, *arguments):
    """Return the one line with which a command refuses."""
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    lines = captured.err.strip().splitlines()  # a progress bar leaves an empty one
    assert len(lines) == 1
    return lines[0]


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize('option', [
    ('--stiffness', '500'), ('--stiffness', '0'), ('--bandwidth', '50'), ('--speed', '0.5'),
    ('--robustness',), ('--direct',), ('--actuator', 'sea'),
])
def test_options_of_the_comparison_are_refused_without_it(capsys, option):
    assert f'{option[0]} goes with --compare' in refusal(capsys, 'demo', *option)


@pytest.mark.parametrize(('options', 'message'), [
    (('--bandwidth', '50'), '--bandwidth needs --direct'),
    (('--robustness',), '--robustness needs --direct'),
    (('--direct', '--actuator', 'rigid', '--stiffness', '500'), 'rigid actuators have none'),
    (('--direct', '--stiffness', '0'), 'stiffness 0: must be above 0'),
    (('--direct', '--actuator', 'vsa', '--stiffness', '0'), 'must be above 0'),
])
def test_what_a_comparison_would_not_use_is_refused(capsys, options, message):
    assert message in refusal(capsys, 'demo', '--compare', '--actuator', 'sea', *options)


def test_a_comparison_through_ros_needs_actuators(capsys):
    assert 'through ROS needs --actuator' in refusal(capsys, 'demo', '--compare')


def test_a_floating_base_is_refused_before_anything_starts(capsys, tmp_path):
    message = refusal(capsys, 'demo', '--robot', 'aerial_manipulator')
    assert 'floating base' in message
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize('missing', ['builtin_interfaces', 'rclpy', 'mujoco'])
def test_what_is_not_installed_is_named_with_the_command_that_brings_it(
    capsys, monkeypatch, missing,
):
    for name in list(sys.modules):
        if name.startswith(('hodyn_ros.ros', f'{missing}.')):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, missing, None)
    message = refusal(capsys, 'demo')
    assert missing in message
    assert "pip install 'hodyn_ros[ros,sim]'" in message


@pytest.mark.parametrize(('arguments', 'message'), [
    (('demo', '--output', 'file'), 'file: is not a folder'),
    (('demo', '--json', 'none/figures.json'), 'there is no folder none'),
    (('demo', '--json', 'folder'), 'folder: is a folder'),
    (('replay', 'nowhere', '--output', 'file'), 'file: is not a folder'),
    (('identify', 'nowhere', '--output', 'file'), 'file: is not a folder'),
    (('check', 'nowhere.csv', '--output', 'none/curves.png'), 'there is no folder none'),
    (('annotate', 'nowhere.csv', '--output', 'none/plan.csv'), 'there is no folder none'),
])
def test_where_results_cannot_go_is_told_before_the_work(capsys, tmp_path, arguments, message):
    (tmp_path / 'file').touch()
    (tmp_path / 'folder').mkdir()
    assert message in refusal(capsys, *arguments)


def test_the_version_is_that_of_the_package(capsys):
    with pytest.raises(SystemExit, match='0'):
        main(['--version'])
    assert capsys.readouterr().out == f'hodyn {hd.__version__}\n'


@pytest.mark.slow
def test_a_reader_that_has_had_enough_is_no_fault():
    process = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', 'robots'],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait() == 141
