"""Locked joints that are measured elsewhere: no torque of another arm, and no needless stop."""
from dataclasses import replace

import numpy as np
import pytest
from supervised import PANDA, World

from hodyn_ros.feedforward.locked_watch import LISTEN
from hodyn_ros.feedforward.moving_base import feedforward_of

pytestmark = pytest.mark.fast


def world_with(**locked):
    return World(model=feedforward_of(replace(PANDA, locked=tuple(locked.items()))))


def states(world, seconds=1.0):
    for _ in range(round(seconds / 0.004)):
        world.state()
    return world.supervisor.report(world.at)


def test_a_joint_far_from_its_lock_keeps_the_arm_waiting():
    world = world_with(elbow=0.5)
    for k in range(100):
        world.supervisor.take_locked({'elbow': 2.0 + 1e-4 * k})
        name, reason = states(world, 0.004)
    assert (name, world.published) == ('waiting', None)
    assert reason.startswith('elbow is locked at 0.5, but stands at 2')
    assert '(locked_joints: elbow=2.01), move them to their locks, or do not lock' in reason
    assert sum('elbow' in line for line in world.logged) == 1
    # Moved to its lock, roughly: it starts, and says what is left.
    world.supervisor.take_locked({'elbow': 0.53})
    assert states(world) == ('holding', 'elbow is not where it is locked, at 0.5')
    assert world.logged['elbow is locked at 0.5, but stands at 0.53: the torque is still computed '
                        'for the lock'] == 1


def test_a_start_listens_for_locked_joints_of_a_slower_driver():
    world = world_with(grip=0.02, elbow=0.5)
    world.supervisor.take_locked({'grip': 0.02})
    name, reason = states(world, 0.8 * LISTEN)
    assert name == 'waiting'
    assert reason == 'for joint states that name elbow, up to 0.2 s'
    world.supervisor.take_locked({'elbow': 2.0})
    assert states(world)[0] == 'waiting'
    # A driver that never reports them does not keep the arm from starting.
    assert states(world_with(grip=0.02), 2.0 * LISTEN) == ('holding', '')


def test_a_locked_gripper_that_opens_later_warns_and_holding_goes_on():
    world = world_with(grip=0.02)
    assert world.supervisor.statistics()['locked joints elsewhere'] == 'none'
    world.supervisor.take_locked({'grip': 0.021})
    assert states(world) == ('holding', '')
    torque, reasons = world.published.copy(), set()
    for k in range(500):
        world.supervisor.take_locked({'grip': 0.03 + 0.01 * np.sin(0.1 * k)})
        reasons.add(states(world, 0.004))
        np.testing.assert_array_equal(world.published, torque)
    assert reasons == {
        ('holding', ''), ('holding', 'grip is not where it is locked, at 0.02')}
    assert sum('grip is locked at 0.02, but' in line for line in world.logged.elements()) == 1
    world.supervisor.take_locked({'grip': 0.04})
    said = world.supervisor.statistics()['locked joints elsewhere']
    assert said == 'grip is locked at 0.02, but stands at 0.04'
    # Further away than a gripper's stroke: said once more.
    for position in (0.5, 0.04, 0.5):
        world.supervisor.take_locked({'grip': position})
        world.state()
    assert sum('grip is locked at 0.02, but' in line for line in world.logged.elements()) == 2


def test_a_robot_without_locked_joints_has_nothing_to_say_of_them():
    world = world_with()
    assert states(world, 0.1) == ('holding', '')
    assert 'locked joints elsewhere' not in world.supervisor.statistics()
