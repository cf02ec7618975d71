"""Positions that leap to another place and stay there are found, and nothing else is."""
from made_logs import polled, states
import numpy as np
import pytest

from hodyn_ros.estimation.position_leaps import leaps
from hodyn_ros.estimation.timing import StampStatus, analyse

RATES = pytest.mark.parametrize('rate', [50.0, 100.0, 250.0, 1000.0])


def motion(rng, rate, joints=6, seconds=12.0):
    """Return times and positions of joints that swing, with noise of their encoders."""
    time = np.arange(round(seconds * rate)) / rate
    omega, phase = rng.uniform(0.4, 2.5, joints), rng.uniform(0.0, 6.3, joints)
    position = rng.uniform(0.3, 1.0, joints) * np.sin(omega * time[:, None] + phase)
    return time, position + 1e-5 * rng.standard_normal(position.shape)


@RATES
@pytest.mark.parametrize('size', [0.08, -0.15, 0.5])
@pytest.mark.parametrize('seed', range(5))
def test_an_encoder_that_slips_is_found_with_place_and_size(rate, size, seed):
    rng = np.random.default_rng(seed)
    time, position = motion(rng, rate)
    at, joint = int(rng.integers(20, len(time) - 20)), int(rng.integers(6))
    position[at:, joint] += (size := size * max(1.0, 100.0 / rate) ** 2)
    found = leaps(time + rng.uniform(0.0, 0.1 / rate, len(time)), position)
    assert np.argwhere(found).tolist() == [[at, joint]]
    assert found[at, joint] == pytest.approx(size, rel=0.1, abs=0.05 * 100.0 / rate)


@RATES
@pytest.mark.parametrize('seed', range(10))
def test_a_drive_that_drops_out_is_found_where_it_is_back(rate, seed):
    """Its velocities are 0 meanwhile, so no encoder was said to be frozen."""
    rng = np.random.default_rng(seed)
    time, position = motion(rng, rate)
    joint, begin = int(rng.integers(6)), int(rng.integers(rate, len(time) - 3 * rate))
    end = begin + round(1.5 * rate)
    away = abs(position[end, joint] - position[begin, joint])
    position[begin:end, joint] = position[begin, joint]
    found = np.argwhere(leaps(time, position)).tolist()
    assert found == [[end, joint]] or (found == [] and away < 0.5 * max(1.0, 100.0 / rate) ** 2)


@RATES
@pytest.mark.parametrize('seed', range(10))
@pytest.mark.parametrize('what', ['jitter', 'lost', 'held up', 'coarse', 'glitch', 'alone'])
def test_nothing_else_passes_for_a_leap(rate, seed, what):
    rng = np.random.default_rng(seed)
    time, position = motion(rng, rate, joints=1 if what == 'alone' else 6)
    stamps = time + (rng.uniform(0.0, 0.4 / rate, len(time)) if what == 'jitter' else 0.0)
    at = int(rng.integers(20, len(time) - 60))
    if what == 'lost':  # and their stamps are those of a counter
        position = np.delete(position, slice(at, at + 4), axis=0)
        stamps = stamps[:len(position)]
    if what in ('held up', 'alone'):
        stamps[at:at + 40] = np.maximum(stamps[at:at + 40], stamps[at + 30])
    if what == 'coarse':
        position = np.round(position / 0.01) * 0.01
    if what == 'glitch':
        position[at, 2] += 0.5
    assert not leaps(stamps, position).any()


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('velocity', [True, False])
def test_of_a_log_only_the_leap_is_new_and_its_clock_stays(seed, velocity):
    """The stamps were moved to a clock of another period, and velocities were integrated."""
    reads, instants = polled(seed)
    log = states(reads, instants, seed, velocity=velocity)
    kept, = analyse(log).runs
    log.position[len(reads) // 2:, 3] += 0.2
    timing = analyse(log)
    (at, joint), = np.argwhere(timing.leap).tolist()
    assert joint == 3
    assert abs(at - len(reads) // 2) <= 1  # an old state may have been read again
    assert np.flatnonzero(timing.status == StampStatus.AFTER_LEAP).tolist() == [at]
    assert len(timing.runs) == 2
    for run in timing.runs:
        assert run.sampling_period == pytest.approx(kept.sampling_period, rel=1e-4)
