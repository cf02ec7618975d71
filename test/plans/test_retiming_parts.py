"""The parts of retiming and of stretching, each against what it says: fast."""
from dataclasses import replace

from controllers import HOME
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.limit_check import check_limits
from hodyn_ros.plans.retiming.picture import draw_margins
from hodyn_ros.plans.retiming.result import binding_limits, momentary_stops
from hodyn_ros.plans.retiming.search import retime_plan
from hodyn_ros.plans.retiming.time_law import SPLINE_DEGREE, Rate, at_rate, uniform_law
from hodyn_ros.plans.time_scaling import smallest_time_scaling
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot import Limits

FR3 = hd.load_robot('fr3')


@pytest.fixture(scope='module')
def feedforward():
    return FeedForward(FR3)


@pytest.mark.parametrize('way', [1.0, -1.0])
def test_near_the_ends_of_the_range_both_directions_have_their_limits(feedforward, way):
    limits = FR3.limits
    assert limits.depend_on_position.any()
    end = limits.position_max if way > 0.0 else limits.position_min
    middle = 0.5 * (limits.position_max + limits.position_min)
    plan = fit_plan([0.0, 1.2], [middle, middle + 0.9 * (end - middle)])
    motion = plan.evaluate(np.linspace(0.0, 1.2, 5001))
    lower, upper = limits.velocity_range(motion[:, 0])
    velocity = motion[:, 1]
    assert np.all(way * velocity > -1e-9)
    share = np.abs(velocity) / (upper if way > 0.0 else -lower)
    kinematic = max(
        (np.abs(motion[:, k]).max(axis=0) / bound).max() ** (1.0 / k)
        for k, bound in ((2, limits.acceleration), (3, limits.jerk)))
    assert share.max() > kinematic  # this is what decides here
    effortless = replace(FR3, limits=replace(
        limits, effort=np.full(7, np.inf), effort_rate=np.full(7, np.inf)))
    assert smallest_time_scaling(plan, FeedForward(effortless)).factor == pytest.approx(
        share.max(), rel=2e-3)
    found = check_limits(plan.stretched(share.max() * 1.003), feedforward)
    assert not [e for e in found.violations if e.quantity == 'velocity']


def test_shares_of_the_limits_are_those_of_each_sample(feedforward):
    rng = np.random.default_rng(0)
    limits = FR3.limits
    motion = rng.uniform(-1.0, 1.0, (500, 5, 7))
    middle, half = (0.5 * (limits.position_max + s * limits.position_min) for s in (1, -1))
    motion[:, 0] = middle + 0.9 * half * motion[:, 0]
    table = LimitTable(feedforward)
    found = dict(zip(
        [(column.joint, column.quantity) for column in table.limited_columns],
        table.shares(motion).T, strict=True))
    lower, upper = limits.velocity_range(motion[:, 0])
    torque = feedforward.torque(motion)
    for j, joint in enumerate(FR3.joint_names):
        for quantity, values in (
                ('velocity', motion[:, 1] / np.where(motion[:, 1] < 0.0, -lower, upper)),
                ('acceleration', motion[:, 2] / limits.acceleration),
                ('jerk', motion[:, 3] / limits.jerk), ('effort', torque[:, 0] / limits.effort),
                ('effort_rate', torque[:, 1] / limits.effort_rate)):
            np.testing.assert_allclose(found.pop((joint, quantity)), values[:, j], rtol=1e-12)
    assert found == {}



def test_a_limit_that_binds_to_the_very_end_does_so(feedforward):
    """Where holding the arm takes nearly all that there is."""
    panda = hd.load_robot('panda')
    still = np.zeros((1, 5, 7))
    still[0, 0] = HOME
    weight = np.abs(FeedForward(panda).torque(still)[0, 0])
    limits = replace(panda.limits, effort=np.where(
        np.arange(7) == 3, 1.01 * weight[3], panda.limits.effort))
    plan = fit_plan([0.0, 1.0], [HOME, HOME + 1e-5])
    (found,) = binding_limits(plan, LimitTable(FeedForward(replace(panda, limits=limits))))
    assert (found.joint, found.quantity) == ('joint4', 'effort')
    assert (found.begin, found.end) == (0.0, plan.duration)
    assert binding_limits(plan, LimitTable(FeedForward(panda))) == ()


def test_a_limit_that_binds_for_less_than_a_millisecond_is_found_where_it_is_drawn():
    plan = fit_plan([0.0, 1.0], [HOME, HOME + 0.2])
    panda = hd.load_robot('panda')
    speeds = np.abs(plan.evaluate(np.linspace(0.0, plan.duration, 3000))[:, 1, 0])
    # The samples around the largest one, 0.3 ms away, use less than what counts as binding.
    limits = replace(Limits.none(7), velocity=speeds.max() / (0.95 * np.append(
        1.0 + 1e-12, np.full(6, 0.5))))
    (found,) = binding_limits(plan, LimitTable(FeedForward(replace(panda, limits=limits))))
    assert (found.joint, found.quantity) == ('joint1', 'velocity')


def test_a_reflex_binds_as_a_limit_does(tmp_path):
    robot = replace(FR3, limits=Limits.none(7))
    retimed = retime_plan(fit_plan([0.0, 4.0], [HOME, HOME + 0.4]), FeedForward(robot))
    assert retimed.binding
    draw_margins(retimed.plan, FeedForward(robot), tmp_path / 'margins.svg', 'effort')
    drawn = (tmp_path / 'margins.svg').read_text()
    for bound in retimed.binding:
        assert f'{bound.joint} {bound.quantity}' in drawn


@pytest.mark.parametrize('slower', [1.0, 100.0])
@pytest.mark.parametrize(('least', 'stops'), [(0.0, True), (0.2, False), (0.05, False)])
def test_a_stop_is_one_at_any_speed_and_a_slow_passage_is_none(feedforward, slower, least, stops):
    velocity = np.full((5, 7), 0.3)
    velocity[[0, 4]], velocity[2] = 0.0, 0.3 * least
    points = HOME + 0.3 * np.array([0.0, 0.6, 1.1, 1.6, 2.2])[:, None]
    plan = fit_plan(np.arange(5.0), points, velocity, np.zeros((5, 7))).stretched(slower)
    assert bool(momentary_stops(plan, feedforward)) == stops


def at(law, t):
    """Return w … w⁗ of a law."""
    return law.evaluate(np.asarray(t))[..., 0]


@pytest.mark.parametrize('rests', [(True, True), (True, False), (False, True), (False, False)])
def test_a_uniform_law_rests_where_it_should_and_goes_its_way(rests):
    law = uniform_law(3.0, 2.0, rests)
    ends = at(law, [0.0, 2.0])
    np.testing.assert_allclose(ends[:, 0], [0.0, 3.0], atol=1e-12)
    np.testing.assert_allclose(ends[:, 1], [0.0 if rest else 1.5 for rest in rests], atol=1e-12)
    np.testing.assert_allclose(ends[:, 2:], 0.0, atol=1e-9)
    assert np.all(np.diff(at(law, np.linspace(0.0, 2.0, 99))[:, 0]) > 0.0)
    np.testing.assert_allclose(
        at(law.stretched(2.0), 2.0), at(law, 1.0) / 2.0 ** np.arange(5), atol=1e-9)


def test_a_law_at_a_rate_is_that_law_in_another_time():
    law = uniform_law(3.0, 2.0, (True, True))
    constant = at_rate(law, Rate(np.full(12, 1.44), 2.0))
    assert constant.duration == pytest.approx(2.0 / 1.2)
    t = np.linspace(0.0, constant.duration, 301)
    factors = 1.2 ** np.arange(5)
    scale = np.abs(at(law, 1.2 * t)).max(axis=0) * factors
    np.testing.assert_allclose(
        at(constant, t) / scale, at(law, 1.2 * t) * factors / scale, atol=1e-6)
    rng = np.random.default_rng(1)
    rate = Rate(rng.uniform(0.5, 2.0, 7 + SPLINE_DEGREE), 2.0)
    changed = at_rate(law, rate)
    u = np.linspace(0.0, 2.0, 20_001)
    speed = 1.0 / np.sqrt(rate(u)[:, 0])
    time = np.concatenate(([0.0], np.cumsum(0.5 * (speed[1:] + speed[:-1]) * np.diff(u))))
    assert changed.duration == pytest.approx(time[-1], rel=1e-6)
    found = at(changed, np.minimum(time, changed.duration))
    np.testing.assert_allclose(found[:, 0], at(law, u)[:, 0], atol=1e-5)
    # dw/dt = dw/du · √x
    np.testing.assert_allclose(
        found[:, 1], at(law, u)[:, 1] * np.sqrt(rate(u)[:, 0]), atol=1e-3)
    np.testing.assert_allclose(found[[0, -1], 1:3], 0.0, atol=1e-9)
