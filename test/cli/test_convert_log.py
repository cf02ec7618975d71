"""A log in CSV becomes a bag, whose replay is that of a bag with the same numbers."""
import json
from pathlib import Path

import numpy as np
import pytest
from recordings import messages, record, write

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.robot.joint_names import JointNames

ROBOT = hd.load_robot('twolink')


def test_the_replay_of_a_log_is_that_of_the_bag(capsys):
    recording = record(duration=3.0, robot=ROBOT, prefix='')
    write('bag', {'/joint_states': messages(recording)})
    header = ';'.join(['T', *(
        name + kind for kind in ('', '.velocity', '.effort') for name in recording.names)])
    rows = np.column_stack([
        recording.stamp * 1e-9, recording.position, recording.velocity, recording.effort])
    Path('log.csv').write_text(header + '\n' + '\n'.join(
        ';'.join(f'{value:.12g}'.replace('.', ',') for value in row) for row in rows))
    assert main(('convert', 'log.csv', '--output', 'log')) == 0
    assert capsys.readouterr().out == (
        'log: 300 joint states of joint1, joint2, 2.990 s, with positions, velocities, efforts\n')
    found = []
    for name in ('bag', 'log'):
        assert main((
            'replay', name, '--robot', 'twolink', '--no-report', '--output', f'of_{name}')) == 0
        found.append(json.loads(Path(f'of_{name}/summary.json').read_text())['joints'])
    for one, other in zip(*found, strict=True):
        assert one['rms_error'] == pytest.approx(other['rms_error'], rel=1e-6)


def test_a_log_without_velocities_is_said_to_have_none(capsys):
    Path('log.csv').write_text('time,a,a.effort\n0,1,2\n0.01,1,2\n')
    assert main(('convert', 'log.csv', '--output', 'log')) == 0
    assert capsys.readouterr().out.endswith('with positions, efforts\n')


@pytest.mark.parametrize(('text', 'output', 'said'), [
    ('time,a\n0,1\n10,1\n20,2', 'log', 'rows are 10 s apart, up to 20 s: are these milliseconds?'),
    ('time,a\n0,1\n0.6,1\n1.2000000000000085,2', 'log',
     'log.csv: rows are 0.6 s apart, up to 1.2 s: are these milliseconds? Times are in s; if '
     "these are, name their column 'time [s]'"),
    ('time,a\n0,1\n10000,1\n20000,2', 'log', 'are these microseconds?'),
    ('time,a\n0,1\n1000000,1\n2000000,2', 'log', 'are these nanoseconds?'),
    ('time,a\n1700000000000,1\n1700000000010,1', 'log', 'are these milliseconds?'),
    ('time [s],a\n1700000000000,1\n1700000000010,1', 'log', 'are these milliseconds?'),
    ('time,a\n1700000000.145,1\n1700000000.14,1', 'log',
     'line 3: time 1700000000.14 s is not after 1700000000.145 s'),
    ('time,a [deg]\n0,1\n0.01,1', 'log', "column 'a [deg]': position is in rad or m"),
    ('time,a,a.velocity (deg/s)\n0,1,1\n0.01,1,1', 'log',
     "column 'a.velocity (deg/s)': velocity is in rad/s or m/s"),
    ('time,a,a.effort [rad]\n0,1,1\n0.01,1,1', 'log', 'effort is in N m or N'),
    ('time [ms],a\n0,1\n10,1', 'log', "column 'time [ms]': time is in s"),
    ('time,a,a.vel\n0,1,1\n0.01,1,1', 'log', "column 'a.vel': write a.velocity"),
    ('time,a,a.torque [N m]\n0,1,1\n0.01,1,1', 'log', "column 'a.torque': write a.effort"),
    ('time,a,a_velocity\n0,1,1\n0.01,1,1', 'log', "column 'a_velocity': write a.velocity"),
    ('time,a\n0,1\n0.02,1\n0.01,2', 'log', 'line 4: time 0.01 s is not after 0.02 s'),
    ('time,a\n0,1\n0.01,nan', 'log', 'joints here: 1, rows: 1; left out: no position of a (line'),
    ('time,a\n0,1\n0.01,\n0.02,nan', 'log',
     '2 of 3 lines cannot be used; left out: no position of a (2 lines, the first is line 3)'),
    ('time,a\n0,1,5\n0,01,1,6\n0,02,1,7', 'log',
     '3 of 3 lines cannot be used; left out: 3 entries'),
    ('time,a\n0,0,1,5\n0,01,1,6\n0,02,1,7', 'log', 'are these decimal commas?'),
    ('time,a\n-1,1\n0.01,2', 'log', 'line 2: time -1 s is before 0'),
    ('time,a\n0,1', 'log', 'at least two rows; joints here: 1, rows: 1'),
    ('time,a\n0,1\n0.01,x\n0.02,1', 'log',
     "line 3, column 'a': expected a finite number, got 'x';"
     ' if the value is missing, leave the cell empty'),
    ('time,a\n0,1\ntime,a\n0,1', 'log',
     "got 'time': a second header? Keep one recording per file"),
    ('time,a,a.current\n0,1,1\n0.01,1,1', 'log',
     "column 'a.current': 'current' is not a kind of column"
     ' (.velocity, .acceleration, .effort): write currents as a.effort, and give '
     'effort_gain'),
    ('time,a.position,a.temperature\n0,1,1\n0.01,1,1', 'log',
     "'temperature' is not a kind of column"
     ' (.velocity, .acceleration, .effort): leave the column out, or write '
     'a.temperature.position if this is a joint'),
    ('time,a\n1700000000.000,1\n1700000000.000,1\n1700000128.000,1', 'log',
     'line 3: time 1700000000 s is the same as in line 2: the logger seems to have stored times '
     'in single precision, whose steps are 128 s at this size: record the seconds since the '
     'start'),
    ('time,a,b.effort\n0,1,1', 'log', "efforts and positions name different joints: ['a', 'b']"),
    ('a,b\n0,1', 'log', 'if known NAME.velocity and NAME.effort; it has'),
    ('time,a\n0,1\n0.01,1', 'log.mcap', 'a log becomes a bag, a folder without an ending'),
    (None, 'log', 'log.csv: no such log'),
])
def test_what_is_no_log_is_refused_in_one_line(capsys, text, output, said):
    if text is not None:
        Path('log.csv').write_text(text)
    assert main(('convert', 'log.csv', '--output', output)) == 2
    line, = capsys.readouterr().err.splitlines()
    assert said in line
    assert not Path(output).exists()


@pytest.mark.parametrize('period', [0.6, 1.0, 2.0])
def test_velocities_say_in_which_unit_slow_rows_are(capsys, period):
    """A log at 1 Hz was refused by a question that had no answer."""
    time = np.arange(0.0, 200.0 * period, period)
    rows = np.column_stack([time, np.sin(0.05 * time), 0.05 * np.cos(0.05 * time)])
    for unit, factor in (('ms', 1e3), ('s', 1.0)):
        rows[:, 2] = factor * 0.05 * np.cos(0.05 * time)
        np.savetxt(f'{unit}.csv', rows, '%.6f', ',', header='time,a,a.velocity', comments='')
    assert main(('convert', 's.csv', '--output', 's')) == 0
    out, err = capsys.readouterr()
    assert out.startswith('s: 200 joint states of a,')
    assert not err
    assert main(('convert', 'ms.csv', '--output', 'ms')) == 2
    assert 'by the velocities these are milliseconds. Times are in s' in capsys.readouterr().err


@pytest.mark.parametrize('rows', [
    '0,1,0\n1,1,0\n2,1,0', '0,1,3\n1,2,-3\n2,1,3\n3,2,-3', '0,1,nan\n1,1,nan'])
def test_velocities_that_do_not_say_the_unit_leave_the_question(capsys, rows):
    Path('log.csv').write_text('time,a,a.velocity\n' + rows)
    assert main(('convert', 'log.csv', '--output', 'log')) == 2
    assert "if these are, name their column 'time [s]'" in capsys.readouterr().err


@pytest.mark.parametrize('column', ['time [s]', 'T (s)', 't_s', 'time_s', 'seconds'])
def test_the_header_says_that_slow_rows_are_in_seconds(capsys, column):
    Path('log.csv').write_text(f'{column},a\n0,1\n1,1\n2,1\n')
    assert main(('convert', 'log.csv', '--output', 'log')) == 0
    assert capsys.readouterr() == ('log: 3 joint states of a, 2.000 s, with positions\n', '')


def test_a_time_that_comes_twice_in_a_fine_log_is_not_put_on_its_precision(capsys):
    Path('log.csv').write_text(
        'time,a\n1700000000.000,1\n1700000000.005,1\n1700000000.005,1\n1700000000.01,1\n')
    assert main(('convert', 'log.csv', '--output', 'log')) == 2
    assert capsys.readouterr().err.endswith(
        'line 4: time 1700000000.005 s is the same as in line 3\n')


def test_a_log_with_faults_is_used_like_a_bag_with_the_same_faults(capsys):
    """One cell that was not a number refused a whole log."""
    Path('log.csv').write_text(
        'time,a,b,a.velocity,b.velocity,a.effort,b.effort\n' + ''.join(
            f'{0.01 * i:.2f},{i},2,3,4,5,{6 + i}\n' for i in range(20)).replace(
            ',7\n', ',nan\n').replace(',8\n', ',\n').replace('0.03,3,', '0.03,,').replace(
            '\n0.05,', '\n,').replace('0.08,8,2,3,', '0.08,8,2,NA,') + '0.20,20,2,3')
    assert main(('convert', 'log.csv', '--output', 'log')) == 0
    out, err = capsys.readouterr()
    assert out == (
        'log: 18 joint states of a, b, 0.190 s, with positions, velocities, efforts\n')
    assert err.splitlines() == [f'hodyn convert: log.csv: {said}' for said in (
        'left out: cut off after 4 of 7 entries (line 22)', 'left out: no time (line 7)',
        'left out: no position of a (line 5)', 'missing: velocity of a (line 10)',
        'missing: effort of b (2 lines, the first is line 3)')]
    with JointStateBag(Path('log'), JointNames(ROBOT, joints=('a', 'b'))) as bag:
        block, = bag.blocks()
    assert block.position[:, 0].tolist() == [i for i in range(20) if i not in (3, 5)]
    np.testing.assert_array_equal(
        block.effort[:, 1],
        [np.nan if i in (1, 2) else 6.0 + i for i in range(20) if i not in (3, 5)])
    assert np.flatnonzero(np.isnan(block.velocity[:, 0])).tolist() == [6]


def test_a_log_whose_last_number_was_cut_is_used(capsys):
    Path('log.csv').write_text('time,a\n0,1\n0.01,1\n0.02,-1e')
    assert main(('convert', 'log.csv', '--output', 'log')) == 0
    out, err = capsys.readouterr()
    assert out.startswith('log: 2 joint states of a,')
    assert err == 'hodyn convert: log.csv: left out: cut off in a number (line 4)\n'


@pytest.mark.parametrize('option', [('--payload', 'a', '1'), ('--lock', 'a=1')])
def test_options_of_a_robot_do_not_go_with_a_log(capsys, option):
    Path('log.csv').write_text('time,a\n0,1\n0.01,1\n')
    assert main(('convert', 'log.csv', '--output', 'log', *option)) == 2
    assert capsys.readouterr().err == (
        f'hodyn convert: log.csv is a log, but {option[0]} changes a robot: give this option '
        'to hodyn replay or hodyn identify\n')


def test_columns_may_have_their_si_units_in_brackets(capsys):
    Path('log.csv').write_text(
        'Time [s],a [rad],a.velocity (rad/s),a.effort [Nm],b(1) [m],b(1).velocity [m/s],'
        'b(1).effort [N]\n0,1,2,3,4,5,6\n0.01,1,2,3,4,5,6\n')
    assert main(('convert', 'log.csv', '--output', 'log')) == 0
    assert capsys.readouterr().out == (
        'log: 2 joint states of a, b(1), 0.010 s, with positions, velocities, efforts\n')


def test_replay_of_a_log_points_to_convert(capsys):
    Path('log.csv').write_text('time,a\n0,1\n0.01,1\n')
    assert main(('replay', 'log.csv', '--robot', 'twolink')) == 2
    assert 'hodyn convert log.csv --output BAG' in capsys.readouterr().err
