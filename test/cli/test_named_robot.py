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


@pytest.mark.parametrize(('joint1', 'code', 'words', 'said'), [
    (0.1, 0, 'check', f'p7.csv, {DEFAULT}: '),
    (0.1, 0, 'check --brief', f'p7.csv, {DEFAULT}: '),
    (0.1, 0, 'annotate --output out.csv', f'out.csv, {DEFAULT}: '),
    (0.1, 0, 'retime --output out.csv', f'out.csv, {DEFAULT}: '),
    (2.8, 1, 'check --brief', f'p7.csv, {DEFAULT}: beyond limits'),
    (2.8, 1, 'annotate --output out.csv', f'p7.csv, {DEFAULT}: beyond limits'),
    # Options of the robot leave its name.
    (0.1, 0, 'check --brief --payload link7 0.1', f'p7.csv, {DEFAULT}: ')])
def test_the_robot_of_a_plan_is_in_the_first_line(hodyn, joint1, code, words, said):
    write_plan('p7.csv', joint1)
    command, *options = words.split()
    assert hodyn(command, 'p7.csv', *options, code=code).out.startswith(said)
    assert hodyn(
        command, 'p7.csv', *options, '--robot', 'panda', '--force', code=code).out.startswith(
        said.replace(DEFAULT, 'for robot panda'))


def test_the_robot_of_a_recording_is_in_the_first_line(hodyn):
    write('bag', {'/joint_states': messages(record(
        duration=9.0, robot=hd.load_robot('panda'), prefix=''))})
    for command in (('replay', '--no-report'), ('identify', '--terms', 'offsets')):
        said = hodyn(command[0], 'bag', *command[1:], code=None).out
        assert said.splitlines()[0] == f'bag, {DEFAULT}'


def test_the_default_robot_is_named_where_joints_do_not_match_it(hodyn):
    write('bag', {'/joint_states': messages(record(
        duration=1.0, robot=hd.load_robot('ur10e'), prefix=''))})
    for command in ('replay', 'identify'):
        said = "'panda' is the default: give your robot with --robot"
        assert said in hodyn.refuses(command, 'bag')
        assert said not in hodyn.refuses(command, 'bag', '--robot', 'panda')


@pytest.mark.slow
def test_the_robot_of_many_plans_is_in_the_first_line(hodyn):
    Path('plans').mkdir()
    for name in 'ab':
        write_plan(f'plans/{name}.csv', 0.1)
    assert hodyn('check', 'plans', '--jobs', '1').out.splitlines()[0] == f'2 plans, {DEFAULT}'
