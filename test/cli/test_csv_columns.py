"""Columns of CSV plans and logs: some have no name, as spreadsheets and pandas write them."""
from pathlib import Path

from known_recordings import lifted_arm
import pytest

import hodyn_ros as hd
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.plans.files import read_trajectory
from hodyn_ros.robot.joint_names import JointNames

TWOLINK = hd.load_robot('twolink')
LINES = [','.join(['time', *TWOLINK.joint_names]), '0,0.1,0.2', '0.1,0.11,0.2', '0.2,0.12,0.2']
COMMANDS = pytest.mark.parametrize('command', [
    ('check', 'table.csv', '--robot', 'twolink'), ('convert', 'table.csv', '--output', 'bag')],
    ids=['check', 'convert'])


@pytest.mark.parametrize('lines', [
    [f'{line},' for line in LINES], [f'{line},,, ' for line in LINES],
    [f'{LINES[0]},', *LINES[1:]], [LINES[0], *(f'{line},' for line in LINES[1:])],
    [f'{line};'.replace(',', ';').replace('.', ',') for line in LINES],
    [*(f'{line},' for line in LINES[:3]), LINES[3]]],
    ids=['all', 'several', 'header', 'rows', 'semicolons', 'but the last'])
@COMMANDS
def test_an_empty_last_column_without_a_name_is_left_out(hodyn, command, lines):
    Path('table.csv').write_text('\n'.join(lines) + '\n')
    assert hodyn(*command).err == ''
    if command[0] == 'convert':
        with JointStateBag(Path('bag'), JointNames(TWOLINK)) as bag:
            found = [row for block in bag.blocks() for row in block.position.tolist()]
    else:
        found = [list(row) for row in read_trajectory(Path('table.csv')).positions]
    assert found == [[0.1, 0.2], [0.11, 0.2], [0.12, 0.2]]


@pytest.mark.parametrize(('lines', 'fault'), [
    ([f'{LINES[0]},', f'{LINES[1]},', f'{LINES[2]},7', f'{LINES[3]},'],
     "table.csv, line 3: '7' is in column 4, which has no name: name the column in the first"),
    ([f',{LINES[0]}', *(f'{i},{line}' for i, line in enumerate(LINES[1:]))],
     'table.csv: column 1 has no name: name it in the first line, or delete it (pandas: ')],
    ids=['value', 'index'])
@COMMANDS
def test_a_column_with_values_needs_a_name(hodyn, command, lines, fault):
    Path('table.csv').write_text('\n'.join(lines) + '\n')
    assert fault in hodyn.refuses(*command)
    assert not Path('bag').exists()


@pytest.mark.parametrize(('lines', 'fault'), [
    ([LINES[0], *(line.replace(',', ';') for line in LINES[1:])],
     'line 2: semicolons separate the columns here, but commas in the first line: use the same'),
    ([LINES[0], *(line.replace(',', ';').replace('.', ',') for line in LINES[1:])],
     'line 2: semicolons separate the columns here, but commas in the first line'),
    ([LINES[0].replace(',', ';'), *LINES[1:]],
     'line 2: commas separate the columns here, but semicolons in the first line'),
    ([*LINES[:3], LINES[3].replace(',', ';')],
     'line 4: semicolons separate the columns here, but commas in the first line'),
    ([*LINES[:2], LINES[2].replace(',', ';').replace('.', ','), LINES[3]],
     'line 3: semicolons separate the columns here, but commas in the first line'),
    ([*(line.replace(',', ';').replace('.', ',') for line in LINES[:3]), '0,2;0.12;0,2'],
     "line 2, column 'joint1': expected a finite number, got '0,1': a decimal comma, but line 4 "
     "has a decimal point ('0.12'): write all numbers alike\n"),
    ([*(line.replace(',', ';') for line in LINES[:3]), '0.2;0,12;0.2'],
     "line 4, column 'joint1': expected a finite number, got '0,12': a decimal comma, but line 2 "
     "has a decimal point ('0.1')"),
    ([LINES[0], '0,"0,1",0.2', *LINES[2:]],
     "got '0,1': a decimal comma: write a point, or separate the columns by semicolons\n")])
@COMMANDS
def test_separators_and_decimal_commas_that_differ_are_named(hodyn, command, lines, fault):
    Path('table.csv').write_text('\n'.join(lines) + '\n')
    assert fault in hodyn(*command, code=2).err


def test_decimal_commas_are_read_beside_text_with_points(hodyn):
    Path('table.csv').write_text('\n'.join([
        'time;joint1;joint1.acceleration', '0;0,1;v1.2', '0,1;0,11;v1.2']))
    assert hodyn('convert', 'table.csv', '--output', 'bag').out.startswith(
        'bag: 2 joint states of joint1, 0.100 s')


@pytest.mark.parametrize('command', [
    ('check',), ('annotate', '--output', 'out.csv'), ('retime', '--output', 'out.csv')])
@pytest.mark.parametrize(('header', 'fault'), [
    ('lift [rad],shoulder,elbow,tilt', "column 'lift [rad]': lift is prismatic, m"),
    ('lift [m],shoulder [rad],elbow [m],tilt', "column 'elbow [m]': elbow is revolute, rad"),
    ('lift [m],shoulder [rad],elbow [rad],tilt (rad)', '')])
def test_a_unit_that_contradicts_a_joint_is_refused(hodyn, command, header, fault):
    arm = lifted_arm()
    hd.save_robot(arm, 'arm.yaml')
    Path('limits.yaml').write_text('joint_limits:\n' + ''.join(
        f'  {joint}: {{has_velocity_limits: true, max_velocity: 1.0, '
        'has_acceleration_limits: true, max_acceleration: 3.0}\n' for joint in arm.joint_names))
    Path('plan.csv').write_text(
        f'time,{header}\n0,0.2,0,0,0\n2,0.3,0.5,0.5,0.5\n4,0.2,0,0,0\n')
    given = (command[0], 'plan.csv', '--robot', 'arm.yaml', '--limits', 'limits.yaml',
             *command[1:])
    if fault:
        assert fault in hodyn(*given, code=2).err
    else:
        hodyn(*given)
