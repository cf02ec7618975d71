"""Stops: along the path of a plan, continuous with it, within limits, soon."""
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np

from hodyn_ros import load_robot
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.motion_limits import motion_limits
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans import PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.reference import MotionLimits, extrema, fit_plan, hold_plan, stop_along
from hodyn_ros.reference.stop import EXCESSES


def within(plan, scale=1.0):
    """Return limits that a plan just keeps, times a factor."""
    peaks = [scale * np.abs(extrema(plan, k)[0]).max(axis=0) for k in (1, 2, 3)]
    n = plan.n
    return MotionLimits(np.full(n, -np.inf), np.full(n, np.inf), *peaks)


def kept_within(limits, stop, excess=0.0):
    """Check a stop's derivatives; return the instants and its states at them."""
    times = np.linspace(0.0, stop.duration, 3000)
    q = np.array([stop.evaluate(t) for t in times])
    for k, most in ((1, limits.velocity), (2, limits.acceleration), (3, limits.jerk)):
        assert (np.abs(q[:, k]) <= most * (1 + 1e-5 + excess * (k > 1))).all()
    return times, q


def random_plan(rng):
    waypoints = np.cumsum(rng.uniform(-0.4, 0.4, size=(5, 3)), axis=0)
    return fit_plan(np.arange(5) * 0.8, waypoints)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.02, 0.98))
def test_it_goes_on_from_the_plan_keeps_to_its_path_and_the_limits(seed, fraction):
    plan = random_plan(np.random.default_rng(seed))
    begin = fraction * plan.duration
    limits = within(plan, 1.5)
    stop = stop_along(plan, begin, limits)
    assert stop is not None
    start = plan.evaluate(begin)
    np.testing.assert_allclose(stop.evaluate(0.0), start, rtol=1e-12, atol=1e-12)
    end = stop.evaluate(stop.duration)
    assert np.abs(end[1:4]).max() < 1e-7
    times, q = kept_within(limits, stop)
    # Each row is the derivative of the one above.
    h = times[1]
    for k in range(4):
        slope = (q[2:, k] - q[:-2, k]) / (2 * h)
        scale = np.abs(q[:, k + 1]).max() + 1e-6
        assert np.abs(slope - q[1:-1, k + 1]).max() < 2e-3 * scale
    # On the path: every position is one of the plan's.
    path = plan.evaluate(np.linspace(begin, plan.duration, 20000))[:, 0]
    for point in q[::300, 0]:
        assert np.abs(path - point).max(axis=1).min() < 1e-3


def test_it_is_soon():
    plan = fit_plan([0.0, 4.0], [[0.0], [2.0]])
    limits = replace(
        within(plan), acceleration=np.array([10.0]), jerk=np.array([500.0]))
    # At its greatest speed, which is the limit.
    stop = stop_along(plan, 2.0, limits)
    # From 1.23 rad/s, with a peak of 35/16 v/T of at most 10 rad/s².
    assert 35 / 16 * 1.23 / 10 < stop.duration < 1.3 * 35 / 16 * 1.23 / 10


def test_where_the_plan_uses_its_limits_up_the_stop_waits_or_hardly_exceeds_them():
    plan = fit_plan([0.0, 2.0], [[0.0], [2.0]])
    limits = within(plan)
    tried = [stop_along(plan, begin, limits) for begin in np.linspace(0.0, 2.0, 50)]
    assert any(stop is not None for stop in tried)
    for stop in tried:
        if stop is not None:
            kept_within(limits, stop, EXCESSES[-1])


def test_a_retimed_plan_stops_soon():
    """It went on for up to 5.5 s of a hold, most of the way to its end."""
    robot = load_robot('fr3')
    lower, upper = robot.limits.position_min, robot.limits.position_max
    points = lower + (upper - lower) * np.random.default_rng(0).uniform(0.3, 0.7, (5, robot.n))
    trajectory = JointWaypoints(robot.joint_names, 2.0 * np.arange(5), points)
    plan = prepare_plan(PlanRequest(trajectory, robot, PlanSettings(stretch='retime'))).plan
    limits = motion_limits(FeedForward(robot))
    stops = [stop_along(plan, begin, limits) for begin in plan.duration * np.linspace(
        0.05, 0.95, 19)]
    lasting = np.array([stop.duration for stop in stops if stop is not None])
    assert len(lasting) > 15
    assert np.median(lasting) < 0.6
    assert lasting.max() < 2.0
    for stop in filter(None, stops):
        kept_within(limits, stop, EXCESSES[-1])
        assert limits.effort_ratio(stop.samples(300)) < 1.0 + EXCESSES[-1]


def test_the_least_effort_is_taken_where_each_is_too_much():
    plan = fit_plan([0.0, 4.0], [[0.0], [2.0]])
    limits = replace(within(plan, 10.0), effort_ratio=lambda q: 2.0 + np.abs(q[:, 2]).max())
    light = stop_along(plan, 1.0, replace(limits, effort_ratio=lambda q: 0.0))
    heavy = stop_along(plan, 1.0, limits)
    assert heavy.duration > light.duration


def test_what_is_at_rest_stays():
    stop = stop_along(hold_plan([0.4]), 1.0, within(fit_plan([0.0, 1.0], [[0.0], [1.0]])))
    np.testing.assert_array_equal(stop.evaluate(0.01), [[0.4], [0.0], [0.0], [0.0], [0.0]])


def test_a_joint_that_must_not_accelerate_and_stands_hinders_no_stop():
    plan = fit_plan([0.0, 4.0], [[0.0, 0.3], [2.0, 0.3]])
    limits = within(plan, 3.0)
    still = replace(limits, acceleration=limits.acceleration * [1.0, 0.0], jerk=limits.jerk * [
        1.0, 0.0])
    assert stop_along(plan, 2.0, still).duration == stop_along(plan, 2.0, limits).duration
