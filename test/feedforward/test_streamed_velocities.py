"""Streamed velocities that contradict the positions are named once, and no others are."""
import numpy as np
import pytest
from supervised import HOME, PERIOD, running

from hodyn_ros.feedforward.streamed_velocities import StreamedVelocities

JOINTS = ('a', 'b', 'c')
RATES = pytest.mark.parametrize('rate', [10.0, 50.0, 500.0])
SEEDS = pytest.mark.parametrize('seed', range(8))


def stream(rng, rate, seconds=10.0):
    """Return times, positions and velocities of a swinging target, its times with jitter."""
    time = np.arange(round(seconds * rate)) / rate
    omega, phase = rng.uniform(0.3, 4.0, 3), rng.uniform(0.0, 6.3, 3)
    size = rng.uniform(0.05, 0.6, 3)
    angle = omega * time[:, None] + phase
    return (time + rng.uniform(0.0, 0.4 / rate, len(time)), size * np.sin(angle),
            size * omega * np.cos(angle))


def said(time, position, velocity):
    watch = StreamedVelocities(JOINTS)
    return [
        line for each in zip(time, position, velocity, strict=True) if (line := watch.add(*each))]


@RATES
@SEEDS
@pytest.mark.parametrize('joint', range(3))
@pytest.mark.parametrize('factor', [-1.0, 180.0 / np.pi])
def test_a_wrong_sign_or_unit_is_named_once(rate, seed, joint, factor):
    time, position, velocity = stream(np.random.default_rng(seed), rate)
    velocity[:, joint] *= factor
    line, = said(time, position, velocity)
    assert f'velocities of {JOINTS[joint]} contradict' in line
    assert ('opposite sign' in line) == (factor < 0.0)


@RATES
@SEEDS
@pytest.mark.parametrize('what', ['sound', 'late', 'rounded', 'noisy', 'sparse', 'still', 'none'])
def test_velocities_that_are_meant_are_not_blamed(rate, seed, what):
    rng = np.random.default_rng(seed)
    time, position, velocity = stream(rng, rate)
    if what == 'late':
        held = max(1, round(0.1 * rate))
        velocity[held:] = velocity[:-held]
    if what == 'rounded':
        position = np.round(position, 3)
    if what == 'noisy':
        velocity = velocity + 0.02 * rng.standard_normal(velocity.shape)
    if what == 'sparse':  # one target a second, and stays
        position, velocity = position[::round(rate)].repeat(round(rate), axis=0), 0.0 * velocity
    if what == 'still':
        position, velocity = position[:1].repeat(len(time), axis=0), 0.0 * velocity
    assert said(time, position, [None] * len(time) if what == 'none' else velocity) == []


def test_each_stream_is_judged_anew():
    time, position, velocity = stream(np.random.default_rng(0), 50.0)
    later = np.concatenate([time, time + 20.0])
    again = said(later, np.tile(position, (2, 1)), np.tile(-velocity, (2, 1)))
    assert len(again) == 2


@pytest.mark.parametrize('factor', [1.0, -1.0])
def test_the_node_follows_and_says_once_that_velocities_are_wrong(factor):
    """And what it publishes stays within its limits, as after every state."""
    world = running()
    begin, speed = world.at, np.full(7, 0.05)
    while world.at < begin + 3.0:
        target = HOME + speed * (world.at - begin)
        world.supervisor.take_sample(target, factor * speed, None, world.at)
        world.states(round(0.02 / PERIOD))
    assert world.report[0] == 'streaming'
    assert world.said('contradict its positions: they have the opposite sign') == (factor < 0.0)
