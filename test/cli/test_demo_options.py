"""``hodyn demo``: options that have no effect, and robots that it cannot run, are refused."""
import json

from commands import refusal
import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.simulation.examples import with_example_actuators


@pytest.mark.parametrize('option', [
    ('--bandwidth', '50'), ('--speed', '0.5'), ('--robustness',),
])
def test_options_of_the_comparison_are_refused_without_it(capsys, option):
    assert f'{option[0]} only works with --compare' in refusal(capsys, 'demo', *option)


@pytest.mark.parametrize(('options', 'message'), [
    (('--actuator', 'rigid', '--stiffness', '500'), 'rigid actuators have none'),
    (('--actuator', 'sea', '--stiffness', '0'), 'stiffness 0: must be above 0'),
    (('--actuator', 'vsa', '--stiffness', '0'), 'must be above 0'),
    (('--stiffness', '500'), '--stiffness goes with --actuator sea or vsa'),
])
@pytest.mark.parametrize('compare', [(), ('--compare',)])
def test_a_stiffness_without_springs_or_of_none_is_refused(capsys, options, message, compare):
    said = refusal(capsys, 'demo', *compare, *options)
    assert message in said or (compare and 'give --actuator' in said)


SPRING = {'law': 'spring', 'stiffness': 1000.0}


def write_motors(path, second):
    """Write a spring and a second joint whose motor has no inertia."""
    path.write_text(yaml.safe_dump({'actuators': {
        'joint1': {**SPRING, 'motor': {'inertia': 0.5}},
        'joint2': {**second, 'motor': {'inertia': 0.0}}}}))
    return '--robot', 'twolink', '--actuators', str(path)


def test_a_rigid_joint_whose_motor_has_no_inertia_is_compared(capsys, tmp_path):
    arguments = write_motors(tmp_path / 'motors.yaml', {'law': 'rigid'})
    assert main([
        'demo', '--compare', '--duration', '0.5', '--json', 'figures.json', *arguments]) == 0
    rms = json.loads((tmp_path / 'figures.json').read_text())['comparison']
    assert rms['full'] < 1e-3 * rms['rigid'] < 1.0
    assert "no flatness-based feedback: joint 'joint2' has no spring" in capsys.readouterr().out


def test_example_springs_do_not_replace_those_of_the_file(capsys, tmp_path):
    hd.save_robot(with_example_actuators(hd.load_robot('twolink'), 'sea'), 'elastic.yaml')
    for compare in ((), ('--compare',)):
        said = refusal(capsys, 'demo', '--robot', 'elastic.yaml', '--actuator', 'sea', *compare)
        assert "the file of robot 'twolink' has its own: leave out --actuator" in said
    said = refusal(capsys, 'demo', '--compare', '--robot', 'twolink')
    assert 'give --actuators FILE with its own, or --actuator for examples' in said


@pytest.mark.parametrize('compare', [(), ('--compare',)])
def test_a_motor_without_inertia_behind_a_spring_is_refused(capsys, tmp_path, compare):
    arguments = write_motors(tmp_path / 'motors.yaml', SPRING)
    said = refusal(capsys, 'demo', *compare, *arguments)
    assert said.startswith("hodyn demo: motor 'joint2' has no inertia")
    assert not (tmp_path / 'hodyn_demo').exists()


def test_a_comparison_is_not_retimed(capsys):
    assert '--retime does not work with --compare' in refusal(
        capsys, 'demo', '--compare', '--actuator', 'sea', '--retime')


def test_a_floating_base_is_refused_before_anything_starts(capsys, tmp_path):
    message = refusal(capsys, 'demo', '--robot', 'aerial_manipulator')
    assert 'floating base' in message
    assert not any(tmp_path.iterdir())
