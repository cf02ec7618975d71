"""What `sampling_instants` promises, of logs that are made just so: fast."""
from made_logs import analysed, moving
import numpy as np
import pytest
from recordings import motion

from hodyn_ros.estimation.sampling_clock import sampling_instants

pytestmark = pytest.mark.fast

PERIODS = pytest.mark.parametrize('period', [1e-3, 1.0 / 60.0])


def never(stamps):
    """Return when older samples were seen, of a reader who receives each one once."""
    return np.append(-np.inf, stamps[:-1])


def received(period, count, seed, *, late=0.7, lost=0.0):
    """Return stamps of a reader who receives each sample once, up to `late` periods late."""
    rng = np.random.default_rng(seed)
    time = 5.0 + period * np.arange(count)
    time = time[rng.random(count) >= lost]
    return rng, time, time + period * rng.uniform(0.02, late, len(time))


def irregular(period, count, seed):
    """Return a generator, and instants of no clock."""
    rng = np.random.default_rng(seed)
    return rng, np.cumsum(period * rng.uniform(0.5, 1.5, count))


def polled(period, count, seed, *, beat=1e-3, jitter=0.05):
    """Return what a reader of the newest sample sees.

    Its period is a little longer or shorter. Instants, stamps under which each one was first seen,
    and the last stamps under which an older one was.
    """
    rng = np.random.default_rng(seed)
    ticks = 5.0 + period * np.arange(count + 2)
    reads = ticks[0] + period * (1.0 + beat) * np.arange(count) + period * rng.uniform(
        0.0, jitter, count) + 0.3 * period
    reads = np.sort(reads[reads < ticks[-1]])
    seen = np.searchsorted(ticks, reads, side='right') - 1
    first = np.append(True, np.diff(seen) > 0)
    older = np.append(-np.inf, reads[:-1])[first]
    return ticks[seen[first]], reads[first], older


@PERIODS
@pytest.mark.parametrize('lost', [0.0, 0.2])
def test_late_samples_are_on_the_clock_and_never_later_than_stamped(
        period, lost):
    _, time, stamps = received(period, 1500, 1, lost=lost)
    found, = sampling_instants(stamps, never(stamps), *moving(time, period))
    assert found.sampling_period == pytest.approx(period, rel=1e-4)
    np.testing.assert_allclose(
        np.diff(found.time), np.diff(time), rtol=0.0, atol=1e-3 * period)
    assert 0.0 < np.mean(found.time >= stamps - 1e-12) < 3e-3
    assert np.median(stamps - found.time) > 0.2 * period
    assert found.determined.mean() > 0.98
    assert found.determined.shape == found.time.shape
    # The steps of the stamps are off by the difference of two uniform delays.
    assert found.misfit == pytest.approx(0.68 * period / np.sqrt(6.0), rel=0.1)


@PERIODS
@pytest.mark.parametrize('beat', [3e-3, -3e-3, 0.35])
def test_what_is_polled_was_sampled_between_two_looks(period, beat):
    time, stamps, older = polled(period, 1500, 2, beat=beat)
    found, = sampling_instants(stamps, older, *moving(time, period))
    many = np.count_nonzero(older[1:] > stamps[:-1]) >= 5
    assert many == (beat < 0.1)
    assert found.sampling_period == pytest.approx(period, rel=1e-4)
    off = (found.time - time) / period
    assert np.ptp(off) < 0.02
    if many:
        assert np.mean((older - 0.01 * period < found.time)
                       & (found.time < stamps + 0.01 * period)) > 0.99
        assert np.abs(off).max() < 0.1  # with no delay left to guess
    else:
        assert np.mean(found.time <= stamps) > 0.99


@PERIODS
@pytest.mark.parametrize('drift', [2e-3, -2e-3])
def test_the_period_is_on_the_clock_of_the_stamps(period, drift):
    _, time, stamps = received(period, 1500, 3)
    stamps = stamps[0] + (1.0 + drift) * (stamps - stamps[0])
    found, = sampling_instants(stamps, never(stamps), *moving(time, period))
    assert found.sampling_period == pytest.approx((1.0 + drift) * period, rel=1e-4)
    assert np.ptp(stamps - found.time) < 0.8 * period
    time, stamps, older = polled(period, 1500, 4, beat=-4e-3)
    stamps, older = ((1.0 + drift) * values for values in (stamps, older))
    found, = sampling_instants(stamps, older, *moving(time, period))
    assert found.sampling_period == pytest.approx((1.0 + drift) * period, rel=1e-4)


@PERIODS
def test_a_drift_that_changes_is_followed(period):
    """By two thousandths, in the middle of 4000 samples."""
    _, time, stamps = received(period, 4000, 5)

    def clock(true):
        return true + 2e-3 * np.maximum(true - time[len(time) // 2], 0.0)

    found, = sampling_instants(clock(stamps), never(clock(stamps)), *moving(time, period))
    off = (found.time - clock(time)) / period
    assert np.isfinite(found.sampling_period)
    assert np.abs(off - np.median(off)).max() < 0.1


@PERIODS
@pytest.mark.parametrize('count', [5, 20, 21, 40])
def test_of_few_samples_the_stamps_are_kept(period, count):
    """Some twenty well measured intervals are the least that tell a clock."""
    _, time, stamps = received(period, count, 6)
    found, = sampling_instants(stamps, never(stamps), *moving(time, period, 1e-7))
    if count <= 20:
        np.testing.assert_array_equal(found.time, stamps)
        assert np.isnan(found.sampling_period)
        assert np.isnan(found.misfit)
        assert not found.determined.any()
    else:
        assert np.all(np.diff(found.time) > 0.0)


@PERIODS
def test_stamps_without_a_clock_are_kept_and_judged(period):
    rng, time = irregular(period, 1200, 7)
    for error in (0.0, 0.1):
        stamps = time + error * period * rng.uniform(-1.0, 1.0, 1200)
        found, = sampling_instants(stamps, never(stamps), *moving(time, period))
        np.testing.assert_array_equal(found.time, stamps)
        assert np.isnan(found.sampling_period)
        assert not found.determined.any()
        # Of the steps, which have the errors of two stamps.
        assert found.misfit == pytest.approx(
            error * period * np.sqrt(2.0 / 3.0), abs=0.03 * period)


@PERIODS
@pytest.mark.parametrize('shift', [2.6, -2.6, 4.0, -12.0])
@pytest.mark.parametrize('at', [400, 801])
def test_a_clock_that_is_set_is_set_once(period, shift, at):
    _, time, stamps = received(period, 1500, 8, late=0.3)
    stamps[at:] += shift * period
    if shift < 0.0:  # what is stamped before is left out, before this sees it
        kept = np.append(stamps[:at] < stamps[at], np.ones(len(stamps) - at, bool))
        time, stamps = time[kept], stamps[kept]
    at = int(np.argmax(time >= 5.0 + at * period - 1e-9))
    parts = sampling_instants(stamps, never(stamps), *moving(time, period))
    breaks = np.cumsum([len(part.time) for part in parts])[:-1]
    assert np.abs(breaks - at).min() <= 1
    assert np.ptp(breaks) <= 2
    far = np.abs(np.arange(len(time)) - at) > 2
    delay = (stamps - np.concatenate([part.time for part in parts])) / period
    assert np.all((delay[far] > -0.1) & (delay[far] < 0.4))


@PERIODS
@pytest.mark.parametrize(('seed', 'late', 'steps', 'shares', 'part'), [
    (9, 0.5, (2.0, 3.0, 5.0), (0.5, 0.25, 0.25), 1), (10, 0.4, (1.0, 1.5), (0.96, 0.04), 2),
    *((17, 0.2, (1.0, 1.0 + 1.0 / part), (1.0 - share, share), part)
      for part in (2, 3) for share in (0.03, 0.06))])
def test_intervals_of_whole_steps_of_a_clock_are_counted_by_it(
        period, seed, late, steps, shares, part):
    """Of a reader who takes every other sample, or of samples rarely off by a part of a period."""
    rng = np.random.default_rng(seed)
    time = period * np.cumsum(rng.choice(steps, 1500, p=shares))
    stamps = time + period * rng.uniform(0.0, late, 1500)
    found, = sampling_instants(stamps, never(stamps), *moving(time, period))
    assert found.sampling_period == pytest.approx(period / part, rel=1e-3)
    np.testing.assert_allclose(np.diff(found.time), np.diff(time), rtol=0.0, atol=0.05 * period)


@PERIODS
@pytest.mark.parametrize('rest', [0.5, 0.9])
def test_rests_are_counted_by_the_stamps(period, rest):
    """Where nothing moves no interval is told; the count goes on as the stamps say."""
    _, time, stamps = received(period, 3000, 11, late=0.3)
    begin, many = 150, int((1.0 - rest) * 3000)
    moves = np.clip(time - time[begin], 0.0, many * period)
    position, velocity = moving(moves, period)
    velocity[(moves == 0.0) | (moves == moves[-1])] = 0.0
    found, = sampling_instants(stamps, never(stamps), position, velocity)
    inside = slice(begin + 5, begin + many - 5)
    assert found.sampling_period == pytest.approx(period, rel=1e-3)
    assert found.determined[inside].mean() > 0.98
    assert found.determined[begin + many + 5:].mean() < 0.05
    assert np.abs(np.diff(found.time - time)[inside]).max() < 0.05 * period
    assert np.abs(found.time - time).max() < 2.0 * period


def test_stamps_in_milliseconds_are_restored():
    period = 2.5e-3
    _, time, stamps = received(period, 1500, 13, late=0.1)
    stamps = np.ceil(1e3 * stamps) * 1e-3
    found, = sampling_instants(stamps, never(stamps), *moving(time, period))
    assert found.sampling_period == pytest.approx(period, rel=1e-4)
    np.testing.assert_allclose(np.diff(found.time), period, rtol=1e-3)


@pytest.mark.parametrize(('every', 'jitter', 'recorded'), [
    (4, 0.05, True), (4, 0.3, True), (10, 0.3, True), (4, 0.05, False), (4, 0.3, False)])
def test_a_reader_at_a_part_of_the_rate_has_the_states_of_the_clock(every, jitter, recorded):
    """Each state is up to a period old: intervals tell to a part of it which one it is."""
    period = 1e-3
    rng = np.random.default_rng(every)
    stamps = 3.0 + every * period * (1.0 + 4e-4) * np.arange(900)
    stamps += jitter * period * rng.standard_normal(len(stamps))
    stamps = stamps[rng.random(len(stamps)) > 0.02]
    time = np.floor(stamps / period) * period
    position, velocity = moving(time, 5e-3)
    found, = sampling_instants(
        stamps, never(stamps), position, velocity if recorded else np.full_like(velocity, np.nan))
    assert found.sampling_period == pytest.approx(period, rel=1e-4)
    off = (found.time - time) / period
    assert np.std(stamps - time) > 0.25 * period
    assert np.ptp(off) < 0.1


@pytest.mark.parametrize('seed', range(4))
def test_single_samples_that_stamps_in_milliseconds_hide_are_found(seed):
    """Slopes over a step that is counted too short agree with it: 0.8, 1.4, 0.8 for 1, 2, 1."""
    period = 1e-3
    rng = np.random.default_rng(seed)
    reads = 3.0 + period * (np.arange(3000) + 0.2 * rng.standard_normal(3000))
    reads = np.sort(reads[rng.random(3000) > 0.05])
    time = np.floor(reads / period) * period
    stamps, kept = np.unique(np.round(reads, 3), return_index=True)
    time = time[kept]
    fresh = np.append(True, np.diff(time) > 0.0)
    older = np.append(-np.inf, stamps[:-1])[fresh]
    stamps, time = stamps[fresh], time[fresh]
    position, velocity = moving(time, 5e-3)
    velocity += 5e-3 * rng.standard_normal(velocity.shape)
    found, = sampling_instants(stamps, older, position, velocity)
    assert found.sampling_period == pytest.approx(period, rel=1e-5)
    assert np.ptp(found.time - time) < 0.05 * period


@pytest.mark.parametrize('length', [8, 30, 60])
def test_samples_that_were_held_up_get_their_instants_and_no_gap(length):
    """A reader stands still now and then, and receives then at once what came meanwhile."""
    period = 1e-3
    rng = np.random.default_rng(length)
    index = np.arange(4000)
    time = period * index * (1.0 + 2e-4)
    stamps = time + period * (0.2 + 0.05 * rng.standard_normal(len(index)))
    for begin in range(300, 3800, 500):
        held_up = slice(begin, begin + length)
        stamps[held_up] = stamps[begin + length] + 1e-5 * (np.arange(length) - length)
    run, = analysed(stamps, *moving(time, period)).runs
    off = run.time - time
    assert np.abs(off - np.median(off)).max() < 0.05 * period


@PERIODS
def test_stamps_that_agree_with_the_positions_as_well_as_a_clock_are_kept(period):
    """Nothing is gained by another clock: the positions are too noisy to say."""
    rng = np.random.default_rng(14)
    time = period * np.arange(1500)
    stamps = time + 1e-4 * period * rng.standard_normal(1500)
    omega = 1e-2 / period
    position, velocity = moving(time, period, 0.05 * period * min(omega, 2.0))
    found, = sampling_instants(stamps, never(stamps), position, velocity)
    np.testing.assert_array_equal(found.time, stamps)
    assert np.isnan(found.sampling_period)


@PERIODS
def test_what_stamps_contradict_is_judged_where_the_arm_moves(period):
    rng, time = irregular(period, 1600, 15)
    stamps = time + 0.1 * period * rng.uniform(-1.0, 1.0, 1600)
    stops = np.minimum(time, time[800])
    position, velocity = moving(stops, period)
    velocity[800:] = 0.0
    velocity += 1e-4 * rng.standard_normal(velocity.shape)
    found, = sampling_instants(stamps, never(stamps), position, velocity)
    assert np.isnan(found.sampling_period)
    assert found.misfit == pytest.approx(0.1 * period * np.sqrt(2.0 / 3.0), abs=0.07 * period)


@PERIODS
@pytest.mark.parametrize('beat', [-0.02, -0.05])
def test_an_even_reader_of_an_even_clock_gives_the_whole_period(period, beat):
    """Of a third of 19.6 ms, 19.6 and 39.2 ms are multiples, as far as positions tell."""
    time, stamps, older = polled(period, 900, 16, beat=beat, jitter=0.0)
    found, = sampling_instants(stamps, older, *moving(time, period, 1e-5))
    assert found.sampling_period == pytest.approx(period, rel=1e-3)
    assert np.ptp(found.time - time) < 0.05 * period


@PERIODS
@pytest.mark.parametrize('share', [0.03, 0.25])
def test_bounds_that_many_instants_contradict_are_not_believed(period, share):
    """Some looks that came late do no harm; a reader whose looks are not his is not followed."""
    time, stamps, older = polled(period, 1500, 19, beat=-1e-2)
    rng = np.random.default_rng(19)
    wrong = rng.random(len(stamps)) < share
    older[1:][wrong[1:]] = (stamps - 1e-3 * period)[1:][wrong[1:]]
    found, = sampling_instants(stamps, older, *moving(time, period))
    if share < 0.1:
        assert np.ptp(found.time - time) < 0.1 * period
    else:
        np.testing.assert_array_equal(found.time, stamps)
        assert np.isnan(found.sampling_period)


def test_of_an_arm_that_hardly_ever_moves_nothing_is_told():
    period = 1e-3
    _, time, stamps = received(period, 2000, 22)
    moves = np.clip(time - time[1000], 0.0, 15 * period)
    position, velocity = moving(moves, period, 1e-7)
    velocity[(moves == 0.0) | (moves == moves[-1])] = 0.0
    parts = sampling_instants(stamps, never(stamps), position, velocity)
    np.testing.assert_array_equal(np.concatenate([part.time for part in parts]), stamps)
    assert np.isnan([part.sampling_period for part in parts]).all()
    assert np.isnan([part.misfit for part in parts]).all()


@PERIODS
def test_a_stamp_that_strays_counts_as_one_period_in_the_misfit(period):
    _, time = irregular(period, 1200, 23)
    stamps = time.copy()
    stamps[300:] += 200.0 * period
    found, = sampling_instants(stamps, never(stamps), *moving(time, period))
    assert np.isnan(found.sampling_period)
    assert found.misfit < period


@PERIODS
@pytest.mark.parametrize('late', [0.3, 0.8])
def test_instants_increase_near_their_stamps_whichever_joint_comes_first(period, late):
    """Whatever is lost, and whichever joint comes first."""
    for seed in range(24, 28):
        rng, time, stamps = received(
            period, 700, seed, late=late, lost=0.05 * (seed % 4))
        position, velocity = moving(time, period)
        here, = sampling_instants(stamps, never(stamps), position, velocity)
        assert np.all(np.diff(here.time) > 0.0)
        assert np.abs(here.time - stamps).max() < 2.0 * period
        order = rng.permutation(position.shape[1])
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
