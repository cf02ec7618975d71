"""The parts by which the clock of the sampling is found, each of made-up numbers: fast."""
from made_logs import measured_by
import numpy as np
import pytest

from hodyn_ros.estimation.clock_drift import drift_line, line_between, where_set
from hodyn_ros.estimation.clock_fit import MAX_MOVE, fit_clock
from hodyn_ros.estimation.derivatives import _resolution
from hodyn_ros.estimation.period_search import common_period, period_by_stamps
from hodyn_ros.estimation.sampling_clock import _beyond, _mean
from hodyn_ros.estimation.state_intervals import state_intervals
from hodyn_ros.estimation.timing import _repeats, _seen_before, typical_period


def test_rounding_is_told_by_the_least_step():
    """Of all runs; that of numbers rounded to a step is its twelfth root of variance."""
    step = 3e-4
    rng = np.random.default_rng(0)
    fine = np.round(rng.uniform(-1.0, 1.0, 20_000) / step) * step
    coarse = fine[:50] * 8.0
    series = [(fine[:0], part, part) for part in (coarse, fine, fine[:1])]
    exact = rng.uniform(-1.0, 1.0, (200_000, 2))
    rounded = np.round(exact / step) * step
    assert _resolution(series, 1) == pytest.approx(step / np.sqrt(12.0), rel=1e-6)
    assert _resolution(series, 1) == pytest.approx(np.std(exact - rounded), rel=0.01)
    assert _resolution([(fine[:0], np.ones(9), fine)], 1) == 0.0


@pytest.mark.parametrize(('steps', 'period'), [
    ([0.01] * 200, 0.01), ([0.01] * 150 + [5.0], 0.01), ([0.01, 0.0, -3.0, 0.01], 0.01),
    # Ten at once every tenth of a second: 0.1 ms apart within the burst.
    (([1e-4] * 9 + [0.0991]) * 30, 0.01), ([0.0], np.nan)])
def test_the_typical_period_is_the_median_or_the_mean_of_bursts(steps, period):
    stamps = np.round(1e9 * np.cumsum([1.0, *steps])).astype(np.int64)
    assert typical_period(stamps) == pytest.approx(period, rel=0.12, nan_ok=True)


def test_a_reader_that_polls_repeats_and_a_robot_at_rest_does_not():
    def repeats(changes, time=None, rest=-1):
        """Of an arm that goes on, but slowly at first after its rest."""
        changes = np.asarray(changes)
        steps = np.where(changes > 0, 1e-3, 0.0)
        steps[np.flatnonzero(steps)[1:2]] = 1e-6  # what is recorded is finer than a step
        steps[np.flatnonzero(steps)[np.flatnonzero(steps) > rest][:rest > 0]] = 1e-6
        time = 0.001 * np.arange(len(changes)) if time is None else time
        return _repeats(changes, time, np.cumsum(steps)[:, np.newaxis])

    changes = np.tile([7, 0, 0], 40)
    np.testing.assert_array_equal(repeats(changes), changes == 0)
    # A rest is no repeat; three times as long as usual it still may be one.
    for reads, is_rest in ((11, True), (10, False)):
        some = np.concatenate([changes[:60], [7], np.zeros(reads - 1, int), changes[60:]])
        found = repeats(some, rest=60)
        assert found[61:60 + reads].any() == (not is_rest)
        np.testing.assert_array_equal(np.delete(found, slice(60, 60 + reads)), changes == 0)
        # Nor is it one of an arm that is a usual step away right after it.
        np.testing.assert_array_equal(repeats(some), some == 0)
    # After what is longer than states are held up, the arm is as far away as it went meanwhile.
    some = np.concatenate([changes[:60], [7], np.zeros(MAX_MOVE, int), changes[60:]])
    assert not repeats(some)[61:61 + MAX_MOVE].any()
    # Nor are reads that were held up and came all at once, in the time of one.
    some = np.concatenate([changes[:60], [7], np.zeros(11, int), changes[60:]])
    time = 0.001 * np.arange(len(some))
    time[61:72] = time[60] + 1e-6 * np.arange(1, 12)
    assert repeats(some, time, rest=60)[61:72].all()
    # Numbers that hardly ever change are no states of an arm that moves.
    assert not repeats(np.tile([2, 0, 0], 40)).any()
    assert not repeats(np.full(50, 7)).any()
    # Nor do two motions tell how long is long.
    for some in ([7, 0, 0, 0], [7, 0, 0, 7, 0, 0]):
        assert not repeats(some).any()


def test_what_was_shown_before_by_another_publisher_is_known_again():
    rng = np.random.default_rng(1)
    states = rng.standard_normal((60, 4))
    late = 5
    rows = np.concatenate([states[:late], *(
        np.array([states[k], states[k - late]]) for k in range(late, 60))])
    changes = np.full(len(rows), 4)
    expected = np.zeros(len(rows), bool)
    expected[late + 1::2] = True
    np.testing.assert_array_equal(_seen_before(rows, changes), expected)
    # The state right before is a repeat of its own; and long ago it may have been by accident.
    assert not _seen_before(np.repeat(states, 2, axis=0), np.full(120, 4)).any()
    again = np.concatenate([states[:20], states[:1]])
    assert _seen_before(again, np.full(21, 4))[-1]
    again = np.concatenate([states[:21], states[:1]])
    assert not _seen_before(again, np.full(22, 4)).any()
    # So it may where hardly anything changes.
    assert not _seen_before(rows, np.full(len(rows), 2)).any()


def test_means_are_of_what_is_known_and_weighed():
    assert _mean([1.0, np.nan, 4.0], np.array([1, 50, 2])) == pytest.approx(3.0)
    assert np.isnan(_mean([np.nan], np.array([3])))


def test_a_misfit_is_what_noise_does_not_explain():
    rng = np.random.default_rng(2)
    noise = rng.standard_normal(5000)
    assert _beyond(noise, np.ones(5000)) < 0.25
    assert _beyond(noise + 3.0, np.ones(5000)) == pytest.approx(3.0, rel=0.02)
    assert np.isnan(_beyond(noise[:19], np.ones(19)))
    assert np.isfinite(_beyond(noise[:20], np.ones(20)))


@pytest.mark.parametrize('period', [0.004, 0.001, 0.0101])
def test_the_common_period_of_multiples_is_found(period):
    rng = np.random.default_rng(3)
    multiples = rng.choice([1, 1, 1, 2, 3], 400)
    deviation = 0.03 * period * np.ones(400)
    interval = period * multiples + deviation * rng.standard_normal(400)
    coherent, found = common_period(interval, deviation, float(np.mean(interval)))
    assert found == pytest.approx(period, rel=5e-3)
    assert coherent > 0.95
    # Intervals of every length have none.
    coherent, _ = common_period(
        period * rng.uniform(1.0, 3.0, 400), deviation, 2.0 * period)
    assert coherent < 0.5


def test_the_period_is_that_of_the_stamps_where_samples_are_counted():
    rng = np.random.default_rng(4)
    true, count = 0.0040123, 3000
    samples = np.cumsum(np.concatenate([[0], rng.choice([1, 1, 2], count)]))
    stamps = true * samples + 2e-4 * rng.standard_normal(count + 1)
    interval = true * np.diff(samples)
    told = np.ones(count, bool)
    assert period_by_stamps(0.004, stamps, interval, told) == pytest.approx(true, rel=1e-4)
    # Where nothing tells how many samples passed, or it would be quite another, it is as given.
    assert period_by_stamps(0.004, stamps, interval, ~told) == 0.004
    assert period_by_stamps(0.0030, 0.75 * stamps[0] + 1.5 * stamps, interval, told) == 0.0030


@pytest.mark.parametrize('at', [300, 511, 700])
@pytest.mark.parametrize('height', [0.5, -1.0])
def test_a_step_of_the_ages_is_found_to_the_sample(at, height):
    rng = np.random.default_rng(5)
    period = 0.01
    ages = 0.05 * period * rng.standard_normal(1000)
    assert not len(where_set(ages, period))
    ages[at:] += height * period
    (found,) = where_set(ages, period)
    assert abs(found - at) <= 1
    # Less than that is none, and neither is a moment.
    assert not len(where_set(0.6 * ages if height == 0.5 else 0.3 * ages, period))
    ages[at + 20:] -= height * period
    assert not len(where_set(ages, period))


def test_the_drift_of_a_clock_is_a_line_which_breaks_where_the_clock_does():
    rng = np.random.default_rng(6)
    index = np.arange(6000)
    noise = 1e-4 * rng.standard_normal(6000)
    noise[::50] += 0.05  # stamps that stray
    straight = 3e-7 * index + 0.2
    np.testing.assert_allclose(drift_line(straight + noise), straight, atol=3e-5)
    broken = straight + 2e-6 * np.maximum(index - 3000, 0)
    noise = 1e-4 * rng.standard_normal(6000)
    np.testing.assert_allclose(drift_line(broken + noise), broken, atol=3e-5)


def test_a_line_between_bounds_is_straight_unless_a_broken_one_is_much_better():
    rng = np.random.default_rng(7)
    index, period = np.arange(4000), 0.01
    straight = 1e-6 * index
    room = period * rng.uniform(0.2, 0.8, (2, 4000))
    found = line_between(straight - room[0], straight + room[1], period)
    assert np.abs(np.diff(found, 2)).max() < 1e-12
    assert np.mean((found > straight - room[0]) & (found < straight + room[1])) > 0.98
    broken = straight + 2e-5 * np.maximum(index - 2000, 0)
    found = line_between(broken - room[0], broken + room[1], period)
    assert np.mean((found > broken - room[0]) & (found < broken + room[1])) > 0.9


def polled(count, period, seed):
    """Return stamps and states of an arm that is sampled by a clock and read a little later."""
    rng = np.random.default_rng(seed)
    time = period * np.arange(count)
    omega = rng.uniform(1.0, 4.0, 5)
    position = np.sin(time[:, None] * omega + rng.uniform(0.0, 6.0, 5))
    velocity = np.gradient(position, time, axis=0)
    return time + period * rng.uniform(0.0, 0.6, count), time, position, velocity


@pytest.mark.parametrize('at', [300, 601])
@pytest.mark.parametrize('shift', [5.0, -5.0])
def test_a_clock_that_was_set_is_broken_before_the_sample_where_it_was(at, shift):
    period = 0.01
    stamps, _, position, velocity = polled(1000, period, 8)
    stamps[at:] += shift * period
    interval, deviation = state_intervals(np.sort(stamps), position, velocity)
    found = fit_clock(stamps, period, interval, deviation, measured_by(position, velocity))
    if len(found.breaks):
        assert np.abs(found.breaks - at).min() == 0
        assert len(found.breaks) <= 2


def test_counts_are_those_of_the_samples():
    period = 0.01
    stamps, time, position, velocity = polled(1200, period, 9)
    lost = np.zeros(1200, bool)
    lost[[100, 400, 401, 777]] = True
    stamps, time, position, velocity = (
        values[~lost] for values in (stamps, time, position, velocity))
    interval, deviation = state_intervals(stamps, position, velocity)
    found = fit_clock(
        stamps, 1.001 * period, interval, deviation, measured_by(position, velocity))
    np.testing.assert_array_equal(np.diff(found.count), np.round(np.diff(time) / period))
    assert found.period == pytest.approx(period, rel=1e-4)
    assert len(found.breaks) == 0
    assert found.misfit < 0.2 * period
    assert found.odd < 0.01
