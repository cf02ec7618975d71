from dataclasses import replace

import matplotlib
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import AntagonisticExponential, Rigid
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.curves import draw_curves
from hodyn_ros.reference import fit_plan


@pytest.mark.parametrize('share', [0.01, 0.9])
def test_limits_far_away_do_not_flatten_a_curve(tmp_path, share):
    """Positions of a small motion fill their axis, with the limits written above it."""
    free = hd.load_robot('twolink')
    end = np.array([1.5, 2.5])
    robot = replace(free, limits=replace(free.limits, position_min=-end, position_max=end))
    with matplotlib.rc_context({'svg.fonttype': 'none'}):
        plan = fit_plan([0.0, 1.0], [-share * end, share * end])
        draw_curves(plan, FeedForward(robot), tmp_path / 'curves.svg')
    text = (tmp_path / 'curves.svg').read_text().replace('\u2212', '-')
    assert ('limits -2.5, 2.5' in text) == (share == 0.01)


def test_motors_have_rows_of_their_own_each_with_its_joint(tmp_path):
    """Of a pair that shares a joint, of one behind a spring, and of a rigid one: no deflection."""
    names = hd.load_robot('twolink').joint_names
    actuators = Actuators(names, (
        JointActuator(AntagonisticExponential(2.0, 20.0, 2000.0), Motor(0.5)),
        JointActuator(Rigid(), Motor(0.5, max_effort=60.0))))
    plan = fit_plan([0.0, 2.0], [np.zeros(2), np.full(2, 0.3)])
    with matplotlib.rc_context({'svg.fonttype': 'none'}):
        for robot in (hd.load_robot('twolink'), replace(
                hd.load_robot('twolink'), actuators=actuators)):
            draw_curves(plan, FeedForward(robot), tmp_path / 'curves.svg', force=True)
            text = (tmp_path / 'curves.svg').read_text()
            assert text.count('>effort_rate (N m/s)<') == 2
            is_driven = robot.actuators is not None
            for label, count in (
                    ('motor_velocity (rad/s)', 2), ('motor_effort (N m)', 2),
                    ('deflection (rad)', 1), ('stiffness_left (N m/rad)', 1),
                    (f'{names[0]}_motor1', 3), (f'{names[0]}_motor2', 3)):
                assert text.count(f'>{label}<') == count * is_driven, label
            assert text.count('>time (s)<') == 2
