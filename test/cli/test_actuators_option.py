"""``--actuators``: springs beside a URDF, for every command with a robot, and as one file."""
import json

import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.cli.main import _parser
from hodyn_ros.robot.files import robot_mapping

SPRINGS = """\
actuators:
  joint1: {law: spring, stiffness: 400, motor: {inertia: 0.2, max_velocity: 3.0}}
  joint2: {law: exponential, scale: 2.0, rate: 20.0, stiffness: 3000, motor: {inertia: 0.5}}
"""
ARM = ('arm.urdf', '--actuators', 'springs.yaml')


@pytest.fixture(autouse=True)
def folder(tmp_path):
    hd.save_robot(hd.load_robot('twolink'), 'arm.urdf')
    (tmp_path / 'springs.yaml').write_text(SPRINGS)
    (tmp_path / 'plan.csv').write_text('time,joint1,joint2\n0,0,0\n1,0.2,0.2\n2,0,0\n')
    return tmp_path


def elastic():
    return hd.with_actuators(hd.load_robot('arm.urdf'), 'springs.yaml')


def test_every_command_with_a_robot_takes_them():
    commands = _parser()._subparsers._group_actions[0].choices
    with_robot = {
        name for name, parser in commands.items()
        if any(action.dest == 'robot' for action in parser._actions)}
    assert with_robot == set(commands) - {'robots'}
    for name in with_robot:
        assert '--actuators' in commands[name].format_help(), name


def test_a_urdf_and_its_springs_become_one_file(folder, hodyn):
    said = hodyn('convert', *ARM, '--output', 'one.yaml').out
    assert 'one.yaml: twolink, 2 joints, with actuators' in said
    assert repr(robot_mapping(hd.load_robot('one.yaml'))) == repr(robot_mapping(elastic()))
    said = hodyn('convert', 'one.yaml', '--output', 'back.urdf')
    assert said.out == 'back.urdf: twolink, 2 joints\n'
    assert said.err == (
        'hodyn convert: warning: back.urdf: without the key actuators, which URDF cannot express: '
        'write a .yaml to keep all of the robot\n')
    assert hd.load_robot('back.urdf').actuators is None
    assert hd.load_robot('back.urdf').joint_names == elastic().joint_names
    hodyn.refuses('convert', 'one.yaml', '--output', 'one.yaml', '--force')
    assert 'springs.yaml' in hodyn.refuses('convert', *ARM, '--output', 'springs.yaml', '--force')
    assert (folder / 'springs.yaml').read_text() == SPRINGS


def test_what_commands_compute_is_of_the_robot_with_them(folder, hodyn):
    worst = hodyn('check', 'plan.csv', '--robot', *ARM, '--json', '-').figures['worst']
    rows = {(row['joint'], row['quantity']): row for row in worst}
    assert rows['joint1', 'motor_velocity']['upper'] == 3.0
    assert ('joint2_motor2', 'motor_effort') in rows
    assert set(hodyn('info', *ARM, '--json', '-').figures['actuators']) == {'joint1', 'joint2'}
    hodyn('generate', '--robot', *ARM, '--output', 'code')
    hd.generate_c(elastic(), 'expected', actuators=True)
    assert (folder / 'code/twolink.c').read_text() == (folder / 'expected/twolink.c').read_text()
    assert 'or give --actuators YAML' in hodyn.refuses(
        'generate', '--robot', 'arm.urdf', '--actuators', '--output', 'other')


def test_a_locked_joint_may_be_among_them(hodyn):
    hodyn('convert', *ARM, '--lock', 'joint2=0.5', '--output', 'one.yaml')
    assert hd.load_robot('one.yaml').actuators.names == ('joint1',)


@pytest.mark.parametrize(('text', 'said'), [
    (None, "no actuator file 'wrong.yaml'"),
    ('actuators: {joint1: {law: rigid, motor: {inertia: 0}}}', "joint 'joint2' is missing"),
    ('springs: {}', 'expected the key actuators'),
])
def test_a_wrong_file_is_named(folder, hodyn, text, said):
    if text is not None:
        (folder / 'wrong.yaml').write_text(text)
    error = hodyn.refuses('info', 'arm.urdf', '--actuators', 'wrong.yaml')
    assert 'wrong.yaml' in error
    assert said in error


def test_example_actuators_and_those_of_a_file_exclude_each_other(hodyn):
    assert 'use only one of these options' in hodyn.refuses(
        'demo', '--robot', *ARM, '--actuator', 'sea')


def test_the_rotors_of_rigid_joints_reach_the_file_that_is_written(folder, hodyn):
    mapping = robot_mapping(hd.load_robot('arm.urdf')) | {'rotor_inertia': [0.3, 0.2]}
    (folder / 'arm.yaml').write_text(json.dumps(mapping))
    (folder / 'rigid.yaml').write_text(yaml.safe_dump({'actuators': {
        'joint1': {'law': 'rigid', 'motor': {'inertia': 0.0}},
        'joint2': {'law': 'spring', 'stiffness': 400, 'motor': {'inertia': 0.5}}}}))
    said = hodyn('convert', 'arm.yaml', '--actuators', 'rigid.yaml', '--output', 'one.yaml').err
    assert "rigid.yaml: the motors' inertias replace the rotor_inertia of the robot, kg m² " \
        '(prismatic: kg): joint2 (0.2 by 0.5)\n' in said
    assert [joint.motor.inertia for joint in hd.load_robot('one.yaml').actuators.joints] == [
        0.3, 0.5]
