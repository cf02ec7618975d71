"""What `analyse` promises of every log, and what it makes of those that are made just so: fast."""
from made_logs import of_panda, received, states
import numpy as np
import pytest
from recording_mistakes import stalled
from recordings import record
from recordings import states as states_of

from hodyn_ros.estimation.timing import MIN_RUN, StampStatus, analyse, choose_clock
from hodyn_ros.estimation.timing_statistics import TimingStatistics
from hodyn_ros.messages.joint_state_bag import JointStates

pytestmark = pytest.mark.fast

MS = 10 ** 6
PERIOD = 0.004
BEGINS = (StampStatus.AFTER_GAP, StampStatus.AFTER_STEP, StampStatus.AFTER_RESET)


def plain():
    return received(PERIOD, 700, 1, late=0.5)


def with_gaps():
    return received(PERIOD, 1500, 2, late=0.5)[
        np.r_[0:300, 340:900, 902:905, 1000:1003, 1100:1500]]


def with_loops():
    return received(PERIOD, 600, 3, late=0.5)[np.r_[0:600, 0:600, 200:500]]


def with_strays():
    rng = np.random.default_rng(4)
    order = np.sort(np.r_[0:800, rng.choice(800, 40)])
    order[rng.choice(840, 30)] -= 25
    return received(PERIOD, 800, 4, late=0.5)[order]


def polled():
    rng, ticks = np.random.default_rng(5), PERIOD * np.arange(800)
    reads = np.sort(0.37 * PERIOD + 0.9 * PERIOD * np.arange(850)
                    + 0.05 * PERIOD * rng.random(850))
    return of_panda(ticks[np.searchsorted(ticks, reads, side='right') - 1], reads, 5, PERIOD)


def two_publishers():
    time = PERIOD * np.arange(600)
    stamps = np.concatenate([time + 1e-4, time[:-5] + 2.5 * PERIOD])
    sample = np.concatenate([np.arange(600), np.arange(595)])[np.argsort(stamps)]
    return of_panda(time[sample], np.sort(stamps), 6, PERIOD)


def set_clock():
    log = received(PERIOD, 900, 7, late=0.2)
    log.stamps[400:] += 3.3 * PERIOD
    return log


LOGS = [plain, with_gaps, with_loops, with_strays, polled, two_publishers, set_clock]


def parts_of(timing):
    return [
        (run.message.tolist(), run.sample.tolist(), run.time.tolist(), run.determined.tolist())
        for run in timing.runs]


@pytest.mark.parametrize('log', LOGS)
def test_each_message_is_in_one_run_or_says_why_not(log):
    given = log().states()
    timing = analyse(given)
    kept = np.flatnonzero(timing.status <= StampStatus.AFTER_RESET)
    np.testing.assert_array_equal(
        np.concatenate([run.message for run in timing.runs]), kept)
    assert timing.republished.sum() == sum(
        len(run.message) - len(run.time) for run in timing.runs)
    for run in timing.runs:
        assert np.all(np.diff(run.message) > 0)
        assert len(run.sample) == len(run.message)
        assert len(run.time) == len(run.determined) == run.sample[-1] + 1 >= MIN_RUN
        assert run.sample[0] == 0
        assert set(np.diff(run.sample)) <= {0, 1}
        np.testing.assert_array_equal(
            run.message[np.searchsorted(run.sample, np.arange(len(run.time)))],
            run.first_message)
        np.testing.assert_array_equal(
            timing.republished[run.message], np.diff(run.sample, prepend=-1) == 0)
        # Repeats show the same state, others do not.
        same = (np.diff(given.position[run.message], axis=0) == 0.0).all(axis=1)
        np.testing.assert_array_equal(same, np.diff(run.sample) == 0)
        # Where a run begins its status says, and nowhere else.
        status = timing.status[run.message]
        assert status[0] in BEGINS
        assert not np.isin(status[1:], BEGINS).any()


@pytest.mark.parametrize('log', LOGS)
def test_instants_increase_by_whole_nanoseconds_and_are_near_their_stamps(log):
    timing = analyse(log().states())
    for run in timing.runs:
        assert np.all(np.diff(run.time) > 0.0)
        np.testing.assert_allclose(1e9 * run.time, np.round(1e9 * run.time), atol=1e-3, rtol=0)
        stamps = 1e-9 * (timing.stamps[run.first_message] - timing.stamps[run.message[0]])
        off = run.time - stamps
        assert np.abs(off).max() < 2.0 * PERIOD
        assert np.isnan(run.sampling_period) or run.sampling_period == pytest.approx(
            PERIOD, rel=1e-3)
        if not np.isnan(run.sampling_period):
            np.testing.assert_allclose(
                np.diff(run.time) / PERIOD, np.round(np.diff(run.time) / PERIOD), atol=0.05)


@pytest.mark.parametrize('log', LOGS)
def test_a_log_of_another_day_and_of_other_joints_first_has_the_same_runs(log):
    given = log().states()
    timing = analyse(given)
    day = 86_400 * 10 ** 9
    turned = JointStates(
        given.stamp + day, given.received + day, -given.position[:, ::-1],
        -given.velocity[:, ::-1], given.effort[:, ::-1])
    other = analyse(turned)
    np.testing.assert_array_equal(other.status, timing.status)
    np.testing.assert_array_equal(other.stamps, timing.stamps + day)
    np.testing.assert_array_equal(other.republished, timing.republished)
    assert other.period == timing.period
    for one, two in zip(timing.runs, other.runs, strict=True):
        np.testing.assert_array_equal(one.message, two.message)
        np.testing.assert_array_equal(one.sample, two.sample)
        np.testing.assert_allclose(two.time, one.time, rtol=0.0, atol=2e-9)
        np.testing.assert_array_equal(one.determined, two.determined)
    # By receive times it is the same log a quarter of a millisecond later.
    received = analyse(given, 'receive')
    assert parts_of(received) == parts_of(timing)
    assert (received.clock, timing.clock) == ('receive', 'header')


@pytest.mark.parametrize('log', LOGS)
def test_a_report_counts_each_message_once(log):
    given = log().states()
    timing = analyse(given)
    said = TimingStatistics(timing.clock, timing.period)
    said.add(given, timing, slice(0, len(given)))
    assert sum(said.counts.values()) == len(given)
    assert said.counts[StampStatus.AFTER_GAP] == len(said.gaps)
    assert said.counts[StampStatus.AFTER_STEP] == len(said.clock_steps)
    assert said.counts[StampStatus.AFTER_RESET] == len(said.resets) + 1
    assert len(timing.runs) <= 1 + len(said.gaps) + len(said.clock_steps) + len(said.resets)
    assert said.determined <= said.restored <= sum(len(run.time) for run in timing.runs)
    assert said.republished == timing.republished.sum()
    assert 0.0 <= said.largest_move < 2.0 * PERIOD
    assert all(length > 5.0 * PERIOD for _, length in said.gaps)
    assert all(length > 0.0 for _, length in said.resets)
    assert said.latency == pytest.approx((250e-6, 250e-6))


def statuses(stamps):
    stamps = 10 ** 9 + 10 * MS * np.asarray(stamps)
    column = np.random.default_rng(0).standard_normal((len(stamps), 7))
    return analyse(JointStates(stamps, stamps, column, column, column)).status.tolist()


@pytest.mark.parametrize('behind', [1, 2, 3, 4, 6])
def test_a_clock_was_set_back_where_four_stamps_in_a_row_are_behind(behind):
    """Fewer are messages that came late."""
    before, back = list(range(30)), [10.5 + k for k in range(behind)]
    found = statuses([*before, *back, *range(30, 50)])
    assert found[0] == StampStatus.AFTER_RESET
    assert set(found[1:30]) == {StampStatus.FOLLOWS}
    reset = behind >= 4
    # Too few to differentiate all the same, those in between.
    assert found[30:30 + behind] == [
        StampStatus.LONE if reset else StampStatus.REVERSED] * behind
    assert found[30 + behind] == (
        StampStatus.AFTER_GAP if reset else StampStatus.FOLLOWS)
    assert set(found[31 + behind:]) == {StampStatus.FOLLOWS}


def test_a_clock_that_was_set_back_follows_from_there():
    found = statuses([*range(30), *range(10, 40)])
    assert found[30] == StampStatus.AFTER_RESET
    assert set(found[1:30] + found[31:]) == {StampStatus.FOLLOWS}
    # What goes back further and further was set by nobody.
    found = statuses([*range(30), 20, 19, 18, 17, 16, *range(30, 45)])
    assert found[30:35] == [StampStatus.REVERSED] * 5
    assert set(found[35:]) == {StampStatus.FOLLOWS}
    # At the end of a log, what is behind may be the beginning of more.
    found = statuses([*range(30), 3, 4])
    assert found[30:] == [StampStatus.LONE] * 2
    # Equal ones come twice, behind or not.
    found = statuses([*range(30), 10, 10, 11, 12, *range(13, 30)])
    assert found[30:32] == [StampStatus.AFTER_RESET, StampStatus.DUPLICATE]
    assert set(found[32:]) == {StampStatus.FOLLOWS}


@pytest.mark.parametrize(('stamps', 'clock'), [
    ([5], 'receive'), ([5, 5], 'receive'), ([5, 6], 'header'), ([5, 6, 6], 'receive'),
    ([5, 6, 7, 7], 'header'), ([5, 6, 7, 1, 0], 'receive'), ([0, 0, 0, 0], 'receive')])
def test_stamps_that_mostly_go_ahead_tell_time(stamps, clock):
    stamps = np.array(stamps)
    column = np.zeros((len(stamps), 1))
    given = JointStates(stamps, np.arange(len(stamps)), column, column, column)
    assert choose_clock(given) == clock
    assert analyse(given).clock == clock
    assert analyse(given, 'receive').clock == 'receive'


@pytest.mark.parametrize('count', [0, 1, 2, MIN_RUN - 1])
def test_of_too_few_states_there_is_no_run(count):
    given = states(PERIOD * np.arange(count), PERIOD * np.arange(count), 0)
    timing = analyse(given)
    assert timing.runs == ()
    assert len(timing.status) == len(timing.republished) == count
    assert set(timing.status) <= {StampStatus.LONE}
    assert np.isnan(timing.period) == (count < 2)


@pytest.mark.parametrize(('joints', 'velocity', 'effort', 'share'), [
    *((*arm, effort, 1.0) for arm in ((7, True), (7, False), (3, False), (2, True))
      for effort in ('kept', 'fresh', 'unknown')),
    # Of few numbers the efforts tell as well: three that do not change are no accident.
    (1, True, 'kept', 1.0), (2, False, 'kept', 1.0), (1, False, 'kept', 0.0),
    *((*arm, effort, 0.0) for arm in ((1, True), (2, False), (1, False))
      for effort in ('fresh', 'unknown'))])
def test_states_that_were_read_again_are_known_by_numbers_that_stay(
        joints, velocity, effort, share):
    """Efforts may be fresh where the encoders were not read anew."""
    rng = np.random.default_rng(8)
    sample = np.sort(np.r_[0:300, 0:300:3])
    given = states(PERIOD * 0.75 * np.arange(400), PERIOD * sample, 0, joints=joints)
    if not velocity:
        given.velocity[:] = np.nan
    if effort != 'kept':
        given.effort[:] = rng.standard_normal(given.effort.shape) if effort == 'fresh' else np.nan
    again = np.append(False, np.diff(sample) == 0)
    found = analyse(given).republished
    assert not found[~again].any()
    assert found[again].mean() == share


def rounded(seed, rest=600, moving=600, step=1e-4):
    """Return states of an arm that stands, then moves, recorded to four decimals."""
    rng = np.random.default_rng(seed)
    stamps = 0.0106 * np.arange(rest + moving)
    found = states(stamps, np.maximum(stamps - stamps[rest], 0.0) + 1e-9 * stamps, seed)
    # Of the noise of an arm that stands, the last digit sees little.
    position = found.position[rest] + step * rng.choice([0.0, 1.0], (rest, 7), p=[0.9, 0.1])
    velocity = step * rng.choice([-1.0, 0.0, 1.0], (rest, 7), p=[0.05, 0.9, 0.05])
    return JointStates(
        found.stamp, found.received,
        *(np.round(np.concatenate(parts) / step) * step for parts in (
            (position, found.position[rest:]), (velocity, found.velocity[rest:]))),
        found.effort)


@pytest.mark.parametrize('seed', range(8))
def test_states_that_recur_where_an_arm_stands_are_no_second_publishers(seed):
    """In a public log of a UR10e 63 messages were left out as another publisher's."""
    given = rounded(seed)
    whole = np.hstack([given.position, given.velocity])[:600]
    assert len(np.unique(whole, axis=0)) < 500
    found = analyse(given)
    assert not np.any(found.status == StampStatus.STALE)


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('late', [2, 5])
def test_a_second_publisher_of_rounded_states_is_told_by_the_motion(seed, late):
    given = rounded(seed, rest=0)
    own = np.arange(late, 600)
    index = np.stack([own, own - late], axis=1).ravel()
    stamp = given.stamp[own].repeat(2) + np.tile([0, 3_000_000], len(own))
    found = analyse(JointStates(
        stamp, stamp, given.position[index], given.velocity[index], given.effort[index]))
    stale = found.status == StampStatus.STALE
    # All but those of states that the first one never showed.
    assert stale[2 * late + 1::2].mean() > 0.98
    assert not stale[::2].any()


@pytest.mark.parametrize('velocity', [True, False])
@pytest.mark.parametrize('noise', [1e-5, 1e-4])
def test_a_recording_is_split_where_the_driver_stalls(velocity, noise):
    """The stamps determine no clock, and the motion seemed to stand still for 18 ms."""
    given = record(
        250.0, 6.0, velocity=velocity, position_noise=noise, jitter=0.1, bandwidth=0.5)
    stalled(400, 1100)(given)
    if not velocity:
        given.velocity = np.full_like(given.position, np.nan)
    timing = analyse(states_of(given))
    assert np.flatnonzero(timing.status == StampStatus.AFTER_STEP).tolist() == [403, 1103]


@pytest.mark.parametrize('held', [1, 2, 5, 25])
def test_messages_that_are_held_up_split_nothing(held):
    given = record(250.0, 6.0, jitter=0.1, bandwidth=0.5)
    given.stamp[700:700 + held] = given.stamp[699 + held] + 3 * MS + MS // 10 * np.arange(held)
    given.stamp[700 + held:702 + held] = given.stamp[699 + held] + MS // 10 * np.arange(1, 3)
    timing = analyse(states_of(given))
    assert StampStatus.AFTER_STEP not in timing.status
