"""The stream filter: exact for any interval, and what it follows without lag."""
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.linalg import expm

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference import StreamFilter

OMEGA = 40.0


def system(omega: float) -> np.ndarray:
    """The filter and its constant input as one autonomous system of six states."""
    matrix = np.zeros((6, 6))
    matrix[range(4), range(1, 5)] = 1.0
    matrix[4, :5] = [-(omega**5), -5 * omega**4, -10 * omega**3, -10 * omega**2, -5 * omega]
    matrix[4, 5] = omega**5
    return matrix


@settings(max_examples=50, deadline=None)
@given(st.floats(1e-5, 0.3), st.floats(1.0, 200.0), st.integers(0, 2**32 - 1))
def test_equals_the_matrix_exponential(interval, omega, seed):
    rng = np.random.default_rng(seed)
    units = omega ** np.arange(5.0)
    start = rng.normal(size=(5, 2)) * units[:, None]
    stream = StreamFilter(start, omega)
    goal = rng.normal(size=2)
    stream.set_target(goal)
    state = stream.advance(interval)
    # In units of omega, where the exponential is well scaled.
    scaled = expm(system(1.0) * omega * interval)
    expected = scaled @ np.vstack((start / units[:, None], goal))
    np.testing.assert_allclose(state / units[:, None], expected[:5], atol=1e-12)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(1e-4, 0.02), min_size=1, max_size=20))
def test_jittering_intervals_add_up(intervals):
    jittering, whole = StreamFilter([0.0], OMEGA), StreamFilter([0.0], OMEGA)
    for stream in (jittering, whole):
        stream.set_target([1.0], [0.5], [2.0])
    for interval in intervals:
        jittering.advance(interval)
    whole.advance(sum(intervals))
    units = (OMEGA ** np.arange(5.0))[:, None]
    np.testing.assert_allclose(jittering.state / units, whole.state / units, atol=1e-13)


def follow(orders: int, path, count: int = 4000, interval: float = 1e-3) -> float:
    """Return the lag behind `path` (its value and derivatives at t) once it has settled."""
    stream = StreamFilter([0.0], OMEGA)
    for i in range(count):
        stream.set_target(*([value] for value in path(i * interval)[: orders + 1]))
        stream.advance(interval)
    return path(count * interval)[0] - stream.state[0, 0]


def test_positions_alone_lag_a_ramp_by_five_over_omega():
    lag = follow(0, lambda t: (0.7 * t, 0.7, 0.0))
    # Half an interval, on average, is the age of the held sample.
    assert lag / 0.7 == pytest.approx(5.0 / OMEGA, abs=1.1e-3)


def test_velocities_remove_the_lag_behind_a_ramp_and_accelerations_behind_a_parabola():
    assert abs(follow(1, lambda t: (0.7 * t, 0.7, 0.0))) < 1e-12
    assert abs(follow(1, lambda t: (t * t, 2 * t, 2.0))) > 1e-3
    assert abs(follow(2, lambda t: (t * t, 2 * t, 2.0))) < 1e-11


def test_states_are_derivatives_and_stay_continuous_when_the_target_jumps():
    stream = StreamFilter([0.0], OMEGA)
    stream.set_target([1.0])
    before = stream.advance(0.02)
    stream.set_target([-1.0])
    np.testing.assert_allclose(stream.advance(0.0), before, rtol=1e-12)
    step = 1e-5
    samples = [stream.advance(step) for _ in range(3)]
    slope = (samples[2] - samples[0]) / (2 * step)
    np.testing.assert_allclose(slope[:4, 0], samples[1][1:, 0], rtol=1e-4)


def test_settles_on_the_target():
    stream = StreamFilter([0.3, -0.2], OMEGA)
    stream.set_target([1.0, 2.0])
    state = stream.advance(60.0 / OMEGA)
    np.testing.assert_allclose(state[0], [1.0, 2.0], atol=1e-9)
    out = np.empty((5, 2))
    assert stream.advance(100.0, out) is out
    np.testing.assert_allclose(out[1:], 0.0, atol=1e-9)


@pytest.mark.parametrize(('call', 'message'), [
    (lambda s: s.set_target([np.nan]), 'position must be finite'),
    (lambda s: s.set_target([0.0], [0.0, 1.0]), 'velocity must be finite, of shape'),
    (lambda s: s.set_target('x'), 'position: expected numbers'),
    (lambda s: s.reset([[0.0], [0.0, 1.0]]), 'start: expected numbers'),
    (lambda s: s.advance(-1.0), 'interval -1.0'),
    (lambda s: s.reset(np.zeros((4, 1))), 'start of a stream'),
    (lambda _: StreamFilter([0.0], 0.0), 'omega 0.0'),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(HodynError, match=message):
        call(StreamFilter([0.0], OMEGA))


def test_the_name_that_the_docs_of_0_1_gave_still_works():
    stream = StreamFilter([0.0], 10.0)
    stream.aim([1.0])
    assert stream.advance(10.0)[0, 0] == pytest.approx(1.0)
