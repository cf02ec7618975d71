"""What ends a stream: what is said of it is true, and impossible samples stop the reference."""
import contextlib
import re

import numpy as np
import pytest
from supervised import HOME, PANDA, PERIOD, running

from hodyn_ros.common.errors import HodynError

SEEDS = pytest.mark.parametrize('seed', range(4))


def send(world, position, velocity=None):
    """Send a sample as the node takes it."""
    stream, why = world.supervisor.stream, ''
    stream.heard(world.at)
    try:
        world.supervisor.take_sample(position, velocity, None, world.at)
    except HodynError as error:
        why = str(error)
    stream.why_refused = why
    return why


def beside(joint, by):
    return np.where(np.arange(7) == joint, HOME + by, HOME)


def rest(world):
    """Let the reference come to rest; return where, (7,)."""
    for _ in range(3000):
        world.state()
        if world.report[0] == 'holding':
            return world.controller.q[0].copy()
    raise AssertionError(world.report)


@SEEDS
@pytest.mark.parametrize('has_velocity', [False, True])
def test_where_the_reference_goes_after_a_silence_is_said(seed, has_velocity):
    rng = np.random.default_rng(seed)
    world, joint = running(), int(rng.choice([0, 2, 4]))
    speed = rng.uniform(-0.6, 0.6)
    for count in range(1 + rng.integers(10)):
        by = speed * 0.05 * count + rng.choice([0.0, 1.0], p=[0.9, 0.1])
        send(world, beside(joint, by), beside(joint, speed) - HOME if has_velocity else None)
        world.states(round(0.05 / PERIOD))
    while not world.said('fell silent'):
        world.state()
    before, end = world.controller.q[0].copy(), rest(world)
    line, = (line for line in world.logged if 'fell silent' in line)
    if line.endswith('it stops'):
        np.testing.assert_allclose(before, end, atol=0.02)
    else:
        name, value = re.search(r'leads \((\w+) at (\S+) rad\) and rests there', line).groups()
        assert name == PANDA.joint_names[joint]
        assert end[joint] == pytest.approx(float(value), abs=1e-3)


def test_a_far_sample_is_reached_and_named_and_a_near_one_is_a_stop():
    for by, what in ((1.0, 'goes on to where its last accepted sample leads (joint1 at '),
                     (0.002, 'stops')):
        for refused in (False, True):
            world = running()
            send(world, beside(0, by))
            for _ in range(30):
                world.states(5)
                if refused:
                    assert 'is above' in send(world, beside(0, PANDA.limits.position_max[0] + 1.0))
            np.testing.assert_allclose(rest(world), beside(0, by), atol=1e-6)
            assert world.said(f'the reference {what}') == refused
            assert world.said(f'the streamed reference fell silent: it {what}') == (not refused)


@SEEDS
def test_a_stream_in_degrees_stops_as_on_a_hold(seed):
    """It went on to its last sample, 2 rad away, after `are these degrees?`."""
    rng = np.random.default_rng(seed)
    joint, step, period = rng.choice([0, 2, 4]), rng.uniform(1.5, 2.5), rng.choice([0.05, 0.1])
    ends, sent = [], 20
    for is_held in (False, True):
        world = running()
        for count in range(sent):
            if 'are these degrees?' in send(world, beside(joint, count * step)):
                sent = count
                break
            world.states(round(period / PERIOD))
        if is_held:
            world.supervisor.hold('held on request')
        assert sent < 20
        assert world.report[0] == 'stopping'
        ends.append(rest(world))
        if not is_held:
            assert 'other samples may be as wrong' in world.report[1]
            assert 'are these degrees?' in world.report[1]
            # The arm stays there while samples come, also possible ones.
            assert 'let it fall silent' in send(world, HOME)
            world.states(50)
            np.testing.assert_array_equal(world.controller.q[0], ends[0])
            world.states(round(2.1 / PERIOD))
            assert not send(world, HOME)
            world.states(2)
            assert world.report == ('streaming', '')
    np.testing.assert_allclose(*ends, atol=1e-9)
    assert np.abs(ends[0] - HOME).max() < 1.0  # and not at the sample, 1.5 or farther


@pytest.mark.parametrize('is_begun', [False, True])
def test_a_slider_in_degrees_that_passes_small_angles_is_not_followed(is_begun):
    """Nothing is followed yet, so nothing stops; the next plausible sample moved the arm."""
    world = running()
    if is_begun:
        assert not send(world, beside(0, 0.1))  # and no cycle takes it
    for angle in (60.0, 30.0, 20.0, 10.0, 6.0):
        assert 'are these degrees?' in send(world, beside(0, angle))
        world.states(5)
    for angle in (1.0, 0.5, 0.2):
        assert 'a sample was where no arm can be; let it fall silent' in send(
            world, beside(0, angle))
        world.states(5)
    assert world.report[0] == 'holding'
    np.testing.assert_array_equal(world.controller.q[0], HOME)


@SEEDS
def test_a_stream_that_is_sometimes_beyond_a_limit_goes_on(seed):
    rng, world = np.random.default_rng(seed), running()
    high = PANDA.limits.position_max[6]
    for count in range(60):
        sample = beside(6, min(0.02 * count, 1.0))
        is_beyond = rng.random() < 0.2
        if is_beyond:
            sample[6] = high + rng.uniform(0.01, 1.9)
        assert bool(send(world, sample)) == is_beyond
        world.states(5)
    assert world.report[0] == 'streaming'
    np.testing.assert_allclose(world.controller.q[0], beside(6, 1.0), atol=0.05)


def test_samples_that_no_arm_can_have_do_not_end_a_plan():
    world = running()
    world.plan(b'0.3')
    world.states(50)
    assert world.report[0] == 'following'
    with contextlib.suppress(HodynError):
        world.supervisor.take_sample(np.rad2deg(HOME), None, None, world.at)
    world.states(5)
    assert world.report[0] == 'following'
