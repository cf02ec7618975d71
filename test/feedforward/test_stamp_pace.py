"""Stamps of joint states that do not advance as time does: the reference follows them."""
from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest
from supervised import HOME, PERIOD, World, running

import hodyn_ros as hd
from hodyn_ros.feedforward.stamp_pace import StampPace


def states_at_pace(world, seconds, pace):
    """Send states for a time, with stamps that advance by `pace`, in s per s."""
    for _ in range(round(seconds / PERIOD)):
        world.offset += round((pace - 1.0) * PERIOD * 1e9)
        world.state()


@pytest.mark.parametrize('pace', [0.3, 1.6, 10.0])
def test_stamps_that_advance_faster_or_slower_than_time_are_named(pace):
    """A plan runs as much faster as the driver's clock."""
    world, said = running(), f'the stamps of the joint states advance by {pace:.2g} s per s of'
    states_at_pace(world, 12.0, pace)
    assert world.said(said) == 1
    states_at_pace(world, 12.0, 1.0)
    states_at_pace(world, 12.0, pace)
    assert world.said(said) == 2


@pytest.mark.parametrize('divisor', [1000, 1_000_000])
@pytest.mark.parametrize('begins', ['before', 'in motion'])
def test_stamps_with_microseconds_in_their_nanoseconds_count_as_lost(divisor, begins):
    """A plan was followed a thousand times too slowly, with the velocities of the plan."""
    world = running()
    if begins == 'in motion':
        world.plan(b'0.5')
        world.states(round(0.5 / PERIOD))
        assert world.report[0] == 'following'
    for _ in range(round(6.0 / PERIOD)):
        within = round((world.at + PERIOD) * 1e9) % 1_000_000_000
        world.offset = within // divisor - within
        world.state()
    assert world.report[0] == 'fault'
    assert 'the stamps of the joint states skip most of the time' in world.report[1]
    np.testing.assert_array_equal(world.controller.q[1], 0.0)
    with pytest.raises(hd.HodynError, match='joint states are lost'):
        world.plan(b'0.0')
    world.offset = 0
    world.states(round(4.0 / PERIOD))
    assert world.report[0] == 'holding'
    world.plan(b'0.0')
    world.states(10)
    assert world.report[0] == 'following'


@given(st.integers(0, 2**32 - 1), st.floats(1e-3, 0.03), st.floats(0.0, 0.9))
def test_hold_ups_and_clocks_that_are_set_lose_no_states(seed, period, share):
    """The process is held up for a share of the time, and once for long; a clock is set twice."""
    rng = np.random.default_rng(seed)
    pace, at, offset = StampPace(is_simulated=False), 100.0, 0.0
    for k in range(1500):
        at += period
        if rng.random() < share * period / 0.15:
            at += rng.uniform(0.05, 0.15)
        if k == 700:
            at += 5.0
        if k in (1400, 1410):
            offset += rng.choice([-3600.0, 3600.0])
        pace.see(round((at + offset) * 1e9), at)
        assert not pace.skips


def test_a_simulation_runs_at_any_pace():
    for pace in (0.1, 5.0):
        world = World(is_simulated=True)
        states_at_pace(world, 4.0, pace)
        world.plan(b'0.1')
        states_at_pace(world, 2.0, pace)
        assert not world.said('stamps of the joint states advance')


@given(
    st.floats(0.999, 1.001), st.integers(0, 2**32 - 1), st.floats(0.0, 0.3), st.floats(1e-3, 0.1))
def test_no_wrong_pace_is_claimed_of_true_clocks_that_drift_and_arrive_in_bursts(
        drift, seed, wait, period):
    """States wait at most 0.3 s, as longer ones are lost, and then come together."""
    rng = np.random.default_rng(seed)
    pace = StampPace(is_simulated=False)
    at = free_at = 0.0
    for k in range(round(min(20.0 / period, 3000))):
        now = k * period
        if now > free_at and rng.random() < 0.02:
            free_at = now + rng.uniform(0.0, wait)
        at = max(at, now * drift, free_at)
        pace.see(round(now * 1e9), 100.0 + at)
        assert not pace.wrong
        assert not pace.skips


@pytest.mark.parametrize('whole_seconds', [False, True])
def test_no_motion_is_followed_with_states_that_are_too_rare(whole_seconds):
    """Plans were accepted, and dropped 0.3 s later."""
    world = World()
    for k in range(2400):
        if whole_seconds:
            world.offset = -round((world.at + 0.01) * 1e9) % -1_000_000_000
        if whole_seconds or k % 50 == 0:
            world.state(elapsed=0.01)
        else:
            world.pass_time(0.01)
    while world.report[0] == 'fault':
        if whole_seconds:
            world.offset = -round((world.at + 0.01) * 1e9) % -1_000_000_000
        world.state(elapsed=0.01)
    for request in (
            lambda: world.plan(b'0.1'),
            lambda: world.supervisor.take_sample(world.arm, None, None, world.at)):
        with pytest.raises(hd.HodynError, match=(
                f'{"have a new stamp" if whole_seconds else "come"} only every 300 ms or more; '
                'the node follows no motion at so low a rate')):
            request()


@pytest.mark.parametrize('every', [2, 20, 200])
@pytest.mark.parametrize('apart', [-3.0, 0.05, 0.5, 3.0, 10800.0])
def test_the_clock_of_a_second_publisher_loses_no_states_of_the_driver(every, apart):
    """Its positions are never believed, but its stamps came between those of the driver."""
    world, offset = running(), 0
    answered = 0
    for k in range(2500):
        is_stray = k % every == 0
        world.offset = offset + round(apart * 1e9) * is_stray
        answered += world.state(position=HOME + 0.5 if is_stray else None)
    assert not world.said('stamps of the joint states')
    if every > 2:
        assert answered > 0.8 * 2500
        assert world.report[0] == 'holding'


@pytest.mark.parametrize(('count', 'within', 'every'), [
    (2, 1e-3, 0.02), (2, 1e-4, 0.012), (3, 1e-4, 0.02), (10, 1e-4, 0.02), (6, 2e-5, 0.06)])
def test_stamps_that_come_in_groups_are_no_fault(count, within, every):
    pace = StampPace(is_simulated=False)
    for group in range(round(30.0 / every)):
        for k in range(count):
            at = 100.0 + group * every + k * within
            pace.see(round(at * 1e9), at)
            assert not pace.wrong
            assert not pace.skips


@pytest.mark.parametrize('stall', [0.45, 0.9, 1.5])
def test_states_that_a_network_delivers_late_and_together_are_no_fault(stall):
    pace, at = StampPace(is_simulated=False), 0.0
    for k in range(30000):
        true = 100.0 + 1e-3 * k
        at = max(true, at + 1e-6, 110.0 + stall if 110.0 < true < 110.0 + stall else 0.0)
        pace.see(round(true * 1e9), at)
        assert not pace.wrong
        assert not pace.skips


@pytest.mark.parametrize('late', [0.03, 2.0])
def test_one_late_state_is_no_clock_that_was_set_back(late):
    """Plans that waited for their start were dropped."""
    world = running()
    world.plan(b'0.5')
    world.states(20)
    before = world.report
    world.pass_time(PERIOD)
    position, velocity, stamp = world.read()
    assert not world.deliver(position, velocity, stamp - round(1e9 * late))
    world.states(20)
    assert (world.report, world.said('set back'), world.said('missing')) == (before, 0, 0)
    world.offset -= round(1e9 * late)
    world.states(3)
    assert world.said(f'set back by {late:.3f} s') == 1


@pytest.mark.parametrize(('max_time_step', 'is_said'), [(0.01, True), (0.03, False)])
def test_states_that_come_in_groups_are_followed_with_a_larger_step(max_time_step, is_said):
    """A reference that follows 1 of 20 ms crept, and only single gaps were named."""
    world = running(max_time_step=max_time_step)
    world.plan(b'0.5')
    before = world.controller.now
    for _ in range(500):
        world.state(elapsed=1e-3)
        world.state(elapsed=0.019)
    assert world.said('leaves out more than a tenth of the time') == is_said
    assert (world.controller.now - before < 5e9) == is_said


@pytest.mark.parametrize(('lost', 'is_said'), [(0.0, False), (0.02, False), (0.5, True)])
def test_a_link_that_loses_many_states_is_named(lost, is_said):
    world, rng = running(), np.random.default_rng(1)
    for _ in range(1500):
        world.state(elapsed=0.005 * rng.geometric(1.0 - lost))
    assert world.said('leaves out more than a tenth of the time') == is_said
    assert ('motions take longer' in world.report[1]) == is_said


@pytest.mark.parametrize(('state_timeout', 'is_asked'), [(0.0, False), (0.5, False), (50.0, True)])
def test_a_timeout_that_may_be_in_ms_is_asked_about(state_timeout, is_asked):
    """An arm whose driver had died went on for seconds."""
    world = running(state_timeout=state_timeout)
    world.states(1200)
    assert world.said('waits for the next state, and nothing is published') == is_asked


def test_a_simulator_that_is_reset_and_stays_paused_is_named():
    world = running()
    position, velocity, stamp = world.read()
    for _ in range(400):
        world.pass_time(PERIOD)
        world.deliver(position, velocity, stamp - 2 * 10**9)
    assert 'the clock of the joint states stands still' in world.report[1]


def test_a_timer_publishes_a_stamp_again_only_with_the_same_torques():
    """As `trigger: timer` has it, while states come later than before; stamps never go back."""
    world, published = running(at_measurement=True), []
    supervisor, random = world.supervisor, np.random.default_rng(0)
    world.plan(b'0.3')
    for k in range(400):
        world.at += 0.005
        stamp = round((world.at - random.uniform(0.0, 0.008)) * 1e9)
        if k % 4 == 3:
            arm = world.controller.q[0] + random.normal(0.0, 1e-3, 7)
            supervisor.take_state(arm, world.controller.q[1].copy(), stamp, world.at)
            supervisor.compare(stamp, world.at)
        stamp = supervisor.stamp_at(world.at)
        published.append((stamp, world.cycle(stamp).output.copy()))
    steps = np.diff([stamp for stamp, _ in published])
    assert (steps >= 0).all()
    again = np.flatnonzero(steps == 0)
    assert again.size
    for k in again:
        np.testing.assert_array_equal(published[k][1], published[k + 1][1])
