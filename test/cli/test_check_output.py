"""``hodyn check``: what is said of a plan, on any terminal and to any reader."""
import json
import os
import subprocess
import sys

from commands import refusal, write_plan
import pytest

from hodyn_ros.cli import main


@pytest.fixture
def plan(tmp_path):
    write_plan(
        tmp_path / 'plan.json', ('joint1', 'joint2'), (0.0, (0.0, 0.0)), (1.0, (0.5, 0.3)))
    return ['check', 'plan.json', '--robot', 'twolink']


def test_figures_on_the_standard_output_are_alone_there(capsys, plan):
    assert main([*plan, '--json', '-']) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)['within_limits']
    assert 'within all limits' in captured.err


def test_a_brief_check_is_one_line(capsys, plan):
    assert main([*plan, '--brief']) == 0
    assert capsys.readouterr().out == (
        'plan.json, for robot twolink: within all limits (none is known)\n')


def test_a_plan_within_the_limits_that_are_known_is_not_within_all(capsys, tmp_path, plan):
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 9}, joint2: {velocity: 9}}')
    assert main([*plan, '--brief', '--limits', 'limits.yaml']) == 0
    assert capsys.readouterr().out == (
        'plan.json, for robot twolink: within all known limits; no limit is known for '
        'acceleration, jerk, effort, effort_rate\n')
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 9}}')
    assert main([*plan, '--brief', '--limits', 'limits.yaml']) == 0
    assert capsys.readouterr().out.endswith('effort_rate, velocity of joint2\n')


PANDA = [f'joint{i}' for i in range(1, 8)]


def test_positions_in_degrees_are_suspected(capsys, tmp_path):
    write_plan(
        tmp_path / 'degrees.json', PANDA, (0.0, (0, -45, 0, -135, 0, 90, 45)),
        (2.0, (10, -45, 0, -135, 0, 90, 45)))
    assert main(['check', 'degrees.json', '--robot', 'panda']) == 1
    assert 'are these degrees?' in capsys.readouterr().out
    assert main(['retime', 'degrees.json', '--robot', 'panda', '--output', 'out.csv']) == 2
    assert 'it is out of range; positions are in rad: are these degrees?' in (
        capsys.readouterr().err)


def to_joint1(path, *points):
    """Write a plan of a panda, of points by time and position of joint1."""
    home = (-0.785, 0, -2.356, 0, 1.571, 0.785)
    write_plan(path, PANDA, *((time, (position, *home)) for time, position in points))
    return ['check', str(path), '--robot', 'panda']


def test_a_file_that_was_given_for_another_is_recognised(capsys, tmp_path):
    plan = to_joint1(tmp_path / 'plan.json', (0.0, 0.0), (1.0, 0.1))[1]
    for options in (('check', plan, '--robot', plan), ('check', plan, '--limits', plan)):
        assert refusal(capsys, *options).endswith('; it looks like a plan')
    with pytest.raises(SystemExit, match='2'):
        main(('retime', '--limits', '0.8', plan, '--output', 'out.csv'))
    assert capsys.readouterr().err.endswith(
        f'required: PLAN; {plan} was read as a value of --limits: put the plan before it\n')


def test_the_motion_to_the_first_point_is_not_said_to_be_checked(capsys, tmp_path):
    path = tmp_path / 'goal.json'
    for points in ([(2.0, 0.5)], [(2.0, 0.5), (3.0, 0.4)]):
        command = to_joint1(path, *points)
        assert main([*command, '--brief', '--json', 'figures.json', '--force']) == 0
        assert capsys.readouterr().out == (
            f'{path}, for robot panda: within all limits, but the motion to the first point is '
            'not in the plan and not checked\n')
        said = json.loads((tmp_path / 'figures.json').read_text())['unchecked']
        assert said.startswith('the motion to the first point, in 2 s from wherever the arm is')
        assert main(['annotate', str(path), '--output', 'out.csv', '--force']) == 0
        assert said in capsys.readouterr().out
    assert main([*to_joint1(path, (0.0, 0.5), (1.0, 0.4)), '--brief']) == 0
    assert capsys.readouterr().out == f'{path}, for robot panda: within all limits\n'


def test_times_that_are_not_seconds_from_the_start_are_asked_about(capsys, tmp_path):
    path = tmp_path / 'plan.json'
    for start in (1.7e9, 1.7e12):
        assert main(to_joint1(path, (start, 0.0), (start + 1.0, 0.1))) == 2
        assert 'the first point is at 1.7e+' in capsys.readouterr().err
    for points, is_asked in (
            ([(0, 0.0), (500, 0.2), (1000, 0.4)], True), ([(0, 0.0), (2000, 0.4)], True),
            ([(0, 0.0), (20, 0.2), (40, 0.4)], False), ([(0, 0.4), (500, 0.4)], False)):
        assert main(to_joint1(path, *points)) == 0
        assert ('are these milliseconds?' in capsys.readouterr().out) == is_asked


@pytest.mark.parametrize('limit', ['', '0.5'])
@pytest.mark.parametrize('count', [2, 40])
def test_a_fast_plan_in_milliseconds_is_asked_about(capsys, tmp_path, limit, count):
    """It would peak at 1.4 rad/s, beyond the limit, and the arm may have none in its file."""
    (tmp_path / 'limits.yaml').write_text(f'limits: {{joint1: {{velocity: {limit or 9}}}}}')
    share = [k / (count - 1) for k in range(count)]
    for unit, is_asked in ((1.0, False), (1e3, True)):
        (tmp_path / 'fast.csv').write_text('time,joint1,joint2\n' + '\n'.join(
            f'{1.9 * unit * x},{1.4 * x ** 3 * (10 - 15 * x + 6 * x * x)},0.2' for x in share))
        main(['check', 'fast.csv', '--robot', 'twolink', *(
            ['--limits', 'limits.yaml'] if limit else [])])
        assert ('are these milliseconds?' in capsys.readouterr().out) == is_asked


@pytest.mark.parametrize('width', ['30', '60', '80'])
def test_a_narrow_terminal_cuts_nothing(capsys, monkeypatch, plan, width):
    monkeypatch.setenv('COLUMNS', width)
    monkeypatch.setenv('FORCE_COLOR', '1')  # what a terminal is to rich
    monkeypatch.setenv('TTY_COMPATIBLE', '1')
    assert main(plan) == 0
    assert '…' not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize('is_check', [True, False])
def test_a_closed_pipe_is_no_fault_and_no_finding(plan, is_check):
    process = subprocess.Popen(
        [sys.executable, '-m', 'hodyn_ros', *(plan if is_check else ['robots'])],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ''
    assert process.wait() == 141


@pytest.mark.slow
@pytest.mark.parametrize('encoding', ['ascii', 'latin-1', 'utf-8'])
def test_a_terminal_without_unicode_gets_every_line(plan, encoding):
    result = subprocess.run(
        [sys.executable, '-m', 'hodyn_ros', *plan], capture_output=True,
        env={**os.environ, 'PYTHONIOENCODING': encoding})
    assert result.returncode == 0, result.stderr
    assert b'within all limits' in result.stdout


def test_a_check_tells_each_quantity_with_the_limit_that_is_known_of_it(
        capsys, monkeypatch, tmp_path, plan):
    (tmp_path / 'limits.yaml').write_text('limits: {joint1: {velocity: 0.5}}')
    assert main([*plan, '--limits', 'limits.yaml', '--json', 'figures.json']) == 1
    lines = capsys.readouterr().out.splitlines()
    worst = json.loads((tmp_path / 'figures.json').read_text())['worst']
    rows = [line.split() for line in lines if any(
        f' {entry["quantity"]} ' in line for entry in worst) and 'beyond' not in line]
    assert len(rows) == len(worst)
    for row, entry in zip(rows, worst, strict=True):
        is_first = row[0] == entry['joint']
        assert is_first == (entry['quantity'] == worst[0]['quantity'])
        quantity, value, limit = row[is_first:is_first + 3]
        assert (quantity, value) == (entry['quantity'], f'{entry["value"]:.4g}')
        known = (entry['joint'], quantity) == ('joint1', 'velocity')
        assert limit == ('0.5' if known else 'unknown')
        assert entry['exceeded'] == known
