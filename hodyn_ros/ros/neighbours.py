"""Looks once a second for other nodes on the topics, and reports them."""
from collections import Counter
import time

from diagnostic_msgs.msg import DiagnosticStatus
import numpy as np
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.reasons import cause_of
from hodyn_ros.ros.diagnostics import Monitor, printable

STATE_TYPE = 'sensor_msgs/msg/JointState'
SAY_AGAIN = 10.0  # period of repeated errors, s
WAIT_AGAIN = 60.0  # period of repeated warnings while waiting, s
# If positions alternate by more than this, rad or m, two drivers report different arms.
MIN_CONTRADICTION = 0.01
MIN_CONTRADICTIONS = 3  # least number of contradictions in a second that is reported
ANSWER_TIMEOUT = 1.0  # time in which a running node repeats its latched state, s
UNTIL_LEFT = (
    'a killed node counts until the middleware drops it (after 20 s by default)')


class Neighbours:
    """Other nodes on the topics of this one, and whether they conflict with it."""

    def __init__(self, node: Node, monitor: Monitor) -> None:
        self.fault = ''  #: Conflicting nodes, and what to do; empty if there are none
        #: Whether several nodes publish joint states; if so, call `compare` with each state
        self.share_states = False
        self._node = node
        self._monitor = monitor
        self._states = node.resolve_topic_name('joint_states')
        self._torque = node.resolve_topic_name('~/torque')
        self._said: dict[str, float] = {}
        self._waits = ''
        self._is_heard = False
        self._began = time.monotonic()
        self._contradictions = 0
        self._last_stamp = 0
        self._last: Array | None = None
        self._last_change: Array | None = None

    def compare(self, position: Array, stamp: int) -> None:
        """Take positions, (n,), and their stamp, ns, to detect drivers whose states alternate."""
        if self._last is not None:
            change = position - self._last
            change[np.abs(change) <= MIN_CONTRADICTION] = 0.0
            turns = self._last_change is not None and bool(
                (change * self._last_change < 0.0).any())
            self._contradictions += turns or stamp <= self._last_stamp
            self._last_change = change
        self._last, self._last_stamp = position.copy(), stamp

    def look(self) -> None:
        """Look for other nodes; log conflicts at once and then every ten seconds."""
        self.fault = ''
        name = self._node.get_fully_qualified_name()
        namesakes = Counter(
            full_name(*entry) for entry in self._node.get_node_names_and_namespaces())[name] - 1
        # A node that was cleaned up and configured at once counts twice for a moment.
        if self._node.count_publishers(self._torque) > 1 and (
                namesakes > 0 or set(self._senders(self._torque)) != {name}):
            self.fault = (
                f'{self.publishers(self._torque)} all publish {self._torque}: end all but one, '
                f'or give each a name, namespace or remapping of its own; {UNTIL_LEFT}')
        elif namesakes > 0:
            self._say('namesakes', (
                f'{namesakes + 1} nodes have the name {name}: a request for a service or a '
                'parameter may reach any of them; start each with a name or namespace of its own'))
        self.share_states = self._node.count_publishers(self._states) > 1
        if self.share_states and self._contradictions >= MIN_CONTRADICTIONS:
            self.fault = self.fault or (
                f'{self.publishers(self._states)} publish states of this arm on {self._states} '
                'that contradict each other: end all but the driver, or remap joint_states to a '
                'topic that only the driver uses')
        self._contradictions = 0
        if self.fault:
            self._say('fault', self.fault)

    def why_waiting(self) -> str:
        """Return why there is no joint state yet; log a new reason at once, then every minute."""
        topic, received = self._states, self._monitor.received['joint_states']
        reason = f'for a joint state on {topic}'
        is_heard, self._is_heard = self._is_heard, bool(received)
        # In the first second publishers are still being discovered. Right after the first message,
        # another publisher may still send what the message lacks.
        if time.monotonic() - self._began < 1.0 or is_heard != self._is_heard:
            return reason
        if received:
            last = self._monitor.complaints.last.get('joint_states', 'see the log')
            reason += f': none of those received can be used: {last}'
        else:
            strangers = sorted({
                f'{full_name(i.node_name, i.node_namespace)} ({i.topic_type})'
                for i in self._node.get_publishers_info_by_topic(topic)
                if i.topic_type != STATE_TYPE})
            if not self._node.count_publishers(topic):
                reason += ': nobody publishes it; start the driver, or remap joint_states'
            elif strangers:
                reason += (
                    f': {", ".join(strangers)} publishes another type there than {STATE_TYPE}')
            else:
                reason += f': {self.publishers(topic)} has sent none yet'
        # A driver may start later: a new cause is logged at once, the same one rarely.
        now = time.monotonic()
        if cause_of(reason) != self._waits or now - self._said.get('waiting', now) >= WAIT_AGAIN:
            self._waits, self._said['waiting'] = cause_of(reason), now
            self._node.get_logger().warning(
                printable(f'waiting: {reason} ({received} received)'))
        return printable(reason)

    def publishers(self, topic: str) -> str:
        """Return the names of the nodes that publish a topic, given by its full name."""
        return ', '.join(
            f'{times} times {name}' if times > 1 else name
            for name, times in sorted(self._senders(topic).items()))

    def rivals(self, topic: str) -> str:
        """Return that several nodes publish an input, of this full name; empty if one does."""
        senders = self._node.count_publishers(topic)
        return '' if senders < 2 else (
            f'{senders} nodes publish it ({self.publishers(topic)}); all are ignored until only '
            f'one is left; {UNTIL_LEFT}')

    def _senders(self, topic: str) -> Counter[str]:
        return Counter(
            full_name(i.node_name, i.node_namespace)
            for i in self._node.get_publishers_info_by_topic(topic))

    def _say(self, kind: str, text: str) -> None:
        now = time.monotonic()
        if now - self._said.get(kind, -SAY_AGAIN) >= SAY_AGAIN:
            self._said[kind] = now
            self._node.get_logger().error(printable(text))


def full_name(name: str, namespace: str) -> str:
    """Return the fully qualified name of a node, or a phrase if it is not known yet."""
    if 'UNKNOWN' in name or 'UNKNOWN' in namespace:
        return 'a node that is still being discovered'
    return f'{namespace.rstrip("/")}/{name}'


def state_of_another(node: Node) -> str:
    """Return the state of another active node with this node's topics; empty if there is none.

    Call it before this node reports a state. It waits a second if another publisher on the topics
    does not answer: a node that was killed is still listed for a while.
    """
    if node.count_publishers(node.resolve_topic_name('~/torque')) < 2:
        return ''
    subscription = node.create_subscription(
        DiagnosticStatus, '~/state', lambda message: None,
        QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL))
    end = time.monotonic() + ANSWER_TIMEOUT
    try:
        while time.monotonic() < end:
            # Taken by hand: this runs in a callback, so no other callback can run meanwhile.
            with subscription.handle:
                taken = subscription.handle.take_message(DiagnosticStatus, False)
            if taken is None:
                time.sleep(0.01)
            elif taken[0].message != 'inactive':
                return str(taken[0].message)
    finally:
        node.destroy_subscription(subscription)
    return ''
