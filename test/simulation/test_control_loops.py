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
from hodyn_ros.simulation.control_loops import HALF_HOLD, make_control_loop
from hodyn_ros.simulation.example_motion import home

PERIOD = 1e-3


@pytest.fixture(scope='module')
def panda():
    return hd.load_robot('panda')


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
        topic: np.array([position, 0 * position, torque[k]])
        for k, topic in enumerate(('torque', 'torque_rate', 'torque_accel'))}
    fields['motor_reference'] = np.array([
        position + torque[0] / 5000.0, 0 * position, torque[0]])
    return {topic: fields[topic] for topic in loop.topics}


def test_brakes_hold_until_the_first_answer(panda, elastic_panda):
    for robot in (panda, elastic_panda):
        loop = make_control_loop(robot, home(robot), 'full', PERIOD)
        loop.step(PERIOD)
        np.testing.assert_array_equal(loop.q, home(robot))


@pytest.mark.parametrize('method', ['rigid', 'torque', 'torque_rate', 'full'])
def test_an_arm_stays_where_the_answers_hold_it(panda, elastic_panda, method):
    for robot in (panda, elastic_panda):
        loop = make_control_loop(robot, home(robot), method, PERIOD)
        loop.command(answer(loop, robot, home(robot)))
        for _ in range(50):
            loop.step(PERIOD)
        # The less complete methods leave the deflection of the springs.
        np.testing.assert_allclose(
            loop.q, home(robot), atol=1e-3 if method == 'full' else 5e-2)


def test_looking_ahead_to_the_middle_of_the_hold_tracks_better(panda):
    """A fast motion, answered within each period: a held torque is half a period late."""
    plan = fit_plan([0.0, 0.8], [home(panda), home(panda) + 0.4])
    feedforward = FeedForward(panda)
    errors = {}
    for lookahead in (0.0, HALF_HOLD * PERIOD):
        loop = make_control_loop(panda, home(panda), 'full', PERIOD)
        squares = []
        for now in np.arange(0.0, plan.duration, PERIOD):
            measured, answered = plan.evaluate(np.array([now, now + lookahead]))
            squares.append((loop.q - measured[0])**2)
            torque = feedforward.torque(answered[None])[0, 0]
            loop.command({'torque': np.array([*answered[:2], torque])})
            loop.step(PERIOD)
        errors[lookahead] = np.sqrt(np.mean(squares))
    assert errors[HALF_HOLD * PERIOD] < 0.3 * errors[0.0]


def test_an_unknown_method_is_refused(elastic_panda):
    with pytest.raises(ValueError, match='expected one of'):
        make_control_loop(elastic_panda, home(elastic_panda), 'none', PERIOD)
