"""Stops: continuous with the motion, within limits, and no slower than they need be."""
from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference import extrema, fit_plan, stop_plan
from hodyn_ros.reference.stop import _excess, move_plan

LIMITS = {'velocity': 2.0, 'acceleration': 10.0, 'jerk': 500.0}


def peaks(plan) -> np.ndarray:
    return np.array([np.abs(extrema(plan, k)[0]).max(axis=0) for k in (1, 2, 3)])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(0.05, 0.95))
def test_takes_over_the_state_and_keeps_the_limits(seed, fraction):
    rng = np.random.default_rng(seed)
    waypoints = np.cumsum(rng.uniform(-0.4, 0.4, size=(5, 3)), axis=0)
    motion = fit_plan(np.arange(5) * 0.8, waypoints)
    state = motion.evaluate(fraction * motion.duration)
    plan = stop_plan(state, **LIMITS)
    h = plan.duration
    scale = np.abs(plan.coefficients).max()
    for k in range(5):
        assert np.abs(plan.evaluate(0.0)[k] - state[k]).max() <= 1e-12 * scale / h**k
        if k:
            assert np.abs(plan.evaluate(h)[k]).max() <= 1e-11 * scale / h**k
    allowed = np.maximum(np.array([2.0, 10.0, 500.0])[:, None], np.abs(state[1:4]))
    assert (peaks(plan) <= allowed * (1 + 1e-3)).all()


def test_is_the_shortest_within_limits():
    state = np.zeros((5, 2))
    state[1] = [1.0, -0.5]
    plan = stop_plan(state, **LIMITS)
    limits = np.array([[2.0] * 2, [10.0] * 2, [500.0] * 2])
    assert _excess(state, limits, plan.duration) <= 1.0
    assert _excess(state, limits, plan.duration * 0.999) > 1.0
    # A stop from rest derivatives: peak acceleration 35/16 v/T.
    assert plan.duration == pytest.approx(35 / 16 / 10.0, rel=0.01)


def test_past_every_limit_it_still_stops():
    state = np.array([[0.0], [3.0], [12.0], [900.0], [1e4]])
    plan = stop_plan(state, **LIMITS)
    assert (np.abs(plan.evaluate(plan.duration)[1]) < 1e-9).all()
    assert plan.duration < 2.0


def test_at_rest_it_holds():
    plan = stop_plan(np.vstack(([0.4], np.zeros((4, 1)))), acceleration=1.0)
    assert plan.interpolation == 'hold'
    assert plan.evaluate(1.0)[0, 0] == 0.4


def test_needs_a_limit_and_a_finite_state():
    with pytest.raises(ValueError, match='acceleration or jerk'):
        stop_plan(np.ones((5, 1)))
    with pytest.raises(ValueError, match='finite'):
        stop_plan(np.full((5, 1), np.nan), jerk=1.0)
    with pytest.raises(ValueError, match='must be positive'):
        stop_plan(np.ones((5, 1)), jerk=-1.0)
    with pytest.raises(HodynError, match='limit: expected numbers'):
        stop_plan(np.ones((5, 1)), jerk='x')
    with pytest.raises(HodynError, match=r'a limit has shape \(3,\)'):
        stop_plan(np.ones((5, 2)), jerk=np.ones(3))


def test_a_move_is_the_smoothest_from_rest_to_rest():
    start, goal = np.array([0.3, -1.0]), np.array([1.0, -1.0])
    times = np.linspace(-0.1, 2.1, 50)
    start_state = np.zeros((5, 2))
    start_state[0] = start
    fitted = fit_plan([2.0], [goal], start=start_state)
    np.testing.assert_allclose(
        move_plan(start, goal, 2.0).evaluate(times), fitted.evaluate(times), atol=1e-10)
