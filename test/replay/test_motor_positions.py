"""Positions of motors are recognised in arms whose springs carry friction or not."""
from dataclasses import replace

import numpy as np
import pytest
from recordings import motion
from rough_recordings import ROBOTS, diagnosed

from hodyn_ros.estimation.low_pass import low_pass
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.simulation.examples import with_example_actuators

TIME = np.arange(0.0, 20.0, 0.01)
INSTANTS = np.round(1e9 * TIME).astype(np.int64)
OF_MOTORS = 'positions are those of the motors, not of the links behind the springs'


def recorded(robot, stiffness, *, off=0.0, late=0, of_motors=False, rubs=0.05):
    """Return motion and efforts of an arm whose links are off, with friction and noise."""
    rng = np.random.default_rng(3)
    links = replace(robot, friction=None, bodies=tuple(replace(
        body, mass=body.mass * (1.0 + off * rng.standard_normal())) for body in robot.bodies))
    q = motion(TIME, robot, 0.4)
    effort = FeedForward(links).torque(q)[:, 0]
    scale = np.sqrt(np.mean(effort ** 2, axis=0))
    effort += rubs * (scale.max() * np.tanh(q[:, 1] / 0.05) + scale * q[:, 1])
    rate = np.gradient(effort, TIME, axis=0)
    if of_motors:
        deflection = np.stack([effort, rate, np.gradient(rate, TIME, axis=0)], axis=1) / stiffness
        q[:, :3] += deflection
    effort = effort[np.maximum(np.arange(len(TIME)) - late, 0)]
    # Without friction, some wrists carry so little that they would measure but noise.
    noise = 0.003 if rubs else 1e-4
    return q, effort + noise * scale.max() * rng.standard_normal(effort.shape)


def found(robot, q, effort):
    """Return how well a recording fits, in which each sample is read twice."""
    slow = np.where(np.isnan(effort), np.nan, low_pass(TIME, effort, 12.0))
    every, first = np.arange(2 * len(TIME)) // 2, np.arange(2 * len(TIME)) % 2 == 0
    return diagnosed(
        q[every], effort[every], q[every, 1], robot, slow=np.stack([slow, slow], axis=1)[every],
        instants=INSTANTS[every], begins=np.isin(every, (0, 700)) & first).fit


def test_of_a_short_recording_nothing_is_claimed():
    """The ends of a filter were taken for degrees and swapped joints."""
    robot = with_example_actuators(ROBOTS[0], 'sea', 300.0)
    q, effort = recorded(robot, 300.0)
    some = slice(300, 400)
    fit = diagnosed(
        q[some], effort[some], q[some, 1], robot, instants=INSTANTS[some],
        begins=np.arange(100) == 0).fit
    assert np.isnan(fit.unexplained)
    assert fit.reading is None


def causes(robot, q, effort):
    reading = found(robot, q, effort).reading
    return [] if reading is None else reading.causes(robot.joint_names)


@pytest.mark.parametrize('robot', ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize(('stiffness', 'off', 'rubs'), [
    (100.0, 0.0, 0.05), (400.0, 0.02, 0.05), (200.0, 0.02, 0.0)])
def test_positions_of_motors_are_recognised(robot, stiffness, off, rubs):
    elastic = with_example_actuators(robot, 'sea', stiffness)
    q, effort = recorded(robot, stiffness, off=off, of_motors=True, rubs=rubs)
    fit = found(elastic, q, effort)
    assert fit.reading.causes(robot.joint_names) == [OF_MOTORS]
    assert fit.left < 0.4 * fit.unexplained


def test_positions_of_motors_are_recognised_with_springs_only_and_though_efforts_are_cut():
    q, effort = recorded(ROBOTS[0], 200.0, of_motors=True)
    assert OF_MOTORS not in causes(ROBOTS[0], q, effort)
    effort[600:650, 1] = np.nan  # as if they were cut
    assert causes(with_example_actuators(ROBOTS[0], 'sea', 200.0), q, effort) == [OF_MOTORS]


def mistaken(robot, q, effort, fault):
    """Return a recording with another mistake, and its clause."""
    q, effort = q.copy(), effort.copy()
    first, second, third = robot.joint_names[1:4]
    if fault == 'joints':
        q[:, :, [1, 2]] = q[:, :, [2, 1]]
    if fault in ('joints', 'efforts'):
        effort[:, [1, 2]] = effort[:, [2, 1]]
        return q, effort, f'the {fault} of {first} and {second} are swapped'.replace(
            'joints of', 'joints')
    if fault == 'sign':
        effort[:, 3] *= -1.0
        return q, effort, f'{third} has efforts of the opposite sign'
    if fault == 'zero':
        q[:, 0, 1] -= 0.5 * np.pi
        return q, effort, f'positions of {first} are 0.5 π rad too small'
    return np.degrees(q), effort, 'positions and velocities are in degrees'


@pytest.mark.parametrize(
    ('robot', 'rubs'), [
        pytest.param(ROBOTS[0], 0.0, marks=pytest.mark.siege), (ROBOTS[2], 0.05)],
    ids=('smooth', 'rubbing'))
@pytest.mark.parametrize('fault', ['joints', 'efforts', 'sign', 'zero', 'degrees'])
def test_positions_of_motors_are_recognised_beside_another_mistake(robot, rubs, fault):
    q, effort = recorded(robot, 200.0, off=0.02, of_motors=True, rubs=rubs)
    q, effort, said = mistaken(robot, q, effort, fault)
    elastic = with_example_actuators(robot, 'sea', 200.0)
    assert sorted(causes(elastic, q, effort)) == sorted([said, OF_MOTORS])


@pytest.mark.parametrize('robot', ROBOTS, ids=lambda robot: robot.name)
@pytest.mark.parametrize('stiffness', [200.0, 800.0, 3000.0])
@pytest.mark.parametrize(('off', 'late'), [(0.0, 0), (0.05, 0), (0.3, 0), (0.0, 2), (0.0, 6)])
def test_positions_of_links_are_none_of_motors(robot, stiffness, off, late):
    elastic = with_example_actuators(robot, 'sea', stiffness)
    assert causes(elastic, *recorded(robot, stiffness, off=off, late=late)) == []
