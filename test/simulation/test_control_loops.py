"""Simulated arms under the controllers that the feed-forward node drives."""
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('mujoco', reason='mujoco is not installed')

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import fit_plan
from hodyn_ros.simulation.control_loops import HALF_HOLD, AnswerLine, make_control_loop
from hodyn_ros.simulation.example_motion import home

PERIOD = 1e-3


@pytest.fixture(scope='module')
def elastic_panda(panda):
    joint = JointActuator(LinearSpring(5000.0), Motor(0.5))
    return replace(panda, actuators=Actuators(panda.joint_names, (joint,) * panda.n))


def answer(loop, robot, position):
    still = np.zeros((5, robot.n))
    still[0] = position
    torque = np.zeros((3, robot.n))
    hd.InverseDynamics(robot, order=2)(still, torque)
    fields = {
        'torque': np.array([position, 0 * position, torque[0]]),
        'motor_reference': np.array([position + torque[0] / 5000.0, 0 * position, torque[0]])}
    return {topic: fields[topic] for topic in loop.topics}


def test_brakes_hold_until_the_first_answer(panda, elastic_panda):
    for robot in (panda, elastic_panda):
        loop = make_control_loop(robot, home(robot), PERIOD)
        loop.step(0.0, PERIOD)
        np.testing.assert_array_equal(loop.q, home(robot))
        # Efforts of 0 before the arm moves would ruin the recording's table.
        held = hd.inverse_dynamics(robot, np.array([loop.q, 0 * loop.q, 0 * loop.q]))[0]
        np.testing.assert_allclose(loop.effort, held, atol=1e-6)


def test_an_arm_stays_where_the_answers_hold_it(panda, elastic_panda):
    for robot in (panda, elastic_panda):
        loop = make_control_loop(robot, home(robot), PERIOD)
        loop.command(answer(loop, robot, home(robot)), 0.0)
        for k in range(50):
            loop.step(k * PERIOD, PERIOD)
        np.testing.assert_allclose(loop.q, home(robot), atol=1e-3)


def tracking_error(robot, duration, ahead=HALF_HOLD, late=0.0, uneven=0.0, lost=0.0):
    """Return the RMS error, rad, of a motion of 0.4 rad under the exact torque.

    Answers tell what belongs `ahead` periods after their state. A share of them comes a period
    late, another never; periods are longer by up to a share.
    """
    plan = fit_plan([0.0, duration], [home(robot), home(robot) + 0.4])
    feedforward = FeedForward(robot)
    loop = make_control_loop(robot, home(robot), PERIOD)
    random = np.random.default_rng(0)
    squares, now, before = [], 0.0, None
    while now < plan.duration:
        measured, answered = plan.evaluate(np.array([now, now + ahead * PERIOD]))
        squares.append((loop.q - measured[0])**2)
        torque = feedforward.torque(answered[None])[0, 0]
        told = {'torque': np.array([*answered[:2], torque])}, now
        if before is None or random.random() >= late + lost:
            loop.command(*told)
        elif random.random() * (late + lost) < late:
            loop.command(*before)
        before = told
        dt = PERIOD * (1.0 + uneven * random.random())
        loop.step(now, dt)
        now += dt
    return np.sqrt(np.mean(squares))


def test_looking_ahead_to_the_middle_of_the_period_tracks_better(panda):
    """A fast motion: a torque that belongs to its state is half a period late."""
    assert tracking_error(panda, 0.8) < 0.01 * tracking_error(panda, 0.8, ahead=0.0)


@pytest.mark.parametrize('duration', [6.0, 1.0])
def test_the_exact_torque_of_the_middle_leaves_an_error_of_second_order(panda, duration):
    """Friction simulated half a step late left 1e-5 rad of a slow motion, 5e-5 of a fast one."""
    assert panda.friction is not None
    assert tracking_error(panda, duration) < 2e-6


@pytest.mark.parametrize('disturbance', [{'late': 0.3}, {'lost': 0.05}, {'uneven': 0.5}])
def test_late_and_lost_answers_and_uneven_periods_are_bridged(panda, disturbance):
    """A held answer that came late, one in three, left 2e-4 rad."""
    assert tracking_error(panda, 1.0, **disturbance) < 5e-6


def test_a_line_through_answers_ends_and_never_turns_back():
    """A node that died, and answers that overtook each other."""
    line = AnswerLine(longest=3.0)
    assert line.at(0.0) is None
    line.add(0.0, np.array([1.0]))
    assert line.at(5.0) == 1.0
    line.add(1.0, np.array([2.0]))
    line.add(0.5, np.array([90.0]))
    assert [line.at(instant).item() for instant in (0.5, 1.5, 4.0, 9.0)] == [1.5, 2.5, 5.0, 5.0]
