"""The smoothing filter: exact for any interval, and within the range of what it is given."""
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.linalg import expm

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference.smoothing import MAX_SLOPE, SmoothingFilter

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
    stream = SmoothingFilter(np.zeros(2), omega)
    stream.state[:] = start
    goal = rng.normal(size=2)
    stream.set_target(goal)
    state = stream.advance(interval)
    # In units of omega, where the exponential is well scaled.
    scaled = expm(system(1.0) * omega * interval)
    expected = scaled @ np.vstack((start / units[:, None], goal))
    np.testing.assert_allclose(state / units[:, None], expected[:5], atol=1e-12)



@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_it_stays_within_the_range_and_the_slope_of_its_input(seed):
    rng = np.random.default_rng(seed)
    stream = SmoothingFilter([0.0], OMEGA)
    for _ in range(300):
        stream.set_target([rng.choice([-1.0, 1.0, rng.uniform(-1.0, 1.0)])])
        state = stream.advance(rng.choice([1e-4, 1e-3, 0.02, 0.3]))
        assert abs(state[0, 0]) <= 1.0 + 1e-12


def test_the_greatest_slope_of_a_step_is_as_stated():
    stream = SmoothingFilter([0.0], OMEGA)
    stream.set_target([1.0])
    steepest = max(stream.advance(1e-4)[1, 0] for _ in range(5000))
    assert steepest == pytest.approx(MAX_SLOPE * OMEGA, rel=1e-6)



def test_settles_on_the_target():
    stream = SmoothingFilter([0.3, -0.2], OMEGA)
    stream.set_target([1.0, 2.0])
    state = stream.advance(60.0 / OMEGA)
    np.testing.assert_allclose(state[0], [1.0, 2.0], atol=1e-9)
    out = np.empty((5, 2))
    assert stream.advance(100.0, out) is out
    np.testing.assert_allclose(out[1:], 0.0, atol=1e-9)


@pytest.mark.parametrize(('call', 'message'), [
    (lambda s: s.set_target([np.nan]), 'sample: must be finite'),
    (lambda s: s.set_target([0.0, 1.0]), r'sample: must be finite, of shape \(1,\)'),
    (lambda s: s.set_target('x'), 'sample: expected numbers'),
    (lambda s: s.advance(-1.0), 'interval -1.0'),
    (lambda _: SmoothingFilter(np.zeros((4, 1)), OMEGA), 'start of a filter'),
    (lambda _: SmoothingFilter([0.0], 0.0), 'omega 0.0'),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(HodynError, match=message):
        call(SmoothingFilter([0.0], OMEGA))
