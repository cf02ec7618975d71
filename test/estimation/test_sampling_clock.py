"""Logs with known instants: these are restored to a part of a period, or taken as stamped."""
from dataclasses import replace
from functools import partial

from made_logs import (
    PERIOD,
    assert_as_promised,
    never,
    newest,
    of_full_buffers,
    of_panda,
    polled,
    received,
    sent_in_bursts,
    states,
    swinging,
)
import numpy as np
import pytest
from recordings import motion
from timing_siege import rests

from hodyn_ros.estimation.derivatives import Samples, fit_noise, smooth
from hodyn_ros.estimation.timing import StampStatus, analyse
from hodyn_ros.messages.joint_state_bag import JointStates

pytestmark = pytest.mark.fast

MS = 1e-3


def on_another_clock(period, make, drift=0.0, bend=0.0):
    """Return a log whose stamps drift, from its middle on by `bend` more."""
    log = make(period)
    middle = log.time[len(log.time) // 2]
    older = never(log.stamps) if log.older is None else log.older
    time, stamps, older = (
        (1.0 + drift) * values + bend * np.maximum(values - middle, 0.0)
        for values in (log.time, log.stamps, older))
    return replace(log, time=time, stamps=stamps, older=older, period=(1.0 + drift) * period)


def of_whole_steps(period, seed, late, steps, shares, part):
    """Return a log of a reader who takes every other sample, or of samples off by a part."""
    rng = np.random.default_rng(seed)
    time = period * np.cumsum(rng.choice(steps, 1500, p=shares))
    return swinging(
        time, time + period * rng.uniform(0.0, late, 1500), period, clock=period / part)


@pytest.mark.parametrize('period', [MS, 1.0 / 60.0])
@pytest.mark.parametrize(('make', 'promise'), [
    *((partial(on_another_clock, make=make, drift=drift), {}) for drift in (2e-3, -2e-3)
      for make in (partial(received, count=1500, seed=3),
                   partial(newest, count=1500, seed=4, beat=-4e-3))),
    (partial(on_another_clock, make=partial(received, count=4000, seed=5), bend=2e-3),
     {'rel': 2e-3}),
    *((partial(of_whole_steps, seed=seed, late=late, steps=steps, shares=shares, part=part), {})
      for seed, late, steps, shares, part in (
          (9, 0.5, (2.0, 3.0, 5.0), (0.5, 0.25, 0.25), 1), (10, 0.4, (1.0, 1.5), (0.96, 0.04), 2),
          *((17, 0.2, (1.0, 1.0 + 1.0 / part), (1.0 - share, share), part)
            for part in (2, 3) for share in (0.03, 0.06)))),
    # Of a third of 19.6 ms, 19.6 and 39.2 ms are multiples, as far as positions tell.
    *((partial(newest, count=900, seed=16, beat=beat, jitter=0.0, noise=1e-5), {})
      for beat in (-0.02, -0.05)),
])
def test_samples_are_restored_at_any_period(period, make, promise):
    log = make(period)
    assert_as_promised(log, log.instants(), **promise)


def stamped_in_milliseconds():
    log = received(2.5 * MS, 1500, 13, late=0.1)
    return replace(log, stamps=np.ceil(1e3 * log.stamps) * 1e-3)


def at_a_part_of_the_rate(every, jitter, recorded):
    """Each state is up to a period old: intervals tell to a part of it which one it is."""
    rng = np.random.default_rng(every)
    stamps = 3.0 + every * MS * (1.0 + 4e-4) * np.arange(900)
    stamps += jitter * MS * rng.standard_normal(len(stamps))
    stamps = stamps[rng.random(len(stamps)) > 0.02]
    log = swinging(np.floor(stamps / MS) * MS, stamps, 5e-3, clock=MS, recorded=recorded)
    assert np.std(stamps - log.time) > 0.25 * MS
    return log


def hidden_by_milliseconds(seed):
    """Slopes over a step that is counted too short agree with it: 0.8, 1.4, 0.8 for 1, 2, 1."""
    rng = np.random.default_rng(seed)
    reads = 3.0 + MS * (np.arange(3000) + 0.2 * rng.standard_normal(3000))
    reads = np.sort(reads[rng.random(3000) > 0.05])
    stamps, kept = np.unique(np.round(reads, 3), return_index=True)
    time = np.floor(reads / MS)[kept] * MS
    fresh = np.append(True, np.diff(time) > 0.0)
    log = swinging(time[fresh], stamps[fresh], 5e-3, clock=MS,
                   older=np.append(-np.inf, stamps[:-1])[fresh])
    log.velocity[:] += 5e-3 * rng.standard_normal(log.velocity.shape)
    return log


@pytest.mark.parametrize(('make', 'promise'), [
    (stamped_in_milliseconds, {'step': 1e-3}),
    *((partial(at_a_part_of_the_rate, *row), {}) for row in (
        (4, 0.05, True), (4, 0.3, True), (10, 0.3, True), (4, 0.05, False), (4, 0.3, False))),
    *((partial(hidden_by_milliseconds, seed), {'rel': 1e-5, 'off': 0.025}) for seed in range(4)),
])
def test_samples_are_restored_from_coarse_stamps_and_parts_of_the_rate(make, promise):
    log = make()
    assert_as_promised(log, log.instants(), **promise)


def held_up(at, periods, count=4000):
    """A reader stands still now and then, and receives then at once what came meanwhile."""
    period, late = MS * (1.0 + 2e-4), np.zeros(count)
    late[at] = periods
    time = period * np.arange(count)
    late += 0.2 + 0.05 * np.random.default_rng(0).standard_normal(count)
    stamps = np.maximum.accumulate(time + MS * late) + 1e-8 * np.arange(count)
    return swinging(time, stamps, period, 5e-6)


def read(ticks, stamps, seed, period=PERIOD, **options):
    """Return the log of a reader of the newest state."""
    return of_panda(
        ticks[np.searchsorted(ticks, stamps, side='right') - 1], stamps, seed, period, **options)


def read_at(rate, reads, jitter, velocity, seed=1):
    """Return the log of an uneven reader at a part of the rate, or at the rate itself.

    Each state is up to a period old. Guards steps of this age, from a period back to none, taken
    for those of a clock; and a skipped sample that slopes over its step hid.
    """
    rng = np.random.default_rng(seed)
    stamps = np.arange(0.02, 19.9, 1.0 / reads)
    stamps = np.sort(stamps + rng.exponential(jitter, len(stamps)))
    log = read(np.arange(0.0, 20.0, 1.0 / rate), stamps, seed, 1.0 / rate, velocity=velocity)
    assert np.count_nonzero(np.diff(log.time) > 1.5 * log.period) > 3
    return log


def made_up_for():
    """The reader of the newest state reads at once what it missed."""
    rng = np.random.default_rng(2)
    reads = 1e-4 + np.arange(2900) * PERIOD * 1.0004 + PERIOD * rng.uniform(0.0, 0.3, 2900)
    for at in rng.choice(2800, 5, replace=False):
        reads[at:at + 12] = reads[at + 12] + 5e-6 * (np.arange(12) - 12)
    return read(np.arange(3000) * PERIOD, np.sort(reads), 2)


def held_up_on_the_way(seed):
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
    return of_panda(shown, reads, seed, PERIOD * (1.0 + 4e-4))


def uneven(seed):
    """A simulator that steps by the time that passed: its clock was said to be set nine times."""
    rng = np.random.default_rng(seed)
    steps = 4e-3 * (1.0 + 0.15 * np.abs(rng.standard_normal(6000)))
    late = rng.random(len(steps)) < 0.03
    steps[late] *= rng.uniform(1.2, 3.4, np.count_nonzero(late))
    time = 1.0 + np.cumsum(steps)
    log = of_panda(time, time, seed)
    q = motion(time)
    return replace(log, position=q[:, 0], velocity=q[:, 1])


def in_bursts_with_losses(seed, most, lost, recorded):
    time, stamps = sent_in_bursts(seed, most=most, lost=lost)
    return swinging(time, stamps, 5e-3, 5e-6, clock=MS, recorded=recorded)


def sampled_in_bursts(recorded):
    """Some read the encoders ten times in a row, and then do something else."""
    index = np.arange(4000)
    stamps = 0.02 * (index // 10) + 1e-4 * (index % 10)
    stamps += 2e-5 * np.random.default_rng(0).random(len(index))
    return swinging(stamps, stamps, 5e-3, clock=MS, recorded=recorded)


def of_pairs(lost, slow):
    """Return a log of pairs of which some lost one sample."""
    rng, index = np.random.default_rng(7), np.arange(5000)
    kept = rng.random(5000) >= lost
    stamps = MS * (index // 2 * 2 + 1 + rng.uniform(0.1, 0.3, 2500)[index // 2])
    return swinging(MS * index[kept], (stamps + 1e-5 * (index % 2))[kept], 5e-3, 2e-6, clock=MS,
                    slow=slow)


BOTH = (True, False)


@pytest.mark.parametrize(('make', 'promise'), [
    *((partial(held_up, range(300, 3800, 500), length), {}) for length in (8, 30, 60)),
    *((partial(held_up, late, 7, 500), {}) for late in (0, 1, 2, 250)),
    (partial(held_up, range(50, 3900, 333), np.random.default_rng(2).uniform(6, 15, 12)), {}),
    (made_up_for, {'count': None}),
    *((partial(held_up_on_the_way, seed), {'off': None, 'most': 0.1}) for seed in range(6)),
    *((partial(read_at, rate, reads, jitter, velocity), {'off': None, 'rms': 0.1})
      for rate, reads in ((1000.0, 333.0), (1000.0, 499.5), (500.0, 250.2), (250.0, 125.1),
                          (1000.0, 334.0))
      for jitter in (1e-5, 2e-4) for velocity in BOTH),
    *((partial(read_at, 125.0 / (1.0 + 3e-5), 125.0 / (1.0 + 1e-5), 8e-4, velocity, seed),
       {'off': None, 'rms': 0.1}) for seed in range(6) for velocity in BOTH),
    *((partial(uneven, seed), {'off': 1e-4, 'rel': None}) for seed in range(4)),
    *((partial(sampled_in_bursts, recorded), {'off': 1e-3, 'rel': None}) for recorded in BOTH),
    *((partial(of_full_buffers, size), {'rel': 2e-5 * max(size, 5), 'step': 1e-2})
      for size in (2, 5, 9, 20)),  # of 1800 samples, 90 bursts of 20
    *((partial(of_full_buffers, size, 2e-3 * (1.0 + 1e-4), 5000, jump),
       {'count': 2}) for size in (3, 5, 9) for jump in (-2.5, 15.0)),
    *((partial(in_bursts_with_losses, seed, most, lost, recorded), {})
      for seed in range(3) for lost, most in ((0.02, 39), (0.06, 30)) for recorded in BOTH),
    *((partial(of_pairs, lost, slow), {'apart': 1.0 / (1.0 - lost)})
      for lost in (0.0, 0.06, 0.15) for slow in (1.0, 20.0)),
])
def test_samples_of_logs_are_restored(make, promise):
    log = make()
    assert_as_promised(log, log.timing(), **promise)


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
    whole, log = (of_panda(instants, reads, seed) for _ in range(2))
    rng = np.random.default_rng(seed)
    fresh = np.flatnonzero(np.diff(instants, prepend=instants[0]) > 0.0)[20:-20]
    torn = np.sort(rng.choice(fresh[::3], 15, replace=False))
    for i in torn:
        half = older if older != 'either' else rng.choice(['position', 'velocity'])
        getattr(log, half)[i] = getattr(log, half)[i - 1]
    timing = log.timing()
    np.testing.assert_array_equal(np.flatnonzero(timing.status == StampStatus.TORN), torn)
    assert StampStatus.AFTER_STEP not in timing.status
    assert np.abs(np.concatenate(log.errors(timing.runs))).max() < 0.1 * PERIOD
    assert StampStatus.TORN not in whole.timing().status


@pytest.mark.parametrize(('position', 'velocity'), [(1, 4), (4, 1)])
def test_states_whose_halves_refresh_at_different_rates_are_not_torn(position, velocity):
    index = np.arange(5000)
    log = of_panda(PERIOD * index, PERIOD * index, 0)
    log = replace(log, position=log.position[index // position * position],
                  velocity=log.velocity[index // velocity * velocity])
    assert StampStatus.TORN not in log.timing().status


def is_restored(seed):
    """Return whether a log with rests and a coarse encoder has its instants."""
    rng = np.random.default_rng(seed)
    period = 0.01 * rng.choice([0.4, 1.0])
    time = period * np.arange(3000)
    q = rests(time, rng)[:, :2]
    q[:, 1] += rng.choice([3e-3, 3e-2]) * rng.standard_normal(q[:, 1].shape)
    step = rng.choice([1e-4, 4e-4])
    stamp = np.round(1e9 * (time + rng.gamma(1.0, 8e-5, len(time)))).astype(np.int64)
    timing = analyse(JointStates(
        stamp, stamp, step * np.round(q[:, 0] / step), q[:, 1], np.zeros_like(q[:, 1])))
    found = np.concatenate([
        run.time + 1e-9 * (stamp[run.message[0]] - stamp[0]) for run in timing.runs])
    return len(found) == len(time) and np.ptp(found - time) < 0.2 * period


@pytest.mark.parametrize('seeds', [
    range(12), pytest.param(range(1000, 1100), marks=pytest.mark.siege)])
def test_a_wrong_period_is_not_made_up_for_while_the_arm_rests(seeds):
    """The instants were whole periods off in most of these logs."""
    assert np.mean([is_restored(seed) for seed in seeds]) >= 0.9
