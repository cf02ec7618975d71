"""Stamps are judged as they are; runs are split, never interpolated over."""
import numpy as np
import pytest
from recordings import PANDA, motion, record, states

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


def test_duplicate_and_reversed_stamps_are_left_out():
    recording = record(duration=2.0)
    order = np.r_[0:50, 49, 50:80, 60, 80:200]
    timing, statistics = judged(recording[order])
    assert statistics.counts[StampStatus.DUPLICATE] == 1
    assert statistics.counts[StampStatus.REVERSED] == 1
    assert len(timing.runs) == 1
    np.testing.assert_array_equal(
        recording.stamp[order][timing.runs[0].message], recording.stamp)


def test_loop_begins_a_new_run():
    recording = record(duration=2.0)
    timing, statistics = judged(recording[np.r_[0:200, 0:200]])
    assert [len(run.message) for run in timing.runs] == [200, 200]
    assert statistics.resets == [(recording.stamp[199], pytest.approx(1.99))]


def test_constant_header_stamps_give_way_to_receive_times():
    recording = record(duration=1.0)
    recording.stamp = np.zeros_like(recording.stamp)
    timing, _ = judged(recording)
    assert timing.clock == 'receive'
    assert len(timing.runs[0].message) == 100


def test_jitter_is_measured():
    _, statistics = judged(record(duration=20.0, jitter=0.3))
    # The difference of two uniform deviates of width 0.3 periods.
    assert statistics.jitter == pytest.approx(0.003 / np.sqrt(6), rel=0.1)


def test_lone_messages_are_left_out():
    timing, statistics = judged(record(duration=3.0)[np.r_[0:100, 150:153, 200:300]])
    assert statistics.counts[StampStatus.LONE] == 3
    assert [len(run.message) for run in timing.runs] == [100, 100]


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


def test_findings_of_parts_add_up():
    recording = record(duration=6.0, jitter=0.2)[np.r_[0:200, 240:400, 399, 400:600]]
    found = states(recording)
    timing, whole = judged(recording)
    parts = TimingStatistics(timing.clock, timing.period)
    for cut in (slice(0, 190), slice(190, 300), slice(300, len(found))):
        begin, end = max(0, cut.start - 30), min(len(found), cut.stop + 30)
        inner = slice(cut.start - begin, cut.stop - begin)
        parts.add(found[begin:end], analyse(found[begin:end], timing.clock, timing.period), inner)
    assert parts.counts[StampStatus.DUPLICATE] == whole.counts[StampStatus.DUPLICATE] == 1
    assert parts.gaps == whole.gaps
    assert parts.jitter == pytest.approx(whole.jitter, rel=1e-9)


def republished(velocity=True):
    """Return states sampled every 34 ms and republished at 30 Hz, and their true instants."""
    recording = record(duration=20.0)
    stamp = (np.arange(600) / 30 * 1e9).astype(np.int64)
    rng = np.random.default_rng(3)
    instants = np.arange(700) * 0.034 + 0.001 * rng.uniform(-0.5, 0.5, 700)
    latest = np.searchsorted(instants, stamp * 1e-9, side='right') - 1
    q = motion(instants, PANDA, 0.5)[latest]
    noise = rng.standard_normal((2, 700, 7))[:, latest] * [[[1e-5]], [[1e-3]]]
    found = JointStates(
        stamp, stamp, q[:, 0] + noise[0], q[:, 1] + noise[1] if velocity else
        np.full((600, 7), np.nan), np.full(recording.effort[:600].shape, np.nan))
    return found, instants[latest]


def test_republished_states_get_their_own_instants_back():
    found, instants = republished()
    timing = analyse(found)
    repeats = int(np.count_nonzero(np.diff(instants) == 0))
    assert repeats > 5
    assert np.count_nonzero(timing.republished) == repeats
    run = timing.runs[0]
    assert run.sampling_period == pytest.approx(0.034, rel=2e-3)
    assert len(run.message) == 600
    age = (found.stamp * 1e-9 - instants) - (found.stamp * 1e-9 - run.time[run.sample])
    assert np.std(age) < 4e-3  # against 10 ms of the stamps themselves
    assert np.all(run.time[run.sample] <= found.stamp * 1e-9 + 1e-4)


def test_a_robot_at_rest_is_not_taken_for_republished():
    recording = record(duration=2.0)
    recording.position[50:150] = recording.position[50]
    recording.velocity[50:150] = 0.0
    recording.effort[50:150] = recording.effort[50]
    timing, statistics = judged(recording)
    assert statistics.republished == 0
    assert len(timing.runs[0].time) == 200


@pytest.mark.fast
def test_each_status_is_one_of_its_own():
    assert len(set(StampStatus)) == len(StampStatus.__members__)


@pytest.mark.fast
def test_of_many_clock_steps_the_first_two_hundred_are_listed():
    found = states(record(duration=6.0))
    timing, statistics = judged(record(duration=6.0))
    timing.status[2::2] = StampStatus.AFTER_STEP
    for begin in range(0, 600, 150):
        statistics.add(found, timing, slice(begin, begin + 150))
    assert statistics.clock_steps == timing.stamps[2:402:2].tolist()


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


@pytest.mark.fast
@pytest.mark.parametrize('late', [0, 1, 2, 250])
def test_a_message_held_up_after_any_other_is_no_gap(late):
    """The samples themselves go on while the stamps pause."""
    recording = record(duration=5.0)
    stamps = recording.stamp.copy()
    held = np.arange(500) > late
    recording.stamp = np.maximum.accumulate(
        np.where(held, np.maximum(stamps, stamps[late] + 70_000_000), stamps))
    recording.stamp += 1000 * np.arange(500)
    timing, statistics = judged(recording)
    assert len(timing.runs) == 1
    assert statistics.gaps == []
    assert np.all(timing.status[1:] == StampStatus.FOLLOWS)
