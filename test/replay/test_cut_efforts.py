"""Efforts that are cut are distinguished from those that rest, or have a coarse resolution."""
import numpy as np
import pytest
from rough_recordings import ROBOTS, recorded

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.cut_efforts import cut_efforts

TIME = np.linspace(0.0, 20.0, 2000)
WAVE = 10.0 * np.sin(TIME) + 2.0 * np.sin(2.7 * TIME)


def cut(effort, predicted):
    """Return where one effort is cut, its lower and upper end."""
    found = cut_efforts(effort[:, np.newaxis], predicted[:, np.newaxis])
    return float(found.low[0]), float(found.high[0])


def noisy(effort, spread=0.2):
    return effort + spread * np.random.default_rng(0).standard_normal(len(effort))


@pytest.mark.parametrize(
    'predicted', [WAVE, 1.2 * WAVE, WAVE + 1.0], ids=['right', 'gain', 'bias'])
@pytest.mark.parametrize(('low', 'high'), [
    (-8.0, 8.0), (-np.inf, 6.0), (-4.0, np.inf), (-3.0, 7.0)])
def test_the_ends_at_which_efforts_are_cut_are_found(predicted, low, high):
    assert cut(np.clip(noisy(WAVE), low, high), predicted) == (low, high)


@pytest.mark.parametrize('missing', [0.1, 0.5])
@pytest.mark.parametrize('high', [2.0, 8.0])
def test_efforts_are_cut_though_the_prediction_lacks_a_load_and_stays_below(missing, high):
    effort = np.minimum(noisy(9.0 + WAVE), high)
    found = cut_efforts(effort[:, np.newaxis], missing * WAVE[:, np.newaxis])
    assert found.high[0] == high
    sentence, = found.sentences(['luff'])
    is_below = missing * WAVE.max() < high
    assert ('the model predicts changing torques up to' in sentence) == is_below


def test_a_few_faulty_samples_beyond_do_not_hide_a_cut():
    effort = np.clip(noisy(WAVE), -8.0, 8.0)
    effort[::200] = 50.0
    found = cut_efforts(effort[:, np.newaxis], WAVE[:, np.newaxis])
    assert (found.low[0], found.high[0]) == (-8.0, 8.0)
    left = found.without(effort[:, np.newaxis])
    assert np.nanmax(left) < 8.0
    assert found.share[0] == np.isnan(left).mean()
    sentence, = found.sentences(['shoulder'])
    assert sentence.startswith('Efforts of shoulder are cut at ±8 N m (36 % of the samples), ')


def rests(effort):
    """Return efforts of an arm that waits at either end, which sensors without noise repeat."""
    return np.clip(effort, -8.0, 8.0)


@pytest.mark.parametrize(('effort', 'predicted'), [
    (WAVE, WAVE), (noisy(WAVE), 2.0 * WAVE),
    (np.round(WAVE / 4.0) * 4.0, WAVE), (np.round(WAVE / 4.0) * 4.0, 1.5 * WAVE),
    (0.1 * np.round(noisy(0.15 * np.sign(WAVE), 0.02) / 0.1), 0.3 * np.sign(WAVE) + 0.005 * WAVE),
    (rests(WAVE), 1.3 * rests(WAVE)),
    (0.05 * np.round(rests(noisy(WAVE)) / 0.05), rests(WAVE)),
    (np.where(np.abs(TIME - 6.0) < 2.0, 13.0, 0.05 * np.round(noisy(WAVE) / 0.05)), WAVE),
    (np.zeros(2000), 5.0 + WAVE), (np.full(2000, 3.0), 9.0 + 0.5 * WAVE),
    (np.full(2000, np.nan), WAVE),
], ids=['sound', 'gain', 'coarse', 'coarse, gain', 'two values', 'rests', 'steps', 'held', 'none',
        'constant', 'unknown'])
def test_sound_coarse_and_resting_efforts_are_not_cut(effort, predicted):
    assert cut(effort, predicted) == (-np.inf, np.inf)


@pytest.mark.parametrize('step', [0.0, 0.01, 0.05, 0.2])
def test_no_sound_recording_is_said_to_be_cut(step):
    """Of wrong links, with friction and noise, at any resolution."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        robot = ROBOTS[seed % len(ROBOTS)]
        q, effort = recorded(rng, robot, off=0.2, size=rng.choice([0.1, 1.0]))
        size = step * np.ptp(effort, axis=0) if step else np.ones(robot.n)
        effort = size * np.round(effort / size) if step else effort
        found = cut_efforts(effort, FeedForward(robot).torque(q)[:, 0])
        assert not np.isfinite([found.low, found.high]).any(), seed
