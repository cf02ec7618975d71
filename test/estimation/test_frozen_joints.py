"""A joint whose encoder stands still while its velocity goes on says nothing about time."""
from dataclasses import replace

from made_logs import assert_as_promised, newest, of_panda, received
import numpy as np
import pytest

from hodyn_ros.estimation.state_intervals import state_intervals

pytestmark = pytest.mark.fast


def frozen(log, joint, begin, end):
    """Return a log in which one encoder stands still from one sample to another."""
    position = log.position.copy()
    position[begin:end, joint] = position[begin, joint]
    return replace(log, position=position)


def stands_still(seed, period=1e-2, count=2200):
    """Return a log with true stamps of which one encoder stands still for 3 to 4 s."""
    rng = np.random.default_rng(seed)
    time = period * np.arange(count)
    log = of_panda(time, time, seed, period)
    log = replace(log, position=log.position + 2e-5 * rng.standard_normal(log.position.shape))
    begin = int(rng.integers(300, count - 700))
    joint = int(rng.integers(log.position.shape[1]))
    return frozen(log, joint, begin, begin + int(rng.integers(300, 400)))


@pytest.mark.parametrize('seed', range(12))
def test_true_stamps_stay_as_they_are(seed):
    log = stands_still(seed)
    part, = log.instants()
    np.testing.assert_array_equal(part.time, log.stamps)
    assert np.isnan(part.sampling_period)


@pytest.mark.parametrize('seed', range(12))
def test_no_interval_is_wrong_by_the_standstill_or_its_end(seed):
    log = stands_still(seed)
    interval, deviation = state_intervals(log.time, log.position, log.velocity)
    off = np.abs(interval - log.period)
    assert np.all(off < np.maximum(8.0 * deviation, 0.1 * log.period))


@pytest.mark.parametrize('joint', range(5))
@pytest.mark.parametrize('make', [received, newest])
def test_a_clock_is_restored_by_the_other_joints(make, joint):
    log = frozen(make(1e-2, 1500, 3), joint, 500, 800)
    assert_as_promised(log, log.instants(), off=0.1)


@pytest.mark.parametrize('resolution', [1e-3, 4e-3])
@pytest.mark.parametrize('joint', range(5))
def test_a_coarse_encoder_that_repeats_counts_tells_the_time_as_before(resolution, joint):
    log = received(1e-3, 3000, 5)
    position = log.position.copy()
    position[:, joint] = np.round(position[:, joint] / resolution) * resolution
    assert np.mean(np.diff(position[:, joint]) == 0.0) > 0.05
    assert_as_promised(log, replace(log, position=position).instants(), off=0.1)
    if joint:
        return
    # All encoders: each count that changes tells about time, none is left out.
    all_coarse = np.round(log.position / resolution) * resolution
    interval, _ = state_intervals(log.time, all_coarse, log.velocity)
    assert np.mean(interval) == pytest.approx(log.period, rel=0.02)
