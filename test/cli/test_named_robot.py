"""Commands say for which robot they worked, and that it is the default where none was given."""
from pathlib import Path

import pytest
from recordings import messages, record, write

import hodyn_ros as hd

DEFAULT = 'for robot panda (the default; --robot for another)'


def write_plan(path, joint1=0.1):
    home = '-0.785,0,-2.356,0,1.571,0.785'
    names = ','.join(f'joint{i}' for i in range(1, 8))
    Path(path).write_text(f'time,{names}\n0,0,{home}\n1,{joint1},{home}\n')


@pytest.mark.parametrize(('command', 'named'), [
    (('check',), 'p7.csv'), (('check', '--brief'), 'p7.csv'),
    (('annotate', '--output', 'out.csv'), 'out.csv'),
    (('retime', '--output', 'out.csv'), 'out.csv')])
def test_the_robot_of_a_plan_is_in_the_first_line(hodyn, command, named):
    write_plan('p7.csv')
    assert hodyn(command[0], 'p7.csv', *command[1:]).out.startswith(f'{named}, {DEFAULT}: ')
    said = hodyn(command[0], 'p7.csv', *command[1:], '--robot', 'panda', '--force').out
    assert said.startswith(f'{named}, for robot panda: ')


@pytest.mark.parametrize('command', [
    ('check', '--brief'), ('annotate', '--output', 'out.csv')])
def test_the_robot_of_a_plan_beyond_limits_is_said_too(hodyn, command):
    write_plan('p7.csv', 2.8)
    said = hodyn(command[0], 'p7.csv', *command[1:], code=1).out
    assert said.startswith(f'p7.csv, {DEFAULT}: beyond limits')


def test_a_robot_with_options_of_its_own_keeps_its_name(hodyn):
    write_plan('p7.csv')
    said = hodyn('check', 'p7.csv', '--brief', '--payload', 'link7', '0.1').out
    assert said.startswith(f'p7.csv, {DEFAULT}: ')


def test_the_robot_of_a_recording_is_in_the_first_line(hodyn):
    write('bag', {'/joint_states': messages(record(
        duration=9.0, robot=hd.load_robot('panda'), prefix=''))})
    for command in (('replay', '--no-report'), ('identify', '--terms', 'offsets')):
        said = hodyn(command[0], 'bag', *command[1:], code=None).out
        assert said.splitlines()[0] == f'bag, {DEFAULT}'


@pytest.mark.slow
def test_the_robot_of_many_plans_is_in_the_first_line(hodyn):
    Path('plans').mkdir()
    for name in 'ab':
        write_plan(f'plans/{name}.csv', 0.1)
    assert hodyn('check', 'plans', '--jobs', '1').out.splitlines()[0] == f'2 plans, {DEFAULT}'
