"""Each reflex of a built-in arm has a plan that trips it and one that just does not."""
from dataclasses import replace
import json

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.cli import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
from hodyn_ros.plans.prepare import prepare_plan
from hodyn_ros.plans.reflex_check import reflex_peaks
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot.files.writer import robot_mapping
from hodyn_ros.robot.joint_limits import Limits

MIDDLE = np.array([0.3, -0.2, 0.1, -1.6, 0.2, 1.8, 0.4])
STARTS = {
    'panda': MIDDLE, 'fr3': MIDDLE, 'iiwa14': MIDDLE,
    'ur10e': np.array([0.1, -1.2, 1.4, -1.5, -1.5, 0.3])}
CASES = [
    pytest.param(name, stop.name, stop.commands, id=f'{name}-{stop.name}-{stop.commands}')
    for name in STARTS for stop in hd.load_robot(name).reflexes.stops]


def with_only(robot, name, commands):
    """Return a robot that has one reflex, and no limits but those that it depends on."""
    none = Limits.none(robot.n)
    kept = {f: getattr(robot.limits, f) for f in (
        'stopping_min', 'stopping_max', 'stopping_deceleration', 'stopping_offset')}
    stops = tuple(
        stop for stop in robot.reflexes.stops if (stop.name, stop.commands) == (name, commands))
    return replace(
        robot, limits=replace(none, **kept), reflexes=replace(robot.reflexes, stops=stops))


def moved(duration, start=MIDDLE):
    """Return a plan from rest to rest of all joints."""
    return fit_plan([0.0, duration], np.stack([start, start + 0.5]))


def edge(robot, start):
    """Return durations of `moved`: one that just does not trip the only reflex, one that does."""
    ff = FeedForward(robot)
    stop, = robot.reflexes.stops

    def share(duration):
        peak, = reflex_peaks(moved(duration, start), ff, stop.commands)
        return peak.share

    slow, fast = 8.0, 0.02
    assert share(slow) < 1.0 < share(fast)
    while slow / fast > 1.0 + 1e-4:
        middle = np.sqrt(slow * fast)
        slow, fast = (middle, fast) if share(middle) < 1.0 else (slow, middle)
    return slow * 1.001, fast * 0.999


def sampled(robot, stop, plan):
    """Return the worst share of a reflex, from samples taken here."""
    period = robot.reflexes.period
    t = period * np.arange(-5, np.ceil(plan.duration / period) + 5)
    motion = plan.evaluate(t)
    ff = FeedForward(robot)
    values = {
        'effort': lambda: ff.torque(motion)[:, 0],
        'effort_rate': lambda: np.diff(
            ff.torque(motion, gravity=robot.reflexes.gravity)[:, 0], axis=0) / period}
    order = {'velocity': 1, 'acceleration': 2, 'jerk': 3}.get(stop.quantity)
    if order and stop.commands == 'position':
        value = np.diff(motion[:, 0], n=order, axis=0) / period**order
    else:
        value = motion[:, order] if order else values[stop.quantity]()
    return float((np.abs(value) / stop.limit[0]).max())


def test_every_built_in_robot_with_reflexes_is_among_the_cases():
    """And with it all of its reflexes: none goes untried."""
    assert set(STARTS) == {
        name for name in hd.robot_names() if hd.load_robot(name).reflexes is not None}


@pytest.mark.parametrize(('robot', 'name', 'commands'), CASES)
def test_a_plan_trips_each_reflex_and_one_just_does_not(robot, name, commands):
    start = STARTS[robot]
    robot = with_only(hd.load_robot(robot), name, commands)
    stop, = robot.reflexes.stops
    ff = FeedForward(robot)
    for duration, trips in zip(edge(robot, start), (False, True), strict=True):
        plan = moved(duration, start)
        peak, = reflex_peaks(plan, ff, commands)
        assert peak.trips is trips
        if not (stop.quantity == 'velocity' and robot.limits.depend_on_position.any()):
            assert peak.share == pytest.approx(sampled(robot, stop, plan), rel=1e-6)
        prepared = prepare_plan(PlanRequest(
            JointWaypoints(robot.joint_names, [0.0, duration], [start, start + 0.5]), robot,
            PlanSettings(commands=commands)))
        wanted = f'would trip {name} at {peak.tripped_at or 0.0:.4g} s, {peak.tripped_by}: '
        assert (wanted in prepared.refusal) is trips
        other = 'position' if commands == 'effort' else 'effort'
        assert reflex_peaks(plan, ff, other) == ()


def test_it_is_tripped_by_the_joint_that_is_first_beyond_not_by_the_worst():
    robot = hd.load_robot('panda')
    middle, reach = MIDDLE, np.array([0.9, 0.0, 0.0, 0.9, 0.0, 0.0, 0.0])
    late = np.array([0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.6])
    plan = fit_plan(
        [0.0, 0.6, 1.2], np.stack([middle, middle + reach, middle + reach + late]))
    t = 0.001 * np.arange(1201)
    shares = np.abs(plan.evaluate(t)[:, 1]) / robot.limits.velocity
    first = int((shares > 1.0).any(axis=1).argmax())
    peak = next(one for one in reflex_peaks(plan, FeedForward(robot), 'effort')
                if one.reflex == 'joint_velocity_violation')
    assert peak.tripped_at == pytest.approx(t[first])
    assert peak.tripped_by == f'joint{shares[first].argmax() + 1}'
    assert peak.time == pytest.approx(t[shares.max(axis=1).argmax()])
    assert peak.joint != peak.tripped_by
    assert peak.time > peak.tripped_at


def test_a_plan_is_sampled_in_blocks_as_a_whole(monkeypatch):
    robot = hd.load_robot('panda')
    whole = reflex_peaks(moved(0.4), FeedForward(robot), 'position')
    monkeypatch.setattr('hodyn_ros.plans.reflex_check.BLOCK', 37)
    assert reflex_peaks(moved(0.4), FeedForward(robot), 'position') == whole
    assert len(whole) == 3


def test_what_starts_or_ends_in_motion_trips_unless_it_joins_a_motion():
    robot, start = hd.load_robot('panda'), np.zeros((5, 7))
    start[0], start[1] = MIDDLE, 0.1
    points = JointWaypoints(
        robot.joint_names, [0.0, 3.0], [MIDDLE, MIDDLE + 0.3], [start[1], 0.0 * MIDDLE])
    request = PlanRequest(points, robot, PlanSettings(stretch='off', commands='position'))
    tripped = {peak.reflex for peak in prepare_plan(request).reflexes if peak.trips}
    assert tripped == {
        f'joint_motion_generator_{what}_discontinuity' for what in ('velocity', 'acceleration')}
    assert prepare_plan(replace(request, start=start)).refusal == ''


def test_limits_of_the_user_do_not_move_the_reflexes_of_the_vendor():
    robot = hd.load_robot('panda', limits={'limits': {
        f'joint{i}': {'acceleration': None, 'jerk': None, 'effort_rate': None, 'velocity': 9.0}
        for i in range(1, 8)}})
    prepared = prepare_plan(PlanRequest(
        JointWaypoints(robot.joint_names, [0.0, 0.3], [MIDDLE, MIDDLE + 0.5]), robot,
        PlanSettings()))
    assert 'would trip controller_torque_discontinuity' in prepared.refusal
    assert 'would trip joint_velocity_violation' in prepared.refusal


@pytest.mark.parametrize(('milliseconds', 'commands', 'code', 'line'), [
    (950, 'effort', 0, 'nearest reflex: joint_velocity_violation, 6'),
    (600, 'effort', 0, 'nearest reflex: joint_velocity_violation, 94 % of its limit (joint'),
    (600, 'position', 1, 'would trip joint_motion_generator_velocity_discontinuity at 0.'),
])
def test_the_command_says_which_is_nearest_or_tripped_under_which_commands(
    capsys, tmp_path, milliseconds, commands, code, line,
):
    """With limits of the user's that are beyond those of the vendor."""
    robot = hd.load_robot('panda')
    plan, limits, figures = (tmp_path / name for name in ('plan.json', 'limits.json', 'out.json'))
    plan.write_text(json.dumps({'joint_names': robot.joint_names, 'points': [
        {'positions': row.tolist(), 'time_from_start': {'sec': 0, 'nanosec': 1_000_000 * t}}
        for row, t in ((MIDDLE, 0), (MIDDLE + 0.5, milliseconds))]}))
    limits.write_text(json.dumps({'limits': {
        name: {'acceleration': None, 'jerk': None} for name in robot.joint_names}}))
    assert main(['check', str(plan), '--limits', str(limits), '--json', str(figures),
                 '--commands', commands]) == code
    said = capsys.readouterr().out.splitlines()
    assert line in (said[-1] if code else said[-2])
    written = json.loads(figures.read_text())['reflexes']
    assert [peak['trips'] for peak in written] == [code == 1, False, False]
    assert {peak['commands'] for peak in written} == {commands}


def near_an_end(robot, duration):
    """Return a plan of joint 2 alone to 0.05 rad from where it must stop."""
    goal = MIDDLE.copy()
    goal[1] = robot.limits.stopping_max[1] - 0.05
    return fit_plan([0.0, duration], np.stack([MIDDLE, goal]))


def test_near_the_end_of_the_range_the_stoppable_velocity_is_the_limit():
    """The FR3's: libfranka's getUpperJointVelocityLimits, written out here."""
    robot = with_only(hd.load_robot('fr3'), 'joint_velocity_violation', 'effort')
    plan = near_an_end(robot, 1.6)
    peak, = reflex_peaks(plan, FeedForward(robot), 'effort')
    t = 0.001 * np.arange(1601)
    motion = plan.evaluate(t)
    room = np.maximum(0.0, 1.7918 - motion[:, 0, 1])
    allowed = np.minimum(2.62, np.maximum(0.0, np.sqrt(2.0 * 2.585 * room) - 0.2))
    shares = motion[:, 1, 1] / allowed
    assert peak.joint == 'joint2'
    assert peak.share == pytest.approx(shares.max(), rel=1e-6)
    assert shares.max() > 1.4 * (motion[:, 1, 1] / 2.62).max()


@pytest.mark.parametrize('commands', ['effort', 'position'])
def test_the_stretch_that_is_offered_or_applied_trips_nothing(commands):
    robot = hd.load_robot('panda', limits={'limits': {
        f'joint{i}': {'acceleration': None, 'jerk': None, 'velocity': 9.0, 'effort_rate': None}
        for i in range(1, 8)}})
    points = JointWaypoints(robot.joint_names, [0.0, 0.3], [MIDDLE, MIDDLE + 0.5])
    request = PlanRequest(points, robot, PlanSettings(commands=commands))
    offered = prepare_plan(request)
    assert f'{offered.stretch:.4f} times slower it is within all limits and trips no reflex' in (
        offered.refusal)
    applied = prepare_plan(replace(request, settings=replace(request.settings, stretch='auto')))
    assert applied.refusal == ''
    assert applied.plan.duration == pytest.approx(0.3 * offered.stretch)
    assert 0.98 < max(peak.share for peak in applied.reflexes) <= 1.0 + 1e-9


def test_what_no_stretch_mends_is_said():
    """A torque that the weight alone passes."""
    robot = hd.load_robot('panda')
    weak = tuple(
        replace(stop, limit=np.full((1, 7), 5.0)) if stop.quantity == 'effort' else stop
        for stop in robot.reflexes.stops)
    robot = replace(robot, reflexes=replace(robot.reflexes, stops=weak))
    points = JointWaypoints(robot.joint_names, [0.0, 3.0], [MIDDLE, MIDDLE + 0.5])
    refusal = prepare_plan(PlanRequest(points, robot, PlanSettings())).refusal
    assert "a reflex: the arm's weight alone trips tau_j_range_violation" in refusal


def falling(robot, joint, speed, limit):
    """Return a robot whose only reflex is the torque of one joint, given over its speed."""
    mapping = robot_mapping(robot)
    mapping['reflexes'] = {'period': 0.002, 'stops': [{
        'name': 'torque at speed', 'commands': 'effort', 'quantity': 'effort', 'joints': [joint],
        'limit': {'speed': speed, 'limit': limit}}]}
    return with_only(hd.load_robot(mapping), 'torque at speed', 'effort')


def test_a_limit_may_fall_with_speed():
    robot = falling(hd.load_robot('twolink'), 'joint2', [0.0, 1.0, 2.0], [40.0, 40.0, 10.0])
    stop, = robot.reflexes.stops
    velocity = np.array([[0.0, -0.5], [5.0, 1.5], [0.0, -9.0]])
    np.testing.assert_allclose(
        stop.limit_at(velocity, robot.limits.stopping_range(velocity)),
        [[np.inf, 40.0], [np.inf, 25.0], [np.inf, 10.0]])


def test_a_plan_trips_a_torque_that_falls_with_speed_and_one_just_does_not():
    """Such as an own measurement of a UR; Universal Robots publishes no curve."""
    start, speed, limit = STARTS['ur10e'], [0.0, 0.4, 2.0], [330.0, 330.0, 30.0]
    arm, joint = hd.load_robot('ur10e'), 'shoulder_pan_joint'
    robot = falling(arm, joint, speed, limit)
    ff, flat = FeedForward(robot), falling(arm, joint, [0.0, 1.0], [330.0, 330.0])
    for duration, trips in zip(edge(robot, start), (False, True), strict=True):
        plan = moved(duration, start)
        peak, = reflex_peaks(plan, ff, 'effort')
        motion = plan.evaluate(0.002 * np.arange(np.ceil(duration / 0.002) + 1))
        shares = np.abs(ff.torque(motion)[:, 0, 0]) / np.interp(
            np.abs(motion[:, 1, 0]), speed, limit)
        assert (peak.trips, peak.joint) == (trips, joint)
        assert peak.share == pytest.approx(shares.max(), rel=1e-6)
        assert 30.0 < peak.limit < 330.0
        alone, = reflex_peaks(plan, FeedForward(flat), 'effort')
        assert alone.share < 0.9
