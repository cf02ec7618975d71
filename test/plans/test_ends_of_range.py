"""Points at the end of a joint's range: the plan between them stays within it, or says why not."""
from dataclasses import replace
import json
from pathlib import Path

import numpy as np
import pytest
from rigid_bodies import link

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.feedforward.stream_schedule import check_range
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.reference.extrema import extrema

TIMES = [0.0, 1.0, 2.0, 3.5]
POINTS = [[0.0, 0.01], [0.8, 0.03], [0.2, 0.0], [1.0, 0.02]]
NAMES = ('turn', 'finger')
BODY = {'mass': 0.5, 'com': [0.0, 0.0, 0.1], 'inertia': (1e-3 * np.eye(3)).tolist()}
ROBOT = hd.load_robot({
    'name': 'gripper', 'bodies': [
        link('arm', joint='turn', axis=[0, 0, 1], **BODY),
        link('jaw', 'arm', 'prismatic', joint='finger', **BODY)],
    'limits': {
        'position': [[-3.0, 3.0], [0.0, 0.05]], 'velocity': [2.0, 0.2],
        'acceleration': [20.0, 2.0], 'jerk': [400.0, 50.0], 'effort': [60.0, 40.0],
        'effort_rate': [1e4, 1e4]}})


def prepared(points=POINTS, velocities=(), start=None, **settings):
    return prepare_plan(PlanRequest(
        JointWaypoints(NAMES, TIMES, points, velocities), ROBOT, PlanSettings(**settings),
        start=start))


def write_plan():
    Path('plan.csv').write_text('time,turn,finger\n' + '\n'.join(
        f'{time},{turn},{finger}' for time, (turn, finger) in zip(TIMES, POINTS, strict=True)))


@pytest.mark.parametrize('start', [None, np.vstack((POINTS[:1], np.zeros((4, 2))))])
@pytest.mark.parametrize('stretch', ['offer', 'retime'])
@pytest.mark.parametrize('interpolation', ['auto', 'bounded', 'local'])
def test_a_point_at_the_end_of_the_range_is_no_reason_to_refuse(start, stretch, interpolation):
    found = prepared(start=start, stretch=stretch, interpolation=interpolation)
    assert not found.refusal
    assert extrema(found.plan, 0)[0][0, 1] >= -1e-9
    if stretch == 'offer':
        np.testing.assert_allclose(
            found.plan.evaluate(np.array(TIMES))[:, 0], POINTS, rtol=0.0, atol=1e-12)


@pytest.mark.parametrize('stretch', ['offer', 'retime'])
def test_the_global_interpolation_that_leaves_the_range_is_named(stretch):
    refusal = prepared(stretch=stretch, interpolation='global').refusal
    assert refusal.endswith(
        ': all points are within the range, but the global interpolation leaves it between them: '
        'interpolation bounded or local stays within it, unless velocities or accelerations at '
        'points, or a moving start, lead out of it')


def test_velocities_that_lead_out_of_the_range_are_named():
    velocities = [[0.0, 0.0], [0.0, 0.0], [0.0, 0.05], [0.0, 0.0]]
    for interpolation in ('auto', 'local'):
        refusal = prepared(velocities=velocities, interpolation=interpolation).refusal
        assert 'all points are within the range, but the' in refusal
        assert refusal.endswith(
            'velocities or accelerations at points, or a moving start, lead out of it')


def test_a_point_out_of_the_range_is_not_put_down_to_the_interpolation():
    refusal = prepared([*POINTS[:2], [0.2, -0.001], POINTS[3]]).refusal
    assert refusal.endswith('out of its range at 2.015 s at any speed')


def test_a_prismatic_joint_overshoots_by_a_millimetre_at_most():
    points = [[0.0, 0.01], [1.0, 0.03], [-0.5, 0.02], [1.0, 0.02]]
    assert extrema(prepared(points, interpolation='global').plan, 0)[0][0, 1] < 0.019
    low, high = extrema(prepared(points).plan, 0)[0][:, 1]
    assert low >= 0.01 - 1e-3
    assert high <= 0.03 + 1e-3


def test_what_is_written_for_such_a_plan_can_be_read_and_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    hd.save_robot(ROBOT, 'robot.yaml')
    write_plan()
    for command in ('annotate', 'retime'):
        assert main((
            command, 'plan.csv', '--robot', 'robot.yaml', '--output', f'{command}.yaml')) == 0
        assert main(('check', f'{command}.yaml', '--robot', 'robot.yaml')) == 0
    assert 'beyond limits' not in capsys.readouterr().out


def test_a_retimed_plan_is_not_said_to_be_faster_if_slowed_evenly(tmp_path, monkeypatch, capsys):
    """The file may be a little slower than the search found, and was called slower than that."""
    monkeypatch.chdir(tmp_path)
    hd.save_robot(ROBOT, 'robot.yaml')
    write_plan()
    for plan, output in (('plan.csv', 'once.yaml'), ('once.yaml', 'twice.yaml')):
        assert main((
            'retime', plan, '--robot', 'robot.yaml', '--output', output, '--json', 'figures.json',
            '--force')) == 0
    figures = json.loads(Path('figures.json').read_text())
    assert figures['duration'] > figures['uniform_stretch_duration']
    twice = capsys.readouterr().out.partition('\ntwice.yaml')[2]
    assert '; as fast with the timing of the plan, stretched evenly; ' in twice.splitlines()[0]


def outward(bounds):
    """Return limits, (2, n), rounded to single precision, the way out of the range if need be."""
    single, out = bounds.astype(np.float32), np.array([[-np.inf], [np.inf]], dtype=np.float32)
    beyond = np.nextafter(single, out)
    is_out = np.sign(single - bounds) == np.sign(out)
    return np.where(is_out, single, beyond).astype(float)


@pytest.mark.parametrize('seed', range(12))
def test_positions_at_a_limit_in_single_precision_are_at_the_limit(seed):
    rng = np.random.default_rng(seed)
    low = rng.uniform(-3.0, [0.0, 0.3])
    bounds = np.vstack((low, low + rng.uniform(0.1, 3.0, 2)))
    robot = replace(ROBOT, limits=replace(
        ROBOT.limits, position_min=bounds[0], position_max=bounds[1]))
    ends = outward(bounds)
    assert ((ends - bounds) * [[-1.0], [1.0]] > 0.0).all()
    middle, end = bounds.mean(axis=0), ends[seed % 2]

    def planned(points, **fields):
        return prepare_plan(PlanRequest(JointWaypoints(
            NAMES, [0.0, 20.0], points), robot, PlanSettings(), **fields))

    to = planned([middle, end])
    assert to.refusal == ''
    assert to.limit_report.within_limits
    reached = to.plan.evaluate(20.0)[0]
    np.testing.assert_allclose(reached, np.clip(reached, *bounds), rtol=0.0, atol=1e-12)
    # An arm that was measured there may leave.
    assert planned([end, middle], start=np.vstack((end, np.zeros((4, 2))))).refusal == ''
    check_range(robot, NAMES, end, end)
    # Somewhat farther it is beyond.
    joint = seed // 2 % 2
    beyond = end.copy()
    beyond[joint] += np.sign(end - middle)[joint] * 10.0 ** rng.uniform(-5.0, -2.0)
    assert f'{NAMES[joint]}: position ' in planned([middle, beyond]).refusal
    with pytest.raises(ValueError, match=f'of joint {NAMES[joint]!r} is (above|below) '):
        check_range(robot, NAMES, beyond, beyond)
