"""Errors that last: samples that count as one, intervals, and turns that noise only feigns."""
from coloured_cases import coloured, inside, recording
import numpy as np
from payload_cases import RATE
import pytest
from recordings import PANDA

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.correlated_errors import design_effects
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.quarter_turns import quarter_turns


def lasting(time, duration=60.0, width=200):
    """Return noise, the blocks of its samples, and how many of these count as one."""
    count = round(RATE * duration)
    noise = coloured(np.random.default_rng(1), count, width, time)
    share = np.exp(-1.0 / (RATE * time)) if time else 0.0
    block = (np.arange(count) / RATE).astype(np.intp)
    return noise, block, (1.0 + share) / (1.0 - share)


@pytest.mark.parametrize(('time', 'off'), [(0.0, 0.01), (0.05, 0.08), (0.2, 0.08), (0.5, 0.08)])
def test_as_many_samples_count_as_one_as_their_correlation_makes(time, off):
    """Guards sums over blocks of 1 s, which are 20 % too small for noise that lasts 0.2 s."""
    noise, block, truth = lasting(time)
    assert np.mean(design_effects(noise, block)) == pytest.approx(truth, rel=off)


def test_what_is_unknown_or_in_a_gap_changes_nothing_much():
    noise, block, truth = lasting(0.2)
    noise[:, :100] *= block[:, None] % 7 > 0
    kept = block % 5 > 0
    assert np.mean(design_effects(noise[kept], block[kept])) == pytest.approx(truth, rel=0.12)


@pytest.mark.parametrize('rows', [1, 2, 3])
def test_few_samples_count_one_by_one(rows):
    errors = np.random.default_rng(2).standard_normal((rows, 7))
    found = design_effects(errors, np.arange(rows))
    assert found.shape == (7,)
    assert np.all((found >= 1.0) & (found <= rows))
    assert np.all(design_effects(np.zeros((rows, 7)), np.zeros(rows, np.intp)) == 1.0)


@pytest.mark.parametrize('seed', [15, 20, 33, 41])
def test_noise_turns_no_joint_that_gravity_hardly_loads(seed):
    """Guards quarter turns of joint7 with narrow intervals, in one of ten recordings."""
    given, _ = recording(seed, ('zeros', 'friction'), 0.2)
    samples = EffortSamples(given.q, given.effort)
    assert not quarter_turns(FeedForward(PANDA), samples, gains=False).any()


@pytest.mark.siege
@pytest.mark.parametrize('term', ['zeros', 'gains'])
@pytest.mark.parametrize('time', [0.0, 0.05, 0.2, 0.5])
def test_intervals_of_90_percent_hold_90_percent_of_the_time(term, time):
    """Guards 82 to 86 % for zeros, of noise that lasts 0.05 s and more."""
    held = np.concatenate([inside(seed, (term, 'friction'), time) for seed in range(200)])
    assert len(held) > 900
    assert np.mean(held) == pytest.approx(0.9, abs=0.05)
