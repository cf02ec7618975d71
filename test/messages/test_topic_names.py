"""Names of joints in several messages of one topic: what is said of each, given the others."""
import traceback

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.common.errors import (
    HodynError,
    MissingJointsError,
    NoKnownJointError,
    OtherArmError,
)
from hodyn_ros.messages.topic_names import TopicNames
from hodyn_ros.robot.joint_names import JointNames

pytestmark = pytest.mark.fast

JOINTS = [f'joint{i}' for i in range(1, 8)]
LEFT, RIGHT = ([f'{side}_{joint}' for joint in JOINTS] for side in ('left', 'right'))


def of_topic(prefix=''):
    return TopicNames(JointNames(hd.load_robot('panda'), prefix=prefix))


def refused(names, message, kind=MissingJointsError):
    with pytest.raises(kind) as caught:
        names.indices(message)
    return str(caught.value)


def test_halves_in_two_messages_are_to_be_merged_and_not_locked():
    names = of_topic()
    first = refused(names, JOINTS[:4])
    assert "'joint5', 'joint6', 'joint7'" in first
    said = refused(names, JOINTS[4:])
    for again in (said, refused(names, JOINTS[:4]), names.latest(first)):
        assert again == said
        assert "come in separate messages ('joint1', 'joint2', 'joint3', 'joint4'; 'joi" in again
        assert 'joint_state_publisher with its parameter source_list' in again
        assert 'lock' not in again


def test_a_joint_in_no_message_may_still_be_locked():
    names = of_topic()
    for message in (JOINTS[:4], JOINTS[4:6]):
        assert 'lock joints that do not move' in refused(names, message)


def test_once_a_message_had_all_joints_none_need_be_locked():
    names = of_topic()
    first = refused(names, JOINTS[:6])
    assert 'lock joints' in first
    np.testing.assert_array_equal(names.indices(JOINTS), np.arange(7))
    for said in (refused(names, JOINTS[:6]), names.latest(first)):
        assert said == "joint 'joint7' of robot 'panda' missing among the names"


def test_joints_that_come_together_only_sometimes_should_always_do_so():
    names = of_topic()
    names.indices(JOINTS)
    refused(names, JOINTS[:4])
    assert refused(names, JOINTS[4:]).endswith(
        'the others come in other messages: let the driver send all joints in each message')


def test_another_arm_is_recommended_only_while_the_own_one_is_unseen():
    names = of_topic('left_')
    first = refused(names, RIGHT, OtherArmError)
    assert "'left_' does not fit" in first
    assert "'right_'; give this one" in first
    # Whichever message came last, the prefix that fits is named.
    assert refused(names, ['left_gripper'], NoKnownJointError) == first
    assert refused(names, RIGHT, OtherArmError) == first
    refused(names, LEFT[:4])
    unadvised = "'right_joint1', 'right_joint2', 'right_joint3' … are joints of another arm"
    for said in (refused(names, RIGHT, OtherArmError), names.latest(first)):
        assert said.startswith(unadvised)
    np.testing.assert_array_equal(names.indices(LEFT), np.arange(7))
    assert refused(names, RIGHT, OtherArmError).startswith(unadvised)
    assert refused(names, ['left_gripper'], NoKnownJointError).startswith('no joint of robot')


@pytest.mark.parametrize('parts', [(LEFT + RIGHT,), (RIGHT, LEFT), (LEFT, RIGHT, ['torso'])])
def test_each_arm_of_a_topic_that_the_robot_may_be_is_recommended(parts):
    names = of_topic()
    first = ''
    for part in parts:
        with pytest.raises(NoKnownJointError) as caught:
            names.indices(part)
        first = first or str(caught.value)
    said = names.latest(first)
    assert "'left_joint1', 'right_joint1' and the others are not joints of robot 'panda'" in said
    assert 'joint_prefix:=left_ or right_ (node)' in said
    assert refused(names, parts[0], OtherArmError) == said


def test_ever_new_names_are_refused_and_forgotten():
    names = of_topic()
    for k in range(1000):
        said = refused(names, [f'wheel{k}'], NoKnownJointError)
        assert names.latest(said) == said
    np.testing.assert_array_equal(names.indices(JOINTS), np.arange(7))


@pytest.mark.parametrize('others', [['wheel'], RIGHT, JOINTS[:3]])
def test_no_memory_grows_with_messages_that_cannot_be_used(others):
    """Each raise of the same error would add frames, and with them messages, to its traceback."""
    names = of_topic('left_' if others is RIGHT else '')
    depths = set()
    for _ in range(100):
        with pytest.raises(HodynError) as caught:
            names.indices(others)
        assert caught.value.__context__ is None
        depths.add(len(list(traceback.walk_tb(caught.value.__traceback__))))
    assert len(depths) == 1
