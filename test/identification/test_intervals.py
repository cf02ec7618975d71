"""Intervals of zeros, offsets and friction allow for links that are off."""
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
CASES = [(0.03, range(8)), *(
    pytest.param(share, range(1000, 1040), marks=pytest.mark.siege) for share in (0.03, 0.05))]


def found_and_true(robot, term, seed, share):
    """Return an estimate and true values, by links whose errors are a share of the given ones."""
    rng = np.random.default_rng(seed)
    n, most = robot.n, robot.limits.effort
    truth = {
        'offset': 0.02 * most * rng.standard_normal(n),
        'amplitude': 0.04 * most * rng.uniform(0.5, 1.5, n),
        'zero': np.zeros(n)}
    if term == 'zeros':
        truth['zero'][[1, 3]] = rng.uniform(-0.1, 0.1, 2)
    time = np.arange(750) / 25.0 + 100.0 * rng.uniform()
    shifted = motion(time, robot, 0.4)
    q = shifted.copy()
    q[:, 0] += truth['zero']
    law = SigmoidFriction(truth['amplitude'], np.full(n, 30.0), np.zeros(n))
    effort = FeedForward(heavier(robot, rng, share)).torque(q, friction=False)[:, 0]
    effort += law.torque(q)[:, 0] + truth['offset']
    effort += 0.004 * most * rng.standard_normal(effort.shape)
    given = Data(shifted, effort, time.astype(np.intp))
    return identify(robot, given, {term, 'friction', 'offsets'}), truth


@pytest.mark.parametrize(('share', 'seeds'), CASES)
@pytest.mark.parametrize(('term', 'name'), [('zeros', 'zero'), ('offsets', 'offset')])
@pytest.mark.parametrize('arm', ARMS)
def test_intervals_contain_the_truth_though_links_are_off(arm, term, name, share, seeds):
    """Links counted as exact: half of the zeros and a third of the offsets were outside."""
    away = {key: [] for key in ('amplitude', 'offset', name)}
    for seed in seeds:
        found, truth = found_and_true(ARMS[arm], term, seed, share)
        values = {**found.joints, 'offset': found.offset}
        widths = {**found.intervals, 'offset': found.offset_interval}
        for key, ratios in away.items():
            ratios.extend((values[key] - truth[key]) / widths[key])
    for key, ratios in away.items():
        told = np.array(ratios)[np.isfinite(ratios)]
        assert len(told) > 0.5 * len(ratios)
        assert np.mean(np.abs(told) < 1.0) > 0.8, key
