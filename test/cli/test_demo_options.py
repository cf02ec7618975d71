"""``hodyn demo``: options that have no effect, and robots that it cannot run, are refused."""
import json

from grippers import gripper_urdf
import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.simulation.examples import with_example_actuators

COMPARE = pytest.mark.parametrize('compare', [(), ('--compare',)])


@pytest.mark.parametrize(('options', 'message'), [
    *(((option, *value), f'{option} only works with --compare') for option, *value in (
        ('--bandwidth', '50'), ('--speed', '0.5'), ('--robustness',))),
    (('--compare', '--actuator', 'sea', '--retime'), '--retime does not work with --compare'),
    (('--compare', '--robot', 'twolink'),
     'give --actuators FILE with its own, or --actuator for examples'),
    (('--robot', 'aerial_manipulator'), 'floating base'),
])
def test_what_a_demo_does_not_do_is_refused_before_it_starts(hodyn, tmp_path, options, message):
    assert message in hodyn.refuses('demo', *options)
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize('options', [(), ('--compare', '--actuator', 'sea')])
def test_coupled_joints_are_named_before_a_motion_is_tried(hodyn, tmp_path, options):
    path = tmp_path / 'arm.urdf'
    path.write_text(gripper_urdf(centre='0 0 0'))
    assert 'lock the joints that the others follow: finger1' in hodyn.refuses(
        'demo', '--robot', str(path), *options)


@pytest.mark.parametrize(('options', 'message'), [
    (('--actuator', 'rigid', '--stiffness', '500'), 'rigid actuators have none'),
    (('--actuator', 'sea', '--stiffness', '0'), 'stiffness 0: must be above 0'),
    (('--actuator', 'vsa', '--stiffness', '0'), 'must be above 0'),
    (('--stiffness', '500'), '--stiffness goes with --actuator sea or vsa'),
])
@COMPARE
def test_a_stiffness_without_springs_or_of_none_is_refused(hodyn, options, message, compare):
    said = hodyn.refuses('demo', *compare, *options)
    assert message in said or (compare and 'give --actuator' in said)


SPRING = {'law': 'spring', 'stiffness': 1000.0}


def write_motors(path, second):
    """Write a spring and a second joint whose motor has no inertia."""
    path.write_text(yaml.safe_dump({'actuators': {
        'joint1': {**SPRING, 'motor': {'inertia': 0.5}},
        'joint2': {**second, 'motor': {'inertia': 0.0}}}}))
    return '--robot', 'twolink', '--actuators', str(path)


def test_a_rigid_joint_whose_motor_has_no_inertia_is_compared(hodyn, tmp_path):
    arguments = write_motors(tmp_path / 'motors.yaml', {'law': 'rigid'})
    said = hodyn(
        'demo', '--compare', '--duration', '0.5', '--json', 'figures.json', *arguments).out
    assert "no flatness-based feedback: joint 'joint2' has no spring" in said
    assert 'RMS link-side error of the worst joint (rad)' in said
    rms = json.loads((tmp_path / 'figures.json').read_text())['comparison']
    assert rms['full'] < 1e-3 * rms['rigid'] < 1.0


@COMPARE
def test_example_springs_do_not_replace_those_of_the_file(hodyn, compare):
    hd.save_robot(with_example_actuators(hd.load_robot('twolink'), 'sea'), 'elastic.yaml')
    said = hodyn.refuses('demo', '--robot', 'elastic.yaml', '--actuator', 'sea', *compare)
    assert "the file of robot 'twolink' has its own: leave out --actuator" in said


@COMPARE
def test_a_motor_without_inertia_behind_a_spring_is_refused(hodyn, tmp_path, compare):
    arguments = write_motors(tmp_path / 'motors.yaml', SPRING)
    said = hodyn.refuses('demo', *compare, *arguments)
    assert said.startswith("hodyn demo: motor 'joint2' has no inertia")
    assert not (tmp_path / 'hodyn_demo').exists()
