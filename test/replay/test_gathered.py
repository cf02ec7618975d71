"""What is gathered chunk by chunk is what the whole recording shows, computed plainly: fast."""
from dataclasses import astuple, replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import motion as motion_of
from scipy.signal import butter, sosfiltfilt

from hodyn_ros import load_robot
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay import traces
from hodyn_ros.replay.comparison import (
    SPECTRUM_BLOCK,
    EffortComparison,
    JointComparison,
    Profile,
    Spectrum,
    common_lag,
)
from hodyn_ros.replay.friction_fit import COULOMB_WIDTH
from hodyn_ros.replay.limit_watch import LimitWatch
from hodyn_ros.replay.traces import Trace

PANDA, TWOLINK = load_robot('panda'), load_robot('twolink')
QUANTITIES = (
    'position', 'velocity', 'acceleration', 'jerk', 'torque', 'torque_rate', 'power')
NAMES = tuple(f'j{i}' for i in range(7))


def cuts(count, pieces, rng):
    """Return slices of all samples, some of them empty."""
    edges = np.sort(rng.integers(0, count + 1, pieces - 1))
    return [slice(a, b) for a, b in zip([0, *edges], [*edges, count], strict=True)]


@pytest.mark.parametrize('count', [5, 2047, 2048, 9999, 40_000])
def test_a_trace_keeps_each_extreme_where_it_was(count):
    rng = np.random.default_rng(count)
    time, values = np.arange(count) * 0.1, rng.standard_normal((count, 3))
    trace = Trace(3)
    for part in cuts(count, 13, rng):
        trace.add(time[part], values[part])
    trace.end()
    assert len(trace.time) <= 2 * traces.MAX_BINS
    assert (trace.bin == 1) == (count < 2 * traces.MAX_BINS)
    begins = np.round(trace.time / 0.1).astype(int)
    assert begins[0] == 0
    assert np.all(np.diff(begins) > 0)
    for k, (begin, end) in enumerate(pairwise([*begins, count])):
        inside = values[begin:end]
        np.testing.assert_array_equal(trace.lower[k], inside.min(axis=0))
        np.testing.assert_array_equal(trace.upper[k], inside.max(axis=0))
    if trace.bin > 1:
        assert np.diff(begins).max() <= trace.bin


def test_the_spectrum_of_a_sine_and_of_noise_are_theirs():
    """The variance is the integral of the density; one frequency has its amplitude there."""
    rng = np.random.default_rng(0)
    period, count = 0.004, 64 * SPECTRUM_BLOCK
    frequency = 20 / (SPECTRUM_BLOCK * period)
    time = period * np.arange(count)
    values = np.column_stack([
        3.0 + 0.5 * np.sin(2 * np.pi * frequency * time), 7.0 + 0.2 * rng.standard_normal(count)])
    spectrum = Spectrum(2)
    spectrum.add(values)
    assert spectrum.blocks == 127  # they overlap by half
    frequencies, density = spectrum.density(period)
    assert frequencies[-1] == pytest.approx(0.5 / period)
    step = frequencies[1]
    power = (density ** 2).sum(axis=0) * step
    np.testing.assert_allclose(power, [0.5 ** 2 / 2, 0.2 ** 2], rtol=0.03)
    assert frequencies[density[:, 0].argmax()] == pytest.approx(frequency)
    # A mean is no vibration.
    assert density[0, 1] < density[5:100, 1].mean()


def test_a_block_with_a_gap_is_left_out_of_the_spectrum():
    values = np.random.default_rng(1).standard_normal((4 * SPECTRUM_BLOCK, 1))
    values[2 * SPECTRUM_BLOCK + 5] = np.nan
    spectrum = Spectrum(1)
    spectrum.add(values)
    assert spectrum.blocks == 5
    spectrum.add(values[:SPECTRUM_BLOCK - 1])
    assert spectrum.blocks == 5
    assert np.isfinite(spectrum.density(0.01)[1]).all()
    assert Spectrum(1).density(0.01)[1].max() == 0.0


def test_a_profile_has_the_mean_and_the_spread_of_each_bin():
    rng = np.random.default_rng(2)
    over, values = rng.uniform(-1.2, 1.2, (5000, 2)), rng.standard_normal((5000, 2))
    over[:, 1] *= 3.0
    values[::7, 0] = np.nan
    over[3] = np.nan
    over[np.abs(over[:, 0] + 0.1) < 0.2, 0] = 0.5  # so that a bin is empty
    profile = Profile(np.array([-1.0, -3.0]), np.array([1.0, 3.0]), bins=8)
    for part in cuts(5000, 5, rng):
        profile.add(over[part], values[part])
    for joint, reach in enumerate((1.0, 3.0)):
        edges = np.linspace(-reach, reach, 9)
        np.testing.assert_allclose(profile.centres[:, joint], 0.5 * (edges[1:] + edges[:-1]))
        for k in range(8):
            inside = (over[:, joint] >= edges[k]) & (over[:, joint] < edges[k + 1])
            some = values[inside & np.isfinite(values[:, joint]), joint]
            assert profile.count[k, joint] == len(some)
            expected = (some.mean(), some.std()) if len(some) else (np.nan, np.nan)
            assert (profile.mean[k, joint], profile.deviation[k, joint]) == pytest.approx(
                expected, nan_ok=True)
    assert profile.count.min() == 0


def compared(predicted, recorded, moved, rate, rng):
    comparison = EffortComparison(NAMES[:predicted.shape[1]])
    stamps = 10 ** 9 + 10 ** 7 * np.arange(len(predicted))
    for part in cuts(len(predicted), 6, rng):
        comparison.add(*(values[part] for values in (
            stamps, stamps, np.stack([predicted, rate], axis=1), recorded,
            np.stack([predicted, recorded], axis=1), moved)))
    return comparison.joints


@pytest.fixture
def motion():
    """Return efforts, their rates, velocities and accelerations of two joints, random numbers."""
    rng = np.random.default_rng(3)
    time = 0.01 * np.arange(4000)[:, None]
    omega = np.array([2.0, 3.1])
    return (5.0 + 4.0 * np.sin(omega * time), 4.0 * omega * np.cos(omega * time),
            np.stack([np.cos(0.7 * omega * time),
                      -0.7 * omega * np.sin(0.7 * omega * time)], axis=1), rng)


def test_the_figures_of_a_joint_are_those_of_all_its_samples(motion):
    effort, rate, moved, rng = motion
    recorded = effort + np.array([0.3, -0.2]) + 0.1 * rng.standard_normal(effort.shape)
    recorded[100, 0] -= 9.0
    recorded[50:60, 1] = np.nan
    for joint, found in enumerate(compared(effort, recorded, moved, rate, rng)):
        known = np.isfinite(recorded[:, joint])
        error = (effort - recorded)[known, joint]
        total = recorded[known, joint]
        assert found.name == NAMES[joint]
        assert found.rms_error == pytest.approx(np.sqrt(np.mean(error ** 2)))
        assert found.rms_effort == pytest.approx(np.sqrt(np.mean(total ** 2)))
        assert found.share == pytest.approx(found.rms_error / found.rms_effort)
        assert found.bias == pytest.approx(error.mean())
        assert found.max_error == pytest.approx(error[np.abs(error).argmax()])
        at = np.flatnonzero(known)[np.abs(error).argmax()]
        assert found.max_error_stamp == 10 ** 9 + 10 ** 7 * at
        assert found.variance_accounted_for == pytest.approx(1.0 - error.var() / total.var())
        assert found.rms_slow_error == pytest.approx(found.rms_error)
        assert found.slow_share == pytest.approx(found.share)
    # Of white noise all changes from one message to the next.
    assert found.rms_fast_error == pytest.approx(0.1, rel=0.05)


def test_a_friction_that_the_model_lacks_is_found_with_its_share(motion):
    effort, rate, moved, rng = motion
    coulomb, viscous = np.array([0.5, 0.0]), np.array([0.2, 0.7])
    recorded = effort + coulomb * np.tanh(moved[:, 0] / COULOMB_WIDTH) + (
        viscous * moved[:, 0] - 0.4)
    for joint, found in enumerate(compared(effort, recorded, moved, rate, rng)):
        assert found.coulomb_left == pytest.approx(coulomb[joint], abs=1e-9)
        assert found.viscous_left == pytest.approx(viscous[joint], abs=1e-9)
        assert found.friction_share == pytest.approx(1.0)


@pytest.mark.parametrize('seconds', [0.0, 0.004, -0.006])
def test_a_lag_is_found_beside_friction_and_inertia_in_its_deviation(motion, seconds):
    effort, rate, moved, rng = motion
    recorded = effort - seconds * rate + 0.3 * moved[:, 0] + 0.2 * moved[:, 1]
    recorded += 1.5 * np.tanh(moved[:, 0] / COULOMB_WIDTH)
    noisy = effort - seconds * rate + 0.5 * rng.standard_normal(effort.shape)
    for found in compared(effort, recorded, moved, rate, rng):
        assert found.lag == pytest.approx(seconds, rel=3e-3, abs=1e-9)
    deviations = []
    for joint, found in enumerate(compared(effort, noisy, moved, rate, rng)):
        assert abs(found.lag - seconds) < 4.0 * found.lag_deviation
        # That of a least-squares shift in white noise.
        terms = np.column_stack([
            np.ones(len(rate)), np.tanh(moved[:, 0, joint] / COULOMB_WIDTH), moved[:, :, joint]])
        own = rate[:, joint] - terms @ np.linalg.lstsq(terms, rate[:, joint], rcond=None)[0]
        deviations.append(0.5 / np.sqrt(np.sum(own ** 2)))
        assert found.lag_deviation == pytest.approx(deviations[-1], rel=0.1)
    lag = common_lag(compared(effort, noisy, moved, rate, rng))
    assert lag.deviation == pytest.approx(np.sum(np.array(deviations) ** -2.0) ** -0.5, rel=0.1)
    assert abs(lag.seconds - seconds) < 4.0 * lag.deviation


@pytest.mark.parametrize('slope', [10.0, 20.0, 60.0, 300.0])
@pytest.mark.parametrize('late', [0.0, 0.05, -0.05])
def test_friction_that_bends_over_any_velocity_hides_and_feigns_no_lag(slope, late):
    """A slow arm's lag was 94 ms off, since all friction was taken to bend within 0.02 rad/s."""
    rng, time, arm = np.random.default_rng(6), 0.01 * np.arange(4000), FeedForward(TWOLINK)
    q, earlier = (motion_of(when, TWOLINK, 0.05) for when in (time, time - late))
    predicted = arm.torque(q)[:, :2]
    recorded = arm.torque(earlier)[:, 0] + np.array([2.0, 1.0]) * np.tanh(
        0.5 * slope * earlier[:, 1]) + 0.01 * rng.standard_normal((len(time), 2))
    lag = common_lag(compared(predicted[:, 0], recorded, q[:, 1:3], predicted[:, 1], rng))
    assert lag.seconds == pytest.approx(late, abs=0.01)
    assert abs(lag.seconds - late) < 2.0 * lag.deviation


def test_what_has_no_rate_or_no_effort_has_no_lag(motion):
    effort, rate, moved, rng = motion
    recorded = np.where([True, False], np.nan, effort)
    still, none = compared(effort, recorded, moved, 0.0 * rate, rng)[1], compared(
        effort, recorded, moved, rate, rng)[0]
    assert np.isnan(still.lag)
    for value in (none.rms_error, none.bias, none.max_error, none.lag, none.friction_share,
                  none.slow_share):
        assert np.isnan(value)
    assert none.max_error_stamp is None
    assert np.isnan(astuple(common_lag([still, none]))[:2]).all()


def test_the_lag_of_all_joints_is_weighed_by_their_variances():
    joint = JointComparison('a', *np.zeros(15))
    joints = [
        replace(joint, lag=0.02, lag_deviation=0.01), replace(joint, lag=0.04, lag_deviation=0.02),
        replace(joint, lag=np.nan, lag_deviation=np.nan),
        # What is said to be without any error is of no noise at all, and says nothing.
        replace(joint, lag=0.99, lag_deviation=0.0),
        # A joint that stands shows no lag within the range that is searched.
        replace(joint, lag=0.2, lag_deviation=0.3)]
    lag, deviation, _ = astuple(common_lag(joints))
    assert lag == pytest.approx(0.01 * (2.0 + 4.0 / 4.0) / 1.25)
    assert deviation == pytest.approx(0.01 * 1.25 ** -0.5)


def test_joints_that_contradict_each_other_have_no_lag_in_common():
    """A Panda's joints with 3 ± 2, 18 ± 3 and 34 ± 6 ms were given 8.3 ± 0.5 ms together."""
    joint = JointComparison('a', *np.zeros(15))

    def of(*lags):
        joints = [
            replace(joint, lag=lag, lag_deviation=deviation) for lag, deviation in lags]
        weights = np.array([one.lag_deviation ** -2.0 for one in joints])
        common = common_lag(joints)
        scatter = np.sum(
            weights * (np.array([one.lag for one in joints]) - common.seconds) ** 2) / (
                len(lags) - 1)
        return common, np.sqrt(scatter / weights.sum())

    lag, deviation = of(
        (0.0030, 0.0019), (0.0051, 0.0035), (0.0014, 0.0020), (0.0180, 0.0030),
        (0.0340, 0.0065), (-0.0010, 0.0060), (0.0480, 0.0100))
    assert lag.seconds < 3.0 * lag.deviation
    assert 2.0 * lag.deviation == pytest.approx(2.447 * deviation, rel=1e-3)  # of Student's t
    # An encoder of 0.2 mm made up 18 ± 11 ms.
    lag, deviation = of((-0.0007, 0.0006), (-0.0213, 0.00024), (0.0071, 0.0017))
    assert 2.0 * lag.deviation == pytest.approx(4.303 * deviation, rel=1e-3)
    assert not lag.is_large
    assert not lag.sentence


def test_a_lag_of_all_joints_is_not_that_of_some():
    """Of 80 ms, 79.9 ± 1.1 ms of a joint were called unlike the 72 ± 27 ms of others."""
    plain = JointComparison('a', *np.zeros(15))

    def of(lag, deviation=5e-4, own_deviation=5e-4, left=0.1):
        return replace(
            plain, lag=lag, lag_deviation=deviation, own_lag=lag, own_deviation=own_deviation,
            lag_left=left)

    late, unclear = [of(0.08), of(0.0801), of(0.0797)], of(0.05, 1e-3, left=0.9)
    found = common_lag([*late, of(0.078, own_deviation=5e-3), unclear])
    assert not found.own
    assert abs(found.seconds - 0.08) < 2.0 * found.deviation
    assert len(common_lag([late[0], *[of(0.0, left=0.9)] * 4]).own) == 1


def watched(q, torque, used, robot=PANDA, pieces=7):
    rng = np.random.default_rng(4)
    watch = LimitWatch(FeedForward(robot), NAMES)
    stamps = 10 ** 6 * np.arange(len(q))
    for part in cuts(np.count_nonzero(used), pieces, rng):
        if part.start < part.stop:
            watch.add(SimpleNamespace(
                q=q[used][part], torque=torque[used][part], stamps=stamps[used][part]))
    found = watch.extremes
    assert [(one.joint, one.quantity) for one in found] == [
        (name, quantity) for name in NAMES for quantity in QUANTITIES]
    return {(one.joint, one.quantity): one for one in found}


def test_the_extremes_of_a_motion_are_those_of_all_its_samples():
    rng = np.random.default_rng(5)
    limits = PANDA.limits
    bounds = np.array([limits.velocity, limits.acceleration, limits.jerk])
    q = np.zeros((300, 5, 7))
    middle, half = (0.5 * (limits.position_max + s * limits.position_min) for s in (1, -1))
    q[:, 0] = middle + 1.002 * half * np.sin(rng.uniform(0, 2 * np.pi, (300, 7)))
    q[:, 1:4] = bounds * rng.uniform(-1.05, 1.05, (300, 3, 7))
    torque = np.stack([limits.effort, limits.effort_rate, limits.effort], axis=0) * rng.uniform(
        -1.05, 1.05, (300, 3, 7))
    used = rng.uniform(size=300) > 0.2
    q[~used] *= 9.0
    found = watched(q, torque, used)
    stamps = 10 ** 6 * np.arange(300)
    for i, name in enumerate(NAMES):
        for quantity, values, bound in (
                ('velocity', q[:, 1, i], limits.velocity[i]),
                ('acceleration', q[:, 2, i], limits.acceleration[i]),
                ('jerk', q[:, 3, i], limits.jerk[i]),
                ('torque', torque[:, 0, i], limits.effort[i]),
                ('torque_rate', torque[:, 1, i], limits.effort_rate[i]),
                ('power', torque[:, 0, i] * q[:, 1, i], np.inf)):
            one = found[name, quantity]
            at = np.flatnonzero(used)[np.abs(values[used]).argmax()]
            assert (one.value, one.time, one.allowed) == (values[at], stamps[at], bound)
            assert one.beyond == np.count_nonzero(np.abs(values[used]) > bound)
        one, position = found[name, 'position'], q[:, 0, i]
        outside = np.maximum(position - limits.position_max[i], limits.position_min[i] - position)
        at = np.flatnonzero(used)[outside[used].argmax()]
        assert (one.value, one.time) == (position[at], stamps[at])
        assert one.limit == (
            limits.position_max[i] if position[at] > middle[i] else limits.position_min[i])
        assert one.beyond == np.count_nonzero(outside[used] > 0.0)


def test_the_first_twenty_intervals_beyond_a_limit_are_listed():
    q, torque = np.zeros((200, 5, 7)), np.zeros((200, 3, 7))
    beyond = np.zeros(200, dtype=bool)
    for k in range(25):
        beyond[8 * k:8 * k + 1 + k % 3] = True
    q[beyond, 1, 2] = -2.0 * PANDA.limits.velocity[2]
    one = watched(q, torque, np.ones(200, dtype=bool), pieces=1)['j2', 'velocity']
    assert one.beyond == np.count_nonzero(beyond)
    assert one.intervals == tuple(
        (8 * k * 10 ** 6, (8 * k + k % 3) * 10 ** 6) for k in range(20))


def test_without_limits_nothing_is_beyond_and_the_largest_value_is_given():
    free = replace(PANDA.limits, **{
        name: np.full(7, sign * np.inf) for name, sign in (
            ('position_min', -1), ('position_max', 1), ('velocity', 1), ('effort', 1))})
    q, torque = np.zeros((9, 5, 7)), np.zeros((9, 3, 7))
    q[:, 0, 1], q[:, 1, 1] = -np.arange(9.0), np.arange(9.0)
    found = watched(q, torque, np.ones(9, dtype=bool), replace(PANDA, limits=free))
    for quantity, value in (('position', -8.0), ('velocity', 8.0)):
        one = found['j1', quantity]
        assert (one.value, one.time, one.beyond, one.intervals) == (value, 8 * 10 ** 6, 0, ())
        assert np.isinf(one.limit)


def test_shares_are_the_same_in_any_unit(motion):
    """Of small joints and in kN as well."""
    effort, rate, moved, rng = motion
    recorded = effort + 0.3 * moved[:, 0] + 0.1 * rng.standard_normal(effort.shape)
    found, scaled = (compared(
        unit * effort, unit * recorded, moved, unit * rate, np.random.default_rng(5))
        for unit in (1.0, 1e-6))
    for one, other in zip(found, scaled, strict=True):
        for name in (
                'share', 'variance_accounted_for', 'lag', 'lag_deviation', 'slow_share',
                'friction_share'):
            assert getattr(other, name) == pytest.approx(
                getattr(one, name), rel=1e-3, abs=1e-6)


def test_the_lag_is_the_same_in_whatever_pieces_the_recording_comes(motion):
    """In a sinusoidal motion, a gain and a lag together explain any shift."""
    effort, rate, moved, rng = motion
    recorded = effort + 0.3 * moved[:, 0] + 0.1 * rng.standard_normal(effort.shape)
    for found in zip(*(compared(effort, recorded, moved, rate, rng) for _ in range(8)),
                     strict=True):
        assert np.ptp([one.lag for one in found]) < 0.02 * found[0].lag_deviation


def test_the_lag_deviates_as_is_said_where_the_errors_are_low_passed():
    """Of 60 recordings with noise, compared within the bandwidth of the motion."""
    time = np.arange(0.0, 20.0, 1e-3)
    low_pass = butter(2, 8.0, fs=1000.0, output='sos')
    predicted = 8.0 * np.sin(2.0 * time)[:, None] + 3.0 * np.sin(5.1 * time)[:, None]
    rate = np.gradient(predicted, time, axis=0)
    moved = np.stack([np.cos(0.7 * time), -0.7 * np.sin(0.7 * time)], axis=1)[:, :, None]
    lags, deviations = [], []
    for seed in range(60):
        recorded = predicted + 0.3 * np.random.default_rng(seed).standard_normal(predicted.shape)
        found = EffortComparison(('a',))
        slow = predicted + sosfiltfilt(low_pass, recorded - predicted, axis=0)
        found.add(
            np.arange(len(time)), (1e9 * time).astype(np.int64),
            np.stack([predicted, rate], axis=1), recorded,
            np.stack([predicted, slow], axis=1), moved)
        lags.append(found.joints[0].lag)
        deviations.append(found.joints[0].lag_deviation)
    assert 0.7 < np.std(lags) / np.mean(deviations) < 1.4
