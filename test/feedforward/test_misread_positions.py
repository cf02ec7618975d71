"""Positions that the driver gives in degrees, or wraps by a turn: named, and no motion."""
from dataclasses import replace

import numpy as np
import pytest
from supervised import HOME, PANDA, World, running

from hodyn_ros.feedforward.moving_base import feedforward_of


def test_no_arm_is_activated_on_joint_states_in_degrees():
    for arm, named in (
            (np.degrees(HOME), ('joint2', 'joint4', 'joint6', 'joint7')),
            (PANDA.limits.position_max + np.array([0.2, 0.2, 0, 0, 0, 0, 0]), (
                'joint1', 'joint2'))):
        world = World()
        world.arm = arm
        for _ in range(50):
            world.state()
        name, reason = world.supervisor.report(world.at)
        assert name == 'waiting'
        assert reason.endswith('no arm can be there; positions are in rad: are these degrees?')
        assert [joint for joint in PANDA.joint_names if f'{joint} is at' in reason] == list(named)
        assert world.logged[reason] == 1
        world.arm = HOME.copy()
        for _ in range(50):
            world.state()
        assert world.supervisor.report(world.at)[0] == 'holding'


def test_of_joint_states_that_come_back_in_degrees_it_is_asked():
    world = running()
    world.pass_time(2.0)
    reasons = set()
    for k in range(100):
        world.state(position=np.degrees(HOME + 0.001 * k))
        reasons.add(world.supervisor.report(world.at)[1])
    assert 'are these degrees?' in world.supervisor.report(world.at)[1]
    assert len(reasons) <= 2, 'the topic of the state is not flooded'


@pytest.mark.parametrize('at_measurement', [False, True])
def test_joint_states_that_become_degrees_count_as_none(at_measurement):
    """The arm was held at the ends of its ranges, with the torque of that pose."""
    world = running(at_measurement=at_measurement)
    weight = world.published.copy()
    for _ in range(500):
        world.state(position=np.degrees(HOME))
        np.testing.assert_allclose(world.published, weight, atol=1e-9)
    name, reason = world.supervisor.report(world.at)
    assert name == 'fault'
    assert 'are lost' in reason
    assert reason.endswith('are these degrees?')
    for _ in range(50):
        world.state()
    assert world.supervisor.report(world.at) == ('holding', '')
    np.testing.assert_array_equal(world.supervisor.controller.q[0], HOME)


def test_a_driver_that_wraps_positions_is_told_that_a_turn_is_missing():
    """It was only said that a joint is -6.28 away."""
    free = replace(PANDA, limits=replace(
        PANDA.limits, position_min=np.full(7, -9.0), position_max=np.full(7, 9.0)))
    world = running(model=feedforward_of(free))
    world.away[6] = -2.0 * np.pi
    for _ in range(100):
        world.state()
        if any('held' in line for line in world.logged):
            world.away[6] = 0.0
    wraps = 'one turn: the driver must not wrap positions'
    left_out, held = (
        [line for line in world.logged if words in line]
        for words in ('it is left out', 'the arm is held where it is'))
    assert [line.endswith(f'contradicts the state before: it is left out; {wraps}')
            for line in left_out] == [True]
    assert held == [
        f'joint7 is -6.28 away from the reference (tracking_tolerance 0.2; {wraps}): the arm is '
        'held where it is']
    assert world.supervisor.report(world.at)[1].startswith(held[0])


def test_a_turn_that_leads_beyond_the_range_is_no_question_of_degrees_alone():
    world = running()
    world.away[6] = -2.0 * np.pi
    for _ in range(100):
        world.state()
    state, reason = world.supervisor.report(world.at)
    assert state == 'fault'
    assert reason.endswith('are these degrees?; one turn: the driver must not wrap positions')
