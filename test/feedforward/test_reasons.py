"""What the node notices and says of itself: one event is one line, in words that stay."""
import re
from types import SimpleNamespace

import numpy as np
import pytest
from supervised import running

from hodyn_ros import load_robot
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.reasons import HELD_BACK, TELL, Reasons, joined
from hodyn_ros.feedforward.tracking import TrackingWatch
from hodyn_ros.reference.limits import largest_ratio


@pytest.fixture
def said():
    return Reasons(load_robot('panda'))


def cycle(excess=None, motors=None, *, is_held_back=False):
    return SimpleNamespace(
        excess=excess, motors=motors, judged_stiffness=None, clipped=False,
        reference=SimpleNamespace(is_held_back=is_held_back), base_wrench=np.zeros((3, 0)))


def motors(*, feasible=(), held=()):
    """Return what the motors of a Panda's joints do, these being held or not feasible."""
    out = SimpleNamespace(feasible=np.ones(7, bool), held=np.zeros(7, bool))
    out.feasible[list(feasible)] = False
    out.held[list(held)] = True
    out.any_held = bool(held)
    return out


def test_reasons_are_joined_without_empty_ones_and_each_once():
    assert joined('one', '', 'two', 'one') == 'one; two'
    assert joined('', '') == ''


def test_the_joint_that_is_away_most_in_units_of_its_tolerance_is_named(said):
    watch, of_departure = TrackingWatch(np.array([0.1, 1.0, 0.02])), said.of_departure
    watch.compare(np.array([0.05, 0.9, -0.03]), np.zeros(3))
    assert of_departure(watch, ['a', 'b', 'c']) == (
        'c is -0.03 away from the reference (tracking_tolerance 0.02)')
    assert of_departure(watch, ['a', 'b', 'c'], ' when asked') == (
        'c is -0.03 away from the reference when asked (tracking_tolerance 0.02)')


RAIL = """<robot name="rail"><link name="floor"/>
  <link name="cart"><inertial><mass value="2"/>
    <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="floor"/><child link="cart"/>
    <axis xyz="1 0 0"/><limit lower="-9" upper="9" effort="90" velocity="1"/></joint>
</robot>"""


@pytest.mark.parametrize(('model', 'joint', 'error', 'is_turn'), [
    ('panda', 2, -6.28, True), ('panda', 2, 6.35, True), ('panda', 2, -6.0, False),
    ('panda', 2, 0.3, False), (RAIL, 0, 6.28, False)])
def test_a_joint_that_is_one_turn_away_is_named_as_such(model, joint, error, is_turn):
    """A driver that wraps positions at ±pi has a turn missing; a sliding joint has no turns."""
    robot = load_robot(model)
    watch, reference = TrackingWatch(np.full(robot.n, 0.2)), np.zeros(robot.n)
    measured = reference.copy()
    measured[joint] = error
    watch.compare(measured, reference)
    text = Reasons(robot).of_departure(watch, robot.joint_names)
    why = '(tracking_tolerance 0.2; it is off by one turn: the driver must not wrap positions)'
    assert (why in text) == is_turn


def test_an_excess_is_told_with_a_value_a_second_while_it_lasts_and_logged_once(said):
    """The first value was shown for as long as it lasted."""
    at, told = 100.0, set()
    for k in range(1000):
        at += 0.01 * TELL
        said.notice_cycle(cycle(EffortExcess(2, 'torque', 95.125 + k, 87.0)), at)
        value = float(re.fullmatch(
            'torque of joint3 is (.+), beyond its limit of 87', said.text(at))[1])
        assert 95.125 + k - 101 < value < 95.2 + k
        told.add(value)
    assert len(told) in (10, 11)
    assert said.text(at + 0.9 * TELL) == said.text(at)
    assert [event.text for event in said.events] == [
        'torque of joint3 is 95.12, beyond its limit of 87']
    assert said.text(at + 1.1 * TELL) == ''
    said.notice_cycle(cycle(EffortExcess(2, 'torque', 99.0, 87.0)), at + 1.1 * TELL)
    assert '99' in said.text(at + 1.1 * TELL)
    assert len(said.events) == 2


def test_another_excess_is_told_beside_it_at_once(said):
    for place, quantity in ((2, 'torque'), (3, 'torque'), (3, 'torque rate')):
        said.notice_cycle(cycle(EffortExcess(place, quantity, 1200.0, 1000.0)), 0.0)
    assert len(said.events) == 3
    assert [part[:21] for part in said.text(0.0).split('; ')] == [
        'torque of joint3 is 1', 'torque of joint4 is 1', 'torque rate of joint4']


@pytest.mark.parametrize(('excess', 'words'), [
    ((2, 'motor velocity', -9.0, 8.0), 'motor velocity of b_motor1 is -9, beyond its limit of 8'),
    ((3, 'deflection', 0.3, 0.2), 'deflection of b_motor2 is 0.3, beyond its limit of 0.2'),
    ((3, 'motor position', 9.0, 1.0, True), 'motor position of b_motor2 would be 9'),
    ((1, 'torque', 95.0, 87.0), 'torque of b is 95, beyond its limit of 87')])
def test_an_excess_of_a_motor_names_the_motor(excess, words):
    robot = SimpleNamespace(
        joint_names=('a', 'b'),
        actuators=SimpleNamespace(motor_names=('a_motor1', 'a_motor2', 'b_motor1', 'b_motor2')))
    told = Reasons(robot).of_excess(EffortExcess(*excess))
    assert told.startswith(words) if len(excess) > 4 else told == words


def test_why_comes_first_and_what_says_the_same_is_not_said_twice(said):
    excess = EffortExcess(1, 'torque', 95.0, 87.0)
    said.notice_cycle(cycle(excess), 0.0)
    said.why = said.of_excess(excess)
    assert said.text(0.0) == said.why
    said.why = 'the goal was canceled'
    assert said.text(0.0) == f'the goal was canceled; {said.of_excess(excess)}'
    assert said.text(0.0, 'joint states are lost').startswith('joint states are lost; torque')


def test_an_unfollowed_target_is_reported_until_the_next_request(said):
    for k in range(1000):  # cycles of a stream, which is followed meanwhile
        said.why = ''
        said.notice_cycle(cycle(is_held_back=True), 1e-3 * k)
    said.notice_cycle(cycle(), 0.0)
    assert said.text(9.0) == HELD_BACK
    assert [event.text for event in said.events] == [HELD_BACK]
    said.why = ''
    assert said.text(9.0) == ''


def test_motors_that_cannot_and_motors_that_are_led_back(said):
    said.notice_cycle(cycle(motors=motors(feasible=[4], held=[1, 4])), 0.0)
    assert said.text(0.0) == (
        'the motors of joint5 cannot follow the motion: their reference is held')
    # At once: that the reference is held would no longer be true.
    said.notice_cycle(cycle(motors=motors(held=[1])), 0.1 * TELL)
    assert said.text(0.1 * TELL) == 'the motors of joint2 return to the motion'
    said.notice_cycle(cycle(motors=motors()), 2.0 * TELL)
    assert said.text(2.0 * TELL) == ''
    # Their reference also changes, for example, after the clock was set.
    said.notice_cycle(cycle(motors=motors(held=[1])), 2.0 * TELL)
    assert said.text(2.0 * TELL) == ''


def test_a_set_clock_is_named_even_shortly_after_a_hold_up_or_another_setting():
    world = running()
    world.pass_time(0.045, watched=False)
    world.state()
    for offset in (0.5, -2.0, 3600.0):
        world.offset += round(offset * 1e9)
        world.states(2)  # a single state that is older than the last may be late
    for said in ('0.500 s are missing', 'set back by 2.000 s', '3600.000 s are missing'):
        assert world.said(said)
        assert said in world.report[1]


def test_a_departure_counts_when_it_persists():
    watch = TrackingWatch(np.array([0.2, np.inf, 0.1]))
    watch.compare(np.array([0.15, 9.0, 0.0]), np.zeros(3))
    assert watch.is_notable
    assert not watch.is_beyond
    away = np.array([0.0, 0.0, -0.3])
    for expected in (False, False, True):
        watch.compare(away, np.zeros(3))
        assert watch.is_beyond
        assert watch.has_departed is expected
    assert watch.joint == 2
    assert watch.error == -0.3
    watch.compare(np.zeros(3), np.zeros(3))
    assert not watch.has_departed


def test_it_begins_anew_where_the_reference_was_led_to_the_arm():
    watch, away = TrackingWatch(np.full(2, 0.1)), np.array([0.0, 0.3])
    assert (watch.joint, watch.error, watch.ratio) == (0, 0.0, 0.0)
    for _ in range(2):
        for expected in (False, False, True):
            watch.compare(away, np.zeros(2))
            assert watch.has_departed is expected
        watch.forget()
        assert not watch.has_departed
        assert not watch.is_beyond
        assert not watch.is_notable


def test_two_wrong_readings_are_no_departure():
    watch = TrackingWatch(np.full(1, 0.1))
    for _ in range(100):
        watch.compare(np.array([5.0]), np.zeros(1))
        watch.compare(np.array([5.0]), np.zeros(1))
        assert not watch.has_departed
        watch.compare(np.zeros(1), np.zeros(1))


def test_what_must_not_be_at_all_is_passed_by_anything():
    """A limit of 0, of a robot made in Python, is no division by zero."""
    assert largest_ratio(np.array([0.0, 1e-9, 0.5]), np.array([0.0, 0.0, 1.0])) == (1, np.inf)
    assert largest_ratio(np.zeros(2), np.zeros(2)) == (0, 0.0)


def test_a_plan_that_is_refused_as_the_arm_still_stops_is_to_be_sent_again():
    world = running()
    world.plan(b'0.3')
    world.states(100)
    world.supervisor.hold('held on request')
    assert world.report[0] == 'stopping'
    world.plan(b'0.1')
    world.states(5)
    assert world.said('not now; the arm was still stopping when it came: send it once the arm '
                      'holds') == 1


def test_holds_in_a_row_are_one_line_until_something_is_followed():
    world = running()
    for count in (1, 2):
        world.plan(b'%.1f' % (0.1 * count))
        world.states(50)
        assert world.report == ('following', '')
        for _ in range(30):
            world.supervisor.hold('held on request')
            world.states(20)
            assert world.report[1] == 'held on request'
        assert world.logged['held on request'] == count
    world.supervisor.hold('an empty trajectory came')
    world.state()
    assert world.report[1] == 'an empty trajectory came'
    assert world.logged['an empty trajectory came'] == 1
