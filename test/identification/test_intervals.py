"""Intervals of gains, zeros, offsets and friction allow for links that are off."""
from known_recordings import PLAIN, heavier
import numpy as np
import pytest
from recordings import motion

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.identify import identify
from hodyn_ros.robot.files import load_robot

ARMS = {'panda': PLAIN, 'ur10e': load_robot('ur10e')}
CASES = [(0.03, range(4)), *(
    pytest.param(share, range(1000, 1040), marks=pytest.mark.siege) for share in (0.03, 0.05))]


def found_and_true(robot, term, seed, share):
    """Return an estimate and true values, by links whose errors are a share of the given ones."""
    rng = np.random.default_rng(seed)
    n, most = robot.n, robot.limits.effort
    truth = {
        'offset': 0.02 * most * rng.standard_normal(n),
        'amplitude': 0.04 * most * rng.uniform(0.5, 1.5, n),
        'effort_gain': np.ones(n), 'zero': np.zeros(n)}
    if term == 'gains':
        truth['effort_gain'] = 1.25 * (1.0 + 0.05 * rng.standard_normal(n))
    elif term == 'zeros':
        truth['zero'][[1, 3]] = rng.uniform(-0.1, 0.1, 2)
    time = np.arange(750) / 25.0 + 100.0 * rng.uniform()
    shifted = motion(time, robot, 0.4)
    q = shifted.copy()
    q[:, 0] += truth['zero']
    law = SigmoidFriction(truth['amplitude'], np.full(n, 30.0), np.zeros(n))
    effort = FeedForward(heavier(robot, rng, share)).torque(q, friction=False)[:, 0]
    effort += law.torque(q)[:, 0] + truth['offset']
    effort += 0.004 * most * rng.standard_normal(effort.shape)
    truth['offset'] = truth['offset'] / truth['effort_gain']
    given = Data(shifted, effort / truth['effort_gain'], time.astype(np.intp))
    return identify(robot, given, {term, 'friction', 'offsets'}), truth


@pytest.mark.parametrize(('share', 'seeds'), CASES)
@pytest.mark.parametrize(('term', 'name'), [
    ('gains', 'effort_gain'), ('zeros', 'zero'), ('offsets', 'offset')])
@pytest.mark.parametrize('arm', ARMS)
def test_intervals_times_their_factor_contain_the_truth_though_links_are_off(
        arm, term, name, share, seeds):
    """Without it most gains, half of the zeros and a third of offsets are outside."""
    away = {key: [] for key in ('amplitude', 'offset', name)}
    factors = []
    for seed in seeds:
        found, truth = found_and_true(ARMS[arm], term, seed, share)
        factors.append(found.factor_beside_other_links)
        values = {**found.joints, 'offset': found.offset}
        widths = {**found.intervals, 'offset': found.offset_interval}
        for key, shares in away.items():
            shares.append(np.abs(values[key] - truth[key]) / widths[key])
    assert min(factors) > 1.5
    for shares in map(np.array, away.values()):
        stated = np.isfinite(shares)
        assert stated.mean() > 0.5
        assert np.mean((shares < np.array(factors)[:, None])[stated]) > 0.95
    if term == 'gains':
        narrow = np.array(away[name])
        assert np.mean(narrow[np.isfinite(narrow)] < 1.0) < 0.8


def test_fitted_links_need_no_factor():
    rng = np.random.default_rng(3)
    time = np.arange(750) / 25.0
    q = motion(time, PLAIN, 0.4)
    effort = FeedForward(heavier(PLAIN, rng, 0.03)).torque(q)[:, 0]
    given = Data(q, effort + 0.1 * rng.standard_normal(effort.shape), time.astype(np.intp))
    assert np.isnan(identify(PLAIN, given, {'links', 'offsets'}).factor_beside_other_links)
