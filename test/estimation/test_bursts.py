"""Logs whose messages come in bursts: what is restored of them, and what is spread: fast."""
from made_logs import analysed, moving
import numpy as np
import pytest

from hodyn_ros.estimation.derivatives import Samples, fit_noise, smooth
from hodyn_ros.estimation.timing import MIN_RUN, analyse
from hodyn_ros.messages.joint_state_bag import JointStates

pytestmark = pytest.mark.fast

PERIOD = 1e-3


def off(run, instants):
    """Return how far the instants of a run are from the true ones, less what is common to all."""
    found = run.time - instants[run.message]
    return found - np.median(found)


def sent_in_bursts(seed, count=5000, most=20, lost=0.0, period=PERIOD):
    """Return instants and stamps of samples of which 1 to `most` are sent at once, some lost."""
    rng = np.random.default_rng(seed)
    time = period * np.arange(count)
    ends = np.cumsum(rng.integers(1, most + 1, count))
    last = np.minimum(ends[np.searchsorted(ends, np.arange(count), side='right')], count) - 1
    stamps = np.maximum.accumulate(
        time[last] + period * rng.uniform(0.1, 0.3, count)[last] + 1e-5 * rng.random(count))
    stamps += 1e-8 * np.arange(count)
    kept = rng.random(count) >= lost
    return time[kept], stamps[kept]


@pytest.mark.parametrize('size', [2, 5, 9, 20])
def test_bursts_are_taken_apart(size):
    """A buffer is sent when it is full: samples 10 µs apart, then nothing."""
    period = 4e-3
    index = np.arange(1800)
    time = period * index
    stamps = time[(index // size + 1) * size - 1] + 1e-5 * (index % size)
    run, = analysed(stamps, *moving(time, period)).runs
    assert run.sampling_period == pytest.approx(
        period, rel=2e-5 * max(size, 5))  # of 1800 samples, 90 bursts of 20
    np.testing.assert_allclose(np.diff(run.time), period, rtol=0.0, atol=1e-2 * period)


@pytest.mark.parametrize('size', [3, 5, 9])
@pytest.mark.parametrize('jump', [-2.5, 15.0])
def test_a_clock_that_is_set_is_found_in_bursts_too(size, jump):
    period = 2e-3
    index = np.arange(5000)
    time = period * index * (1.0 + 1e-4)
    last = np.minimum((index // size + 1) * size, len(index)) - 1
    later = index >= 2500 // size * size
    clock = period * jump * later
    stamps = time[last] + 1e-4 + 1e-5 * (index % size) + clock
    timing = analysed(stamps, *moving(time, period))
    assert len(timing.runs) == 2
    for run in timing.runs:
        off = run.time - time[run.message]
        assert np.abs(off - np.median(off)).max() < 0.05 * period


@pytest.mark.parametrize('recorded', [True, False])
@pytest.mark.parametrize(('lost', 'most'), [(0.02, 39), (0.06, 30)])
@pytest.mark.parametrize('seed', range(3))
def test_samples_that_bursts_lose_do_not_lead_the_count_astray(seed, lost, most, recorded):
    time, stamps = sent_in_bursts(seed, most=most, lost=lost)
    position, velocity = moving(time, 5e-3, 5e-6)
    run, = analysed(
        stamps, position, velocity if recorded else np.full_like(velocity, np.nan)).runs
    assert run.sampling_period == pytest.approx(PERIOD, rel=1e-4)
    assert not run.evenly_spaced
    assert np.abs(off(run, time)).max() < 0.15 * PERIOD


@pytest.mark.parametrize('recorded', [True, False])
@pytest.mark.parametrize('seed', range(3))
def test_a_slow_arm_in_bursts_is_restored_or_spread_and_never_refused(seed, recorded):
    """As stamped its positions were not those of a motion: so much in a microsecond."""
    time, stamps = sent_in_bursts(seed, lost=0.02)
    position, velocity = moving(time / 40.0, 5e-3, 2e-5)
    velocity = velocity / 40.0 + 1e-4 * np.random.default_rng(seed).standard_normal(velocity.shape)
    if not recorded:
        velocity[:] = np.nan
    run, = analysed(stamps, position, velocity).runs
    assert np.std(off(run, time)) < 0.6 * PERIOD < 0.2 * np.std(stamps - time)
    given = Samples(run.time, position, velocity)
    speed = smooth(given, fit_noise([given])).q[100:-100, 1]
    assert np.abs(speed - moving(time / 40.0, 5e-3)[1][100:-100] / 40.0).max() < 2e-3


@pytest.mark.parametrize('most', [3, 7, 30])
@pytest.mark.parametrize('seed', range(2))
def test_an_arm_that_rests_in_bursts_is_spread_over_the_pauses(seed, most):
    time, stamps = sent_in_bursts(seed, most=most)
    rng = np.random.default_rng(seed)
    position = 0.3 + 1e-5 * rng.standard_normal((len(time), 5))
    velocity = 1e-3 * rng.standard_normal(position.shape)
    run, = analysed(stamps, position, velocity).runs
    assert run.evenly_spaced
    assert np.isnan(run.sampling_period)
    assert np.diff(run.time).min() > 0.4 * PERIOD
    assert np.abs(off(run, time)).max() < 2.0 * PERIOD
    given = Samples(run.time, position, velocity)
    assert np.abs(smooth(given, fit_noise([given])).q[:, 1]).max() < 1e-3


@pytest.mark.parametrize('recorded', [True, False])
def test_an_arm_that_was_sampled_in_bursts_keeps_its_stamps(recorded):
    """Some read the encoders ten times in a row, and then do something else."""
    index = np.arange(4000)
    stamps = 0.02 * (index // 10) + 1e-4 * (index % 10)
    stamps += 2e-5 * np.random.default_rng(0).random(len(index))
    position, velocity = moving(stamps, 5e-3, 1e-6)
    run, = analysed(
        stamps, position, velocity if recorded else np.full_like(velocity, np.nan)).runs
    assert not run.evenly_spaced
    assert np.abs(off(run, stamps)).max() < 1e-6


def test_a_pause_before_which_bursts_are_spread_is_a_gap():
    """Of an arm at rest nothing tells whether it was logged meanwhile."""
    time, stamps = sent_in_bursts(0, count=4000, most=9)
    away = (time > 1.5) & (time < 2.5)
    time, stamps = time[~away], stamps[~away]
    rng = np.random.default_rng(0)
    position = 0.3 + 1e-5 * rng.standard_normal((len(time), 5))
    first, second = analysed(stamps, position, np.full_like(position, np.nan)).runs
    assert first.evenly_spaced
    assert second.evenly_spaced
    for run in (first, second):
        assert np.abs(off(run, time)).max() < 3.0 * PERIOD


@pytest.mark.parametrize('jump', [-0.3, -0.02, 0.05])
@pytest.mark.parametrize('size', [4, 130, 400])
def test_a_clock_that_is_set_amid_bursts_of_any_size_leaves_no_sample_out(size, jump):
    """Also within the first burst, or back by less than bursts are apart."""
    index = np.arange(3000)
    time = PERIOD * index
    stamps = time[np.minimum((index // size + 1) * size - 1, 2999)] + 1e-5 * (index % size)
    for at in (60, 1500):
        stamp = np.round(1e9 * (stamps + 3.0 + jump * (index >= at))).astype(np.int64)
        position, velocity = moving(time, 5e-3)
        timing = analyse(JointStates(
            stamp, stamp, position, velocity, np.full_like(position, np.nan)))
        used = sum(len(run.message) for run in timing.runs)
        assert used > 2990 - (400 if jump < 0.0 else 0)
        for run in timing.runs:
            assert np.all(np.diff(run.time) > 0.0)


@pytest.mark.parametrize('seed', range(30))
def test_instants_of_any_bursts_increase_and_are_near_their_bursts(seed):
    """Whatever is sent at once, however the arm moves: nothing is torn apart or put backwards."""
    rng = np.random.default_rng([44, seed])
    most, lost = int(rng.integers(2, 60)), float(rng.choice([0.0, 0.05, 0.3]))
    time, stamps = sent_in_bursts(seed, count=2000, most=most, lost=lost)
    pace = float(rng.choice([0.0, 0.01, 0.3, 1.0]))
    position, velocity = moving(pace * time, 5e-3, float(rng.choice([0.0, 1e-6, 1e-4])))
    velocity = pace * velocity if rng.random() < 0.5 else np.full_like(velocity, np.nan)
    timing = analysed(stamps, position, velocity)
    used = np.concatenate([run.message for run in timing.runs])
    assert len(np.unique(used)) == len(used)
    assert len(used) > len(time) - MIN_RUN * (len(timing.runs) + 1)
    for run in timing.runs:
        assert np.all(np.diff(run.time) > 0.0)
        at = run.time + stamps[run.message[0]]
        first = run.first_message
        assert np.abs(at - stamps[first]).max() < (2 * most + 5) * PERIOD


@pytest.mark.parametrize('lost', [0.0, 0.06, 0.15])
@pytest.mark.parametrize('slow', [1.0, 20.0])
def test_pairs_of_which_some_lost_one_are_bursts_of_two(lost, slow):
    rng = np.random.default_rng(7)
    index = np.arange(5000)
    kept = rng.random(5000) >= lost
    time = PERIOD * index[kept]
    stamps = PERIOD * (index // 2 * 2 + 1 + rng.uniform(0.1, 0.3, 2500)[index // 2])
    stamps = (stamps + 1e-5 * (index % 2))[kept]
    position, velocity = moving(time / slow, 5e-3, 2e-6)
    timing = analysed(stamps, position, velocity / slow)
    assert timing.period == pytest.approx(PERIOD / (1.0 - lost), rel=0.03)
    run, = timing.runs
    assert run.sampling_period == pytest.approx(PERIOD, rel=1e-4)
    assert np.abs(off(run, time)).max() < 0.1 * PERIOD
