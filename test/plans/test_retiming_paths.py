"""What of its points a retimed path keeps: all of waypoints, nearly all of samples."""
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.retiming import retime_plan
from hodyn_ros.plans.retiming.path import missed_by, path_of, points_of
from hodyn_ros.reference import fit_plan

HOME = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


@pytest.fixture(scope='module')
def panda():
    return hd.load_robot('panda')


@pytest.mark.parametrize(('count', 'spacing', 'sampled'), [
    (20, 0.02, True), (20, 0.0201, False), (19, 0.02, False), (40, 0.5, False),
    (200, 0.005, True)])
def test_many_points_close_in_time_are_samples_and_others_are_met(panda, count, spacing, sampled):
    rng = np.random.default_rng(1)
    points = HOME + np.linspace(0.0, 0.5, count)[:, None] * np.linspace(0.5, 1.0, 7)
    points += 1e-4 * rng.standard_normal(points.shape)
    path = path_of(points_of(panda, points, spacing * np.arange(count)), tolerance=1e-3)
    missed = missed_by(path.sections, points).max()
    assert missed <= 1e-3
    assert (missed > 1e-6) == sampled


@pytest.mark.parametrize('shift', [0.0, 0.31, 0.5, 0.77])
@pytest.mark.parametrize('tolerance', [1e-4, 2e-3])
def test_a_corner_between_samples_is_cut_by_no_more_than_the_tolerance(panda, shift, tolerance):
    """As well where it turns back sharply: what is missed there joins what is kept."""
    way = np.arange(0.0, 0.6, 1e-3) + 1e-3 * shift
    samples = np.tile(HOME, (len(way), 1))
    samples[:, 0] += 0.3 - np.abs(way - 0.3)  # there and back
    samples[:, 1] += np.clip(way - 0.45, 0.0, None)
    samples[:, 6] += way
    path = path_of(points_of(panda, samples, 0.005 * np.arange(len(way))), tolerance=tolerance)
    assert missed_by(path.sections, samples).max() <= tolerance


@pytest.mark.parametrize('points', [
    [[0.0], [0.0], [1.0]], [[0.0], [1e-9], [1.0]], [[0.0], [1.0], [1.0]], [[0.0], [0.0]]])
def test_points_without_times_get_increasing_ones(panda, points):
    positions = HOME + np.array(points)
    times = points_of(panda, positions, None).times
    assert times[0] == 0.0
    assert np.all(np.diff(times) > 0.0)


def test_points_without_times_are_as_far_apart_as_the_slowest_joint_needs(panda):
    steps = np.diag([0.1, 0.4, 0.2, 0.0, 0.0, 0.0, 0.7])[[0, 1, 2, 6]]
    positions = np.vstack([HOME, HOME + np.cumsum(steps, axis=0)])
    times = points_of(panda, positions, None).times
    np.testing.assert_allclose(
        np.diff(times), np.array([0.1, 0.4, 0.2, 0.7]) / panda.limits.velocity[[0, 1, 2, 6]])


@pytest.mark.parametrize('moves_at', ['start', 'neither'])
def test_a_plan_in_motion_at_first_keeps_its_start_and_ends_at_rest(panda, moves_at):
    velocity = np.zeros((2, 7))
    if moves_at == 'start':
        velocity[0] = 0.2
    plan = fit_plan([0.0, 3.0], [HOME, HOME + 0.3], velocity, np.zeros((2, 7)))
    found = retime_plan(plan, FeedForward(panda)).plan
    first, last = found.evaluate(found.times[[0, -1]])
    np.testing.assert_allclose(first[1], velocity[0], atol=1e-12)
    if moves_at == 'neither':
        assert not first[1:].any()
    assert np.abs(last[1]).max() < 1e-11
    assert np.abs(last[2]).max() < 1e-8
