"""The bounded interpolation: between its points, and smoother than the local one."""
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from hodyn_ros.reference import bounded_spline, fit_plan, overshoot
from hodyn_ros.reference.extrema import extrema

TOLERANCE = 0.01


def integral(plan) -> float:
    return sum(
        bounded_spline.integral(plan.times, knots_of(plan)[:, :, joint])
        for joint in range(plan.n))


def knots_of(plan) -> np.ndarray:
    knots = plan.evaluate(plan.times)
    knots[-1, 1:] = 0.0
    return knots


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(2, 15), st.sampled_from([0.1, 1e-3]))
def test_each_piece_stays_between_its_points_and_beats_local(seed, count, shortest):
    rng = np.random.default_rng(seed)
    times = np.concatenate(([0.0], np.cumsum(shortest ** rng.random(count - 1))))
    positions = np.cumsum(rng.normal(size=(count, 1)), axis=0)
    plan = fit_plan(times, positions, interpolation='bounded', overshoot_tolerance=TOLERANCE)
    for i in range(count - 1):
        s = np.linspace(times[i], times[i + 1], 60)
        values = plan.evaluate(s)[:, 0, 0]
        assert values.min() >= positions[i:i + 2].min() - TOLERANCE * (1 + 1e-6)
        assert values.max() <= positions[i:i + 2].max() + TOLERANCE * (1 + 1e-6)
    local = fit_plan(times, positions, interpolation='local')
    assert integral(plan) <= 1.02 * integral(local)


def test_is_the_global_one_where_the_bounds_are_wide():
    times, positions = [0.0, 1.0, 2.2, 3.0], [[0.0], [1.0], [0.5], [0.7]]
    wide = fit_plan(times, positions, interpolation='bounded', overshoot_tolerance=10.0)
    free = fit_plan(times, positions, interpolation='global')
    assert integral(wide) <= integral(free) * (1 + 2 * bounded_spline.ACCURACY)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1), st.integers(3, 15), st.sampled_from([0.1, 1e-3]),
    st.sampled_from(['auto', 'bounded']), st.booleans())
def test_points_at_the_ends_of_the_range_are_not_passed(seed, count, shortest, kind, is_path):
    rng = np.random.default_rng(seed)
    times = np.concatenate(([0.0], np.cumsum(shortest ** rng.random(count - 1))))
    positions = rng.random((count, 1))
    at_end = rng.permutation(count)[:3]
    positions[at_end, 0] = 0.0, 1.0, 10.0 ** -rng.uniform(0.0, 12.0)
    plan = fit_plan(
        times, positions, interpolation=kind, overshoot_tolerance=TOLERANCE,
        position_range=(0.0, 1.0), is_path=is_path)
    np.testing.assert_allclose(plan.evaluate(times)[:, 0], positions, rtol=0.0, atol=1e-12)
    values, _ = extrema(plan, 0)
    assert values[0, 0] >= -1e-9
    assert values[1, 0] <= 1.0 + 1e-9
    if kind == 'bounded' and not is_path:
        local = fit_plan(times, positions, interpolation='local')
        assert integral(plan) <= 1.02 * integral(local)


def test_the_range_holds_per_joint_and_only_where_points_keep_it():
    times, column = [0.0, 1.0, 2.0, 3.5], np.array([0.01, 0.03, 0.0, 0.02])
    positions = np.column_stack([column, column])
    free = fit_plan(times, positions)
    assert free.interpolation == 'global'
    assert extrema(free, 0)[0][0] == pytest.approx([-0.00286] * 2, abs=1e-5)
    kept = fit_plan(times, positions, position_range=([0.0, -1.0], [0.05, 1.0]))
    assert kept.interpolation == 'bounded'
    assert extrema(kept, 0)[0][0, 0] >= 0.0
    assert extrema(kept, 0)[0][0, 1] < -1e-3
    outside = fit_plan(times, positions, position_range=(0.005, 0.05))
    np.testing.assert_array_equal(outside.coefficients, free.coefficients)


def test_each_joint_may_have_its_own_tolerance():
    times, column = [0.0, 0.1, 3.1, 3.2], [0.0, 0.1, 1.0, 1.1]
    plan = fit_plan(times, np.column_stack([column, column]), overshoot_tolerance=[0.1, 1e-4])
    excess = overshoot(plan, np.column_stack([column, column]))
    assert excess[1] <= 1e-4
    assert plan.evaluate(0.0).shape == (5, 2)
    for wrong in ([0.1], [0.1, -1.0], [0.1, np.nan], 'x'):
        with pytest.raises(ValueError, match='overshoot_tolerance'):
            fit_plan(times, np.column_stack([column, column]), overshoot_tolerance=wrong)
    for wrong in (([2.0, 2.0], [-2.0, -2.0]), [[-2.0, 2.0], [-2.0, 2.0]], (np.nan, 2.0)):
        with pytest.raises(ValueError, match='each least position, of all joints, must be below'):
            fit_plan(times, np.column_stack([column, column]), position_range=wrong)
    with pytest.raises(ValueError, match=r'position_range has shape \(3,\); expected one number'):
        fit_plan(times, np.column_stack([column, column]), position_range=(0.0, [1.0] * 3))


def test_is_the_least_integral_within_its_bounds():
    times = np.array([0.0, 1.0, 2.0, 3.0])
    positions = np.array([[0.0], [1.0], [1.02], [0.0]])
    plan = fit_plan(times, positions, interpolation='bounded', overshoot_tolerance=TOLERANCE)

    def knots(x):
        full = np.zeros((4, 5, 1))
        full[:, 0] = positions
        full[1:3, 1:, 0] = x.reshape(2, 4)
        return full

    rows, low, high = [], [], []
    for i in (1, 2):
        for other in (i - 1, i + 1):
            h, step = times[other] - times[i], positions[other, 0] - positions[i, 0]
            for reach in bounded_spline.REACH:
                row = np.zeros(8)
                row[4 * (i - 1):4 * i] = reach[1:] * h ** np.arange(1, 5)
                rows.append(row)
                low.append(min(step, 0.0) - TOLERANCE)
                high.append(max(step, 0.0) + TOLERANCE)
    best = minimize(
        lambda x: bounded_spline.integral(times, knots(x)[:, :, 0]) / 1e4, np.zeros(8),
        method='trust-constr', constraints=LinearConstraint(np.array(rows), low, high),
        options={'maxiter': 2000})
    assert integral(plan) <= 1e4 * best.fun * (1 + 3 * bounded_spline.ACCURACY)



def test_needs_a_tolerance():
    with pytest.raises(ValueError, match='overshoot_tolerance above 0'):
        fit_plan([0.0, 1.0], [[0.0], [1.0]], interpolation='bounded', overshoot_tolerance=0.0)


def test_overshoot_takes_lists_and_names_another_number_of_joints():
    plan = fit_plan([0.0, 1.0], [[0.0], [1.0]])
    assert overshoot(plan, [[0.0], [0.5]]) == pytest.approx([0.5])
    with pytest.raises(ValueError, match=r'waypoints have shape \(2, 2\); expected \(m, 1\)'):
        overshoot(plan, [[0.0, 0.0], [1.0, 1.0]])
