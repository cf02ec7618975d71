"""Motors and springs among the limits of a plan, and in its stretching."""
from dataclasses import replace

from laws_and_motions import LAWS
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import (
    AntagonisticExponential,
    AntagonisticQuadratic,
    LinearSpring,
    Rigid,
    TabulatedSpring,
)
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.limit_check import check_limits
from hodyn_ros.plans.time_scaling import smallest_time_scaling
from hodyn_ros.reference import fit_plan
from hodyn_ros.robot import Limits


def feedforward(law, motor=None, **joint):
    robot = hd.load_robot('twolink')
    actuators = Actuators(robot.joint_names, (
        JointActuator(Rigid(), Motor(0.2)), JointActuator(law, motor or Motor(0.2), **joint)))
    return FeedForward(replace(robot, actuators=actuators, limits=Limits.none(2)))


def swing(duration=1.0):
    return fit_plan([0.0, duration], np.array([[-1.0, 0.5], [0.2, -0.9]]))


def dense(model, plan):
    times = np.linspace(plan.times[0], plan.times[-1], 50_001)
    q = plan.evaluate(times)
    reference, elongation, _ = model.motor_side.sample(q, model.torque(q))
    return reference, elongation


def worst_of(limit_report, joint, quantity):
    return next(e for e in limit_report.worst if (e.joint, e.quantity) == (joint, quantity))


@pytest.mark.parametrize('law', [LinearSpring(100.0), LinearSpring(100.0, 2.0), LAWS['quadratic']])
def test_peaks_of_motors_are_those_of_dense_samples(law):
    model, plan = feedforward(law), swing()
    reference, elongation = dense(model, plan)
    limit_report = check_limits(plan, model)
    for motor, name in enumerate(model.robot.actuators.motor_names):
        for quantity, signal in (
                ('motor_velocity', reference[:, 1]), ('motor_effort', reference[:, 3]),
                ('deflection', elongation)):
            if motor == 0 and quantity == 'deflection':
                continue
            peak = np.abs(signal[:, motor]).max()
            found = worst_of(limit_report, name, quantity)
            assert abs(found.value) == pytest.approx(peak, rel=1e-6)
    assert limit_report.within_limits


@pytest.mark.parametrize(('quantity', 'motor', 'joint'), [
    ('motor_velocity', {'max_velocity': 1.5}, {}),
    ('motor_effort', {'max_effort': 6.6}, {}),
    ('deflection', {}, {'max_deflection': 0.09}),
])
def test_a_limit_of_the_motor_side_is_judged_and_stretched(quantity, motor, joint):
    model = feedforward(LinearSpring(100.0), Motor(0.2, **motor), **joint)
    plan = swing(0.7)
    limit_report = check_limits(plan, model)
    assert {(e.joint, e.quantity) for e in limit_report.violations} == {('joint2', quantity)}
    stretch = smallest_time_scaling(plan, model)
    assert stretch.factor > 1.0
    assert check_limits(plan.stretched(stretch.factor), model).within_limits
    assert not check_limits(plan.stretched(stretch.factor - 2e-3), model).within_limits


@pytest.mark.parametrize('quantity', ['velocity', 'acceleration', 'effort'])
def test_what_a_joint_exceeds_comes_before_what_its_spring_then_does(quantity):
    """A limit of 0, of the stiffness that is left, made any excess over it the largest."""
    model = feedforward(AntagonisticQuadratic(1000.0, 900.0), max_deflection=0.3)
    model = FeedForward(replace(
        model.robot, limits=replace(Limits.none(2), **{quantity: np.full(2, 0.5)})))
    report = check_limits(swing(0.1), model)
    found = [entry.quantity for entry in report.violations]
    assert found[:2] == [quantity] * 2
    assert 'stiffness_left' in found
    assert f': {quantity} ' in report.summary


def test_a_spring_that_gives_way_is_judged_and_stretched():
    model = feedforward(replace(LAWS['softening'], stiffness=150.0, cubic=-3e3))
    plan = swing(0.5)
    violation, = check_limits(plan, model).violations
    assert (violation.joint, violation.quantity) == ('joint2', 'spring_torque_left')
    assert violation.value < 0.0
    stretch = smallest_time_scaling(plan, model)
    assert stretch.factor > 1.0
    assert check_limits(plan.stretched(stretch.factor), model).within_limits


def test_a_motor_that_cannot_hold_the_weight_is_named():
    model = feedforward(LinearSpring(100.0), Motor(0.2, max_effort=1.0))
    stretch = smallest_time_scaling(swing(), model)
    assert stretch.factor is None
    assert 'joint2 cannot hold the weight' in stretch.reason
    assert 'at rest, joint2 has motor_effort' in stretch.reason
    assert 'N m, limit' in stretch.reason


@pytest.mark.parametrize(('law', 'joint', 'reason'), [
    (AntagonisticExponential(1.5, 8.0, 900.0), {'max_deflection': 0.3},
     'joint2_motor1 has deflection 0.453 rad, limit 0.3 rad'),
    (AntagonisticQuadratic(1000.0, 900.0), {'max_deflection': 0.3},
     'joint2_motor1 has deflection 0.45 rad, limit 0.3 rad'),
    (AntagonisticExponential(1.5, 8.0, 20.0), {},
     'joint2 has stiffness_left -4 N m/rad, limit 0 N m/rad'),
    (TabulatedSpring([0.0, 0.1, 0.2, 0.3], [0.0, 20.0, 45.0, 80.0]), {},
     'joint2 has spring_torque_left 0 N m, limit 0 N m: its spring carries torque in one'),
])
def test_what_springs_cannot_do_at_rest_is_not_put_on_the_weight(law, joint, reason):
    model = feedforward(law, **joint)
    model = FeedForward(model.robot.with_gravity([0.0, 0.0, 0.0]))
    stretch = smallest_time_scaling(swing(), model)
    assert stretch.factor is None
    assert stretch.reason.startswith(
        f'no stretch fixes it: at rest, even without any load, {reason}')
