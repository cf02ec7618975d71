import pytest

import hodyn_ros as hd
from hodyn_ros.common.errors import NoKnownJointError
from hodyn_ros.robot.joint_names import JointNames

PANDA = [f'joint{i}' for i in range(1, 8)]


def names(prefix, joints=PANDA):
    return [prefix + joint for joint in joints]


@pytest.mark.parametrize('prefix', ['', 'fer_', 'panda_', 'left_fer_'])
def test_finds_the_joints_under_any_of_the_robots_prefixes(panda, prefix):
    assert JointNames(panda).indices(names(prefix)).tolist() == list(range(7))


def test_order_and_further_joints_do_not_matter(panda):
    given = ['fer_finger_joint1', *reversed(names('fer_')), 'fer_finger_joint2']
    assert JointNames(panda).indices(given).tolist() == [7, 6, 5, 4, 3, 2, 1]


def test_a_gripper_alone_is_none_of_ours(panda):
    with pytest.raises(NoKnownJointError, match='no joint of robot'):
        JointNames(panda).indices(['fer_finger_joint1', 'fer_finger_joint2'])
    with pytest.raises(NoKnownJointError):
        JointNames(panda).indices([])


def test_another_models_joints_are_refused_unless_allowed(panda):
    with pytest.raises(ValueError, match=r"not joints of robot 'panda'.*joint_prefix:=fr3_ "):
        JointNames(panda).indices(names('fr3_'))
    assert len(JointNames(panda, allow_other_model=True).indices(names('fr3_'))) == 7
    assert len(JointNames(panda, prefix='fr3_').indices(names('fr3_'))) == 7


def test_missing_and_doubled_joints_are_named(panda):
    with pytest.raises(ValueError, match=r"'fer_joint3', 'fer_joint5' of robot 'panda' missing"):
        JointNames(panda).indices([n for n in names('fer_') if n[-1] not in '35'])
    misspelt = [name.replace('joint3', 'joint_3') for name in names('fer_')]
    with pytest.raises(ValueError, match=r"'fer_joint3' .* have 'fer_joint_3' instead; lock"):
        JointNames(panda).indices(misspelt)
    with pytest.raises(ValueError, match="'fer_joint2' is named twice"):
        JointNames(panda).indices([*names('fer_'), 'fer_joint2'])


def test_one_arm_of_two_is_chosen_by_its_prefix(panda):
    both = [*names('left_fer_'), *names('right_fer_')]
    with pytest.raises(ValueError, match='several arms'):
        JointNames(panda).indices(both)
    assert JointNames(panda, prefix='right_').indices(both).tolist() == list(range(7, 14))
    with pytest.raises(ValueError, match=r"'middle_' does not fit: .*'left_fer_' or 'right"):
        JointNames(panda, prefix='middle_').indices(both)
    assert JointNames(panda).indices([*both, *names('fer_')]).tolist() == list(range(14, 21))


def test_once_the_driver_is_known_another_prefix_is_another_arms(panda):
    joints = JointNames(panda, driver_prefix='left_fer_')
    for prefix in ('left_fer_', ''):
        assert joints.indices(names(prefix)).tolist() == list(range(7))
    for prefix in ('right_fer_', 'fer_', 'panda_', 'left_', 'fr3_'):
        with pytest.raises(
                ValueError, match=f"'{prefix}joint1' and .* another arm than 'left_fer_joint1'"):
            joints.indices(names(prefix))
    with pytest.raises(ValueError, match="another arm than 'joint1'"):
        JointNames(panda, driver_prefix='').indices(names('fer_'))
    both = [*names('right_fer_'), *names('left_fer_')]
    assert joints.indices(both).tolist() == list(range(7, 14))
    with pytest.raises(ValueError, match="'left_fer_joint3' of robot 'panda' missing"):
        joints.indices([n for n in names('left_fer_') if n[-1] != '3'])
    with pytest.raises(NoKnownJointError, match="expected 'left_fer_joint1'"):
        joints.indices(['finger'])


def test_a_robot_without_prefixes_takes_its_plain_names_only():
    twolink = hd.load_robot('twolink')
    assert JointNames(twolink).indices(['joint2', 'joint1']).tolist() == [1, 0]
    with pytest.raises(ValueError, match=(
            "'a_joint1' and the others are not joints of robot 'twolink'; load .*, give their "
            r'prefix: joint_prefix:=a_ \(node\), --joint-prefix a_ \(commands\)$')):
        JointNames(twolink).indices(['a_joint1', 'a_joint2'])
    assert JointNames(twolink, prefix='a_').indices(['a_joint1', 'a_joint2']).tolist() == [0, 1]


def test_each_arm_that_a_robot_without_prefixes_may_be_is_named():
    """The first one's prefix was recommended, which may be the other arm's."""
    twolink = hd.load_robot('twolink')
    both = ['right_joint1', 'right_joint2', 'left_joint1', 'left_joint2', 'torso']
    with pytest.raises(ValueError, match=(
            "'left_joint1', 'right_joint1' and the others are not joints of robot 'twolink'; "
            'load .* for one of these arms, give its prefix: joint_prefix:=left_ or right_ '
            r'\(node\), --joint-prefix left_ or right_ \(commands\)$')):
        JointNames(twolink).indices(both)
    with pytest.raises(ValueError, match="have the prefix 'left_' or 'right_'; give one of these"):
        JointNames(twolink, prefix='upper_').indices(both)


def test_a_command_is_in_the_controllers_order(panda):
    joints = JointNames(panda)
    assert joints.command_order(['']).tolist() == list(range(7))
    assert joints.command_order([*reversed(names('fer_'))]).tolist() == list(reversed(range(7)))
    with pytest.raises(ValueError, match="command_joints: it names 6 joints; 'panda' has 7"):
        joints.command_order(names('fer_')[:6])
