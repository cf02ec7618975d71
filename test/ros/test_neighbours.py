"""Who is in the way of a node and who is not, without any of them: fast."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros.ros import neighbours
from hodyn_ros.ros.diagnostics import Monitor
from hodyn_ros.ros.neighbours import Neighbours, full_name

STATES, TORQUE = '/joint_states', '/left/feedforward/torque'
MS = 10**6


class Graph:
    """A node as `Neighbours` asks it: who publishes what, and which nodes there are."""

    def __init__(self):
        self.topics = {TORQUE: [('feedforward', '/left', '')]}
        self.nodes = [('feedforward', '/left'), ('driver', '/')]
        self.logged = []

    def publish(self, topic, name, namespace='/', kind='sensor_msgs/msg/JointState'):
        self.topics.setdefault(topic, []).append((name, namespace, kind))

    def resolve_topic_name(self, name):
        known = {'joint_states': STATES, '~/torque': TORQUE}
        return known.get(name, '/left/feedforward' + name[1:])

    def count_publishers(self, topic):
        return len(self.topics.get(topic, ()))

    def get_publishers_info_by_topic(self, topic):
        return [
            SimpleNamespace(node_name=name, node_namespace=namespace, topic_type=kind)
            for name, namespace, kind in self.topics.get(topic, ())]

    def get_fully_qualified_name(self):
        return '/left/feedforward'

    def get_node_names_and_namespaces(self):
        return self.nodes

    def get_logger(self):
        return SimpleNamespace(error=self.logged.append, warning=self.logged.append)


@pytest.fixture
def clock(monkeypatch):
    """Return a clock that a test sets: its `now`, s."""
    found = SimpleNamespace(now=100.0)
    monkeypatch.setattr(neighbours, 'time', SimpleNamespace(monotonic=lambda: found.now))
    return found


@pytest.fixture
def graph():
    return Graph()


@pytest.fixture
def monitor():
    return Monitor()


@pytest.fixture
def scene(graph, monitor, clock):
    return Neighbours(graph, monitor)



def test_a_node_that_is_configured_again_is_no_second_publisher(scene, graph):
    graph.publish(TORQUE, 'feedforward', '/left')
    scene.look()
    assert not scene.fault
    graph.nodes.append(('feedforward', '/left'))
    scene.look()
    assert f'2 times /left/feedforward all publish {TORQUE}' in scene.fault


def test_others_on_its_outputs_are_a_fault_until_they_are_gone(scene, graph, clock):
    graph.publish(TORQUE, 'other', '/right')
    graph.publish(TORQUE, 'other', '/right')
    scene.look()
    assert scene.fault.startswith(
        f'/left/feedforward, 2 times /right/other all publish {TORQUE}: end all but one')
    assert 'a killed node counts until the middleware drops it' in scene.fault
    assert graph.logged == [scene.fault]
    # It is said again after ten seconds, and not before.
    for now, times in ((109.9, 1), (110.0, 2), (119.0, 2), (120.5, 3)):
        clock.now = now
        scene.look()
        assert len(graph.logged) == times
    del graph.topics[TORQUE][1:]
    scene.look()
    assert scene.fault == ''


def test_a_node_of_the_same_name_is_told_and_no_fault(scene, graph):
    graph.nodes += [('feedforward', '/right'), ('feedforward', '/')]
    scene.look()
    assert graph.logged == []
    graph.nodes.append(('feedforward', '/left/'))
    scene.look()
    assert scene.fault == ''
    (said,) = graph.logged
    assert said.startswith('2 nodes have the name /left/feedforward: ')


def states(scene, graph, *positions, period=MS):
    """Take joint states, a period apart, and look around."""
    for k, position in enumerate(positions, 1):
        scene.compare(np.array(position), k * period)
    scene.look()
    return scene.fault


TURNS = [[0.0, 0.0], [0.0, 0.5]] * 3


def test_drivers_that_take_turns_are_a_fault(scene, graph):
    # Also one alone may jump: there is no other to blame.
    assert states(scene, graph, *TURNS) == ''
    graph.publish(STATES, 'driver')
    graph.publish(STATES, 'playback', '/bag')
    scene.look()
    assert scene.share_states
    assert scene.fault == ''  # what came before is over
    fault = states(scene, graph, *TURNS)
    assert fault.startswith(
        f'/bag/playback, /driver publish states of this arm on {STATES} that contradict')
    assert graph.logged == [fault]
    scene.look()
    assert scene.fault == ''


@pytest.mark.parametrize('positions', [
    [[0.001 * k, -0.3 * k] for k in range(9)],  # fast, one way
    [[0.0, 0.0], [0.0, 0.0099]] * 5,  # noise
    [[0.0, 0.0], [0.0, 0.5], [0.0, 0.0], [0.0, 0.5]],  # twice, which may be a jerk
], ids=['motion', 'noise', 'twice'])
def test_what_one_arm_can_do_is_no_contradiction(scene, graph, positions):
    for name in ('driver', 'gripper'):
        graph.publish(STATES, name)
    assert states(scene, graph, *positions) == ''


def test_a_little_more_than_noise_is_one(scene, graph):
    for name in ('driver', 'gripper'):
        graph.publish(STATES, name)
    assert states(scene, graph, *[[0.0, 0.0], [0.0, 0.0101]] * 3) != ''


def test_stamps_that_do_not_go_on_are_of_two_drivers(scene, graph):
    for name in ('driver', 'playback'):
        graph.publish(STATES, name)
    assert states(scene, graph, *[[0.0, 0.0]] * 4, period=0) != ''
    assert states(scene, graph, *[[0.0, 0.0]] * 4) == ''  # the first may be before the last


def test_a_fault_of_the_outputs_comes_first(scene, graph):
    for name in ('driver', 'playback'):
        graph.publish(STATES, name)
    graph.publish(TORQUE, 'other')
    assert 'all publish' in states(scene, graph, *TURNS)


def test_the_positions_of_a_message_that_is_used_again_are_kept(scene, graph):
    """The reader gives the same array each time."""
    for name in ('driver', 'playback'):
        graph.publish(STATES, name)
    position = np.zeros(2)
    for k in range(8):
        position[1] = 0.5 * (k % 2)
        scene.compare(position, k * MS)
    scene.look()
    assert scene.fault



def test_publishers_are_named_with_their_namespaces(scene, graph):
    graph.publish('/left/feedforward/reference', 'slider')
    graph.publish('/left/feedforward/reference', 'slider', '/a/b')
    assert scene.publishers('/left/feedforward/reference') == '/a/b/slider, /slider'


@pytest.mark.parametrize(('name', 'namespace', 'whole'), [
    ('arm', '/', '/arm'), ('arm', '/left', '/left/arm'), ('arm', '/left/', '/left/arm')])
def test_names_are_from_the_root(name, namespace, whole):
    assert full_name(name, namespace) == whole
