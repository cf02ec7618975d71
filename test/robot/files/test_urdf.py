import warnings

import numpy as np
import pytest
from random_robots import random_inertia

import hodyn_ros as hd
from hodyn_ros.robot import lie
from hodyn_ros.robot.files import robot_mapping

pin = pytest.importorskip('pinocchio')

INERTIAL = (
    '<inertial><origin xyz="0.1 0 0.02" rpy="0.3 -0.2 1"/><mass value="2"/>'
    '<inertia ixx="0.02" ixy="0.001" ixz="0" iyy="0.03" iyz="-0.002" izz="0.025"/></inertial>')
LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="40"/>'


def joint(name, parent, child, kind='revolute', extra=''):
    return (
        f'<joint name="{name}" type="{kind}"><origin xyz="0 0.1 0.3" rpy="0.5 0 0"/>'
        f'<parent link="{parent}"/><child link="{child}"/><axis xyz="0 2 1"/>{extra}</joint>')


def arm(*elements, base='<link name="base"/>'):
    return f'<?xml version="1.0"?><robot name="arm">{base}{"".join(elements)}</robot>'


def link(name, inertial=INERTIAL):
    return f'<link name="{name}">{inertial}</link>'


ONE_JOINT = arm(link('l1'), joint('j1', 'base', 'l1', extra=LIMIT))


def vector(values):
    return ' '.join(repr(float(value)) for value in values)


def random_inertial(rng):
    mass = rng.uniform(0.1, 5.0)
    tensor = random_inertia(rng, mass).tolist()
    entries = ' '.join(
        f'i{"xyz"[i]}{"xyz"[j]}="{tensor[i][j]}"' for i in range(3) for j in range(i, 3))
    return (
        f'<inertial><origin xyz="{vector(rng.normal(scale=0.2, size=3))}" '
        f'rpy="{vector(rng.uniform(-3, 3, size=3))}"/><mass value="{mass!r}"/>'
        f'<inertia {entries}/></inertial>')


def turn(rng, version):
    if version == '1.0' or rng.random() < 0.5:
        return f'rpy="{vector(rng.uniform(-3, 3, size=3))}"'
    quaternion = rng.normal(size=4)
    quaternion /= np.linalg.norm(quaternion)
    return f'quat_xyzw="{vector(quaternion)}"'


def random_urdf(rng, n):
    """Return a tree of n links with fixed ones among them, some of those without inertia."""
    version = str(rng.choice(['1.0', '1.1', '1.2']))
    elements = ['<link name="base"/>']
    for i in range(n):
        kind = str(rng.choice(['revolute', 'continuous', 'prismatic', 'fixed']))
        if i == 0:
            kind = 'revolute'
        bare = kind == 'fixed' and rng.random() < 0.5
        elements.append(link(f'l{i}', '' if bare else random_inertial(rng)))
        parent = 'base' if i == 0 else f'l{rng.integers(0, i)}'
        elements.append(
            f'<joint name="j{i}" type="{kind}"><origin xyz="{vector(rng.normal(size=3))}" '
            f'{turn(rng, version)}/><parent link="{parent}"/>'
            f'<child link="l{i}"/><axis xyz="{vector(rng.normal(size=3))}"/>'
            '<limit lower="-3" upper="3" velocity="1" effort="1"/></joint>')
    return f'<robot name="random" version="{version}">' + ''.join(elements) + '</robot>'


@pytest.mark.parametrize('seed', range(25))
def test_torques_are_those_of_pinocchio(seed):
    rng = np.random.default_rng(seed)
    text = random_urdf(rng, int(rng.integers(1, 15)))
    robot = hd.load_robot(text)
    model = pin.buildModelFromXML(text)
    assert sorted(robot.joint_names) == sorted(list(model.names)[1:])

    motion = rng.normal(size=(3, robot.n))
    configuration, columns = pin.neutral(model), []
    velocity, acceleration = np.zeros((2, model.nv))
    for i, name in enumerate(robot.joint_names):
        there = model.joints[model.getJointId(name)]
        columns.append(there.idx_v)
        if there.nq == 2:  # continuous: cosine and sine
            configuration[there.idx_q:there.idx_q + 2] = np.cos(motion[0, i]), np.sin(motion[0, i])
        else:
            configuration[there.idx_q] = motion[0, i]
    velocity[columns], acceleration[columns] = motion[1], motion[2]
    model.gravity.linear = robot.gravity
    expected = pin.rnea(model, model.createData(), configuration, velocity, acceleration)[columns]
    torque = hd.inverse_dynamics(robot, motion)[0]
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(torque, expected, rtol=0, atol=1e-10 * scale)


def test_limits_are_taken_and_a_continuous_joint_has_no_range():
    robot = hd.load_robot(arm(
        link('l1'), link('l2'), link('l3'), joint('j1', 'base', 'l1', extra=LIMIT),
        joint('j2', 'l1', 'l2', 'continuous', '<limit velocity="5" effort="6"/>'),
        joint('j3', 'l2', 'l3', 'continuous')))
    assert robot.limits.position_min.tolist() == [-1, -np.inf, -np.inf]
    assert robot.limits.position_max.tolist() == [2, np.inf, np.inf]
    assert robot.limits.velocity.tolist() == [3, 5, np.inf]
    assert robot.limits.effort.tolist() == [40, 6, np.inf]
    assert np.all(np.isinf(robot.limits.acceleration))


def test_what_a_urdf_does_not_say_is_as_the_format_has_it():
    plain = ONE_JOINT.replace('<axis xyz="0 2 1"/>', '').replace(
        '<origin xyz="0 0.1 0.3" rpy="0.5 0 0"/>', '')
    robot = hd.load_robot(plain)
    np.testing.assert_array_equal(robot.gravity, [0.0, 0.0, -9.80665])
    turned = hd.forward_kinematics(robot, [0.3], 'l1')[0]
    np.testing.assert_allclose(turned, lie.pose(lie.rotation_x(0.3)), atol=1e-15)


def test_bodies_come_depth_first_in_document_order():
    robot = hd.load_robot(arm(
        link('a'), link('b'), link('c'), joint('jc', 'a', 'c'), joint('jb', 'base', 'b'),
        joint('ja', 'base', 'a')))
    assert robot.joint_names == ('jb', 'ja', 'jc')


def test_a_moving_link_may_get_its_mass_from_one_fixed_to_it():
    robot = hd.load_robot(arm(
        link('l1', ''), link('l2'), joint('j1', 'base', 'l1'), joint('weld', 'l1', 'l2', 'fixed')))
    assert robot.bodies[0].mass == 2.0
    assert robot.frame('l2')[0] == 0


def test_a_base_without_mass_is_what_moves_none():
    text = """<robot name="a"><link name="base"/><link name="l1"><inertial><mass value="1"/>
      <inertia ixx=".1" iyy=".1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="j1" type="continuous"><parent link="base"/><child link="l1"/></joint></robot>"""
    with pytest.warns(UserWarning, match=r"'URDF': the base, alone or with others, can move"):
        hd.load_robot(text, floating_base=True)


def test_a_yaml_is_told_how_its_base_is_set_free():
    with pytest.raises(ValueError, match=(
            r'^twolink: floating_base is for .*as the first body, with `type: floating` and')):
        hd.load_robot('twolink', floating_base=True)


def test_a_floating_base():
    robot = hd.load_robot(arm(
        link('hull'), link('l1'), joint('free', 'base', 'hull', 'floating'),
        joint('j1', 'hull', 'l1')))
    assert robot.floating
    assert robot.joint_names == ('j1',)


def test_meshes_and_extensions_are_left_alone(capfd):
    text = arm(
        '<link name="l1"><visual><geometry><mesh filename="file:///no/such.stl"/></geometry>'
        f'</visual><collision>rubbish</collision>{INERTIAL}</link>',
        '<transmission name="t"><nonsense/></transmission>', '<ros2_control name="c"/>',
        '<gazebo><joint name="j9"/></gazebo>',
        joint('j1', 'base', 'l1', extra='<dynamics damping="0"/><custom a="b"/>').replace(
            'type=', 'vendor="x" type='))
    assert hd.load_robot(text).n == 1
    captured = capfd.readouterr()
    assert not captured.err
    assert not captured.out


def test_damping_and_friction_are_not_read_and_that_is_said():
    def with_dynamics(*texts):
        return arm(*(link(f'l{k}') for k in range(3)), *(
            joint(f'j{k}', parent, f'l{k}', extra=f'{LIMIT}<dynamics {text}/>')
            for k, (parent, text) in enumerate(zip(('base', 'l0', 'l1'), texts, strict=True))))

    with pytest.warns(UserWarning, match='<dynamics> of 2 joints is not used: .*identify') as said:
        robot = hd.load_robot(with_dynamics('damping="1.5"', 'friction="0.2"', 'friction="0.0"'))
    assert len(said) == 1
    assert robot.friction is None
    with pytest.warns(UserWarning, match='<dynamics> of 1 joint is not used'):
        hd.load_robot(with_dynamics('damping="0"', 'friction="1e-3"', ''))
    with warnings.catch_warnings():
        warnings.simplefilter('error')
        hd.load_robot(with_dynamics('damping="0.0" friction="0"', 'damping="0"', ''))


def test_files_are_read_and_named_in_messages(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(ONE_JOINT)
    assert hd.load_robot(path).joint_names == ('j1',)
    path.write_text(ONE_JOINT.replace('value="2"', 'value="-2"'))
    with pytest.raises(ValueError, match=rf"{path}.*body 'l1', key 'mass'.*below 0"):
        hd.load_robot(path)


def test_locked_joints_are_carried_where_they_are():
    text = arm(
        link('l1'), link('l2'), link('f1'), link('f2'), joint('j1', 'base', 'l1', extra=LIMIT),
        joint('g1', 'l1', 'f1', 'prismatic', '<limit velocity="0" effort="0"/>'),
        joint('g2', 'l1', 'f2', 'prismatic', '<mimic joint="g1"/>'),
        joint('j2', 'l1', 'l2', extra=LIMIT.replace('40', '50')))
    robot = hd.load_robot(text, locked_joints={'g1': 0.02, 'g2': -0.03})
    assert robot.joint_names == ('j1', 'j2')
    assert robot.limits.effort.tolist() == [40, 50]
    free = hd.load_robot(
        text.replace('velocity="0" effort="0"', 'velocity="1" effort="1" upper="1"').replace(
            '<mimic joint="g1"/>', ''))
    assert free.joint_names == ('j1', 'g1', 'g2', 'j2')
    kept = [0, 3]
    motion = np.array([[0.3, 0.02, -0.03, -0.4], [1.0, 0, 0, 2.0], [3.0, 0, 0, -1.0]])
    np.testing.assert_allclose(
        hd.inverse_dynamics(robot, motion[:, kept])[0],
        hd.inverse_dynamics(free, motion)[0][kept], rtol=1e-12)
    with pytest.raises(
            ValueError, match="no joint 'g3' to lock; its joints are j1, g1, g2, j2"):
        hd.load_robot(text, locked_joints={'g1': 0.0, 'g2': 0.0, 'g3': 0.0})
    with pytest.raises(ValueError, match="'g1' is locked at nan"):
        hd.load_robot(text, locked_joints={'g1': np.nan, 'g2': 0.0})


@pytest.mark.parametrize('source', ['URDF', 'mapping'])
def test_a_joint_is_not_locked_where_it_cannot_be(source):
    """Millimetres for metres put a finger 20 m away, without a word."""
    robot = arm(
        link('l1'), link('f1'), joint('j1', 'base', 'l1'),
        joint('g1', 'l1', 'f1', 'prismatic', LIMIT))
    robot = robot if source == 'URDF' else robot_mapping(hd.load_robot(robot))
    with pytest.raises(ValueError, match=r"'g1' is locked at 20, which is not within its range"):
        hd.load_robot(robot, locked_joints={'g1': 20.0})


@pytest.mark.parametrize(('text', 'message'), [
    ('<!DOCTYPE robot [<!ENTITY a "b">]>' + ONE_JOINT, 'DOCTYPE'),
    ('<robot name="x"><!ENTITY a "b"></robot>', 'line 1, column .*: not valid XML'),
    ('<robot name="x">' + ' ' * (4 * 1024 * 1024), 'larger than'),
    ('<robot name="x">' + '<a>' * 100000 + '</a>' * 100000 + '</robot>', 'nested deeper'),
    ('<robot name="x">', 'not valid XML'),
    ('<sdf/>', 'expected a <robot>'),
    ('<robot/>', 'has no name'),
    ('<robot name="x" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>', 'xacro'),
    (arm(link('l1', ''), joint('j1', 'base', 'l1')), 'nothing that moves has a mass'),
    (ONE_JOINT.replace('value="2"', ''), "link 'l1'"),
    (ONE_JOINT.replace('value="2"', 'value="nan"'), "'l1', <mass>: value is 'nan', not finite"),
    (ONE_JOINT.replace('value="2"', 'value="two"'), "link 'l1'.*two"),
    (ONE_JOINT.replace('izz="0.025"', 'izz="-0.025"'), "body 'l1', key 'inertia'"),
    (ONE_JOINT.replace('izz="0.025"', ''), "link 'l1'.*izz"),
    (ONE_JOINT.replace('xyz="0 2 1"', 'xyz="0 0 0"'), "joint 'j1'.*not an axis"),
    (ONE_JOINT.replace('xyz="0 2 1"', 'xyz="0 2"'),
     "line 1, joint 'j1', <axis>: xyz is '0 2', expected 3 numbers"),
    (ONE_JOINT.replace('rpy="0.5 0 0"', 'rpy="inf 0 0"'), "joint 'j1'.*not finite"),
    (ONE_JOINT.replace('upper="2"', 'upper="-2"'),
     "joint 'j1', <limit>: lower is -1, not below upper, -2"),
    (ONE_JOINT.replace('effort="40"', 'effort="-1"'), "joint 'j1', <limit>: effort is -1; write"),
    (ONE_JOINT.replace('"revolute"', '"hinge"'), "joint 'j1'.*hinge"),
    (ONE_JOINT.replace('child link="l1"', 'child link="l2"'), "joint 'j1'.*no child link 'l2'"),
    (ONE_JOINT.replace('<axis', '<axis xyz="1 0 0"/><axis'),
     "joint 'j1', <axis>: occurs twice, also in line 1"),
    (ONE_JOINT.replace(LIMIT, LIMIT + '<mimic joint="j0"/>'), "joint 'j1' mimics 'j0'"),
    (ONE_JOINT.replace(LIMIT, '<limit lower="0" upper="1"/>'), "joint 'j1'"),
    (ONE_JOINT.replace('"revolute"', '"revolute" x="1"').replace('<axis ', '<axis\n y="1" '),
     "line 1, joint 'j1', <axis>: unknown attribute 'y'; known are xyz"),
    (ONE_JOINT.replace('rpy="0.5 0 0"', 'rpy="0.5 0 0" rpz="1 0 0"'),
     "joint 'j1', <origin>: unknown attribute 'rpz'; known are xyz, rpy, quat_xyzw"),
    (ONE_JOINT.replace('<mass value', '\n<mass unit="g" value'),
     "line 2, link 'l1', <mass>: unknown attribute 'unit'"),
    (ONE_JOINT.replace('ixx=', 'ixx_="1" ixx='), "<inertia>: unknown attribute 'ixx_'"),
    (ONE_JOINT.replace('<child ', '<child frame="x" '), "<child>: unknown attribute 'frame'"),
    (ONE_JOINT.replace('velocity=', 'speed="1" velocity='), "<limit>: unknown attribute 'speed'"),
    (ONE_JOINT.replace(LIMIT, f'{LIMIT}<mimic joint="j0" ratio="2"/>'),
     "<mimic>: unknown attribute 'ratio'; known are joint, multiplier, offset"),
    (arm(link('l1'), link('l1'), joint('j1', 'base', 'l1')),
     "link 'l1': another link has this name, in line 1"),
    (arm(link('l1'), joint('j1', 'base', 'l1'), joint('j1', 'base', 'l1')),
     'another joint has this name'),
    (arm(link('l1'), joint('j1', 'base', 'l1'), joint('j2', 'base', 'l1')), 'carried by two'),
    (arm(link('l1'), link('l2'), joint('j1', 'base', 'l1')), "one root link, found 'base', 'l2'"),
    ('<robot name="x"><group name="a"><link name="b"/></group></robot>', 'is it an SRDF'),
    (arm(link('l1'), link('l2'), joint('a', 'l1', 'l2'), joint('b', 'l2', 'l1')), "'l1'.*cycle"),
    (arm(link('l1'), joint('j1', 'base', 'l1', 'fixed')), 'none of them moves'),
    (arm(link('l1'), link('l2'), joint('j1', 'base', 'l1'), joint('j2', 'l1', 'l2', 'floating')),
     "'l2': only the first body can be floating"),
])
def test_mistakes_are_named(text, message):
    with pytest.raises(ValueError, match=f'(?s){message}'):
        hd.load_robot(text)


@pytest.mark.parametrize(('kind', 'said'), [('revolute', '"continuous"'), ('prismatic', '')])
def test_a_limit_without_range_is_none_and_that_is_said(kind, said):
    text = ONE_JOINT.replace(LIMIT, '<limit velocity="1" effort="2"/>')
    with pytest.warns(UserWarning, match=f"'j1', <limit>: has no range, .*{said}"):
        robot = hd.load_robot(text.replace('"revolute"', f'"{kind}"'))
    assert np.isinf([robot.limits.position_min, robot.limits.position_max]).all()
    assert robot.limits.effort.tolist() == [2.0]


@pytest.mark.parametrize('axis', ['1e-200 0 0', '1e12 1e12 0'])
def test_an_axis_of_any_length_is_one(axis):
    direction = hd.load_robot(ONE_JOINT.replace('0 2 1', axis)).bodies[0].axis
    np.testing.assert_allclose(np.linalg.norm(direction), 1.0, rtol=1e-15)


def test_lines_are_those_of_the_text():
    text = '\ufeff\n\n' + ONE_JOINT.replace('<link name="l1">', '\n<link name="l1">\n').replace(
        'value="2"', 'value="two"')
    with pytest.raises(ValueError, match="URDF, line 5, link 'l1', <mass>: value is 'two', exp"):
        hd.load_robot(text)


def test_a_mimic_that_cannot_move_is_no_mimic():
    assert hd.load_robot(arm(
        link('l1'), link('l2'), joint('j1', 'base', 'l1'),
        joint('j2', 'l1', 'l2', 'fixed', '<mimic joint="j1"/>'))).joint_names == ('j1',)


@pytest.mark.parametrize('kind', ['prismatic', 'revolute'])
def test_a_mimic_of_a_locked_joint_is_where_that_takes_it(kind):
    text = arm(
        link('l1'), link('f1'), link('f2'), joint('j1', 'base', 'l1'),
        joint('g1', 'l1', 'f1', kind, LIMIT),
        joint('g2', 'l1', 'f2', kind, LIMIT + '<mimic joint="g1" multiplier="-2" offset="0.1"/>'))
    one = hd.load_robot(text, locked_joints={'g1': 0.3})
    both = hd.load_robot(text, locked_joints={'g1': 0.3, 'g2': -0.5})
    assert one.joint_names == ('j1',)
    np.testing.assert_allclose(
        one.kernel_model.body_table, both.kernel_model.body_table, rtol=1e-14, atol=1e-15)


def test_more_links_than_asked_for_are_refused_before_they_are_parsed():
    """The links are not even looked at: these have no names."""
    text = '<robot name="x">' + '<link/>' * 11 + '</robot>'
    with pytest.raises(ValueError, match='URDF: 11 links; at most 10 are accepted here'):
        hd.load_robot(text, max_bodies=10)
    mapping = {'name': 'x', 'bodies': [{}] * 11}
    with pytest.raises(ValueError, match="'bodies': 11 of them; at most 10 are accepted here"):
        hd.load_robot(mapping, max_bodies=10)


@pytest.mark.parametrize(('normal', 'x', 'y'), [
    ('0 0 1', [1, 0, 0], [0, 1, 0]), ('1 0 0', [0, 1, 0], [0, 0, 1]),
    ('0 -2 0', [0, 0, -1], [1, 0, 0])])
def test_a_planar_joint_is_two_slides_and_a_turn(normal, x, y):
    text = ONE_JOINT.replace('"revolute"', '"planar"').replace('xyz="0 2 1"', f'xyz="{normal}"')
    robot = hd.load_robot(text)
    assert robot.joint_names == ('j1_x', 'j1_y', 'j1_yaw')
    assert not np.isfinite(robot.limits.velocity).any()
    home, _ = hd.forward_kinematics(robot, np.zeros(3), 'l1')
    moved, _ = hd.forward_kinematics(robot, np.array([0.3, -0.2, 0.5]), 'l1')
    in_home = np.linalg.inv(home) @ moved
    np.testing.assert_allclose(in_home[:3, 3], 0.3 * np.array(x) - 0.2 * np.array(y), atol=1e-15)
    axis = np.array(normal.split(), float)
    np.testing.assert_allclose(in_home[:3, :3] @ axis, axis, atol=1e-15)
    assert np.trace(in_home[:3, :3]) == pytest.approx(1.0 + 2.0 * np.cos(0.5))
