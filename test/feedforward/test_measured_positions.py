"""Positions in degrees or wrapped by a turn, and locked joints elsewhere: named, and no motion."""
from dataclasses import replace

from controllers import limited
import numpy as np
import pytest
from supervised import HOME, PANDA, World, running

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.locked_watch import LISTEN, LockedWatch
from hodyn_ros.feedforward.moving_base import feedforward_of
from hodyn_ros.robot.files.joint_limits import with_limits


@pytest.mark.parametrize(('arm', 'named'), [
    (np.degrees(HOME), 'joint2 joint4 joint6 joint7'),
    (PANDA.limits.position_max + np.array([0.2, 0.2, 0, 0, 0, 0, 0]), 'joint1 joint2')])
def test_no_arm_is_activated_on_joint_states_in_degrees(arm, named):
    world = World()
    world.arm = arm
    world.states(50)
    name, reason = world.report
    assert name == 'waiting'
    assert reason.endswith('no arm can be there; positions are in rad: are these degrees?')
    assert [joint for joint in PANDA.joint_names if f'{joint} is at' in reason] == named.split()
    assert world.logged[reason] == 1
    world.arm = HOME.copy()
    world.states(50)
    assert world.report == ('holding', '')  # the question was shown for the rest of a second


@pytest.mark.parametrize('place', [0.4, 1.0, 40.0])
def test_a_slide_is_not_held_at_a_place_that_is_its_stroke_away(place):
    """The finger of a gripper was, in millimetres or at the angle of another joint."""
    low, high = PANDA.limits.position_min.copy(), PANDA.limits.position_max.copy()
    low[6], high[6] = 0.0, 0.05
    robot = replace(
        PANDA, bodies=(*PANDA.bodies[:6], replace(PANDA.bodies[6], type='prismatic')),
        limits=replace(PANDA.limits, position_min=low, position_max=high))
    world = World(model=feedforward_of(robot))
    world.arm[6] = place
    world.states(50)
    name, reason = world.report
    assert name == 'waiting'
    assert 'no arm can be there; positions are in m: are these millimetres' in reason
    assert ('or are the names in another order' in reason) == (place < 10.0)
    world.arm[6] = 0.06
    world.states(50)
    assert world.report[0] == 'holding'
    assert 'joint7 is at 0.06 m, which is 0.01 m beyond its range: held there' in world.report[1]


def test_of_joint_states_that_come_back_in_degrees_it_is_asked():
    world = running()
    world.pass_time(2.0)
    reasons = set()
    for k in range(100):
        world.state(position=np.degrees(HOME + 0.001 * k))
        reasons.add(world.report[1])
    assert 'are these degrees?' in world.report[1]
    assert len(reasons) <= 2, 'the topic of the state is not flooded'


@pytest.mark.parametrize('seconds', [0.0, 1.0, 3.0])
def test_refused_states_and_the_place_after_a_restart_are_no_motion(seconds):
    """An arm that rested was said to have moved, by a driver that had sent degrees."""
    world = World(at_measurement=True)
    world.states(50, position=np.degrees(HOME), velocity=np.zeros(7))
    assert world.report[0] == 'waiting'
    world.pass_time(seconds)
    world.states(400)
    assert not world.said('are 0 though'), world.logged
    assert world.report == ('holding', '')


@pytest.mark.parametrize('refused', [0, 50])
def test_another_place_after_a_silence_is_no_motion(refused):
    """The states count as lost after 1 s only."""
    world = running(state_timeout=1.0, at_measurement=True)
    world.states(50, velocity=np.zeros(7))
    world.states(refused, position=np.degrees(HOME), velocity=np.zeros(7))
    world.pass_time(0.5)
    world.states(200, position=HOME + 0.06, velocity=np.zeros(7))
    assert not world.said('stopping')
    assert not world.said('are 0 though'), world.logged


def test_while_it_waits_the_latest_refusal_is_shown():
    """A driver in degrees left out a joint later, and the node still asked about degrees."""
    world = World()
    supervisor = world.supervisor
    supervisor.reject_state('position of joint4 is not finite')
    assert world.report == ('waiting', ''), 'the node says what it waits for'
    world.arm = np.degrees(HOME)
    world.states(50)
    assert 'are these degrees?' in world.report[1]
    supervisor.reject_state("joint 'joint7' is missing among the names")
    assert world.report == ('waiting', "joint 'joint7' is missing among the names")
    world.states(1)
    assert 'are these degrees?' in world.report[1]
    world.arm = HOME.copy()
    world.states(50)
    world.pass_time(1.0)
    for why in ('the first', 'another'):
        supervisor.reject_state(why)
    assert world.report == ('fault', 'joint states are lost: the first')


@pytest.mark.parametrize('at_measurement', [False, True])
def test_joint_states_that_become_degrees_count_as_none(at_measurement):
    """The arm was held at the ends of its ranges, with the torque of that pose."""
    world = running(at_measurement=at_measurement)
    weight = world.published.copy()
    for _ in range(500):
        world.state(position=np.degrees(HOME))
        np.testing.assert_allclose(world.published, weight, atol=1e-9)
    name, reason = world.report
    assert name == 'fault'
    assert 'are lost' in reason
    assert 'are these degrees?' in reason
    world.states(50)
    assert world.report == ('holding', '')
    np.testing.assert_array_equal(world.controller.q[0], HOME)


def test_a_driver_that_wraps_positions_is_told_that_a_turn_is_missing():
    """It was only said that a joint is -6.28 away."""
    world = running(model=feedforward_of(
        limited(PANDA, position_min=-9.0, position_max=9.0)))
    world.leap(6, -2.0 * np.pi)
    for _ in range(200):
        world.state()
        if world.said('held'):
            world.leap(6, 0.0)
    wraps = 'it is off by one turn: the driver must not wrap positions'
    left_out, held = (
        [line for line in world.logged if words in line]
        for words in ('this state is left out', 'the arm is held where it is'))
    assert [line.endswith(f'contradicts the state before: this state is left out; {wraps}')
            for line in left_out] == [True]
    assert held == [
        'joint7 is -6.28 away from the reference when joint states came back (tracking_tolerance '
        f'0.2; {wraps}): the arm is held where it is']
    assert world.report[1].startswith(held[0])


def test_a_turn_that_leads_beyond_the_range_is_no_question_of_degrees_alone():
    world = running()
    world.leap(6, -2.0 * np.pi)
    world.states(100)
    state, reason = world.report
    assert state == 'fault'
    assert reason.endswith(
        'are these degrees?; it is off by one turn: the driver must not wrap positions')


def world_with(**locked):
    return World(model=feedforward_of(replace(PANDA, locked=tuple(locked.items()))))


def report_after(world, seconds=1.0):
    world.sail(seconds)
    return world.report


def test_a_joint_far_from_its_lock_keeps_the_arm_waiting():
    world = world_with(elbow=0.5)
    for k in range(100):
        world.supervisor.take_locked({'elbow': 2.0 + 1e-4 * k})
        name, reason = report_after(world, 0.004)
    assert (name, world.published) == ('waiting', None)
    assert reason.startswith('elbow is locked at 0.5, but stands at 2')
    assert '(locked_joints: elbow=2.01), move them to their locks, or do not lock' in reason
    assert world.said('elbow') == 1
    # Moved to its lock, roughly: it starts, and says what is left.
    world.supervisor.take_locked({'elbow': 0.53})
    assert report_after(world) == ('holding', 'elbow is not at its lock, 0.5')
    assert world.logged['elbow is locked at 0.5, but stands at 0.53: the torque is still computed '
                        'for the lock'] == 1


def test_a_start_listens_for_locked_joints_of_a_slower_driver():
    world = world_with(grip=0.02, elbow=0.5)
    world.supervisor.take_locked({'grip': 0.02})
    name, reason = report_after(world, 0.8 * LISTEN)
    assert name == 'waiting'
    assert reason == 'for joint states that name elbow, up to 0.2 s'
    world.supervisor.take_locked({'elbow': 2.0})
    assert report_after(world)[0] == 'waiting'
    # A driver that never reports them does not keep the arm from starting.
    assert report_after(world_with(grip=0.02), 2.0 * LISTEN) == ('holding', '')


def test_a_locked_gripper_that_opens_later_warns_and_holding_goes_on():
    world = world_with(grip=0.02)
    assert world.supervisor.statistics()['locked joints elsewhere'] == 'none'
    world.supervisor.take_locked({'grip': 0.021})
    assert report_after(world) == ('holding', '')
    torque, reasons = world.published.copy(), set()
    for k in range(500):
        world.supervisor.take_locked({'grip': 0.03 + 0.01 * np.sin(0.1 * k)})
        reasons.add(report_after(world, 0.004))
        np.testing.assert_array_equal(world.published, torque)
    assert reasons == {
        ('holding', ''), ('holding', 'grip is not at its lock, 0.02')}
    assert world.said('grip is locked at 0.02, but') == 1
    world.supervisor.take_locked({'grip': 0.04})
    said = world.supervisor.statistics()['locked joints elsewhere']
    assert said == 'grip is locked at 0.02, but stands at 0.04'
    # Further away than a gripper's stroke: said once more.
    for position in (0.5, 0.04, 0.5):
        world.supervisor.take_locked({'grip': position})
        world.state()
    assert world.said('grip is locked at 0.02, but') == 2


def test_a_robot_without_locked_joints_has_nothing_to_say_of_them():
    world = world_with()
    assert report_after(world, 0.1) == ('holding', '')
    assert 'locked joints elsewhere' not in world.supervisor.statistics()


def test_a_locked_lift_that_moves_is_said_once():
    """Only its acceleration changes torques, so it may stand anywhere."""
    watch = LockedWatch({'grip': 0.02}, {'lift'})
    for position in (0.0, 0.5, 0.505, 0.0, 0.5, 0.495):  # wrong readings of 0 among them
        watch = LockedWatch({'grip': 0.02}, {'lift'}) if position == 0.505 else watch
        watch.take({'lift': position, 'grip': 0.02})
        assert watch.news() == ''
    watch = LockedWatch({'grip': 0.02}, {'lift'})
    for position in (0.5, 0.505, 0.515, 0.53):
        watch.take({'lift': position})
        assert watch.news() == ''
    watch.take({'lift': 0.55})
    assert watch.news() == (
        'lift moves, though it is locked: its accelerations are left out of the torque')
    watch.take({'lift': 0.6})
    assert watch.news() == watch.doubt == watch.refusal == ''


def test_the_narrow_range_of_a_turning_joint_says_nothing_about_where_an_arm_can_be():
    """A task's limits, by `limits_file`: a gentle push took the node from the arm."""
    narrow = with_limits(PANDA, {'limits': {'joint1': {'position': [-0.05, 0.05]}}})
    world = World(model=FeedForward(narrow))
    world.arm[0] = 0.25
    world.states(50)
    assert world.report[0] == 'holding'
    world = World(model=FeedForward(narrow))
    world.states(30)
    for k in range(200):
        pushed = HOME.copy()
        pushed[0] += min(0.3, 0.003 * k)
        assert world.lead(pushed)
    assert world.report[0] == 'holding'
