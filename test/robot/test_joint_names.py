"""Which of the names in a message are the robot's joints, under which prefix."""
import pytest

import hodyn_ros as hd
from hodyn_ros.common.errors import NoKnownJointError
from hodyn_ros.robot.joint_names import JointNames

ROBOTS = {name: hd.load_robot(name) for name in ('panda', 'twolink')}
JOINTS = [f'joint{i}' for i in range(1, 8)]


def names(*prefixes, joints=JOINTS):
    return [prefix + joint for prefix in prefixes for joint in joints]


FER, FR3, BOTH = names('fer_'), names('fr3_'), names('left_fer_', 'right_fer_')
LEFT = {'driver_prefix': 'left_fer_'}
ARMS = [*names('right_', 'left_', joints=JOINTS[:2]), 'torso']
FIRST, SECOND, THIRD = (list(range(7 * k, 7 * k + 7)) for k in range(3))


@pytest.mark.parametrize(('robot', 'options', 'given', 'indices'), [
    *(('panda', {}, names(prefix), FIRST) for prefix in ('', 'fer_', 'panda_', 'left_fer_')),
    # Order and further joints do not matter.
    ('panda', {}, ['fer_finger_joint1', *FER[::-1], 'fer_finger_joint2'], [7, 6, 5, 4, 3, 2, 1]),
    ('panda', {'allow_other_model': True}, FR3, FIRST),
    ('panda', {'prefix': 'fr3_'}, FR3, FIRST),
    ('panda', {'prefix': 'right_'}, BOTH, SECOND),
    ('panda', {}, BOTH + FER, THIRD),
    *(('panda', LEFT, names(prefix), FIRST) for prefix in ('left_fer_', '')),
    ('panda', LEFT, names('right_fer_', 'left_fer_'), SECOND),
    # A robot without prefixes takes its plain names only.
    ('twolink', {}, ['joint2', 'joint1'], [1, 0]),
    ('twolink', {'prefix': 'a_'}, ['a_joint1', 'a_joint2'], [0, 1])])
def test_the_joints_are_found_under_any_of_the_robots_prefixes(robot, options, given, indices):
    assert JointNames(ROBOTS[robot], **options).indices(given).tolist() == indices


@pytest.mark.parametrize(('robot', 'options', 'given', 'words'), [
    ('panda', {}, FR3, r"not joints of robot 'panda'.*joint_prefix:=fr3_ "),
    ('panda', {}, [name for name in FER if name[-1] not in '35'],
     r"'fer_joint3', 'fer_joint5' of robot 'panda' missing"),
    ('panda', {}, [name.replace('joint3', 'joint_3') for name in FER],
     r"'fer_joint3' .* have 'fer_joint_3' instead; lock"),
    ('panda', {}, [*FER, 'fer_joint2'], "'fer_joint2' is named twice"),
    ('panda', {}, BOTH, 'several arms'),
    ('panda', {'prefix': 'middle_'}, BOTH,
     r"'middle_' does not fit: .*'left_fer_' or 'right"),
    # Once the driver is known, another prefix is another arm's.
    *(('panda', LEFT, names(prefix), f"'{prefix}joint1' and .* another arm than 'left_fer_joint1'")
      for prefix in ('right_fer_', 'fer_', 'panda_', 'left_', 'fr3_')),
    ('panda', {'driver_prefix': ''}, FER, "another arm than 'joint1'"),
    ('panda', LEFT, [name for name in names('left_fer_') if name[-1] != '3'],
     "'left_fer_joint3' of robot 'panda' missing"),
    ('twolink', {}, ['a_joint1', 'a_joint2'],
     "'a_joint1' and the others are not joints of robot 'twolink'; load .*, give their "
     r'prefix: joint_prefix:=a_ \(node\), --joint-prefix a_ \(commands\)$'),
    # The first one's prefix was recommended, which may be the other arm's.
    ('twolink', {}, ARMS,
     "'left_joint1', 'right_joint1' and the others are not joints of robot 'twolink'; "
     'load .* for one of these arms, give its prefix: joint_prefix:=left_ or right_ '
     r'\(node\), --joint-prefix left_ or right_ \(commands\)$'),
    ('twolink', {'prefix': 'upper_'}, ARMS,
     "have the prefix 'left_' or 'right_'; give one of these")])
def test_joints_of_another_model_or_arm_and_missing_ones_are_named(robot, options, given, words):
    with pytest.raises(hd.HodynError, match=words):
        JointNames(ROBOTS[robot], **options).indices(given)


@pytest.mark.parametrize(('options', 'given', 'words'), [
    ({}, ['fer_finger_joint1', 'fer_finger_joint2'], 'no joint of robot'), ({}, [], ''),
    (LEFT, ['finger'], "expected 'left_fer_joint1'")])
def test_a_gripper_alone_is_none_of_ours(panda, options, given, words):
    with pytest.raises(NoKnownJointError, match=words):
        JointNames(panda, **options).indices(given)


def test_a_command_is_in_the_controllers_order(panda):
    joints = JointNames(panda)
    assert joints.command_order(['']).tolist() == FIRST
    assert joints.command_order(FER[::-1]).tolist() == FIRST[::-1]
    left = JointNames(joints.robot, prefix='left_')
    for prefix in ('', 'left_'):
        order = [prefix + name for name in joints.robot.joint_names[::-1]]
        assert left.command_order(order).tolist() == FIRST[::-1]
    with pytest.raises(ValueError, match="command_joints: it names 6 joints; 'panda' has 7"):
        joints.command_order(FER[:6])


def test_joints_of_an_active_arm_that_a_message_lacks_are_not_advised_to_be_locked(panda):
    """A stiffness or motor states may be for some joints; the robot has not changed."""
    names = [f'fer_joint{k}' for k in range(1, 7)]
    with pytest.raises(hd.HodynError, match=r'lock joints that do not move'):
        JointNames(panda).indices(names)
    with pytest.raises(hd.HodynError, match=r'missing among the names$'):
        JointNames(panda, driver_prefix='fer_').indices(names)
