"""Messages that no honest sender would send, to a live node: nothing ends it, nothing steps."""
import struct
import time

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import WrenchStamped
import numpy as np
import pytest
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

pytestmark = pytest.mark.live

NOW = 1000.0
COUNT = 6_000
WILD = (np.nan, np.inf, -np.inf, 1e308, -1e308, 1e-308, 1e30, 1e7, -1e5, 50.0)


class Hostile:
    """Makes messages, most of them wrong in one way or another."""

    def __init__(self, seed: int, joints: list[str], home: list[float]) -> None:
        self.rng = np.random.default_rng(seed)
        self.joints, self.home = joints, home

    def pick(self, choices):
        return choices[int(self.rng.integers(len(choices)))]

    def numbers(self) -> list[float]:
        values = (np.array(self.home) + self.rng.normal(0.0, 0.01, 7)).tolist()
        kind = self.rng.integers(8)
        if kind == 0:
            values[int(self.rng.integers(7))] = float(self.pick(WILD))
        elif kind == 1:
            values = values[:int(self.rng.integers(7))]
        elif kind == 2:
            values = values * int(self.rng.integers(2, 50))
        elif kind == 3:
            values = [float(self.pick(WILD)) for _ in range(7)]
        return values

    def names(self) -> list[str]:
        names = list(self.joints)
        kind = self.rng.integers(12)
        if kind == 0:
            names[int(self.rng.integers(7))] = self.pick(
                ['', 'fer_joint1', 'x' * 10_000, '\x1b[2J', 'ü\n', '../../etc/passwd', '%s{0}'])
        elif kind == 1:
            names = names[:int(self.rng.integers(7))]
        elif kind == 2:
            names = [f'fr3_joint{i}' for i in range(1, 8)]
        elif kind == 3:
            names = ['finger1', 'finger2']
        elif kind == 4:
            names = names[::-1]
        elif kind == 5:
            names = [f'left_{name}' for name in names]
        elif kind == 6:
            names = [f'j{i}' for i in range(2000)]
        return names

    def some(self) -> list[float]:
        return self.pick(([], [0.0] * 7, self.numbers()))

    def state(self) -> JointState:
        return JointState(
            name=self.names(), position=self.numbers(), velocity=self.some(), effort=self.some())

    def trajectory(self) -> JointTrajectory:
        message = JointTrajectory(joint_names=self.names())
        for t in np.cumsum(self.rng.uniform(-0.1, 1.0, int(self.rng.integers(0, 4)))):
            point = JointTrajectoryPoint(
                positions=self.numbers(), velocities=self.some(), accelerations=self.some())
            point.time_from_start.sec = int(np.floor(t)) + self.pick((0,) * 9 + (2**31 - 9,))
            point.time_from_start.nanosec = int(t % 1 * 1e9)
            message.points.append(point)
        message.header.stamp.sec = int(self.pick((0, 0, 0, 5, 999, 10**6, -(2**31), 2**31 - 1)))
        return message

    def wrench(self) -> WrenchStamped:
        message = WrenchStamped()
        message.header.frame_id = self.pick(('link7', 'link3', 'world', '', 'x' * 5000, '\x00'))
        message.wrench.force.x = float(self.pick((*WILD, 1.0, 5.0)))
        message.wrench.torque.z = float(self.pick((*WILD, 0.1, 0.0)))
        return message

    def mutated(self, message) -> bytes:
        """Return a serialized message with some of its bytes cut off or changed."""
        data = bytearray(serialize_message(message))
        kind = self.rng.integers(4)
        if kind == 0:
            return bytes(data[:int(self.rng.integers(4, len(data) + 1))])
        if kind == 1 and len(data) > 24:
            struct.pack_into(
                '<I', data, 4 * int(self.rng.integers(1, len(data) // 4)),
                int(self.pick((0xffffffff, 0x7fffffff, 100_000, 3))))
        else:
            for _ in range(int(self.rng.integers(1, 8))):
                data[int(self.rng.integers(4, len(data)))] = int(self.rng.integers(256))
        return bytes(data)


def is_wrong(message) -> bool:
    """Tell whether a message, as it is, breaks a rule that no configuration relaxes.

    A trajectory without points is none: it asks for a stop.
    """
    if isinstance(message, JointState):
        return len(message.position) != len(message.name) or not np.isfinite(
            [*message.position, *message.velocity]).all()
    if isinstance(message, JointTrajectory):
        return not all(
            np.isfinite([*point.positions, *point.velocities, *point.accelerations]).all()
            for point in message.points)
    wrench = message.wrench
    return not np.isfinite([wrench.force.x, wrench.torque.z]).all()


def test_no_message_ends_the_node_or_makes_the_torque_non_finite(live, home):
    node = live('stream_timeout:=0.5', 'stretch:=auto')
    node.first_answer(NOW, home)
    publishers = {
        'joint_states': node.state_publisher,
        'joint_trajectory': node.trajectory_publisher,
        'reference': node.publisher(JointState, '/feedforward/reference'),
        'external_wrench': node.publisher(WrenchStamped, '/feedforward/external_wrench'),
        'stiffness': node.publisher(JointState, '/feedforward/stiffness'),
    }
    topics = list(publishers)
    shares = np.array([6, 3, 5, 3, 1]) / 18
    reports = node.subscribe(DiagnosticArray, '/diagnostics')
    hostile = Hostile(6, node.joints, home)
    make = {
        'joint_states': hostile.state, 'joint_trajectory': hostile.trajectory,
        'reference': hostile.state, 'external_wrench': hostile.wrench, 'stiffness': hostile.state}
    sent, wrong = dict.fromkeys(topics, 0), dict.fromkeys(topics, 0)
    t = NOW
    while sum(sent.values()) < COUNT:
        # Of each topic the node keeps the newest message only: one of each, then a turn for it.
        for topic in hostile.rng.choice(topics, 3, replace=False, p=shares):
            message = make[topic]()
            if isinstance(message, JointState):
                ahead = hostile.pick((1e-4,) * 60 + (0.0, -0.3, 0.2, 1e6, -900.0))
                at = message.header.stamp
                at.sec, at.nanosec = divmod(round((t + ahead) * 1e9), 10**9)
                t += 0.2 if ahead == 0.2 else 0.0
            sent[topic] += 1
            if hostile.rng.random() < 0.2:
                publishers[topic].publish(hostile.mutated(message))
            else:
                wrong[topic] += is_wrong(message)
                publishers[topic].publish(message)
        time.sleep(0.001)
        t = round(t + 0.001, 4)
        key = round(t * 1e9)
        node.send_state(t, home)
        sent['joint_states'] += 1
        node.spin_until(lambda key=key: key in node.answers['torque'], 0.05)
        assert node.process.poll() is None, node.log[-3000:]
    # It still answers, follows and reports.
    node.spin(1.0)
    for k in range(20):
        if node.answer(t + 10.0 + k, home) is not None:
            break
    else:
        raise AssertionError(node.log[-3000:])
    for topic, messages in node.messages.items():
        assert len(messages) > 100
        values = np.array([m.effort for m in messages])
        assert np.isfinite(values).all(), topic
        assert np.isfinite([m.position for m in messages]).all()
    seen = len(reports)
    assert node.spin_until(lambda: len(reports) > seen + 1, 10.0)
    report = {value.key: value.value for value in reports[-1].status[0].values}
    for topic in topics:
        received, rejected = (int(report[f'{what} {topic}']) for what in ('received', 'rejected'))
        lost = sent[topic] - received
        assert lost <= 0.05 * sent[topic] + 20, (sent, report)
        assert wrong[topic] - lost <= rejected <= received, (wrong, report)
        assert wrong[topic] > 20
        assert report[f'last rejected {topic}']
    for key in ('state', 'rate (Hz)', 'work p50 (us)', 'work p99 (us)', 'suggested lookahead (s)',
                'cycles', 'gaps', 'overruns', 'time left out', 'clipped cycles'):
        assert key in report
    assert 'Traceback' not in node.log, node.log[node.log.index('Traceback') - 300:][:3000]
    assert len(node.log) < 4_000_000
