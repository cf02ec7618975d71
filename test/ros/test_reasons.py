"""What the node says of itself: the first cause, its value for a while, times that add up."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros import load_robot
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.tracking import TrackingWatch

pytest.importorskip('rclpy')
from hodyn_ros.ros import reasons
from hodyn_ros.ros.reasons import HELD_BACK, Reasons, joined, why_departed

TELL = 1.0  # s, as docs/faults.md has it


@pytest.fixture
def clock(monkeypatch):
    """Return a clock whose `now`, s, is set by hand."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(reasons, 'time', SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def said(clock):
    return Reasons(load_robot('panda'))


def cycle(motors=None, *, is_held_back=False):
    return SimpleNamespace(motors=motors, reference=SimpleNamespace(is_held_back=is_held_back))


def motors(*, feasible=(), held=()):
    """Return what the motors of a Panda's joints do, these being held or not feasible."""
    out = SimpleNamespace(feasible=np.ones(7, bool), held=np.zeros(7, bool))
    out.feasible[list(feasible)] = False
    out.held[list(held)] = True
    out.any_held = bool(held)
    return out


def test_reasons_are_joined_without_empty_ones():
    assert joined('one', '', 'two') == 'one; two'
    assert joined('', '') == ''


def test_the_joint_that_is_away_most_in_units_of_its_tolerance_is_named():
    watch = TrackingWatch(np.array([0.1, 1.0, 0.02]))
    watch.compare(np.array([0.05, 0.9, -0.03]), np.zeros(3))
    assert why_departed(watch, ['a', 'b', 'c']) == (
        'c is -0.03 away from the reference (tracking_tolerance 0.02)')
    assert why_departed(watch, ['a', 'b', 'c'], 'when asked') == (
        'c is -0.03 away from the reference when asked (tracking_tolerance 0.02)')


def test_an_excess_is_told_with_one_value_for_a_while(said, clock):
    assert said.excess(None) == ''
    first = said.excess(EffortExcess(2, 'torque', 95.125, 87.0))
    assert first == 'torque of joint3 is 95.12, beyond its limit of 87'
    clock.now += 0.5 * TELL
    assert said.excess(EffortExcess(2, 'torque', 99.0, 87.0)) == first
    assert said.excess(None) == first  # for who reads states now and then
    clock.now += 0.6 * TELL
    assert '99' in said.excess(EffortExcess(2, 'torque', 99.0, 87.0))
    clock.now += 1.1 * TELL
    assert said.excess(None) == ''


def test_another_excess_is_told_at_once(said):
    said.excess(EffortExcess(2, 'torque', 95.0, 87.0))
    assert 'joint4' in said.excess(EffortExcess(3, 'torque', 95.0, 87.0))
    assert said.excess(EffortExcess(3, 'torque rate', 1200.0, 1000.0)).startswith('torque rate')


def test_an_excess_of_a_motor_names_the_motor(clock):
    robot = SimpleNamespace(
        joint_names=('a', 'b'),
        actuators=SimpleNamespace(motor_names=('a_motor1', 'a_motor2', 'b_motor1', 'b_motor2')))
    told = Reasons(robot).excess(EffortExcess(2, 'motor velocity', -9.0, 8.0))
    assert told == 'motor velocity of b_motor1 is -9, beyond its limit of 8'
    told = Reasons(robot).excess(EffortExcess(1, 'torque', 95.0, 87.0))
    assert told == 'torque of b is 95, beyond its limit of 87'


def test_missing_times_of_one_hold_up_add_up(said, clock):
    assert said.left_out(0.25) == (
        '0.250 s are missing between cycles: the reference goes on from where it was')
    clock.now += 0.01
    text = said.left_out(0.5)
    assert text.startswith('0.750 s in all are missing')
    assert said.of_cycle(cycle(), '') == text
    clock.now += 1.1 * TELL
    assert said.of_cycle(cycle(), '') == ''
    assert said.left_out(0.125).startswith('0.125 s are missing')


def test_a_clock_set_back_is_not_added_to_missing_times(said):
    said.left_out(0.25)
    set_back = 'the clock of the joint states was set back by '
    assert said.left_out(-0.5) == f'{set_back}0.500 s: the reference goes on from where it was'
    assert said.left_out(-1.0).startswith(f'{set_back}1.500 s')


def test_why_comes_first_and_no_excess_twice(said):
    excess = 'torque of a is 9, beyond its limit of 8'
    assert said.of_cycle(cycle(), excess) == excess
    said.why = f'{excess}: stopping'
    assert said.of_cycle(cycle(), excess) == said.why
    said.why = 'the goal was canceled'
    assert said.of_cycle(cycle(), excess) == f'the goal was canceled; {excess}'
    said.left_out(0.25)
    parts = said.of_cycle(cycle(motors(held=[1]), is_held_back=True), excess).split('; ')
    assert [part[:8] for part in parts] == ['the goal', '0.250 s ', 'torque o']


def test_a_target_that_is_not_followed_stays_told_until_something_else_is_asked_for(said):
    assert said.of_cycle(cycle(is_held_back=True), '') == HELD_BACK
    assert said.of_cycle(cycle(), '') == HELD_BACK
    said.why = ''
    assert said.of_cycle(cycle(), '') == ''


def test_motors_that_cannot_and_motors_that_are_led_back(said):
    told = said.of_cycle(cycle(motors(feasible=[4], held=[1, 4])), '')
    assert told == 'the motors of joint5 cannot do it: their reference is held'
    told = said.of_cycle(cycle(motors(held=[1])), '')
    assert told == 'the motors of joint2 are led back'
    assert said.of_cycle(cycle(motors()), '') == ''
