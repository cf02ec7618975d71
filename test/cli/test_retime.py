"""``hodyn retime``: what it writes, and what it says where it cannot."""
import json
from pathlib import Path
import sys

import commands
import numpy as np
import pytest

from hodyn_ros.cli import main

HOME = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
NEXT = [0.5, -0.485, -0.4, -1.856, 0.2, 1.871, 1.185]


def write_plan(*points, name='plan.json'):
    joints = [f'panda_joint{i}' for i in range(1, 8)]
    commands.write_plan(Path(name), joints, *((2.0 * i, at) for i, at in enumerate(points)))


def test_the_plan_its_figures_and_its_picture_are_written(capsys, tmp_path):
    write_plan(HOME, NEXT)
    arguments = (
        'retime', 'plan.json', '--output', 'fast.yaml', '--json', 'figures.json', '--picture',
        'margins.png', '--limits', 'velocity=0.5', '--limits', 'jerk=0.2', '--period', '0.004')
    assert main(arguments) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith('fast.yaml, for robot panda')
    assert 'if slowed evenly' in said[0]
    assert any(line.startswith('  within 5 % of the limit for ') for line in said)
    figures = json.loads((tmp_path / 'figures.json').read_text())
    assert set(figures) == {
        'duration', 'uniform_stretch_duration', 'seconds', 'path_deviation', 'binding', 'notes'}
    assert 0.0 < figures['duration'] < figures['uniform_stretch_duration']
    assert 0.0 <= figures['path_deviation'] <= 1e-6  # of the file
    assert {'joint', 'quantity', 'begin', 'end'} == set(figures['binding'][0])
    assert (tmp_path / 'margins.png').stat().st_size > 10_000
    assert main(('check', 'fast.yaml', '--json', 'check.json')) == 0
    worst = json.loads((tmp_path / 'check.json').read_text())['worst']
    speeds = [abs(e['value']) / e['upper'] for e in worst if e['quantity'] == 'velocity']
    assert max(speeds) <= 0.5 + 1e-6

    # What is there is replaced only where that was asked for.
    capsys.readouterr()
    before = (tmp_path / 'fast.yaml').read_bytes()
    assert main(arguments) == 2
    assert 'fast.yaml' in capsys.readouterr().err
    assert (tmp_path / 'fast.yaml').read_bytes() == before


@pytest.mark.parametrize(('points', 'options', 'message'), [
    ([HOME], (), 'a single point is not a path'),
    ([HOME, HOME], (), 'all the same'),
    ([HOME, NEXT], ('--limits', 'effort=0.1'), 'joint4: effort 18.5683 N m at 0 % of the path'),
    ([HOME, NEXT], ('--limits', '0.5', '0.6'), 'one number for all limits'),
    ([HOME, NEXT], ('--limits', '0.5', '--limits', '0.6'), 'one number for all limits'),
    ([HOME, NEXT], ('--limits', 'limits.yaml'), "no file of limits 'limits.yaml'"),
    ([HOME, NEXT], ('--limits', 'speed=1'), "unknown quantity 'speed'"),
    ([HOME, NEXT], ('--limits', '80'),
     '--limits 80: expected a share above 0 and at most 1, for example 0.8'),
    ([HOME, NEXT], ('--limits', 'jerk=0'), '--limits jerk=0: expected a share above 0'),
    ([HOME, NEXT], ('--stop-at', '7'), 'stop at point 7'),
    ([HOME, NEXT], ('--smooth', '-1'), 'smoothness -1'),
    ([HOME, NEXT], ('--picture', 'fast.json'), 'not an image'),
    ([HOME, NEXT], ('--picture', 'm.png', '--json', 'm.png'), 'another output goes'),
])
def test_what_cannot_be_done_is_one_line_and_writes_nothing(
    capsys, tmp_path, points, options, message,
):
    write_plan(*points)
    assert main(('retime', 'plan.json', '--output', 'fast.json', *options)) == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert message in line
    assert [path.name for path in tmp_path.iterdir()] == ['plan.json']


def test_a_plan_after_the_limits_is_not_taken_for_a_number(capsys):
    write_plan(HOME, NEXT)
    words = ('plan.json', '--limits', '0.5', 'next.json', '--output', 'fast.json')
    assert main(('retime', *words)) == 2
    assert 'put the plan first: hodyn retime PLAN --limits' in capsys.readouterr().err


def test_a_plan_after_the_limits_is_not_taken_for_a_file_of_limits(capsys):
    words = ('--limits', 'limits.yaml', '0.5', 'plan.yaml', '--output', 'fast.json')
    with pytest.raises(SystemExit, match='2'):
        main(('retime', *words))
    assert 'put the plan first: hodyn retime PLAN --limits' in capsys.readouterr().err


def test_what_is_written_is_checked_without_a_doubt(capsys):
    """Its accelerations are told: samples that step in them, as at a rest, are no mistake."""
    write_plan(HOME, NEXT)
    assert main(('retime', 'plan.json', '--output', 'fast.json')) == 0
    capsys.readouterr()
    assert main(('check', 'fast.json')) == 0
    said = capsys.readouterr().out
    assert 'within all limits' in said
    assert 'step in acceleration' not in said


def test_a_plan_that_starts_in_motion_has_strict_figures(capsys, tmp_path):
    # The time at its own timing is not known: it was NaN, in words and in the file.
    names = [f'joint{i}' for i in range(1, 8)]
    with open('plan.csv', 'w', encoding='utf-8') as file:
        for row in (
            ['time', *names, *(f'{name}.velocity' for name in names)],
            [0.0, *HOME, 0.2, *6 * [0.0]], [2.0, *NEXT, *7 * [0.0]],
        ):
            print(*row, sep=',', file=file)
    assert main(('retime', 'plan.csv', '--output', 'fast.csv', '--json', 'figures.json')) == 0
    said = capsys.readouterr().out
    assert 'it begins in motion, as its points do;' in said
    assert 'nan' not in said
    figures = json.loads((tmp_path / 'figures.json').read_text(), parse_constant=pytest.fail)
    assert figures['uniform_stretch_duration'] is None


@pytest.mark.parametrize('count', [2, 60])
@pytest.mark.parametrize('command', [['retime'], ['annotate', '--stretch', 'retime']])
def test_points_that_end_in_motion_are_run_to_rest(capsys, tmp_path, command, count):
    """As those of recorded and of periodic trajectories do: waypoints, and samples."""
    names = [f'joint{i}' for i in range(1, 8)]
    times = np.linspace(0.0, 0.59, count)
    with open('plan.csv', 'w', encoding='utf-8') as file:
        print('time', *names, *(f'{name}.velocity' for name in names), sep=',', file=file)
        for t in times:
            velocity = 2.0 * t * (np.array(NEXT) - HOME)
            print(t, *(HOME + 0.5 * velocity * t), *velocity, sep=',', file=file)
    assert main((command[0], 'plan.csv', '--output', 'fast.json', *command[1:])) == 0
    if command == ['retime']:
        assert 'the points end in motion; the plan ends at rest' in capsys.readouterr().out
    points = json.loads((tmp_path / 'fast.json').read_text())['points']
    np.testing.assert_allclose(points[-1]['velocities'], 0.0, atol=1e-9)
    # And so are they among many.
    if count == 2:
        pytest.importorskip('pyarrow', reason='pyarrow is not installed')
        many = (command[0], 'plan.csv', '--output', 'many', *command[1:], '--jobs', '1')
        assert main(many) == 0


def test_limits_that_are_not_known_are_named(capsys, tmp_path):
    limits = '{velocity: 2.0, acceleration: 9.0, effort: 90.0}'
    (tmp_path / 'limits.yaml').write_text(f'limits: {{joint1: {limits}, joint2: {limits}}}')
    (tmp_path / 'plan.csv').write_text('time,joint1,joint2\n0,0,0\n1,1,1\n')
    some = ('retime', 'plan.csv', '--robot', 'twolink', '--limits', 'limits.yaml')
    assert main((*some, '--output', 'fast.csv')) == 0
    assert '! no limit is known for jerk, effort_rate: ' in capsys.readouterr().out
    write_plan(HOME, NEXT)
    assert main(('retime', 'plan.json', '--output', 'fast.json')) == 0
    assert 'no limit is known' not in capsys.readouterr().out


def test_what_binds_is_told_with_the_time_of_all_its_intervals(capsys, tmp_path):
    write_plan(HOME, NEXT, HOME)
    assert main((
        'retime', 'plan.json', '--output', 'fast.yaml', '--json', 'figures.json', '--limits',
        'velocity=0.1', '--period', '0.01')) == 0
    lines = capsys.readouterr().out.splitlines()
    told = [line.strip() for line in lines if 'of the limit for' in line]
    total = {}
    for binding in json.loads((tmp_path / 'figures.json').read_text())['binding']:
        key = f'{binding["joint"]} {binding["quantity"]}'
        total.setdefault(key, []).append(binding['end'] - binding['begin'])
    assert max(map(len, total.values())) > 1
    longest = sorted(total, key=lambda key: -round(sum(total[key]), 3))[:12]
    assert told == [
        f'within 5 % of the limit for {sum(total[key]):.3f} s: {key}' for key in longest]


@pytest.mark.parametrize('is_terminal', [True, False])
def test_the_search_is_followed_on_a_terminal_and_leaves_nothing_there(
    capsys, monkeypatch, is_terminal,
):
    write_plan(HOME, NEXT)
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: is_terminal)
    monkeypatch.setenv('TERM', 'xterm')
    assert main(('retime', 'plan.json', '--output', 'fast.json', '--period', '0.01')) == 0
    said = capsys.readouterr().err
    if not is_terminal:
        assert said == ''
        return
    erased = '\x1b[2K'
    assert 'retiming: ' in said
    assert erased in said[said.rindex('retiming'):]
