"""Stamps are judged as they are; runs are split, never interpolated over."""
import numpy as np
import pytest
from recordings import PANDA, motion, record, states

from hodyn_ros.estimation.repeated_states import torn
from hodyn_ros.estimation.timing import MIN_RUN, StampStatus, analyse
from hodyn_ros.estimation.timing_statistics import TimingStatistics
from hodyn_ros.messages.joint_state_bag import JointStates


def judged(recording):
    found = states(recording)
    timing = analyse(found)
    statistics = TimingStatistics(timing.clock, timing.period)
    statistics.add(found, timing, slice(0, len(found)))
    return timing, statistics


def test_clean_recording_is_one_run():
    recording = record(duration=2.0)
    timing, statistics = judged(recording)
    assert [len(run.message) for run in timing.runs] == [200]
    assert timing.clock == 'header'
    assert timing.period == pytest.approx(0.01)
    assert statistics.jitter < 1e-8
    assert statistics.latency == pytest.approx((250e-6, 250e-6))
    assert not statistics.gaps
    assert not statistics.resets
    np.testing.assert_allclose(
        timing.runs[0].time, (recording.stamp - recording.stamp[0]) * 1e-9, rtol=0, atol=1e-12)


def test_gap_splits_the_run():
    recording = record(duration=3.0)
    keep = np.r_[0:100, 150:300]
    timing, statistics = judged(recording[keep])
    assert [len(run.message) for run in timing.runs] == [100, 150]
    assert statistics.gaps == [(recording.stamp[99], pytest.approx(0.51))]
    assert statistics.counts[StampStatus.AFTER_GAP] == 1


@pytest.mark.parametrize('count', [MIN_RUN - 1, MIN_RUN])
def test_the_shortest_run_is_one(count):
    timing, statistics = judged(record(duration=3.0)[np.r_[0:100, 150:150 + count, 200:300]])
    inside = [count] * (count == MIN_RUN)
    assert [len(run.message) for run in timing.runs] == [100, *inside, 100]
    assert statistics.counts[StampStatus.LONE] == count - sum(inside)


def test_of_many_gaps_the_first_two_hundred_are_listed_and_all_counted():
    recording = record(duration=60.0)
    _, statistics = judged(recording[np.arange(6000) % 24 < 12])
    assert len(statistics.gaps) == 200
    assert statistics.counts[StampStatus.AFTER_GAP] == 249
    assert [stamp for stamp, _ in statistics.gaps] == recording.stamp[11:11 + 200 * 24:24].tolist()


def test_a_robot_at_rest_is_not_taken_for_republished():
    recording = record(duration=2.0)
    recording.position[50:150] = recording.position[50]
    recording.velocity[50:150] = 0.0
    recording.effort[50:150] = recording.effort[50]
    timing, statistics = judged(recording)
    assert statistics.republished == 0
    assert len(timing.runs[0].time) == 200


def at_rest(stamps):
    recording = record(duration=10.0)[np.arange(len(stamps))]
    rng = np.random.default_rng(0)
    recording.position[:] = recording.position[0]
    recording.position += 1e-6 * rng.standard_normal(recording.position.shape)
    recording.velocity[:] = 0.0
    recording.stamp = np.round(1e9 * (1.0 + np.asarray(stamps))).astype(np.int64)
    return recording


@pytest.mark.fast
@pytest.mark.parametrize(('pause', 'runs'), [(4.0, 1), (6.0, 2), (14.0, 2)])
def test_a_gap_is_five_periods_of_even_messages(pause, runs):
    even = 0.01 * np.arange(500)
    even[250:] += (pause - 1.0) * 0.01
    assert len(judged(at_rest(even))[0].runs) == runs


@pytest.mark.fast
@pytest.mark.parametrize(('pause', 'runs'), [(6.0, 1), (13.0, 1), (16.0, 2)])
def test_a_gap_is_fifteen_periods_of_messages_in_bursts(pause, runs):
    index = np.arange(500)
    bursts = 0.05 * (index // 5) + 1e-4 * (index % 5)
    bursts[250:] += (pause - 5.0) * 0.01
    timing, _ = judged(at_rest(bursts))
    assert timing.period == pytest.approx(0.01, rel=0.1)
    assert len(timing.runs) == runs


def coarse(seed):
    """Return states at 1 kHz of three joints, whose rounded numbers recur where they are slow."""
    rng = np.random.default_rng(seed)
    time = 0.001 * np.arange(8000)
    phase = 2.0 * np.pi * (
        rng.uniform(0.1, 0.4, (3, 3)) * time[:, None, None] + rng.uniform(size=(3, 3)))
    speed = rng.uniform(0.02, 0.15, (3, 3))
    velocity = (speed * np.cos(phase)).sum(axis=1)
    position = np.cumsum(velocity, axis=0) * 0.001
    stamp = np.round(1e9 * (time + rng.uniform(0.0, 1e-4, len(time)))).astype(np.int64)
    step = rng.choice([2e-5, 1e-4])
    return JointStates(
        stamp, stamp, step * np.round(position / step), 5e-3 * np.round(velocity / 5e-3),
        np.zeros_like(position))


@pytest.mark.parametrize('seeds', [
    range(8), pytest.param(range(1000, 1100), marks=pytest.mark.siege)])
def test_states_that_are_equal_by_chance_are_no_repeats(seeds):
    """They passed for reads of a polled state, and the clock seemed to jump."""
    timings = [analyse(coarse(seed)) for seed in seeds]
    assert not any(timing.republished.any() for timing in timings)
    assert np.mean([len(timing.runs) > 1 for timing in timings]) <= 0.01


@pytest.mark.parametrize('seed', range(12))
def test_velocities_that_are_differences_of_coarse_positions_are_not_torn(seed):
    """'The state was read while it was being written' was said of 3 in 10 such logs."""
    rng = np.random.default_rng(seed)
    rate, step = rng.choice([100, 250, 500]), rng.choice([3e-4, 1e-3])
    time = np.arange(20 * rate) / rate
    position = step * np.round(motion(time, PANDA, rng.choice([0.3, 0.6, 1.0]))[:, 0] / step)
    assert not torn(position, rate * np.diff(position, axis=0, prepend=position[:1])).any()
