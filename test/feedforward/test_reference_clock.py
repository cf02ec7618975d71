"""The reference's time goes on evenly, whatever the stamps do."""
from hypothesis import given, settings
from hypothesis import strategies as st
import pytest

from hodyn_ros.feedforward.reference_clock import ReferenceClock

MS = 1_000_000


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


@pytest.mark.parametrize('gap', [11 * MS, 300 * MS, 2000 * MS, 3600_000 * MS])
def test_what_is_missing_is_left_out_but_for_a_period(gap):
    clock = running()
    assert clock.move_to(20 * MS + gap, 0.02 + 1e-9 * gap) == pytest.approx((gap - MS) * 1e-9)
    assert clock.now == 21 * MS
    assert clock.move_to(21 * MS + gap, 0.021 + 1e-9 * gap) == 0.0
    assert clock.now == 22 * MS


@pytest.mark.parametrize('back', [MS, 90 * MS, 10**15])
def test_a_clock_that_is_set_back_takes_nothing_back(back):
    clock = running()
    assert clock.move_to(20 * MS - back, 0.021) == pytest.approx(-(back + MS) * 1e-9)
    assert clock.now == 21 * MS


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
    clock = ReferenceClock(5 * MS, 0.01, 0.003)
    assert clock.now == 8 * MS


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
