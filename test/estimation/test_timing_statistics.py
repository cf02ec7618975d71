"""What the stamps of a recording showed, counted chunk by chunk without their margins: fast."""
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import record, states

from hodyn_ros.estimation.timing import Run, StampStatus, analyse
from hodyn_ros.estimation.timing_statistics import TimingStatistics

MS = 10 ** 6


def chunked(edges, stamps, status, runs, received=None):
    """Return the statistics of messages that come in chunks, each with all others as margins."""
    statistics = TimingStatistics('header', 0.01)
    states = SimpleNamespace(
        stamp=stamps, received=stamps if received is None else received,
        position=np.zeros((len(stamps), 1)))
    timing = SimpleNamespace(
        stamps=stamps, status=status, runs=runs,
        republished=np.arange(len(stamps)) % 10 == 9)
    for begin, end in zip([0, *edges], [*edges, len(stamps)], strict=True):
        statistics.add(states, timing, slice(begin, end))
    return statistics


@pytest.mark.parametrize('edges', [[], [50], [1, 30, 31, 99]])
def test_each_message_and_each_sample_counts_once(edges):
    rng = np.random.default_rng(0)
    time = 0.01 * np.arange(100)
    stamps = np.round(1e9 * (1.0 + time + 0.002 * rng.uniform(-1.0, 1.0, 100))).astype(np.int64)
    determined = rng.uniform(size=100) < 0.6
    first = Run(
        time[:60], 0.01, determined[:60], 1e-3, False, np.arange(60), np.arange(60))
    second = Run(
        time[60:] - time[60], 0.02, determined[60:], 3e-3, False, np.arange(60, 100),
        np.arange(40))
    status = np.full(100, StampStatus.FOLLOWS)
    status[0], status[60] = StampStatus.AFTER_RESET, StampStatus.AFTER_GAP
    status[30] = StampStatus.AFTER_STEP
    received = stamps + rng.integers(MS, 5 * MS, 100)
    found = chunked(edges, stamps, status, [first, second], received)
    assert found.counts[StampStatus.FOLLOWS] == 97
    assert found.counts[StampStatus.AFTER_GAP] == 1
    assert (found.restored, found.determined, found.republished) == (
        100, np.count_nonzero(determined), 10)
    assert found.sampling_period == pytest.approx(0.6 * 0.01 + 0.4 * 0.02)
    assert found.misfit == pytest.approx(np.sqrt(0.6 * 1e-6 + 0.4 * 9e-6))
    moved = np.concatenate([
        run.time - 1e-9 * (stamps[run.message] - stamps[run.message[0]])
        for run in (first, second)])
    assert found.largest_move == pytest.approx(np.abs(moved).max())
    within = 1e-9 * np.diff(stamps)[status[1:] == StampStatus.FOLLOWS]
    assert found.jitter == pytest.approx(within.std())
    assert found.gaps == [(stamps[59], pytest.approx(1e-9 * (stamps[60] - stamps[59])))]
    assert found.clock_steps == [stamps[30]]
    delay = 1e-9 * (received - stamps)
    assert found.latency == pytest.approx((delay.min(), delay.max()))


def test_stamps_that_are_taken_as_they_are_are_not_restored():
    stamps = 10 ** 9 + 10 * MS * np.arange(30)
    run = Run(
        0.01 * np.arange(30), np.nan, np.ones(30, bool), np.nan, False, np.arange(30),
        np.arange(30))
    found = chunked([10], stamps, np.full(30, StampStatus.FOLLOWS), [run])
    assert (found.restored, found.determined, found.largest_move) == (0, 0, 0.0)
    assert np.isnan(found.sampling_period)
    assert np.isnan(found.misfit)
    assert found.jitter < 1e-12
    empty = TimingStatistics('header', 0.01)
    assert (empty.restored, empty.determined, empty.republished, empty.jitter) == (0, 0, 0, 0.0)
    assert set(empty.counts.values()) == {0}


@pytest.mark.parametrize('edges', [[], [7, 20]])
def test_messages_that_are_spread_are_counted_and_have_no_period(edges):
    stamps = 10 ** 9 + 100 * MS * (np.arange(30) // 10) + np.arange(30)
    time = 0.01 * np.arange(30)
    run = Run(
        time, np.nan, np.zeros(30, bool), np.nan, True, np.arange(30), np.arange(30))
    found = chunked(edges, stamps, np.full(30, StampStatus.FOLLOWS), [run])
    assert (found.evenly_spaced, found.restored, found.determined) == (30, 0, 0)
    assert np.isnan(found.sampling_period)
    assert found.largest_move == pytest.approx(0.09, rel=1e-6)


def kept_by(rate):
    """Return the messages of 2000 that a driver publishes at a part of its sampling rate."""
    return np.flatnonzero(np.diff(np.floor(np.arange(2001) * rate)))


def missing(recording, kept, chunks=1):
    """Return how many messages are said to be missing if only some are recorded."""
    found = states(recording[kept])
    timing = analyse(found)
    statistics = TimingStatistics(timing.clock, timing.period)
    for chunk in np.array_split(np.arange(len(kept)), chunks):
        statistics.add(found, timing, slice(chunk[0], chunk[-1] + 1))
    return statistics.missing


@pytest.mark.parametrize(('share', 'seed'), [(0.002, 1), (0.02, 2), (0.1, 3), (0.3, 4)])
def test_messages_that_never_reached_the_recorder_are_counted(share, seed):
    is_lost = np.random.default_rng(seed).uniform(size=2000) < share
    is_lost[[0, -1]] = False
    found = [missing(record(duration=20.0), np.flatnonzero(~is_lost), n) for n in (1, 7)]
    assert found[0] == found[1] > 0
    lost = np.count_nonzero(is_lost)
    assert 0.85 * lost < found[0] <= lost, 'pauses that count as gaps are not counted'


@pytest.mark.parametrize(('jitter', 'kept'), [
    (0.0, np.arange(2000)), (0.6, np.arange(2000)), (0.0, kept_by(0.9)), (0.0, kept_by(0.7)),
    (0.0, np.flatnonzero([k % 2 == 0 or k % 5 == 1 for k in range(2000)])),
    (0.0, np.flatnonzero([k % 3 > 0 for k in range(2000)]))])
def test_no_message_of_an_uneven_driver_is_said_to_be_missing(jitter, kept):
    assert missing(record(duration=20.0, jitter=jitter), kept) == 0
