"""What `sampling_instants` promises, of logs that are made just so: fast."""
from functools import partial

from made_logs import assert_as_promised, moving, never, newest, received, swinging
import numpy as np
import pytest
from recordings import motion

from hodyn_ros.estimation.sampling_clock import sampling_instants

pytestmark = pytest.mark.fast

PERIODS = pytest.mark.parametrize('period', [1e-3, 1.0 / 60.0])


def irregular(period, count, seed, error=0.0):
    """Return a log of no clock, whose stamps have uniform errors of up to a share of a period."""
    rng = np.random.default_rng(seed)
    time = np.cumsum(period * rng.uniform(0.5, 1.5, count))
    return swinging(time, time + error * period * rng.uniform(-1.0, 1.0, count), period)


@PERIODS
@pytest.mark.parametrize('lost', [0.0, 0.2])
def test_late_samples_are_on_the_clock_and_never_later_than_stamped(
        period, lost):
    log = received(period, 1500, 1, lost=lost)
    found, = log.instants()
    assert_as_promised(log, [found], step=1e-3)
    assert 0.0 < np.mean(found.time >= log.stamps - 1e-12) < 3e-3
    assert np.median(log.stamps - found.time) > 0.2 * period
    assert found.determined.mean() > 0.98
    assert found.determined.shape == found.time.shape
    # The steps of the stamps are off by the difference of two uniform delays.
    assert found.misfit == pytest.approx(0.68 * period / np.sqrt(6.0), rel=0.1)


@PERIODS
@pytest.mark.parametrize('beat', [3e-3, -3e-3, 0.35])
def test_what_is_polled_was_sampled_between_two_looks(period, beat):
    log = newest(period, 1500, 2, beat=beat)
    found, = log.instants()
    assert_as_promised(log, [found], off=0.01)
    many = np.count_nonzero(log.older[1:] > log.stamps[:-1]) >= 5
    assert many == (beat < 0.1)
    if many:
        assert np.mean((log.older - 0.01 * period < found.time)
                       & (found.time < log.stamps + 0.01 * period)) > 0.99
        assert np.abs(found.time - log.time).max() < 0.1 * period  # with no delay left to guess
    else:
        assert np.mean(found.time <= log.stamps) > 0.99


def of_noisy_positions(period):
    """Nothing is gained by another clock: the positions are too noisy to say."""
    time = period * np.arange(1500)
    stamps = time + 1e-4 * period * np.random.default_rng(14).standard_normal(1500)
    return swinging(time, stamps, period, 0.05 * period * min(1e-2 / period, 2.0))


def that_stops(period):
    """Stamps are judged where the arm moves."""
    log, rng = irregular(period, 1600, 15, 0.1), np.random.default_rng(15)
    position, velocity = moving(np.minimum(log.time, log.time[800]), period)
    log.position[:] = position
    velocity[800:] = 0.0
    log.velocity[:] = velocity + 1e-4 * rng.standard_normal(velocity.shape)
    return log


def that_hardly_moves(period):
    log = received(period, 2000, 22)
    moves = np.clip(log.time - log.time[1000], 0.0, 15 * period)
    log.position[:], log.velocity[:] = moving(moves, period, 1e-7)
    log.velocity[(moves == 0.0) | (moves == moves[-1])] = 0.0
    return log


def contradicted(period, share):
    """A reader whose looks are not his is not followed; some that came late do no harm."""
    log, rng = newest(period, 1500, 19, beat=-1e-2), np.random.default_rng(19)
    wrong = rng.random(len(log.stamps)) < share
    log.older[1:][wrong[1:]] = (log.stamps - 1e-3 * period)[1:][wrong[1:]]
    return log


def that_strays(period):
    """A jump of the stamps counts as one period."""
    log = irregular(period, 1200, 23)
    log.stamps[300:] = log.time[300:] + 200.0 * period
    return log


@PERIODS
@pytest.mark.parametrize(('make', 'misfit'), [
    # Some twenty well measured intervals are the least that tell a clock.
    *((partial(received, count=count, seed=6, noise=1e-7), (np.nan, 0.0)) for count in (5, 20)),
    # Of the steps, which have the errors of two stamps.
    *((partial(irregular, count=1200, seed=7, error=error), (error * np.sqrt(2.0 / 3.0), 0.03))
      for error in (0.0, 0.1)),
    (that_stops, (0.1 * np.sqrt(2.0 / 3.0), 0.07)), (that_strays, (0.5, 0.5)),
    (that_hardly_moves, (np.nan, 0.0)), (of_noisy_positions, None),
    (partial(contradicted, share=0.25), None)])
def test_stamps_without_a_clock_are_kept_and_judged(period, make, misfit):
    log = make(period)
    parts = log.instants()
    assert len(parts) == 1 or make in (that_hardly_moves, that_strays)
    np.testing.assert_array_equal(np.concatenate([part.time for part in parts]), log.stamps)
    for part in parts:
        assert np.isnan(part.sampling_period)
        assert not part.determined.any()
        assert misfit is None or part.misfit / period == pytest.approx(
            misfit[0], abs=misfit[1], nan_ok=True)


@PERIODS
@pytest.mark.parametrize('count', [21, 40])
def test_of_few_samples_the_instants_increase(period, count):
    found, = received(period, count, 6, noise=1e-7).instants()
    assert np.all(np.diff(found.time) > 0.0)


@PERIODS
@pytest.mark.parametrize('shift', [2.6, -2.6, 4.0, -12.0])
@pytest.mark.parametrize('at', [400, 801])
def test_a_clock_that_is_set_is_set_once(period, shift, at):
    log = received(period, 1500, 8, late=0.3)
    log.stamps[at:] += shift * period
    if shift < 0.0:  # what is stamped before is left out, before this sees it
        log = log[np.append(log.stamps[:at] < log.stamps[at], np.ones(1500 - at, bool))]
    at = int(np.argmax(log.time >= 5.0 + at * period - 1e-9))
    parts = log.instants()
    breaks = np.cumsum([len(part.time) for part in parts])[:-1]
    assert np.abs(breaks - at).min() <= 1
    assert np.ptp(breaks) <= 2
    far = np.abs(np.arange(len(log.time)) - at) > 2
    delay = (log.stamps - np.concatenate([part.time for part in parts])) / period
    assert np.all((delay[far] > -0.1) & (delay[far] < 0.4))


@PERIODS
@pytest.mark.parametrize('rest', [0.5, 0.9])
def test_rests_are_counted_by_the_stamps(period, rest):
    """Where nothing moves no interval is told; the count goes on as the stamps say."""
    log = received(period, 3000, 11, late=0.3)
    begin, many = 150, int((1.0 - rest) * 3000)
    moves = np.clip(log.time - log.time[begin], 0.0, many * period)
    position, velocity = moving(moves, period)
    velocity[(moves == 0.0) | (moves == moves[-1])] = 0.0
    found, = sampling_instants(log.stamps, never(log.stamps), position, velocity)
    inside = slice(begin + 5, begin + many - 5)
    assert found.sampling_period == pytest.approx(period, rel=1e-3)
    assert found.determined[inside].mean() > 0.98
    assert found.determined[begin + many + 5:].mean() < 0.05
    assert np.abs(np.diff(found.time - log.time)[inside]).max() < 0.05 * period
    assert np.abs(found.time - log.time).max() < 2.0 * period


@PERIODS
def test_bounds_that_a_few_instants_contradict_do_no_harm(period):
    log = contradicted(period, 0.03)
    assert_as_promised(log, log.instants())


@PERIODS
@pytest.mark.parametrize('late', [0.3, 0.8])
def test_instants_increase_near_their_stamps_whichever_joint_comes_first(period, late):
    """Whatever is lost, and whichever joint comes first."""
    for seed in range(24, 28):
        log = received(period, 700, seed, late=late, lost=0.05 * (seed % 4))
        stamps, position, velocity = log.stamps, log.position, log.velocity
        here, = log.instants()
        assert np.all(np.diff(here.time) > 0.0)
        assert np.abs(here.time - stamps).max() < 2.0 * period
        order = np.random.default_rng(seed).permutation(position.shape[1])
        turned, = sampling_instants(
            stamps, never(stamps), -3.0 * position[:, order], -3.0 * velocity[:, order])
        np.testing.assert_allclose(turned.time, here.time, rtol=0.0, atol=1e-6 * period)
        np.testing.assert_array_equal(turned.determined, here.determined)
        assert turned.misfit == pytest.approx(here.misfit, rel=1e-6)
        slower, = sampling_instants(2.0 * stamps, 2.0 * never(stamps), position, 0.5 * velocity)
        if period < 0.01:  # slower motion bends as much in less time
            np.testing.assert_allclose(
                slower.time, 2.0 * here.time, rtol=0.0, atol=1e-2 * period)


@pytest.mark.parametrize('rate', [60.0, 80.0])
@pytest.mark.parametrize('seed', range(2))
def test_a_slow_reader_of_a_quick_clock_is_not_restored_to_long_before(rate, seed):
    """One part was put 70 ms before its stamps, of which 12.5 ms are the most there can be."""
    rng = np.random.default_rng(seed)
    stamps = np.arange(3000) / rate + 3e-4 * rng.random(3000)
    true = np.floor(stamps / 4e-3) * 4e-3
    omega = 2.0 * np.pi * (0.2 + 0.07 * np.arange(4))
    position = 0.5 * np.sin(omega * true[:, None] + np.arange(4))
    position += 1e-7 * rng.standard_normal(position.shape)
    parts = sampling_instants(stamps, never(stamps), position, np.full_like(position, np.nan))
    time = np.concatenate([part.time for part in parts])
    assert np.median(stamps - time) <= 1.0 / rate + 2 * 4e-3
    assert np.std(time - true) < 1.1 * np.std(stamps - true)


def test_rounded_positions_do_not_make_late_stamps_a_clock_that_was_set():
    period, quantum = 5e-4, 1e-3
    true = period * np.arange(12_000)
    late = np.random.default_rng(24).exponential(0.3 * period, len(true))
    stamps = np.maximum.accumulate(true + late + 1e-8 * np.arange(len(true)))
    q = motion(true)
    position = quantum * np.round(q[:, 0] / quantum)
    velocity = q[:, 1] + 1e-3 * np.random.default_rng(25).standard_normal(position.shape)
    found, = sampling_instants(stamps, never(stamps), position, velocity)
    np.testing.assert_array_equal(found.time, stamps)
