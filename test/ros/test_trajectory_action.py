"""The action `~/follow_joint_trajectory`, with joint_trajectory_controller's results and codes."""
import itertools
import os
import re
import signal
import subprocess
import sys
import time

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
import numpy as np
import pytest

pytest.importorskip('control_msgs', reason='control_msgs is not installed: no action')

from goals import ABORTED, CANCELED, SUCCEEDED, Arm, Result, duration
from live_motions import assert_no_step, beside
from processes import kill
from std_srvs.srv import Trigger
from trajectory_msgs.msg import MultiDOFJointTrajectory, MultiDOFJointTrajectoryPoint

pytestmark = pytest.mark.live

CLIENT = """
import sys
import rclpy
from rclpy.action import ActionClient
from control_msgs.action import FollowJointTrajectory
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
rclpy.init()
node = rclpy.create_node('planner')
client = ActionClient(node, FollowJointTrajectory, '/feedforward/follow_joint_trajectory')
client.wait_for_server()
point = JointTrajectoryPoint(positions=[float(x) for x in sys.argv[1:]])
point.time_from_start.sec = 2
future = client.send_goal_async(FollowJointTrajectory.Goal(trajectory=JointTrajectory(
    joint_names=[f'fer_joint{i}' for i in range(1, 8)], points=[point])))
rclpy.spin_until_future_complete(node, future)
print('accepted' if future.result().accepted else 'rejected', flush=True)
rclpy.spin(node)
"""


@pytest.fixture
def arm_of(live, home):
    """Return a function that starts a node with parameters, and returns the arm that follows."""
    def start(*parameters):
        arm = Arm(live(*parameters), home)
        arm.ready()
        return arm

    return start


def assert_one_at_a_time(goals):
    """The feedback of a goal comes when that of the one before it has ended."""
    spans = [
        [(one.header.stamp.sec, one.header.stamp.nanosec) for one in goal.feedback]
        for goal in goals if goal.feedback]
    assert len(spans) > 1
    for before, after in itertools.pairwise(spans):
        assert before[-1] <= after[0]


def test_goals_are_reached_canceled_and_preempted(arm_of, home):
    arm = arm_of()
    node = arm.live

    reached = sent = arm.send(arm.goal((0.4, beside(home, 0.05)), (0.8, beside(home, 0.1))))
    begin = time.monotonic()
    arm.drive(lambda: sent.over)
    assert sent.outcome == SUCCEEDED
    assert sent.result.error_string == 'Goal successfully reached!'
    np.testing.assert_allclose(arm.position, beside(home, 0.1), atol=1e-6)
    # The rate is that of half of what was asked for: the machine may be busy.
    assert len(sent.feedback) > 5 * (time.monotonic() - begin)
    first, last = sent.feedback[0], sent.feedback[-1]
    assert first.joint_names == node.joints
    assert (first.index, last.index) == (0, 1)
    assert first.header.stamp.sec > 0
    for one in sent.feedback:
        np.testing.assert_allclose(
            one.error.positions, np.array(one.desired.positions) - one.actual.positions,
            atol=1e-12)
        assert len(one.desired.accelerations) == len(one.desired.effort) == 7
    times = [one.desired.time_from_start for one in sent.feedback]
    assert all(0.0 < one.sec + 1e-9 * one.nanosec < 1.5 for one in times)

    # Canceled in motion: the result comes when the reference is at rest, on its path.
    canceled = sent = arm.send(arm.goal((3.0, beside(home, 0.6))))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.1)
    arm.cancel(sent)
    assert sent.outcome == CANCELED
    arm.drive(lambda: node.states[-1] == 'holding')
    assert node.reason == 'the goal was canceled'
    arm.wait(0.1)
    rest = arm.position.copy()
    assert 0.1 < rest[0] - home[0] < 0.6
    assert not arm.velocity.any()

    # Preempted by goals, and the last one by a plan of the topic.
    goals = [arm.send(arm.goal((1.5, beside(rest, 0.1 * (-1) ** k)))) for k in range(3)]
    arm.drive(lambda: goals[-2].over)
    arm.drive(lambda: node.states[-1] == 'following' and bool(goals[-1].feedback))
    node.send_trajectory((1.0, beside(rest, 0.0)))
    arm.drive(lambda: goals[-1].over)
    for one in goals:
        assert one.outcome == (ABORTED, Result.INVALID_GOAL)
        assert one.result.error_string in {
            'preempted by a newer trajectory', 'a newer trajectory came while it was prepared'}
    arm.drive(lambda: node.states[-1] == 'holding')
    np.testing.assert_allclose(arm.position, rest, atol=1e-6)
    # One that begins later preempts when it is taken; the motion goes on until then.
    before = arm.send(arm.goal((2.0, beside(rest, 0.3))))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.05)
    later = arm.send(arm.goal((0.8, beside(rest, 0.1)), start=time.time() + 0.8))
    arm.drive(lambda: before.over)
    assert before.outcome == (ABORTED, Result.INVALID_GOAL)
    assert arm.velocity[0] > 0.05
    arm.drive(lambda: later.over)
    assert later.outcome == SUCCEEDED
    np.testing.assert_allclose(arm.position, beside(rest, 0.1), atol=1e-6)
    assert_one_at_a_time([reached, canceled, *goals, before, later])
    assert_no_step(node)

    # What is not measured is not told.
    arm.has_velocity = False
    sent = arm.send(arm.goal((0.5, rest)))
    arm.drive(lambda: sent.over)
    assert sent.feedback
    for one in sent.feedback:
        assert len(one.desired.velocities) == len(one.actual.positions) == 7
        assert not len(one.actual.velocities)
        assert not len(one.error.velocities)

    # The clock is set back while a goal waits for its start.
    sent = arm.send(arm.goal((0.5, beside(rest, 0.1)), start=time.time() + 60.0))
    arm.drive(lambda: bool(sent.feedback))
    arm.clock_offset = -5.0
    arm.drive(lambda: sent.over)
    assert sent.outcome == (ABORTED, Result.INVALID_GOAL)
    assert sent.result.error_string == 'the clock was set back'


def test_a_goal_has_its_result_whatever_becomes_of_the_node(arm_of, home):
    """Transitions without a pause ended the process, or the client waited for ever."""
    arm = arm_of()
    node = arm.live
    change = node.node.create_client(ChangeState, '/feedforward/change_state')
    arm.drive(change.service_is_ready)
    for k in range(3):
        sent = arm.send(arm.goal((3.0, beside(arm.position, 0.1 * (-1) ** k))))
        arm.drive(lambda: abs(arm.velocity[0]) > 0.02)
        answers = [
            change.call_async(ChangeState.Request(transition=Transition(id=each))) for each in (
                Transition.TRANSITION_DEACTIVATE, Transition.TRANSITION_CLEANUP,
                Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_ACTIVATE)]
        arm.drive(lambda sent=sent, answers=answers: sent.over and all(
            answer.done() for answer in answers))
        assert all(answer.result().success for answer in answers)
        assert sent.outcome == (ABORTED, Result.INVALID_GOAL)
        assert sent.result.error_string == 'the node is deactivated'
        later = sent.handle.get_result_async()
        arm.drive(later.done)
        assert later.result().result.error_string == 'the node is deactivated'
        arm.drive(lambda: node.states[-1] == 'holding')
    sent = arm.send(arm.goal((0.5, beside(arm.position, 0.05))))
    arm.drive(lambda sent=sent: sent.over)
    assert sent.outcome == SUCCEEDED


def test_a_goal_that_is_refused_says_why_and_changes_nothing(arm_of, home):
    """By the topic's lines: the code and the text say more than a rejection could."""
    arm = arm_of()
    node = arm.live
    followed = arm.send(arm.goal((60.0, beside(home, 1.0))))
    arm.drive(lambda: node.states[-1] == 'following')
    there = beside(home, 0.1)
    moving = arm.goal((1.0, there))
    moving.trajectory.points[0].velocities = [0.1] * 7
    doubled = arm.goal((1.0, there))
    doubled.multi_dof_trajectory = MultiDOFJointTrajectory(points=[MultiDOFJointTrajectoryPoint()])
    for goal, code, why in (
            (arm.goal((1.0, there), start=time.time() - 60.0), Result.OLD_HEADER_TIMESTAMP,
             'it ends in the past'),
            (arm.goal(), Result.INVALID_GOAL, 'the trajectory has no points'),
            (arm.goal((1.0, there), (0.5, there)), Result.INVALID_GOAL, 'does not increase'),
            (arm.goal((1.0, there[:5])), Result.INVALID_GOAL, '5 positions for 7 joints'),
            (arm.goal((0.05, beside(home, 2.0))), Result.INVALID_GOAL, ', limit '),
            (moving, Result.INVALID_GOAL, 'is not zero; end at rest')):
        sent = arm.send(goal)
        arm.drive(lambda sent=sent: sent.over)
        assert sent.outcome == (ABORTED, code), why
        assert why in sent.result.error_string
        assert f'follow_joint_trajectory rejected: {sent.result.error_string}' in node.log
        assert node.states[-1] == 'following'
    # What can be judged at once is rejected at once, as joint_trajectory_controller does.
    for goal, why in (
            (arm.goal((1.0, there), names=[f'elbow{i}' for i in range(7)]), 'no joint of robot'),
            (doubled, 'joints of several degrees of freedom'),
            (arm.goal((1.0, there), path_tolerance={'elbow': {'position': 1.0}}),
             "path_tolerance names joint 'elbow'"),
            (arm.goal((1.0, there), path_tolerance={'fer_joint1': {'position': -2.0}}), '-2')):
        refused = arm.client.send_goal_async(goal)
        arm.drive(refused.done)
        assert not refused.result().accepted
        assert 'follow_joint_trajectory rejected: ' in node.log
        assert why in node.log
        assert node.states[-1] == 'following'
    assert not followed.over
    # A stop on request ends the goal, when the arm is at rest.
    client = node.node.create_client(Trigger, '/feedforward/hold')
    client.call_async(Trigger.Request())
    arm.drive(lambda: followed.over)
    assert followed.outcome == (ABORTED, Result.INVALID_GOAL)
    assert followed.result.error_string == 'held on request'
    arm.drive(lambda: node.states[-1] == 'holding')
    assert_no_step(node)


def test_tolerances_of_path_goal_and_time(arm_of, home):
    arm = arm_of(
        'constraints.fer_joint1.trajectory:=0.05', 'constraints.joint2.goal:=0.02',
        'constraints.goal_time:=0.3')
    node = arm.live

    # Beyond the path tolerance of the parameters: stopped, and the result comes at rest.
    sent = arm.send(arm.goal((3.0, beside(home, 0.5))))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.1)
    arm.offset[0] = 0.1
    arm.drive(lambda: sent.over)
    assert sent.outcome == (ABORTED, Result.PATH_TOLERANCE_VIOLATED)
    why = sent.result.error_string
    assert re.fullmatch(
        r'the position of fer_joint1 is \+0\.\d+ away from the reference, beyond its path '
        r'tolerance of 0\.05',
        why)
    arm.drive(lambda: node.states[-1] == 'holding')
    assert node.reason.startswith(f'the goal is aborted: {why}')
    arm.wait(0.1)
    assert not arm.velocity.any()
    assert arm.position[0] < home[0] + 0.49

    # The goal's own count instead: as wide as it says, or without bound.
    start = arm.position.tolist()
    for asked in (0.2, -1.0):
        sent = arm.send(arm.goal(
            (0.5, beside(start, 0.05)), path_tolerance={'fer_joint1': {'position': asked}}))
        arm.drive(lambda sent=sent: sent.over)
        assert sent.outcome == SUCCEEDED
        start = arm.position.tolist()

    arm.offset[:] = 0.0

    # Not at its end in time, by the position; in time with a later deadline.
    start = arm.position.tolist()
    arm.offset[1] = -0.04
    sent = arm.send(arm.goal((0.5, beside(start, 0.05))))
    arm.drive(lambda: sent.over)
    assert sent.outcome == (ABORTED, Result.GOAL_TOLERANCE_VIOLATED)
    assert sent.result.error_string.startswith(
        'the position of fer_joint2 is -0.04 away from the reference, beyond its goal tolerance '
        'of 0.02, 0.3')
    assert f'the goal is aborted: {sent.result.error_string}' in node.log
    sent = arm.send(arm.goal((0.5, beside(start, 0.1)), goal_time_tolerance=duration(20.0)))
    arm.drive(lambda: node.states[-1] == 'following')
    arm.drive(lambda: node.states[-1] == 'holding')
    arm.wait(0.5)
    assert not sent.over
    arm.offset[1] = 0.0
    arm.drive(lambda: sent.over)
    assert sent.outcome == SUCCEEDED

    # A default that changes counts for the goals to come.
    assert node.set(**{'constraints.fer_joint1.trajectory': 'near'})
    assert not node.set(**{'constraints.fer_joint1.trajectory': 0.5})
    start = arm.position.tolist()
    arm.offset[0] = 0.1
    sent = arm.send(arm.goal((0.5, beside(start, 0.05))))
    arm.drive(lambda: sent.over)
    assert sent.outcome == SUCCEEDED
    assert_no_step(node)


def test_states_that_are_lost_and_a_deactivation_end_the_goal_at_rest(arm_of, home):
    arm = arm_of('state_timeout:=0.5', 'fade:=0.2')
    node = arm.live
    sent = arm.send(arm.goal((3.0, beside(home, 0.5))))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.1)
    assert node.spin_until(lambda: sent.over, 10.0)
    assert sent.outcome == (ABORTED, Result.INVALID_GOAL)
    assert sent.result.error_string == 'joint states were lost'
    rest = np.array(node.messages['torque'][-1].position)
    refused = arm.client.send_goal_async(arm.goal((1.0, home)))
    assert node.spin_until(refused.done, 10.0)
    assert not refused.result().accepted
    assert 'follow_joint_trajectory rejected: joint states are lost' in node.log
    arm.drive(lambda: node.states[-1] == 'holding')
    assert_no_step(node)

    sent = arm.send(arm.goal((3.0, beside(rest, 0.5))))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.1)
    assert node.change('deactivate')
    assert node.spin_until(lambda: sent.over, 10.0)
    assert sent.outcome == (ABORTED, Result.INVALID_GOAL)
    assert sent.result.error_string == 'the node is deactivated'
    refused = arm.client.send_goal_async(arm.goal((1.0, home)))
    assert node.spin_until(refused.done, 10.0)
    assert not refused.result().accepted
    assert 'follow_joint_trajectory rejected: the node is not active' in node.log

    # The end of the process is one of the goal, too.
    assert node.change('activate')
    arm.drive(lambda: node.states[-1] == 'holding')
    sent = arm.send(arm.goal((3.0, arm.position + 0.2)))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.05)
    assert node.end(signal.SIGTERM) == 0
    assert node.spin_until(lambda: sent.over, 10.0)
    assert sent.outcome == (ABORTED, Result.INVALID_GOAL)
    assert sent.result.error_string == 'the node is deactivated'


def test_the_shutdown_of_the_node_ends_the_goal(arm_of, home):
    """The result is sent before the server of the action is destroyed."""
    arm = arm_of('fade:=0.2')
    sent = arm.send(arm.goal((3.0, beside(home, 0.5))))
    arm.drive(lambda: abs(arm.velocity[0]) > 0.05)
    assert arm.live.change('active_shutdown')
    assert arm.live.spin_until(lambda: sent.over, 10.0)
    assert sent.outcome == (ABORTED, Result.INVALID_GOAL)
    assert sent.result.error_string == 'the node is deactivated'


def test_a_client_that_is_killed_leaves_its_goal_to_its_end(arm_of, home):
    """As with joint_trajectory_controller: nobody watches over clients."""
    arm = arm_of()
    node, there = arm.live, beside(home, 0.3)
    client = subprocess.Popen(
        [sys.executable, '-c', CLIENT, *map(str, there)], stdout=subprocess.PIPE, text=True,
        env={**os.environ, 'ROS_DOMAIN_ID': str(node.of.domain)})
    try:
        arm.drive(lambda: node.states[-1] == 'following', 60.0)
        arm.drive(lambda: abs(arm.velocity[0]) > 0.05)
    finally:
        kill(client)
    assert client.stdout.readline() == 'accepted\n'
    arm.drive(lambda: node.states[-1] == 'holding')
    np.testing.assert_allclose(arm.position, there, atol=1e-6)
    sent = arm.send(arm.goal((0.6, home), goal_time_tolerance=duration(5.0)))
    arm.drive(lambda: sent.over)
    assert sent.outcome == SUCCEEDED
    assert_no_step(node)


@pytest.mark.siege
def test_a_hundred_goals_preempt_one_another(arm_of, home):
    arm = arm_of()
    node = arm.live
    draw = np.random.default_rng(1)
    goals = []
    for _ in range(101):
        goals.append(arm.send(arm.goal((2.0, home + draw.uniform(-0.2, 0.2, 7)))))
        arm.wait(draw.uniform(0.0, 0.4))
    arm.drive(lambda: goals[-1].over)
    assert goals[-1].outcome == SUCCEEDED
    assert all(one.outcome == (ABORTED, Result.INVALID_GOAL) for one in goals[:-1])
    preempted = sum(
        one.result.error_string == 'preempted by a newer trajectory' for one in goals[:-1])
    print(f'{preempted} of 100 were followed when they were preempted')
    assert preempted > 50
    assert_one_at_a_time(goals)
    assert_no_step(node)
