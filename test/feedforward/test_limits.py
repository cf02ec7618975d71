"""The limits that plans, cycles and recordings share, and what stands in for unknown ones."""
from dataclasses import replace
from types import SimpleNamespace

from controllers import HOME, driven, limited, loaded, still
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.feedforward.motion_limits import (
    EffortExcess,
    EffortWatch,
    effort_jerk,
    motion_limits,
)
from hodyn_ros.limits.quantities import QUANTITIES
from hodyn_ros.plans.limit_check import check_limits
from hodyn_ros.plans.reflex_check import reflex_peaks
from hodyn_ros.reference import fit_plan
from hodyn_ros.replay.limit_watch import LimitWatch
from hodyn_ros.robot.reflexes import COMMANDS

NAMES = ('panda', 'fr3', 'iiwa14', 'ur10e')


def plan_of(robot, seed):
    """Return a plan that is beyond some limits, and rests at its ends."""
    rng = np.random.default_rng(seed)
    low = np.maximum(robot.limits.position_min, -2.5)
    high = np.minimum(robot.limits.position_max, 2.5)
    times = np.concatenate(([0.0], np.cumsum(rng.uniform(0.3, 1.5, 3))))
    return fit_plan(times, low + (high - low) * rng.uniform(0.2, 0.8, (4, robot.n)))


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('seed', range(3))
def test_a_recording_of_a_plan_is_told_what_its_check_is(name, seed):
    robot = hd.load_robot(name)
    feedforward, plan = FeedForward(robot), plan_of(robot, seed)
    worst = {(e.joint, QUANTITIES[e.quantity].title): e for e in check_limits(
        plan, feedforward).worst}
    # Samples where the check found the peaks, among others.
    instants = np.unique([*(e.time for e in worst.values()), *np.linspace(0.0, plan.duration, 50)])
    q = plan.evaluate(instants)
    watch = LimitWatch(feedforward, robot.joint_names)
    watch.add(SimpleNamespace(
        q=q, torque=feedforward.torque(q), used=np.ones(len(q), dtype=bool),
        stamps=np.round(1e9 * instants).astype(np.int64)))
    found = [e for e in watch.extremes if e.quantity != 'power']
    assert len(found) == len(worst)
    for e in found:
        other = worst[e.joint, e.quantity]
        scale = 1e-6 * max(1.0, abs(other.value))
        assert (e.value, e.unit) == (pytest.approx(other.value, abs=scale), other.unit) or (
            e.value == pytest.approx(-other.value, abs=scale))  # as near to the other side
        assert e.margin == pytest.approx(other.margin, abs=scale) or np.isinf(e.margin)
        assert bool(e.beyond) is (other.margin < 0.0)


@pytest.mark.parametrize('seed', range(3))
def test_a_cycle_is_told_of_the_effort_that_the_check_finds(panda, seed):
    motor = Motor(0.3, max_velocity=1.0, max_effort=40.0)
    robot = driven(panda, JointActuator(LinearSpring(3000.0), motor))
    feedforward, plan = FeedForward(robot), plan_of(robot, seed)
    watch, told = EffortWatch(feedforward, 0.0), set()
    quantities = ('effort', 'effort_rate', 'motor_velocity', 'motor_effort')
    for entry in check_limits(plan, feedforward).worst:
        if entry.quantity not in quantities:
            continue
        q = plan.evaluate(entry.time)
        torque = feedforward.torque(q)
        motors = feedforward.motor_side.evaluate(q, torque)
        excess = watch.excess(
            np.zeros_like(torque) if entry.quantity.startswith('motor') else torque, motors)
        if not entry.exceeded:
            continue
        assert excess is not None
        assert abs(excess.value) / excess.limit >= entry.share * (1.0 - 1e-6)
        told.add(excess.quantity)
    assert told & {'motor velocity', 'motor torque'}


@pytest.mark.parametrize('name', NAMES)
@pytest.mark.parametrize('commands', COMMANDS)
def test_a_motion_within_the_table_trips_nothing_and_a_tenth_beyond_does(name, commands):
    robot = hd.load_robot(name)
    feedforward = FeedForward(robot)
    table = LimitTable(feedforward, commands)
    for seed in range(3):
        plan = plan_of(robot, seed)
        reflexes = table.is_reflex[table.limited]
        for factor in (0.5, 1.0, 2.0, 4.0, 8.0):
            slow = plan.stretched(factor)
            shares = np.abs(table.shares(slow.evaluate(
                np.linspace(0.0, slow.duration, 20_000)))).max(axis=0)
            trips = any(peak.trips for peak in reflex_peaks(slow, feedforward, commands))
            if shares.max() < 0.999:
                assert not trips
            if reflexes.any() and shares[reflexes].max() > 1.1:
                assert trips


def test_unknown_limits_stop_from_the_speed_in_a_quarter_of_a_second(panda):
    free = replace(panda, limits=hd.Limits.none(7))
    limits = motion_limits(FeedForward(limited(free, velocity=[2.0, *6 * [np.inf]])))
    np.testing.assert_allclose(limits.acceleration, [8.0, *6 * [4.0]])
    np.testing.assert_allclose(limits.jerk, [160.0, *6 * [80.0]])
    assert limits.effort_ratio(np.ones((3, 5, 7))) == 0.0
    known = motion_limits(FeedForward(panda))
    for key, of_robot in (
            ('lower', 'position_min'), ('upper', 'position_max'), ('velocity', 'velocity'),
            ('acceleration', 'acceleration'), ('jerk', 'jerk')):
        np.testing.assert_array_equal(getattr(known, key), getattr(panda.limits, of_robot))


def test_the_effort_ratio_is_of_the_worst_model_instant_and_quantity(panda):
    heavy = loaded(panda, 3.0)
    motion = np.random.default_rng(3).normal(size=(4, 5, 7))
    wrenches = np.zeros((3, 7, 6))
    wrenches[0, 6] = 4.0
    wrenches[1, 6] = 1e6  # how a wrench changes is no matter of the motion
    steady = np.zeros((4, 3, 7, 6))
    steady[:, 0] = wrenches[0]
    for model in (FeedForward(panda), heavy):
        torque = np.abs(model.torque(motion, wrenches=steady))
        ratio = max((torque[:, 0] / panda.limits.effort).max(),
                    (torque[:, 1] / panda.limits.effort_rate).max())
        assert motion_limits(model, wrenches=wrenches).effort_ratio(motion) == ratio
    both = motion_limits(heavy, FeedForward(panda), wrenches=wrenches)
    assert both.effort_ratio(motion) >= ratio


def test_the_jerk_of_all_joints_at_once_takes_the_torque_rate(panda):
    feedforward = FeedForward(panda)
    jerk = effort_jerk(feedforward, HOME)
    worst = 0.0
    for signs in np.random.default_rng(0).choice([-1.0, 1.0], (200, 7)):
        motion = still(HOME)
        motion[3] = jerk * signs
        worst = max(worst, (
            np.abs(feedforward.torque(motion)[1]) / panda.limits.effort_rate).max())
    assert worst == pytest.approx(1.0, rel=1e-9)


def test_each_quantity_is_watched_against_its_own_limit_and_the_margin(panda):
    robot = driven(panda, JointActuator(
        LinearSpring(500.0), Motor(0.5, max_velocity=3.0, max_effort=40.0), max_deflection=0.2))
    watch = EffortWatch(FeedForward(robot), 0.05)
    limits = panda.limits
    for row, quantity, limit in (
            (0, 'torque', limits.effort), (1, 'torque rate', limits.effort_rate)):
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
