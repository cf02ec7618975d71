"""When joint states come, when their absence is a loss, and the reference's even time."""
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hodyn_ros.feedforward.reference_clock import ReferenceClock
from hodyn_ros.feedforward.state_arrivals import StateArrivals

MS = 1_000_000


def arrive(intervals, timeout=0.05, start=100.0):
    """Return arrivals in these intervals, s, and when the last came."""
    arrivals, at = StateArrivals(timeout), start
    arrivals.arrived(at)
    for interval in intervals:
        at += interval
        arrivals.arrived(at)
    return arrivals, at


@pytest.mark.parametrize(('intervals', 'period', 'gaps'), [
    ([1e-4, *[0.033] * 500], pytest.approx(0.033, rel=0.01), 0),  # the first was too short
    ([*[1e-3] * 100, 0.5, *[1e-3] * 100, 0.5], pytest.approx(1e-3, rel=0.05), 2),
    ([*[0.01] * 9, 0.0299], pytest.approx(0.01, rel=0.3), 0),
    ([*[0.01] * 9, 0.0301], pytest.approx(0.01, rel=0.3), 1)])  # more than three periods
def test_the_period_is_found_and_gaps_are_counted_and_hardly_move_it(intervals, period, gaps):
    arrivals, _ = arrive(intervals)
    assert (arrivals.period, arrivals.gaps) == (period, gaps)


def test_a_silence_counts_for_no_more_than_the_slowest_driver():
    assert arrive([5.0] * 9)[0].period == 0.3


def test_states_are_lost_after_the_timeout_and_five_periods():
    for period, timeout, lost in ((1e-3, 0.05, 0.05), (0.1, 0.05, 0.5), (1e-3, 2.0, 2.0)):
        arrivals, at = arrive([period] * 20, timeout)
        assert not arrivals.are_lost(at + 0.99 * lost)
        assert arrivals.are_lost(at + 1.01 * lost)
    arrivals, at = arrive([])
    assert not arrivals.are_lost(at + 0.99)  # nobody knows the period yet
    assert arrivals.are_lost(at + 1.01)


def test_a_timeout_that_is_too_short_is_said_not_to_be_taken():
    for timeout, said in ((0.001, ', as state_timeout, 0.001 s, is shorter than 5 periods'), (
            0.2, ''), (0.0, '')):
        arrivals, at = arrive([0.01] * 200, timeout)
        assert arrivals.news_of_timeout(at)[1].partition(' s without one')[2] == said


@pytest.mark.parametrize(('period', 'timeout'), [
    (0.1, 0.5), (0.2, 1.0), (0.31, 0.3), (1.0, 0.3)])
def test_a_driver_slower_than_the_slowest_is_lost_before_its_next_state(period, timeout):
    """A plan was followed once a second, in steps of 0.4 rad."""
    arrivals, at = arrive([period] * 20, timeout=0.0)
    assert arrivals.timeout == pytest.approx(timeout)
    assert arrivals.are_lost(at + period) == (period > 0.3)
    assert arrivals.said_period.endswith(' ms or more') == (period >= 0.3)
    assert arrive([period] * 20, timeout=0.1)[0].timeout == pytest.approx(timeout)
    assert arrive([period] * 20, timeout=2.0)[0].timeout == 2.0


@pytest.mark.parametrize(('rate', 'jitter', 'lost'), [
    (1000.0, 0.0, 0.0), (200.0, 0.8, 0.0), (200.0, 0.8, 0.2), (30.0, 0.5, 0.1)])
def test_the_interval_that_is_said_is_the_mean(rate, jitter, lost):
    """The median of nine, which was said, was up to twice as much."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        come = np.flatnonzero(rng.random(round(8.0 * rate)) >= lost)
        times = np.sort(1.0 + (come + rng.uniform(0.0, jitter, len(come))) / rate)
        arrivals = StateArrivals(0.0)
        for at in times:
            arrivals.arrived(at)
            said = arrivals.said_period
            assert bool(said) == (at - times[0] > 1.0)
        assert float(said.removesuffix(' ms')) == pytest.approx(1e3 / rate / (1.0 - lost), rel=0.1)


def test_a_simulation_may_be_slow():
    arrivals, at = StateArrivals(0.0, may_be_slow=True), 1.0
    for _ in range(20):
        arrivals.arrived(at)
        at += 0.4
    assert not arrivals.are_lost(at + 0.4)


@pytest.mark.parametrize('given', [0.0, 0.1])
def test_stamps_of_whole_seconds_are_coarse_and_lost_between(given):
    arrivals, at, said = StateArrivals(given), 1.0, ''
    for k in range(2500):
        if k % 250 == 0:
            arrivals.arrived(at)
        else:
            said = arrivals.stale(at, is_same=True)
        at += 0.004
    assert said.startswith('the stamps are coarse: 250 states in a row have the same one')
    assert not arrivals.stands_still
    assert arrivals.are_lost(arrivals.last + 0.31)


def test_one_hiccup_moves_nothing_and_those_that_recur_are_waited_for():
    hiccup = [1e-3] * 50 + [0.08]
    assert arrive(9 * hiccup, timeout=0.05)[0].timeout == 0.05, 'given'
    assert arrive(hiccup, timeout=0.0)[0].timeout == 0.05
    arrivals, at = arrive(2 * hiccup, timeout=0.0)
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


@pytest.mark.parametrize('size', [3, 5, 9])
def test_states_in_groups_are_late_by_the_period_that_is_said(size):
    """By the median of nine, 4 ms without a state were 7 periods of a driver of 2 ms."""
    group = [*[2e-4] * (size - 1), 2e-3 * size - 2e-4 * (size - 1)]
    arrivals, at = arrive([2e-3] * 400 + 60 * group)
    assert arrivals.usual == pytest.approx(2e-3, rel=0.05)
    assert not arrivals.is_late(at + 5.6e-3)
    assert arrivals.is_late(at + 6.4e-3)
    assert (arrivals.gaps > 0) == (size > 3)


def test_a_driver_that_becomes_slower_is_not_late_for_long():
    arrivals, at = arrive([2e-3] * 400 + [0.02] * 6)
    assert not arrivals.is_late(at + 0.059)


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


def running(period=MS, max_step=0.01):
    clock = ReferenceClock(0, max_step, 0.0)
    for k in range(1, 21):
        assert clock.move_to(k * period, 1e-9 * k * period) == 0.0
    return clock


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(-10**12, 10**12), min_size=1, max_size=60))
def test_it_never_goes_back_and_never_further_than_it_may(steps):
    clock = ReferenceClock(10**15, 0.01, 0.002)
    stamp, before, time = clock.stamp, clock.now, 0.0
    for step in steps:
        stamp += step
        allowed = clock.max_step
        clock.move_to(stamp, time)
        time += 1e-3 * (step % 997)
        assert 0 <= clock.now - before <= max(allowed, clock.max_step)
        before = clock.now


def test_a_few_periods_are_taken_as_they_are():
    clock = running()
    assert clock.move_to(30 * MS, 0.03) == 0.0
    assert clock.now == 30 * MS


@pytest.mark.parametrize('gap', [
    11 * MS, 300 * MS, 2000 * MS, 3600_000 * MS, -MS, -90 * MS, -10**15])
def test_what_is_missing_is_left_out_but_for_a_period_and_nothing_goes_back(gap):
    clock, time = running(), 0.02 + 1e-9 * gap if gap > 0 else 0.021
    assert clock.move_to(20 * MS + gap, time) == pytest.approx((gap - MS) * 1e-9)
    assert clock.now == 21 * MS
    assert clock.move_to(21 * MS + gap, time + 0.001) == 0.0
    assert clock.now == 22 * MS


def test_a_clock_that_is_set_ahead_is_no_gap_however_long_gaps_may_be():
    """With max_time_step 0.1, the reference stepped by the 0.085 s by which a clock was set."""
    clock = running(5 * MS, 0.1)
    before = clock.now
    assert clock.move_to(clock.stamp + 90 * MS, 0.105) == pytest.approx(0.085)
    assert clock.now - before == 5 * MS
    assert clock.move_to(clock.stamp + 90 * MS, 0.195) == 0.0  # lost states
    assert clock.now - before == 95 * MS
    simulated = ReferenceClock(0, 0.1, 0.0, is_simulated=True)  # at up to 20 times the speed
    assert not any(simulated.move_to(k * 90 * MS, 0.005 * k) for k in range(40))


def test_a_state_that_is_taken_late_leaves_no_time_out():
    """On a busy machine, a state waits for 15 ms, and the newest one follows it at once."""
    clock, at = running(MS, 0.03), 0.02
    for _ in range(30):
        for step, passed in ((MS, 0.016), (16 * MS, 0.001), *[(MS, 0.001)] * 5):
            at += passed
            assert clock.move_to(clock.stamp + step, at) == 0.0


@pytest.mark.parametrize(('period', 'delay'), [(10 * MS, 2e-3), (20 * MS, 3e-3), (8 * MS, 4e-3)])
def test_jitter_of_arrivals_leaves_no_time_out_by_a_timer(period, delay):
    """With `trigger: timer` the reference stands still until a late state comes."""
    rng, clock, left_out, due = np.random.default_rng(2), ReferenceClock(0, 0.01, 0.0), 0.0, []
    sent, last = 0, (0, 0.0)
    for k in range(1, 20_000):
        at = 1e-3 * k
        while sent * period <= k * MS:
            due.append((1e-9 * sent * period + rng.exponential(delay), sent * period))
            sent += 1
        while due and due[0][0] <= at:
            last = due.pop(0)[1], at
        left_out += clock.move_to(max(last[0] + round(1e9 * (at - last[1])), clock.stamp), at)
    assert left_out < 0.01 * at


def test_a_drifting_clock_hides_no_clock_that_is_set():
    clock = running(5 * MS, 0.1)
    for k in range(1, 20_000):
        clock.move_to(100 * MS + 4_995_000 * k, 0.1 + 0.005 * k)
    before = clock.now
    assert clock.move_to(clock.stamp + 90 * MS, 0.1 + 0.005 * k + 0.005) > 0.08
    assert clock.now - before < 6 * MS


def test_slow_drivers_are_not_late():
    """Drivers at 10 to 30 Hz began with a fault in each of their first intervals."""
    for period in (33 * MS, 100 * MS):
        clock = ReferenceClock(0, 0.01, 0.0)
        told = [clock.move_to(stamp, 1e-9 * stamp) for stamp in range(0, 40 * period, period)]
        assert not any(told)
        before = clock.now
        clock.move_to(clock.stamp + period, 1e-9 * (clock.stamp + period))
        assert clock.now - before == period


def test_a_driver_that_becomes_slower_is_followed_in_time():
    clock = running()
    for k in range(1, 10):
        clock.move_to(20 * MS + 100 * MS * k, 0.02 + 0.1 * k)
    before = clock.now
    assert clock.move_to(1020 * MS, 1.02) == 0.0
    assert clock.now - before == 100 * MS


def test_the_lookahead_is_ahead_of_the_stamp():
    assert ReferenceClock(5 * MS, 0.01, 0.003).now == 8 * MS


def test_a_clock_that_is_set_right_after_the_first_state_does_not_advance_it():
    clock = ReferenceClock(0, 1.0, 0.0, 7.0)
    clock.move_to(10_000 * MS, 7.004)
    assert clock.now <= 9 * MS


def test_a_silence_is_skipped_but_for_a_period():
    clock = running()
    before = clock.now
    clock.skip_to(500 * MS)
    assert clock.now - before == MS
    # The clock of this machine may have been ahead of the stamps by then.
    for stamp, step in ((480 * MS, 0), (482 * MS, 2 * MS), (4000 * MS, MS), (4000 * MS, 0)):
        before = clock.now
        clock.resume_at(stamp)
        assert clock.now - before == step


def test_two_drivers_with_different_clocks_do_not_advance_it():
    clock = running()
    for k in range(1, 200):
        for offset in (5000 * MS, 0):
            before = clock.now
            clock.move_to((20 + k) * MS + offset, 0.02 + 1e-3 * k)
            assert 0 <= clock.now - before <= 10 * MS


def test_hold_ups_however_frequent_are_left_out():
    clock = running()
    stamp = 20 * MS
    for k in range(60):
        stamp += 300 * MS if k % 9 < 5 else MS
        before = clock.now
        clock.move_to(stamp, 1e-9 * stamp)
        assert clock.now - before <= 10 * MS
