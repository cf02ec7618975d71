"""Parts of a recording: chunks with their margins, and what is computed of runs: fast."""
from dataclasses import astuple, replace

import numpy as np
import pytest
from recordings import motion

from hodyn_ros.estimation import kalman
from hodyn_ros.estimation.derivatives import (
    Noise,
    Samples,
    fit_noise,
    smooth,
)
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.estimation.recorded_motion import _with_margins
from hodyn_ros.estimation.timing import analyse
from hodyn_ros.estimation.velocity_lag import velocity_lag
from hodyn_ros.messages.joint_state_bag import JointStates
from hodyn_ros.robot import HodynError

pytestmark = pytest.mark.fast


def numbered(first, count):
    stamp = np.arange(first, first + count)
    column = stamp[:, None].astype(float)
    return JointStates(stamp, stamp, column, column, column)


@pytest.mark.parametrize('blocks', [[100], [7] * 15, [1, 60, 2, 37], [30, 30, 40]])
@pytest.mark.parametrize(('size', 'margin'), [(10, 3), (10, 25), (33, 5), (99, 1), (200, 9)])
def test_each_message_is_in_one_chunk_with_margins_on_both_sides(blocks, size, margin):
    firsts = np.cumsum([0, *blocks])
    total, at = firsts[-1], 0
    for states, inner in _with_margins(
            (numbered(*given) for given in zip(firsts, blocks, strict=False)), size, margin):
        stamps = states.stamp
        np.testing.assert_array_equal(np.diff(stamps), 1)
        end = stamps[inner][-1] + 1
        assert stamps[inner][0] == at
        assert stamps[0] == max(0, at - margin)
        if end < total:
            assert end - at == size
            assert stamps[-1] + 1 == end + margin or stamps[-1] + 1 == total
        at = end
    assert at == total


def test_parts_with_a_pause_between_have_clocks_of_their_own():
    """A controller that was started anew with another period."""
    rng = np.random.default_rng(0)
    time = np.concatenate([1e-3 * np.arange(1500), 60.0003 + 2e-3 * np.arange(1200)])
    period = np.repeat([1e-3, 2e-3], [1500, 1200])
    stamp = np.round(1e9 * (time + 0.6 * period * rng.random(2700))).astype(np.int64)
    q = motion(time)
    position = q[:, 0] + 2e-6 * rng.standard_normal(q[:, 0].shape)
    timing = analyse(JointStates(stamp, stamp, position, q[:, 1], np.zeros_like(position)))
    first, second = timing.runs
    assert first.sampling_period == pytest.approx(1e-3, rel=1e-4)
    assert second.sampling_period == pytest.approx(2e-3, rel=1e-4)
    assert (len(first.time), len(second.time)) == (1500, 1200)
    for run in timing.runs:
        step = period[run.message[0]]
        np.testing.assert_allclose(np.diff(run.time), step, rtol=0.0, atol=0.01 * step)


def given(lag=0.0, count=800, begin=0.0, noise=1e-3, seed=0):
    rng = np.random.default_rng(seed)
    time = begin + 0.01 * np.arange(count)
    q, late = motion(time), motion(time - lag)
    shape = q[:, 0].shape
    return Samples(
        time - begin, q[:, 0] + 1e-5 * rng.standard_normal(shape),
        late[:, 1] + noise * rng.standard_normal(shape))


@pytest.mark.parametrize('lag', [0.0, 4e-3, -4e-3])
def test_the_lag_of_velocities_is_found_within_its_deviation(lag):
    runs = [given(lag), given(lag, begin=20.0, seed=1)]
    noise = fit_noise(runs)
    answer = velocity_lag(runs, noise)
    found, deviation = answer.seconds, answer.deviation
    assert not answer.own
    assert abs(found - lag) < max(4.0 * deviation, 1e-4)
    assert deviation < 1e-3
    # A run without velocities says nothing, wherever it stands.
    bare = Samples(runs[0].time, runs[0].position, np.full_like(runs[0].velocity, np.nan))
    for some in ([bare, *runs], [runs[0], bare, runs[1]], [*runs, bare]):
        assert astuple(velocity_lag(some, noise))[:2] == pytest.approx((found, deviation))
    assert np.isnan(velocity_lag([bare], noise).seconds)


def test_the_spread_of_lags_is_that_of_the_parts():
    """Runs whose lags differ tell the lag as well as they agree."""
    alike = [given(2e-3), given(2e-3, begin=20.0)]
    apart = [given(-2e-3), given(2e-3, begin=20.0)]
    noise = fit_noise(alike)
    one, other = velocity_lag(alike, noise), velocity_lag(apart, noise)
    assert one.seconds == pytest.approx(2e-3, abs=1e-4)
    assert other.seconds == pytest.approx(0.0, abs=1e-3)
    assert 3e-4 < other.deviation < 1.5e-3
    assert one.deviation < 0.3 * other.deviation


@pytest.mark.parametrize('seed', range(6))
def test_a_joint_whose_velocities_alone_are_filtered_has_a_lag_of_its_own(seed):
    run = given(seed=seed, begin=7.0 * seed)
    late = given(0.03, seed=seed, begin=7.0 * seed)
    joint = seed % run.velocity.shape[1]
    run.velocity[:, joint] = late.velocity[:, joint]
    found = velocity_lag([run], fit_noise([run]))
    (at, (lag, deviation)), = found.own.items()
    assert at == joint
    assert abs(lag - 0.03) < max(4.0 * deviation, 3e-3)
    assert abs(found.seconds) < max(4.0 * found.deviation, 1e-4)
    # A constant that is added is no lag.
    biased = replace(run, velocity=given(seed=seed, begin=7.0 * seed).velocity + np.where(
        np.arange(run.velocity.shape[1]) == joint, 0.2, 0.0))
    assert not velocity_lag([biased], fit_noise([biased])).own


def test_nothing_is_fitted_to_no_run():
    with pytest.raises(HodynError, match='no run'):
        fit_noise([])


def test_positions_of_another_origin_are_as_noisy_and_as_smooth():
    one = given()
    other = Samples(one.time, one.position + 64.0, one.velocity)
    noise = fit_noise([one])
    np.testing.assert_allclose(fit_noise([other]).rows, noise.rows, rtol=1e-3)
    np.testing.assert_allclose(
        smooth(other, noise).q - smooth(one, noise).q,
        np.where(np.arange(5) == 0, 64.0, 0.0)[:, None] * np.ones((800, 5, 7)),
        atol=1e-6, rtol=0.0)


def test_what_is_no_motion_is_refused():
    one = given(count=50)
    noise = fit_noise([one])
    position = one.position.copy()
    position[20] = np.inf
    with pytest.raises(HodynError, match='cannot be a motion'):
        smooth(Samples(one.time, position, one.velocity), noise)


@pytest.mark.parametrize('bandwidth', [0.5, 3.0])
@pytest.mark.parametrize('velocity', [1e-2, np.inf])
def test_a_bandwidth_that_is_asked_for_is_had(bandwidth, velocity):
    noise = Noise(
        np.full(2, 1e3), np.array([1e-4, 1e-3]), np.full(2, velocity), np.ones(2), 0.01)
    found = noise.with_bandwidth(bandwidth)
    np.testing.assert_allclose(found.bandwidth, bandwidth)
    np.testing.assert_allclose(2.0 * np.pi * found.memory, 1.0 / bandwidth)
    for k in range(2):
        assert found.memory[k] == kalman.memory(0.01, *found.rows[k])
    np.testing.assert_array_equal(found.rows[:, 1:], noise.rows[:, 1:])


@pytest.mark.parametrize('factor', [0.5, 1.0, 1.3])
def test_signals_are_filtered_without_delay(factor):
    """1/(1 + (f/f₀)¹⁰) of each column, constants as they are, from the first that is known."""
    time, bandwidth = 0.002 * np.arange(3000), 4.0
    phase = np.array([0.0, 1.0, 2.0])
    values = 5.0 + np.sin(2.0 * np.pi * factor * bandwidth * time[:, None] + phase)
    values[:100, 1] = np.nan
    values[1500:1503, 2] = np.nan
    found = low_pass(time, values, bandwidth)
    assert np.isnan(found[:100, 1]).all()
    assert np.isfinite(found[100:]).all()
    gain = 1.0 / (1.0 + factor ** 10)
    truth = np.sin(2.0 * np.pi * factor * bandwidth * time[:, None] + phase)
    inner = np.r_[700:1300, 1800:2400]
    np.testing.assert_allclose(found[inner], 5.0 + gain * truth[inner], atol=5e-3)
    still = low_pass(time, np.full((3000, 1), 7.0), bandwidth)
    np.testing.assert_allclose(still, 7.0, atol=1e-9)
    unknown = np.full((3000, 1), np.nan)
    unknown[50] = 1.0  # of one value no signal is told
    assert np.isnan(low_pass(time, unknown, bandwidth)).all()
