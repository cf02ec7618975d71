"""A log in CSV becomes a bag, whose replay is that of a bag with the same numbers."""
import json
from pathlib import Path

import numpy as np
import pytest
from recordings import messages, record, write

import hodyn_ros as hd
from hodyn_ros.cli import main

ROBOT = hd.load_robot('twolink')


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


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
    ('time,a\n0,1\n10000,1\n20000,2', 'log', 'are these microseconds?'),
    ('time,a\n0,1\n1000000,1\n2000000,2', 'log', 'are these nanoseconds?'),
    ('time,a\n1700000000000,1\n1700000000010,1', 'log', 'are these milliseconds?'),
    ('time,a\n1700000000.145,1\n1700000000.14,1', 'log',
     'row 1: time 1700000000.14 s is not after 1700000000.145 s'),
    ('time,a [deg]\n0,1\n0.01,1', 'log', "column 'a [deg]': position is in rad or m"),
    ('time,a,a.velocity (deg/s)\n0,1,1\n0.01,1,1', 'log',
     "column 'a.velocity (deg/s)': velocity is in rad/s or m/s"),
    ('time,a,a.effort [rad]\n0,1,1\n0.01,1,1', 'log', 'effort is in N m or N'),
    ('time [ms],a\n0,1\n10,1', 'log', "column 'time [ms]': time is in s"),
    ('time,a,a.vel\n0,1,1\n0.01,1,1', 'log', "column 'a.vel': write a.velocity"),
    ('time,a,a.torque [N m]\n0,1,1\n0.01,1,1', 'log', "column 'a.torque': write a.effort"),
    ('time,a,a_velocity\n0,1,1\n0.01,1,1', 'log', "column 'a_velocity': write a.velocity"),
    ('time,a\n0,1\n0.02,1\n0.01,2', 'log', 'row 2: time 0.01 s is not after 0.02 s'),
    ('time,a\n0,1\n0.01,nan', 'log', 'row 1: has numbers that are not finite'),
    ('time,a\n-1,1\n0.01,2', 'log', 'row 0: time -1 s is before 0'),
    ('time,a\n0,1', 'log', 'at least two rows; joints here: 1, rows: 1'),
    ('time,a\n0,1\n0.01,x', 'log', 'row 1: expected numbers'),
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
