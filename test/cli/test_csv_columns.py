"""Columns of CSV plans and logs that have no name, as spreadsheets and pandas write them."""
import pytest

from hodyn_ros import load_robot
from hodyn_ros.cli import main
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.plans.files import read_trajectory
from hodyn_ros.robot.joint_names import JointNames

NAMES = load_robot('twolink').joint_names
LINES = [f'time,{NAMES[0]},{NAMES[1]}', '0,0.1,0.2', '0.1,0.11,0.2', '0.2,0.12,0.2']


def said_of(command, capsys):
    words = {
        'check': ('check', 'table.csv', '--robot', 'twolink'),
        'convert': ('convert', 'table.csv', '--output', 'bag')}[command]
    code = main(words)
    return code, ' '.join(capsys.readouterr().err.split())


@pytest.mark.parametrize('lines', [
    [f'{line},' for line in LINES], [f'{line},,, ' for line in LINES],
    [f'{LINES[0]},', *LINES[1:]], [LINES[0], *(f'{line},' for line in LINES[1:])],
    [f'{line};'.replace(',', ';').replace('.', ',') for line in LINES],
    [*(f'{line},' for line in LINES[:3]), LINES[3]]],
    ids=['all', 'several', 'header', 'rows', 'semicolons', 'but the last'])
@pytest.mark.parametrize('command', ['check', 'convert'])
def test_an_empty_last_column_without_a_name_is_left_out(
        tmp_path, monkeypatch, capsys, command, lines):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'table.csv').write_text('\n'.join(lines) + '\n')
    code, said = said_of(command, capsys)
    assert said == ''
    if command == 'convert':
        assert code == 0
        with JointStateBag(tmp_path / 'bag', JointNames(load_robot('twolink'))) as bag:
            found = [row for block in bag.blocks() for row in block.position.tolist()]
    else:
        found = [list(row) for row in read_trajectory(tmp_path / 'table.csv').positions]
    assert found == [[0.1, 0.2], [0.11, 0.2], [0.12, 0.2]]


@pytest.mark.parametrize(('lines', 'fault'), [
    ([f'{LINES[0]},', f'{LINES[1]},', f'{LINES[2]},7', f'{LINES[3]},'],
     "table.csv, line 3: '7' is in column 4, which has no name: name the column in the first"),
    ([f',{LINES[0]}', *(f'{i},{line}' for i, line in enumerate(LINES[1:]))],
     'table.csv: column 1 has no name: name it in the first line, or delete it (pandas: ')],
    ids=['value', 'index'])
@pytest.mark.parametrize('command', ['check', 'convert'])
def test_a_column_with_values_needs_a_name(
        tmp_path, monkeypatch, capsys, command, lines, fault):
    monkeypatch.chdir(tmp_path)
    (tmp_path / 'table.csv').write_text('\n'.join(lines) + '\n')
    code, said = said_of(command, capsys)
    assert code == 2
    assert fault in said
    assert not (tmp_path / 'bag').exists()
