"""Logs with known instants: these are restored to a tenth of a period, or taken as stamped."""
from made_logs import PERIOD, polled, states
import numpy as np
import pytest
from recordings import motion

from hodyn_ros.estimation.derivatives import Samples, fit_noise, smooth
from hodyn_ros.estimation.timing import StampStatus, analyse
from hodyn_ros.estimation.timing_statistics import TimingStatistics


def errors(found, timing, instants):
    """Return errors of the instants of each run, s, less a delay that is common to all."""
    off = []
    for run in timing.runs:
        time = (found.stamp[run.message[0]] * 1e-9 + run.time)[run.sample]
        off.append(time - instants[run.message])
        off[-1] -= np.median(off[-1])
    return np.concatenate(off)


def statistics(found, timing):
    """Return what a report would say."""
    gathered = TimingStatistics(timing.clock, timing.period)
    gathered.add(found, timing, slice(0, len(found)))
    return gathered


@pytest.mark.parametrize(('seed', 'lag'), [(0, 0.0), (1, 5e-3)])
def test_accelerations_of_a_polled_controller_fit_the_true_instants(seed, lag):
    """But for a delay common to all samples, which no log tells."""
    reads, instants = polled(seed, duration=2.0)
    found = states(reads, instants, seed, lag=lag)
    run, = analyse(found).runs
    first = run.first_message
    restored = run.time + found.stamp[0] * 1e-9
    restored -= np.median(restored - instants[first])
    truth = motion(instants[first])[:, 2]
    rms = []
    for time in (restored, instants[first]):
        given = Samples(time, found.position[first], found.velocity[first])
        q = smooth(given, fit_noise([given])).q
        rms.append(np.sqrt(np.mean((q[:, 2] - truth)[20:-20] ** 2)))
    assert rms[0] < 1.03 * rms[1]


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('older', ['position', 'velocity', 'either'])
def test_states_that_were_read_while_they_were_written_are_left_out(older, seed):
    """Of a public log of a Panda, 15 made its clock seem to be set 25 times."""
    reads, instants = polled(seed)
    found = states(reads, instants, seed)
    rng = np.random.default_rng(seed)
    fresh = np.flatnonzero(np.diff(instants, prepend=instants[0]) > 0.0)[20:-20]
    torn = np.sort(rng.choice(fresh[::3], 15, replace=False))
    for i in torn:
        half = older if older != 'either' else rng.choice(['position', 'velocity'])
        getattr(found, half)[i] = getattr(found, half)[i - 1]
    timing = analyse(found)
    np.testing.assert_array_equal(np.flatnonzero(timing.status == StampStatus.TORN), torn)
    assert not statistics(found, timing).clock_steps
    assert np.abs(errors(found, timing, instants)).max() < 0.1 * PERIOD
    whole = states(reads, instants, seed)
    assert not np.any(analyse(whole).status == StampStatus.TORN)


@pytest.mark.parametrize(('position', 'velocity'), [(1, 4), (4, 1)])
def test_states_whose_halves_refresh_at_different_rates_are_not_torn(position, velocity):
    _, instants = even(0)
    found = states(instants, instants, 0)
    index = np.arange(len(instants))
    found.position[:] = found.position[index // position * position]
    found.velocity[:] = found.velocity[index // velocity * velocity]
    assert not np.any(analyse(found).status == StampStatus.TORN)


@pytest.mark.parametrize('seed', range(6))
def test_states_that_are_held_up_on_their_way_are_no_rest(seed):
    """The newest state that is there stays for some milliseconds; others follow late, or never."""
    reads, instants = polled(seed)
    rng = np.random.default_rng(seed)
    shown = instants.copy()
    for i in rng.choice(np.arange(100, len(reads) - 100, 30), 25, replace=False):
        end = i + int(rng.integers(4, 10))
        shown[i:end] = shown[i]
        if rng.random() < 0.5:  # what is late comes one after the other, as fast as it is read
            later = end + int(rng.integers(1, 5))
            shown[end:later] = np.minimum(
                shown[end:later], shown[i] + PERIOD * np.arange(1, later - end + 1))
    ticks = np.unique(instants)
    shown = ticks[np.searchsorted(ticks, shown + 0.5 * PERIOD) - 1]
    found = states(reads, shown, seed)
    timing = analyse(found)
    assert not statistics(found, timing).clock_steps
    off = np.abs(errors(found, timing, shown))
    assert np.mean(off < 0.1 * PERIOD) > 0.995


def even(seed, count=5000):
    """Return a generator and instants of a clock."""
    return np.random.default_rng(seed), np.arange(count) * PERIOD


@pytest.mark.parametrize('velocity', [True, False])
@pytest.mark.parametrize('jitter', [1e-5, 2e-4])
@pytest.mark.parametrize(('rate', 'reads'), [
    (1000.0, 333.0), (1000.0, 499.5), (500.0, 250.2), (250.0, 125.1), (1000.0, 334.0)])
def test_states_read_at_nearly_a_part_of_their_rate_get_their_instants(
        rate, reads, jitter, velocity):
    """Guards steps of their age, from a period back to none, taken for those of a clock."""
    rng, period = np.random.default_rng(1), 1.0 / rate
    ticks = np.arange(0.0, 20.0, period)
    stamps = np.arange(0.02, 19.9, 1.0 / reads)
    stamps = np.sort(stamps + rng.exponential(jitter, len(stamps)))
    instants = ticks[np.searchsorted(ticks, stamps) - 1]
    found = states(stamps, instants, 1, velocity=velocity)
    timing = analyse(found)
    said = statistics(found, timing)
    assert len(timing.runs) == 1
    assert not len(said.clock_steps)
    assert said.sampling_period == pytest.approx(period, rel=1e-4)
    assert np.sqrt(np.mean(errors(found, timing, instants) ** 2)) < 0.1 * period


@pytest.mark.parametrize('velocity', [True, False])
@pytest.mark.parametrize('seed', range(6))
def test_states_read_at_their_own_rate_where_now_and_then_one_is_missed(seed, velocity):
    """Guards a skipped sample that slopes over its step hid, and the period of that error."""
    rng, period = np.random.default_rng(seed), 8e-3
    ticks = np.arange(0.0, 20.0, period) * (1.0 + 3e-5)
    stamps = np.arange(0.02, 19.9, period) * (1.0 + 1e-5)
    stamps += np.minimum(rng.exponential(8e-4, len(stamps)), 1.9 * period)
    stamps = np.sort(stamps)
    instants = ticks[np.searchsorted(ticks, stamps) - 1]
    assert np.count_nonzero(np.diff(instants) > 1.5 * period) > 3
    found = states(stamps, instants, seed, velocity=velocity)
    timing = analyse(found)
    said = statistics(found, timing)
    assert said.sampling_period == pytest.approx(period, rel=1e-4)
    assert np.sqrt(np.mean(errors(found, timing, instants) ** 2)) < 0.1 * period


@pytest.mark.parametrize('seed', range(4))
def test_uneven_samples_are_where_their_exact_stamps_say(seed):
    """A simulator that steps by the time that passed: its clock was said to be set nine times."""
    rng = np.random.default_rng(seed)
    steps = PERIOD * (1.0 + 0.15 * np.abs(rng.standard_normal(6000)))
    late = rng.random(len(steps)) < 0.03
    steps[late] *= rng.uniform(1.2, 3.4, np.count_nonzero(late))
    instants = 1.0 + np.cumsum(steps)
    found = states(instants, instants, seed)
    found.position[:] = motion(instants)[:, 0]
    found.velocity[:] = motion(instants)[:, 1]
    timing = analyse(found)
    assert len(timing.runs) == 1
    assert np.abs(errors(found, timing, instants)).max() < 1e-7


def bursts(seed):
    """Return stamps of a reader of every state that is held up for up to 15 periods."""
    rng, instants = even(seed, 3000)
    late = np.where(rng.random(len(instants)) < 3e-3, rng.uniform(
        6.0, 15.0, len(instants)), 0.0) * PERIOD
    stamps = np.maximum.accumulate(instants + 0.3 * PERIOD + late)
    return stamps + 1e-8 * np.arange(len(stamps)), instants


def made_up_for(seed):
    """Return stamps of a reader of the newest state that reads at once what it missed."""
    rng = np.random.default_rng(seed)
    ticks = np.arange(3000) * PERIOD
    reads = 1e-4 + np.arange(2900) * PERIOD * 1.0004 + PERIOD * rng.uniform(0.0, 0.3, 2900)
    for at in rng.choice(2800, 5, replace=False):
        reads[at:at + 12] = reads[at + 12] + 5e-6 * (np.arange(12) - 12)
    reads = np.sort(reads)
    return reads, ticks[np.searchsorted(ticks, reads, side='right') - 1]


@pytest.mark.parametrize('log', [bursts, made_up_for])
def test_a_pause_of_the_stamps_alone_is_no_gap(log):
    """The first samples after it were left at stamps up to 15 periods late."""
    stamps, instants = log(2)
    found = states(stamps, instants, 2)
    timing = analyse(found)
    assert np.abs(errors(found, timing, instants)).max() < 0.2 * PERIOD
    if log is bursts:
        assert len(timing.runs) == 1
        assert StampStatus.AFTER_GAP not in timing.status
