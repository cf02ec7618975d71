"""Acceptance: joint_trajectory_controller's rules, each with its line."""
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

from hodyn_ros import load_robot
from hodyn_ros.plans import JointWaypoints, accept
from hodyn_ros.plans.doubtful_points import contradicted_velocity, jitter, steps
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot.joint_names import JointNames

NAMES = tuple(f'fer_joint{i}' for i in range(1, 8))
ROW = [0.0, 0.1, 0.2, -0.3, 0.4, 0.5, 0.6]
REST = [0.0] * 7


@pytest.fixture(scope='module')
def joints():
    return JointNames(load_robot('panda'))


def trajectory(**changes) -> JointWaypoints:
    fields = {'names': NAMES, 'times': [0.0, 1.0], 'positions': [ROW, ROW]}
    return JointWaypoints(**{**fields, **changes})


def test_jumbled_joints_are_put_in_order(joints):
    order = [3, 0, 6, 1, 5, 2, 4]
    points = accept(trajectory(
        names=tuple(NAMES[i] for i in order), positions=[[ROW[i] for i in order]] * 2,
        velocities=[REST, REST]), joints)
    np.testing.assert_array_equal(points.positions, [ROW, ROW])
    assert points.names == NAMES
    assert points.velocities.shape == (2, 7)
    assert points.accelerations is None


def test_points_may_leave_out_derivatives(joints):
    points = accept(trajectory(velocities=[[], REST], accelerations=[[], []]), joints)
    assert points.velocities[0] is None
    np.testing.assert_array_equal(points.velocities[1], REST)
    assert points.accelerations is None


def bad_row(value: float) -> list[float]:
    return [*ROW[:2], value, *ROW[3:]]


@pytest.mark.parametrize(('changes', 'message'), [
    ({'times': [], 'positions': []}, 'no points'),
    ({'names': NAMES[:-1], 'positions': [ROW[:-1]] * 2}, "'fer_joint7' of robot 'panda' miss"),
    ({'names': (*NAMES, 'finger'), 'positions': [[*ROW, 0.0]] * 2}, "'finger' is not one of"),
    ({'names': (*NAMES[:-1], NAMES[0])}, "'fer_joint1' is named twice"),
    ({'names': tuple(f'fr3_joint{i}' for i in range(1, 8))}, 'fr3_joint1'),
    ({'positions': [ROW, ROW[:-1]]}, 'point 1: 6 positions for 7 joints'),
    ({'positions': [ROW, []]}, 'point 1 has no positions'),
    ({'positions': [[], []]}, 'point 0 has no positions'),
    ({'positions': [ROW]}, '1 rows of positions for 2 points'),
    ({'velocities': [REST, REST[:-2]]}, 'point 1: 5 velocities for 7 joints'),
    ({'positions': [ROW, bad_row(np.nan)]}, "point 1, joint 'fer_joint3': nan among the posi"),
    ({'velocities': [bad_row(np.inf), REST]}, "point 0, joint 'fer_joint3': inf among the velo"),
    ({'times': [0.0, 0.0]}, 'point 1: time_from_start 0 s does not increase'),
    ({'times': [1.0, 0.5]}, 'point 1: time_from_start 0.5 s does not increase'),
    ({'times': [0.0, np.nan]}, 'point 1: its time is not finite'),
    ({'times': [-0.5, 1.0]}, 'point 0: time_from_start -0.5 s is negative'),
])
def test_refusals_say_what_is_wrong(joints, changes, message):
    with pytest.raises(ValueError, match=message):
        accept(trajectory(**changes), joints)


def test_joints_besides_the_robots_are_left_out_on_request(joints):
    points = accept(trajectory(
        names=('finger', *NAMES), positions=[[9.0, *ROW]] * 2, velocities=[[9.0, *REST]] * 2),
        joints, leave_out_other_joints=True)
    assert points.names == NAMES
    np.testing.assert_array_equal(points.positions, [ROW, ROW])
    assert not points.velocities.any()


@pytest.mark.parametrize(('velocity', 'said'), [
    (-0.62, 'velocity -0.62 rad/s, but between the points around it the joint moves '
     'at 0.07 and 0.07'),
    (0.5, 'velocity 0.5 rad/s, but between the points around it the joint moves '
     'at 0.07 and 0.07'),
    (0.1, ''), (0.0, ''), (0.2, '')])
def test_a_velocity_that_contradicts_the_positions_is_named(joints, velocity, said):
    rows = [bad_row(value) for value in (0.0, 0.07, 0.14)]
    points = accept(trajectory(
        times=[0.0, 1.0, 2.0], positions=rows,
        velocities=[REST, [0.0, 0.0, velocity, *REST[3:]], REST]), joints)
    where, line = contradicted_velocity(joints.robot, points)
    assert where == ("point 1, joint 'fer_joint3'" if said else '')
    assert line.startswith(f'{where}: {said}' if said else where)
    assert bool(line) is bool(said)


@given(st.integers(0, 2**32 - 1), st.floats(0.01, 0.5))
def test_velocities_of_the_sampled_motion_contradict_nothing(joints, seed, spacing):
    """Where they resolve it: ten points a period of its fastest part, and more."""
    rng = np.random.default_rng(seed)
    times = np.arange(0.0, 40.0 * spacing, spacing)
    rate = rng.uniform(0.0, 2.0 * np.pi / (10.0 * spacing), 7)
    phase = rate * times[:, None] + rng.uniform(0.0, 2.0 * np.pi, 7)
    points = accept(trajectory(
        times=times, positions=np.sin(phase), velocities=rate * np.cos(phase)), joints)
    assert contradicted_velocity(joints.robot, points) == ('', '')


def bang_bang(times):
    """Return positions of an acceleration that switches in the middle, and is at rest outside."""
    half = 0.5 * times[-1]
    rise = 0.5 * times**2
    fall = half**2 - 0.5 * (times[-1] - times)**2
    return np.where(times < half, rise, fall)


@pytest.mark.parametrize(('step', 'jitter', 'found'), [
    (0.001, 0.0, True), (0.005, 0.0, True), (0.05, 0.0, False), (0.001, 1e-6, False)])
def test_samples_that_step_in_acceleration_are_named_with_the_place(joints, step, jitter, found):
    times = np.arange(0.0, 1.0 + 0.5 * step, step)
    moved = bang_bang(times) + jitter * np.random.default_rng(1).standard_normal(times.size)
    points = accept(trajectory(times=times, positions=[bad_row(q) for q in moved]), joints)
    said = steps(joints.robot, points)
    assert bool(said) is found
    if found:
        assert said.startswith('the samples of fer_joint3 step in acceleration by 2')
        assert abs(float(said.split(' at ')[1].split(' s')[0]) - 0.5) < 2.0 * step


def test_samples_of_a_smooth_motion_do_not_step(joints):
    times = np.linspace(0.0, 1.0, 1001)
    moved = fit_plan([0.0, 1.0], [[0.0], [1.0]]).evaluate(times)[:, 0, 0]
    points = accept(trajectory(times=times, positions=[bad_row(q) for q in moved]), joints)
    assert steps(joints.robot, points) == ''


def test_the_round_off_of_a_constant_speed_is_no_step(joints):
    """Guards a note on a step of 5e-13 rad/s², where the ends are the cause."""
    times = np.arange(0.0, 2.0, 0.02)
    rows = [bad_row(0.25 * time) for time in times]
    points = accept(trajectory(times=times, positions=rows), joints)
    assert steps(joints.robot, points) == ''


def cosine(times):
    return 0.5 - 0.5 * np.cos(np.pi * times / times[-1])


def trapezoid(times):
    """Return positions of a velocity that rises, stays and falls."""
    x = times / times[-1]
    ramps = np.where(x < 0.25, 2.0 * x**2, 0.75 - 2.0 * (1.0 - x) ** 2)
    return np.where((x < 0.25) | (x > 0.75), ramps, x - 0.125) / 0.75


def sampled(joints, motion, step, decimals, duration=2.0):
    times = np.arange(0.0, duration + 0.5 * step, step)
    moved = motion(times)[:, None] * np.array([0.8, 0.4, -0.3, 0.0, 0.5, -0.6, 0.7])
    return accept(trajectory(times=times, positions=(ROW + moved).round(decimals)), joints)


def smooths(robot, points, tolerance):
    """Return whether a plan through the samples exceeds the limits of jerk that one near keeps."""
    def share(tolerance):
        plan = fit_plan(points.times, points.positions, sample_tolerance=tolerance)
        return (np.abs(plan.evaluate(points.times)[:, 3]) / robot.limits.jerk).max()
    return share(tolerance) < 1.0 < share(0.0)


@pytest.mark.parametrize('motion', [cosine, trapezoid])
@pytest.mark.parametrize('step', [0.001, 0.002, 0.004, 0.005])
def test_samples_rounded_to_no_decimal_jitter_by_a_tolerance_that_smooths_them(
        joints, motion, step):
    """As those that were rounded in degrees."""
    points = sampled(joints, motion, step, 3)
    points = replace(points, positions=points.positions * np.pi / 3.0)
    said = jitter(joints.robot, points)
    assert said.startswith('the samples of fer_joint')
    size = float(said.split('--sample-tolerance ')[1].split(')')[0])
    assert 0.0005 <= size <= 0.002
    assert smooths(joints.robot, points, size)


@pytest.mark.parametrize('motion', [cosine, trapezoid])
@pytest.mark.parametrize('step', [0.001, 0.002, 0.004, 0.005, 0.01])
@pytest.mark.parametrize('decimals', [3, 4])
def test_samples_are_said_to_be_rounded_with_a_tolerance_that_smooths_them(
        joints, motion, step, decimals):
    points, size = sampled(joints, motion, step, decimals), 10.0 ** -decimals
    said = jitter(joints.robot, points)
    assert said.startswith(f'the positions are rounded to {size:g}: ')
    assert f'--sample-tolerance {size:g})' in said
    assert smooths(joints.robot, points, size) or (decimals == 4 and step > 0.004)


def test_jitter_is_named_if_only_a_plan_through_the_samples_exceeds_limits(joints):
    """Third differences of the samples are within the limits, and the plan's jerk is not."""
    step = 0.01
    points = sampled(joints, cosine, step, 17)
    noise = np.random.default_rng(3).standard_normal(points.positions.shape)
    noise[[0, -1]] = 0.0
    thirds = np.abs(np.diff(noise, 3, axis=0)).max(axis=0) / step**3
    noise *= 0.5 * joints.robot.limits.jerk / thirds
    points = replace(points, positions=points.positions + noise)
    said = jitter(joints.robot, points)
    assert 'jitter' in said
    assert smooths(joints.robot, points, float(said.split('--sample-tolerance ')[1].split(')')[0]))


def test_a_ramp_in_full_steps_is_not_said_to_be_rounded(joints):
    times = np.arange(101) * 0.01
    points = accept(trajectory(times=times, positions=[bad_row(q) for q in times]), joints)
    assert 'rounded' not in jitter(joints.robot, points)


@pytest.mark.parametrize('motion', [cosine, trapezoid, bang_bang])
@pytest.mark.parametrize('step', [0.001, 0.002, 0.004, 0.005, 0.05])
@pytest.mark.parametrize('duration', [0.3, 2.0])
def test_samples_in_full_digits_do_not_jitter(joints, motion, step, duration):
    assert jitter(joints.robot, sampled(joints, motion, step, 17, duration)) == ''
    # Nor if rounding is far below what the motion needs.
    assert jitter(joints.robot, sampled(joints, motion, step, 9, duration)) == ''
