"""Which of several counts of samples is believed, and what is held where none is told: fast."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros.estimation.clock_fit import _held_where_loose
from hodyn_ros.estimation.sampling_clock import _is_better, _slips

pytestmark = pytest.mark.fast


def test_instants_beside_no_told_interval_are_held_within_bounds():
    time = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    told = np.array([False, False, True, False, False, False])
    found = _held_where_loose(time, time - 0.2, time - 0.1, told)
    np.testing.assert_allclose(found, [-0.1, 0.9, 2.0, 3.0, 3.9, 4.9, 5.9])
    np.testing.assert_array_equal(_held_where_loose(time, time - 1.0, time + 1.0, told), time)
    # Instants that would go back are left as they are.
    np.testing.assert_array_equal(_held_where_loose(time, time - 3.0, time - 2.0, told), time)


def counted(period, misfit, *, sparse=False):
    """Return what tells which of two counts is better."""
    return SimpleNamespace(
        period=period, misfit=misfit, share_off=misfit / period, is_sparse=sparse)


def test_the_better_of_two_counts_is_off_by_the_smaller_share_of_its_period():
    one_by_one, bursts = SimpleNamespace(burst=1), SimpleNamespace(burst=8)
    for samples in (one_by_one, bursts):
        assert _is_better(counted(1e-3, 1e-5), counted(1.1e-3, 2e-5), samples)
        assert not _is_better(counted(1e-3, 1e-5), counted(1.1e-3, 2e-5), samples, 0.4)
        assert not _is_better(counted(1e-3, 2e-5), counted(1.1e-3, 2e-5), samples)
        assert not _is_better(counted(1e-3, 1e-5), counted(1e-3, 1e-5), samples)
    # A tenth of the period leaves a larger share of itself, and far less in all: by no chance.
    fine, coarse = counted(1e-3, 8e-5), counted(1e-2, 6e-4)
    assert _is_better(fine, coarse, one_by_one)
    assert not _is_better(coarse, fine, one_by_one)
    # As much as any intervals leave of any period; and as much in all as the whole period leaves.
    for by_chance in (counted(1e-3, 1.6e-4), counted(1e-3, 1e-4)):
        assert not _is_better(by_chance, counted(1e-2, 3e-4), one_by_one)
        assert _is_better(counted(1e-2, 3e-4), by_chance, one_by_one)
    # What is sent in bursts is sent whole.
    assert _is_better(counted(1e-3, 3e-4), counted(5e-4, 1e-5, sparse=True), bursts)
    assert not _is_better(counted(5e-4, 1e-5, sparse=True), counted(1e-3, 3e-4), bursts)
    assert _is_better(counted(5e-4, 1e-5, sparse=True), counted(1e-3, 3e-4), one_by_one)


@pytest.mark.parametrize(('miscounted', 'slips'), [(0.0, False), (0.08, False), (0.12, True)])
def test_ages_that_fill_more_than_a_period_tell_of_miscounts(miscounted, slips):
    rng = np.random.default_rng(0)
    time = 0.01 * np.arange(2000.0)
    stamps = time + 1e-3 * rng.random(2000)
    time[round(2000 * (1.0 - miscounted)):] += 1.3e-3
    assert _slips(SimpleNamespace(stamps=stamps), 1e-3, time) == slips
    assert _slips(SimpleNamespace(stamps=stamps + 7e-4), 1e-3, time) == slips
