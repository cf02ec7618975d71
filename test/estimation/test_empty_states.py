"""States of zeros in place of data are left out, and an arm that stands at zero is not."""
from made_logs import states
import numpy as np
import pytest

from hodyn_ros.estimation.empty_states import empty
from hodyn_ros.estimation.repeated_states import torn
from hodyn_ros.estimation.timing import StampStatus, analyse

RATES = pytest.mark.parametrize('rate', [50.0, 100.0, 1000.0])


def motion(rng, rate):
    """Return times and positions of an arm that swings about another place than zero."""
    time = np.arange(round(12.0 * rate)) / rate
    omega = rng.uniform(0.4, 2.0, 6)
    return time, rng.uniform(0.5, 1.5, 6) * np.cos(omega * time[:, None]) + rng.choice(
        [-1.0, 1.0], 6) * 2.0


@RATES
@pytest.mark.parametrize('seed', range(5))
@pytest.mark.parametrize('place', ['begin', 'middle', 'end', 'twice'])
def test_zeros_are_found_wherever_the_driver_sends_them(rate, seed, place):
    rng = np.random.default_rng(seed)
    time, position = motion(rng, rate)
    length, middle = int(rng.integers(1, 3 * rate)), int(rng.integers(4 * rate, 8 * rate))
    truth = np.zeros(len(time), bool)
    for part in {'begin': [slice(0, length)], 'end': [slice(-length, None)],
                 'middle': [slice(middle, middle + length)],
                 'twice': [slice(0, length), slice(middle, middle + length)]}[place]:
        truth[part] = True
    position[truth] = 0.0
    np.testing.assert_array_equal(empty(time, position), truth)


@RATES
@pytest.mark.parametrize('step', [1e-3, 1e-2])
@pytest.mark.parametrize('seed', range(5))
def test_an_arm_that_stands_at_zero_is_where_it_says(rate, seed, step):
    """It leaves zero, and returns to it, as fast as motors can; its encoders are coarse."""
    rng = np.random.default_rng(seed)
    rest, acceleration = round(1.0 * rate), rng.uniform(5.0, 60.0)
    ramp = 0.5 * acceleration * (np.arange(0.2 * rate) / rate) ** 2
    away = np.concatenate([np.zeros(rest), ramp, np.full(rest, ramp[-1])])
    way = np.concatenate([away, away[::-1], away])
    position = np.round(way[:, None] * rng.uniform(-1.0, 1.0, 6) / step) * step
    assert not empty(np.arange(len(way)) / rate, position).any()


@pytest.mark.parametrize('velocity', [True, False])
def test_a_log_is_analysed_as_if_the_zeros_were_lost(velocity):
    """Forty were half left out, as if from a second publisher, and half moved the arm."""
    stamps = np.arange(2000) / 100.0
    log = states(stamps, stamps, 3, velocity=velocity)
    log.position[1000:1040] = 0.0
    timing = analyse(log)
    assert np.flatnonzero(timing.status == StampStatus.EMPTY).tolist() == list(range(1000, 1040))
    assert timing.status[1040] == StampStatus.AFTER_GAP
    assert [len(run.message) for run in timing.runs] == [1000, 960]


@RATES
@pytest.mark.parametrize('step', [0.0, 1e-5, 1e-4, 1e-3, 1e-2])
@pytest.mark.parametrize('alike', [True, False])
def test_an_arm_that_passes_through_zero_is_where_it_says(rate, step, alike):
    """All joints swing about zero, at once or at random; the stamps jitter, and reads repeat."""
    rng = np.random.default_rng(1)
    time = np.arange(round(12.0 * rate)) / rate
    omega = np.full(6, np.pi) if alike else rng.uniform(0.5, 4.0, 6)
    position, velocity = (
        amplitude * of(time[:, None] * omega) for amplitude, of in (
            (rng.uniform(0.2, 0.8, 6), np.sin), (omega, np.cos)))
    if step:
        position = np.round(position / step) * step
    late = time + rng.uniform(0.0, 0.5 / rate, len(time))
    again = np.repeat(np.arange(len(time)), 3)
    assert (position == 0.0).all(axis=1).any()
    assert not empty(late, position).any()
    assert not empty(np.arange(len(again)) / (3.0 * rate), position[again]).any()
    assert not empty(time, position - position[100]).any()
    # At the turns, samples on both sides have the same positions and other velocities.
    assert not torn(position, velocity).any()
