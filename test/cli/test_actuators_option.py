"""``--actuators``: springs beside a URDF, for every command with a robot, and as one file."""
import json

import numpy as np
import pytest
import yaml

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.cli.main import _parser
from hodyn_ros.robot.files import robot_mapping

SPRINGS = """\
actuators:
  joint1: {law: spring, stiffness: 400, motor: {inertia: 0.2, max_velocity: 3.0}}
  joint2: {law: exponential, scale: 2.0, rate: 20.0, stiffness: 3000, motor: {inertia: 0.5}}
"""
PLAN = 'time,joint1,joint2\n0,0,0\n1,0.2,0.2\n2,0,0\n'


@pytest.fixture
def folder(tmp_path):
    hd.save_robot(hd.load_robot('twolink'), 'arm.urdf')
    (tmp_path / 'springs.yaml').write_text(SPRINGS)
    (tmp_path / 'plan.csv').write_text(PLAN)
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


def test_a_urdf_and_its_springs_become_one_file(folder, capsys):
    assert main(
        ['convert', 'arm.urdf', '--actuators', 'springs.yaml', '--output', 'one.yaml']) == 0
    assert 'one.yaml: twolink, 2 joints, with actuators' in capsys.readouterr().out
    assert repr(robot_mapping(hd.load_robot('one.yaml'))) == repr(robot_mapping(elastic()))
    assert main(['convert', 'one.yaml', '--output', 'back.urdf']) == 0
    said = capsys.readouterr()
    assert said.out == 'back.urdf: twolink, 2 joints\n'
    assert said.err == (
        'hodyn convert: warning: back.urdf: without the key actuators, which URDF cannot express: '
        'write a .yaml to keep all of the robot\n')
    assert hd.load_robot('back.urdf').actuators is None
    assert hd.load_robot('back.urdf').joint_names == elastic().joint_names
    assert main(['convert', 'one.yaml', '--output', 'one.yaml', '--force']) == 2
    assert main(['convert', 'arm.urdf', '--actuators', 'springs.yaml', '--output', 'springs.yaml',
                 '--force']) == 2
    assert 'springs.yaml' in capsys.readouterr().err
    assert (folder / 'springs.yaml').read_text() == SPRINGS


def test_what_commands_compute_is_of_the_robot_with_them(folder, capsys):
    given = ['--robot', 'arm.urdf', '--actuators', 'springs.yaml']
    assert main(['check', 'plan.csv', *given, '--json', 'check.json']) == 0
    worst = json.loads((folder / 'check.json').read_text())['worst']
    rows = {(row['joint'], row['quantity']): row for row in worst}
    assert rows['joint1', 'motor_velocity']['upper'] == 3.0
    assert ('joint2_motor2', 'motor_effort') in rows
    assert main(['info', 'arm.urdf', '--actuators', 'springs.yaml', '--json', 'info.json']) == 0
    assert set(json.loads((folder / 'info.json').read_text())['actuators']) == {'joint1', 'joint2'}
    assert main(['generate', *given, '--output', 'code']) == 0
    hd.generate_c(elastic(), 'expected', actuators=True)
    assert (folder / 'code/twolink.c').read_text() == (folder / 'expected/twolink.c').read_text()
    capsys.readouterr()
    assert main(['generate', '--robot', 'arm.urdf', '--actuators', '--output', 'other']) == 2
    assert 'or give --actuators YAML' in capsys.readouterr().err


def test_a_locked_joint_may_be_among_them(folder):
    assert main(['convert', 'arm.urdf', '--actuators', 'springs.yaml', '--lock', 'joint2=0.5',
                 '--output', 'one.yaml']) == 0
    assert hd.load_robot('one.yaml').actuators.names == ('joint1',)


@pytest.mark.parametrize(('text', 'said'), [
    (None, "no actuator file 'wrong.yaml'"),
    ('actuators: {joint1: {law: rigid, motor: {inertia: 0}}}', "joint 'joint2' is missing"),
    ('springs: {}', 'expected the key actuators'),
])
def test_a_wrong_file_is_named(folder, capsys, text, said):
    if text is not None:
        (folder / 'wrong.yaml').write_text(text)
    assert main(['info', 'arm.urdf', '--actuators', 'wrong.yaml']) == 2
    error = capsys.readouterr().err
    assert 'wrong.yaml' in error
    assert said in error


@pytest.mark.usefixtures('folder')
def test_example_actuators_and_those_of_a_file_exclude_each_other(capsys):
    assert main(['demo', '--robot', 'arm.urdf', '--actuators', 'springs.yaml', '--actuator',
                 'sea']) == 2
    assert 'use only one of these options' in capsys.readouterr().err


@pytest.mark.usefixtures('folder')
def test_along_gives_each_instant_of_a_motion_as_evaluate_does():
    feedforward = hd.FeedForward(elastic())
    assert isinstance(feedforward.motor_side, hd.MotorSide)
    plan = hd.fit_plan([1.0], [[0.3, 0.5]], start=np.zeros((5, 2)))
    times = np.linspace(0.0, plan.duration, 11)
    motion = plan.evaluate(times)
    torque = feedforward.torque(motion)
    found = feedforward.motor_side.along(times, motion, torque)
    assert found.shape == (11, 4, 3)
    side = hd.MotorSide(feedforward.robot.actuators)
    for k in range(11):
        np.testing.assert_allclose(
            found[k], side.evaluate(motion[k], np.ascontiguousarray(torque[k])), atol=1e-12)


def test_the_rotors_of_rigid_joints_reach_the_file_that_is_written(folder, capsys):
    mapping = robot_mapping(hd.load_robot('arm.urdf')) | {'rotor_inertia': [0.3, 0.2]}
    (folder / 'arm.yaml').write_text(yaml.safe_dump(mapping))
    (folder / 'rigid.yaml').write_text(SPRINGS.splitlines()[0] + """
  joint1: {law: rigid, motor: {inertia: 0.0}}
  joint2: {law: spring, stiffness: 400, motor: {inertia: 0.5}}
""")
    assert main(
        ['convert', 'arm.yaml', '--actuators', 'rigid.yaml', '--output', 'one.yaml']) == 0
    assert "rigid.yaml: the motors' inertias replace the rotor_inertia of the robot, kg m² " \
        '(prismatic: kg): joint2 (0.2 by 0.5)\n' in capsys.readouterr().err
    assert [joint.motor.inertia for joint in hd.load_robot('one.yaml').actuators.joints] == [
        0.3, 0.5]
