"""Joints that follow others, in URDF, YAML and MJCF: what they follow, their limits, refusals."""
import pickle
import warnings

import numpy as np
import pytest
from random_robots import assert_close, random_mapping, random_motion

import hodyn_ros as hd
from hodyn_ros.robot import Mimic
from hodyn_ros.robot.files import robot_mapping, with_limits
from hodyn_ros.robot.joint_names import JointNames

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0.02"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.03" iyz="0" izz="0.025"/></inertial>')
WIDE = '<limit lower="-9" upper="9" velocity="9" effort="9"/>'


def urdf(*joints, types=None):
    """Return a robot whose joints j0, j1 … are given by what is in their elements."""
    types = types or ['prismatic'] * len(joints)
    text = ''.join(
        f'<link name="l{i}">{INERTIAL}</link><joint name="j{i}" type="{kind}">'
        f'<parent link="base"/><child link="l{i}"/><axis xyz="0 1 1"/>{joint}</joint>'
        for i, (joint, kind) in enumerate(zip(joints, types, strict=True)))
    return f'<robot name="hand"><link name="base"/>{text}</robot>'


def mimic(joint, **attributes):
    more = ''.join(f' {name}="{value}"' for name, value in attributes.items())
    return f'{WIDE}<mimic joint="{joint}"{more}/>'


def test_a_follower_is_no_joint():
    robot = hd.load_robot(urdf(mimic('j1', multiplier=-2, offset=0.1), WIDE, WIDE))
    assert robot.joint_names == ('j1', 'j2')
    assert robot.n == 2
    assert robot.limits.velocity.shape == (2,)
    assert robot.bodies[0].mimic == Mimic('j1', -2.0, 0.1)
    assert [body.name for body in robot.joint_bodies] == ['l1', 'l2']
    np.testing.assert_array_equal(robot.coupling.matrix(), [[-2, 0], [1, 0], [0, 1]])


def test_a_chain_follows_its_first_joint_in_whatever_order():
    robot = hd.load_robot(urdf(
        mimic('j1', multiplier=3, offset=1), mimic('j2', multiplier=-0.5, offset=0.2), WIDE))
    assert [body.mimic for body in robot.bodies] == [
        Mimic('j2', -1.5, 1.6), Mimic('j2', -0.5, 0.2), None]


@pytest.mark.parametrize('source', ['URDF', 'mapping'])
@pytest.mark.parametrize(('joints', 'message'), [
    ([mimic('j1'), mimic('j0'), WIDE], "cycle: 'j0', 'j1', 'j0'"),
    ([mimic('j0'), WIDE, WIDE], "cycle: 'j0', 'j0'"),
    ([mimic('j9'), WIDE, WIDE],
     "joint 'j0' mimics 'j9', but there is no joint with one degree of freedom of this name; "
     'those that move are j0, j1, j2'),
    ([mimic('j1', multiplier='nan'), WIDE, WIDE], "'[jl]0'.*mimic.*not finite"),
])
def test_what_cannot_be_followed_is_named(source, joints, message):
    text = urdf(*joints)
    if source == 'mapping':
        text = robot_mapping(hd.load_robot(urdf(WIDE, WIDE, WIDE)))
        for body, joint in zip(text['bodies'], joints, strict=False):
            if 'mimic' in joint:
                body['mimic'] = {'joint': joint.split('mimic joint="')[1][:2], 'multiplier': (
                    np.nan if 'nan' in joint else 1.0)}
    with pytest.raises(ValueError, match=message):
        hd.load_robot(text)


@pytest.mark.parametrize(('types', 'message'), [
    (['planar', 'prismatic'], "joint 'j0', <mimic>: a planar joint cannot mimic another"),
    (['floating', 'prismatic'], "joint 'j0', <mimic>: a floating joint cannot mimic another"),
])
def test_what_has_several_positions_cannot_follow(types, message):
    with pytest.raises(ValueError, match=message):
        hd.load_robot(urdf(mimic('j1'), WIDE, types=types))


@pytest.mark.parametrize('kind', ['planar', 'floating'])
def test_what_has_several_positions_cannot_be_followed(kind):
    with pytest.raises(ValueError, match="joint 'j1' mimics 'j0', but there is no joint with one"):
        hd.load_robot(urdf('', mimic('j0'), types=[kind, 'prismatic']))


@pytest.mark.parametrize(('change', 'message'), [
    ({'mimic': 'joint2'}, "body 'body1', mimic: expected a mapping"),
    ({'mimic': {'multiplier': 2.0}}, "body 'body1', mimic: key 'joint' is missing"),
    ({'mimic': {'joint': 'joint2', 'factor': 2.0}}, "mimic: unknown key 'factor'"),
    ({'mimic': {'joint': 'joint2'}, 'type': 'fixed'}, "key 'mimic': a fixed joint cannot follow"),
])
def test_keys_of_a_mapping_are_checked(change, message):
    keys = random_mapping(np.random.default_rng(0), 3)
    keys['bodies'][1] |= change
    with pytest.raises(ValueError, match=message):
        hd.load_robot(keys)


def test_lists_have_entries_for_the_joints_that_move_by_themselves():
    keys = random_mapping(np.random.default_rng(0), 3, kinds=('revolute',))
    keys['bodies'][1]['mimic'] = {'joint': 'joint2'}
    keys |= {'limits': {'velocity': [1.0, 2.0]}, 'rotor_inertia': [3.0, 4.0]}
    robot = hd.load_robot(keys)
    assert robot.limits.velocity.tolist() == [1.0, 2.0]
    assert robot.rotor_inertia.tolist() == [3.0, 4.0]
    # Locked, the joint is still one of the list, and the follower goes with it.
    with pytest.raises(hd.HodynError, match='locked_joints must map joints to positions'):
        hd.load_robot(keys, locked_joints=['joint2'])
    locked = hd.load_robot(keys, locked_joints={'joint2': 0.5})
    assert locked.joint_names == ('joint0',)
    assert locked.rotor_inertia.tolist() == [3.0]
    # The follower alone may be locked too, with a warning.
    with pytest.warns(UserWarning, match='joint1 follows joint2, which is not locked: their coup'):
        alone = hd.load_robot(keys, locked_joints={'joint1': 0.5})
    assert alone.joint_names == ('joint0', 'joint2')
    one, other = hd.load_robot(keys, locked_joints={'joint1': 0.5, 'joint2': 0.5}), locked
    np.testing.assert_allclose(
        one.kernel_model.body_table, other.kernel_model.body_table, atol=1e-15)
    with pytest.raises(ValueError, match='expected 2, got 3'):
        hd.load_robot({**keys, 'rotor_inertia': [3.0, 4.0, 5.0]})


@pytest.mark.parametrize(('locked', 'message'), [
    (['j0'], 'j0 follows j2, which'), (['j1'], 'j1 follows j2, which'), (['j2'], ''),
    (['j0', 'j1'], 'j1 follows j2, which'), (['j0', 'j2'], ''), (['j0', 'j1', 'j2'], '')])
def test_who_is_warned_of_follows_a_joint_that_stays_free(locked, message):
    text = urdf(mimic('j1'), mimic('j2'), WIDE, WIDE)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        hd.load_robot(text, locked_joints=dict.fromkeys(locked, 0.1))
    assert len(caught) == bool(message), [str(one.message) for one in caught]
    assert not caught or message in str(caught[0].message)


@pytest.mark.parametrize(('locked', 'positions'), [
    ({'j2': 0.4}, {'j2': 0.4, 'j1': 0.0, 'j0': 1.0}),  # j0 = 3 j1 + 1, j1 = −0.5 j2 + 0.2
    ({'j1': 0.1, 'j2': 0.4}, {'j1': 0.1, 'j2': 0.4, 'j0': 1.3}),
    ({'j3': 0.5}, {'j3': 0.5}), ({}, {})])
def test_what_follows_a_locked_joint_is_locked_where_it_follows_to(locked, positions):
    robot = hd.load_robot(urdf(
        mimic('j1', multiplier=3, offset=1), mimic('j2', multiplier=-0.5, offset=0.2), WIDE,
        WIDE, mimic('j5', offset=0.3), '', WIDE, mimic('j6', multiplier=0, offset=0.3),
        types=['prismatic'] * 5 + ['fixed'] + ['prismatic'] * 2), locked_joints=locked)
    assert dict(robot.locked) == pytest.approx(positions)
    for joint, position in robot.locked:
        placed = robot.frame(f'l{joint[1]}')[1][:3, 3]
        np.testing.assert_allclose(placed, position * np.sqrt([0.0, 0.5, 0.5]), atol=1e-15)


def test_a_locked_joint_without_the_one_that_it_follows_locks_no_other():
    with pytest.warns(UserWarning, match='j1 follows j0, which is not locked'):
        robot = hd.load_robot(urdf(WIDE, mimic('j0'), mimic('j0')), locked_joints={'j1': 0.1})
    assert robot.locked == (('j1', 0.1),)


@pytest.mark.parametrize(('leader', 'multiplier'), [('fixed', 1.5), ('prismatic', 0.0)])
def test_what_follows_without_moving_is_fixed(leader, multiplier):
    text = urdf(WIDE, mimic('j0', multiplier=multiplier, offset=0.3), WIDE,
                types=[leader, 'prismatic', 'prismatic'])
    robot = hd.load_robot(text)
    assert 'j1' not in [body.joint for body in robot.bodies]
    assert robot.locked == ()
    np.testing.assert_allclose(
        robot.frame('l1')[1][:3, 3], [0.0, 0.3 * np.sqrt(0.5), 0.3 * np.sqrt(0.5)])


@pytest.mark.parametrize(('multiplier', 'offset', 'range_', 'velocity'), [
    (2.0, 0.1, (-0.3, 0.2), 0.25), (-2.0, 0.1, (-0.2, 0.3), 0.25), (0.1, 0.0, (-1.0, 2.0), 3.0)])
def test_limits_are_such_that_those_who_follow_keep_theirs(multiplier, offset, range_, velocity):
    robot = hd.load_robot(urdf(
        '<limit lower="-1" upper="2" velocity="3" effort="40"/>',
        '<limit lower="-0.5" upper="0.5" velocity="0.5" effort="1"/>'
        f'<mimic joint="j0" multiplier="{multiplier}" offset="{offset}"/>'))
    limits = robot.limits
    np.testing.assert_allclose([limits.position_min[0], limits.position_max[0]], range_)
    np.testing.assert_allclose([limits.velocity[0], limits.effort[0]], [velocity, 40.0])


def test_a_range_that_cannot_be_kept_is_left_out_and_that_is_said():
    text = urdf(
        '<limit lower="0" upper="0.8" velocity="3" effort="40"/>',
        '<limit lower="0.1" upper="0.8" velocity="3" effort="40"/>'
        '<mimic joint="j0" multiplier="-1"/>')
    with pytest.warns(UserWarning, match=(
            "'j1', which is at −j0, cannot be within its range, 0.1 to 0.8")):
        robot = hd.load_robot(text)
    assert robot.limits.position_max[0] == 0.8


def test_an_effort_limit_of_0_of_a_joint_without_motor_is_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        hd.load_robot(urdf(
            WIDE, '<limit lower="-9" upper="9" velocity="9" effort="0"/><mimic joint="j0"/>'))


def test_limits_of_followers_in_a_file_are_left_out_with_a_warning():
    robot = hd.load_robot(urdf(WIDE, mimic('j0')))
    with pytest.warns(UserWarning, match="joint 'j1' follows j0: left out"):
        robot = with_limits(robot, {'limits': {'j0': {'velocity': 1.0}, 'j1': {'velocity': 2.0}}})
    assert robot.limits.velocity.tolist() == [1.0]


def test_names_of_followers_are_as_others_that_are_none_of_the_robots():
    robot = hd.load_robot(urdf(mimic('j1'), WIDE, WIDE))
    finder = JointNames(robot)
    assert finder.indices(['j0', 'j2', 'j1']).tolist() == [2, 1]
    with pytest.raises(ValueError, match="'j2' of robot 'hand' missing among the names"):
        finder.indices(['j0', 'j1'])


def test_actuators_are_those_of_the_joints_that_move_by_themselves():
    keys = random_mapping(np.random.default_rng(0), 3, kinds=('revolute',))
    keys['bodies'][1]['mimic'] = {'joint': 'joint2'}
    rigid = {'law': 'rigid', 'motor': {'inertia': 0.1}}
    keys['actuators'] = {'joint0': rigid, 'joint2': rigid}
    assert hd.load_robot(keys).actuators.names == ('joint0', 'joint2')
    keys['actuators']['joint1'] = rigid
    with pytest.raises(ValueError, match="actuators: unknown key 'joint1'"):
        hd.load_robot(keys)


@pytest.mark.parametrize('seed', range(4))
def test_a_saved_robot_is_the_same(tmp_path, seed):
    rng = np.random.default_rng(seed)
    keys = random_mapping(rng, 6, ('revolute', 'prismatic'), serial=False, coupled=True)
    keys |= {'gravity': [0.0, 0.0, -9.80665]}
    keys['bodies'][2]['mimic'] = {'joint': 'joint1', 'multiplier': -0.7}
    keys['bodies'][1].pop('mimic', None)
    robot = hd.load_robot(keys)
    q = random_motion(rng, robot, 2)
    expected = hd.inverse_dynamics(robot, q)
    hd.save_robot(robot, tmp_path / 'robot.yaml')
    for other in (hd.load_robot(tmp_path / 'robot.yaml'), pickle.loads(pickle.dumps(robot))):
        assert_close(hd.inverse_dynamics(other, q), expected, 1e-12)
        assert [body.mimic for body in other.bodies] == [body.mimic for body in robot.bodies]
    hd.save_robot(robot, tmp_path / 'robot.urdf')
    back = hd.load_robot(tmp_path / 'robot.urdf')
    order = [back.joint_names.index(joint) for joint in robot.joint_names]
    arranged = np.empty_like(q)
    arranged[..., order] = q
    assert_close(hd.inverse_dynamics(back, arranged)[..., order], expected, 1e-11)


def test_limits_of_a_saved_urdf_are_the_same(tmp_path):
    robot = hd.load_robot(urdf(
        '<limit lower="-1" upper="2" velocity="3" effort="40"/>',
        mimic('j0', multiplier=-0.5, offset=0.1)))
    hd.save_robot(robot, tmp_path / 'robot.urdf')
    back = hd.load_robot(tmp_path / 'robot.urdf')
    for name in ('position_min', 'position_max', 'velocity', 'effort'):
        np.testing.assert_allclose(getattr(back.limits, name), getattr(robot.limits, name))


BODY = """<body name="{0}"><joint name="{0}" type="slide" axis="1 0 0" armature="{1}"
  damping="{2}" range="{3}" ref="{4}" limited="true"/>
  <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body>"""


def mjcf(equality, second_ref=0.0):
    return pytest.importorskip('mujoco').MjModel.from_xml_string(
        '<mujoco><compiler angle="radian"/><worldbody>'
        + BODY.format('left', 0.1, 1.0, '0 0.5', 0.2)
        + BODY.format('right', 0.01, 0.25, '-1 1', second_ref)
        + f'</worldbody><equality>{equality}</equality></mujoco>')


def test_joints_that_mujoco_holds_on_a_line_are_coupled():
    """MuJoCo's polynomial is of what the joints are away from where they are at first."""
    robot = hd.load_robot(mjcf(
        '<joint joint1="right" joint2="left" polycoef="0.1 -3 0 0 0"/>', 0.7))
    assert robot.joint_names == ('left',)
    mimic = robot.bodies[1].mimic
    assert (mimic.joint, mimic.multiplier) == ('left', -3.0)
    np.testing.assert_allclose(mimic.offset, 0.7 + 0.1 + 3.0 * 0.2)
    np.testing.assert_allclose(robot.rotor_inertia, [0.1 + 9.0 * 0.01])
    np.testing.assert_allclose(robot.friction.viscous, [1.0 + 9.0 * 0.25])
    np.testing.assert_allclose(
        [robot.limits.position_min[0], robot.limits.position_max[0]], [0.4 / 3.0, 0.5])
    locked = hd.load_robot(
        mjcf('<joint joint1="right" joint2="left"/>' + '<connect body1="left" anchor="0 0 0" '
             'active="false"/>'), locked_joints={'right': 0.1})
    assert locked.joint_names == ('left',)
    assert locked.rotor_inertia.tolist() == [0.1]


@pytest.mark.parametrize('equality', [
    '<joint joint1="right" joint2="left" polycoef="0 1 2 0 0"/>', '<joint joint1="right"/>',
    '<joint joint1="right" joint2="left" polycoef="1 0 0 0 0"/>',
    '<joint joint1="right" joint2="left"/><joint joint1="right" joint2="left"/>'])
def test_other_couplings_of_mujoco_are_refused(equality):
    with pytest.raises(ValueError, match=r"an equality of 'right'.* is not linear in two"):
        hd.load_robot(mjcf(equality))
