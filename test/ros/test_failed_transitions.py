"""Changes of a node's life cycle that end it early, or that end in errors nobody foresaw."""
import sys

from lifecycle_msgs.msg import State
from live_motions import NOW, assert_no_step, in_motion
from node_process import arguments
import numpy as np
from processes import children, is_alive
import pytest

pytestmark = pytest.mark.live

# With each configuration something else fails, once.
NODE = """
import sys

from hodyn_ros.plans.planner import Planner
from hodyn_ros.ros import feedforward_node, session

places = [
    (feedforward_node, 'Outputs'), (feedforward_node.realtime, 'freeze_gc'),
    (session.Session, 'wind_down'), (Planner, 'close')]


def arm(owner, name):
    real = getattr(owner, name)

    def fail(*_, **__):
        setattr(owner, name, real)
        raise ValueError('in ' + name) if name == 'wind_down' else RuntimeError('in ' + name)

    setattr(owner, name, fail)


class FailingNode(feedforward_node.FeedforwardNode):
    def on_configure(self, state):
        if places:
            arm(*places.pop(0))
        return super().on_configure(state)


feedforward_node.FeedforwardNode = FailingNode
sys.exit(feedforward_node.main(['node', *sys.argv[1:]]))
"""


def test_a_node_that_is_shut_down_while_it_is_inactive_keeps_nothing(live):
    node = live('auto_activate:=false', ready=False)
    assert node.change('configure')
    pid = node.process.pid
    workers = children(pid)
    assert workers
    assert node.node.count_publishers('/feedforward/torque')
    assert node.change('inactive_shutdown')
    assert node.spin_until(lambda: not (
        node.node.count_publishers('/feedforward/torque') or any(map(is_alive, workers))), 20.0)
    assert node.process.poll() is None


def test_tolerances_for_other_joints_are_refused_before_compilation(live):
    """The robot is not ready only to fail where it is needed, at the activation."""
    node = live('auto_activate:=false', 'tracking_tolerance:=[0.1, 0.1]', ready=False)
    assert not node.change('configure')
    node.wait_log('parameter tracking_tolerance has 2 values for 7 joints; give one for all')
    assert not children(node.process.pid)
    assert node.set(tracking_tolerance=[0.1]) == ''
    assert node.change('configure')
    assert children(node.process.pid)


def test_an_unforeseen_error_leaves_the_node_unconfigured_and_configurable(live, home):
    node = live(
        ready=False, command=[
            sys.executable, '-c', NODE, *arguments('auto_activate:=false', 'fade:=0.2')])
    t = NOW
    changes = ['configure', 'activate', 'deactivate', 'cleanup']
    for k, error in enumerate((
            'RuntimeError: in Outputs', 'RuntimeError: in freeze_gc',
            'ValueError: in wind_down', 'RuntimeError: in close')):
        node.states.clear()
        for change in changes[:k]:
            assert node.change(change), node.log
            if change == 'activate':
                node.wait_ready()
                t = in_motion(node, home, t + 2.0, seconds=2.0)
        assert not node.change(changes[k])
        assert node.state_of_life() == State.PRIMARY_STATE_UNCONFIGURED
        assert error in node.log
        assert node.log.count('Traceback') == k + 1
    # It is as good as new.
    node.states.clear()
    assert node.change('configure'), node.log
    assert node.change('activate'), node.log
    node.wait_ready()
    there = [x - 0.1 for x in home]
    answers = node.first_answer(t + 1.0, there)
    np.testing.assert_array_equal(answers[0].position, there)
    for found in node.answers.values():
        found.clear()
    in_motion(node, there, t + 2.0)
    assert node.change('deactivate')
    assert node.spin_until(lambda: node.states[-1] == 'inactive', 5.0)
    assert_no_step(node)
    assert node.end() == 0
    assert node.log.count('Traceback') == 4
