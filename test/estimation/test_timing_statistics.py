"""What the stamps of a recording showed, counted chunk by chunk without their margins: fast."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros.estimation.timing import Run, StampStatus
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
