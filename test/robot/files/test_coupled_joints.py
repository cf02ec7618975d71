"""Joints that follow others, in URDF, YAML and MJCF: what they follow, their limits, refusals."""
import pickle

import numpy as np
import pytest
from random_robots import assert_close, random_mapping, random_motion
from robot_texts import LIMIT, WIDE, joined_link, limit, said, saved, tag, urdf

import hodyn_ros as hd
from hodyn_ros.robot import Mimic
from hodyn_ros.robot.files import with_limits
from hodyn_ros.robot.joint_names import JointNames


def hand(*joints, types=('prismatic',) * 4):
    """Return a robot whose joints j0, j1 … at the base are given by what is in their elements."""
    return urdf(*(
        joined_link(f'l{i}', kind=kind, inside=joint, axis='0 1 1', origin='xyz="0 0 0"')
        for i, (joint, kind) in enumerate(zip(joints, types, strict=False))), name='hand')


def mimic(joint, inside=WIDE, **attributes):
    return inside + tag('mimic', joint=joint, **attributes)


def test_a_follower_is_no_joint():
    robot = hd.load_robot(hand(mimic('j1', multiplier=-2, offset=0.1), WIDE, WIDE))
    assert robot.joint_names == ('j1', 'j2')
    assert robot.n == 2
    assert robot.limits.velocity.shape == (2,)
    assert robot.bodies[0].mimic == Mimic('j1', -2.0, 0.1)
    assert [body.name for body in robot.joint_bodies] == ['l1', 'l2']
    np.testing.assert_array_equal(robot.coupling.matrix(), [[-2, 0], [1, 0], [0, 1]])


def test_a_chain_follows_its_first_joint_in_whatever_order():
    robot = hd.load_robot(hand(
        mimic('j1', multiplier=3, offset=1), mimic('j2', multiplier=-0.5, offset=0.2), WIDE))
    assert [body.mimic for body in robot.bodies] == [
        Mimic('j2', -1.5, 1.6), Mimic('j2', -0.5, 0.2), None]


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
    with pytest.raises(ValueError, match='expected 2, got 3: one for each of joint0, joint2; '
                       'joints that follow others have none'):
        hd.load_robot({**keys, 'rotor_inertia': [3.0, 4.0, 5.0]})


@pytest.mark.parametrize(('locked', 'message'), [
    (['j0'], 'j0 follows j2, which'), (['j1'], 'j1 follows j2, which'), (['j2'], ''),
    (['j0', 'j1'], 'j1 follows j2, which'), (['j0', 'j2'], ''), (['j0', 'j1', 'j2'], '')])
def test_who_is_warned_of_follows_a_joint_that_stays_free(locked, message):
    lines = said(hd.load_robot, hand(mimic('j1'), mimic('j2'), WIDE, WIDE),
                 locked_joints=dict.fromkeys(locked, 0.1))
    assert len(lines) == bool(message)
    assert not lines or message in lines[0]


@pytest.mark.parametrize(('locked', 'positions'), [
    ({'j2': 0.4}, {'j2': 0.4, 'j1': 0.0, 'j0': 1.0}),  # j0 = 3 j1 + 1, j1 = −0.5 j2 + 0.2
    ({'j1': 0.1, 'j2': 0.4}, {'j1': 0.1, 'j2': 0.4, 'j0': 1.3}),
    ({'j3': 0.5}, {'j3': 0.5}), ({}, {})])
def test_what_follows_a_locked_joint_is_locked_where_it_follows_to(locked, positions):
    robot = hd.load_robot(hand(
        mimic('j1', multiplier=3, offset=1), mimic('j2', multiplier=-0.5, offset=0.2), WIDE,
        WIDE, mimic('j5', offset=0.3), '', WIDE, mimic('j6', multiplier=0, offset=0.3),
        types=['prismatic'] * 5 + ['fixed'] + ['prismatic'] * 2), locked_joints=locked)
    assert dict(robot.locked) == pytest.approx(positions)
    for joint, position in robot.locked:
        placed = robot.frame(f'l{joint[1]}')[1][:3, 3]
        np.testing.assert_allclose(placed, position * np.sqrt([0.0, 0.5, 0.5]), atol=1e-15)


def test_a_locked_joint_without_the_one_that_it_follows_locks_no_other():
    with pytest.warns(UserWarning, match='j1 follows j0, which is not locked'):
        robot = hd.load_robot(hand(WIDE, mimic('j0'), mimic('j0')), locked_joints={'j1': 0.1})
    assert robot.locked == (('j1', 0.1),)


@pytest.mark.parametrize(('leader', 'multiplier'), [('fixed', 1.5), ('prismatic', 0.0)])
def test_what_follows_without_moving_is_fixed(leader, multiplier):
    text = hand(WIDE, mimic('j0', multiplier=multiplier, offset=0.3), WIDE,
                types=[leader, 'prismatic', 'prismatic'])
    robot = hd.load_robot(text)
    assert said(hd.load_robot, text) == [
        "robot 'URDF', body 'l1', mimic, key 'multiplier': 0 fixes the joint at 0.3: is this "
        'meant? To fix a joint, lock it (locked_joints, --lock)'] * (multiplier == 0.0)
    assert 'j1' not in [body.joint for body in robot.bodies]
    assert robot.locked == ()
    np.testing.assert_allclose(
        robot.frame('l1')[1][:3, 3], [0.0, 0.3 * np.sqrt(0.5), 0.3 * np.sqrt(0.5)])


@pytest.mark.parametrize(('multiplier', 'offset', 'range_', 'velocity'), [
    (2.0, 0.1, (-0.3, 0.2), 0.25), (-2.0, 0.1, (-0.2, 0.3), 0.25), (0.1, 0.0, (-1.0, 2.0), 3.0)])
def test_limits_are_such_that_those_who_follow_keep_theirs(multiplier, offset, range_, velocity):
    limits = hd.load_robot(hand(LIMIT, mimic(
        'j0', limit(-0.5, 0.5, 0.5, 1), multiplier=multiplier, offset=offset))).limits
    np.testing.assert_allclose([limits.position_min[0], limits.position_max[0]], range_)
    np.testing.assert_allclose([limits.velocity[0], limits.effort[0]], [velocity, 40.0])


def test_limits_of_acceleration_and_jerk_of_a_follower_bind_what_it_follows():
    limits = hd.load_robot(hand(
        limit(velocity=None, effort=None),
        mimic('j0', limit(-9, 9, 8, None, acceleration=6, jerk=4), multiplier=-2)).replace(
            'version="1.0"', 'version="1.2"')).limits
    assert [getattr(limits, name).tolist() for name in ('velocity', 'acceleration', 'jerk')
            ] == [[4.0], [3.0], [2.0]]


def test_a_range_that_cannot_be_kept_is_left_out_and_that_is_said():
    with pytest.warns(UserWarning, match=(
            "'j1', which is at −j0, cannot be within its range, 0.1 to 0.8")):
        robot = hd.load_robot(hand(limit(0, 0.8), mimic('j0', limit(0.1, 0.8), multiplier=-1)))
    assert robot.limits.position_max[0] == 0.8


def test_an_effort_limit_of_0_of_a_joint_without_motor_is_no_warning():
    assert said(hd.load_robot, hand(WIDE, mimic('j0', limit(-9, 9, 9, 0)))) == []


def test_limits_of_followers_in_a_file_are_left_out_with_a_warning():
    robot = hd.load_robot(hand(WIDE, mimic('j0')))
    with pytest.warns(UserWarning, match="joint 'j1' is left out: it follows j0"):
        robot = with_limits(robot, {'limits': {'j0': {'velocity': 1.0}, 'j1': {'velocity': 2.0}}})
    assert robot.limits.velocity.tolist() == [1.0]


def test_names_of_followers_are_as_others_that_are_none_of_the_robots():
    robot = hd.load_robot(hand(mimic('j1'), WIDE, WIDE))
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
    for other in (saved(robot, tmp_path / 'robot.yaml'), pickle.loads(pickle.dumps(robot))):
        assert_close(hd.inverse_dynamics(other, q), expected, 1e-12)
        assert [body.mimic for body in other.bodies] == [body.mimic for body in robot.bodies]
    back = saved(robot, tmp_path / 'robot.urdf')
    order = [back.joint_names.index(joint) for joint in robot.joint_names]
    arranged = np.empty_like(q)
    arranged[..., order] = q
    assert_close(hd.inverse_dynamics(back, arranged)[..., order], expected, 1e-11)


def test_limits_of_a_saved_urdf_are_the_same(tmp_path):
    robot = hd.load_robot(hand(LIMIT, mimic('j0', multiplier=-0.5, offset=0.1)))
    back = saved(robot, tmp_path / 'robot.urdf')
    for name in ('position_min', 'position_max', 'velocity', 'effort'):
        np.testing.assert_allclose(getattr(back.limits, name), getattr(robot.limits, name))


def mjcf(equality, second_ref=0.0):
    """Return two slides, of which the second starts elsewhere and has smaller drives."""
    return pytest.importorskip('mujoco').MjModel.from_xml_string(
        '<mujoco><compiler angle="radian"/><worldbody>' + ''.join(
            f'<body name="{name}">' + tag(
                'joint', name=name, type='slide', axis='1 0 0', limited='true', armature=armature,
                damping=damping, range=ends, ref=ref)
            + '<inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body>'
            for name, armature, damping, ends, ref in (
                ('left', 0.1, 1.0, '0 0.5', 0.2), ('right', 0.01, 0.25, '-1 1', second_ref)))
        + f'</worldbody><equality>{equality}</equality></mujoco>')


LINE = '<joint joint1="right" joint2="left"/>'


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
        mjcf(LINE + '<connect body1="left" anchor="0 0 0" active="false"/>'),
        locked_joints={'right': 0.1})
    assert locked.joint_names == ('left',)
    assert locked.rotor_inertia.tolist() == [0.1]


@pytest.mark.parametrize('equality', [
    *(LINE.replace('/>', f' polycoef="{numbers}"/>') for numbers in ('0 1 2 0 0', '1 0 0 0 0')),
    '<joint joint1="right"/>', 2 * LINE])
def test_other_couplings_of_mujoco_are_refused(equality):
    with pytest.raises(ValueError, match=r"the equality of 'right'.* must be linear in two"):
        hd.load_robot(mjcf(equality))


@pytest.mark.parametrize(('lower', 'upper', 'is_asked'), [
    (-40, 74, True), (-2, 2, False), (-1e9, 1e9, False)])
def test_degrees_are_asked_about_although_followers_narrow_the_range(lower, upper, is_asked):
    text = hand(limit(lower, upper), mimic('j0', limit(-3, 3)))
    assert is_asked == any(
        'are these degrees? j0 (-40 to 74, by its followers -3 to 3)' in line
        for line in said(hd.load_robot, text))
