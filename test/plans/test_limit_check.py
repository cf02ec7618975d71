"""Limits along plans, and the time stretch that brings a plan within them."""
from dataclasses import replace
from types import SimpleNamespace

from controllers import still
import numpy as np
import pytest
from rigid_bodies import link, one_body

from hodyn_ros import load_robot
from hodyn_ros.cli.main import main
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.limits.quantities import EFFORTS, KINEMATIC
from hodyn_ros.plans.doubtful_points import doubt_of_points
from hodyn_ros.plans.limit_check import check_limits
from hodyn_ros.plans.time_scaling import smallest_time_scaling
from hodyn_ros.reference import fit_plan, hold_plan

START = np.array([0.0, 1.2, 0.0, -0.5, 0.0, 1.57, 0.78])


def step(joint: int, distance: float, duration: float):
    """Return the rest-to-rest plan of one joint from START."""
    goal = START.copy()
    goal[joint] += distance
    return fit_plan([0.0, duration], [START, goal])


def entry(limit_report, joint: str, quantity: str):
    return next(e for e in limit_report.worst if (e.joint, e.quantity) == (joint, quantity))


def random_plan(seed: int, count: int = 6, spacing: float = 0.4):
    rng = np.random.default_rng(seed)
    times = np.concatenate(([0.0], np.cumsum(spacing * rng.uniform(0.6, 1.4, count - 1))))
    return fit_plan(times, START + rng.uniform(-0.2, 0.2, (count, 7)))


def test_a_plan_that_breaks_only_the_torque_rate_limit(feedforward):
    plan = step(1, 0.0075, 0.1)
    limit_report = check_limits(plan, feedforward)
    assert abs(entry(limit_report, 'joint2', 'jerk').value) == pytest.approx(590.6, abs=0.1)
    assert abs(entry(limit_report, 'joint2', 'effort').value) == pytest.approx(71.4, abs=0.2)
    (violation,) = limit_report.violations
    assert (violation.joint, violation.quantity, violation.limit) == (
        'joint2', 'effort_rate', -1000.0)
    assert abs(violation.value) == pytest.approx(1828.0, abs=1.0)
    assert violation.time == pytest.approx(0.05, abs=1e-3)
    assert str(violation).startswith('joint2: effort_rate -1828.')
    assert repr(limit_report) == f'<LimitReport: {violation}>'

    mended = smallest_time_scaling(plan, feedforward)
    assert mended.factor == pytest.approx(1.22, abs=0.01)
    slow_enough = check_limits(plan.stretched(mended.factor), feedforward)
    assert slow_enough.within_limits
    assert repr(slow_enough) == '<LimitReport: within all known limits>'
    assert not check_limits(plan.stretched(mended.factor - 2e-4), feedforward).within_limits


@pytest.mark.parametrize('seed', range(6))
def test_worst_values_bound_dense_samples_and_are_attained(feedforward, seed):
    plan = random_plan(seed)
    limit_report = check_limits(plan, feedforward)
    dense = plan.evaluate(np.linspace(0.0, plan.duration, 40_001))
    torque = feedforward.torque(dense)
    signals = {
        **{quantity: dense[:, k] for k, quantity in enumerate(KINEMATIC)},
        **{quantity: torque[:, k] for k, quantity in enumerate(EFFORTS)},
    }
    assert len(limit_report.worst) == 7 * len(signals)
    for worst in limit_report.worst:
        joint = feedforward.robot.joint_names.index(worst.joint)
        signal = signals[worst.quantity][:, joint]
        margin = np.minimum(worst.upper - signal, signal - worst.lower).min()
        scale = np.abs(signal).max()
        # The check may find what dense samples step over, and never less than they.
        assert worst.margin <= margin + 1e-6 * scale
        assert worst.margin >= margin - 1e-4 * scale
        motion = plan.evaluate(worst.time)
        order = (*KINEMATIC, *EFFORTS).index(worst.quantity)
        value = motion[order, joint] if order < 4 else (
            feedforward.torque(motion)[order - 4, joint])
        assert value == pytest.approx(worst.value, abs=1e-6 * scale)




@pytest.mark.parametrize(('distance', 'limit'), [(0.6, 1.7628), (-3.2, -1.7628)])
def test_out_of_range_is_found_and_not_mended(feedforward, distance, limit):
    plan = step(1, distance, 3.0)
    worst = entry(check_limits(plan, feedforward), 'joint2', 'position')
    assert worst.exceeded
    assert worst.value == pytest.approx(START[1] + distance)
    assert worst.limit == limit
    mended = smallest_time_scaling(plan, feedforward)
    assert mended.factor is None
    assert 'joint2 is out of its range' in mended.reason



def test_a_weight_too_heavy_to_hold_is_not_mended():
    feedforward = FeedForward(load_robot({
        'name': 'lever', 'bodies': [link('arm', joint='arm', mass=10.0, com=[1.0, 0.0, 0.0])],
        'limits': {'effort': [80.0]}}))
    upright = fit_plan([0.0, 1.0], [[-np.pi / 2], [0.0]])
    mended = smallest_time_scaling(upright, feedforward)
    assert mended.factor is None
    assert 'arm cannot hold the weight at ' in mended.reason


def test_a_slide_has_units_of_its_own():
    units = {e.quantity: e.unit for e in check_limits(
        fit_plan([0.0, 1.0], [[0.0], [1.0]]), FeedForward(one_body('prismatic'))).worst}
    assert units == {
        'position': 'm', 'velocity': 'm/s', 'acceleration': 'm/s²', 'jerk': 'm/s³', 'effort': 'N',
        'effort_rate': 'N/s'}


def test_round_off_at_the_end_of_the_range_is_not_out_of_it(feedforward):
    robot = feedforward.robot
    upper = robot.limits.position_max.copy()
    upper[1] = START[1] + 0.0075 - 1e-12
    plan = step(1, 0.0075, 0.1)
    there = FeedForward(replace(robot, limits=replace(robot.limits, position_max=upper)))
    assert not entry(check_limits(plan, there), 'joint2', 'position').exceeded
    mended = smallest_time_scaling(plan, there)
    assert mended.factor == smallest_time_scaling(plan, feedforward).factor


def test_a_moving_start_is_not_stretched(feedforward):
    state = np.zeros((5, 7))
    state[0], state[1, 1] = START, 1.5
    plan = fit_plan([0.05], [START + 0.03], start=state)
    assert not check_limits(plan, feedforward).within_limits
    mended = smallest_time_scaling(plan, feedforward)
    assert mended.factor is None
    assert 'at rest' in mended.reason


@pytest.mark.parametrize('seed', range(5))
def test_a_stretch_is_the_smallest_of_its_neighbourhood(feedforward, seed):
    plan = random_plan(seed, spacing=0.15)
    assert not check_limits(plan, feedforward).within_limits
    mended = smallest_time_scaling(plan, feedforward)
    assert mended.factor > 1.0
    assert check_limits(plan.stretched(mended.factor), feedforward).within_limits
    assert not check_limits(plan.stretched(mended.factor * 0.999), feedforward).within_limits


def test_within_limits_needs_no_stretch(feedforward):
    assert smallest_time_scaling(step(1, 0.01, 1.0), feedforward).factor == 1.0


def test_a_hold_has_its_gravity_torque(feedforward):
    limit_report = check_limits(hold_plan(START), feedforward)
    assert limit_report.within_limits
    gravity = feedforward.torque(still(START))[0, 1]
    assert entry(limit_report, 'joint2', 'effort').value == pytest.approx(gravity)
    assert entry(limit_report, 'joint2', 'velocity').value == 0.0


def test_unknown_limits_bound_nothing():
    feedforward = FeedForward(load_robot('iiwa14'))
    plan = fit_plan([0.0, 0.05], [np.zeros(7), np.full(7, 0.001)])
    limit_report = check_limits(plan, feedforward)
    jerk = entry(limit_report, feedforward.robot.joint_names[0], 'jerk')
    assert jerk.margin == np.inf
    assert abs(jerk.value) == pytest.approx(78.75 * 0.001 / 0.05**3)
    assert not jerk.exceeded


@pytest.mark.parametrize('digits', [3, 9])
def test_a_refusal_says_that_the_samples_are_rounded(tmp_path, capsys, digits):
    """`check --brief` and the node only said that samples at 1 kHz are 23 times too fast."""
    times = np.linspace(0.0, 2.0, 2001)
    share = (times / 2.0) ** 3 * (10.0 - 7.5 * times + 1.5 * times ** 2)
    plan = tmp_path / 'plan.csv'
    plan.write_text('\n'.join([','.join(['time', *load_robot('panda').joint_names]), *(
        ','.join([f'{time:.3f}', *(f'{value:.{digits}f}' for value in START + 0.3 * part)])
        for time, part in zip(times, share, strict=True))]))
    assert main(('check', '--brief', str(plan))) == (digits == 3)
    assert ('the positions are rounded to 0.001: ' in capsys.readouterr().out) == (digits == 3)


@pytest.mark.parametrize(('times', 'asked'), [
    # 0.5 s in milliseconds, and in microseconds, in the field of nanoseconds
    ([0.0, 1.0, 1.0000005, 2.0], 'point 2 comes 5e-07 s after point 1, and points are usually 1'),
    ([0.0, 1.0, 1.0005, 2.0], 'point 2 comes 0.0005 s after point 1'),
    ([0.0, 0.005, 1.0, 2.0], 'point 1 comes 0.005 s after point 0'),
    ([0.0, 0.02, 1.0, 2.0], ''), ([0.0, 1e-4], ''), ([0.0], ''),
    (np.arange(50) * 0.002, '')])
def test_a_point_that_comes_far_too_soon_is_asked_about(times, asked):
    """Whole seconds and nanoseconds of another unit were only said to exceed a torque rate."""
    panda = load_robot('panda')
    points = SimpleNamespace(
        positions=np.tile(START, (len(times), 1)), times=np.array(times), names=panda.joint_names)
    said = doubt_of_points(panda, points)
    assert (asked in said) if asked else not said
