"""Streamed samples are ordered and timed by their stamps, and refused beyond the limits."""
from controllers import HOME
import numpy as np
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.feedforward.stream_schedule import (
    MAX_WAITING,
    StreamSchedule,
    beyond_speed,
    check_range,
)

MS = 1_000_000


class Stream(StreamSchedule):
    """Samples of one joint that come at once, unless one is the first after a silence."""

    at = 0.0

    def send(self, stamp, now, position=0.0, *, is_first=False):
        self.at += is_first
        self.add(stamp, now, np.array([float(position)]), None, self.at)


def test_without_a_delay_a_sample_counts_when_it_comes():
    schedule = Stream(0.0, 0.1)
    assert schedule.take(0) is None
    schedule.send(None, 5 * MS, 1, is_first=True)
    sample = schedule.take(5 * MS)
    assert sample.position == 1
    assert sample.velocity is None
    assert sample.until == 105 * MS
    assert schedule.take(6 * MS) is None


def test_a_sample_that_was_overtaken_is_refused_until_a_new_stream_begins():
    schedule = Stream(0.0, 0.1)
    schedule.send(20 * MS, 21 * MS, 1, is_first=True)
    with pytest.raises(HodynError, match='not newer'):
        schedule.send(19 * MS, 22 * MS, 2)
    schedule.send(3 * MS, 900 * MS, 3, is_first=True)
    assert schedule.take(900 * MS).position == 3


@pytest.mark.parametrize('seed', range(10))
def test_samples_with_one_constant_stamp_begin_no_new_stream(seed):
    rng = np.random.default_rng(seed)
    stamp = int(rng.integers(1, 10**12))
    schedule = Stream(rng.choice([0.0, 0.05]), 0.1)
    now = stamp + int(rng.integers(-10**9, 10**9))
    schedule.send(stamp, now, is_first=True)
    stamp -= int(rng.choice([0, 20 * MS]))
    for k in range(1, 20):  # some of them come soon, some after a silence
        with pytest.raises(HodynError, match='stamp each sample, or send a stamp of 0'):
            schedule.send(stamp, now + k * MS, is_first=k > 1 and rng.random() < 0.5)
    following = [stamp + 50 * MS, max(stamp - 10**9, 0), None][seed % 3]
    schedule.send(following, now + 10**9, 1, is_first=True)
    assert schedule.take(now + 10**9 + 50 * MS).position == 1


def test_with_a_delay_an_uneven_transport_does_not_show():
    schedule = Stream(0.05, 0.1)
    arrivals = {0: 10, 10: 35, 20: 36, 30: 37, 40: 60}
    for stamp, arrival in arrivals.items():
        schedule.send(stamp * MS, arrival * MS, stamp, is_first=stamp == 0)
    assert schedule.take(59 * MS) is None
    sample = schedule.take(62 * MS)
    # 2 ms after the first was due, on the way to the second.
    assert sample.position == pytest.approx(2, rel=1e-2)
    assert sample.velocity == pytest.approx(1000.0, rel=1e-2)
    # The fourth was under way for 7 ms only, 3 less than the first.
    sample = schedule.take(82 * MS)
    assert sample.position == pytest.approx(20 + 10 * 2 / 7, rel=1e-2)
    # The last one stays.
    assert schedule.take(98 * MS).velocity is None


def test_what_comes_much_too_late_and_too_much_at_once_is_refused():
    schedule = Stream(0.05, 0.1)
    schedule.send(0, 0, 0, is_first=True)
    with pytest.raises(HodynError, match=r'0\.190 s later than others .* is 0\.05 s'):
        schedule.send(10 * MS, 200 * MS, 0)
    for k in range(MAX_WAITING - 1):
        schedule.send(k + 1, 0, 0)
    with pytest.raises(HodynError, match='samples wait already'):
        schedule.send(MAX_WAITING + 1, 0, 0)


@pytest.mark.parametrize('ahead', [0, 6, 3600, -6, -3600, 10**9])
@pytest.mark.parametrize('delay', [0.0, 0.05])
def test_what_the_clock_of_the_sender_says_does_not_matter(ahead, delay):
    """Also where it is set in the middle, ahead or back."""
    taken = []
    schedule = Stream(delay, 0.1)
    for k in range(100):
        clock = 10**15 + ahead * 10**9 * (k >= 50)
        schedule.send(clock + 10 * k * MS, 10 * k * MS, k, is_first=k == 0)
        sample = schedule.take(10 * k * MS)
        taken.append(-1.0 if sample is None else sample.position[0])
    late = 0 if not delay else 5
    np.testing.assert_allclose(taken[60:], np.arange(60 - late, 100 - late))


def test_clocks_at_different_rates_do_not_add_up():
    schedule = Stream(0.02, 0.1)
    for k in range(20000):
        schedule.send(round(10 * k * MS * (1.0 - 3e-4)), 10 * k * MS, k, is_first=k == 0)
        sample = schedule.take(10 * k * MS)
    assert sample.position[0] == pytest.approx(19998, abs=1.5)


def test_between_distant_samples_the_reference_moves_all_the_time():
    schedule = Stream(0.3, 0.1)
    for stamp in (0, 200):
        schedule.send(stamp * MS, (stamp + 20) * MS, stamp, is_first=True)
    sample = schedule.take(321 * MS)
    assert sample.velocity == pytest.approx(1000.0)
    assert sample.until == 520 * MS


def test_a_slider_at_its_end_is_within_the_limits(panda):
    limits = panda.limits
    for position, velocity in (
            (limits.position_min, limits.velocity), (limits.position_max, -limits.velocity)):
        check_range(panda, panda.joint_names, position.copy(), HOME)
        assert not beyond_speed(panda, panda.joint_names, velocity.copy())


def test_a_stream_in_degrees_is_asked_about(panda):
    with pytest.raises(HodynError, match='positions are in rad: are these degrees'):
        check_range(panda, panda.joint_names, np.rad2deg(HOME), HOME)


@pytest.mark.parametrize('joint', range(7))
@pytest.mark.parametrize(('sign', 'words'), [(-1.0, r'is below -?\d'), (1.0, r'is above -?\d')])
def test_what_is_beyond_a_limit_is_named_by_joint_and_value(panda, joint, sign, words):
    limits = panda.limits
    position, velocity = 0.5 * (limits.position_min + limits.position_max), np.zeros(7)
    limit = (limits.position_min if sign < 0.0 else limits.position_max)[joint]
    position[joint] = limit + sign * 1e-5
    velocity[joint] = sign * np.nextafter(limits.velocity[joint], np.inf)
    with pytest.raises(HodynError, match=f"position .* of joint 'joint{joint + 1}' {words}"):
        check_range(panda, panda.joint_names, position, HOME)
    said = beyond_speed(panda, panda.joint_names, velocity)
    assert said.startswith('velocity ')
    assert f"of joint 'joint{joint + 1}' is beyond" in said
