"""``hodyn check``: what is said of a plan, on any terminal and to any reader."""
import json
import math
import os
import re
import subprocess
import sys

from commands import write_plan
import pytest
from robot_texts import chain

from hodyn_ros.plans import annotated_file

PANDA = [f'joint{i}' for i in range(1, 8)]
MILLISECONDS = 'are these milliseconds?'
ALL_KNOWN = 'within all known limits; no limit is known for '


@pytest.fixture
def plan(tmp_path):
    write_plan(
        tmp_path / 'plan.json', ('joint1', 'joint2'), (0.0, (0.0, 0.0)), (1.0, (0.5, 0.3)))
    return ['check', 'plan.json', '--robot', 'twolink']


@pytest.fixture
def to_joint1(tmp_path):
    """Return a function that writes a plan of a panda, by time and position of joint1."""
    def write(*points):
        home = (-0.785, 0, -2.356, 0, 1.571, 0.785)
        write_plan(tmp_path / 'panda.json', PANDA, *(
            (time, (position, *home)) for time, position in points))
        return 'panda.json'
    return write


def limit(tmp_path, **velocities):
    """Write limits of velocities; return the option that gives them."""
    (tmp_path / 'limits.yaml').write_text(json.dumps({'limits': {
        joint: {'velocity': value} for joint, value in velocities.items()}}))
    return '--limits', 'limits.yaml'


@pytest.mark.parametrize('digits', [3, 17])
def test_a_tolerance_is_named_only_for_samples_that_are_rounded(hodyn, to_joint1, digits):
    """Only a jerk beyond its limit was named."""
    ways = (0.4 - 0.4 * math.cos(math.pi * i / 400) for i in range(401))
    name = to_joint1(*((0.005 * i, round(way, digits)) for i, way in enumerate(ways)))
    said = hodyn('check', name, '--robot', 'panda', code=1 if digits == 3 else 0).out
    assert ('the positions are rounded to 0.001: ' in said) == (digits == 3)
    smoothed = hodyn('check', name, '--robot', 'panda', '--sample-tolerance', '0.001').out
    assert 'rounded' not in smoothed


def test_figures_on_the_standard_output_are_alone_there(hodyn, plan):
    said = hodyn(*plan, '--json', '-')
    assert said.figures['within_limits']
    assert 'within all limits' in said.err


def test_a_brief_check_is_one_line(hodyn, plan):
    assert hodyn(*plan, '--brief').out == (
        'plan.json, for robot twolink: within all limits (none is known)\n')


def test_a_brief_check_names_the_point_whose_velocity_is_wrong(hodyn, tmp_path):
    (tmp_path / 'plan.csv').write_text(
        'time,joint1,joint2,joint1.velocity,joint2.velocity\n'
        '0,0,0,0,0\n1,0.1,0.1,-0.1,0.1\n2,0.2,0.2,0,0\n')
    given = 'check', 'plan.csv', '--robot', 'twolink', '--brief'
    assert hodyn(*given).out == (
        'plan.csv, for robot twolink: within all limits (none is known), but its velocities '
        "contradict its positions (point 1, joint 'joint1')\n")
    said = hodyn(*given, *limit(tmp_path, joint1=0.05), code=1).out
    assert "beyond limits: point 1, joint 'joint1': velocity -0.1 rad/s" in said
    assert 'slower' not in said


def test_a_plan_that_moves_a_locked_joint_is_refused(hodyn, plan):
    """The node refuses it in the same words."""
    assert hodyn(*plan, '--brief', '--lock', 'joint2=0.1', code=1).out.endswith(
        ': refused: joint2 is locked at 0.1, and the plan moves it from 0 to 0.3: leave it out of '
        'the plan, or do not lock it\n')


@pytest.mark.parametrize(('known', 'rest'), [
    (('joint1', 'joint2'), 'acceleration, jerk, effort, effort_rate'),
    (('joint1',), 'acceleration, jerk, effort, effort_rate, velocity of joint2')])
def test_a_plan_within_the_limits_that_are_known_is_not_within_all(
        hodyn, tmp_path, plan, known, rest):
    assert hodyn(*plan, '--brief', *limit(tmp_path, **dict.fromkeys(known, 9))).out == (
        f'plan.json, for robot twolink: {ALL_KNOWN}{rest}\n')


@pytest.mark.parametrize(('kind', 'limit', 'outcome'), [
    ('revolute', 'none', 'within all limits'),
    ('prismatic', 'unknown', f'{ALL_KNOWN}position of link0'),
])
def test_only_a_joint_that_turns_needs_no_range(hodyn, tmp_path, kind, limit, outcome):
    every = dict.fromkeys(('acceleration', 'jerk', 'effort', 'effort_rate'), [1e6] * 2)
    (tmp_path / 'arm.yaml').write_text(json.dumps(chain(kind, kind, limits={
        'position': [[None, None], [-3, 3]], 'velocity': [9, 9], **every})))
    write_plan(tmp_path / 'own.json', ('link0', 'link1'), (0, (0, 0)), (1, (0.5, 0.3)))
    said = hodyn('check', 'own.json', '--robot', 'arm.yaml').out.splitlines()
    row = next(line.split() for line in said if line.split()[:2] == ['link0', 'position'])
    assert row[3] == limit
    assert said[-1] == outcome
    unknown = ' '.join(hodyn('info', 'arm.yaml', '--json', '-').figures['unknown'])
    assert ('position' in unknown) == (limit == 'unknown')


def test_positions_in_degrees_are_suspected(hodyn, tmp_path):
    write_plan(
        tmp_path / 'degrees.json', PANDA, (0.0, (0, -45, 0, -135, 0, 90, 45)),
        (2.0, (10, -45, 0, -135, 0, 90, 45)))
    given = 'degrees.json', '--robot', 'panda'
    assert hodyn('check', *given, code=1).out.splitlines()[-1].startswith(
        'beyond limits: positions are in rad: are these degrees?; joint4: position -135 rad')
    assert 'it is out of range; positions are in rad: are these degrees?' in (
        hodyn('retime', *given, '--output', 'out.csv', code=2).err)


def test_of_a_lift_with_an_arm_in_degrees_and_mm_both_are_asked(hodyn, tmp_path):
    lift = chain('prismatic', 'revolute', limits={
        'position': [[0.0, 1.5], [-2.0, 2.0]]})
    (tmp_path / 'lift.yaml').write_text(json.dumps(lift))
    write_plan(tmp_path / 'mm.json', ('link0', 'link1'), (0.0, (300, 10)), (2.0, (400, 45)))
    given = hodyn('check', 'mm.json', '--robot', 'lift.yaml', code=1).out
    assert 'positions are in rad and m: are these degrees and millimetres?' in given


def test_a_file_that_was_given_for_another_is_recognised(hodyn, tmp_path, to_joint1):
    plan = to_joint1((0.0, 0.0), (1.0, 0.1))
    for option in ('--robot', '--limits'):
        assert hodyn.refuses('check', plan, option, plan).endswith('; it looks like a plan')
    (tmp_path / 'table.csv').write_text('time,joint1\n0,0\n1,0.1\n')
    assert hodyn.refuses('info', 'table.csv').endswith('; it looks like a plan or a recording')
    assert hodyn.rejects('retime', '--limits', '0.8', plan, '--output', 'out.csv').endswith(
        f'required: PLAN; {plan} was read as a value of --limits: put the plan before it\n')


def test_the_motion_to_the_first_point_is_not_said_to_be_checked(hodyn, to_joint1, tmp_path):
    for points in ([(2.0, 0.5)], [(2.0, 0.5), (3.0, 0.4)]):
        plan = to_joint1(*points)
        said = hodyn(
            'check', plan, '--robot', 'panda', '--brief', '--json', 'figures.json', '--force')
        assert said.out == (
            f'{plan}, for robot panda: within all limits, but the motion to the first point is '
            'not in the plan and not checked\n')
        unchecked = json.loads((tmp_path / 'figures.json').read_text())['unchecked']
        assert unchecked.startswith(
            'the motion to the first point, in 2 s from wherever the arm is')
        assert unchecked in hodyn('annotate', plan, '--output', 'out.csv', '--force').out
    plan = to_joint1((0.0, 0.5), (1.0, 0.4))
    assert hodyn('check', plan, '--robot', 'panda', '--brief').out == (
        f'{plan}, for robot panda: within all limits\n')


def test_times_that_are_not_seconds_from_the_start_are_asked_about(hodyn, to_joint1):
    for start in (1.7e9, 1.7e12):
        said = hodyn('check', to_joint1((start, 0.0), (start + 1.0, 0.1)), code=2).err
        assert 'the first point is at 1.7e+' in said
    for points, is_asked in (
            ([(0, 0.0), (500, 0.2), (1000, 0.4)], True), ([(0, 0.0), (2000, 0.4)], True),
            ([(0, 0.0), (20, 0.2), (40, 0.4)], False), ([(0, 0.4), (500, 0.4)], False)):
        assert (MILLISECONDS in hodyn('check', to_joint1(*points)).out) == is_asked


@pytest.mark.parametrize(('velocity', 'is_asked'), [(2.0, False), (115.0, False), (9.0, True)])
def test_times_are_not_asked_about_because_limits_are_in_degrees(
        hodyn, tmp_path, to_joint1, velocity, is_asked):
    plan = to_joint1((0, 0.0), (1, 0.2), (2, 0.4)) if not is_asked else to_joint1(
        (0, 0.0), (400, 0.2), (800, 0.4))
    out = hodyn('check', plan, *limit(tmp_path, joint1=velocity)).out
    assert (MILLISECONDS in out) == is_asked


def test_a_brief_check_asks_about_milliseconds(hodyn, to_joint1):
    plan = to_joint1((0, 0.0), (1000.0, 0.1), (2000.0, 0.4))
    assert hodyn('check', plan, '--brief').out.endswith(
        f': within all limits; times are in s: {MILLISECONDS}\n')
    plan = to_joint1((0, 0.0), (1500.0, 0.1), (4000.0, 0.4))
    assert hodyn('check', plan, '--brief', code=1).out.endswith(
        ': within all limits, but the node refuses plans of more than 3600 s; times are in s: '
        f'{MILLISECONDS}\n')


@pytest.mark.parametrize('output', ['out.yaml', 'out.csv', 'out_bag'])
def test_more_samples_than_a_file_holds_are_refused_at_once(hodyn, tmp_path, to_joint1, output):
    """With 6e8 samples, 134 GB, the command would not end if it began the work."""
    plan = to_joint1((0, 0.0), (1e6, 0.2), (3e6, 0.4))
    said = hodyn.refuses('annotate', plan, '--output', output)
    assert f'{plan}, for robot panda (the default; --robot for another): 3e+06 s are 60000' in said
    assert f'; times are in s: {MILLISECONDS} The points are up to 2e+06 s apart' in said
    assert said.endswith('; split the plan')
    plan = to_joint1((0.0, 0.0), (2500.0, 0.4), (5000.0, 0.2))
    said = hodyn.refuses('annotate', plan, '--output', output, '--period', '0.001')
    assert re.search(r'; take a period of 0\.0\d+ s or more \(--period\)$', said)
    assert not (tmp_path / output).exists()


def test_a_file_too_large_after_all_is_not_left(hodyn, monkeypatch, tmp_path, to_joint1):
    monkeypatch.setattr(annotated_file, 'MAX_BYTES', 100_000)
    said = hodyn.refuses(
        'annotate', to_joint1((0.0, 0.0), (2.0, 0.4)), '--output', 'out.yaml')
    assert '2 s are 401 samples every 0.005 s, and a plan file holds about 24' in said
    assert said.endswith('take a period of 0.011 s or more (--period)')
    assert not (tmp_path / 'out.yaml').exists()


@pytest.mark.parametrize('command', [['annotate', '--period', '0.5'], ['retime']])
def test_what_a_check_doubts_is_said_where_the_plan_is_written(hodyn, to_joint1, command):
    plan = to_joint1((0.0, 0.0), (200.0, 0.2), (400.0, 0.4))
    said = hodyn('check', plan).out
    note = next(line for line in said.splitlines() if 'note: ' in line)
    assert MILLISECONDS in note
    assert f'\n{note}' in hodyn(command[0], plan, '--output', 'out.csv', *command[1:]).out


def test_annotate_names_its_option_that_slows_a_plan_down(hodyn, to_joint1):
    plan = to_joint1((0.0, 0.0), (0.2, 1.0))
    said = hodyn('annotate', plan, '--output', 'out.csv', code=1).out
    assert 'times slower it is within all limits' in said
    assert said.endswith(' (--stretch auto makes it so)\n')
    assert '--stretch' not in hodyn(
        'annotate', plan, '--output', 'out.csv', '--stretch', 'off', code=1).out


def test_doubts_are_said_of_a_plan_that_is_not_written(hodyn, to_joint1):
    plan = to_joint1((0.0, 0.0), (1000.0, 5.0), (2000.0, 2.0))
    said = hodyn('annotate', plan, '--output', 'out.csv', code=1).out
    assert f'note: times are in s: {MILLISECONDS}' in said
    assert 'beyond limits: joint1: position' in said


@pytest.mark.parametrize('velocity', [None, 0.5])
@pytest.mark.parametrize('count', [2, 40])
@pytest.mark.parametrize(('unit', 'is_asked'), [(1.0, False), (1e3, True)])
def test_a_fast_plan_in_milliseconds_is_asked_about(
        hodyn, tmp_path, velocity, count, unit, is_asked):
    """It would peak at 1.4 rad/s, beyond the limit, and the arm may have none in its file."""
    limits = () if velocity is None else limit(tmp_path, joint1=velocity)
    share = [k / (count - 1) for k in range(count)]
    (tmp_path / 'fast.csv').write_text('time,joint1,joint2\n' + '\n'.join(
        f'{1.9 * unit * x},{1.4 * x ** 3 * (10 - 15 * x + 6 * x * x)},0.2' for x in share))
    is_beyond = velocity is not None and not is_asked
    said = hodyn('check', 'fast.csv', '--robot', 'twolink', *limits, code=int(is_beyond))
    assert (MILLISECONDS in said.out) == is_asked


@pytest.mark.parametrize('width', ['30', '60', '80'])
def test_a_narrow_terminal_cuts_nothing(hodyn, monkeypatch, plan, width):
    monkeypatch.setenv('COLUMNS', width)
    monkeypatch.setenv('FORCE_COLOR', '1')  # what a terminal is to rich
    monkeypatch.setenv('TTY_COMPATIBLE', '1')
    assert '…' not in hodyn(*plan).out


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


def test_a_check_tells_each_quantity_with_the_limit_that_is_known_of_it(hodyn, tmp_path, plan):
    said = hodyn(*plan, *limit(tmp_path, joint1=0.5), '--json', 'figures.json', code=1)
    worst = json.loads((tmp_path / 'figures.json').read_text())['worst']
    rows = [line.split() for line in said.out.splitlines() if any(
        f' {entry["quantity"]} ' in line for entry in worst) and 'beyond' not in line]
    assert len(rows) == len(worst)
    for row, entry in zip(rows, worst, strict=True):
        is_first = row[0] == entry['joint']
        assert is_first == (entry['quantity'] == worst[0]['quantity'])
        quantity, value, bound = row[is_first:is_first + 3]
        assert (quantity, value) == (entry['quantity'], f'{entry["value"]:.4g}')
        known = (entry['joint'], quantity) == ('joint1', 'velocity')
        assert bound == ('0.5' if known else 'none' if quantity == 'position' else 'unknown')
        assert entry['exceeded'] == known


def test_a_limit_exceeded_by_little_differs_from_the_value_printed(hodyn, tmp_path, plan):
    """Guards `velocity 2.175 rad/s, limit 2.175 rad/s` in refusals."""
    found = hodyn(*plan, '--json', '-').figures['worst']
    speed = next(one['value'] for one in found if one['quantity'] == 'velocity')
    said = hodyn(*plan, *limit(tmp_path, joint1=speed - 1e-7), code=1).out
    value, bound = re.search(r'velocity (\S+) rad/s at .*, limit (\S+) rad/s', said).groups()
    assert 0.0 < float(value) - float(bound) < 2e-7
    row = next(line.split() for line in said.splitlines() if line.split()[:1] == ['velocity'])
    assert 0.0 < float(row[1]) - float(row[2]) < 2e-7
