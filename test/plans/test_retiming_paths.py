"""What of its points a retimed path keeps: all of waypoints, nearly all of samples."""
from controllers import HOME
import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import hodyn_ros as hd
from hodyn_ros.plans.retiming.path import missed_by, path_of, points_of
from hodyn_ros.plans.waypoints import AcceptedWaypoints


def curve(count):
    """Return points of a smooth curve in even steps of its parameter."""
    rng = np.random.default_rng(3)
    corners = HOME + rng.uniform(-0.5, 0.5, (6, 7))
    return CubicSpline(np.arange(6.0), corners)(np.linspace(0.0, 5.0, count))


def random_points(count):
    return HOME + np.random.default_rng(1).uniform(-0.5, 0.5, (count, 7))


def path_through(robot, points, times=None, tolerance=1e-3):
    return path_of(robot, points_of(robot, points, times), tolerance=tolerance)


@pytest.mark.parametrize(('points', 'jitter', 'missed_some'), [
    (curve(19), 1e-4, False), (curve(400), 1e-4, True), (curve(60), 2e-4, True),
    (random_points(8), 0.0, False), (random_points(40), 0.0, False)])
def test_samples_that_jitter_are_smoothed_and_points_far_apart_are_met(
    panda, points, jitter, missed_some,
):
    points = points + jitter * np.random.default_rng(1).standard_normal(points.shape)
    path = path_through(panda, points)
    missed = missed_by(path.sections, points).max()
    assert missed <= 1e-3
    assert (missed > 1e-5) == missed_some
    assert (path.missed is not None) == missed_some
    exact = path_through(panda, points, tolerance=0.0)
    assert missed_by(exact.sections, points).max() < 1e-5


@pytest.mark.parametrize('points', [random_points(5), curve(19), curve(200)])
def test_a_path_is_geometry_whatever_the_times_of_its_points(panda, points):
    rng = np.random.default_rng(0)
    count = len(points)
    paths = [
        path_through(panda, points, times).sections[0] for times in (
            None, 0.004 * np.arange(count), 3.0 * np.arange(count),
            np.cumsum(rng.uniform(0.01, 1.0, count)))]
    for path in paths[1:]:
        np.testing.assert_array_equal(path.times, paths[0].times)
        np.testing.assert_array_equal(path.coefficients, paths[0].coefficients)


@pytest.mark.parametrize('points', [random_points(2), random_points(6), curve(400)])
def test_a_path_neither_rests_nor_turns_where_its_points_do_not(panda, points):
    path = path_through(panda, points).sections[0]
    motion = path.evaluate(np.linspace(0.0, path.duration, 5001))
    speed = np.linalg.norm(motion[:, 1], axis=1)
    assert speed.min() > 0.05 * speed.mean()
    np.testing.assert_allclose(motion[[0, -1], 2:] / speed.mean(), 0.0, atol=1e-6)
    if len(points) == 2:
        np.testing.assert_allclose(
            np.cross(motion[:, 1, :3], points[1, :3] - points[0, :3]), 0.0, atol=1e-9)


def test_the_same_curve_as_samples_and_as_waypoints_is_run_as_fast(panda):
    # Samples 50 ms apart were taken for waypoints from rest to rest within the first of them.
    durations = [
        hd.retime(panda, curve(count), spacing * np.arange(count)).duration
        for count, spacing in ((16, 3.0), (400, 0.005), (400, 0.05))]
    np.testing.assert_allclose(durations, durations[0], rtol=0.02)


@pytest.mark.parametrize(('count', 'size'), [(401, 1.0), (4000, 1.0), (401, 0.05), (4000, 0.05)])
def test_samples_that_are_rounded_are_run_as_fast_as_those_in_full_digits(panda, count, size):
    """The path followed the rounding, and the motion took five times as long."""
    times = np.linspace(0.0, 2.0, count)
    way = size * (0.5 - 0.5 * np.cos(0.5 * np.pi * times[:, None]))
    samples = HOME + way * np.array([0.8, 0.4, -0.3, 0.1, 0.5, -0.6, 0.7])
    exact, rounded = (hd.retime(panda, q, times) for q in (samples, samples.round(3)))
    np.testing.assert_allclose(rounded.duration, exact.duration, rtol=0.02)
    assert rounded.path_deviation <= 1e-3


def test_a_small_way_back_along_the_path_is_kept(panda):
    way = np.concatenate([
        np.arange(0.0, 0.5, 1e-3), np.arange(0.5, 0.49, -1e-3), np.arange(0.49, 1.0, 1e-3)])
    samples = HOME + way[:, None] * np.linspace(0.2, 1.0, 7)
    path = path_through(panda, samples, 0.005 * np.arange(len(way))).sections[0]
    along = path.evaluate(np.linspace(0.0, path.duration, 20001))[:, 0, 6]
    assert (np.maximum.accumulate(along) - along).max() > 0.006


def test_directions_of_velocities_and_bends_of_accelerations_count(panda):
    turn = np.linspace(0.0, 2.0, 5)
    circle = np.tile(HOME, (5, 1))
    velocity, acceleration = np.zeros((2, 5, 7))
    size = 0.4 * panda.limits.velocity[:2]  # a circle where both joints' speeds count as much
    circle[:, :2] += size * np.stack([np.sin(turn), 1.0 - np.cos(turn)], axis=1)
    velocity[:, :2] = size * np.stack([np.cos(turn), np.sin(turn)], axis=1)
    acceleration[:, :2] = size * np.stack([-np.sin(turn), np.cos(turn)], axis=1)
    inner = slice(1, -1)

    def section(factor, orders):
        rows = [[None, *(factor**k * given[inner]), None] if k <= orders else None
                for k, given in ((1, velocity), (2, acceleration))]
        return path_of(
            panda, AcceptedWaypoints(panda.joint_names, turn / factor, circle, *rows),
            tolerance=1e-3).sections[0]

    def off(path):
        at = np.linspace(*path.times[[1, -2]], 2001)
        p = path.evaluate(at)[:, 0, :2] - HOME[:2]
        return np.abs(np.linalg.norm(p / size - np.array([0.0, 1.0]), axis=1) - 1.0).max()

    without, slopes, both = (off(section(1.0, orders)) for orders in range(3))
    assert both < slopes < 0.7 * without
    for factor in (0.1, 7.0):  # however fast they are gone through
        np.testing.assert_allclose(
            section(factor, 2).coefficients, section(1.0, 2).coefficients, atol=1e-12)


@pytest.mark.parametrize('shift', [0.0, 0.31, 0.5, 0.77])
@pytest.mark.parametrize('tolerance', [1e-4, 2e-3])
def test_a_corner_between_samples_is_cut_by_no_more_than_the_tolerance(panda, shift, tolerance):
    """As well where it turns back sharply: what is missed there joins what is kept."""
    way = np.arange(0.0, 0.6, 1e-3) + 1e-3 * shift
    samples = np.tile(HOME, (len(way), 1))
    samples[:, 0] += 0.3 - np.abs(way - 0.3)  # there and back
    samples[:, 1] += np.clip(way - 0.45, 0.0, None)
    samples[:, 6] += way
    path = path_through(panda, samples, 0.005 * np.arange(len(way)), tolerance)
    assert missed_by(path.sections, samples).max() <= tolerance


@pytest.mark.parametrize('count', [400, 2000])
def test_no_sample_is_missed_by_more_than_the_tolerance_however_they_jitter(panda, count):
    rng = np.random.default_rng(3)
    samples = curve(count) + rng.normal(scale=5e-4, size=(count, 7))  # at most about 2e-3
    path = path_through(panda, samples, 0.005 * np.arange(count))
    assert 0.0 < missed_by(path.sections, samples).max() <= 1e-3


def test_a_point_is_missed_by_the_least_that_any_joint_has_to_miss_it(panda):
    """Not by what joints miss at the place with the least sum of squares, here the start."""
    points = np.tile(HOME, (3, 1))
    points[:, [0, 6]] += [[0.1, 0.0], [0.3, 0.15], [0.08, 0.08]]
    missed = missed_by(path_through(panda, points).sections, HOME[None])
    assert missed.max() == pytest.approx(0.08)


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


def test_rests_of_samples_within_the_motion_are_named(panda):
    """A dwell of a dense plan went without a word."""
    moving = curve(60)
    dwell = np.repeat(moving[30:31], 70, axis=0)
    points = np.vstack([np.repeat(moving[:1], 40, axis=0), moving[:31], dwell, moving[31:]])
    times = 0.01 * np.arange(len(points))
    (note,) = path_of(panda, points_of(panda, points, times), tolerance=1e-3).notes
    assert note == (
        'points 70 to 140 (0.7 s) rest, but the retimed motion does not rest there: if it is to, '
        'stop at point 70')
    assert path_of(panda, points_of(panda, moving, None), tolerance=1e-3).notes == ()
