"""Twists of a moving base that its poses do not confirm, by the torque that is published."""
from itertools import product

import numpy as np
import pytest
from supervised import PERIOD, World

from hodyn_ros.feedforward.transitions import State
from hodyn_ros.robot import lie

WAVES = [(0.25, [0.0, 0.1, 0.3]), (0.4, [0.05, 0.0, 0.0])]
CALM = [(frequency, [0.15 * each for each in size]) for frequency, size in WAVES]
BEGIN = 1001.0  # of the waves, s: a second after that of a world
RATES, BANDWIDTHS = [20, 50, 200], [2.0, 10.0]


def a_fifth(*values):
    """Return all combinations of values, four fifths of them for the sieges."""
    places = product(*(range(len(each)) for each in values))
    return [
        pytest.param(*(each[i] for each, i in zip(values, place, strict=True)), marks=(
            pytest.mark.siege if sum(place) % 5 else ()))
        for place in places]


class Waves:
    """A deck that waves (Hz, m) move and roll after a second at rest.

    Its odometry has a wrong twist from `since` to `until`, s.
    """

    def __init__(
        self, waves=WAVES, heading=0.0, roll=0.0, wrong=None, since=-9.0, until=99.0,
    ):
        self.waves, self.heading, self.roll = waves, heading, roll
        self.wrong, self.since, self.until = wrong, since, until
        self.shift = np.zeros(3)

    def moves(self, t):
        """Return position and velocity, from rest over two seconds."""
        s, place = np.clip(0.5 * t, 0.0, 1.0), np.zeros((2, 3))
        size, rate = s**3 * (10.0 - 15.0 * s + 6.0 * s**2), 15.0 * s**2 * (1.0 - s) ** 2
        for frequency, amplitude in self.waves:
            phase = 2.0 * np.pi * frequency
            sine, cosine = np.sin(phase * t), np.cos(phase * t)
            place += np.outer([size * sine, rate * sine + size * phase * cosine], amplitude)
        return place

    def motion(self, at):
        t, phase = at - BEGIN, 1.5 * max(at - BEGIN, 0.0)
        rotation = lie.rotation_z(self.heading) @ lie.rotation_x(self.roll * (1 - np.cos(phase)))
        place, velocity = self.moves(t)
        linear = rotation.T @ velocity
        if self.wrong is not None and self.since <= t < self.until:
            linear = self.wrong(t, rotation, linear)
        return lie.pose(rotation, self.shift + place), linear, np.array(
            [1.5 * self.roll * np.sin(phase), 0.0, 0.0])


def afloat(*, rate=50, bandwidth=0.0, **options):
    """Return a world on waves that begin in half a second, when the base is known."""
    world = World(deck=Waves(**options), base_timeout=1.0, rate=rate, bandwidth=bandwidth)
    world.sail(0.5)
    return world


def published(seconds=6.5, **options):
    """Return the torques that are published while such a world sails."""
    return afloat(**options).sail(seconds)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-6)


def nothing(t, rotation, linear):
    return np.zeros(3)


def in_millimetres(t, rotation, linear):
    return 1e3 * linear


def in_world_axes(t, rotation, linear):
    return rotation @ linear


@pytest.mark.parametrize('rate', RATES)
@pytest.mark.parametrize('bandwidth', BANDWIDTHS)
@pytest.mark.parametrize(('waves', 'roll'), [(CALM, 0.1), (WAVES, 0.0)])
def test_millimetres_per_second_from_the_start_move_no_torque(rate, bandwidth, waves, roll):
    """In calm waves the arm is also compensated for the roll all the time."""
    options = {'rate': rate, 'bandwidth': bandwidth, 'waves': waves, 'roll': roll}
    without = published(wrong=nothing, **options)
    world = afloat(wrong=in_millimetres, **options)
    assert_same(world.sail(6.5), without)
    assert world.said('to twist.twist.linear: is that in m/s, in the axes of child_frame_id')
    if roll:
        assert np.ptp(without, axis=0).max() > 1.0
        assert world.supervisor.state is State.RUNNING
        assert not world.refused
    else:
        assert 'at most 100 are believed: is it in mm/s?' in world.refused[-1]


def shares(wrong, since, until=99.0, **options):
    """Return what a velocity that becomes wrong changes, and what none at all does at most."""
    without = published(wrong=nothing, **options)
    found = published(wrong=wrong, since=since, until=until, **options) - without
    return np.abs(found), np.abs(published(**options) - without).max(axis=0)


@pytest.mark.parametrize(
    ('rate', 'since', 'bandwidth', 'waves'),
    a_fifth(RATES, [2.5, 3.03, 4.4], BANDWIDTHS, [CALM, WAVES]))
def test_a_change_to_millimetres_only_ends_the_accelerations(rate, bandwidth, since, waves):
    found, share = shares(in_millimetres, since, rate=rate, bandwidth=bandwidth, waves=waves)
    assert share.max() > 0.1
    assert (found <= share + 1e-6).all()
    assert (found[round((0.5 + since + 2.0) / PERIOD):] <= 1e-6).all()


@pytest.mark.parametrize(
    ('jumping', 'waves', 'bandwidth'), a_fifth(
        [(20, 8.0), (100, 3.4), (200, 1.7)], [CALM, WAVES, [(0.1, [1.6, 0.0, 0.0])]], BANDWIDTHS))
def test_one_wrong_velocity_is_no_acceleration(jumping, bandwidth, waves):
    """The average over the window confirmed it, and it counted with 20 m/s²."""
    rate, jump = jumping
    found, share = shares(
        lambda t, _, linear: linear + np.array([jump, 0.0, 0.0]), 3.0, 3.0 + 1.0 / rate,
        rate=rate, bandwidth=bandwidth, waves=waves)
    assert (found <= 1.1 * share + 1e-6).all()  # the filter starts anew


@pytest.mark.parametrize(
    ('rate', 'bandwidth', 'speed'), a_fifth(RATES, BANDWIDTHS, [0.3, 3.0, 30.0, 300.0]))
def test_a_base_that_rests_moves_no_torque_whatever_its_velocity(rate, bandwidth, speed):
    """It moved the torque of a shoulder by 24 N m."""
    world = afloat(
        rate=rate, bandwidth=bandwidth, waves=[], since=1.0,
        wrong=lambda t, *_: np.array([speed * np.cos(5.0 * t), 0.0, 0.0]))
    found = world.sail(3.5)
    assert_same(found, found[:1].repeat(len(found), axis=0))
    assert world.said('its position moved by 0 m') or speed == 0.3


@pytest.mark.parametrize('rate', RATES)
@pytest.mark.parametrize('heading', [1.0, -1.6, 3.1])
def test_a_velocity_in_the_axes_of_the_world_is_named_and_left_out(rate, heading):
    options = {
        'rate': rate, 'bandwidth': 10.0, 'heading': heading, 'waves': [(0.3, [1.0, 0.5, 0.0])]}
    world = afloat(wrong=in_world_axes, **options)
    assert_same(world.sail(5.5), published(5.5, wrong=nothing, **options))
    assert world.said('is that in m/s, in the axes of child_frame_id?')
    assert 'according to twist.twist.linear' in world.report[1]


def test_a_velocity_that_is_put_right_counts_again():
    world = afloat(bandwidth=10.0, wrong=in_millimetres, since=2.0, until=5.0)
    found = world.sail(11.5)
    assert world.report[0] == 'holding'
    assert 'twist' not in world.report[1]
    assert_same(found[-100:], published(11.5, bandwidth=10.0)[-100:])


def test_without_accelerations_a_wrong_velocity_is_only_logged():
    sound, world = (
        afloat(waves=CALM, roll=0.1, wrong=wrong) for wrong in (None, in_millimetres))
    np.testing.assert_array_equal(world.sail(3.5), sound.sail(3.5))
    assert world.said('according to twist.twist.linear') == 1
    assert world.report == ('holding', '')
    assert not sound.said('twist')


@pytest.mark.parametrize('rate', RATES)
def test_a_jump_of_the_position_alone_moves_no_torque(rate):
    """Satellite navigation corrects itself so."""
    sound = published(5.5, rate=rate, bandwidth=10.0)
    world = afloat(rate=rate, bandwidth=10.0)
    found = [world.sail(1.0)]
    for world.deck.shift in ([0.0, -5.0, 0.0], [0.0, -5.0, 0.08], [2e3, 0.0, 0.3]):
        found.append(world.sail(1.5))
    assert_same(np.concatenate(found), sound)
    assert not world.said('twist')
    assert np.ptp(sound, axis=0).max() > 1.0
