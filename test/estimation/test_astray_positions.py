"""Single positions that no arm had are left out; motions as they come are not: seeded, fast."""
from made_logs import polled, states
import numpy as np
import pytest
from recordings import motion

from hodyn_ros.estimation.astray_positions import astray
from hodyn_ros.estimation.timing import StampStatus, analyse


def sound(seed):
    """Return stamps and positions of a moving arm: any rate, jitter, loss, noise, resolution."""
    rng = np.random.default_rng(seed)
    rate = 10.0 ** rng.uniform(0.7, 3.0)
    instants = np.arange(1500) / rate
    instants = instants[rng.random(1500) > rng.choice([0.0, 0.02, 0.3])]
    # It comes to rest now and then, and starts again.
    speed = np.clip(0.7 + 1.5 * np.sin(2.0 * np.pi * instants / rng.uniform(3.0, 300.0)), 0.0, 1.0)
    passed = np.cumsum(speed * np.diff(instants, prepend=instants[0]))
    q = motion(passed, bandwidth=min(rng.choice([0.2, 1.0, 3.0]), 0.1 * rate))[:, 0]
    q += 10.0 ** rng.uniform(-6.0, -2.5) * rng.standard_normal(q.shape)
    grain = 10.0 ** rng.uniform(-6.0, -1.5)
    if rng.random() < 0.5:
        q = grain * np.round(q / grain)
    stamps = np.sort(instants + rng.uniform(0.0, rng.choice([0.0, 0.9, 5.0]) / rate, len(q)))
    held = rng.choice([1, 1, 3])  # how often each state is read
    return stamps, np.repeat(q, held, axis=0)[:len(stamps)] * rng.choice([1.0, 180.0 / np.pi])


@pytest.mark.parametrize('seed', range(200))
def test_no_position_of_a_moving_arm_is_called_astray(seed):
    assert not astray(*sound(seed)).any()


@pytest.mark.parametrize('seed', range(60))
def test_positions_that_jump_and_come_back_are_found_and_measured(seed):
    """One joint or all, at once or in rows of zeros, one read of each or two."""
    rng = np.random.default_rng(seed)
    rate = rng.choice([100.0, 200.0, 1000.0])
    instants = np.arange(2000) / rate
    position = motion(instants)[:, 0] + 2e-5 * rng.standard_normal((2000, 7))
    at = np.arange(1, 10) * 200 + rng.integers(-80, 80, 9)
    at = at[:rng.integers(1, 10)]
    whole = position.copy()
    kind = rng.choice(['one', 'all', 'zeros'])
    if kind == 'one':
        position[at, rng.integers(7, size=len(at))] += rng.choice([-1, 1]) * 10.0 ** rng.uniform(
            -1.0, 1.0, len(at))
    elif kind == 'all':
        position[at] += 0.3
    else:
        position[at] = 0.0
    off = astray(instants, position)
    np.testing.assert_array_equal(np.flatnonzero(off.any(axis=1)), at)
    largest = np.argmax(np.abs(position - whole)[at], axis=1)
    np.testing.assert_allclose(
        off[at, largest], (position - whole)[at, largest], rtol=0.0, atol=0.02)
    twice = astray(np.arange(4000) / rate / 2.0, np.repeat(position, 2, axis=0))
    np.testing.assert_array_equal(twice[::2] != 0.0, off != 0.0)
    np.testing.assert_array_equal(twice[1::2], twice[::2])


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('velocity', [True, False])
def test_the_instants_of_a_log_are_what_they_are_without_the_message(seed, velocity):
    """One sample of thousands passed for a clock that was set, and all was wrong."""
    reads, instants = polled(seed)
    found = states(reads, instants, seed, velocity=velocity)
    kept = analyse(found).runs
    rng = np.random.default_rng(seed)
    at = int(rng.integers(100, len(reads) - 100))
    found.position[at, rng.integers(7)] += rng.choice([0.1, -1.0])
    timing = analyse(found)
    np.testing.assert_array_equal(np.flatnonzero(timing.status == StampStatus.ASTRAY), [at])
    run, = timing.runs
    other = kept[0].time[kept[0].sample][kept[0].message != at]
    # A delay that is common to all no log tells.
    apart = run.time[run.sample] - other
    assert np.abs(apart - np.median(apart)).max() < 1e-4


def test_positions_that_often_disagree_are_not_left_out():
    rng = np.random.default_rng(0)
    position = motion(np.arange(2000) / 200.0)[:, 0]
    position[10:-10:30, 2] += 0.3 * rng.choice([-1, 1], len(position[10:-10:30]))
    assert not astray(np.arange(2000) / 200.0, position).any()


@pytest.mark.parametrize('count', range(26))
def test_few_messages_are_taken_as_they_are(count):
    position = np.zeros((count, 2))
    position[count // 2:count // 2 + 1] = 1.0
    off = astray(np.arange(count) / 100.0, position)
    assert off.shape == position.shape
