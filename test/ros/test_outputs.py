"""What the node publishes of a cycle, taken from its publishers without any node: fast."""
from types import SimpleNamespace

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
import pytest
from rclpy.qos import DurabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from hodyn_ros.ros import controller_state
from hodyn_ros.ros.controller_state import ControllerStatePublisher
from hodyn_ros.ros.outputs import Outputs

NAMES = ['joint1', 'joint2']
MOTORS = ['motor1', 'motor2']
STAMP = 1_500_000_000


class Publisher:
    """Keeps what is published, as messages."""

    def __init__(self, kind, qos):
        self.kind, self.qos, self.listeners, self.found = kind, qos, 1, []

    def get_subscription_count(self):
        return self.listeners

    def publish(self, message):
        self.found.append(
            deserialize_message(message, self.kind) if isinstance(message, bytes) else message)


class Node:
    """What publishers are made of."""

    def __init__(self):
        self.topics, self.logged = {}, []

    def create_lifecycle_publisher(self, kind, topic, qos, qos_overriding_options=None):
        assert qos_overriding_options is None
        assert topic not in self.topics
        self.topics[topic] = Publisher(kind, qos)
        return self.topics[topic]

    def destroy_lifecycle_publisher(self, publisher):
        self.topics = {t: p for t, p in self.topics.items() if p is not publisher}

    def get_fully_qualified_name(self):
        return '/arm'

    def get_logger(self):
        return SimpleNamespace(info=self.logged.append)

    def found(self, name):
        """Return what was published since it was asked last."""
        found, self.topics[f'~/{name}'].found = self.topics[f'~/{name}'].found, []
        return found


@pytest.fixture
def node(monkeypatch):
    # As where control_msgs is not installed.
    monkeypatch.setattr(controller_state, 'JointTrajectoryControllerState', None)
    return Node()


@pytest.fixture
def outputs(node):
    return Outputs(node)


def cycle(**changes):
    """Return a controller after a cycle; all of its numbers differ."""
    numbers = np.arange(1.0, 1.0 + 2 * 16).reshape(16, 2)
    reference = SimpleNamespace(progress=lambda now: (now / 1e9, 8.0) if now >= 0 else None)
    return SimpleNamespace(**{
        'q': numbers[:5], 'torque': numbers[5:8], 'output': numbers[8:11],
        'may_be_published': True, 'clipped': False, 'motors': None, 'reference': reference,
        'now': 2 * 10**9, **changes})


def begin(outputs, commands=None, motor_commands=None):
    outputs.begin(NAMES, MOTORS, commands, motor_commands)




def test_a_correction_is_published_also_while_nothing_else_is(node, outputs):
    begin(outputs)
    reference = np.arange(100.0, 110.0).reshape(5, 2)
    controller = cycle(motors=SimpleNamespace(reference=reference))
    outputs.publish(controller, STAMP, SimpleNamespace(correction=np.array([3.0, -4.0])))
    outputs.publish(
        cycle(may_be_published=False), STAMP, SimpleNamespace(correction=np.array([1.0, 0.0])))
    first, second = node.found('motor_feedback')
    assert len(node.found('motor_reference')) == 1
    assert list(first.name) == MOTORS
    assert [list(first.position), list(first.velocity), list(first.effort)] == [
        reference[0].tolist(), reference[1].tolist(), [3.0, -4.0]]
    assert [list(second.position), list(second.effort)] == [reference[0].tolist(), [1.0, 0.0]]



MEASURED = np.array([[0.5, 0.25], [0.125, 0.0625]])


def test_progress_is_told_while_it_changes(node, outputs):
    begin(outputs)

    def told(now):
        outputs.follow_up(cycle(now=now), MEASURED, STAMP)
        return [message.data for message in node.found('progress')]
    assert told(-1) == []  # nothing is followed
    assert told(2 * 10**9) == [0.25]
    assert told(2 * 10**9) == []
    assert told(8 * 10**9) == [1.0]
    np.testing.assert_equal(told(-1), [np.nan])
    assert told(-1) == []
    # Another activation begins anew.
    assert told(8 * 10**9) == [1.0]
    begin(outputs)
    assert told(-1) == []


def test_controller_state_is_that_of_joint_trajectory_controller(node, monkeypatch):
    """As where control_msgs is installed; `test_safety.py` has its parts without."""
    parts = ('reference', 'feedback', 'error', 'output')

    def message(joint_names):
        return SimpleNamespace(
            joint_names=joint_names, header=JointState().header,
            **{part: JointTrajectoryPoint() for part in parts})

    monkeypatch.setattr(controller_state, 'JointTrajectoryControllerState', message)
    publisher = ControllerStatePublisher(node)
    publisher.begin(NAMES)
    controller = cycle(now=2_500_000_000)
    publisher.publish(controller, MEASURED, STAMP)
    q, none = controller.q, []
    expected = {
        'reference': (q[0], q[1], controller.torque[0]),
        'feedback': (*MEASURED, none),
        'error': (q[0] - MEASURED[0], q[1] - MEASURED[1], none),
        'output': (none, none, controller.output[0])}
    assert list(node.topics) == ['~/controller_state']
    (whole,) = node.found('controller_state')
    assert whole.joint_names == NAMES
    assert (whole.header.stamp.sec, whole.header.stamp.nanosec) == (1, 500_000_000)
    for part in parts:
        point = getattr(whole, part)
        for values, row in zip(
                (point.positions, point.velocities, point.effort), expected[part], strict=True):
            assert list(values) == list(row)
    assert list(whole.reference.accelerations) == q[2].tolist()
    time = whole.reference.time_from_start
    assert (time.sec, time.nanosec) == (2, 500_000_000)
    publisher.publish(cycle(now=-1), MEASURED, STAMP)
    assert node.found('controller_state')[0].reference.time_from_start.sec == 0
    # It is not made where nobody listens.
    node.topics['~/controller_state'].listeners = 0
    publisher.publish(controller, MEASURED, STAMP)
    assert not node.found('controller_state')
    publisher.destroy()
    assert node.topics == {}


def test_a_new_state_or_reason_is_published_and_a_new_state_logged(node, outputs):
    for state, reason, is_told in (
            ('holding', '', False), ('holding', '', False), ('fault', 'lost', False),
            ('fault', 'lost', False), ('fault', 'other', False), ('stopping', 'pushed', True),
            ('holding', 'pushed', True)):
        outputs.report('panda', state, reason, logged='' if is_told else reason)
    messages = node.found('state')
    # The sentence stands in the log already where it is told.
    assert node.logged == ['holding', 'fault: lost', 'stopping', 'holding']
    assert [message.message for message in messages] == [
        'holding', 'fault', 'fault', 'stopping', 'holding']
    assert [message.level for message in messages] == [
        DiagnosticStatus.OK, *[DiagnosticStatus.ERROR] * 2, *[DiagnosticStatus.WARN] * 2]
    assert {(message.name, message.hardware_id) for message in messages} == {('/arm', 'panda')}
    assert [[(v.key, v.value) for v in message.values] for message in messages] == [
        [], [('reason', 'lost')], [('reason', 'other')], *[[('reason', 'pushed')]] * 2]


def test_late_listeners_get_the_state_and_the_plan_but_no_old_torque(node, outputs):
    latched = {
        topic for topic, publisher in node.topics.items()
        if publisher.qos.durability == DurabilityPolicy.TRANSIENT_LOCAL}
    assert latched == {'~/state', '~/annotated_trajectory'}
    assert {publisher.qos.depth for publisher in node.topics.values()} == {1}


def test_an_annotated_plan_is_wanted_where_somebody_listens(node, outputs):
    assert outputs.annotated_is_wanted
    node.topics['~/annotated_trajectory'].listeners = 0
    assert not outputs.annotated_is_wanted
    outputs.annotated(serialize_message(JointTrajectory(joint_names=NAMES)))
    (message,) = node.found('annotated_trajectory')
    assert list(message.joint_names) == NAMES


def test_nothing_is_left_after_the_end(node, outputs):
    assert node.topics
    outputs.destroy()
    assert node.topics == {}
