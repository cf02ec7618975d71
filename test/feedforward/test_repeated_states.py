"""Drivers that send each joint state twice, and drivers too slow for a plan, are named once."""
import numpy as np
import pytest
from supervised import PERIOD, running

from hodyn_ros.robot import HodynError

TWICE = 'each stamp comes more than once, and only the first state with it is answered'
RARE = 'cycles come only every '


def refused_copies(world, rng, *, share, delay, count=400):
    """Send states, and copies of a share of them after `delay` states; return which are errors."""
    copies, errors = [], []
    for number in range(count):
        world.pass_time(PERIOD)
        reading = world.read()
        world.deliver(*reading)
        copies.append(reading if rng.random() < share else None)
        if number >= delay and (copy := copies[number - delay]) is not None:
            try:
                assert not world.supervisor.take_state(*copy, world.at)
            except HodynError:
                errors.append(number)
        world.look()
    return errors


@pytest.mark.parametrize('seed', range(8))
def test_states_that_come_twice_are_named_once_and_are_no_errors(seed):
    rng = np.random.default_rng(seed)
    world = running()
    world.plan(b'0.2')
    all_of_them = seed % 2 == 0
    errors = refused_copies(
        world, rng, share=1.0 if all_of_them else 0.95, delay=[0, 0, 1, 3][seed // 2])
    assert world.said(TWICE) == 1
    assert len(errors) < (10 if all_of_them else 100)
    assert world.report == ('holding', '')


@pytest.mark.parametrize('seed', range(6))
def test_copies_of_some_states_are_not_taken_for_two_of_each(seed):
    rng = np.random.default_rng(seed)
    world = running()
    errors = refused_copies(world, rng, share=0.1, delay=int(rng.integers(4)))
    assert not world.said(TWICE)
    assert errors


@pytest.mark.parametrize(('period', 'is_rare'), [
    (0.002, False), (0.01, False), (0.05, False), (0.15, False), (0.25, True), (0.29, True)])
def test_a_driver_that_is_too_slow_for_a_plan_is_named(period, is_rare):
    world = running()
    world.states(30, elapsed=period)
    world.plan(b'0.3')
    leap = 0.0
    for _ in range(round(3.0 / period)):
        before = world.controller.q[0].copy()
        world.state(elapsed=period)
        leap = max(leap, np.abs(world.controller.q[0] - before).max())
    assert (leap > 0.1) == is_rare  # half of the tracking tolerance
    said = [line for line in world.logged if RARE in line]
    assert len(said) == is_rare
    assert all(f'every {1e3 * period:.3g} ms' in line for line in said)
