"""Lags where predicted rates are noisy, of rare samples and of frequent ones."""
import numpy as np
import pytest

from hodyn_ros.replay.shifted_efforts import ShiftedEfforts

N = 2
OMEGA = 2.0 * np.pi * np.array([[0.31, 0.83], [0.47, 1.1]])


def found(lag, seed, frequency, factor=1.0):
    """Return the lags of efforts, and their deviations, by rates with as much noise as size."""
    rng = np.random.default_rng(seed)
    count = round(max(600.0, 24.0 * frequency))
    time = np.arange(count) / frequency
    phase = rng.uniform(0.0, 2.0 * np.pi, (2, N))

    def torque(time):
        return np.sin(time[:, None, None] * OMEGA + phase).sum(axis=1)

    rate = (OMEGA * np.cos(time[:, None, None] * OMEGA + phase)).sum(axis=1)
    rate += np.sqrt(np.mean(rate ** 2, axis=0)) * rng.standard_normal(rate.shape)
    effort = factor * torque(time - lag) + 0.1 * factor * rng.standard_normal(rate.shape)
    shifted = ShiftedEfforts(N)
    shifted.add(
        (time * 1e9).astype(np.int64), torque(time), effort,
        rng.standard_normal((count, 2, N)), rate)
    lags, deviations = shifted.common(np.zeros(N))
    own, _, _ = shifted.own(np.zeros(N), 0.01 * np.ones(N))
    return lags, deviations / np.sqrt(count), own


@pytest.mark.parametrize('frequency', [10.0, 125.0])
@pytest.mark.parametrize('lag', [-0.05, -0.015, 0.0, 0.01, 0.03, 0.1])
def test_lags_are_neither_shrunk_nor_drawn_to_a_tried_shift(lag, frequency):
    """Guards 15 ± 0.6 ms for 10 ms, −9 ± 3 ms for none, and 35 ± 0.7 ms for 30 ms."""
    lags, deviations, own = (np.concatenate(one) for one in zip(
        *(found(lag, seed, frequency) for seed in range(20)), strict=True))
    assert np.mean(lags) == pytest.approx(lag, abs=1e-3)
    assert np.mean(own) == pytest.approx(lag, abs=1e-3)
    assert np.sqrt(np.mean(((lags - lag) / deviations) ** 2)) < 1.5


@pytest.mark.parametrize('factor', [0.02, 1.2, 3.0])
@pytest.mark.parametrize('lag', [-0.05, 0.0, 0.03])
def test_the_lag_of_efforts_by_a_factor_is_that_of_the_efforts(lag, factor):
    """Guards 55 ± 10 ms for none, of efforts that were 1.5 times the prediction."""
    lags, deviations, own = (np.concatenate(one) for one in zip(
        *(found(lag, seed, 125.0, factor) for seed in range(20)), strict=True))
    assert np.mean(lags) == pytest.approx(lag, abs=1e-3)
    assert np.mean(own) == pytest.approx(lag, abs=1e-3)
    assert 0.7 < np.sqrt(np.mean(((lags - lag) / deviations) ** 2)) < 1.5
