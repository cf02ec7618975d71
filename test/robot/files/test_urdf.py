"""What a URDF says, of versions 1.0 to 1.2, as urdfdom and Pinocchio read it."""
import re

import numpy as np
import pytest
from robot_fuzz import urdf as random_urdf
from robot_judges import judged_by_pinocchio
from robot_texts import INERTIAL, LIMIT, ONE_JOINT, joined_link, limit, said, saved, tag, urdf

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_mapping


@pytest.mark.filterwarnings('ignore')  # of links without inertia
@pytest.mark.parametrize('seed', [*range(12), *range(13, 26)])  # nothing moves in number 12
def test_torques_are_those_of_pinocchio(tmp_path, seed):
    """Of trees with fixed links and mimics among them, some without inertia, and quaternions."""
    pytest.importorskip('pinocchio')
    path = tmp_path / 'random.urdf'
    path.write_text(random_urdf(np.random.default_rng(seed)))
    robot = hd.load_robot(path)
    assert not judged_by_pinocchio(path, robot).startswith('not')


def test_limits_are_taken_and_a_continuous_joint_has_no_range():
    limits = hd.load_robot(urdf(
        joined_link('l1', inside=LIMIT), joined_link('l3', 'l2', 'continuous', ''),
        joined_link('l2', 'l1', 'continuous', '<limit velocity="5" effort="6"/>'))).limits
    assert limits.position_min.tolist() == [-1, -np.inf, -np.inf]
    assert limits.position_max.tolist() == [2, np.inf, np.inf]
    assert limits.velocity.tolist() == [3, 5, np.inf]
    assert limits.effort.tolist() == [40, 6, np.inf]
    assert np.all(np.isinf(limits.acceleration))


def test_limits_of_acceleration_and_jerk_are_taken_from_urdf_1_2():
    def robot(**limits):
        return hd.load_robot(urdf(joined_link(
            'l1', inside=limit(velocity=None, effort=None, **limits)), version='1.2'))

    found = robot(acceleration=5, deceleration=4, jerk=60)
    assert found.limits.acceleration.tolist() == [4.0]  # the lesser of the two
    assert found.limits.jerk.tolist() == [60.0]
    assert np.isinf([found.limits.velocity, found.limits.effort]).all()
    assert robot_mapping(found)['limits'] == {
        'position': [[-1.0, 2.0]], 'acceleration': [4.0], 'jerk': [60.0]}
    with pytest.warns(UserWarning, match="'j1', <limit>: jerk is 0: taken as unknown"):
        assert np.isinf(robot(jerk=0).limits.jerk).all()


@pytest.mark.parametrize(('version', 'quaternion', 'rotation'), [
    *((version, '0 0.6 0 0.8', lie.rotation_y(2.0 * np.arctan2(0.6, 0.8)))
      for version in ('1.1', '1.2')),
    ('1.1', '0 0 0.71 0.71', lie.rotation_z(np.pi / 2))])  # of few digits
def test_a_quaternion_turns(version, quaternion, rotation):
    """It was read as no rotation, without a word."""
    robot = hd.load_robot(urdf(joined_link(
        'l1', origin=f'quat_xyzw="{quaternion}" xyz="1 2 3"'), version=version))
    home, _ = hd.forward_kinematics(robot, [0.0], 'l1')
    np.testing.assert_allclose(home, lie.pose(rotation, [1.0, 2.0, 3.0]), atol=1e-15)


@pytest.mark.parametrize('limits', [
    {'acceleration': [4.0], 'jerk': [60.0]}, {'jerk': [60.0]}, {'velocity': [3.0]}, {}])
def test_what_is_saved_is_of_the_version_that_it_needs(tmp_path, limits):
    keys = robot_mapping(hd.load_robot(ONE_JOINT))
    robot = hd.load_robot({**keys, 'limits': {'position': [[-1.0, 2.0]], **limits}})
    again = saved(robot, tmp_path / 'arm.urdf')
    assert ('version="1.2"' in (tmp_path / 'arm.urdf').read_text()) == ('jerk' in limits)
    for name in ('position_max', 'velocity', 'effort', 'acceleration', 'jerk'):
        assert getattr(again.limits, name) == getattr(robot.limits, name), name


def test_what_a_urdf_does_not_say_is_as_the_format_has_it():
    plain = ONE_JOINT.replace('<axis xyz="0 2 1"/>', '').replace(
        '<origin xyz="0 0.1 0.3" rpy="0.5 0 0"/>', '')
    robot = hd.load_robot(plain)
    np.testing.assert_array_equal(robot.gravity, [0.0, 0.0, -9.80665])
    turned = hd.forward_kinematics(robot, [0.3], 'l1')[0]
    np.testing.assert_allclose(turned, lie.pose(lie.rotation_x(0.3)), atol=1e-15)


def test_bodies_come_depth_first_in_document_order():
    robot = hd.load_robot(urdf(joined_link('c', 'a'), joined_link('b'), joined_link('a')))
    assert robot.joint_names == ('jb', 'ja', 'jc')


def test_a_moving_link_may_get_its_mass_from_one_fixed_to_it():
    robot = hd.load_robot(urdf(
        joined_link('l1', inertial=''), joined_link('l2', 'l1', 'fixed')))
    assert robot.bodies[0].mass == 2.0
    assert robot.frame('l2')[0] == 0


def test_a_base_without_mass_is_what_moves_none():
    with pytest.warns(UserWarning, match=r"'URDF': the base, alone or with others, can move"):
        hd.load_robot(ONE_JOINT.replace(
            '<origin xyz="0.1 0 0.02"/>', ''), floating_base=True)


def test_a_yaml_is_told_how_its_base_is_set_free():
    with pytest.raises(ValueError, match=(
            r'^twolink: floating_base is for .*the base the first body, with `type: floating`')):
        hd.load_robot('twolink', floating_base=True)
    with pytest.raises(hd.HodynError, match=r"^floating_base must be True or False, got 'no'"):
        hd.load_robot('twolink', floating_base='no')


def test_a_floating_base():
    robot = hd.load_robot(urdf(
        joined_link('hull', kind='floating'), joined_link('l1', 'hull')))
    assert robot.floating
    assert robot.joint_names == ('j1',)


def test_meshes_and_extensions_are_left_alone(capfd):
    visual = '<visual><geometry><mesh filename="file:///no/such.stl"/></geometry></visual>'
    text = urdf(
        '<transmission name="t"><nonsense/></transmission>', '<ros2_control name="c"/>',
        '<gazebo><joint name="j9"/></gazebo>',
        joined_link('l1', inside=f'{LIMIT}<dynamics damping="0"/><custom a="b"/>', inertial=(
            f'{visual}<collision>rubbish</collision>{INERTIAL}')).replace(
            'type=', 'vendor="x" type='))
    assert hd.load_robot(text).n == 1
    captured = capfd.readouterr()
    assert not captured.err
    assert not captured.out


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize(('texts', 'words'), [
    (('damping="1.5"', 'friction="0.2"', 'friction="0.0"'), 'of 2 joints'),
    (('damping="0"', 'friction="1e-3"', ''), 'of 1 joint'),
    (('damping="0.0" friction="0"', 'damping="0"', ''), None)])
def test_damping_and_friction_are_not_read_and_that_is_said(texts, words):
    text = urdf(*(joined_link(f'l{k}', inside=f'{LIMIT}<dynamics {one}/>')
                  for k, one in enumerate(texts)))
    assert hd.load_robot(text).friction is None
    lines = said(hd.load_robot, text)
    assert len(lines) == (words is not None)
    assert not lines or re.search(f'<dynamics> {words} is not used: .*identify', lines[0])


def test_files_are_read_and_named_in_messages(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(ONE_JOINT)
    assert hd.load_robot(path).joint_names == ('j1',)
    path.write_text(ONE_JOINT.replace('value="2"', 'value="-2"'))
    with pytest.raises(ValueError, match=rf"{path}.*body 'l1', key 'mass'.*below 0"):
        hd.load_robot(path)


def gripper(kind='prismatic', inside=LIMIT, **mimic):
    """Return an arm of two joints, the first of which carries two fingers."""
    return urdf(
        joined_link('l1', inside=LIMIT), joined_link('g1', 'l1', kind, inside),
        joined_link('g2', 'l1', kind, inside + tag('mimic', joint='jg1', **mimic)),
        joined_link('l2', 'l1', inside=limit(effort=50)))


def test_locked_joints_are_carried_where_they_are():
    text = gripper(inside='<limit velocity="0" effort="0"/>')
    robot = hd.load_robot(text, locked_joints={'jg1': 0.02, 'jg2': -0.03})
    assert robot.joint_names == ('j1', 'j2')
    assert robot.limits.effort.tolist() == [40, 50]
    free = hd.load_robot(gripper(inside=LIMIT).replace('<mimic joint="jg1"/>', ''))
    assert free.joint_names == ('j1', 'jg1', 'jg2', 'j2')
    kept = [0, 3]
    motion = np.array([[0.3, 0.02, -0.03, -0.4], [1.0, 0, 0, 2.0], [3.0, 0, 0, -1.0]])
    np.testing.assert_allclose(
        hd.inverse_dynamics(robot, motion[:, kept])[0],
        hd.inverse_dynamics(free, motion)[0][kept], rtol=1e-12)


@pytest.mark.parametrize('source', ['URDF', 'mapping'])
@pytest.mark.parametrize(('locked', 'words'), [
    # Millimetres for metres put a finger 20 m away, without a word.
    ({'jg1': 20.0}, "'jg1' is locked at 20, which is not within its range"),
    ({'jg1': np.nan, 'jg2': 0.0}, "'jg1' is locked at nan"),
    ({'jg1': 0.0, 'jg2': 0.0, 'g3': 0.0},
     "no joint 'g3' to lock; its joints are j1, j2, jg1, jg2$"),
])
def test_a_joint_is_not_locked_where_it_cannot_be(source, locked, words):
    robot = gripper() if source == 'URDF' else robot_mapping(hd.load_robot(gripper()))
    with pytest.raises(ValueError, match=words):
        hd.load_robot(robot, locked_joints=locked)


def test_a_joint_that_was_locked_when_the_file_was_made_is_not_called_unknown():
    made = robot_mapping(hd.load_robot(gripper(), locked_joints={'jg1': 0.01}))
    with pytest.raises(hd.HodynError, match=(
            r"'jg1' cannot be locked again: .* at 0\.01\. Make .* again .* --lock jg1=0\.02")):
        hd.load_robot(made, locked_joints={'jg1': 0.02})


@pytest.mark.parametrize(('kind', 'words'), [('revolute', '"continuous"'), ('prismatic', '')])
def test_a_limit_without_range_is_none_and_that_is_said(kind, words):
    text = ONE_JOINT.replace(LIMIT, '<limit velocity="1" effort="2"/>')
    with pytest.warns(UserWarning, match=f"'j1', <limit>: has no range, .*{words}"):
        robot = hd.load_robot(text.replace('"revolute"', f'"{kind}"'))
    assert np.isinf([robot.limits.position_min, robot.limits.position_max]).all()
    assert robot.limits.effort.tolist() == [2.0]


@pytest.mark.parametrize('axis', ['1e-200 0 0', '1e12 1e12 0'])
def test_an_axis_of_any_length_is_one(axis):
    direction = hd.load_robot(ONE_JOINT.replace('0 2 1', axis)).bodies[0].axis
    np.testing.assert_allclose(np.linalg.norm(direction), 1.0, rtol=1e-15)


def test_a_mimic_that_cannot_move_is_no_mimic():
    assert hd.load_robot(gripper('fixed')).joint_names == ('j1', 'j2')


@pytest.mark.parametrize('kind', ['prismatic', 'revolute'])
def test_a_mimic_of_a_locked_joint_is_where_that_takes_it(kind):
    text = gripper(kind, multiplier=-2, offset=0.1)
    one = hd.load_robot(text, locked_joints={'jg1': 0.3})
    both = hd.load_robot(text, locked_joints={'jg1': 0.3, 'jg2': -0.5})
    assert one.joint_names == ('j1', 'j2')
    np.testing.assert_allclose(
        one.kernel_model.body_table, both.kernel_model.body_table, rtol=1e-14, atol=1e-15)


@pytest.mark.parametrize(('normal', 'x', 'y'), [
    ('0 0 1', [1, 0, 0], [0, 1, 0]), ('1 0 0', [0, 1, 0], [0, 0, 1]),
    ('0 -2 0', [0, 0, -1], [1, 0, 0])])
def test_a_planar_joint_is_two_slides_and_a_turn(normal, x, y):
    robot = hd.load_robot(urdf(joined_link('l1', kind='planar', inside=LIMIT, axis=normal)))
    assert robot.joint_names == ('j1_x', 'j1_y', 'j1_yaw')
    assert not np.isfinite(robot.limits.velocity).any()
    home, _ = hd.forward_kinematics(robot, np.zeros(3), 'l1')
    moved, _ = hd.forward_kinematics(robot, np.array([0.3, -0.2, 0.5]), 'l1')
    in_home = np.linalg.inv(home) @ moved
    np.testing.assert_allclose(in_home[:3, 3], 0.3 * np.array(x) - 0.2 * np.array(y), atol=1e-15)
    axis = np.array(normal.split(), float)
    np.testing.assert_allclose(in_home[:3, :3] @ axis, axis, atol=1e-15)
    assert np.trace(in_home[:3, :3]) == pytest.approx(1.0 + 2.0 * np.cos(0.5))
