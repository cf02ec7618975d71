"""What comes in by topics and is not meant for this arm, or not enough, to a live node."""
import time

from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import WrenchStamped
from live_motions import NOW
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

pytestmark = pytest.mark.live

LEFT, RIGHT, BARE = (
    [f'{prefix}joint{i}' for i in range(1, 8)] for prefix in ('left_fer_', 'right_fer_', ''))


class Sender:
    """Sends messages between states until the log has an answer: matching takes time."""

    def __init__(self, node, home: list[float]) -> None:
        self.node, self.home, self.time = node, home, NOW
        node.first_answer(NOW, home)

    def state(self, positions: list[float] | None = None, step: float = 1e-3, **fields):
        # The topic keeps one message: what is sent beside it may take a state's place.
        for _ in range(3):
            self.time += step
            answers = self.node.answer(self.time, positions or self.home, **fields)
            if answers is not None:
                break
        assert answers is not None
        return np.array(answers[0].effort)

    def until(self, text: str, publisher=None, message=None, times: int = 1) -> None:
        end = time.monotonic() + 20.0
        while self.node.log.count(text) < times:
            assert time.monotonic() < end, f'no {text!r} in:\n{self.node.log}'
            if publisher is not None:
                publisher.publish(message)
            self.state()
            time.sleep(2e-3)


def wrench(frame: str, force: float = 0.0) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = frame
    message.wrench.force.x = force
    return message


def test_inputs_of_another_arm_are_refused_and_those_of_this_arm_taken(
        live, home):
    node = live(joints=LEFT)
    sender = Sender(node, home)
    there = [x + 0.01 for x in home]
    node.send_trajectory((1.0, there), names=RIGHT)
    sender.until("joint_trajectory rejected: 'right_fer_joint1' and the others are of another arm "
                 "than 'left_fer_joint1', which the joint states name")
    stream = node.publisher(JointState, '/feedforward/reference')
    sender.until("reference rejected: 'right_fer_joint1'", stream,
                 JointState(name=RIGHT, position=there))
    wrenches = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    for frame in ('right_fer_link7', 'elbow'):
        sender.until(f"has no link '{frame}'; its links are link1", wrenches, wrench(frame))
    assert 'streaming' not in node.states
    np.testing.assert_array_equal(node.messages['torque'][-1].position, home)
    sender.state(step=0.4)
    for frame in ('left_fer_link7', 'link8', 'left_fer_flange'):
        before = sender.state(step=0.4)
        moved = before
        end = time.monotonic() + 20.0
        while np.abs(moved - before).max() < 0.01:
            assert time.monotonic() < end, frame
            wrenches.publish(wrench(frame, 10.0))
            moved = sender.state(step=0.01)
        node.spin(0.3)
    node.let_stream()
    sender.until('streaming', stream, JointState(name=LEFT, position=home))
    node.spin(0.2)
    sender.until('fell silent: it ')
    end = time.monotonic() + 20.0
    while node.states[-1] != 'holding':
        assert time.monotonic() < end, node.log
        sender.state(step=0.01)
    for k, names in enumerate((BARE, LEFT)):
        sender.state(step=0.4)
        node.send_trajectory((0.01, home), names=names, effort=[1.0] * 7)
        sender.until('trajectory accepted', times=k + 1)
    assert 'the effort of its points is not used' in node.log


def test_waiting_says_why_and_a_gripper_alone_is_named(live):
    node = live()
    node.node.destroy_publisher(node.state_publisher)
    node.wait_log('waiting: for a joint state on /joint_states: nobody publishes it', 20.0)
    stranger = node.node.create_publisher(DiagnosticStatus, '/joint_states', 1)
    node.wait_log(
        '/driver (diagnostic_msgs/msg/DiagnosticStatus) publishes another type there', 20.0)
    node.node.destroy_publisher(stranger)
    node.state_publisher = node.publisher(JointState, '/joint_states')
    node.wait_log('waiting: for a joint state on /joint_states: /driver has sent none yet', 20.0)
    node.send_state(NOW, [0.0, 0.0], name=['finger_1', 'finger_2'])
    node.wait_log("none of those received can be used: no joint of robot 'panda' among the names "
                  "'finger_1', 'finger_2'; expected 'fer_joint1'", 20.0)
    assert node.spin_until(lambda: 'finger_1' in node.reason, 10.0)
    assert node.states[-1] == 'waiting'
    assert '(1 received)' in node.log
    # One cause is one line.
    assert node.log.count('nobody publishes it') == 1


def test_two_drivers_that_contradict_each_other_are_named(live, home):
    node = live()
    node.first_answer(NOW, home)
    other = node.other_node()
    gripper = node.publisher(JointState, '/joint_states', other)
    for _ in range(300):
        node.send_state(time.time(), home)
        gripper.publish(JointState(name=['finger'], position=[0.0]))
        node.spin(0.005)
    assert 'contradict each other' not in node.log
    node.messages['torque'].clear()
    end = time.monotonic() + 20.0
    while time.monotonic() < end and (
            len(node.messages['torque']) <= 100 or 'contradict each other' not in node.reason):
        for position in (home, [x + 0.7 for x in home]):
            state = JointState(name=node.joints, position=position)
            state.header.stamp = node.node.get_clock().now().to_msg()
            (node.state_publisher if position is home else gripper).publish(state)
            node.spin(0.005)
    assert '/driver, /other publish states of this arm on /joint_states that contradict' in \
        node.reason
    assert 'contradict each other: end all but the driver' in node.log
    # The reference hopped between both.
    q = np.array([message.position for message in node.messages['torque']])
    assert len(q) > 100
    np.testing.assert_array_equal(q, np.tile(home, (len(q), 1)))
    other.destroy_node()
    node.drive(20.0, home, until=lambda: not node.reason)


def test_a_second_node_of_the_same_name_does_not_become_active(live, home):
    node = live(own=True)
    node.first_answer(NOW, home)
    second = live('auto_activate:=true', ready=False)
    assert second.spin_until(lambda: second.process.poll() is not None, 120.0), second.log
    assert second.process.returncode == 2
    assert 'another node /feedforward is active (holding)' in second.log
    # One that cannot know better makes itself known: it is said, and not for ever.
    torque = node.other_node()
    torque.create_publisher(JointState, '/feedforward/torque', 1)
    node.drive(20.0, home, until=lambda: '/other all publish /feedforward/torque' in node.reason)
    states = torque.create_publisher(DiagnosticStatus, '/feedforward/state', QoSProfile(
        depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    assert node.change('deactivate')
    states.publish(DiagnosticStatus(message='following'))
    assert not node.change('activate')
    assert 'another node /feedforward is active (following)' in node.log
    states.publish(DiagnosticStatus(message='inactive'))
    assert node.change('activate')
    torque.destroy_node()
    node.drive(20.0, home, until=lambda: node.states[-1] == 'holding' and not node.reason)
    namesake = node.other_node('feedforward')
    node.drive(20.0, home, until=lambda: '2 nodes have the name /feedforward' in node.log)
    namesake.destroy_node()


def said(node, text: str) -> int:
    return sum(text in line for line in node.log.splitlines())


def test_what_is_asked_of_an_inactive_node_is_refused_in_words(live, home):
    """A plan or a stream disappeared without a word."""
    node = live('auto_activate:=false', ready=False)
    assert node.change('configure'), node.log
    stream = node.publisher(JointState, '/feedforward/reference')
    stiffness = node.publisher(JointState, '/feedforward/stiffness')
    node.send_trajectory((0.0, home), (1.0, home))
    node.wait_log('joint_trajectory rejected: the node is not active')
    begin = time.monotonic()
    for _ in range(100):
        stream.publish(JointState(name=node.joints, position=home))
        node.spin(0.01)
    assert 1 <= said(node, 'reference rejected: the node is not active') <= (
        time.monotonic() - begin + 1.0)
    stiffness.publish(JointState(name=node.joints, effort=home))
    node.wait_log('stiffness rejected: the node is not active')
    # Measurements come all the time, and ask for nothing.
    for _ in range(10):
        node.send_state(NOW, home)
        node.spin(0.01)
    assert not said(node, 'joint_states rejected')
    assert said(node, 'rejected') == 2 + said(node, 'reference rejected')


def test_each_cause_is_logged_at_most_once_a_second(live, home):
    """Numbers that change made each message a cause of its own: 128 lines in two seconds."""
    node = live('wrench_timeout:=0.02')
    node.drive(20.0, home, until=lambda: 'holding' in node.states)
    stream = node.publisher(JointState, '/feedforward/reference')
    wrenches = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    wrench = WrenchStamped()
    wrench.header.frame_id = 'link7'
    begin = time.monotonic()
    for k in range(60):
        stream.publish(JointState(name=node.joints, position=[3.0 + 1e-3 * k, *home[1:]]))
        wrenches.publish(wrench)
        node.drive(0.05, home)
    seconds = time.monotonic() - begin
    assert 2 <= said(node, 'reference rejected: position 3.') <= seconds + 1.0
    assert 2 <= said(node, 'external_wrench on link7 fell silent') <= seconds + 1.0
    # Another cause is said at once, in the second of the last line.
    stream.publish(JointState(name=node.joints, position=[*home[:6], 4.0]))
    node.drive(20.0, home, until=lambda: "position 4 of joint 'fer_joint7' is above" in node.log)
    stream.publish(JointState(name=node.joints, position=home, velocity=[9.0] + [0.0] * 6))
    node.drive(20.0, home, until=lambda: 'streamed velocity 9 of joint' in node.log)
    assert said(node, 'reference rejected') <= seconds + 3.0


def test_computed_torque_without_velocities_uses_the_reference(live, home):
    node = live('evaluate_at:=measurement', 'fade:=0.2')
    there = [x + 0.05 for x in home]
    sender = Sender(node, home)
    for _ in range(100):
        held = sender.state(there, step=0.01)
    assert 'the joint states have no velocity' in node.log
    assert 'the joint states have no velocity' in node.reason
    np.testing.assert_allclose(held, sender.state(home, step=0.01), atol=1e-12)
    for _ in range(100):
        moved = sender.state(there, step=0.01, velocity=[0.0] * 7)
    assert np.abs(moved - held).max() > 0.1
    assert node.spin_until(lambda: not node.reason, 5.0), (node.reason, node.log)


def test_a_wrong_order_of_command_joints_is_named_as_such(live, home):
    node = live('auto_activate:=false', 'publish_commands:=true', ready=False)
    assert node.spin_until(lambda: bool(node.node.count_services('/feedforward/get_state')), 60.0)
    assert not node.set(command_joints=[*LEFT[:6], 'left_fer_joint6'])
    assert not node.change('configure')
    assert "not configured: command_joints: joint 'left_fer_joint6' is named twice" in node.log
    assert not node.set(command_joints=RIGHT)
    assert node.change('configure')
    assert node.change('activate')
    node.joints = LEFT
    commands = node.subscribe(Float64MultiArray, '/feedforward/commands')
    for k in range(3):
        node.send_state(NOW + 0.01 * k, home)
        node.spin(0.1)
    node.wait_log("commands rejected: command_joints: 'right_fer_joint1' and the others are of "
                  "another arm than 'left_fer_joint1'")
    assert node.spin_until(lambda: 'command_joints' in node.reason, 10.0)
    assert not commands
    assert not node.messages['torque']
    assert 'joint_states rejected' not in node.log


def test_messages_that_are_too_long_are_not_looked_at(live, home):
    node = live()
    sender = Sender(node, home)
    names = ['x' * 1000] * 200
    for kind, topic, message in (
            (JointState, 'reference', JointState(name=names)),
            (JointState, 'stiffness', JointState(name=names)),
            (WrenchStamped, 'external_wrench', wrench('x' * 10_000)),
            (JointTrajectory, 'joint_trajectory', JointTrajectory(joint_names=names * 50))):
        publisher = node.publisher(kind, f'/feedforward/{topic}')
        sender.until(f'{topic} rejected: ', publisher, message)
        line = next(x for x in node.log.splitlines() if f'{topic} rejected: ' in x)
        assert 'bytes; at most' in line, line
    node.state_publisher.publish(JointState(name=names))
    sender.until('joint_states rejected: ', node.state_publisher, JointState(name=names))
    assert node.log.count('bytes; at most') >= 5


def test_a_wrench_of_any_size_keeps_the_torque_within_limits_and_is_said(live, home):
    node = live('max_force:=2000.0')
    sender = Sender(node, home)
    held = sender.state(step=0.4)
    wrenches = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    sender.until("the effort_rate limit of joint 'joint", wrenches, wrench('link7', 1e6))
    largest = 0.0
    for k in range(100):
        wrenches.publish(wrench('link7', 1e6 * (-1.0) ** (k // 20)))
        efforts = sender.state(step=0.01)
        assert (np.abs(efforts) < [87.0] * 4 + [12.0] * 3).all()
        largest = max(largest, np.abs(efforts - held).max())
    assert largest > 1.0
    assert 'external_wrench is scaled down' in node.reason
    for name, value in (('max_force', 10.0), ('use_sim_time', True)):
        assert node.set(**{name: value}).startswith(f'{name}: cannot change while active')


def test_a_wrench_is_cut_by_what_the_effort_limits_leave(live, home):
    node = live('max_force:=10000.0', 'max_moment:=10000.0')
    sender = Sender(node, home)
    wrenches = node.publisher(WrenchStamped, '/feedforward/external_wrench')
    sender.until("limit of joint 'joint", wrenches, wrench('link7', 1000.0))
