"""What stands in for limits that a robot file does not have, and what is beyond them."""
from dataclasses import replace

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.motion_limits import (
    EffortExcess,
    EffortWatch,
    effort_jerk,
    motion_limits,
)


def test_unknown_limits_stop_from_the_speed_in_a_quarter_of_a_second(panda):
    bare = replace(panda, limits=replace(
        hd.Limits.none(7), velocity=np.array([2.0, *6 * [np.inf]])))
    limits = motion_limits(FeedForward(bare))
    np.testing.assert_allclose(limits.acceleration, [8.0, *6 * [4.0]])
    np.testing.assert_allclose(limits.jerk, [160.0, *6 * [80.0]])
    assert limits.effort_ratio(np.ones((3, 5, 7))) == 0.0
    known = motion_limits(FeedForward(panda))
    for key, of_robot in (
            ('lower', 'position_min'), ('upper', 'position_max'), ('velocity', 'velocity'),
            ('acceleration', 'acceleration'), ('jerk', 'jerk')):
        np.testing.assert_array_equal(getattr(known, key), getattr(panda.limits, of_robot))


def test_the_effort_ratio_is_of_the_worst_model_instant_and_quantity(panda):
    loaded = FeedForward(panda.with_payload('link7', 3.0, [0.0, 0.0, 0.1]))
    motion = np.random.default_rng(3).normal(size=(4, 5, 7))
    wrenches = np.zeros((3, 7, 6))
    wrenches[0, 6] = 4.0
    wrenches[1, 6] = 1e6  # how a wrench changes is no matter of the motion
    steady = np.zeros((4, 3, 7, 6))
    steady[:, 0] = wrenches[0]
    for model in (FeedForward(panda), loaded):
        torque = np.abs(model.torque(motion, wrenches=steady))
        ratio = max((torque[:, 0] / panda.limits.effort).max(),
                    (torque[:, 1] / panda.limits.effort_rate).max())
        assert motion_limits(model, wrenches=wrenches).effort_ratio(motion) == ratio
    both = motion_limits(loaded, FeedForward(panda), wrenches=wrenches)
    assert both.effort_ratio(motion) >= ratio


def test_the_jerk_of_all_joints_at_once_takes_the_torque_rate(panda):
    home = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    feedforward = FeedForward(panda)
    jerk = effort_jerk(feedforward, home)
    worst = 0.0
    for signs in np.random.default_rng(0).choice([-1.0, 1.0], (200, 7)):
        motion = np.zeros((5, 7))
        motion[0], motion[3] = home, jerk * signs
        worst = max(worst, (
            np.abs(feedforward.torque(motion)[1]) / panda.limits.effort_rate).max())
    assert worst == pytest.approx(1.0, rel=1e-9)


def test_each_quantity_is_watched_against_its_own_limit_and_the_margin(panda):
    motors = Actuators(panda.joint_names, tuple(
        JointActuator(
            LinearSpring(500.0), Motor(0.5, max_velocity=3.0, max_effort=40.0),
            max_deflection=0.2) for _ in range(7)))
    watch = EffortWatch(FeedForward(replace(panda, actuators=motors)), 0.05)
    limits = panda.limits
    for row, quantity, limit in ((0, 'torque', limits.effort), (1, 'torque rate',
                                                                limits.effort_rate)):
        torque = np.zeros((3, 7))
        torque[row, 2] = -1.04 * limit[2]
        assert watch.excess(torque, None) is None
        torque[row, 2] = -1.06 * limit[2]
        assert watch.excess(torque, None) == EffortExcess(2, quantity, torque[row, 2], limit[2])
    torque = np.zeros((3, 7))
    torque[2] = 1e9  # of Q̈ there is no limit
    for row, quantity, limit in (
            (1, 'motor velocity', 3.0), (3, 'motor torque', 40.0), (4, 'deflection', 0.2)):
        reference = np.full((5, 7), 0.1)
        reference[[0, 2]] = 1e9
        reference[row, 4] = 1.04 * limit
        assert watch.excess(torque, reference) is None
        reference[row, 4] = 1.06 * limit
        assert watch.excess(torque, reference) == EffortExcess(
            4, quantity, reference[row, 4], limit)
