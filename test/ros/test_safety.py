"""Wherever the arm is and whatever holds it up, the reference keeps to its limits and says why."""
import importlib.util
import re
import signal
import time

from diagnostic_msgs.msg import DiagnosticArray
from live_motions import LIMITS, Stepper, assert_no_step, beside, in_motion, move, table, weight
import numpy as np
import pytest
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

pytestmark = pytest.mark.live

# As users have them: the tests' own are more patient.
DEFAULTS = 'state_timeout:=0.05', 'max_time_step:=0.01', 'tracking_tolerance:=[0.0]'


def test_an_arm_that_is_elsewhere_is_said_and_held_where_it_is(live, home, gentle_panda):
    """Nobody looked where the arm is; after a silence the place before it was held."""
    node = live(f'robot:={gentle_panda}', 'tracking_tolerance:=[0.0]', 'state_timeout:=1.5')
    arm = Stepper(node, home)
    # Pushed away at rest: by a little, then by much.
    arm.offset[0] = 0.15
    arm.step(40)
    node.wait_log('fer_joint1 is +0.1')
    assert 'held where it is' not in node.log
    arm.offset[0] = 0.5
    arm.step(400, until=lambda: arm.q[0] > home[0] + 0.2)
    arm.offset[0], where = 0.0, arm.q[0]
    arm.step(3)
    assert node.spin_until(lambda: bool(re.search(
        r'fer_joint1 is \+0.2\d* away from the reference \(tracking_tolerance 0.2\): '
        'the arm is held where it is', node.reason)), 5.0), node.log
    assert arm.q[0] == where
    # In a motion it stops first, and takes no plan meanwhile.
    move(node, arm.q, 0.4, 4.0)
    arm.step_until_log('trajectory accepted')
    arm.step(400)
    assert node.states[-1] == 'following'
    arm.offset[3] = -0.4
    arm.step(400, until=lambda: node.states[-1] == 'stopping')
    assert re.search(r'fer_joint4 is -0.2\d* away from', node.reason), node.reason
    arm.period = 0.001
    move(node, arm.q, 0.1, 2.0)
    arm.step_until_log('joint_trajectory rejected: fer_joint4 is -0.2')
    assert node.states[-1] == 'stopping'
    arm.period = 0.004
    where = 0.0

    def is_held() -> bool:
        return node.states[-1] == 'holding' and 'fer_joint4' in node.reason

    before = arm.q[3]
    arm.step(1000, until=lambda: abs(arm.q[3] - before) > 0.3)
    arm.offset[:] = 0.0
    arm.step(3)
    assert node.spin_until(is_held, 5.0), node.log
    assert 'the arm is held where it is' in node.reason
    # Lost, and back elsewhere: once it is believed, the first answer is where the arm is.
    assert node.spin_until(lambda: node.states[-1] == 'fault', 20.0), node.log
    node.settle()
    there = beside(arm.q, -0.7)
    answers = node.first_answer(arm.time + 100.0, there, step=0.1)
    np.testing.assert_array_equal(answers[0].position, there)
    assert not np.any(answers[0].velocity)
    assert node.spin_until(lambda: bool(re.search(
        'fer_joint1 is -0.7 away from the reference when joint states came back .*: the arm is '
        'held where it is', node.reason)), 5.0), node.log
    assert node.states[-1] == 'holding'
    # A torque that leaps with the reference would be worse than a reference that does.
    torques = table(node, 'torque')[1][:, 2]
    assert np.abs(np.diff(torques, axis=0)).max() < 5.0


def test_after_a_hold_up_the_node_continues_and_reports_the_left_out_time(live, home):
    """A SIGSTOP of 2 s moved q_d by 0.64 rad in one message, and nothing was said."""
    node = live('max_time_step:=0.01')
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    move(node, home, 0.8, 6.0)
    node.drive(30.0, home, until=lambda: node.states[-1] == 'following')
    node.drive(2.0, home)
    reports = node.subscribe(DiagnosticArray, '/diagnostics')
    for pause in (0.3, 2.0):
        node.drive(0.2, home)
        length = len(node.log)
        node.process.send_signal(signal.SIGSTOP)
        node.drive(pause, home)
        node.process.send_signal(signal.SIGCONT)
        node.drive(5.0, home, until=lambda n=length: re.search(
            r'WARN.*: [\d.]+ s are missing between cycles: the reference continues from where it '
            'was', node.log[n:]) is not None)
    # A state from the midst of a pause may be read first: the line is of it, the sum of all.
    node.drive(5.0, home, until=lambda: any(
        value.key == 'time left out (s)' and float(value.value) > 0.8 * 2.3
        for report in reports[-1:] for value in report.status[0].values))
    assert 'stopping' not in node.states
    stamps, values = table(node, 'torque')
    moved = np.abs(np.diff(values[:, 0], axis=0)).max(axis=1)
    fastest = np.abs(values[:, 1]).max()
    assert fastest > 0.2
    assert (moved <= 0.03 * fastest).all(), moved.max()
    # A clock that jumps by less than any fault.
    t = time.time() + 0.1
    for k in range(120):
        t += 0.09 if k % 30 == 29 else 0.002
        assert node.answer(t, home) is not None
    # What is missing again and again is one line, and `~/state` tells it meanwhile.
    assert node.log.count('are missing between cycles') <= 4, node.log
    assert 'are missing between cycles' in '\n'.join(node.reasons)
    values = table(node, 'torque')[1][len(stamps):]
    assert np.abs(values[-1, 1]).max() > 0.05, 'it does not move any more'
    assert np.abs(np.diff(values[:, 0], axis=0)).max() <= 0.01 * fastest
    assert_no_step(node, jump=0.08)


def test_hold_on_request_from_any_state(live, home, gentle_panda):
    node = live(f'robot:={gentle_panda}', 'stream_timeout:=0.5')
    client = node.node.create_client(Trigger, '/feedforward/hold')
    assert node.spin_until(client.service_is_ready, 20.0), node.log

    def ask(meanwhile=lambda: node.spin(0.001)) -> Trigger.Response:
        future = client.call_async(Trigger.Request())
        end = time.monotonic() + 20.0
        while not future.done():
            assert time.monotonic() < end, node.log
            meanwhile()
        return future.result()

    refused = ask()
    assert not refused.success
    assert refused.message == 'the node waits for a joint state'
    node.trajectory_publisher.publish(JointTrajectory())
    assert node.spin_until(
        lambda: 'joint_trajectory rejected: the node waits for a joint state' in node.log, 10.0)
    arm = Stepper(node, home)
    # From a plan, with another in its wake.
    for k in range(2):
        accepted = node.log.count('trajectory accepted')
        move(node, arm.q, 0.3 * (-1.0) ** k, 4.0)
        arm.step_until_log('trajectory accepted', accepted + 1)
        arm.step(400)
        assert node.states[-1] == 'following'
        move(node, arm.q, 0.2, 1.0, start=arm.time + 6.0)
        arm.step_until_log('trajectory accepted', accepted + 2)
        assert node.states[-1] == 'following'
        if k == 0:
            assert ask().success
            why = 'held on request'
        else:
            node.trajectory_publisher.publish(JointTrajectory())
            why = 'an empty trajectory came'
        end = time.monotonic() + 20.0
        while node.states[-1] != 'stopping':
            assert time.monotonic() < end, node.log
            arm.period = 0.001
            arm.step()
        arm.period = 0.004
        arm.rest()
        assert node.reason == why
        held = arm.q
        # The plan that waited is gone.
        arm.time = round(arm.time + 10.0, 6)
        answers = node.reach(arm.time, held)
        assert list(answers[0].position) == held
    # From a stream, which goes on unheeded until it was silent.
    goal = beside(arm.q, 2.0)

    def stream_on() -> None:
        arm.sample(goal)
        arm.step()

    for _ in range(40):
        stream_on()
    assert node.states[-1] == 'streaming'
    assert ask(stream_on).success
    end = time.monotonic() + 20.0
    while node.states[-1] != 'holding':
        assert time.monotonic() < end, node.log
        stream_on()
    for _ in range(50):
        stream_on()
    assert 'reference rejected: the reference was stopped; let it fall silent' in node.log
    assert node.states[-1] == 'holding'
    assert node.reason.startswith('held on request'), node.log
    assert abs(arm.q[0] - goal[0]) > 0.1, node.log
    node.spin(2.2)
    for _ in range(500):
        stream_on()
    assert node.states[-1] == 'streaming'
    np.testing.assert_allclose(arm.q, goal, atol=1e-3)
    arm.rest()
    assert ask().success
    arm.step()
    assert node.states[-1] == 'holding'
    assert_no_step(node)


def test_an_arm_that_was_pushed_away_does_not_follow_the_plan_that_waited(live, home):
    node = live('tracking_tolerance:=[0.0]')
    arm = Stepper(node, home)
    move(node, arm.q, 0.2, 1.0, start=arm.time + 3.0)
    arm.step_until_log('trajectory accepted')
    for k in range(1, 800):
        answers = node.answer(arm.time + 0.01 * k, beside(home, min(0.3, 0.01 * k)))
        assert answers is not None
        if k == 40:
            held = answers[0].position
        elif k > 40:
            np.testing.assert_array_equal(answers[0].position, held)
    assert 'fer_joint1 is +0.2' in node.log
    assert 'the arm is held where it is' in node.log


@pytest.mark.skipif(
    importlib.util.find_spec('control_msgs') is not None, reason='the parts are one message')
def test_controller_state_and_progress_follow_the_cycles(
        live, home):
    node = live('gravity_in_output:=false', 'fade:=0.2')
    parts = {
        part: node.subscribe(JointState, f'/feedforward/controller_state/{part}')
        for part in ('reference', 'feedback', 'error', 'output')}
    progress = node.subscribe(Float64, '/feedforward/progress')
    away = beside(home, 0.05)
    node.drive(20.0, away, until=lambda: 'holding' in node.states)
    node.drive(0.5, away)
    assert not progress
    away = beside(home, 0.1)
    move(node, away, 0.2, 2.0)
    node.drive(30.0, away, until=lambda: node.states[-1] == 'following')
    node.drive(30.0, away, until=lambda: node.states[-1] == 'holding')
    node.drive(10.0, away, until=lambda: progress[-1].data == 1.0)
    node.drive(0.3, away)
    node.spin(0.3)
    done = [message.data for message in progress]
    assert len(done) > 20
    assert done[0] < 0.1
    assert done == sorted(done)
    rows = {
        part: {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in messages}
        for part, messages in parts.items()}
    stamps = set.intersection(*map(set, rows.values()))
    torques = {(m.header.stamp.sec, m.header.stamp.nanosec): m for m in node.messages['torque']}
    whole = sorted(stamps & set(torques))
    assert len(whole) > 30
    assert rows['reference'][whole[0]].name == node.joints
    for stamp in whole:
        reference, feedback, error, output = (rows[part][stamp] for part in parts)
        assert reference.position == torques[stamp].position
        assert reference.velocity == torques[stamp].velocity
        assert output.effort == torques[stamp].effort
        np.testing.assert_allclose(
            error.position, np.subtract(reference.position, feedback.position), atol=1e-12)
    # At rest, at the end of the plan.
    end = [stamp for stamp in whole if not any(rows['reference'][stamp].velocity)][-1]
    assert rows['feedback'][end].position[0] == away[0]
    assert rows['error'][end].position[0] == pytest.approx(0.2, abs=1e-9)
    # The reference tells the torque that it takes, with gravity; the output leaves that out.
    reference = rows['reference'][end]
    np.testing.assert_allclose(reference.effort, weight(reference.position), atol=1e-6)
    np.testing.assert_allclose(rows['output'][end].effort, 0.0, atol=1e-6)


def test_a_motion_that_passes_a_torque_limit_is_stopped_and_says_by_what(live, home):
    """A payload taken on in mid-motion: plans are judged before it, streams with it."""
    node = live('fade:=2.0')
    t = in_motion(node, home, seconds=4.0)
    assert node.set(
        payload_link='link7', payload_mass=11.0, payload_com=[0.0, 0.0, 0.1]) == ''
    for k in range(1, 900):
        assert node.answer(t + 0.004 * k, home) is not None
        if node.states[-1] == 'holding':
            break
    said = re.search(
        r'torque of (joint\d) is (-?[\d.]+), beyond its limit of (\d+)', '\n'.join(node.reasons))
    assert said, '\n'.join(node.reasons)
    joint = int(said[1][-1]) - 1
    assert float(said[3]) == LIMITS.effort[joint]
    assert abs(float(said[2])) > 1.049 * LIMITS.effort[joint]  # of four digits
    assert said[0] in node.log
    assert node.states[-2:] == ['stopping', 'holding']
    assert said[0] in node.reason
    assert_no_step(node)


def test_a_driver_at_10_hz_begins_without_any_fault(live, home):
    """Two first states at once poisoned the period: each later one was a fault."""
    node = live(*DEFAULTS, 'robot:=panda')
    for k in range(35):
        node.send_state(time.time(), home)
        node.spin(0.002 if k == 0 else 0.1)
    assert len(node.messages['torque']) > 25
    assert [state for state in node.states if state not in ('waiting', 'holding')] == []
    for word in ('WARN', 'ERROR', 'missing', 'rejected'):
        assert word not in node.log, node.log
    assert not node.reason
