"""A log in CSV becomes a bag, whose replay is that of a bag with the same numbers."""
import json
from pathlib import Path

import numpy as np
import pytest
from recordings import messages, record, write

import hodyn_ros as hd
from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.robot.joint_names import JointNames

ROBOT = hd.load_robot('twolink')


@pytest.fixture
def convert(hodyn):
    """Return a function that writes a log, unless it is None, and makes a bag of it."""
    def run(text, *options, code=0, output='log'):
        if text is not None:
            Path('log.csv').write_text(text)
        said = hodyn('convert', 'log.csv', '--output', output, *options, code=code)
        assert Path(output).exists() == (code == 0)
        return said
    return run


def test_the_replay_of_a_log_is_that_of_the_bag(hodyn, convert):
    recording = record(duration=3.0, robot=ROBOT, prefix='')
    write('bag', {'/joint_states': messages(recording)})
    header = ';'.join(['T', *(
        name + kind for kind in ('', '.velocity', '.effort') for name in recording.names)])
    rows = np.column_stack([
        recording.stamp * 1e-9, recording.position, recording.velocity, recording.effort])
    assert convert(header + '\n' + '\n'.join(
        ';'.join(f'{value:.12g}'.replace('.', ',') for value in row) for row in rows)).out == (
        'log: 300 joint states of joint1, joint2, 2.990 s, with positions, velocities, efforts\n')
    found = []
    for name in ('bag', 'log'):
        hodyn('replay', name, '--robot', 'twolink', '--no-report', '--output', f'of_{name}')
        found.append(json.loads(Path(f'of_{name}/summary.json').read_text())['joints'])
    for one, other in zip(*found, strict=True):
        assert one['rms_error'] == pytest.approx(other['rms_error'], rel=1e-6)


@pytest.mark.parametrize(('text', 'said'), [
    ('time,a\n0,1\n10,1\n20,2', 'rows are 10 s apart, the last at 20 s: are these milliseconds?'),
    ('time,a\n0,1\n0.6,1\n1.2000000000000085,2',
     'log.csv: rows are 0.6 s apart, the last at 1.2 s: are these milliseconds? Times must be in '
     "s; if they are in s already, name their column 'time [s]'"),
    ('time,a\n0,1\n10000,1\n20000,2', 'are these microseconds?'),
    ('time,a\n0,1\n1000000,1\n2000000,2', 'are these nanoseconds?'),
    ('time,a\n1700000000000,1\n1700000000010,1', 'are these milliseconds?'),
    ('time [s],a\n1700000000000,1\n1700000000010,1', 'are these milliseconds?'),
    ('time,a\n1700000000.145,1\n1700000000.14,1',
     'line 3: time 1700000000.14 s is not after 1700000000.145 s: sort the rows by time'),
    ('time,a [deg]\n0,1\n0.01,1', "column 'a [deg]': position is in rad or m"),
    ('time,a,a.velocity (deg/s)\n0,1,1\n0.01,1,1',
     "column 'a.velocity (deg/s)': velocity is in rad/s or m/s"),
    ('time,a,a.effort [rad]\n0,1,1\n0.01,1,1', 'effort is in N m or N'),
    ('time [ms],a\n0,1\n10,1', "column 'time [ms]': time is in s"),
    ('time,a,a.vel\n0,1,1\n0.01,1,1', "column 'a.vel': write a.velocity"),
    ('time,a,a.torque [N m]\n0,1,1\n0.01,1,1', "column 'a.torque': write a.effort"),
    ('time,a,a_velocity\n0,1,1\n0.01,1,1', "column 'a_velocity': write a.velocity"),
    ('time,a\n0,1\n0.02,1\n0.01,2', 'line 4: time 0.01 s is not after 0.02 s'),
    ('time,a\n0,1\n0.01,nan', 'joints here: 1, rows: 1; left out: no position of a (line'),
    ('time,a\n0,1\n0.01,\n0.02,nan',
     '2 of 3 lines cannot be used; left out: no position of a (2 lines, the first is line 3)'),
    ('time,a\n0,1,5\n0,01,1,6\n0,02,1,7',
     '3 of 3 lines cannot be used; left out: more entries than the 2 columns: are these decimal '
     'commas? Then separate the columns by semicolons (3 lines, the first is line 2)'),
    ('time,a\n0,1\n0,1,6\n0,1,7', '2 of 3 lines cannot be used; left out: 3 entries'),
    ('time,a\n0,0,1,5\n0,01,1,6\n0,02,1,7', 'are these decimal commas?'),
    ('time,a,b\n0,0,1,5,1,5\n0,01,1,6,1\n0,02,1,7,1,5',
     'log.csv: 3 of 3 lines cannot be used; left out: more entries than the 3 columns: are these '
     'decimal commas? Then separate the columns by semicolons (3 lines, the first is line 2)'),
    ('time,a\n-1,1\n0.01,2', 'line 2: time -1 s is before 0: add 1 s to all times'),
    ('time,a\n0,1', 'at least two rows; joints here: 1, rows: 1'),
    ('time,a\n0,1\n0.01,x\n0.02,1',
     "line 3, column 'a': expected a finite number, got 'x';"
     ' if the value is missing, leave the cell empty'),
    ('time,a\n0,1\ntime,a\n0,1',
     "got 'time': a second header? Keep one recording per file"),
    ('time,a,a.current\n0,1,1\n0.01,1,1',
     "column 'a.current': 'current' is not a kind of column"
     ' (.velocity, .acceleration, .effort): write currents as a.effort, and give '
     'effort_gain'),
    ('time,a.position,a.temperature\n0,1,1\n0.01,1,1',
     "'temperature' is not a kind of column"
     ' (.velocity, .acceleration, .effort): leave the column out, or write '
     'a.temperature.position if this is a joint'),
    ('time,a\n1700000000.000,1\n1700000000.000,1\n1700000128.000,1',
     'line 3: time 1700000000 s is the same as in line 2: the logger seems to have stored times '
     'in single precision, whose steps are 128 s at this size: record the seconds since the '
     'start'),
    ('time,a,b.effort\n0,1,1',
     "column 'b.effort': no column 'b' has the positions of this joint\n"),
    ('time,joint_a,jointa.effort\n0,1,1', "of this joint; did you mean 'joint_a'?"),
    ('time,a,b,a.effort\n0,1,1,1',
     "log.csv: no efforts of 'b', though other joints have them: if this is no joint, delete "
     "its column; else add 'b.effort'"),
    ('time,id,a,temperature,a.velocity,a.effort\n0,1,1,1,1,1',
     "log.csv: no velocities and efforts of 'id', 'temperature', though other joints have them: "
     "if this is no joint, delete its column; else add 'id.velocity' and 'id.effort'"),
    ('time,a,state\n0,1,RUN\n0.01,1,RUN',
     "column 'state': expected a finite number, got 'RUN'; if the value is missing, leave the "
     "cell empty; if 'state' is no joint, delete its column"),
    ('a,b\n0,1', 'if known NAME.velocity and NAME.effort; it has'),
    (None, 'log.csv: no such log'),
])
def test_what_is_no_log_is_refused_in_one_line(convert, text, said):
    found = convert(text, code=2).err
    assert said in found
    assert found.count('\n') == 1


def test_a_log_becomes_no_file(convert):
    assert 'a log becomes a bag, a folder without an ending' in convert(
        'time,a\n0,1\n0.01,1', code=2, output='log.mcap').line


@pytest.mark.parametrize('period', [0.6, 1.0, 2.0])
@pytest.mark.parametrize(('unit', 'code'), [(1.0, 0), (1e3, 2)])
def test_velocities_say_in_which_unit_slow_rows_are(convert, period, unit, code):
    """A log at 1 Hz was refused by a question that had no answer."""
    time = np.arange(0.0, 200.0 * period, period)
    said = convert('time,a,a.velocity\n' + '\n'.join(
        f'{t:.6f},{np.sin(0.05 * t):.6f},{unit * 0.05 * np.cos(0.05 * t):.6f}' for t in time),
        code=code)
    if code:
        assert 'by the velocities these are milliseconds. Times must be in s' in said.line
    else:
        assert said.out.startswith('log: 200 joint states of a,')
        assert not said.err


@pytest.mark.parametrize('rows', [
    '0,1,0\n1,1,0\n2,1,0', '0,1,3\n1,2,-3\n2,1,3\n3,2,-3', '0,1,nan\n1,1,nan'])
def test_velocities_that_do_not_say_the_unit_leave_the_question(convert, rows):
    assert "if they are in s already, name their column 'time [s]'" in convert(
        'time,a,a.velocity\n' + rows, code=2).line


@pytest.mark.parametrize(('text', 'out'), [
    *((f'{column},a\n0,1\n1,1\n2,1\n', '3 joint states of a, 2.000 s, with positions')
      for column in ('time [s]', 'T (s)', 't_s', 'time_s', 'seconds')),
    ('time,a,a.effort\n0,1,2\n0.01,1,2\n',
     '2 joint states of a, 0.010 s, with positions, efforts'),
    ('Time [s],a [rad],a.velocity (rad/s),a.effort [Nm],b(1) [m],b(1).velocity [m/s],'
     'b(1).effort [N]\n0,1,2,3,4,5,6\n0.01,1,2,3,4,5,6\n',
     '2 joint states of a, b(1), 0.010 s, with positions, velocities, efforts')])
def test_the_header_says_which_columns_there_are_and_their_si_units(convert, text, out):
    """By it, rows that are a second apart are no milliseconds."""
    said = convert(text)
    assert (said.out, said.err) == (f'log: {out}\n', '')


def test_a_log_with_faults_is_used_like_a_bag_with_the_same_faults(convert):
    """One cell that was not a number refused a whole log."""
    said = convert(
        'time,a,b,a.velocity,b.velocity,a.effort,b.effort\n' + ''.join(
            f'{0.01 * i:.2f},{i},2,3,4,5,{6 + i}\n' for i in range(20)).replace(
            ',7\n', ',nan\n').replace(',8\n', ',\n').replace('0.03,3,', '0.03,,').replace(
            '\n0.05,', '\n,').replace('0.08,8,2,3,', '0.08,8,2,NA,') + '0.20,20,2,3')
    assert said.out == (
        'log: 18 joint states of a, b, 0.190 s, with positions, velocities, efforts\n')
    assert said.err.splitlines() == [f'hodyn convert: log.csv: {fault}' for fault in (
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


def test_a_line_that_repeats_a_time_is_left_out_as_in_a_bag(convert):
    """One repeated time refused the whole log; replay leaves such messages of a bag out."""
    said = convert(
        'time,a\n1700000000.000,1\n1700000000.005,2\n1700000000.005,3\n1700000000.01,4\n')
    assert said.out.startswith('log: 3 joint states of a, 0.010 s,')
    assert said.err == (
        'hodyn convert: log.csv: left out: same time as the line before (line 4)\n')
    with JointStateBag(Path('log'), JointNames(ROBOT, joints=('a',))) as bag:
        block, = bag.blocks()
    assert block.position[:, 0].tolist() == [1.0, 2.0, 4.0]


@pytest.mark.parametrize('seed', range(3))
def test_a_clock_that_was_set_back_stays_so_as_in_a_bag(hodyn, convert, seed):
    rng = np.random.default_rng(seed)
    times, row = 0.01 * np.arange(600.0), int(rng.integers(200, 400))
    back = round(float(rng.uniform(0.03, 1.9)), 2)
    changed = np.where(np.arange(600) < row, times, times - back)
    header = 'time,joint1,joint2,joint1.effort,joint2.effort\n'
    values = np.column_stack([np.sin(times), np.cos(times), np.cos(times), np.sin(times)])

    def text(stamps, order=slice(None)):
        return header + '\n'.join(
            f'{t:.2f},' + ','.join(f'{x:.9f}' for x in some)
            for t, some in zip(stamps[order], values[order], strict=True))

    assert not convert(text(times), output='sound').err
    said = convert(text(changed))
    assert said.out.startswith('log: 600 joint states of joint1, joint2, 5.990 s,')
    assert said.err == (
        f'hodyn convert: log.csv: the time goes back by {back - 0.01:.3g} s (line {row + 2})\n')
    with JointStateBag(Path('log'), JointNames(ROBOT)) as bag:
        block, = bag.blocks()
    np.testing.assert_allclose(block.position, values[:, :2], atol=1e-8)
    shuffled = rng.permutation(600)
    assert 'sort the rows by time, or split' in convert(
        text(times, shuffled), code=2, output='shuffled').line


def test_a_log_whose_last_number_was_cut_is_used(convert):
    said = convert('time,a\n0,1\n0.01,1\n0.02,-1e')
    assert said.out.startswith('log: 2 joint states of a,')
    assert said.err == 'hodyn convert: log.csv: left out: cut off in a number (line 4)\n'


@pytest.mark.parametrize('option', [('--payload', 'a', '1'), ('--lock', 'a=1')])
def test_options_of_a_robot_do_not_go_with_a_log(convert, option):
    assert convert('time,a\n0,1\n0.01,1\n', *option, code=2).err == (
        f'hodyn convert: log.csv is a log, but {option[0]} changes a robot: give this option '
        'to hodyn replay or hodyn identify\n')


def test_replay_of_a_log_points_to_convert(hodyn):
    Path('log.csv').write_text('time,a\n0,1\n0.01,1\n')
    assert 'hodyn convert log.csv --output BAG' in hodyn.refuses(
        'replay', 'log.csv', '--robot', 'twolink')
