"""Processes around a live node that die by SIGKILL in mid-motion, and come back."""
import json
import os
import signal
import subprocess
import sys
import time

from live_motions import NOW, assert_no_step, in_motion, move, start_with_motors, table, weight
import numpy as np
from processes import assert_end, children, is_alive, kill, shared_memory, unused
import pytest
from scipy.optimize import brentq

from hodyn_ros.reference import fit_plan

pytestmark = pytest.mark.live

LEASE = 10.0  # of the profile in conftest.py
PATIENCE = 60.0
TALKER = """
import json
import math
import os
import sys
import time

import rclpy
from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState

topic, joints, position, swing, parent = json.loads(sys.argv[1])
rclpy.init()
node = Node('talker')
publisher = node.create_publisher(JointState, topic, QoSProfile(depth=1))
begin = due = time.monotonic()
while os.getppid() == parent:
    moved = swing * math.sin(due - begin)
    message = JointState(name=joints, position=[x + moved for x in position])
    message.header.stamp = node.get_clock().now().to_msg()
    publisher.publish(message)
    due = max(due + 0.005, time.monotonic())
    time.sleep(max(due - time.monotonic(), 0.0))
"""


class Talker:
    """A process that publishes joint states at 200 Hz, at a position or swinging about it."""

    def __init__(self, topic: str, joints, position, swing: float = 0.0) -> None:
        what = topic, joints, [float(x) for x in position], swing, os.getpid()
        self._process = subprocess.Popen([sys.executable, '-c', TALKER, json.dumps(what)])

    def kill(self) -> None:
        """End it by SIGKILL."""
        kill(self._process)


@pytest.fixture
def talker():
    """Return a function that starts such a process; all end with the test."""
    started = []

    def start(*arguments, **options) -> Talker:
        started.append(Talker(*arguments, **options))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def moved_by(node, home) -> float:
    return float(np.abs(np.subtract(node.messages['torque'][-1].position, home)).max())


def assert_stands_still_through_silence(node, home, goal, seconds: float, silence: float) -> None:
    """After a silence the reference continues from where it was on its plan."""
    start = np.zeros((5, 7))
    start[0] = home
    plan = fit_plan([seconds], [goal], start=start)
    stamps, values = table(node, 'torque')
    gap = int(np.diff(stamps).argmax())
    assert stamps[gap + 1] - stamps[gap] > 0.9 * silence
    before, after = (
        brentq(lambda t, k=k: plan.evaluate(t)[0, 0] - values[k, 0, 0], 0.0, seconds, xtol=1e-12)
        for k in (gap, gap + 1))
    assert 0.0 < after - before < 0.05
    np.testing.assert_allclose(values[gap + 1, 1], plan.evaluate(after)[1], rtol=1e-2)


def test_a_driver_killed_in_a_motion_has_it_stopped_and_comes_back(
        live, home, talker, gentle_panda):
    node = live(f'robot:={gentle_panda}', 'state_timeout:=1.0')
    driver = talker('/joint_states', node.joints, home)
    assert node.spin_until(lambda: 'holding' in node.states, PATIENCE), node.log
    goal = move(node, home, 0.8, 6.0)
    assert node.spin_until(
        lambda: bool(node.messages['torque']) and moved_by(node, home) > 0.1, PATIENCE), node.log
    driver.kill()
    assert node.spin_until(lambda: node.states[-1] == 'fault', PATIENCE), node.log
    assert node.states[-3:] == ['following', 'stopping', 'fault']
    assert node.reason == 'joint states are lost'
    assert 'no joint state for' in node.log
    count = node.settle()
    node.spin(0.2)
    assert len(node.messages['torque']) == count
    held = table(node, 'torque')[1][-1]
    assert (held[0] > np.array(home) + 0.05).all()
    assert (held[0] < np.array(goal) - 0.05).all()
    assert not held[1].any()
    np.testing.assert_allclose(held[2], weight(held[0]), atol=1e-9)
    assert_stands_still_through_silence(node, home, goal, 6.0, 1.0)
    move(node, home)
    node.wait_log('joint_trajectory rejected: joint states are lost', 10.0)
    talker('/joint_states', node.joints, home)
    # Nothing of the old plan is resumed; the arm is held where it was stopped.
    assert node.spin_until(
        lambda: node.states[-1] == 'holding' and len(node.messages['torque']) > count + 100,
        PATIENCE), node.log
    assert 'joint states are back' in node.log
    for message in node.messages['torque'][count:]:
        np.testing.assert_array_equal(message.position, held[0])
    move(node, home, 0.4, 2.0)
    assert node.spin_until(lambda: 'following' in node.states[-2:], PATIENCE), node.log
    assert node.spin_until(lambda: node.states[-1] == 'holding', PATIENCE), node.log
    np.testing.assert_allclose(
        node.messages['torque'][-1].position, [x + 0.4 for x in home], atol=1e-12)
    assert_no_step(node)


def test_a_driver_that_is_restarted_elsewhere_is_not_pulled_to_where_its_motors_were(
        live, home, talker):
    """Its motor loop follows what is published, from where its arm now is."""
    inertia, springs, away = [0.5] * 7, [3000.0] * 7, 0.6
    node = start_with_motors(
        live, f'motor_inertia:={inertia}', f'spring_stiffness:={springs}', 'state_timeout:=0.3',
        'tracking_tolerance:=[0.0]', own=True)
    driver = talker('/joint_states', node.joints, home)
    assert node.spin_until(lambda: bool(node.messages['motor_reference']), PATIENCE), node.log
    driver.kill()
    assert node.spin_until(lambda: node.states[-1] == 'fault', PATIENCE), node.log
    count = node.settle()
    node.spin(1.5)  # as a driver takes to start
    there = [x + away for x in home]
    talker('/joint_states', node.joints, there)
    assert node.spin_until(
        lambda: len(node.messages['torque']) > count + 300, PATIENCE), node.log
    assert 'the arm is held where it is' in node.log
    both = [
        (torque, node.answers['motor_reference'][stamp])
        for stamp, torque in list(node.answers['torque'].items())[count:]
        if stamp in node.answers['motor_reference']]
    assert len(both) > 200
    for torque, motors in both:
        np.testing.assert_allclose(
            motors.position, there + np.array(torque.effort) / springs, atol=1e-9)
    rates = np.abs([motors.velocity for _, motors in both])
    assert rates[0].max() < 0.05
    assert rates[-1].max() < 1e-3
    assert_no_step(node, since=count)


def test_a_stream_whose_process_is_killed_ends_at_its_last_sample(
        live, home, talker, gentle_panda):
    node = live(f'robot:={gentle_panda}', 'stream_timeout:=0.5', 'stream_bandwidth:=10.0')
    node.let_stream()
    node.drive(PATIENCE, home, until=lambda: 'holding' in node.states)
    stream = talker('/feedforward/reference', node.joints, home, swing=0.3)
    node.drive(PATIENCE, home, until=lambda: moved_by(node, home) > 0.05)
    assert node.states[-1] == 'streaming'
    stream.kill()
    killed = time.monotonic()
    node.drive(PATIENCE, home, until=lambda: node.states[-1] == 'holding')
    assert 'stopping' not in node.states
    assert 'the streamed reference fell silent: it ' in node.log
    node.settle()
    held = table(node, 'torque')[1][-1]
    assert not held[1].any()
    np.testing.assert_allclose(held[2], weight(held[0]), atol=1e-9)
    # The dead one counts as a publisher for as long as its lease runs.
    talker('/feedforward/reference', node.joints, home, swing=0.3)
    node.drive(LEASE + PATIENCE, home, until=lambda: node.states[-1] == 'streaming')
    waited = time.monotonic() - killed
    assert '2 nodes publish it' in node.log or waited > LEASE
    there = table(node, 'torque')[1][-1][0]
    node.drive(PATIENCE, home, until=lambda: moved_by(node, there) > 0.05)
    assert node.states[-1] == 'streaming'
    assert_no_step(node)


def test_a_dead_planning_process_costs_one_plan(live, home):
    node = live()
    node.first_answer(NOW, home)
    for pid in children(node.process.pid):
        os.kill(pid, signal.SIGKILL)
    move(node, home)
    t = node.send_states_until_log('prepares plans has died', NOW + 0.001, home)
    node.spin(0.2)
    move(node, home)
    node.send_states_until_log('trajectory accepted', t + 0.1, home)
    pid = node.process.pid
    helpers = children(pid)
    assert node.end() == 0
    assert helpers
    assert not any(map(is_alive, helpers))
    assert_no_step(node)


def test_a_plan_that_is_being_made_at_the_deactivation_delays_no_later_one(live, home):
    """The first plan with other parameters waited for it, for up to 300 s."""
    node = live('fade:=0.2')
    node.first_answer(NOW, home)
    [first] = children(node.process.pid)
    assert node.change('deactivate')
    assert children(node.process.pid) == [first]  # an idle one stays: another takes seconds
    assert node.change('activate')
    node.first_answer(NOW + 10.0, home)
    os.kill(first, signal.SIGSTOP)  # as if it computed for minutes
    move(node, home)
    for k in range(100):
        assert node.answer(NOW + 10.01 + 0.01 * k, home) is not None
    assert 'trajectory accepted' not in node.log
    assert node.change('deactivate')
    assert node.set(interpolation='local') == ''
    assert node.change('activate')
    assert not is_alive(first)
    node.first_answer(NOW + 20.0, home)
    move(node, home)
    node.send_states_until_log('trajectory accepted', NOW + 20.1, home)
    assert 'prepares plans has died' not in node.log
    assert node.log.count('rejected') == 1
    assert 'rejected: dropped while it was prepared: the node is deactivated' in node.log


def test_a_killed_node_is_silent_and_the_next_starts_where_the_arm_is(live, home):
    node = live(own=True)
    t = in_motion(node, home, seconds=2.0)
    helpers = children(node.process.pid)
    node.kill()
    count = node.settle()
    node.send_state(t + 0.1, home)
    for _ in range(50):
        node._executor.spin_once(timeout_sec=0.01)
    assert len(node.messages['torque']) == count
    assert_end(helpers, 20.0)
    again = live(own=True)
    there = [x + 0.1 for x in home]
    answers = again.first_answer(NOW + 5.0, there)
    np.testing.assert_array_equal(answers[0].position, there)
    assert not np.any(answers[0].velocity)
    files = shared_memory(again.process.pid)
    assert files
    assert again.close() == 0
    node.close()
    # What the killed one left is not the other's.
    assert not unused(files)
