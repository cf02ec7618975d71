"""Joint states of one topic in separate messages: of locked joints, two arms, half an arm."""
import time

from live_motions import NOW
import numpy as np
import pytest
from rigid_bodies import link
import yaml

pytestmark = pytest.mark.live

LEFT, RIGHT = ([f'{side}_fer_joint{i}' for i in range(1, 8)] for side in ('left', 'right'))


def drive(node, parts, until, seconds=20.0):
    """Send states, each of some joints, (names, positions), in turn until something."""
    end = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < end, (node.states, node.reason, node.log)
        for names, positions in parts:
            # The topic keeps one message: the next may come before it is taken.
            node.send_state(time.time(), positions, name=names)
            node.spin(0.01)


def test_a_locked_joint_elsewhere_keeps_a_node_waiting_and_later_warns(live, home):
    arm = [f'fer_joint{i}' for i in range(1, 7)]
    node = live("locked_joints:=['joint7=0.785']", joints=arm)

    def states(joint7):
        return (arm, home[:6]), (['fer_joint7'], [joint7])

    drive(node, states(2.0), lambda: 'joint7 is locked at 0.785, but stands at 2' in node.reason)
    assert 'locked_joints: joint7=2)' in node.log
    assert node.states[-1] == 'waiting'
    assert not node.messages['torque']
    drive(node, states(0.785), lambda: node.states[-1] == 'holding')
    drive(node, states(0.785), lambda: len(node.messages['torque']) > 5)
    torque = node.messages['torque'][-1].effort
    count = len(node.messages['torque'])
    drive(node, states(1.0), lambda: node.reason == 'joint7 is not at its lock, 0.785')
    drive(node, states(1.0), lambda: 'joint7 is locked at 0.785, but stands at 1: the torque is '
          'still computed for the lock' in node.log)
    assert node.states[-1] == 'holding'
    np.testing.assert_array_equal(
        [message.effort for message in node.messages['torque'][count:]],
        [torque] * (len(node.messages['torque']) - count))


def test_the_other_arm_is_locked_and_its_joints_are_named_too(live, tmp_path):
    """No torque depends on where it is: with the own joints in one message, or by itself."""
    bodies = [
        link(name, joint=f'{name}_joint', com=[0.1, 0.0, 0.0]) for name in ('left', 'right')]
    path = tmp_path / 'arms.yaml'
    path.write_text(yaml.safe_dump({'name': 'arms', 'bodies': bodies}))
    node = live(
        f'robot:={path}', "locked_joints:=['right_joint=0.5']", joints=['left_joint'], ready=False)
    both = (['right_joint', 'left_joint'], [0.5, 0.1])
    drive(node, [both], lambda: node.states and node.states[-1] == 'holding')
    drive(node, [both], lambda: len(node.messages['torque']) > 20)
    apart = (['left_joint'], [0.1]), (['right_joint'], [1.5])
    count = len(node.messages['torque'])
    drive(node, apart, lambda: len(node.messages['torque']) > count + 20)
    assert set(node.states) <= {'waiting', 'holding'}
    assert 'Traceback' not in node.log
    torque = {tuple(message.effort) for message in node.messages['torque']}
    assert torque == {(node.messages['torque'][0].effort[0],)}
    assert node.messages['torque'][0].effort[0] == pytest.approx(
        -9.80665 * 0.1 * np.cos(0.1), rel=1e-9)


def test_two_arms_on_one_topic_are_no_fault_of_either(live, home):
    node = live('joint_prefix:=left_', joints=LEFT)
    elsewhere = [q + 0.1 for q in home]
    parts = (RIGHT, elsewhere), (LEFT, home)
    drive(node, parts, lambda: node.states[-1] == 'holding')
    end = time.monotonic() + 2.5
    drive(node, parts, lambda: time.monotonic() > end)
    assert 'give this one' not in node.log
    assert 'joint_states rejected' not in node.log
    assert {tuple(message.name) for message in node.messages['torque']} == {tuple(LEFT)}


def test_an_arm_of_another_prefix_is_named_while_the_own_is_missing(live, home):
    node = live('joint_prefix:=left_', joints=LEFT)
    drive(node, [(RIGHT, home)], lambda: "have the prefix 'right_fer_'" in node.reason)
    assert node.states[-1] == 'waiting'


OTHERS = ("'{0}joint1', '{0}joint2', '{0}joint3' … are joints of another arm on this topic; if "
          'they are those of this arm, activate the node again, with their joint_prefix').format


@pytest.mark.parametrize(('prefix', 'said', 'options'), [
    ('right_fer_', "'right_fer_joint1' and the others are of another arm than 'left_fer_joint1'",
     ()),
    ('cobot_', OTHERS('cobot_'), ()),
    ('cobot_', OTHERS('cobot_'), ('joint_prefix:=left_',))])
def test_a_driver_that_comes_back_with_another_prefix_is_named(live, home, prefix, said, options):
    """The node said only that the joint states were lost."""
    node = live('state_timeout:=0.5', *options, joints=LEFT)
    # An arm that sends its states all along is not the reason.
    drive(node, [(LEFT, home), (RIGHT, home)] if options else [(LEFT, home)],
          lambda: len(node.messages['torque']) > 20)
    if options:
        drive(node, [(RIGHT, home)], lambda: node.states[-1] == 'fault')
        assert node.reason == 'joint states are lost'
    others = [f'{prefix}joint{i}' for i in range(1, 8)]
    drive(node, [(others, home)], lambda: node.reason.startswith(
        f'joint states are lost: {said}'))
    assert node.states[-1] == 'fault'
    assert said in node.log
    drive(node, [(LEFT, home)], lambda: node.states[-1] == 'holding')


def test_halves_of_an_arm_are_said_to_need_merging(live, home):
    node = live()
    parts = (node.joints[:4], home[:4]), (node.joints[4:], home[4:])
    drive(node, parts, lambda: 'joint_state_publisher with its parameter' in node.reason)
    assert "the joints come in separate messages ('fer_joint" in node.log
    assert 'lock joints' not in node.log
    assert node.first_answer(NOW, home)
