"""When joint states come, and when their absence is a loss and when a hiccup."""
import numpy as np
import pytest

from hodyn_ros.feedforward.state_arrivals import StateArrivals

pytestmark = pytest.mark.fast


def arrive(intervals, timeout=0.05, start=100.0):
    """Return arrivals in these intervals, s, and when the last came."""
    arrivals, at = StateArrivals(timeout), start
    arrivals.arrived(at)
    for interval in intervals:
        at += interval
        arrivals.arrived(at)
    return arrivals, at


def test_the_period_is_found_after_a_first_interval_that_was_too_short():
    arrivals, _ = arrive([1e-4, *[0.033] * 500])
    assert arrivals.period == pytest.approx(0.033, rel=0.01)


def test_gaps_are_counted_and_hardly_move_the_period():
    arrivals, _ = arrive([*[1e-3] * 100, 0.5, *[1e-3] * 100, 0.5])
    assert arrivals.gaps == 2
    assert arrivals.period == pytest.approx(1e-3, rel=0.05)


def test_a_silence_counts_for_no_more_than_the_slowest_driver():
    assert arrive([5.0] * 9)[0].period == 0.2


@pytest.mark.parametrize(('interval', 'gaps'), [(0.0299, 0), (0.0301, 1)])
def test_a_gap_is_longer_than_three_periods(interval, gaps):
    assert arrive([*[0.01] * 9, interval])[0].gaps == gaps


def test_states_are_lost_after_the_timeout_and_five_periods():
    for period, timeout, lost in ((1e-3, 0.05, 0.05), (0.1, 0.05, 0.5), (1e-3, 2.0, 2.0)):
        arrivals, at = arrive([period] * 20, timeout)
        assert not arrivals.are_lost(at + 0.99 * lost)
        assert arrivals.are_lost(at + 1.01 * lost)
    arrivals, at = arrive([])
    assert not arrivals.are_lost(at + 0.99)  # nobody knows the period yet
    assert arrivals.are_lost(at + 1.01)


def test_a_given_timeout_is_kept_whatever_pauses_come():
    arrivals, _ = arrive(([1e-3] * 50 + [0.08]) * 9, timeout=0.05)
    assert arrivals.timeout == 0.05


def test_one_hiccup_moves_nothing_and_those_that_recur_are_waited_for():
    arrivals, _ = arrive([1e-3] * 50 + [0.08], timeout=0.0)
    assert arrivals.timeout == 0.05
    arrivals, at = arrive(([1e-3] * 50 + [0.08]) * 2, timeout=0.0)
    assert arrivals.timeout == pytest.approx(0.16)
    for _ in range(61):  # a minute later they are forgotten
        for _ in range(100):
            at += 0.01
            arrivals.arrived(at)
    assert arrivals.timeout == pytest.approx(0.05)


def test_the_timeout_of_a_fast_driver_is_at_most_a_quarter_of_a_second():
    rng = np.random.default_rng(5)
    for _ in range(200):
        intervals = rng.choice([1e-3, 0.03, 0.1, 0.24, 1.0, 30.0], 60, p=[
            0.9, 0.02, 0.02, 0.02, 0.02, 0.02])
        arrivals, _ = arrive([*[1e-3] * 9, *intervals, *[1e-3] * 9], timeout=0.0)
        assert 0.05 <= arrivals.timeout <= 0.25


def test_a_late_state_is_said_once_until_the_next():
    arrivals, at = arrive([1e-3] * 20)
    assert [arrivals.is_late(at + late) for late in (0.002, 0.004, 0.005)] == [False, True, False]
    arrivals.arrived(at + 0.006)
    assert arrivals.is_late(at + 0.012)


def test_a_watch_that_was_held_up_itself_is_excused_once():
    arrivals, at = arrive([1e-3] * 20)
    arrivals.may_judge(at, 0.005)
    assert arrivals.may_judge(at + 0.005, 0.005)
    assert not arrivals.may_judge(at + 0.3, 0.005)
    assert arrivals.may_judge(at + 0.6, 0.005)


def test_a_clock_that_stands_still_is_named_and_one_old_stamp_is_not():
    arrivals, at = arrive([0.01] * 20)
    said = [
        arrivals.stale(at + 0.01 * k, is_same=is_same)
        for k, is_same in enumerate((True, False, *[True] * 8))]
    assert said == ['a stamp is not newer than the last'] * 10
    assert not arrivals.stands_still
    said = arrivals.stale(at + 0.11, is_same=True)
    assert said == arrivals.stands_still
    assert said.startswith('the clock of the joint states stands still')
    arrivals.arrived(at + 0.12)
    assert not arrivals.stands_still


@pytest.mark.parametrize('states', [4, 8])
def test_coarse_stamps_are_named_and_no_clock_that_stands_still(states):
    """At 400 Hz, by a clock of 10 or 20 ms."""
    arrivals, at = StateArrivals(0.0), 1.0
    said = []
    for k in range(10 * states):
        if k % states == 0:
            arrivals.arrived(at)
        else:
            said.append(arrivals.stale(at, is_same=True))
        at += 0.0025
    assert not any('stands still' in one for one in said)
    assert said[-1].startswith(
        f'the stamps are coarse: {states} states in a row have the same one, and only the first')
    # Two that publish the same states are not coarse.
    for _ in range(3):
        arrivals.arrived(at)
        last = arrivals.stale(at, is_same=True)
        at += 0.0025
    assert last == 'a stamp is not newer than the last'
