"""``hodyn retime``: what it writes, and what it says where it cannot."""
import json
from pathlib import Path
import re
import sys

import commands
import numpy as np
import pytest

HOME = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785]
NEXT = [0.5, -0.485, -0.4, -1.856, 0.2, 1.871, 1.185]


def write_plan(*points, name='plan.json'):
    joints = [f'panda_joint{i}' for i in range(1, 8)]
    commands.write_plan(Path(name), joints, *((2.0 * i, at) for i, at in enumerate(points)))


def write_csv(*rows):
    """Write a plan of rows of time, positions and velocities."""
    names = [f'joint{i}' for i in range(1, 8)]
    np.savetxt('plan.csv', rows, '%.17g', ',', comments='', header=','.join(
        ['time', *names, *(f'{name}.velocity' for name in names)]))


def test_the_plan_its_figures_and_its_picture_are_written(hodyn, tmp_path):
    write_plan(HOME, NEXT)
    arguments = (
        'retime', 'plan.json', '--output', 'fast.yaml', '--json', '-', '--picture',
        'margins.png', '--limits', 'velocity=0.5', '--limits', 'jerk=0.2', '--period', '0.004')
    said = hodyn(*arguments)
    lines, figures = said.err.splitlines(), said.figures
    assert lines[0].startswith('fast.yaml, for robot panda')
    assert 's with the timing of the plan, stretched evenly' in lines[0]
    assert any(line.startswith('  within 5 % of the limit for ') for line in lines)
    assert set(figures) == {
        'duration', 'uniform_stretch_duration', 'seconds', 'path_deviation', 'binding', 'notes'}
    assert 0.0 < figures['duration'] < figures['uniform_stretch_duration']
    assert 0.0 <= figures['path_deviation'] <= 1e-6  # of the file
    assert {'joint', 'quantity', 'begin', 'end'} == set(figures['binding'][0])
    assert (tmp_path / 'margins.png').stat().st_size > 10_000
    worst = hodyn('check', 'fast.yaml', '--json', '-').figures['worst']
    speeds = [abs(e['value']) / e['upper'] for e in worst if e['quantity'] == 'velocity']
    assert max(speeds) <= 0.5 + 1e-6

    # What is there is replaced only where that was asked for.
    before = (tmp_path / 'fast.yaml').read_bytes()
    assert 'fast.yaml' in hodyn(*arguments, code=2).err
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
        hodyn, tmp_path, points, options, message):
    write_plan(*points)
    assert message in hodyn(
        'retime', 'plan.json', '--output', 'fast.json', *options, code=2).line
    assert [path.name for path in tmp_path.iterdir()] == ['plan.json']


def test_a_plan_after_the_limits_is_not_taken_for_one_of_them(hodyn):
    write_plan(HOME, NEXT)
    first = 'put the plan first: hodyn retime PLAN --limits'
    output = '--output', 'fast.json'
    assert first in hodyn.refuses(
        'retime', 'plan.json', '--limits', '0.5', 'next.json', *output)
    assert first in hodyn.rejects(
        'retime', '--limits', 'limits.yaml', '0.5', 'plan.yaml', *output)


def test_what_is_written_is_checked_without_a_doubt(hodyn):
    """Its accelerations are told: samples that step in them, as at a rest, are no mistake."""
    write_plan(HOME, NEXT)
    hodyn('retime', 'plan.json', '--output', 'fast.json')
    said = hodyn('check', 'fast.json').out
    assert 'within all limits' in said
    assert 'step in acceleration' not in said


def test_a_plan_that_starts_in_motion_has_strict_figures(hodyn):
    # The time at its own timing is not known: it was NaN, in words and in the file.
    write_csv([0.0, *HOME, 0.2, *6 * [0.0]], [2.0, *NEXT, *7 * [0.0]])
    said = hodyn('retime', 'plan.csv', '--output', 'fast.csv', '--json', '-')
    assert 'it begins in motion, as its points do;' in said.err
    assert 'but the node starts a plan with the velocity of its reference, usually 0' in ' '.join(
        said.err.split())
    assert 'nan' not in said.err
    figures = json.loads(said.out, parse_constant=pytest.fail)
    assert figures['uniform_stretch_duration'] is None


@pytest.mark.parametrize('begin', [0.0, 3.2])
def test_samples_that_begin_in_motion_are_run_from_rest(hodyn, tmp_path, begin):
    step = np.subtract(NEXT, HOME)
    write_csv(*([begin + t, *(HOME + step * t * (2.0 - t)), *(2.0 * (1.0 - t) * step)]
                for t in np.linspace(0.0, 1.0, 60)))
    said = hodyn('retime', 'plan.csv', '--output', 'fast.json').out
    assert 'note: the points begin in motion; the plan begins at rest' in ' '.join(said.split())
    assert 'ends at rest' not in said
    points = json.loads((tmp_path / 'fast.json').read_text())['points']
    np.testing.assert_allclose(points[0]['velocities'], 0.0, atol=1e-9)


@pytest.mark.parametrize('count', [2, 60])
@pytest.mark.parametrize('command', [['retime'], ['annotate', '--stretch', 'retime']])
def test_points_that_end_in_motion_are_run_to_rest(hodyn, tmp_path, command, count):
    """As those of recorded and of periodic trajectories do: waypoints, and samples."""
    step = np.subtract(NEXT, HOME)
    write_csv(*([t, *(HOME + step * t * t), *(2.0 * t * step)]
                for t in np.linspace(0.0, 0.59, count)))
    said = hodyn(command[0], 'plan.csv', '--output', 'fast.json', *command[1:]).out
    if command == ['retime']:
        assert 'the points end in motion; the plan ends at rest' in said
    points = json.loads((tmp_path / 'fast.json').read_text())['points']
    np.testing.assert_allclose(points[-1]['velocities'], 0.0, atol=1e-9)
    assert 'begin in motion' not in said
    # And so are they among many.
    if count == 2:
        pytest.importorskip('pyarrow', reason='pyarrow is not installed')
        hodyn(command[0], 'plan.csv', '--output', 'many', *command[1:], '--jobs', '1')


def test_limits_that_are_not_known_are_named(hodyn, tmp_path):
    limits = '{velocity: 2.0, acceleration: 9.0, effort: 90.0}'
    (tmp_path / 'limits.yaml').write_text(f'limits: {{joint1: {limits}, joint2: {limits}}}')
    (tmp_path / 'plan.csv').write_text('time,joint1,joint2\n0,0,0\n1,1,1\n')
    some = ('retime', 'plan.csv', '--robot', 'twolink', '--limits', 'limits.yaml')
    said = hodyn(*some, '--output', 'fast.csv').out
    assert '! no limit is known for jerk, effort_rate: ' in said
    write_plan(HOME, NEXT)
    assert 'no limit is known' not in hodyn('retime', 'plan.json', '--output', 'fast.json').out
    several = (*some, '--actuators', 'springs.yaml', '--output', 'fast.csv', '--force')

    def write_springs(more, of_motor):
        (tmp_path / 'springs.yaml').write_text('actuators:\n' + ''.join(
            f'  {joint}: {{law: spring, stiffness: 500{more}, motor: {{inertia: 0.1{of_motor}}}}}'
            '\n' for joint in ('joint1', 'joint2')))

    for given, keys in (
            ('', 'max_velocity of the motors and max_effort of the motors and max_deflection'),
            (', max_velocity: 3', 'max_effort of the motors and max_deflection'),
            (', max_velocity: 3, max_effort: 90', 'max_deflection')):
        write_springs('', given)
        assert f'; write {keys} of the springs in the section `actuators` of the robot' in hodyn(
            *several).out
    write_springs(', max_deflection: 0.01', '')
    assert re.search(
        'joint1: deflection .*the weight, or .* needs this: write a larger max_deflection if',
        hodyn.refuses(*several))


def test_what_binds_is_told_with_the_time_of_all_its_intervals(hodyn):
    write_plan(HOME, NEXT, HOME)
    said = hodyn(
        'retime', 'plan.json', '--output', 'fast.yaml', '--json', '-', '--limits',
        'velocity=0.1', '--period', '0.01')
    told = [line.strip() for line in said.err.splitlines() if 'of the limit for' in line]
    total = {}
    for binding in said.figures['binding']:
        key = f'{binding["joint"]} {binding["quantity"]}'
        total.setdefault(key, []).append(binding['end'] - binding['begin'])
    assert max(map(len, total.values())) > 1
    longest = sorted(total, key=lambda key: -round(sum(total[key]), 3))[:12]
    assert told == [
        f'within 5 % of the limit for {sum(total[key]):.3f} s: {key}' for key in longest]


@pytest.mark.parametrize('is_terminal', [True, False])
def test_the_search_is_followed_on_a_terminal_and_leaves_nothing_there(
        hodyn, monkeypatch, is_terminal):
    write_plan(HOME, NEXT)
    monkeypatch.setattr(sys.stderr, 'isatty', lambda: is_terminal)
    monkeypatch.setenv('TERM', 'xterm')
    said = hodyn('retime', 'plan.json', '--output', 'fast.json', '--period', '0.01').err
    if not is_terminal:
        assert said == ''
        return
    erased = '\x1b[2K'
    assert 'retiming: ' in said
    assert erased in said[said.rindex('retiming'):]
