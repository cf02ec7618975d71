"""Encoders that freeze are told from joints at rest, whose velocities are noisy or biased."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros.replay.frozen_encoders import FrozenEncoders

TIME = np.arange(4000) * 0.01
NAMES = ('still', 'moving')


def found(position, velocity, of=slice(None)):
    """Return which joints are named; the second one moves. Messages have the samples `of`."""
    states = SimpleNamespace(
        position=np.column_stack([position, np.sin(TIME)])[of],
        velocity=np.column_stack([velocity, np.cos(TIME)])[of])
    encoders = FrozenEncoders()
    encoders.add(SimpleNamespace(states=states, instants=(1e9 * TIME).astype(np.int64)))
    return encoders.named(NAMES)


@pytest.mark.parametrize('seed', range(5))
def test_an_encoder_that_freezes_is_named_with_the_time(seed):
    rng = np.random.default_rng(seed)
    begin = int(rng.integers(500, 3000))
    position, velocity = np.sin(0.5 * TIME), 0.5 * np.cos(0.5 * TIME)
    position[begin:] = position[begin]
    named = found(position, velocity + 0.02 * rng.standard_normal(len(TIME)))
    assert set(named) == {'still'}
    assert 1.0 < named['still'] < 40.0


@pytest.mark.parametrize('begin', range(400, 1400, 100))
@pytest.mark.parametrize('seconds', [2.5, 4.0])
def test_an_encoder_that_freezes_while_the_joint_turns_back_is_named(begin, seconds):
    """The way back undoes most of the way that its velocities have gone."""
    omega = 0.8 * np.pi
    position, velocity = 0.3 * np.sin(omega * TIME), 0.3 * omega * np.cos(omega * TIME)
    end = begin + int(100 * seconds)
    position[begin:end] = position[begin]
    noise = 0.02 * np.random.default_rng(begin).standard_normal(len(TIME))
    assert found(position, velocity + noise) == {'still': pytest.approx(seconds, abs=0.1)}


@pytest.mark.parametrize('velocity', [
    0.02 * np.ones(4000), 0.0 * TIME, np.full(4000, np.nan),
    *(0.03 * np.random.default_rng(seed).standard_normal(4000) for seed in range(5))])
@pytest.mark.parametrize('moves_before', [True, False])
def test_a_joint_at_rest_is_not_named_whatever_its_velocities(velocity, moves_before):
    position = np.full(4000, 0.3)
    if moves_before:
        position[:100] = np.linspace(0.0, 0.3, 100)
    assert found(position, velocity) == {}


def test_states_that_are_repeated_for_seconds_are_no_standstill():
    of = np.arange(4000)
    of[1000:1300] = 1000
    assert found(np.sin(TIME), np.cos(TIME), of) == {}


@pytest.mark.parametrize('offset', [0.06, -0.3, 1.0])
@pytest.mark.parametrize('seed', range(5))
def test_velocities_that_are_off_all_the_time_are_no_frozen_encoder(seed, offset):
    """It was named as failed wherever the joint rested."""
    rng = np.random.default_rng(seed)
    phase = np.clip(TIME % 10.0, 0.0, 5.0) + 5.0 * (TIME // 10.0)  # rests for 5 s in every 10 s
    position = np.sin(1.3 * phase)
    velocity = np.gradient(position, TIME) + offset
    assert found(position, velocity + 0.1 * offset * rng.standard_normal(len(TIME))) == {}
