"""Units, origins, order and joints of samples change estimates as they change the motion: fast."""

import numpy as np
import pytest
from recordings import PANDA, motion

from hodyn_ros.estimation import kalman
from hodyn_ros.estimation.derivatives import (
    Motion,
    Noise,
    Samples,
    fit_noise,
    smooth,
)
from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.uncertainty import torque_deviation

pytestmark = pytest.mark.fast

FEEDFORWARD = FeedForward(PANDA)


def given(count=300, begin=0.0, seed=0, velocity=True):
    rng = np.random.default_rng(seed)
    time = 0.01 * np.arange(count)
    q = motion(time + begin)
    shape = q[:, 0].shape
    speed = q[:, 1] + 1e-3 * rng.standard_normal(shape)
    return Samples(
        time, q[:, 0] + 1e-5 * rng.standard_normal(shape),
        speed if velocity else np.full(shape, np.nan))


def fields(noise):
    return [noise.process, noise.position, noise.velocity, noise.velocity_scale]


@pytest.mark.parametrize('velocity', [True, False])
def test_noise_has_the_units_of_the_samples(velocity):
    one = given(velocity=velocity)
    noise = fit_noise([one])
    degrees = Samples(one.time, 1024.0 * one.position, 1024.0 * one.velocity)
    for found, expected, power in zip(
            fields(fit_noise([degrees])), fields(noise), (2, 1, 1, 1), strict=True):
        np.testing.assert_allclose(found, 1024.0 ** power * expected, rtol=1e-3)
    slower = Samples(4.0 * one.time, one.position, 0.25 * one.velocity)
    assert fit_noise([slower]).step == pytest.approx(4.0 * noise.step)
    for found, expected, power in zip(
            fields(fit_noise([slower])), fields(noise), (-9, 0, -1, -1), strict=True):
        np.testing.assert_allclose(found, 4.0 ** power * expected, rtol=1e-3)
    np.testing.assert_allclose(
        fit_noise([slower]).bandwidth, 0.25 * noise.bandwidth, rtol=1e-3)
    assert np.isinf(noise.velocity).all() == (not velocity)


def test_joints_have_noise_of_their_own_and_runs_no_order():
    runs = [given(200), given(150, 5.0, 1), given(180, 9.0, 2)]
    noise = fit_noise(runs)
    order = np.array([3, 1, 6, 0, 2, 5, 4])
    turned = fit_noise([
        Samples(run.time, run.position[:, order], run.velocity[:, order]) for run in runs])
    for found, expected in zip(fields(turned), fields(noise), strict=True):
        np.testing.assert_allclose(found, expected[order], rtol=1e-9)
    for found, expected in zip(fields(fit_noise(runs[::-1])), fields(noise), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3)
    alone = fit_noise([
        Samples(run.time, run.position[:, :1], run.velocity[:, :1]) for run in runs])
    for found, expected in zip(fields(alone), fields(noise), strict=True):
        np.testing.assert_allclose(found, expected[:1], rtol=1e-9)


def test_velocities_that_one_run_has_none_of_are_of_no_use():
    """To one joint; the others are fitted as before."""
    runs = [given(200), given(150, 5.0, 1)]
    whole = fit_noise(runs)
    runs[1].velocity[:, 2] = np.nan
    noise = fit_noise(runs)
    assert np.flatnonzero(np.isinf(noise.velocity)).tolist() == [2]
    others = np.arange(7) != 2
    np.testing.assert_allclose(noise.rows[others], whole.rows[others], rtol=1e-9)
    runs[1].velocity[:] = given(150, 5.0, 1).velocity
    runs[1].velocity[20:30, 2] = np.nan  # some are missing: the rest tell
    assert np.isfinite(fit_noise(runs).velocity).all()
    np.testing.assert_allclose(fit_noise(runs).velocity, whole.velocity, rtol=0.2)


def test_what_never_moves_is_fitted_too():
    still = Samples(0.01 * np.arange(50), np.ones((50, 2)), np.zeros((50, 2)))
    noise = fit_noise([still])
    for values in fields(noise):
        assert np.isfinite(values).all()
        assert (values > 0.0).all()


def test_an_estimate_has_the_units_of_the_samples():
    one = given()
    noise = fit_noise([one])
    found = smooth(one, noise)
    tall = smooth(
        Samples(one.time, -8.0 * one.position, -8.0 * one.velocity),
        Noise(64.0 * noise.process, 8.0 * noise.position, 8.0 * noise.velocity,
              8.0 * noise.velocity_scale, noise.step))
    scale = np.abs(found.q).max(axis=0)
    np.testing.assert_allclose(tall.q / scale, -8.0 * found.q / scale, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(tall.deviation, 8.0 * found.deviation, rtol=1e-6)
    slow = smooth(
        Samples(2.0 * one.time, one.position, 0.5 * one.velocity),
        Noise(0.5 ** 9 * noise.process, noise.position, 0.5 * noise.velocity,
              0.5 * noise.velocity_scale, 2.0 * noise.step))
    power = 0.5 ** np.arange(5)[:, None]
    np.testing.assert_allclose(
        slow.q / power / scale, found.q / scale, rtol=0.0, atol=1e-8)
    np.testing.assert_allclose(slow.deviation / power, found.deviation, rtol=1e-6)


def test_time_turned_round_turns_odd_derivatives():
    """Far from the ends, where what is assumed of the motion before the first sample counts."""
    one = given(600)
    noise = fit_noise([one])
    found = smooth(one, noise).q
    back = smooth(Samples(
        one.time[-1] - one.time[::-1], one.position[::-1], -one.velocity[::-1]), noise).q[::-1]
    sign = np.array([1.0, -1.0, 1.0, -1.0, 1.0])[:, None]
    inside = slice(150, -150)
    scale = np.abs(found[inside]).max(axis=0)
    np.testing.assert_allclose(
        (sign * back)[inside] / scale, found[inside] / scale, rtol=0.0, atol=1e-3)


@pytest.mark.parametrize('lost', [1, 5, 40])
def test_lost_samples_are_bridged_by_the_motion_and_known_the_worse(lost):
    """As if they had been recorded as unknown, which changes none of the others."""
    one = given(400)
    noise = fit_noise([one])
    gap = np.arange(200, 200 + lost)
    kept = np.delete(np.arange(400), gap)
    found = smooth(Samples(one.time[kept], one.position[kept], one.velocity[kept]), noise)
    position, velocity = one.position.copy(), one.velocity.copy()
    position[gap] = velocity[gap] = np.nan
    bridged = smooth(Samples(one.time, position, velocity), noise)
    scale = np.abs(found.q).max(axis=0)
    np.testing.assert_allclose(
        bridged.q[kept] / scale, found.q / scale, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(bridged.deviation[kept], found.deviation, rtol=1e-5)
    whole = smooth(one, noise)
    truth = motion(one.time)
    assert np.all(bridged.deviation[gap] > whole.deviation[gap])
    assert lost < 40 or np.all(bridged.deviation[220, 0] > 5.0 * bridged.deviation[199, 0])
    off = np.abs(bridged.q - truth)[gap] / bridged.deviation[gap]
    assert np.mean(off < 3.0) > 0.95
    # Far from it, nothing is known the worse.
    np.testing.assert_allclose(bridged.deviation[60], whole.deviation[60], rtol=1e-3)


def test_a_likelihood_is_that_of_the_samples():
    """That of a Gaussian with the covariances of process and noise; of a unit it has the scale."""
    rng = np.random.default_rng(3)
    time = np.cumsum(rng.uniform(0.5, 1.5, 6)) * 0.01
    time -= time[0]
    position, velocity = 1e-3 * rng.standard_normal(6), 0.1 * rng.standard_normal(6)
    noise = np.array([1e5, 1e-3, 1e-1])
    full = kalman.log_likelihood(time, position, velocity, 1.0, noise)
    # What is not recorded says nothing.
    later, missing = np.insert(time, 3, 0.5 * (time[2] + time[3])), np.insert(position, 3, np.nan)
    none = np.insert(velocity, 3, np.nan)
    step = (time[-1] - time[0]) / 5
    assert step != pytest.approx((later[-1] - later[0]) / 6)
    assert np.isfinite(kalman.log_likelihood(later, missing, none, 1.0, noise))
    # Ten values of 1024 times the size are as likely, each in a unit as much larger.
    large = kalman.log_likelihood(
        time, 1024.0 * position, 1024.0 * velocity, 1024.0,
        noise * np.array([1024.0 ** 2, 1024.0, 1024.0]))
    assert large == pytest.approx(full - 10 * np.log(1024.0), rel=1e-9)


def estimated(count=40):
    one = given(count)
    return smooth(one, fit_noise([one]))


@pytest.mark.parametrize('every', [1, 7, 39, 1000])
def test_torques_deviate_as_much_as_the_motion(every):
    found = estimated()
    deviation = torque_deviation(FEEDFORWARD, found, every)
    assert deviation.shape == (40, 3, 7)
    twice = torque_deviation(FEEDFORWARD, Motion(found.q, 4.0 * found.covariance), every)
    np.testing.assert_allclose(twice, 2.0 * deviation, rtol=1e-4)
    exact = torque_deviation(FEEDFORWARD, Motion(found.q, 0.0 * found.covariance), every)
    assert np.abs(exact).max() < 1e-9
    each = torque_deviation(FEEDFORWARD, found)
    at = [0, 39] if every >= 39 else np.unique(np.append(np.arange(0, 40, every), 39))
    np.testing.assert_allclose(deviation[at], each[at], rtol=1e-12)
    if every >= 39:
        line = np.linspace(0.0, 1.0, 40)[:, None, None]
        np.testing.assert_allclose(
            deviation, (1.0 - line) * each[0] + line * each[-1], rtol=1e-9)


def test_a_filter_is_linear_and_knows_no_other_column():
    rng = np.random.default_rng(4)
    time = np.cumsum(rng.uniform(0.5, 1.5, 200)) * 0.01
    values = np.cumsum(rng.standard_normal((200, 4)), axis=0)
    values[:10, 1] = values[60:70, 1] = values[:10, 3] = values[60:70, 3] = np.nan
    found = low_pass(time, values, 3.0)
    np.testing.assert_allclose(
        low_pass(time, 5.0 - 3.0 * values, 3.0), 5.0 - 3.0 * found, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(low_pass(time + 7.0, values, 3.0), found, rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(
        low_pass(2.0 * time, values, 1.5), found, rtol=0.0, atol=1e-6)
    for column in range(4):
        alone = low_pass(time, values[:, column:column + 1], 3.0)[:, 0]
        np.testing.assert_allclose(alone, found[:, column], rtol=0.0, atol=1e-9)
    assert np.isnan(found[:10, [1, 3]]).all()
    assert np.isfinite(found[10:]).all()
    # A line passes as it is, to both ends.
    line = np.column_stack([1.0 + 2.0 * time, -3.0 * time])
    np.testing.assert_allclose(low_pass(time, line, 3.0), line, atol=1e-3)


def test_a_filter_wider_than_the_sampling_changes_little():
    rng = np.random.default_rng(5)
    time = 0.01 * np.arange(300)
    values = np.sin(6.0 * time)[:, None] + 1e-3 * rng.standard_normal((300, 1))
    for bandwidth in (100.0, 1e6):
        np.testing.assert_allclose(low_pass(time, values, bandwidth), values, atol=5e-3)
    np.testing.assert_array_equal(
        low_pass(time, values, 100.0), low_pass(time, values, 1e6))
    assert np.isnan(low_pass(time[:1], values[:1], 3.0)).all()
    two = np.full((300, 1), np.nan)
    two[[40, 200]] = [[1.0], [2.0]]
    found = low_pass(time, two, 3.0)[:, 0]
    assert np.isnan(found[:40]).all()
    np.testing.assert_allclose(found[[40, 200]], [1.0, 2.0], atol=0.1)
    assert low_pass(time, np.empty((300, 0)), 3.0).shape == (300, 0)
