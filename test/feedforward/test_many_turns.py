"""Joints that turn without end: what is in degrees does not turn them round and round."""
from dataclasses import replace

from controllers import HOME
import numpy as np
import pytest
from robot_texts import chain
from supervised import PANDA, PERIOD, World

import hodyn_ros as hd
from hodyn_ros.plans import JointWaypoints, PlanRequest, PlanSettings, prepare_plan
from hodyn_ros.robot.many_turns import too_many_turns

ENDS = np.where(np.arange(7) == 3, -np.pi, -np.inf)  # joint 4 has a range
ENDLESS = replace(PANDA, limits=replace(PANDA.limits, position_min=ENDS, position_max=-ENDS))
DEGREES = 'positions in degrees, instead of rad?'
TURN = 2.0 * np.pi


def world_of(model=ENDLESS):
    world = World(model=hd.FeedForward(model))
    world.states(50)
    return world


def stream(world, position, seconds, rate=20.0):
    """Stream what a function of the time, s, returns; return how far each joint went at most."""
    began, farthest = world.at, 0.0
    every = round(1.0 / (rate * PERIOD))
    for k in range(round(seconds / PERIOD)):
        if not k % every:
            try:
                world.supervisor.take_sample(position(world.at - began), None, None, world.at)
            except hd.HodynError as error:
                world.refused.append(str(error))
        world.state()
        farthest = np.maximum(farthest, np.abs(world.controller.q[0] - HOME))
    return farthest


@pytest.mark.parametrize('seed', range(6))
def test_a_stream_in_degrees_stops_before_any_joint_turns_round(seed):
    """A slider that moved one joint let it turn at full speed for as long as it was streamed."""
    rng, world = np.random.default_rng(seed), world_of()
    to = np.where(np.arange(7) == rng.choice([0, 1, 2, 4, 5, 6]), rng.choice([-1.0, 1.0]), 0.0)
    seconds = rng.choice([0.01, 1.0, 3.0])
    farthest = stream(world, lambda t: HOME + to * min(1.0, t / seconds) * 90.0, 6.0)
    assert farthest.max() < TURN
    assert any(DEGREES in why for why in world.refused)
    assert DEGREES in world.report[1]
    assert world.report[0] == 'holding'


@pytest.mark.parametrize('position', [
    lambda t: HOME + 0.8 * t * (np.arange(7) == 6),  # on and on, for more than three turns
    lambda t: HOME + np.pi * np.sign(np.sin(t)) * (np.arange(7) == 0),  # from end to end
    lambda t: HOME + TURN * (np.arange(7) == 5)])
def test_streams_that_turn_joints_a_few_times_are_followed(position):
    world = world_of()
    stream(world, position, 25.0)
    assert not world.refused
    assert not world.said('degrees')


@pytest.mark.parametrize(('goal', 'seconds', 'stretch', 'is_refused'), [
    (90.0, 10.0, 'offer', True), (90.0, 10.0, 'auto', True), (90.0, 4.0, 'auto', True),
    (90.0, 200.0, 'offer', False), (14.0, 4.0, 'auto', False)])
def test_a_plan_in_degrees_is_asked_about_and_offered_no_stretch(
        goal, seconds, stretch, is_refused):
    """It was refused as too fast, and accepted when it was made 22 times slower, as offered."""
    start = np.zeros((5, 7))
    start[0] = HOME
    found = prepare_plan(PlanRequest(
        JointWaypoints(
            PANDA.joint_names, np.array([seconds]),
            (HOME + goal * (np.arange(7) == 6))[np.newaxis]),
        ENDLESS, PlanSettings(stretch=stretch), start=start))
    assert bool(found.refusal) == is_refused
    assert DEGREES in found.summary
    assert 'times slower it is' not in found.summary


def test_a_plan_of_two_turns_is_not_asked_about():
    found = prepare_plan(PlanRequest(
        JointWaypoints(PANDA.joint_names, np.array([0.0, 30.0]), np.stack(
            [HOME, HOME + 2.0 * TURN * (np.arange(7) == 6)])), ENDLESS, PlanSettings()))
    assert not found.refusal
    assert '?' not in found.summary


def test_an_arm_that_begins_in_degrees_is_asked_about():
    world = World(model=hd.FeedForward(ENDLESS))
    world.arm = np.array([17.2, -57.3, 1.7, -2.0, 11.5, 5.7, 0.0])
    world.states(20)
    assert world.said('joint2 is 9.12 turns from 0: are its positions in degrees') == 1


def test_an_arm_with_a_joint_that_has_turned_once_is_not_asked_about():
    world = World(model=hd.FeedForward(ENDLESS))
    world.arm = HOME + TURN * (np.arange(7) == 5)
    world.states(300)
    assert not world.said('degrees')


@pytest.mark.parametrize(('back', 'asked'), [
    (lambda q: np.where(np.arange(7) == 3, q, np.rad2deg(q)), 'turned'),
    (lambda q: np.rad2deg(0.02 * q), ''),
    (np.zeros_like, 'all positions are 0: has the driver read its encoders?'),
    (lambda q: q + 3.0 * TURN * (np.arange(7) == 6), 'joint7 has turned 3 times meanwhile')])
def test_positions_that_cannot_be_where_the_arm_was_moved_are_not_held(back, asked):
    """After a silence they were held wherever they were, with the torque of another posture."""
    world = world_of()
    q = world.controller.q[0].copy()
    world.pass_time(3.0)
    world.states(1500, position=back(q))
    if asked:
        assert asked in world.report[1]
        np.testing.assert_allclose(world.controller.q[0], q, atol=1e-9)
        assert not world.said('the arm is held where it is')
        world.supervisor.hold('held on request')
        world.states(500, position=back(q))
    np.testing.assert_allclose(world.controller.q[0], back(q), atol=1e-9)


@pytest.mark.parametrize('pause', [0.6, 3.0])
def test_doubtful_positions_stay_so_after_another_silence_and_a_small_motion(pause):
    """A second restart of the driver, or an arm that sagged, had them held after all."""
    world = world_of()
    q = world.controller.q[0].copy()
    for back in (np.zeros(7), 0.01 * np.arange(7), np.zeros(7)):
        world.pass_time(pause)
        world.states(400, position=back)
    assert 'has the driver read its encoders?' in world.report[1]
    np.testing.assert_allclose(world.controller.q[0], q, atol=1e-9)
    world.pass_time(3.0)
    world.states(400, position=q)
    assert world.report == ('holding', 'joint states were lost') or not world.report[1]


def moved(rng, q):
    """Yield where an arm may be after it was moved, or its driver restarted."""
    yield q + 0.3 * rng.standard_normal(7)
    yield q + np.where(np.arange(7) == rng.integers(7), rng.uniform(0.25, 0.6), 0.0)
    yield q + 1.9 * TURN * (np.arange(7) == 6)


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('size', [0.0, 0.005, 0.05, 1.0])
def test_an_arm_that_was_moved_in_a_silence_is_held_there(seed, size):
    """Near the zero posture, any position up to 1 rad passed for the former one in degrees."""
    rng = np.random.default_rng(seed)
    for place in range(3):
        world = World(model=hd.FeedForward(ENDLESS))
        world.arm = size * rng.standard_normal(7)
        world.states(50)
        back = list(moved(rng, world.controller.q[0]))[place]
        world.pass_time(3.0)
        world.states(400, position=back)
        assert world.said('the arm is held where it is') == 1
        assert '?' not in world.report[1]


@pytest.mark.parametrize(('before', 'back'), [
    (HOME + 10.0 * TURN * (np.arange(7) == 6), HOME),  # it counts turns anew
    (np.rad2deg(HOME) * (np.arange(7) != 3) + HOME * (np.arange(7) == 3), HOME)])
def test_a_driver_that_is_corrected_is_held(before, back):
    world = World(model=hd.FeedForward(ENDLESS))
    world.arm = before.copy()
    world.states(50)
    world.pass_time(3.0)
    world.states(1500, position=back)
    np.testing.assert_allclose(world.controller.q[0], back, atol=1e-9)


def test_a_simulation_that_is_reset_is_held_at_zero():
    world = World(model=hd.FeedForward(ENDLESS), is_simulated=True)
    world.states(50)
    world.pass_time(3.0)
    world.states(1500, position=np.zeros(7))
    np.testing.assert_allclose(world.controller.q[0], 0.0, atol=1e-9)


def test_a_departure_long_after_a_silence_is_one_as_ever():
    world = world_of()
    world.pass_time(3.0)
    world.states(200)
    place = world.arm.copy()
    for k in range(400):
        world.lead(place * max(0.0, 1.0 - k / 300))
    world.states(600, position=np.zeros(7))
    assert world.said('the arm is held where it is') >= 1
    assert 'encoders' not in world.report[1]


def test_a_stream_with_a_delay_may_be_far_ahead():
    world = World(model=hd.FeedForward(ENDLESS), stream_delay=8.0, stream_timeout=0.5)
    world.states(50)
    stream(world, lambda t: HOME + 2.0 * t * (np.arange(7) == 6), 20.0)
    assert not [why for why in world.refused if 'degrees' in why]


def test_positions_that_change_to_degrees_are_named():
    """The advice to restart the driver let the arm be held in another posture."""
    world = World(model=hd.FeedForward(ENDLESS))
    world.arm = arm = np.array([0.3, -1.0, 0.03, -0.04, 0.2, 0.1, 0.0])
    world.states(300)
    world.states(100, position=np.rad2deg(arm))
    assert world.report[0] == 'fault'
    assert 'those of before in degrees: does the driver send rad?' in world.report[1]


@pytest.mark.parametrize(('multiplier', 'often'), [(0.003, False), (0.2, True)])
def test_the_nut_of_a_screw_may_turn_often(multiplier, often):
    data = chain('revolute', 'prismatic')
    data['bodies'][1]['mimic'] = {'joint': 'link0', 'multiplier': multiplier}
    robot = hd.load_robot(data)
    assert bool(too_many_turns(robot, robot.joint_names, np.array([100.0]))) == often
