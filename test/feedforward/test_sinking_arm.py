"""An arm that sinks, as its load is not known, is not followed down."""
from controllers import HOME
import numpy as np
import pytest
from supervised import PERIOD, World

AWAY = 'away from the reference (tracking_tolerance 0.2)'


def sink(world, seconds, by, time_constant):
    """Let joint 2 sink towards a distance from its reference, as behind a soft controller."""
    lowest = 0.0
    for _ in range(round(seconds / PERIOD)):
        q = world.controller.q[0]
        arm = world.arm.copy()
        arm[1] += (q[1] + by - arm[1]) * PERIOD / time_constant
        world.arm = arm
        world.lead(arm)
        lowest = max(lowest, abs(world.controller.q[0, 1] - HOME[1]))
    return lowest


@pytest.mark.parametrize('by', [0.25, -0.3, 0.6])
@pytest.mark.parametrize('time_constant', [0.1, 0.4, 1.5])
def test_an_arm_that_sinks_is_held_once_and_not_followed_down(by, time_constant):
    """It was held where it was again and again: 1.4 rad in 2 s behind a soft controller."""
    world = World()
    world.states(5)
    lowest = sink(world, 20.0, by, time_constant)
    assert world.said('the arm is held where it is') == 1
    assert 0.19 < lowest < abs(by)
    assert world.said(f'{AWAY} again: the reference stays') == (
        'when joint states came back' not in ''.join(world.logged))
    name, reason = world.report
    assert name == 'holding'
    assert f'{AWAY} again: the reference stays' in reason
    world.supervisor.hold('held on request')
    sink(world, 0.1, by, time_constant)
    assert world.said('the arm is held where it is') == 2


def test_an_arm_that_was_pushed_and_let_go_is_held_at_each_later_push():
    world = World()
    world.states(5)
    for count in (1, 2):
        sink(world, 1.0, 0.25, 0.1)
        assert world.said('the arm is held where it is') == count
        world.away = np.zeros(7)
        world.arm = world.controller.q[0].copy()
        world.states(round(12.0 / PERIOD))
    assert world.report[0] == 'holding'
    assert 'again' not in world.report[1]
