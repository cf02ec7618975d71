"""The truth lies inside the stated bands; the smoother's parameters come from the samples."""
import made_logs
import numpy as np
import pytest
from recordings import PANDA, record

from hodyn_ros.estimation.derivatives import Motion, Samples, fit_noise, smooth
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.uncertainty import torque_deviation

CASES = {
    '1 kHz': {'rate': 1000.0, 'duration': 3.0},
    '100 Hz': {'rate': 100.0},
    '30 Hz': {'rate': 30.0, 'duration': 20.0, 'bandwidth': 0.5},
    '30 Hz, fast': {'rate': 30.0, 'duration': 20.0, 'bandwidth': 2.0},
    'jitter': {'rate': 100.0, 'jitter': 0.3},
    'positions only': {'rate': 100.0, 'velocity': False},
    'noisy': {'rate': 100.0, 'position_noise': 1e-3, 'velocity_noise': 1e-2},
    'no noise': {'rate': 100.0, 'position_noise': 0.0, 'velocity_noise': 0.0},
}


def samples(recording):
    velocity = recording.velocity
    if not velocity.shape[1]:
        velocity = np.full_like(recording.position, np.nan)
    return Samples(
        (recording.stamp - recording.stamp[0]) * 1e-9, recording.position, velocity)


@pytest.mark.parametrize('case', CASES)
def test_true_motion_and_torques_lie_in_their_bands(case):
    recording = record(**CASES[case])
    given = samples(recording)
    noise = fit_noise([given])
    found = smooth(given, noise)
    feedforward = FeedForward(PANDA)
    torque = feedforward.torque(found.q)
    deviation = torque_deviation(feedforward, found, 5)
    assert np.all(deviation > 0.0)
    inside = np.abs(found.q - recording.q) < 2.0 * found.deviation
    assert np.all(inside.mean(axis=(0, 2)) > 0.9)
    inside = np.abs(torque - recording.torque) < 2.0 * deviation
    assert np.all(inside.mean(axis=(0, 2)) > 0.95)  # of Q, Q̇, Q̈: two standard deviations' share
    assert np.all(inside.mean(axis=0) > 0.85)  # and for each joint alone
    # Bands that say something: Q and Q̇ are known to some percent where samples are good.
    if case != 'noisy':
        share = np.sqrt(np.mean(deviation ** 2, 0) / np.mean(torque ** 2, 0))
        assert np.all(share[1] < 0.05)


def test_noise_is_recovered():
    recording = record(rate=200.0, duration=10.0, position_noise=2e-4, velocity_noise=5e-3)
    noise = fit_noise([samples(recording)])
    np.testing.assert_allclose(noise.position, 2e-4, rtol=0.15)
    np.testing.assert_allclose(noise.velocity, 5e-3, rtol=0.1)


def test_recorded_velocities_help():
    # Half the noise power of the velocity is worth more than the positions say of it.
    recording = record(rate=50.0, duration=20.0, position_noise=1e-3, velocity_noise=1e-3)
    given = samples(recording)
    alone = Samples(given.time, given.position, np.full_like(given.velocity, np.nan))
    errors = []
    for case in (given, alone):
        found = smooth(case, fit_noise([case]))
        errors.append(np.sqrt(np.mean((found.q - recording.q) ** 2, axis=(0, 2))))
    assert np.all(errors[0][:4] < 0.8 * errors[1][:4])


def test_torque_deviation_against_drawn_motions():
    recording = record(rate=100.0, duration=2.0, position_noise=1e-4)
    given = samples(recording)
    found = smooth(given, fit_noise([given]))
    part = Motion(found.q[100:101], found.covariance[100:101])
    feedforward = FeedForward(PANDA)
    expected = torque_deviation(feedforward, part)[0]
    rng = np.random.default_rng(0)
    draws = np.stack([
        rng.multivariate_normal(part.q[0, :, j], part.covariance[0, j], 4000, method='eigh')
        for j in range(7)], axis=2)
    drawn = feedforward.torque(np.ascontiguousarray(draws)).std(axis=0)
    np.testing.assert_allclose(expected, drawn, rtol=0.08)


def test_noise_is_no_less_than_an_encoder_s_steps():
    step = 1e-3
    recording = record(rate=500.0, duration=3.0, position_noise=0.0, velocity=False)
    given = samples(recording)
    coarse = Samples(given.time, step * np.round(given.position / step), given.velocity)
    assert np.any(np.diff(coarse.position, axis=0) == 0.0)
    assert np.all(fit_noise([coarse]).position > 0.99 * step / np.sqrt(12.0))


@pytest.mark.parametrize('velocity', [True, False])
@pytest.mark.parametrize('begin', [0, 700, 1400])
def test_joints_that_always_move_have_the_noise_of_their_samples(begin, velocity):
    """Guards steps of the motion that are taken for those of an encoder: 0.3 mrad for 5e-3."""
    stamps = np.arange(2000) * 1e-3 + begin * 1e-3
    given = made_logs.states(stamps, stamps, 4, velocity=velocity)
    found = fit_noise([Samples(stamps[:500], given.position[:500], given.velocity[:500])])
    assert np.all(found.position < 1.6 * made_logs.POSITION_NOISE)
    assert np.all(found.position > 0.6 * made_logs.POSITION_NOISE)
