"""Plans, cycles, recordings and the linear programme ask one table, and are told the same."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.feedforward.motion_limits import EffortWatch
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
def test_a_cycle_is_told_of_the_effort_that_the_check_finds(seed):
    panda = hd.load_robot('panda')
    motor = Motor(0.3, max_velocity=1.0, max_effort=40.0)
    robot = replace(panda, actuators=Actuators(
        panda.joint_names, tuple(JointActuator(LinearSpring(3000.0), motor) for _ in range(7))))
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
