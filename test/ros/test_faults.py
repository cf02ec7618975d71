"""Faults, injected into a live node from another process."""
import re
import signal
import sys
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
from live_motions import NOW, assert_no_step, in_motion, move, table, weight
from node_process import arguments
import numpy as np
import pytest
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

import hodyn_ros as hd
from hodyn_ros.feedforward import FeedForward

pytestmark = pytest.mark.live

# The measured position of joint 7 tells what a cycle comes to.
FAILING = """
import sys

import numpy as np

from hodyn_ros.feedforward.controller import FeedforwardController
from hodyn_ros.ros.feedforward_node import main

evaluate = FeedforwardController.evaluate


def evaluate_or_fail(self, now, measured=None):
    evaluate(self, now, measured)
    if measured is not None and measured[0, 6] == 0.8:
        self.output[0, 3] = np.nan
    if measured is not None and measured[0, 6] == 0.75:
        raise RuntimeError('in evaluate')


FeedforwardController.evaluate = evaluate_or_fail
sys.exit(main(['node', *sys.argv[1:]]))
"""


def test_states_that_come_late_and_older_than_the_stop_make_no_step(live, home, gentle_panda):
    node = live(f'robot:={gentle_panda}', 'state_timeout:=0.3')
    t = in_motion(node, home, seconds=2.0)
    assert node.spin_until(lambda: 'stopping' in node.states, 10.0)
    # The stamps stood still while the node waited.
    node.first_answer(t + 0.005, home, step=0.005)
    for k in range(20, 60):
        assert node.answer(t + 0.005 * k, home) is not None
    assert_no_step(node)


@pytest.mark.parametrize('jump', [-0.6025, 0.3, 300.0])
def test_after_a_clock_was_set_the_reference_goes_on_from_where_it_was(live, home, jump):
    node = live()
    goal = [x + 0.2 for x in home]
    t = in_motion(node, home, seconds=2.0) + jump
    assert (node.answer(t - 0.005, home, 0.3) is None) == (jump < 0.0)  # it may be late
    for k in range(400):
        assert node.answer(t + 0.005 * k, home) is not None
    said = 'was set back by' if jump < 0.0 else 'are missing between cycles'
    assert any(said in reason for reason in node.reasons)
    assert said in node.log
    assert 'stopping' not in node.states
    assert node.states[-1] == 'holding'
    np.testing.assert_allclose(table(node, 'torque')[1][-1][0], goal, atol=1e-12)
    assert_no_step(node, jump=0.5)


def test_sigterm_in_a_motion_stops_it_fades_out_and_says_so(live, home):
    node = live('gravity_in_output:=false', 'fade:=0.3')
    t = in_motion(node, home, seconds=2.0)
    assert node.answer(t + 0.2, home) is not None
    assert node.end(signal.SIGTERM) == 0
    assert node.states[-3:] == ['stopping', 'fading', 'inactive']
    stamps, values = table(node, 'torque')
    assert not values[-1][1].any()
    np.testing.assert_allclose(values[-1][2], np.zeros(7), atol=1e-9)
    fading = values[stamps > stamps[-1] - 0.25, 2]
    assert len(fading) > 5  # of some 250: a busy machine loses many
    assert_no_step(node)


def test_the_life_cycle_leaves_nothing_undone_and_nothing_over(live, home):
    node = live('fade:=0.2')
    t = in_motion(node, home, seconds=2.0)
    move(node, home, 0.3, start=t + 1.0)
    assert node.change('deactivate')
    assert node.spin_until(lambda: node.states[-1] == 'inactive', 5.0)
    count = node.settle()
    node.send_state(t + 1.0, home)
    node.spin(0.3)
    assert len(node.messages['torque']) == count
    assert 'expected one of' in node.set(trigger='clock')
    # Nothing of the motion before is left: the position is latched anew.
    assert node.change('activate')
    there = [x - 0.3 for x in home]
    node.first_answer(t + 1.9, there)
    for k in range(20):
        answers = node.answer(t + 2.0 + 0.1 * k, there)
        assert answers is not None
        np.testing.assert_array_equal(answers[0].position, there)
    assert node.change('deactivate')
    assert node.set(robot='twolink', spring_stiffness=[1.0]) == ''
    for _ in range(2):
        # Nor does it fall back on the robot before when it is tried again.
        assert not node.change('activate')
    assert 'parameter spring_stiffness has 1 values for 2 joints' in node.log
    assert node.change('cleanup')
    assert not node.change('configure')
    assert node.set(spring_stiffness=[1.0, 0.0], motor_inertia=[1.0, 1.0]) == ''
    assert not node.change('configure')
    assert "parameter spring_stiffness: 0 for 'joint2': all joints get a spring" in node.log
    assert node.set(robot='panda', spring_stiffness=[0.0], trigger='timer', rate=100.0) == ''
    assert not node.change('configure')
    assert 'parameter motor_inertia needs spring_stiffness' in node.log
    assert node.set(motor_inertia=[0.0]) == ''
    assert node.change('configure')
    assert node.change('activate')
    end = time.monotonic() + 20.0
    count = len(node.messages['torque'])
    while len(node.messages['torque']) < count + 50 and time.monotonic() < end:
        node.send_state(t + 50.0, home)
        node.spin(0.05)
    stamps, values = table(node, 'torque')
    np.testing.assert_allclose(values[-1][2], weight(home), atol=1e-9)
    assert len(set(stamps[count:])) > 20
    assert 'Traceback' not in node.log


def test_a_plan_beyond_limits_is_refused_with_the_way_out_or_stretched(live, home):
    node = live()
    node.first_answer(NOW, home)
    move(node, home, 0.6, 0.2)
    t = node.send_states_until_log('joint_trajectory rejected', NOW + 0.001, home)
    assert 'times slower it is within all limits' in node.log
    assert node.change('deactivate')
    assert node.set(stretch='auto') == ''
    assert node.change('activate')
    node.first_answer(t + 1.0, home)
    move(node, home, 0.6, 0.2)
    t = node.send_states_until_log('times slower', t + 1.001, home)
    node.send_states_until_log('trajectory accepted', t + 0.1, home)
    assert 'made ' in node.log


def test_plans_replaced_in_mid_motion_leave_no_step(live, home):
    node = live()
    t = in_motion(node, home, seconds=2.0)
    rng = np.random.default_rng(6)
    replacements = 100
    answered = 'trajectory accepted', 'joint_trajectory rejected'
    for k in range(replacements):
        move(node, home, float(rng.uniform(-0.3, 0.3)), float(rng.uniform(1.5, 3.0)))
        end = time.monotonic() + 30.0
        # A plan that is dropped before its start was accepted before: that line is no answer.
        while sum(map(node.log.count, answered)) - node.log.count('plan is dropped') < k + 2:
            assert time.monotonic() < end, node.log
            t += 0.004
            assert node.answer(t, home) is not None
        for _ in range(int(rng.integers(3, 30))):
            t += 0.004
            assert node.answer(t, home) is not None
    accepted = node.log.count('trajectory accepted')
    assert accepted >= 0.9 * replacements, node.log
    assert_no_step(node)


def test_payload_wrench_and_parameters_at_run_time(live, home):
    node = live('fade:=0.3')
    node.first_answer(NOW, home)
    t = NOW
    # A batch with one wrong value changes nothing.
    for batch, reason in (
            ({'payload_link': 'link7', 'payload_mass': 2.0, 'payload_com': [0.0, 0.0]},
             'expected 3'),
            ({'payload_link': 'nothing', 'payload_mass': 2.0}, "no link 'nothing'"),
            ({'payload_mass': -1.0}, 'payload_mass'),
            ({'payload_link': 'link7', 'payload_mass': 120.0}, 'beyond its effort limit of'),
            ({'payload_mass': 'two'}, 'payload_mass'),
            ({'payload_link': 'link7', 'payload_com': [float('nan'), 0.0, 0.0]}, 'finite'),
            ({'payload_mass': 2.0, 'fade': 1.0}, 'fade: cannot change while active')):
        assert reason in node.set(**batch), batch
    t += 0.1
    answers = node.answer(t, home)
    np.testing.assert_allclose(answers[0].effort, weight(home), atol=1e-9)
    robot = hd.load_robot('panda')
    link = robot.bodies[-1].name
    # Three changes, each while the one before is still being faded in.
    changes = (
        {'payload_link': link, 'payload_mass': 3.0}, {'payload_com': [0.1, 0.0, 0.2]},
        {'payload_mass': 1.5})
    for change in changes:
        assert node.set(**change) == ''
        for _ in range(15):
            t += 0.004
            assert node.answer(t, home) is not None
    for _ in range(260):
        t += 0.004
        assert node.answer(t, home) is not None
    still = np.zeros((5, 7))
    still[0] = home
    loaded = robot.with_payload(link, 1.5, [0.1, 0.0, 0.2])
    base = FeedForward(loaded).torque(still)[0]
    np.testing.assert_allclose(node.messages['torque'][-1].effort, base, atol=1e-9)
    publisher = node.publisher(WrenchStamped, '/feedforward/external_wrench')

    def push(frame, force, seconds):
        nonlocal t
        message = WrenchStamped()
        message.header.frame_id = frame
        message.wrench.force.z = force
        for _ in range(round(seconds / 0.004)):
            t += 0.004
            publisher.publish(message)
            assert node.answer(t, home) is not None

    push(link, 10.0, 0.8)
    pushed = np.array(node.messages['torque'][-1].effort)
    assert np.abs(pushed - base).max() > 1.0
    push(robot.bodies[-3].name, -10.0, 0.1)
    push('nothing', 1.0, 0.01)
    node.wait_log("no link 'nothing'")
    push(link, float('nan'), 0.01)
    node.wait_log('external_wrench rejected: a component')
    for name in (link, robot.bodies[-3].name):
        node.wait_log(f'external_wrench on {name} fell silent')
    for _ in range(300):
        t += 0.004
        assert node.answer(t, home) is not None
    np.testing.assert_allclose(node.messages['torque'][-1].effort, base, atol=1e-4)
    assert_no_step(node)


def test_annotated_plans_commands_in_a_controllers_order_and_honest_flags(live, home):
    order = [f'fer_joint{i}' for i in (7, 6, 5, 4, 3, 2, 1)]
    node = live(
        'publish_commands:=true', f'command_joints:=[{", ".join(order)}]', 'limit_output:=true',
        'evaluate_at:=measurement')
    commands = node.subscribe(Float64MultiArray, '/feedforward/commands')
    annotated = node.subscribe(JointTrajectory, '/feedforward/annotated_trajectory')
    rest = {'velocity': [0.0] * 7}
    node.first_answer(NOW, home, **rest)
    assert node.spin_until(lambda: bool(commands), 5.0)
    np.testing.assert_array_equal(commands[-1].data, node.messages['torque'][-1].effort[::-1])
    elsewhere = [x + 0.04 for x in home]  # 0.05 with velocities of 0 are none
    assert node.answer(NOW + 0.4, home, **rest) is not None
    for t in np.arange(NOW + 0.8, NOW + 2.3, 0.01).round(6):
        assert node.answer(t, elsewhere, **rest) is not None
    np.testing.assert_allclose(
        node.messages['torque'][-1].effort, weight(elsewhere), atol=1e-7)
    np.testing.assert_array_equal(node.messages['torque'][-1].position, home)
    goal = move(node, home)
    t = node.send_states_until_log('trajectory accepted', t + 0.001, elsewhere, **rest)
    assert node.spin_until(lambda: bool(annotated), 10.0)
    points = annotated[0].points
    np.testing.assert_allclose(points[-1].positions, goal, atol=1e-12)
    np.testing.assert_allclose(points[-1].effort, weight(goal), atol=1e-9)
    # One measurement that leaps is left out; the torque goes on as it was, with its rates.
    before = node.messages['torque'][-1].effort
    assert node.answer(t + 0.001, [x + 0.8 for x in home], **rest) is not None
    assert np.abs(np.subtract(node.messages['torque'][-1].effort, before)).max() < 0.1
    node.wait_log('contradicts the state before: this state is left out')


def test_states_that_come_late_are_told(live, home):
    node = live()
    reports = node.subscribe(DiagnosticArray, '/diagnostics')
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    node.drive(0.5, home)
    node.spin(0.3)
    node.drive(5.0, home, until=lambda: any(
        value.key == 'gaps' and int(value.value) for report in reports
        for value in report.status[0].values))
    assert re.search(r'WARN.*: no joint state for 0\.\d{3} s, \d+ periods', node.log), node.log
    assert 'stopping' not in node.states


def test_a_non_finite_torque_is_kept_back_and_an_error_ends_nothing(
        live, home):
    node = live(command=[sys.executable, '-c', FAILING, *arguments()])
    reports = node.subscribe(DiagnosticArray, '/diagnostics')
    node.first_answer(NOW, home)
    t = NOW
    for seventh, why in ((0.8, 'the torque is not finite'), (0.75, 'a cycle failed: see the log')):
        count = node.settle()
        node.send_state(t + 0.1, [*home[:6], seventh])
        assert node.spin_until(lambda: node.states[-1] == 'fault', 10.0), node.log
        assert why in node.reasons[-1]
        assert node.settle() == count
        t += 0.2
        assert node.answer(t, home) is not None
        assert node.spin_until(lambda: node.states[-1] == 'holding', 10.0), node.log
    assert 'RuntimeError: in evaluate' in node.log
    assert node.log.count('Traceback') == 1
    assert node.spin_until(lambda: any(
        (value.key, value.value) == ('rejected on_state', '1') for report in reports
        for value in report.status[0].values), 10.0)
    values = np.array([message.effort for message in node.messages['torque']])
    assert np.isfinite(values).all()


def test_states_that_turn_to_nan_are_named_where_they_are_said_to_be_lost(live, home):
    """`~/state` said that they were lost, while the driver went on sending them."""
    node = live('state_timeout:=0.5', 'max_time_step:=0.01', 'fade:=0.2')
    node.drive(60.0, home, until=lambda: node.states[-1] == 'holding')
    node.drive(0.5, home)
    wrong = [*home[:2], float('nan'), *home[3:]]
    node.drive(30.0, wrong, until=lambda: node.states[-1] == 'fault')
    assert node.reason.startswith('joint states are lost: position of joint ')
    assert 'fer_joint3' in node.reason
    assert f'fault: {node.reason}' in node.log
    node.spin(0.5)
    length, count = len(node.log), len(node.messages['torque'])
    assert node.end() == 0
    assert 'missing' not in node.log[length:]
    # A driver that was restarted meanwhile is not sent the old torque.
    assert node.settle() == count
    assert node.states[-1] == 'inactive'
