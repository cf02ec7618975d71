"""Messages between samples of a log that was interpolated linearly are found, and no others."""
import numpy as np
import pytest
from recordings import PANDA, messages, motion, record, write

from hodyn_ros.estimation.interpolated_states import interpolated
from hodyn_ros.identification.recordings import Source

TIME = np.arange(2000) * 4e-3


def resampled(values, times, offset=0):
    """Return values, (T, n), at `times` as many messages a sample, without the first ones."""
    index = np.arange((len(values) - 1) * times + 1) / times
    return np.stack([
        np.interp(index, np.arange(len(values)), column) for column in values.T], axis=1)[offset:]


@pytest.mark.parametrize('decimals', [None, 7])
@pytest.mark.parametrize('times', [2, 5, 8, 20, 50])
def test_the_positions_between_samples_are_found(times, decimals):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        q = motion(TIME[:400])[:, 0] + 2e-5 * rng.standard_normal((400, 7))
        offset = int(rng.integers(times))
        dense = resampled(q, times, offset)
        between = interpolated(dense if decimals is None else np.round(dense, decimals))
        np.testing.assert_array_equal(between, (np.arange(len(dense)) + offset) % times != 0)


def sound(rng):
    """Yield sound positions: exact, noisy, coarse, slow, at constant velocities, and at rest."""
    n = int(rng.integers(1, 8))
    smooth = motion(TIME)[:, 0, :n] * rng.choice([1.0, 0.01])
    yield smooth
    gap = int(rng.integers(200, 1800))
    yield np.delete(smooth, slice(gap, gap + int(rng.integers(1, 100))), axis=0)
    yield motion(TIME + 4e-3 * rng.exponential(0.3, len(TIME)))[:, 0, :n]
    yield smooth + 1e-5 * rng.standard_normal(smooth.shape)
    for step in (1e-3, 1e-4, 1e-6):
        yield step * np.round(smooth / step)
    speed = rng.choice([0.5, 0.1, 0.25, rng.uniform(0.01, 0.5)], n) * 1e-3
    constant = np.arange(len(TIME))[:, np.newaxis] * speed
    yield constant
    for step in (1e-3, 2.5e-4):
        yield step * np.floor(constant / step + 1e-9)
        yield step * np.round(constant / step + rng.uniform(size=n))
    yield constant[0] + 0.0 * constant
    turns = np.abs((TIME[:, np.newaxis] % 2.0) - 1.0) * speed  # back and forth
    yield turns
    yield 1e-5 * np.round(turns / 1e-5)
    yield smooth[np.repeat(np.arange(len(TIME) // 10), 10)]  # held
    single = np.zeros_like(smooth)
    single[::100] = 0.1
    yield smooth[:1] + single


@pytest.mark.parametrize('seeds', [
    range(12), pytest.param(range(100, 400), marks=pytest.mark.siege)])
def test_no_sound_position_is_called_interpolated(seeds):
    for seed in seeds:
        for case, position in enumerate(sound(np.random.default_rng(seed))):
            assert not interpolated(position).any(), (seed, case)


def test_reversals_at_constant_velocity_are_told_from_samples_by_noisy_efforts():
    """Of a log at 10 Hz only the reversals were left."""
    rng = np.random.default_rng(0)
    time = 0.1 * np.arange(1200)[:, np.newaxis]
    position = np.repeat(0.5 * np.abs(time % 4.0 - 2.0), 7, axis=1)
    velocity = np.gradient(position, 0.1, axis=0)
    effort = 5.0 * position + 0.01 * rng.standard_normal(position.shape)
    assert interpolated(position).any()
    assert not interpolated(position, velocity, effort).any()
    effort[len(effort) // 2] = np.nan
    assert not interpolated(position, velocity, effort).any()
    assert not interpolated(position, np.full_like(position, np.nan), effort).any()


def test_a_resampled_log_is_estimated_from_its_samples(tmp_path):
    """The bandwidth was ten times too high, jerks were beyond limits, and rotors wrong."""
    recording = record(rate=50.0, duration=10.0)
    at = recording.stamp[0] + np.arange(499 * 8 + 1) * 2_500_000
    recording.stamp, recording.received = at, at + 250_000
    for name in ('position', 'velocity', 'effort'):
        setattr(recording, name, resampled(getattr(recording, name), 8))
    bag = write(tmp_path / 'bag', {'/joint_states': messages(recording)})
    found = Source(PANDA).motion(bag)
    q = np.concatenate([piece.q for piece in found.pieces()])
    assert len(q) == found.counts.used == 500
    assert found.counts.unusable == {'on a straight line between two samples': 3493}
    assert np.sqrt(np.mean((q - recording.q)[:, 2] ** 2)) < 0.02 * np.sqrt(
        np.mean(recording.q[:, 2] ** 2))
    assert 'linear interpolation from about 50' in found.doubts(())[0]
