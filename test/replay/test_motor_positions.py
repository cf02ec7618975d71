"""Positions of motors are recognised in arms whose springs carry friction."""
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from recordings import motion
from rough_recordings import ROBOTS

from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.motor_positions import MotorPositions
from hodyn_ros.simulation.examples import with_example_actuators

TIME = np.arange(0.0, 20.0, 0.01)


def recorded(robot, stiffness, *, off=0.0, late=0, of_motors=False):
    """Return motion and efforts of an arm whose links are off, with friction and noise."""
    rng = np.random.default_rng(3)
    links = replace(robot, friction=None, bodies=tuple(replace(
        body, mass=body.mass * (1.0 + off * rng.standard_normal())) for body in robot.bodies))
    q = motion(TIME, robot, 0.4)
    effort = FeedForward(links).torque(q)[:, 0]
    scale = np.sqrt(np.mean(effort ** 2, axis=0))
    effort += 0.05 * (scale.max() * np.tanh(q[:, 1] / 0.05) + scale * q[:, 1])
    rate = np.gradient(effort, TIME, axis=0)
    if of_motors:
        deflection = np.stack([effort, rate, np.gradient(rate, TIME, axis=0)], axis=1) / stiffness
        q[:, :3] += deflection
    effort = effort[np.maximum(np.arange(len(TIME)) - late, 0)]
    return q, effort + 0.003 * scale.max() * rng.standard_normal(effort.shape)


def found(robot, q, effort, *, with_gravity=True):
    positions = MotorPositions(robot)
    slow = np.where(np.isnan(effort), np.nan, low_pass(TIME, effort, 12.0))
    instants = np.round(1e9 * TIME).astype(np.int64)
    begins = np.isin(np.arange(len(TIME)), (0, 700))
    every = np.arange(2 * len(TIME)) // 2  # each sample is read twice
    positions.add(SimpleNamespace(
        q=q[every], slow=np.stack([slow, slow], axis=1)[every], instants=instants[every],
        begins=begins[every] & (np.arange(len(every)) % 2 == 0)))
    return positions.fit(FeedForward(robot), SimpleNamespace(
        with_gravity=with_gravity, factor=np.nan, gear_ratios=np.full(robot.n, np.nan)))


@pytest.mark.parametrize('robot', ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize('stiffness', [100.0, 200.0, 400.0])
@pytest.mark.parametrize('off', [0.0, 0.02])
def test_positions_of_motors_are_recognised_though_springs_carry_friction(robot, stiffness, off):
    elastic = with_example_actuators(robot, 'sea', stiffness)
    q, effort = recorded(robot, stiffness, off=off, of_motors=True)
    fit = found(elastic, q, effort)
    assert fit.reading.causes(robot.joint_names) == [
        'positions are those of the motors, not of the links behind the springs']
    assert fit.left < 0.4 * fit.unexplained
    assert found(robot, q, effort) is None
    assert found(elastic, q, effort, with_gravity=False) is None
    effort[600:650, 1] = np.nan  # as if they were cut
    assert found(elastic, q, effort).reading == fit.reading


@pytest.mark.parametrize('robot', ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize('stiffness', [200.0, 800.0, 3000.0])
@pytest.mark.parametrize(('off', 'late'), [(0.0, 0), (0.05, 0), (0.3, 0), (0.0, 2), (0.0, 6)])
def test_positions_of_links_are_none_of_motors(robot, stiffness, off, late):
    elastic = with_example_actuators(robot, 'sea', stiffness)
    assert found(elastic, *recorded(robot, stiffness, off=off, late=late)) is None
