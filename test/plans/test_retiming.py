"""Plans run along their path as fast as every limit allows."""
from dataclasses import replace
from itertools import pairwise

from controllers import HOME, still
import numpy as np
import pytest
import ruckig

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans import PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.plans.annotated_file import write_annotated_plan
from hodyn_ros.plans.files import read_trajectory
from hodyn_ros.plans.limit_check import check_limits
from hodyn_ros.plans.retiming import retime_plan, search
from hodyn_ros.plans.retiming.path import path_of, points_of
from hodyn_ros.plans.retiming.result import momentary_stops
from hodyn_ros.reference import fit_plan

NEXT = HOME + np.array([0.5, 0.3, -0.4, 0.5, 0.2, 0.3, 0.4])
LAST = NEXT + np.array([0.3, -0.4, 0.2, 0.1, 0.5, -0.3, 0.2])
TOO_FAR = HOME + 4.0 * np.eye(7)[3]


def waypoints(robot, seed):
    rng = np.random.default_rng(seed)
    middle = 0.5 * (robot.limits.position_min + robot.limits.position_max)
    half = 0.5 * (robot.limits.position_max - robot.limits.position_min)
    return middle + 0.6 * half * rng.uniform(-1.0, 1.0, (2 + seed % 4, robot.n))


def distance_to(plan, points):
    """Return how far each point is from the curve of a plan, by the joint that is farthest."""
    curve = plan.evaluate(np.linspace(0.0, plan.duration, 40_001))[:, 0]
    return np.array([np.abs(curve - point).max(axis=1).min() for point in points])


def smooth(share):
    w = np.clip(share, 0.0, 1.0)
    return (w**5 * (126 + w * (-420 + w * (540 + w * (-315 + 70 * w)))))[:, None]


@pytest.mark.parametrize(('name', 'seed'), [
    ('panda', 0), ('panda', 3), ('fr3', 2), ('iiwa14', 5)])
def test_a_retimed_path_is_the_same_path_faster_within_all_limits(name, seed):
    robot = hd.load_robot(name)
    points = waypoints(robot, seed)
    retimed = hd.retime(robot, points)
    plan = retimed.plan
    assert retimed.limit_report.within_limits
    assert check_limits(plan, FeedForward(robot)).within_limits
    assert retimed.duration < 0.8 * retimed.uniform_stretch_duration
    first = retimed.binding[0]
    assert repr(retimed).startswith(
        f'<Retimed: {plan.duration:.6g} s, bound by {first.joint} {first.quantity}')
    # The path is met, and the motion rests at its ends and is continuous to the snap.
    assert retimed.path_deviation == 0.0
    assert distance_to(plan, points).max() < 1e-3
    np.testing.assert_allclose(plan.ends, points[[0, -1]], atol=1e-12)
    assert not plan.evaluate(plan.times[[0, -1]])[0, 1:].any()
    at, side = plan.times[1:-1], 1e-12
    before, after = plan.evaluate(at - side), plan.evaluate(at + side)
    scale = np.abs(after).max(axis=(0, 2), keepdims=True)
    assert (np.abs(after - before) <= 1e-5 * scale).all()


@pytest.mark.parametrize('seed', [8, 12])
def test_a_short_motion_is_returned_in_pieces_that_make_it_no_slower(panda, seed, monkeypatch):
    middle = 0.5 * (panda.limits.position_min + panda.limits.position_max)
    points = middle + 0.15 * (waypoints(panda, seed) - middle)
    found = hd.retime(panda, points)
    assert found.duration < 0.5
    monkeypatch.setattr(search, 'MIN_PIECES', 4000)
    assert found.duration <= 1.01 * hd.retime(panda, points).duration


def test_more_room_is_never_slower_and_a_part_of_the_limits_is_kept(panda):
    durations = [
        hd.retime(panda, [HOME, NEXT], limits={
            'velocity': part, 'acceleration': part, 'jerk': part, 'effort_rate': part}).duration
        for part in (0.2, 0.6, 1.0)]
    for slow, fast in pairwise(durations):
        assert fast <= 1.005 * slow
    half = hd.retime(panda, [HOME, NEXT], limits={'velocity': 0.2})
    speed = np.abs(half.plan.evaluate(np.linspace(0.0, half.duration, 5000))[:, 1])
    assert (speed <= 0.2 * panda.limits.velocity * (1.0 + 1e-9)).all()


def test_a_stretch_is_that_of_the_path_however_slow_the_plan_was(panda):
    points = [HOME, NEXT, LAST]
    found = [
        prepare_plan(PlanRequest(
            JointWaypoints(panda.joint_names, [0.0, slow, 2.0 * slow], points), panda,
            PlanSettings(stretch='retime'))).retimed.uniform_stretch_duration
        for slow in (1.0, 100.0, 3000.0)]
    np.testing.assert_allclose(found, found[0], rtol=1e-3)


def test_a_hundredth_of_jerk_and_torque_rate_beats_the_uniform_stretch(panda):
    retimed = hd.retime(panda, [HOME, NEXT, LAST], limits={'jerk': 0.01, 'effort_rate': 0.1})
    assert retimed.limit_report.within_limits
    assert retimed.duration < 0.85 * retimed.uniform_stretch_duration
    assert {binding.quantity for binding in retimed.binding} & {'jerk', 'effort_rate'}


@pytest.mark.parametrize('seed', range(3))
def test_what_is_found_trips_no_reflex(panda, seed):
    # The torque without gravity, whose rate is the reflex's, has a larger one than all of it.
    scaled = replace(panda, reflexes=replace(panda.reflexes, stops=tuple(
        replace(stop, limit=0.1 * stop.limit) if stop.quantity == 'effort_rate' else stop
        for stop in panda.reflexes.stops)))
    times = 3.0 * np.arange(2 + seed % 4)
    trajectory = JointWaypoints(
        panda.joint_names, times.tolist(), waypoints(panda, seed).tolist())
    prepared = prepare_plan(PlanRequest(trajectory, scaled, PlanSettings(stretch='retime')))
    assert prepared.refusal == ''
    nearest = prepared.reflexes[0]
    assert nearest.reflex == 'controller_torque_discontinuity'
    assert 0.98 < nearest.share <= 1.0


def test_motors_of_elastic_joints_are_limited_too(panda):
    joints = tuple(
        JointActuator(
            LinearSpring(3000.0), Motor(0.3, max_velocity=0.5 * speed, max_effort=2.0 * effort),
            max_deflection=0.02)
        for speed, effort in zip(panda.limits.velocity, panda.limits.effort, strict=True))
    elastic = replace(panda, actuators=Actuators(panda.joint_names, joints))
    retimed = hd.retime(elastic, [HOME, NEXT, LAST])
    assert retimed.limit_report.within_limits
    worst = {e.quantity for e in retimed.limit_report.worst}
    assert {'motor_velocity', 'motor_effort', 'deflection'} <= worst
    assert 'motor_velocity' in {binding.quantity for binding in retimed.binding}
    assert retimed.duration < 0.75 * retimed.uniform_stretch_duration



def written(robot, path, times, points, period, **settings):
    return write_annotated_plan(
        PlanRequest(
            JointWaypoints(robot.joint_names, list(times), np.asarray(points).tolist()), robot,
            PlanSettings(stretch='retime', **settings), annotate_period=period), path)


def test_what_is_said_of_a_file_is_that_of_its_samples(panda, tmp_path):
    # It was that of the motion before it was sampled, and slowed for its samples to pass.
    points = [HOME, NEXT, LAST]
    coarse = written(panda, tmp_path / 'coarse.csv', [0.0, 1.5, 3.0], points, 0.1)
    assert coarse.refusal == ''
    trajectory = read_trajectory(tmp_path / 'coarse.csv')
    read = prepare_plan(PlanRequest(trajectory, panda, PlanSettings(stretch='off'))).plan
    assert coarse.retimed.duration == pytest.approx(read.duration, abs=1e-9)
    assert coarse.retimed.path_deviation == pytest.approx(
        distance_to(read, points).max(), abs=2e-5)
    assert 1e-9 < coarse.retimed.path_deviation < 1e-3
    assert all(b.end <= read.duration + 1e-6 for b in coarse.retimed.binding)
    assert 'sampling every 0.1 s makes the plan ' in coarse.note
    assert ' is beyond its limit between the samples, by the ' in coarse.note
    assert 'for a faster plan take a shorter period' in coarse.note


def test_a_period_that_loses_waypoints_is_refused(panda, tmp_path):
    lost = written(panda, tmp_path / 'plan.csv', [0.0, 1.5, 3.0], [HOME, NEXT, LAST], 1.0)
    assert 'misses its points by up to' in lost.refusal
    assert 'more than 0.001; take a shorter period' in lost.refusal
    assert lost.annotated is None
    assert not list(tmp_path.iterdir())


def test_the_samples_of_a_file_meet_the_tolerance_of_the_plan(panda, tmp_path):
    times = np.linspace(0.0, 3.0, 600)
    samples = HOME + smooth(times / 3.0) * (NEXT - HOME) + 0.1 * np.sin(
        6.0 * smooth(times / 3.0))
    kept = written(
        panda, tmp_path / 'plan.csv', times, samples, 5e-3, path_tolerance=2e-6)
    assert kept.refusal == ''
    assert kept.retimed.path_deviation <= 2e-6
    refused = written(
        panda, tmp_path / 'coarse.csv', times, samples, 5e-2, path_tolerance=2e-6)
    assert 'more than 2e-06; take a shorter period, or a larger path tolerance' in refused.refusal


def test_samples_with_jitter_and_pauses_keep_their_path_within_tolerance(panda):
    times = np.arange(0.0, 5.0, 0.005)
    way = smooth((times - 0.5) / 1.8) + smooth((times - 2.8) / 1.8)
    samples = HOME + way * np.linspace(0.1, 0.5, 7) + 0.1 * np.sin(3.0 * way)
    samples += 1e-5 * np.random.default_rng(0).normal(size=samples.shape)
    retimed = hd.retime(panda, samples, times, path_tolerance=5e-4)
    assert retimed.limit_report.within_limits
    assert 0.0 < retimed.path_deviation <= 5e-4
    assert distance_to(retimed.plan, samples[::20]).max() <= retimed.path_deviation + 1e-4
    assert retimed.duration < 1.2  # without the rests
    assert not retimed.notes


def test_samples_of_ruckig_go_through(panda):
    wanted = ruckig.InputParameter(7)
    wanted.current_position, wanted.target_position = HOME.tolist(), LAST.tolist()
    wanted.max_velocity = panda.limits.velocity.tolist()
    wanted.max_acceleration = (0.5 * panda.limits.acceleration).tolist()
    wanted.max_jerk = (0.1 * panda.limits.jerk).tolist()
    trajectory = ruckig.Trajectory(7)
    ruckig.Ruckig(7).calculate(wanted, trajectory)
    times = np.linspace(0.0, trajectory.duration, int(trajectory.duration / 0.004))
    retimed = hd.retime(panda, [trajectory.at_time(t)[0] for t in times], times)
    assert retimed.limit_report.within_limits
    assert retimed.duration < trajectory.duration
    assert retimed.path_deviation <= 1e-3


def test_a_stop_is_kept_and_said_and_so_is_a_turn(panda):
    stopped = hd.retime(panda, [HOME, NEXT, LAST], stop_at=[1])
    (note,) = stopped.notes
    time = float(note.split()[4])
    state = stopped.plan.evaluate(np.linspace(time - 2e-3, time + 2e-3, 4001))
    rest = np.abs(state[:, 1]).max(axis=1).argmin()
    np.testing.assert_allclose(state[rest, 0], NEXT, atol=1e-6)
    assert np.abs(state[rest, 1:3]).max() < 1e-3
    turned = hd.retime(panda, [HOME, NEXT, HOME])
    assert 'the path turns back there' in turned.notes[0]
    repeated = hd.retime(panda, [HOME, NEXT, NEXT, LAST])
    assert repeated.notes == (
        'points 1 and 2 are the same: the motion does not rest there; to rest, stop at '
        'point 2',)


def test_stops_and_points_that_repeat_are_one_line_each(panda):
    line = HOME + np.linspace(0.0, 0.5, 6)[:, None] * (NEXT - HOME)
    plan = fit_plan(np.arange(6.0), line, np.zeros((6, 7)), np.zeros((6, 7)))
    (note,) = momentary_stops(plan, FeedForward(panda))
    assert note.startswith('all joints stop 4 times, at 1.000, 2.000, 3.000 s and later: ')
    waits = points_of(panda, [HOME, *5 * [NEXT], LAST], None)
    (note,) = path_of(panda, waits, tolerance=1e-3).notes
    assert note.startswith('points 1 and 2, 2 and 3, 3 and 4 (and 1 more pairs) are the same')


def test_jitter_at_the_slow_ends_of_a_motion_is_no_stop(panda):
    # Hundreds of stops were told where the plan's own timing was kept.
    rng = np.random.default_rng(2)
    times = np.linspace(0.0, 2.0, 81)
    way = HOME + smooth(times / 2.0) * (NEXT - HOME)
    plan = fit_plan(times, way + 1e-5 * rng.normal(size=way.shape))
    assert momentary_stops(plan, FeedForward(panda)) == ()


def test_a_moving_start_is_joined(panda):
    start = np.zeros((5, 7))
    start[0], start[1], start[2] = HOME, 0.3, 0.5
    plan = fit_plan([1.5, 3.0], [NEXT, LAST], start=start)
    retimed = retime_plan(plan, FeedForward(panda))
    assert retimed.duration < 0.6 * plan.duration
    assert check_limits(retimed.plan, FeedForward(panda)).within_limits
    first, last = retimed.plan.evaluate(retimed.plan.times[[0, -1]])
    np.testing.assert_allclose(first, start, atol=1e-6)
    np.testing.assert_allclose(last[1:], 0.0, atol=1e-8)


def test_a_plan_for_the_node_is_retimed_from_where_the_reference_holds(panda):
    trajectory = JointWaypoints(panda.joint_names, [4.0, 9.0], [NEXT.tolist(), LAST.tolist()])
    prepared = prepare_plan(PlanRequest(
        trajectory, panda, PlanSettings(stretch='retime'), start=still(HOME)))
    assert prepared.refusal == ''
    assert prepared.plan.duration < 2.0
    np.testing.assert_array_equal(prepared.plan.ends[0], HOME)


@pytest.mark.parametrize(('points', 'limits', 'words'), [
    ([HOME], 1.0, 'a single point is not a path'),
    ([HOME, HOME], 1.0, 'all the same'),
    ([HOME, TOO_FAR], 1.0, 'joint4: position .* limit -0.0698 .* range'),
    ([HOME, NEXT], {'effort': 0.1}, 'joint4: effort .* at .* % of the path, limit 8.7 .* weight'),
    ([HOME, NEXT], -1.0, 'above 0'),
    ([HOME, NEXT], 1.5, 'velocity: expected a share .* at most 1, got 1.5'),
    ([HOME, NEXT], {'jerk': np.nan}, 'jerk: expected a share .* at most 1, got nan'),
    ([HOME, NEXT], '0.5', "expected a number, .* got '0.5'"),
    ([HOME, NEXT], None, 'expected a number, .* got None'),
    ([HOME, [np.nan] * 7], 1.0, 'point 1, joint1: not finite'),
])
def test_a_path_that_no_timing_fixes_is_named_in_one_line(panda, points, limits, words):
    with pytest.raises(hd.HodynError, match=words) as caught:
        hd.retime(panda, points, limits=limits)
    assert '\n' not in str(caught.value)



def test_joints_that_move_without_any_limit_are_refused_and_said():
    robot = hd.load_robot('twolink')
    points = [[0.0, 0.0], [1.0, 0.0], [0.2, 0.0]]
    with pytest.raises(hd.HodynError, match=r'joint1: no limit of velocity, .*--limits FILE'):
        hd.retime(robot, points)
    limits = replace(robot.limits, velocity=np.array([2.0, np.inf]))
    assert hd.retime(replace(robot, limits=limits), points).duration > 0.9


@pytest.mark.parametrize(('given', 'said'), [
    ({'commands': 'torque'}, "commands 'torque': expected one of 'effort', 'position'"),
    ({'commands': None}, "commands None: expected one of 'effort', 'position'"),
    ({'stop_at': 1.0}, 'stop_at: expected a list of point numbers, from 0, got 1.0'),
    ({'stop_at': [0.5]}, 'stop_at: expected point numbers, from 0, got 0.5'),
    ({'path_tolerance': '1mm'}, "path_tolerance: expected numbers, got '1mm'"),
    ({'path_tolerance': [0.1, 0.1]}, r'path_tolerance: expected a single number, got \[0.1'),
    ({'smoothness': '0.1s'}, "smoothness: expected numbers, got '0.1s'"),
    ({'robot': 'panda'}, "robot: expected a Robot from load_robot, got 'panda'"),
    ({'times': [0, 1, 2]}, r'times \(3,\) and positions \(2, 7\): must be'),
    ({'stop_at': [5]}, 'stop at point 5: the points are 0 to 1'),
    ({'path_tolerance': 0.1}, 'path tolerance 0.1: must be between'),
    ({'path_tolerance': -1e-3}, 'path tolerance -0.001: must be between'),
])
def test_arguments_of_another_kind_are_refused(panda, given, said):
    with pytest.raises(hd.HodynError, match=f'^{said}'):
        hd.retime(**{'robot': panda, 'positions': [HOME, NEXT], **given})



def test_a_torque_limit_below_friction_makes_it_crawl(panda):
    effort = panda.limits.effort * np.array([0.004, 1, 1, 1, 1, 1, 1])
    weak = replace(panda, limits=replace(panda.limits, effort=effort))
    retimed = hd.retime(weak, [HOME, HOME + np.eye(7)[0]])
    assert retimed.limit_report.within_limits
    assert ('joint1', 'effort') in {(b.joint, b.quantity) for b in retimed.binding}


class TestVelocityLimitsThatDependOnThePosition:

    def test_they_are_those_of_libfranka(self):
        limits = hd.load_robot('fr3').limits
        position = np.array([2.6, 0.0, -2.8, -0.5, 0.0, 4.4, 3.0])
        lower, upper = limits.velocity_range(position)
        assert upper[0] == pytest.approx(-0.30 + np.sqrt(12.0 * (2.7501 - 2.6)))
        assert lower[0] == -2.62
        assert lower[2] == pytest.approx(0.20 - np.sqrt(7.0 * (2.9065 - 2.8)))
        assert upper[3] == pytest.approx(-0.30 + np.sqrt(8.0 * (-0.1458 + 0.5)))
        assert upper[6] == pytest.approx(-0.35 + np.sqrt(34.0 * (3.0196 - 3.0)))
        assert limits.velocity_range(np.array([[3.0] * 7]))[1][0, 0] == 0.0

    def test_the_check_knows_them_and_the_stretch_mends_it(self):
        robot = hd.load_robot('fr3')
        goal = HOME.copy()
        goal[1] = 1.7
        plan = fit_plan([0.0, 2.5], [HOME, goal])
        feedforward = FeedForward(robot)
        (violation,) = check_limits(plan, feedforward).violations
        assert (violation.joint, violation.quantity) == ('joint2', 'velocity')
        assert violation.limit < 2.0
        position, velocity = plan.evaluate(violation.time)[:2, 1]
        assert violation.limit == pytest.approx(np.sqrt(5.17 * (1.7918 - position)) - 0.2)
        assert violation.value == pytest.approx(velocity)
        retimed = retime_plan(plan, feedforward)
        assert retimed.limit_report.within_limits
        assert retimed.duration < retimed.uniform_stretch_duration

    def test_a_path_into_where_it_may_not_move_is_refused(self):
        goal = HOME.copy()
        goal[0] = 2.8
        with pytest.raises(hd.HodynError, match=r'joint1: velocity .* it may not move'):
            hd.retime(hd.load_robot('fr3'), [HOME, goal])
