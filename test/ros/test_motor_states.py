"""Full-state feedback by a live node, and what a wrong setting of it says."""
from dataclasses import replace

from live_motions import NOW, start_with_motors
from live_node import to_stamp
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

import hodyn_ros as hd
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.moving_base import feedforward_of
from hodyn_ros.ros.parameters import Parameters
from hodyn_ros.ros.robot_and_settings import supervisor_settings
from hodyn_ros.simulation.examples import with_example_actuators

PERIOD, FADE = 0.004, 0.2
STIFFNESS, INERTIA, POLES, BOUND = 1000.0, 0.5, 20.0, 5.0
LOOP = 500.0, 20.0


def parameters(**changes):
    return Parameters(**{'flatness_poles': 20.0, 'max_motor_feedback': (5.0,), **changes})


def test_settings_are_those_of_each_motor():
    robot = with_example_actuators(hd.load_robot('twolink'), 'vsa')
    found = supervisor_settings(robot, parameters(
        motor_loop_stiffness=(100.0,), motor_loop_damping=(1.0, 2.0, 3.0, 4.0),
    )).controller.motor_feedback
    assert found.poles == 20.0
    assert found.bound.tolist() == [5.0] * 4
    assert found.loop.tolist() == [[100.0] * 4, [1.0, 2.0, 3.0, 4.0]]
    assert supervisor_settings(robot, Parameters()).controller.motor_feedback is None


@pytest.mark.parametrize(('changes', 'words'), [
    ({'max_motor_feedback': (0.0,)}, 'max_motor_feedback is .*; with flatness_poles its numbers'),
    ({'max_motor_feedback': (1.0, 0.0)}, 'max_motor_feedback is .*; with flatness_poles its'),
    ({'max_motor_feedback': (1.0, 2.0, 3.0)}, 'max_motor_feedback has 3 values for 2 motors'),
    ({'motor_loop_damping': (1.0,) * 3}, 'motor_loop_damping has 3 values for 2 motors')])
def test_wrong_settings_are_one_line(changes, words):
    robot = with_example_actuators(hd.load_robot('twolink'), 'sea')
    with pytest.raises(hd.HodynError, match=f'^parameter {words}'):
        supervisor_settings(robot, parameters(**changes))


def test_robots_without_such_feedback_are_refused_in_one_line(tmp_path):
    rigid = with_example_actuators(hd.load_robot('twolink'), 'rigid')
    damped = replace(rigid, actuators=Actuators(rigid.joint_names, (
        JointActuator(LinearSpring(900.0, damping=2.0), Motor(0.2)),) * 2))
    ship = replace(rigid, bodies=(
        replace(rigid.bodies[0], type='floating'), *rigid.bodies[1:]), actuators=None)
    assert feedforward_of(ship).is_floating
    for robot, words in (
            (rigid, 'has no spring'), (damped, 'has a damper'), (ship, 'its base floats'),
            (hd.load_robot('twolink'), 'actuators')):
        with pytest.raises(hd.HodynError, match=words) as caught:
            supervisor_settings(robot, parameters())
        assert '\n' not in str(caught.value)


class Driver:
    """Sends states of links and motors, whose motors are beside their reference."""

    def __init__(self, node, home):
        self.node, self.home, self.t = node, home, NOW
        self.publisher = node.publisher(JointState, '/feedforward/motor_states')
        self.offset = np.zeros(7)
        self.sent = np.zeros(7)

    def send(self, cycles=1, **fields):
        for _ in range(cycles):
            self.t = round(self.t + PERIOD, 6)
            reference = self.node.messages['motor_reference'][-1]
            self.sent = np.array(reference.position) + self.offset
            message = JointState(**{
                'name': self.node.joints[::-1], 'position': self.sent[::-1],
                'velocity': np.zeros(7), **fields})
            if 'header' not in fields:
                message.header.stamp = to_stamp(self.t)
            self.publisher.publish(message)
            self.be_silent()

    def be_silent(self, cycles=0):
        """Send a state of the links, after so many more of them."""
        for k in range(cycles + 1):
            self.t = round(self.t + PERIOD * (k > 0), 6)
            assert self.node.answer(self.t, self.home, velocity=[0.0] * 7) is not None

    @property
    def correction(self):
        return np.array(self.node.messages['motor_feedback'][-1].effort)


@pytest.mark.live
def test_a_live_node_corrects_within_its_bound_and_fades_out(live, home):
    node = start_with_motors(
        live, f'spring_stiffness:={[STIFFNESS] * 7}', f'motor_inertia:={[INERTIA] * 7}',
        f'fade:={FADE}', f'flatness_poles:={POLES}', f'max_motor_feedback:={[BOUND]}',
        f'motor_loop_stiffness:={[LOOP[0]]}', f'motor_loop_damping:={[LOOP[1]]}')
    node.expect('motor_feedback')
    node.first_answer(NOW, home, velocity=[0.0] * 7)
    driver = Driver(node, home)
    driver.be_silent(60)
    assert not driver.correction.any()
    assert node.reason == 'no motor feedback: no motor states'
    driver.offset[0] = 1e-4
    driver.send(200)
    robot = hd.load_robot('panda')
    robot = replace(robot, actuators=Actuators(robot.joint_names, (
        JointActuator(LinearSpring(STIFFNESS), Motor(INERTIA)),) * 7))
    still = np.zeros((5, 7))
    still[0] = home
    of_motors = FeedForward(robot).motor_side.evaluate(still, FeedForward(robot).torque(still))
    torque = hd.FlatnessFeedback(robot, POLES, POLES).motor_torque(
        still, still[:2].copy(), np.array([of_motors[0] + driver.offset, np.zeros(7)]))
    expected = torque - of_motors[3] + LOOP[0] * driver.offset
    assert 0.05 < np.abs(expected).max() < BOUND
    np.testing.assert_allclose(driver.correction, expected, rtol=1e-6, atol=1e-6)
    assert list(node.messages['motor_feedback'][-1].name) == node.joints
    driver.offset[0] = 0.05
    driver.send(100)
    assert np.abs(driver.correction).max() == BOUND
    assert 'is at its bound' in node.reason
    for fields, words in (
            ({'position': [float('nan')] * 7}, 'position of joint'),
            ({'name': node.joints[:6], 'position': [0.0] * 6, 'velocity': [0.0] * 6},
             "joint 'fer_joint7' of robot 'panda' missing"),
            ({'header': Header()}, 'it has no stamp'), ({'velocity': []}, 'it has no velocity')):
        driver.send(10, **fields)
        assert f'motor_states rejected: {words}' in node.log
    driver.be_silent(200)
    assert not driver.correction.any()
    assert 'no motor feedback: motor states are rejected: it has no velocity' in node.reason
    driver.send(200)
    assert np.abs(driver.correction).max() == BOUND
    assert node.end() == 0
    assert not driver.correction.any()
    found = np.array([message.effort for message in node.messages['motor_feedback']])
    assert np.abs(found).max() <= BOUND
    assert 'Traceback' not in node.log


@pytest.mark.live
def test_a_live_node_without_the_mode_publishes_no_correction_and_says_so(live, home):
    node = start_with_motors(
        live, f'spring_stiffness:={[STIFFNESS] * 7}', f'motor_inertia:={[INERTIA] * 7}')
    found = node.subscribe(JointState, '/feedforward/motor_feedback')
    node.first_answer(NOW, home, velocity=[0.0] * 7)
    driver = Driver(node, home)
    driver.send(20)
    assert found == []
    assert node.log.count('motor_states are not used: flatness_poles is 0') == 1
