"""Streams behave as a person expects of sliders, planners and dropouts, within the limits."""
from dataclasses import replace
import sys

import numpy as np
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference import MotionLimits, Stream
from hodyn_ros.reference.manager import ReferenceManager

MS = 1_000_000
OMEGA = 50.0


def limits(n=1, *, low=-3.0, high=3.0, velocity=2.0, acceleration=10.0, jerk=400.0):
    values = low, high, velocity, acceleration, jerk
    return MotionLimits(*(np.full(n, value) for value in values))


@pytest.fixture
def stream():
    """Return a stream of one joint at rest."""
    return Stream(np.zeros(1), 0, OMEGA, limits())


def run(stream, begin, end, sample=None, every=4 * MS, bounds=None):
    """Evaluate every ms, sampling `sample(t)`, and return the instants and states."""
    n = stream.state_at(begin).shape[1]
    bounds = bounds or limits(n)
    times = np.arange(begin, end, MS)
    states = np.empty((len(times), 5, n))
    for now, state in zip(times.tolist(), states, strict=True):
        if sample is not None and (now - begin) % every == 0:
            position, velocity = (
                None if value is None else np.atleast_1d(value)
                for value in sample((now - begin) * 1e-9))
            stream.set_target(now, position, velocity, now + 100 * MS, bounds)
        stream.evaluate(now, state)
    return times * 1e-9, states


def test_a_single_sample_is_gone_to_and_kept(stream):
    stream.set_target(0, np.array([0.5]), None, 100 * MS, limits())
    _, q = run(stream, 0, 2000 * MS)
    assert q[-1, 0, 0] == pytest.approx(0.5, abs=1e-6)
    assert q[:, 0].max() <= 0.5 + 1e-6, 'overshoot'
    assert (np.diff(q[:, 0, 0]) >= -1e-12).all()
    assert not stream.is_at_rest(500 * MS)
    assert stream.is_at_rest(2000 * MS)


@pytest.mark.parametrize('period', [200, 111, 1000, 50])
@pytest.mark.parametrize('step', [0.15, 0.5, 1.5])
def test_a_slow_slider_is_followed_without_swinging(stream, period, step):
    """At 5 Hz, slower than any timeout, a step of 0.15 rad swung to 40 rad, at 9 Hz to 762."""
    _, q = run(stream, 0, 5000 * MS, sample=lambda t: (step, None), every=period * MS)
    assert q[:, 0].max() <= step + 1e-6
    assert q[-1, 0, 0] == pytest.approx(step, abs=1e-6)


@pytest.mark.parametrize(('velocity', 'least', 'most'), [
    (0.7, -1e-6, 1e-6),
    # Without it, and by what it takes to stop at each of the samples.
    (None, 2.0 / OMEGA, 2.0 / OMEGA + 0.1)])
def test_a_ramp_with_velocities_has_no_lag_and_one_without_has(stream, velocity, least, most):
    t, q = run(stream, 0, 2000 * MS, sample=lambda t: (0.7 * t, velocity))
    late = (0.7 * t[-400:] - q[-400:, 0, 0]) / 0.7
    assert (late > least).all()
    assert (late < most).all()
    if velocity is not None:
        np.testing.assert_allclose(q[-400:, 1, 0], velocity, atol=1e-5)


def test_a_smooth_motion_with_its_velocities_is_followed_closely(stream):
    t, q = run(stream, 0, 6000 * MS, sample=lambda t: (
        0.4 * (1 - np.cos(t)), 0.4 * np.sin(t)))
    assert np.abs(q[3000:, 0, 0] - 0.4 * (1 - np.cos(t[3000:]))).max() < 2e-3


def test_a_dropout_in_a_ramp_stops_it_and_it_goes_on_within_the_limits(stream):
    """A dropout of 0.4 s in a ramp of 1 rad/s led to 4.4 rad/s."""
    run(stream, 0, 1000 * MS, sample=lambda t: (t, 1.0))
    _, silent = run(stream, 1000 * MS, 1400 * MS)
    assert abs(silent[-1, 1, 0]) < 1e-3
    # The last sample came at 0.996 s; then 0.1 s, the filter's lag and the fastest stop.
    stop = 0.5 * (1.0 / 10.0 + 10.0 / 400.0)
    assert silent[-1, 0, 0] == pytest.approx(0.996 + 0.1 + 2.0 / OMEGA + stop, abs=1e-3)
    _, back = run(stream, 1400 * MS, 2400 * MS, sample=lambda t: (1.4 + t, 1.0))
    assert np.abs(back[:, 1]).max() <= 2.0
    assert back[-1, 0, 0] == pytest.approx(2.4, abs=5e-3)


def test_at_the_end_of_the_range_it_stops_and_does_not_overshoot(stream):
    _, q = run(stream, 0, 4000 * MS, sample=lambda t: (min(2.0 * t, 3.0), 2.0))
    assert q[:, 0].max() <= 3.0
    assert q[-1, 0, 0] == pytest.approx(3.0, abs=1e-5)


def test_an_arm_outside_its_range_is_led_back_and_never_further_out():
    stream = Stream(np.array([3.2]), 0, OMEGA, limits())
    _, q = run(stream, 0, 100 * MS, sample=lambda t: (3.0, 1.0))
    assert q[:, 0].max() <= 3.2
    _, q = run(stream, 100 * MS, 3000 * MS, sample=lambda t: (1.0, None))
    assert q[-1, 0, 0] == pytest.approx(1.0, abs=1e-5)


def test_a_stop_is_as_fast_as_the_limits_allow(stream):
    run(stream, 0, 1000 * MS, sample=lambda t: (1.5 * t, 1.5))
    stream.stop(1000 * MS, limits())
    assert stream.is_stopping
    _, q = run(stream, 1000 * MS, 1500 * MS)
    # 1.5 rad/s at 10 rad/s², built up and down at 400 rad/s³, and the filter's tail.
    assert abs(q[375, 1, 0]) < 1e-3
    assert (q[:, 1] >= -1e-9).all(), 'it turned back'


def test_a_target_needing_too_much_effort_is_followed_slower_or_waits():
    heavy = replace(limits(), effort_ratio=lambda q: float(np.abs(q[:, 2]).max() / 5.0))
    stream = Stream(np.zeros(1), 0, OMEGA, heavy)
    stream.set_target(0, np.array([1.0]), None, 100 * MS, heavy)
    assert not stream.is_held_back
    _, q = run(stream, 0, 3000 * MS)
    assert 2.0 < np.abs(q[:, 2]).max() <= 5.0
    assert q[-1, 0, 0] == pytest.approx(1.0, abs=1e-6)
    never = replace(limits(), effort_ratio=lambda q: 2.0)
    stream.set_target(3000 * MS, np.array([0.0]), None, 3100 * MS, never)
    assert stream.is_held_back
    _, q = run(stream, 3000 * MS, 3500 * MS)
    np.testing.assert_allclose(q[:, 0], 1.0, atol=1e-6)
    assert stream.is_held_back
    run(stream, 3500 * MS, 4500 * MS)
    assert stream.is_at_rest(4500 * MS)


def test_a_state_to_come_is_what_is_then_reached():
    stream = Stream(np.zeros(2), 0, OMEGA, limits(2))
    stream.set_target(0, np.array([0.4, -0.2]), None, 100 * MS, limits(2))
    foretold = stream.state_at(250 * MS)
    _, q = run(stream, 0, 251 * MS)
    np.testing.assert_allclose(q[-1], foretold, rtol=1e-9, atol=1e-6)


def test_what_is_not_finite_is_refused(stream):
    with pytest.raises(HodynError, match='must be finite'):
        stream.set_target(0, np.array([np.nan]), None, MS, limits())


@pytest.mark.parametrize('place', range(5))
def test_limits_that_are_no_numbers_are_named(place):
    given = [np.full(2, value) for value in (-np.inf, np.inf, 2.0, 10.0, 100.0)]
    given[place] = np.array([1.0, np.nan])
    name = ('lower', 'upper', 'velocity', 'acceleration', 'jerk')[place]
    with pytest.raises(HodynError, match=f'^{name} has values that are not numbers'):
        MotionLimits(*given)


def test_a_slower_motion_stays_between_target_and_stopping_point():
    """Efforts of joint 0 leave slow motions only; joint 1, which they slow down, ran on for long.

    Braked at a tenth of its acceleration it went 3.8 rad past every sample.
    """
    careful = replace(
        limits(2, low=-1e6, high=1e6, velocity=20.0),
        effort_ratio=lambda motion: float(np.abs(motion[:, 2, 0]).max() / 2.0))

    def goal(t):  # joint 1 is at full speed when joint 0 sets out
        turn, ms = divmod(round(1e3 * t), 4000)
        return [(turn + (ms >= 400)) % 2, -3.0 if turn % 2 else 3.0]

    stream = Stream(np.zeros(2), 0, OMEGA, careful)
    times, q = run(
        stream, 0, 24_000 * MS, sample=lambda t: (goal(t), None), every=20 * MS, bounds=careful)
    assert np.abs(q[:, 2, 0]).max() <= 2.1
    assert np.abs(q[:, 0, 1]).max() <= 3.0 + 1e-3
    assert np.abs(q[:, 1, 1]).max() > 2.0, 'it was not driven hard'
    assert q[-1, 0] == pytest.approx(goal(times[-1]), abs=1e-3)


@pytest.mark.parametrize('side', [-1.0, 1.0])
def test_towards_an_end_velocities_fall_as_the_law_asks(stream, side):
    law = np.array([[2.62], [-2.75], [2.75], [6.0], [0.3]])
    bounds = replace(limits(velocity=2.62, jerk=5000.0), law=law)
    _, q = run(stream, 0, 4000 * MS, sample=lambda t: (side * 2.74, None), every=20 * MS,
               bounds=bounds)
    position, velocity = side * q[:, :2, 0].T
    allowed = np.clip(np.sqrt(12.0 * (2.75 - position)) - 0.3, 0.0, 2.62)
    assert (velocity <= allowed + 1e-9).all()
    assert np.abs(velocity).max() > 1.5
    # As near as half the law's deceleration allows.
    assert position[-1] == pytest.approx(2.75 - 1.02 * 0.3**2 / 6.0, abs=1e-6)


def test_without_ruckig_streams_alone_are_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, 'ruckig', None)
    reference = ReferenceManager(np.zeros(1), OMEGA)
    with pytest.raises(HodynError, match='streams need ruckig: pip install ruckig'):
        reference.set_target(0, np.ones(1), None, MS, limits())
    reference.stop(0, limits())
    assert reference.mode(0) == 'holding'


def test_a_target_that_takes_years_is_held_back_and_a_nearer_one_followed():
    """Ruckig has a result for it that its own enumeration lacks: an error, in a cycle."""
    one = np.ones(1)
    limits = MotionLimits(-1e9 * one, 1e9 * one, 1e-9 * one, one, one)
    stream = Stream(np.zeros(1), 0, 50.0, limits)
    stream.set_target(0, 1e3 * one, None, 0, limits)
    assert stream.is_held_back
    stream.set_target(20_000_000, 1e-9 * one, None, 20_000_000, limits)
    assert not stream.is_held_back
    assert stream.state_at(60_000_000_000)[0, 0] == pytest.approx(1e-9, rel=1e-3)
