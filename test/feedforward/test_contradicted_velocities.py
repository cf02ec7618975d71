"""Velocities that contradict the positions are named once, and no others are."""
import numpy as np
import pytest
from supervised import HOME, PERIOD, running

from hodyn_ros.feedforward.contradicted_velocities import ContradictedVelocities

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
    watch = ContradictedVelocities(3)
    return [
        (watch.joint, how) for each in zip(time, position, velocity, strict=True)
        if (how := watch.add(*each))]


@RATES
@SEEDS
@pytest.mark.parametrize('joint', range(3))
@pytest.mark.parametrize('factor', [-1.0, 180.0 / np.pi])
def test_a_wrong_sign_or_unit_is_named_once(rate, seed, joint, factor):
    time, position, velocity = stream(np.random.default_rng(seed), rate)
    velocity[:, joint] *= factor
    (found, how), = said(time, position, velocity)
    assert found == joint
    assert ('opposite sign' in how) == (factor < 0.0)
    assert ('as if in deg/s' in how) == (factor > 0.0)


@RATES
@SEEDS
@pytest.mark.parametrize('what', [
    'sound', 'late', 'rounded', 'noisy', 'sparse', 'still', 'none', 'vibrating'])
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
    if what == 'vibrating':  # its velocities are filtered so much that they oppose
        shake = 2.0 * np.pi * min(8.0, 0.2 * rate)
        position = 1e-3 * np.sin(shake * time)[:, None] + 0.0 * position
        velocity = -1e-3 * shake * np.cos(shake * time)[:, None] + 0.0 * velocity
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
    # From half a second on, the reference does not sway about its way any more.
    np.testing.assert_allclose(world.controller.q[0], target, atol=0.02)
    assert world.said('contradict its positions: they have the opposite sign') == (factor < 0.0)


@SEEDS
def test_a_stream_in_degrees_per_second_does_not_swing_the_arm(seed):
    """Samples beyond a limit were refused, so nothing showed; the slow ones were followed."""
    rng, world = np.random.default_rng(seed), running()
    rate, omega, begin = rng.choice([20.0, 50.0, 125.0]), rng.uniform(1.0, 6.0), world.at
    size, phase, beyond = rng.uniform(0.05, 0.15), rng.uniform(0.0, 6.3), 0.0
    while world.at < begin + 5.0:
        angle = omega * (world.at - begin) + phase
        target = HOME + size * (np.sin(angle) - np.sin(phase))
        velocity = np.rad2deg(size * omega * np.cos(angle)) + np.zeros(7)
        if rng.random() < 0.1:
            velocity[rng.integers(7)] = rng.uniform(-500.0, 500.0)
        world.supervisor.take_sample(target, velocity, None, world.at)
        low, high = HOME - size * (1.0 + np.sin(phase)), HOME + size * (1.0 - np.sin(phase))
        world.states(round(1.0 / rate / PERIOD))
        q = world.controller.q[0]
        beyond = max(beyond, np.maximum(low - q, q - high).max())
    assert beyond < 0.2 * size * omega
    assert world.report[0] == 'streaming'
    assert world.said('contradict its positions') == 1
    assert world.said('is beyond') <= 1


def test_a_stream_that_is_refused_is_not_called_silent():
    world = running()
    for k in range(60):
        world.supervisor.stream.heard(world.at)
        if k < 30:
            world.supervisor.take_sample(HOME, None, None, world.at)
        else:
            world.supervisor.stream.why_refused = 'position 9 is above 3'
        world.states(5)
    why = 'streamed samples are refused: position 9 is above 3'
    assert world.said(f'the reference stops, as {why}') == 1
    assert not world.said('silent')
    assert world.report == ('holding', why)
    world.states(600)
    assert world.report == ('holding', '')
    world.supervisor.hold('held on request')
    world.supervisor.stream.heard(world.at)
    world.supervisor.stream.why_refused = 'position 9 is above 3'
    assert world.report == ('holding', f'held on request; {why}')


@pytest.mark.parametrize('factor', [1.0, -1.0])
def test_measured_velocities_of_the_opposite_sign_reach_no_torque(factor):
    world = running(at_measurement=True)
    world.plan(b'0.3')
    for _ in range(round(1.0 / PERIOD)):
        arm, velocity = world.controller.q[0].copy(), world.controller.q[1].copy()
        world.state(position=arm, velocity=velocity * np.where(np.arange(7) == 3, factor, 1.0))
    assert world.said('contradict its positions: they have the opposite sign') == (factor < 0.0)
    assert ('left out' in world.report[1]) == (factor < 0.0)


def test_velocities_that_end_after_a_contradiction_are_missing():
    """The reason was still that they contradict the positions."""
    world = running(at_measurement=True)
    world.plan(b'0.3')
    for velocity in (-1.0, None):
        for _ in range(round(1.2 / PERIOD)):
            world.pass_time(PERIOD)
            world.stamp = round(world.at * 1e9)
            position, speed = world.controller.q[:2].copy()
            world.deliver(position, None if velocity is None else velocity * speed, world.stamp)
    assert 'the joint states have no velocity' in world.report[1]
    assert 'contradict' not in world.report[1]
    assert world.said('the joint states have no velocity') == 1
    world.pass_time(0.5)
    assert world.report[1] == 'joint states are lost'


@pytest.mark.parametrize('rate', [20.0, 50.0, 500.0])
@pytest.mark.parametrize('pause', [0.4, 0.8, 0.95])
@SEEDS
def test_velocities_of_bursts_with_pauses_between_are_those_of_the_positions(seed, pause, rate):
    """A joystick's pause was integrated at the last velocity before it."""
    rng = np.random.default_rng(seed)
    time, position, velocity = stream(rng, rate, 12.0)
    burst = np.floor(time / 1.2)
    assert not said(time + pause * burst, position, velocity)


@SEEDS
def test_gaps_hide_no_velocities_that_contradict(seed):
    """Stamps 2 and 18 ms apart in turn, or one gap in 0.4 s, left nothing to judge by."""
    rng = np.random.default_rng(seed)
    time, position, velocity = stream(rng, 500.0)
    pairs = np.arange(len(time)) % 10 < 2
    for kept in (pairs, rng.random(len(time)) < 0.2):
        assert len(said(time[kept], position[kept], -velocity[kept])) == 1
