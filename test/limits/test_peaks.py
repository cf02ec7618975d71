import numpy as np
import pytest

from hodyn_ros.limits import peaks
from hodyn_ros.limits.peaks import largest


@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('block', [3, 50, 8192])
def test_the_largest_of_smooth_signals_is_found_between_the_samples(seed, block, monkeypatch):
    monkeypatch.setattr(peaks, 'BLOCK', block)
    rng = np.random.default_rng(seed)
    shapes = rng.uniform(1.0, 10.0, (20, 3)), rng.uniform(0.0, 6.0, (20, 3)), rng.normal(
        size=(20, 3))

    def signals(t):
        frequency, phase, size = shapes
        return (size * np.sin(frequency * t[:, None, None] + phase)).sum(axis=2)

    values, instants = largest(signals, np.linspace(0.0, 2.0, 60))
    dense = np.linspace(0.0, 2.0, 200_001)
    np.testing.assert_allclose(values, signals(dense).max(axis=0), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(
        np.diagonal(signals(instants)), values, rtol=1e-12, atol=1e-12)


def test_what_does_not_change_is_as_large_everywhere():
    values, instants = largest(lambda t: np.ones((t.size, 2)) * [1.0, -2.0], np.array([0.0, 1.0]))
    assert values.tolist() == [1.0, -2.0]
    assert np.all((instants >= 0.0) & (instants <= 1.0))


def test_a_single_instant_has_its_own_value():
    values, instants = largest(lambda t: t[:, None] * [3.0], np.array([2.0]))
    assert (values.tolist(), instants.tolist()) == ([6.0], [2.0])
