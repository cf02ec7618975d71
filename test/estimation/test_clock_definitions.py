"""The numerical parts by which the clock of the sampling is found, against what they are: fast."""
import itertools

from made_logs import measured_by
import numpy as np
import pytest

from hodyn_ros.estimation.clock_drift import (
    _KNOT,
    _SMOOTH,
    MIN_PART,
    _broken_line,
    _least_squares,
    common_slope,
    drift_line,
    line_between,
    mean_course,
    where_set,
)
from hodyn_ros.estimation.clock_fit import _breaks, fit_clock
from hodyn_ros.estimation.period_count import _LOST, _MISCOUNT, _STRAY, count_periods
from hodyn_ros.estimation.period_search import (
    _RATE_WINDOW,
    _coherence,
    common_period,
    period_by_stamps,
)
from hodyn_ros.estimation.sampling_clock import Instants, _joined
from hodyn_ros.estimation.state_intervals import (
    _aside,
    _noise,
    _slopes,
    median,
    state_intervals,
)

pytestmark = pytest.mark.fast


def test_slopes_at_the_ends_are_taken_aside_of_their_steps():
    """By the distance of the windows' middles, and so intervals there are known less well."""
    for time in (0.01 * np.arange(9.0), 0.08 * np.linspace(0.0, 1.0, 9) ** 3):  # even or not
        np.testing.assert_allclose(
            _aside(time, 2), 0.01 * np.array([1.0, 0, 0, 0, 0, 0, 0, 1.0]), atol=1e-15)
        np.testing.assert_allclose(
            _aside(time, 30), 0.01 * np.abs(np.arange(8) - 3.5), atol=1e-15)
    time = 0.01 * np.arange(300)
    omega = np.linspace(3.0, 6.0, 7)
    position = np.sin(omega * time[:, None] + np.arange(7))
    interval, deviation = state_intervals(time, position, np.full_like(position, np.nan))
    assert np.all(np.abs(interval - 0.01) < deviation + 1e-5)
    assert deviation[0] > 3.0 * np.median(deviation) < deviation[-1] / 3.0


@pytest.mark.parametrize('slope', [0.0, 3e-4, -1e-3])
@pytest.mark.parametrize('miscounted', [[], [(900, 3000)], [(0, 200), (700, 1100), (2950, 3000)]])
def test_the_common_slope_of_ages_is_that_between_miscounts(miscounted, slope):
    rng = np.random.default_rng(3)
    count = np.cumsum(rng.integers(1, 20, 3000)).astype(float)
    ages = 7.0 + slope * count + 0.3 * rng.random(3000)
    for begin, end in miscounted:  # one more or less than there were
        ages[begin:end] += 1.0
    assert abs(common_slope(count, ages, 1.0) - slope) * count[-1] < 0.05
    assert common_slope(1e3 * count, ages, 1.0) == pytest.approx(
        1e-3 * common_slope(count, ages, 1.0), rel=1e-6, abs=1e-12)
    few = np.array([0.0, 4.0, 9.0, 12.0])
    assert common_slope(few, 1.0 + 0.01 * few, 1.0) == pytest.approx(0.01)


@pytest.mark.parametrize('knots', [2, 3, 7])
@pytest.mark.parametrize('count', [8, 101])
def test_a_broken_line_is_that_of_weighted_least_squares(count, knots):
    rng = np.random.default_rng(count + knots)
    values, weight = rng.standard_normal(count), rng.uniform(0.1, 3.0, count)
    at = np.linspace(0.0, 1.0, count)
    hats = np.array([
        np.interp(at, np.linspace(0.0, 1.0, knots), row) for row in np.eye(knots)]).T
    root = np.sqrt(weight)
    expected = hats @ np.linalg.lstsq(root[:, None] * hats, root * values, rcond=None)[0]
    np.testing.assert_allclose(_broken_line(values, weight, knots), expected, atol=1e-12)
    alone = np.zeros(count)
    alone[count // 3] = 1.0  # of one that counts, it passes through that one
    found = _broken_line(values, alone, knots)
    assert found[count // 3] == pytest.approx(values[count // 3])


def test_a_line_of_least_squares_hardly_follows_what_strays():
    rng = np.random.default_rng(0)
    index, noise = np.arange(500), 1e-3 * rng.standard_normal(500)
    line = 0.3 + 2e-5 * index
    exact = np.polyval(np.polyfit(index, line + noise, 1), index)
    np.testing.assert_allclose(_least_squares(line + noise, 2), exact, atol=3e-5)
    noise[::25] = 0.1
    np.testing.assert_allclose(_least_squares(line + noise, 2), line, atol=4e-4)


@pytest.mark.parametrize(('count', 'bends'), [
    (_KNOT - 1, False), (2 * _KNOT - 1, False), (2 * _KNOT + 1, True), (3 * _KNOT + 1, True)])
def test_the_drift_bends_each_thousand_samples_at_most(count, bends):
    parts = count // _KNOT if bends else 2
    knots = np.linspace(0.0, count - 1.0, parts + 1)
    ages = np.interp(np.arange(count), knots, np.arange(parts + 1) % 2 * 1e-3)
    found = drift_line(ages)
    if bends:
        np.testing.assert_allclose(found, ages, atol=1e-9)
    else:
        assert np.abs(np.diff(found, 2)).max() < 1e-12


def test_the_drift_bends_only_where_that_follows_the_stamps_much_better():
    rng = np.random.default_rng(1)
    count = 4001
    noise = 1e-3 * rng.standard_normal(count)
    bend = np.abs(np.arange(count) - 2000) / 2000
    for height, bends in ((0.0, False), (2e-3, False), (6e-3, True)):
        found = drift_line(noise + height * bend)
        assert (np.abs(np.diff(found, 2)).max() > 1e-9) == bends


@pytest.mark.parametrize('unit', [1e-3, 0.04])
def test_a_line_between_bounds_is_in_their_middle_or_at_the_nearer_one(unit):
    rng = np.random.default_rng(2)
    index = np.arange(1500)
    line = unit * (7.0 + 1e-3 * index)
    # Where there is room everywhere, in the middle.
    found = line_between(line - 0.4 * unit, line + 0.4 * unit, unit)
    np.testing.assert_allclose(found, line, atol=1e-9 * unit)
    # Where there is little, inside, however wide the others are.
    low, high = line - unit * rng.uniform(0.3, 0.9, 1500), line + 0.9 * unit
    high[::10] = line[::10] + 0.02 * unit
    low[5::10] = line[5::10] - 0.02 * unit
    found = line_between(low, high, unit)
    assert np.abs(found - line).max() < 0.05 * unit
    # Those miscounted by periods draw no line, least of all away from its middle.
    off = np.where(rng.random(1500) < 0.03, 3.0 * unit, 0.0)
    found = line_between(low + off, high + off, unit)
    assert np.abs(found - line).max() < 0.1 * unit


def test_a_line_between_bounds_bends_where_it_is_twice_as_close():
    rng = np.random.default_rng(3)
    count, unit = 4001, 0.01
    middle = 0.2 * unit * rng.standard_normal(count)
    bend = np.abs(np.arange(count) - 2000) / 2000 - 0.5
    for height, bends in ((0.0, False), (0.3, False), (1.5, True), (6.0, True)):
        at = middle + height * unit * bend
        found = line_between(at - 0.01 * unit, at + 0.01 * unit, unit)
        assert (np.abs(np.diff(found, 2)).max() > 1e-9 * unit) == bends
    # And not for a hundredth of a period, which is nothing.
    at = 0.03 * unit * bend
    assert np.abs(np.diff(line_between(at, at + 1e-6 * unit, unit), 2)).max() < 1e-12


def cost_of(count, low, high, interval, deviation, period, spread):
    """Return what `count_periods` makes least."""
    time, steps = count * period, np.diff(count)
    beyond = np.maximum(0.0, np.maximum(low - time, time - high))
    total = np.sum(np.minimum(0.5 * (beyond / spread) ** 2, _STRAY))
    total += np.sum(np.minimum(0.5 * ((steps * period - interval) / deviation) ** 2, _MISCOUNT))
    return total + np.sum(
        np.where(steps < 1, _MISCOUNT, np.minimum(_LOST * (steps - 1), _STRAY)))


@pytest.mark.parametrize('seed', range(8))
def test_counts_are_the_best_of_all(seed):
    rng = np.random.default_rng(seed)
    period, move = 0.01, 1
    middle = period * (np.cumsum(rng.choice([1, 1, 2], 7)) + rng.uniform(-0.4, 0.4, 7))
    low, high = middle - 0.3 * period, middle + 0.3 * period
    interval = period * rng.choice([0.5, 1.0, 1.2, 2.0], 6)
    deviation = period * rng.choice([0.1, 0.5, 3.0], 6)
    given = low, high, interval, deviation, period, 0.5 * period
    found = count_periods(*given, move)
    nearest = np.round(middle / period)
    assert np.abs(found - nearest).max() <= move
    least = min(
        cost_of(nearest + moves, *given)
        for moves in itertools.product(range(-move, move + 1), repeat=7))
    assert cost_of(found, *given) == pytest.approx(least)


def test_coherence_is_the_mean_cosine_of_phases():
    rng = np.random.default_rng(4)
    interval, periods = rng.uniform(0.0, 0.1, 300), rng.uniform(1e-3, 0.02, 9)
    expected = [np.mean(np.cos(2.0 * np.pi * interval / period)) for period in periods]
    np.testing.assert_allclose(_coherence(interval, periods), expected, atol=1e-12)


@pytest.mark.parametrize('apart', [False, True])
@pytest.mark.parametrize('count', [6, 30, 700])
@pytest.mark.parametrize('width', [2, 5])
def test_slopes_are_those_of_lines_through_the_samples_around_a_step(count, width, apart):
    rng = np.random.default_rng(5)
    time, position = np.cumsum(rng.uniform(0.5, 1.5, count)), rng.standard_normal((3, count))
    many = min(count, 2 * width)
    found = _slopes(time, position, width, apart)
    for step in range(count - 1):
        first = max(0, min(step + 1 - width, count - many))
        part = slice(first, first + many)
        behind = np.arange(first, first + many) > step  # with apart, they have a line of their own
        table = np.stack([time[part], np.ones(many), behind * float(apart)], axis=1)
        for joint in range(3):
            slope = np.linalg.lstsq(table, position[joint, part], rcond=None)[0][0]
            assert found[joint, step] == pytest.approx(slope, abs=1e-9)


@pytest.mark.parametrize('count', range(1, 8))
def test_the_median_is_that_of_numpy(count):
    values = np.random.default_rng(count).standard_normal(count)
    assert median(values) == np.median(values)


def test_noise_is_that_where_a_joint_is_slow_but_moves():
    rng = np.random.default_rng(6)
    sign = rng.choice([-1.0, 1.0], 3000)
    speed = np.repeat([1e-3, 0.5, 1.0], 1000) * rng.choice([-1.0, 1.0], 3000)
    misfit = np.repeat([0.0, 2.0, 50.0], 1000) * sign  # at rest, slow, fast
    assert _noise(misfit, speed) == pytest.approx(2.0)
    # A few that are far off count as much as one that is some five deviations off.
    misfit[1000:1010] = 1e6
    assert _noise(misfit, speed) == pytest.approx(
        np.sqrt(0.99 * 4.0 + 0.01 * (7.5 * 2.0) ** 2))
    # What never moves is as noisy as it is.
    assert _noise(sign, np.zeros(3000)) == pytest.approx(1.0)


def turning(time, joints=5):
    """Return positions and velocities of joints that swing."""
    omega = np.linspace(1.0, 3.0, joints)
    phase = np.linspace(0.0, 2.0, joints)
    angle = omega * time[:, None] + phase
    return np.sin(angle), omega * np.cos(angle)


@pytest.mark.parametrize('recorded', [True, False])
@pytest.mark.parametrize('noise', [1e-5, 1e-4])
def test_intervals_are_told_as_well_as_they_say(recorded, noise):
    """Though the stamps are off by far more."""
    rng = np.random.default_rng(7)
    period = 0.01
    time = period * np.cumsum(rng.choice([1, 1, 1, 2], 1500))
    position, velocity = turning(time)
    position = position + noise * rng.standard_normal(position.shape)
    velocity = velocity if recorded else np.full_like(velocity, np.nan)
    stamps = time + 0.2 * period * rng.standard_normal(1500)
    interval, deviation = state_intervals(np.sort(stamps), position, velocity)
    off = (interval - np.diff(time)) / deviation
    assert np.median(deviation) < 0.1 * period
    assert np.mean(np.abs(off) < 2.0) > 0.9
    assert recorded or np.median(np.abs(off)) > 0.05


def test_velocities_and_joints_that_say_nothing_change_no_interval():
    rng = np.random.default_rng(8)
    time = 0.01 * np.arange(600)
    position, velocity = turning(time)
    position = position + 1e-5 * rng.standard_normal(position.shape)
    unknown = np.full_like(velocity, np.nan)
    alone = state_intervals(time, position, unknown)
    for other in (np.zeros_like(velocity), 30.0 * rng.standard_normal(velocity.shape)):
        for found, expected in zip(state_intervals(time, position, other), alone, strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9)
    still = np.hstack([position, 0.1 * rng.standard_normal((600, 1)), np.ones((600, 1))])
    unknown = np.full_like(still, np.nan)
    for found, expected in zip(state_intervals(time, still, unknown), alone, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0.01)
    # Of what never moves, nothing is told.
    assert state_intervals(time, np.ones((600, 2)), np.zeros((600, 2)))[1].min() > 1.0


def test_over_a_long_step_velocities_bend():
    """A sine of 1 Hz is cut off by A ω² h³ ω / 12 at most, of its largest advance A ω h."""
    time = np.concatenate([0.01 * np.arange(300), 3.2 + 0.01 * np.arange(300)])
    position, velocity = turning(time)
    _, deviation = state_intervals(time, position, velocity)
    long = time[300] - time[299]
    assert deviation[299] == pytest.approx((2.0 * np.pi) ** 2 * long ** 3 / 12.0, rel=0.02)
    assert np.median(deviation) < 0.04 * 0.01


@pytest.mark.parametrize('multiples', [[1], [2, 3], [3, 4, 5], [4, 7, 9], [9, 10, 11]])
def test_a_period_is_found_of_whichever_multiples(multiples):
    rng = np.random.default_rng(9)
    period, count = 0.0043, 900
    interval = period * (rng.choice(multiples, count) + 0.03 * rng.standard_normal(count))
    deviation = np.full(count, 0.03 * period)
    # What is badly measured has no say.
    worse = np.arange(count) % 3 == 0
    interval[worse] = period * rng.uniform(1.0, 9.0, np.count_nonzero(worse))
    deviation[worse] = 2.0 * period
    coherence, found = common_period(interval, deviation, float(np.mean(interval)))
    assert found == pytest.approx(period, rel=5e-3)
    told = ~worse
    phase = np.cos(2.0 * np.pi * interval[told] / found)
    assert coherence == pytest.approx(np.mean(phase), abs=1e-3)


def test_intervals_within_bursts_have_no_common_period():
    interval = np.tile([1e-4, 1e-4, 1e-4, 0.02], 100)
    coherence, found = common_period(interval, np.full(400, 1e-6), float(np.mean(interval)))
    assert coherence == 0.0
    assert np.isnan(found)


@pytest.mark.parametrize('begin', [0, 100, 1743])
def test_the_period_is_that_of_stamps_where_the_samples_tell(begin):
    """Elsewhere the stamps may say anything."""
    rng = np.random.default_rng(10)
    true, count = 0.01003, 2000
    told = np.zeros(count - 1, bool)
    told[begin:begin + _RATE_WINDOW] = True
    steps = rng.choice([1, 1, 2], count - 1)
    passed = np.where(told, true * steps, rng.uniform(0.1, 0.2, count - 1))
    stamps = np.concatenate([[0.0], np.cumsum(passed)])
    interval = true * steps
    found = period_by_stamps(0.01, stamps, interval, told)
    windows = range(0, count - _RATE_WINDOW, _RATE_WINDOW // 2)
    aligned = begin in windows
    assert found == pytest.approx(true if aligned else 0.01, rel=1e-9 if aligned else 1e-12)
    # Of all, it is the slope of the stamps over the samples.
    stamps = true * np.concatenate([[0], np.cumsum(steps)])
    stamps += 2e-3 * rng.standard_normal(count)
    found = period_by_stamps(0.01, stamps, interval, np.ones(count - 1, bool))
    number = np.concatenate([[0], np.cumsum(steps)])
    assert found == pytest.approx(np.polyfit(number, stamps, 1)[0], rel=1e-9)


@pytest.mark.parametrize(('factor', 'taken'), [(1.08, True), (0.92, True), (1.12, False)])
def test_a_period_is_not_taken_of_stamps_that_tell_quite_another(factor, taken):
    stamps = 0.01 * factor * np.arange(400)
    told = np.ones(399, bool)
    found = period_by_stamps(0.01, stamps, np.full(399, 0.01), told)
    assert found == pytest.approx(0.01 * factor if taken else 0.01)


@pytest.mark.parametrize('count', [200, 249, 250, 263, 1000])
@pytest.mark.parametrize('height', [0.45, -0.45, 3.0])
def test_a_step_is_found_to_the_sample_wherever_levels_hold_on_both_sides(count, height):
    half = MIN_PART // 2
    for at in {2 * half, 2 * half + 1, count // 2, count - 2 * half}:
        ages = 1e-4 * np.sin(7.0 * np.arange(count))
        ages[at:] += height * 0.01
        if count < 5 * half and at != 2 * half:
            continue
        np.testing.assert_array_equal(where_set(ages, 0.01), [at])


def test_no_step_is_found_of_few_samples_nor_of_what_is_small_or_drowns_in_noise():
    rng = np.random.default_rng(11)
    ages = np.where(np.arange(199) < 100, 0.0, 1.0)
    assert not len(where_set(ages, 1.0))
    for height, noise, found in (
            (0.45, 0.01, 1), (0.35, 0.01, 0), (1.0, 0.3, 1), (1.0, 2.0, 0)):
        ages = np.where(np.arange(1000) < 400, 0.0, height) + noise * rng.standard_normal(1000)
        assert len(where_set(ages, 1.0)) == found
    # A line is no step.
    assert not len(where_set(3e-3 * np.arange(1000), 1.0))


def fitted(count, multiple, at=None, shift=0.0):
    """Return the fit of a clocked log by a multiple of its period; its clock set once."""
    rng = np.random.default_rng(12)
    time = 0.01 * np.cumsum(rng.choice([1, 1, 1, 2], count))
    position, velocity = turning(time)
    position = position + 2e-6 * rng.standard_normal(position.shape)
    stamps = time + 0.01 * rng.uniform(0.0, 0.5, count)
    if at is not None:
        stamps[at:] += shift * 0.01
    interval, deviation = state_intervals(stamps, position, velocity)
    return time, fit_clock(
        stamps, multiple * 0.01, interval, deviation, measured_by(position, velocity))


def test_a_period_that_is_no_part_of_the_intervals_is_odd():
    time, right = fitted(1500, 1.0)
    assert right.odd == 0.0
    assert right.misfit < 0.05 * 0.01
    assert right.told.mean() > 0.99
    np.testing.assert_array_equal(np.diff(right.count), np.round(np.diff(time) / 0.01))
    off = np.abs(right.period * np.diff(right.count) - right.interval)
    np.testing.assert_allclose(right.off, off, atol=1e-15)
    _, wrong = fitted(1500, 2.0)
    assert wrong.odd > 0.3
    assert wrong.misfit > 0.2 * 0.02


@pytest.mark.parametrize('at', [30, MIN_PART // 2, 300, 1400, 1500 - MIN_PART // 2, 1470])
def test_a_clock_that_was_set_back_shows_away_from_the_ends(at):
    _, fit = fitted(1500, 1.0, at, -20.0)
    inside = MIN_PART // 2 < at < 1500 - MIN_PART // 2
    np.testing.assert_array_equal(fit.breaks, [at] * inside)
    assert not len(fitted(1500, 1.0)[1].breaks)


def test_joined_parts_keep_their_breaks_and_their_order():
    parts = [
        Instants(np.arange(3.0), 0.01, np.array([True, False, True]), np.array([1]), 0.2),
        Instants(np.arange(3.0, 5.0), np.nan, np.zeros(2, bool), np.empty(0, int), np.nan),
        Instants(np.arange(5.0, 9.0), 0.03, np.ones(4, bool), np.array([2, 3]), 0.1)]
    found = _joined(parts)
    np.testing.assert_array_equal(found.time, np.arange(9.0))
    np.testing.assert_array_equal(found.breaks, [1, 3, 5, 7, 8])
    np.testing.assert_array_equal(found.told, [1, 0, 1, 0, 0, 1, 1, 1, 1])
    assert found.period == pytest.approx((3 * 0.01 + 4 * 0.03) / 7)
    assert found.misfit == pytest.approx((3 * 0.2 + 4 * 0.1) / 7)


@pytest.mark.parametrize('count', [21, 22, 300])
def test_the_mean_course_of_stamps_goes_on_at_the_ends_as_it_came(count):
    line = 3.0 + 0.01 * np.arange(count)
    np.testing.assert_allclose(mean_course(line), line, rtol=0.0, atol=1e-12)
    for burst in (2, 5):
        index = np.arange(count)
        stamps = line[np.minimum((index // burst + 1) * burst, count) - 1] + 1e-5 * index
        found = mean_course(stamps)
        assert found.shape == stamps.shape
        assert np.all(np.diff(found) > 0.0)
        np.testing.assert_allclose(np.diff(found), 0.01, atol=2.1e-2 * burst / min(count, _SMOOTH))
        inside = slice(_SMOOTH // 2, -(_SMOOTH // 2))
        if count > 2 * _SMOOTH:
            middle = 0.005 * (burst - 1) + 1e-5 * index
            np.testing.assert_allclose(
                (found - line - middle)[inside], 0.0, atol=0.01 * burst / _SMOOTH)
            # Turned in both axes, it is the same course.
            np.testing.assert_allclose(-mean_course(-stamps[::-1])[::-1], found, atol=1e-12)


@pytest.mark.parametrize('period', [1e-3, 0.04])
def test_a_clock_was_set_where_one_clear_interval_contradicts_the_count(period):
    count = 400

    def found(off, deviation, steps=1.0, many=1, at=200):
        away, known = np.full(count, 0.01 * period), np.full(count, 0.03 * period)
        taken = np.full(count, period)
        away[at:at + many], known[at:at + many] = off * period, deviation * period
        taken[at] = steps * period
        return np.flatnonzero(_breaks(taken, away, known, period)).tolist()

    assert found(0.65, 0.03) == [200]
    assert found(0.65, 0.105) == [200]
    assert found(0.55, 0.03) == []
    assert found(0.65, 0.115) == []  # less than six deviations
    assert found(5.0, 0.3) == []  # hardly known
    # Where all around are wrong, the arm shakes.
    assert found(5.0, 0.03, many=7) == list(range(200, 207))
    assert found(5.0, 0.03, many=8) == []
    # What goes back was set in any case, but not at the ends.
    for steps in (0.0, -3.0):
        assert found(0.0, 0.3, steps) == [200]
    half = MIN_PART // 2
    for at, inside in ((half - 1, False), (half, True), (count - half - 1, True),
                       (count - half, False)):
        assert found(5.0, 0.03, at=at) == [at] * inside


@pytest.mark.parametrize(('count', 'bends'), [
    (_KNOT - 1, False), (2 * _KNOT - 1, False), (2 * _KNOT + 1, True)])
def test_a_line_between_bounds_bends_each_thousand_samples_at_most(count, bends):
    line = 0.02 * np.abs(np.linspace(-1.0, 1.0, count))
    found = line_between(line - 1e-4, line + 1e-4, 0.01)
    assert (np.abs(np.diff(found, 2)).max() > 1e-9) == bends
    if bends:
        np.testing.assert_allclose(found, line, atol=2e-4)


def test_a_shorter_period_is_no_better_where_all_are_multiples_of_the_longer():
    rng = np.random.default_rng(13)
    for noise in (0.0, 0.02, 0.05, 0.08):
        interval = 0.01 * (1.0 + noise * rng.standard_normal(800))
        coherence, found = common_period(interval, np.full(800, 3e-4), 0.01)
        assert found == pytest.approx(0.01, rel=0.01)
        assert coherence == pytest.approx(np.exp(-2.0 * (np.pi * noise) ** 2), abs=0.02)


def test_of_stamps_in_a_row_that_no_sample_tells_only_the_first_is_counted():
    """A reader who makes up for what it missed stamps several samples of a rest at once."""
    count = 2000
    told = np.arange(count - 1) % 40 > 0
    steps = np.where(told, 1, 0)
    stamps = 0.01 * np.concatenate([[0], np.cumsum(steps)]) + 1e-7 * np.arange(count)
    found = period_by_stamps(0.01, stamps, np.full(count - 1, 0.01), told)
    assert found == pytest.approx(0.01, rel=1e-4)


@pytest.mark.parametrize('count', [1999, 2001, 9000])
def test_of_many_intervals_some_tell_the_period(count):
    """All over the recording: not those of its beginning alone, which are of another."""
    rng = np.random.default_rng(14)
    interval = 0.01 * rng.choice([1, 1, 2], count)
    interval[:count // 150] = 0.0137
    coherence, found = common_period(interval, np.full(count, 3e-4), float(np.mean(interval)))
    assert found == pytest.approx(0.01, rel=1e-3)
    assert coherence == pytest.approx(np.mean(np.cos(2.0 * np.pi * interval / found)), abs=3e-3)


@pytest.mark.parametrize('share', [0.7, 0.93])
def test_a_part_whose_stamps_are_odd_does_not_change_the_period(share):
    """The rates of some parts are taken where not nearly all is told, and the middle of these."""
    count = 4096
    told = np.ones(count - 1, bool)
    told[:round((1.0 - share) * count)] = False
    stamps = 0.01003 * np.arange(count)
    stamps[3000:] += 0.2
    found = period_by_stamps(0.01, stamps, np.full(count - 1, 0.01003), told)
    assert found == pytest.approx(0.01003, rel=1e-6)
    # Of all, such a part has its say.
    found = period_by_stamps(0.01, stamps, np.full(count - 1, 0.01003), np.ones(count - 1, bool))
    assert abs(found - 0.01003) > 1e-5


def test_counts_of_what_goes_back_by_the_samples_are_none():
    """Intervals that noise makes negative are no sample."""
    count = 1000
    interval = np.full(count - 1, 0.01)
    interval[::100] = -0.03
    stamps = 0.01 * np.concatenate([[0.0], np.cumsum(np.where(interval > 0.0, 1.0, 0.0))])
    found = period_by_stamps(0.0101, stamps, interval, np.ones(count - 1, bool))
    assert found == pytest.approx(0.01, rel=1e-9)


def test_what_is_odd_before_it_is_counted_is_said_to_be():
    """Counted wrong, slopes over time that is bent to the counts hide it."""
    rng = np.random.default_rng(15)
    for share, odd in ((0.0, False), (0.03, True)):
        steps = np.where(rng.random(1500) < share, 4.0 / 3.0, 1.0)
        time = 0.01 * np.cumsum(steps)
        position, velocity = turning(time)
        interval, deviation = state_intervals(time, position, velocity)
        found = fit_clock(
            time, 0.01, interval, deviation, measured_by(position, velocity))
        assert (found.odd > 0.02) == odd
        assert found.share_off == found.misfit / found.period
        assert (found.share_off > 0.02) == odd


@pytest.mark.parametrize('beats', [1.5, 3.0, 7.3])
def test_bounds_of_an_even_reader_leave_little_room(beats):
    """A period wide, they step from one side to the other where he reads a sample twice."""
    phase = beats * np.linspace(0.0, 1.0, 1500) % 1.0
    found = line_between(0.01 * (3.0 - phase), 0.01 * (4.0 - phase), 0.01)
    assert np.abs(found - 0.03).max() < 0.2 * 0.01


def test_a_line_is_between_bounds_though_some_are_far_to_one_side():
    """It swung between one in the middle of all and one inside, and ended anywhere."""
    index = np.linspace(0.0, 1.0, 1500)
    low, high = np.full(1500, -0.002), np.where(index < 0.3, 0.03, 0.002)
    for turned in (False, True):
        found = line_between(*((low, high) if not turned else (-high[::-1], -low[::-1])), 0.01)
        found = -found[::-1] if turned else found
        outside = found - np.clip(found, low, high)
        assert np.abs(outside).max() < 0.05 * 0.01
        assert np.mean(outside != 0.0) < 0.05
        assert found[0] > 0.002
