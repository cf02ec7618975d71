"""Plans: interpolation, continuity, range, evaluation, immutability."""
from __future__ import annotations

import pickle

from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from scipy.interpolate import make_interp_spline

from hodyn_ros.common.errors import HodynError
from hodyn_ros.reference import Plan, extrema, fit_plan, hold_plan

UNIT_PEAKS = (2.4609375, 9.371976, 78.75, 622.53274)


@st.composite
def points(draw, smallest=1e-3, largest=10.0, most=12):
    """Times and positions, spacings log-uniform between the bounds."""
    seed = draw(st.integers(0, 2**32 - 1))
    m = draw(st.integers(2, most))
    rng = np.random.default_rng(seed)
    spacings = smallest * (largest / smallest) ** rng.random(m - 1)
    times = np.concatenate(([0.0], np.cumsum(spacings)))
    size = draw(st.sampled_from([1e-3, 1.0, 3.0]))
    return rng, times, size * np.cumsum(rng.normal(size=(m, 2)), axis=0)


def jumps(plan: Plan) -> tuple[np.ndarray, np.ndarray]:
    """Left minus right limits of q … q⁗ at the inner knots, and their round-off scale."""
    h = np.diff(plan.times)[:, None, None]
    k = np.arange(5)[None, :, None]
    powers = np.arange(10)
    table = np.array([
        [np.prod(np.arange(p, p - order, -1)) if p >= order else 0 for p in powers]
        for order in range(5)
    ], dtype=float)
    left = np.einsum('kp,ipn->ikn', table, plan.coefficients) / h**k
    right = plan.coefficients[:, :5] * np.array([1, 1, 2, 6, 24])[None, :, None] / h**k
    sizes = np.abs(plan.coefficients[:, 1:]).max(axis=1)[:, None]
    sizes = np.maximum(sizes, np.abs(plan.coefficients[:, :1]))
    scale = sizes / h**k
    return left[:-1] - right[1:], np.maximum(scale[:-1], scale[1:])


def test_unit_rest_to_rest_peaks():
    plan = fit_plan([0.0, 1.0], [[0.0], [1.0]])
    for order, peak in enumerate(UNIT_PEAKS, start=1):
        values, _ = extrema(plan, order)
        assert np.abs(values).max() == pytest.approx(peak, rel=1e-6)


@pytest.mark.parametrize('m', [2, 3, 6, 40, 800])
@pytest.mark.parametrize('spacing', [1e-3, 0.1, 10.0])
def test_positions_only_equals_scipy(m, spacing):
    rng = np.random.default_rng(m)
    times = np.concatenate(([0.0], np.cumsum(spacing * 3 ** rng.random(m - 1))))
    positions = np.cumsum(rng.normal(size=(m, 3)), axis=0)
    rest = [(k, np.zeros(3)) for k in range(1, 5)]
    spline = make_interp_spline(times, positions, k=9, bc_type=(rest, rest))
    plan = fit_plan(times, positions, interpolation='global')
    instants = rng.uniform(0.0, times[-1], 500)
    values = plan.evaluate(instants)
    for order in range(5):
        expected = spline(instants, nu=order)
        assert np.abs(values[:, order] - expected).max() < 1e-9 * np.abs(expected).max()


@settings(max_examples=60, deadline=None)
@given(points(), st.sampled_from(['auto', 'global', 'bounded', 'local']), st.integers(0, 2))
def test_continuous_to_the_snap_and_through_what_is_given(drawn, interpolation, given_orders):
    rng, times, positions = drawn
    slope = np.abs(np.diff(positions, axis=0) / np.diff(times)[:, None]).max()
    velocities = rng.normal(size=positions.shape) * slope if given_orders >= 1 else None
    accelerations = rng.normal(size=positions.shape) * slope if given_orders == 2 else None
    plan = fit_plan(times, positions, velocities, accelerations, interpolation=interpolation)
    difference, scale = jumps(plan)
    # A piece's end is a sum of coefficients with factors up to 9!/5! = 3024.
    assert (np.abs(difference) <= 3e-12 * scale).all()
    values = plan.evaluate(times)
    for k, rows in enumerate((positions, velocities, accelerations)):
        if rows is not None:
            # Past the last knot's piece the value comes from a sum, as in `jumps`.
            last = np.abs(plan.coefficients[-1]).max() / np.diff(times)[-1]**k
            assert np.abs(values[:, k] - rows).max() <= 3e-12 * last + 1e-12 * np.abs(rows).max()


@settings(max_examples=100, deadline=None)
@given(points(most=20))
def test_never_leaves_the_range_of_its_points(drawn):
    _, times, positions = drawn
    plan = fit_plan(times, positions, overshoot_tolerance=0.02)
    values, _ = extrema(plan, 0)
    low, high = positions.min(axis=0), positions.max(axis=0)
    assert (values[0] >= low - 0.02 - 1e-9).all()
    assert (values[1] <= high + 0.02 + 1e-9).all()


def test_given_accelerations_say_how_far_auto_may_swing_between_points():
    # A swing of 1 rad, sampled beside its turning points: between these it goes 0.1 rad further.
    times = np.linspace(0.0, 7.0, 8)
    phase = np.pi * (times - 0.5 + 1.0 / 7.0) / (8.0 / 7.0)
    rate = np.pi * 7.0 / 8.0
    q, v, a = np.sin(phase), rate * np.cos(phase), -rate**2 * np.sin(phase)
    v[[0, -1]] = a[[0, -1]] = 0.0
    given = [row[:, None] for row in (q, v, a)]
    plan = fit_plan(times, *given)
    assert plan.interpolation == 'global'
    inside = np.linspace(2.0, 5.0, 301)
    expected = np.sin(np.pi * (inside - 0.5 + 1.0 / 7.0) / (8.0 / 7.0))
    assert np.abs(plan.evaluate(inside)[:, 0, 0] - expected).max() < 0.02
    assert np.abs(expected).max() > np.abs(q[1:-1]).max() + 0.01
    assert fit_plan(times, *given[:2]).interpolation != 'global'


def test_uneven_spacing_takes_bounded_and_says_so():
    times, positions = [0.0, 0.1, 3.1, 3.2], np.array([[0.0, 0.1, 1.0, 1.1]]).T
    swinging = fit_plan(times, positions, interpolation='global')
    assert extrema(swinging, 0)[0].max() == pytest.approx(177.14, abs=0.01)
    assert swinging.interpolation == 'global'
    plan = fit_plan(times, positions)
    assert plan.interpolation == 'bounded'
    strict = fit_plan(times, positions, overshoot_tolerance=0.0)
    assert strict.interpolation == 'local'
    assert extrema(strict, 0)[0].max() <= 1.1 + 1e-12
    values, _ = extrema(plan, 0)
    assert values[0, 0] >= -0.01
    assert values[1, 0] <= 1.11


@settings(max_examples=40, deadline=None)
@given(points(smallest=0.05, largest=1.0), st.integers(0, 4))
def test_extrema_bound_dense_samples_and_are_attained(drawn, order):
    _, times, positions = drawn
    plan = fit_plan(times, positions, interpolation='global')
    values, instants = extrema(plan, order)
    dense = plan.evaluate(np.linspace(0.0, times[-1], 5000))[:, order]
    scale = np.abs(values).max()
    assert (dense.max(axis=0) <= values[1] + 1e-8 * scale).all()
    assert (dense.min(axis=0) >= values[0] - 1e-8 * scale).all()
    for joint in range(plan.n):
        for side in range(2):
            at = plan.evaluate(float(instants[side, joint]))[order, joint]
            assert abs(at - values[side, joint]) < 1e-6 * scale


@settings(max_examples=40, deadline=None)
@given(points(smallest=0.02, largest=1.0), st.floats(0.3, 2.0))
def test_stitched_plan_takes_over_the_state_of_the_active_one(drawn, gap):
    rng, times, positions = drawn
    active = fit_plan(times, positions)
    state = active.evaluate(0.4 * active.duration)
    goal = state[0] + rng.normal(size=(3, 2))
    plan = fit_plan([gap, 2 * gap, 3 * gap], goal, start=state)
    seam = plan.evaluate(0.0)
    scale = np.abs(plan.coefficients[0]).max()
    for k in range(5):
        assert np.abs(seam[k] - state[k]).max() <= 1e-12 * scale / gap**k
    np.testing.assert_allclose(plan.evaluate(3 * gap)[0], goal[-1], atol=1e-11)


def test_first_point_at_time_zero_must_be_near_the_active_reference():
    state = np.zeros((5, 2))
    with pytest.raises(ValueError, match=r'point 0, joint b: .*0\.02'):
        fit_plan([0.0, 1.0], [[0.0, 0.02], [1.0, 1.0]], start=state, names=['a', 'b'])
    plan = fit_plan([0.0, 1.0], [[0.0, 0.009], [1.0, 1.0]], start=state)
    assert (plan.evaluate(0.0) == 0.0).all()


def test_holds_outside_its_knots():
    plan = fit_plan([1.0, 2.0], [[0.5], [1.5]])
    before, after = plan.evaluate(0.2), plan.evaluate(7.0)
    assert before[0, 0] == 0.5
    assert after[0, 0] == 1.5
    assert (before[1:] == 0.0).all()
    assert (after[1:] == 0.0).all()
    hold = hold_plan([0.1, 0.2])
    assert hold.duration == 0.0
    np.testing.assert_array_equal(hold.evaluate(3.0), [[0.1, 0.2]] + [[0.0, 0.0]] * 4)


def test_one_instant_equals_the_array_and_out_is_used():
    rng = np.random.default_rng(1)
    plan = fit_plan(np.arange(6.0), rng.normal(size=(6, 3)))
    instants = np.linspace(-1.0, 7.0, 33)
    many = plan.evaluate(instants)
    out = np.empty((5, 3))
    for t, row in zip(instants, many, strict=True):
        assert plan.evaluate(float(t), out) is out
        np.testing.assert_array_equal(out, row)
    with pytest.raises(ValueError, match='out has shape'):
        plan.evaluate(0.5, np.empty((4, 3)))
    with pytest.raises(ValueError, match='not a number'):
        plan.evaluate(float('nan'))


def test_is_immutable_and_survives_pickling():
    plan = fit_plan([0.0, 1.0], [[0.0], [1.0]])
    copy = pickle.loads(pickle.dumps(plan))
    np.testing.assert_array_equal(copy.evaluate(0.3), plan.evaluate(0.3))
    for one in (plan, copy):
        with pytest.raises(ValueError, match='read-only'):
            one.coefficients[0] = 0.0
        with pytest.raises(AttributeError):
            one.duration = 2.0


def test_its_repr_is_one_line():
    assert repr(fit_plan([0.0, 0.4, 1.0], [[0.0], [1.0], [0.5]])) == (
        "<Plan 'bounded': 1 joints, 1 s, 2 pieces>")


def test_stretched_scales_the_derivatives():
    plan = fit_plan([0.0, 0.4, 1.0], [[0.0], [1.0], [0.5]])
    slow = plan.stretched(2.0)
    fast, slowed = plan.evaluate(0.6), slow.evaluate(1.2)
    for k in range(5):
        np.testing.assert_allclose(slowed[k], fast[k] / 2.0**k, rtol=1e-12)


def test_one_point():
    hold = fit_plan([0.0], [[0.3]])
    assert hold.interpolation == 'hold'
    reach = fit_plan([1.0], [[0.3]], start=np.zeros((5, 1)))
    assert reach.duration == 1.0
    assert reach.evaluate(1.0)[0, 0] == pytest.approx(0.3)
    moving = np.zeros((5, 1))
    moving[1] = 1.0
    with pytest.raises(ValueError, match='later time'):
        fit_plan([0.0], [[0.0]], start=moving)


def test_rows_may_be_given_at_some_points_only():
    plan = fit_plan([0.0, 1.0, 2.0], [[0.0], [1.0], [2.0]], [None, [0.25], None])
    assert plan.evaluate(1.0)[1, 0] == pytest.approx(0.25)


@pytest.mark.parametrize(('arguments', 'message'), [
    (([0.0, 1.0], [[0.0], [np.nan]]), 'point 1, joint j: position nan'),
    (([0.0, 1.0, 1.0], [[0.0], [1.0], [2.0]]), 'point 2: time 1.0 s is not later'),
    (([0.0, np.inf], [[0.0], [1.0]]), 'point 1: time inf'),
    (([-1.0, 1.0], [[0.0], [1.0]]), 'point 0: time -1.0 s is negative'),
    (([], np.empty((0, 1))), 'no points'),
    (([0.0, 1.0], [[0.0], [1.0]], [[0.0]]), '1 rows of velocity for 2 points'),
    (([0.0, 1.0], [[0.0], [1.0]], [[0.0], [np.inf]]), 'point 1, joint j: velocity inf'),
    (([0.0, 1.0], [[0.0], [1.0]], [None, [0.0, 1.0]]), 'point 1: velocity has shape'),
    (([0.0, 1e-9], [[0.0], [1.0]]), 'point 1: 1e-09 s after'),
    (('x', [[0.0], [1.0]]), "times: expected numbers, got 'x'"),
    (([0.0, 1.0], [[0.0], [1.0, 2.0]]), 'positions: expected numbers'),
    (([0.0, 1.0], [[0.0], [1.0]], [None, ['x']]), 'point 1: velocity: expected numbers'),
])
def test_bad_points_are_named(arguments, message):
    with pytest.raises(HodynError, match=message):
        fit_plan(*arguments, names=['j'])


@pytest.mark.parametrize('interpolation', ['auto', 'global', 'bounded', 'local'])
@settings(max_examples=100, deadline=None)
@given(st.data())
def test_values_of_any_size_give_a_finite_plan_or_are_refused_by_name(
        interpolation, data):
    values = st.one_of(st.floats(), st.floats(-2.0, 2.0), st.sampled_from([1e308, -1e15, 1e-308]))
    m = data.draw(st.integers(2, 4))
    q, v, a = np.reshape(data.draw(st.lists(values, min_size=6 * m, max_size=6 * m)), (3, m, 2))
    times = np.cumsum(data.draw(
        st.lists(st.floats(1e-5, 1e3), min_size=m, max_size=m)))
    if not (np.abs([q, v, a]) <= 1e15).all():
        with pytest.raises(HodynError, match=r'point \d, joint \d: (position|velocity|accel)'):
            fit_plan(times, q, v, a, interpolation=interpolation)
        return
    plan = fit_plan(times, q, v, a, interpolation=interpolation)
    for order in range(5):
        assert np.isfinite(extrema(plan, order)[0]).all()


def test_extrema_of_a_motion_that_overflows_are_refused():
    coefficients = np.zeros((1, 10, 2))
    coefficients[0, 9, 1] = 1e308
    with pytest.raises(HodynError, match=r'joint 1 at [\d.]+ s: derivative 4 .* is not finite'):
        extrema(Plan(np.array([0.0, 1.0]), coefficients, np.zeros((2, 2)), 'global'), 4)


def test_a_hundred_thousand_points():
    times = np.arange(100_000) * 0.001
    plan = fit_plan(times, np.sin(times)[:, None])
    assert plan.interpolation == 'global'
    assert np.abs(plan.evaluate(50.0005)[0, 0] - np.sin(50.0005)) < 1e-9


def test_dense_samples_within_a_band_lose_their_jitter():
    rng = np.random.default_rng(3)
    times = np.arange(1000) * 0.002
    motion = fit_plan([0.0, 1.0, times[-1]], [[0.0], [1.0], [0.4]])
    samples = motion.evaluate(times)[:, 0] + rng.uniform(-1e-5, 1e-5, (1000, 1))
    exact = fit_plan(times, samples)
    band = fit_plan(times, samples, sample_tolerance=2e-5)
    assert (exact.interpolation, band.interpolation) == ('global', 'band')
    assert np.abs(band.evaluate(times)[:, 0] - samples).max() <= 2e-5
    snap, exact_snap = (np.abs(extrema(plan, 4)[0]).max() for plan in (band, exact))
    true_snap = np.abs(extrema(motion, 4)[0]).max()
    assert exact_snap > 1e3 * true_snap
    assert snap < 3 * true_snap
    difference, scale = jumps(band)
    assert (np.abs(difference) <= 3e-12 * scale).all()
    np.testing.assert_array_equal(band.evaluate(0.0)[0], samples[0])


@pytest.mark.parametrize('tolerance', [1e-4, 1e-3, 5e-3])
def test_a_plan_that_misses_samples_stays_in_the_range_of_the_joints(tolerance):
    """Motions that rest at an end of the range, or run along it, with jitter inward."""
    rng = np.random.default_rng(7)
    times = np.arange(0.0, 3.0, 4e-3)
    part = np.clip(times / np.array([[0.8], [1.5], [2.6]]), 0.0, 1.0).T
    top = rng.uniform(0.2, 2.5, 3)
    samples = top * part**3 * (10.0 - 15.0 * part + 6.0 * part**2)
    samples[1:-1] -= 0.3 * tolerance * rng.uniform(size=(len(times) - 2, 3))
    samples = np.maximum(samples, 0.0)
    plan = fit_plan(
        times, samples, sample_tolerance=tolerance, position_range=(np.zeros(3), top))
    values, _ = extrema(plan, 0)
    assert (values[0] >= -1e-9).all()
    assert (values[1] <= top + 1e-9).all()
    assert np.abs(plan.evaluate(times)[:, 0] - samples).max() <= tolerance
    assert plan.interpolation == 'band'


def test_waypoints_are_met_exactly_whatever_the_band():
    plan = fit_plan([0.0, 0.1, 0.2], [[0.0], [0.3], [0.1]], sample_tolerance=0.01)
    assert plan.interpolation == 'global'
    assert plan.evaluate(0.1)[0, 0] == pytest.approx(0.3, abs=1e-14)


def test_a_first_point_far_away_is_not_leapt_to_however_little_later_it_is():
    """1.4 rad in 4 ms were gone to where a robot has no limits."""
    start = np.zeros((5, 1))
    with pytest.raises(ValueError, match=r'joint 0: position 1\.4 at 0\.004 s .* begin nearer'):
        fit_plan([0.004, 2.0], [[1.4], [1.5]], start=start)
    plan = fit_plan([0.004, 2.0], [[0.04], [1.5]], start=start)
    assert plan.evaluate(0.004)[0, 0] == pytest.approx(0.04)


def test_a_stiffness_is_planned_without_the_bound_of_speeds():
    start = np.zeros((5, 2))
    start[0] = 900.0, 400.0
    with pytest.raises(ValueError, match='faster than 20 per second'):
        fit_plan([3.5], [[1300.0, 600.0]], start=start)
    plan = fit_plan([3.5], [[1300.0, 600.0]], start=start, start_speed=np.inf)
    np.testing.assert_allclose(plan.evaluate(0.0)[0], start[0])
    np.testing.assert_allclose(plan.evaluate(3.5)[0], [1300.0, 600.0])
    with pytest.raises(ValueError, match='start_speed -1: must not be negative'):
        fit_plan([3.5], [[1300.0, 600.0]], start=start, start_speed=-1)
