"""Robots from MuJoCo: against its own inverse dynamics and kinematics."""
import numpy as np
import pytest
from robot_fuzz import MJCF_HEAD, random_mjcf
from robot_judges import judged_by_mujoco
from robot_texts import LIMIT, joined_link, urdf

import hodyn_ros as hd
from hodyn_ros.robot.spherical import spherical_joints

mujoco = pytest.importorskip('mujoco', reason='mujoco is not installed')


@pytest.mark.parametrize('kind', [{}, {'free': True}, {'balls': True}], ids=str)
@pytest.mark.parametrize('seed', range(5))
def test_a_tree_with_balls_or_free_is_what_mujoco_computes(tmp_path, seed, kind):
    """Torques, armature and damping among them, to order 2, and poses of all bodies."""
    path = tmp_path / 'made.xml'
    path.write_text(random_mjcf(np.random.default_rng(seed), 5, **kind))
    robot = hd.load_robot(path)
    assert robot.n + 6 * robot.floating == mujoco.MjModel.from_xml_path(str(path)).nv
    assert robot.floating == ('free' in kind)
    assert bool(spherical_joints(robot)) == ('balls' in kind)
    assert not judged_by_mujoco(path, robot).startswith('not')


ARM = """<body name="upper"><joint name="shoulder" axis="0 1 0" range="-1 2" limited="true"/>
  <inertial pos="0 0 0.2" mass="2" diaginertia="0.02 0.02 0.002"/>
  <body name="hand" pos="0 0 0.4"><joint name="left" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body>
  <body name="thumb" pos="0 0 0.4"><joint name="right" type="slide" axis="1 0 0"/>
    <inertial pos="0 0 0" mass="0.1" diaginertia="1e-4 1e-4 1e-4"/></body></body>"""
WELD = '<equality><weld body1="{}" body2="hand"/></equality>'
COUPLED = '<equality><joint joint1="left" joint2="right"/></equality>'


def written(tmp_path, body=ARM, more=''):
    path = tmp_path / 'arm.xml'
    path.write_text(f'{MJCF_HEAD}<worldbody><geom type="plane" size="1 1 1"/>{body}</worldbody>'
                    f'{more}</mujoco>')
    return path


def in_degrees(tmp_path, body):
    path = written(tmp_path, body)
    path.write_text(path.read_text().replace('angle="radian"', ''))
    return path


@pytest.mark.parametrize(('body', 'shown'), [
    (ARM.replace('type="slide"', 'range="-2 2.5" limited="true"'), 'ranges of all joints'),
    (ARM.replace('name="hand"', 'name="hand" euler="0 1.5708 0"'), 'turned by 1.571 degrees'),
    (ARM.replace('name="thumb"', 'name="thumb" euler="3.14159 0 0"'), 'turned by 3.142 degrees')])
def test_angles_in_rad_that_mujoco_reads_in_degrees_are_asked_about(tmp_path, body, shown):
    """Without `angle="radian"` limits were a 57th, and right angles 1.6 degrees."""
    with pytest.warns(UserWarning, match=f'{shown}.*: are angles in rad'):
        hd.load_robot(in_degrees(tmp_path, body))


def test_angles_that_are_right_are_not_asked_about(tmp_path, recwarn):
    hd.load_robot(written(tmp_path))
    hd.load_robot(in_degrees(tmp_path, ARM.replace('-1 2', '-100 120').replace(
        'name="hand"', 'name="hand" euler="0 90 0"')))
    assert not [each for each in recwarn if 'are angles in rad' in str(each.message)]


def test_what_ball_joints_have_by_angle_is_left_out_and_said(tmp_path):
    body = ARM.replace('type="slide"', 'type="ball" range="0 1" damping="2"', 1)
    with pytest.warns(UserWarning, match='range, armature and damping of ball joints: left out'):
        robot = hd.load_robot(written(tmp_path, body))
    assert robot.joint_names == ('shoulder', 'left_x', 'left_y', 'left_z', 'right')
    assert not np.isfinite(robot.limits.position_max[1:4]).any()
    assert robot.friction is None or not robot.friction.viscous[1:4].any()


def test_a_file_is_read_with_limits_and_names(tmp_path):
    motors = """<actuator><motor joint="shoulder" gear="50" ctrlrange="-1 2" ctrllimited="true"/>
      <general joint="left" forcerange="-3 4" forcelimited="true"/>
      <motor joint="right"/></actuator>"""
    robot = hd.load_robot(written(tmp_path, more=motors))
    assert robot.name == 'made'
    assert robot.joint_names == ('shoulder', 'left', 'right')
    np.testing.assert_array_equal(robot.limits.effort, [50.0, 3.0, np.inf])
    np.testing.assert_array_equal(robot.limits.position_min, [-1.0, -np.inf, -np.inf])
    assert repr(robot) == (
        "<Robot 'made': fixed base, 2.2 kg, 3 joints: shoulder, left, right>")


def test_what_couples_locked_joints_does_not_count(tmp_path):
    path = written(tmp_path, more=COUPLED)
    assert hd.load_robot(path).n == 2
    assert hd.load_robot(path, locked_joints={'right': 0.0}).n == 1
    assert hd.load_robot(path, locked_joints={'left': 0.0, 'right': 0.0}).n == 1
    with pytest.warns(UserWarning, match='left follows right, which is not locked'):
        assert hd.load_robot(path, locked_joints={'left': 0.0}).n == 2


@pytest.mark.parametrize('name', ['arm.urdf', 'arm.xml'])
def test_a_urdf_that_speaks_to_mujoco_stays_a_urdf(tmp_path, name):
    path = tmp_path / name
    path.write_text('<?xml version="1.0"?>\n<!-- <mujoco> -->\n' + urdf(
        '<mujoco><compiler discardvisual="true"/></mujoco>', joined_link('l1', inside=LIMIT)))
    assert hd.load_robot(path).limits.velocity == 3.0


def test_without_gravity_there_is_none(tmp_path):
    path = written(tmp_path)
    path.write_text(path.read_text().replace('<flag ', '<flag gravity="disable" '))
    assert not hd.load_robot(path).gravity.any()


TENDONS = """<tendon><fixed name="a"><joint joint="left" coef="1"/></fixed>
  <fixed name="b"><joint joint="right" coef="1"/></fixed></tendon>"""


@pytest.mark.parametrize(('body', 'more', 'message'), [
    (ARM, TENDONS + '<equality><tendon tendon1="a" tendon2="b"/></equality>', 'couples tendons'),
    (f'<body name="cube"><freejoint/><geom size="0.1"/></body>{ARM}', '', "'cube' is free, and"),
    (ARM.replace('"0.02 0.02 0.002"', '"1"'), '', 'MuJoCo cannot read it'),
    (ARM, WELD.format('thumb'), r'an equality \(weld\) closes a loop'),
])
def test_what_is_no_tree_or_coupled_by_tendons_is_refused(tmp_path, body, more, message):
    with pytest.raises(ValueError, match=message):
        hd.load_robot(written(tmp_path, body, more))


@pytest.mark.parametrize(('body', 'more', 'message'), [
    (ARM, TENDONS.replace('name="a"', 'name="a" stiffness="3"'), 'forces of tendons: left out'),
    (ARM.replace('name="hand"', 'name="hand" gravcomp="1"'), '', 'gravity compensation: left'),
    (ARM.replace('"shoulder"', '"shoulder" frictionloss="1"'), '',
     'frictionloss: left out at shoulder'),
    (ARM.replace('"shoulder"', '"shoulder" stiffness="3"'), '',
     'springs that pull a joint to its rest: left out at shoulder'),
    (ARM, '<option density="1000"/>', 'drag of a medium: left out'),
    (ARM, '<actuator><position joint="left" kp="5"/></actuator>', 'feedback of actuators: left'),
    (ARM, '<actuator><motor joint="left" forcerange="0 50" forcelimited="true"/></actuator>',
     "joint 'left': each of its actuators pushes one way only"),
    (ARM + '<body name="mouse" mocap="true"/>', WELD.format('mouse'),
     r'that a user moves \(mocap\): left out'),
])
def test_what_mujoco_adds_to_rigid_bodies_is_said_where_it_is_left_out(
    tmp_path, body, more, message,
):
    with pytest.warns(UserWarning, match=message):
        assert hd.load_robot(written(tmp_path, body, more)).n == 3


def test_damping_that_is_no_line_is_said(tmp_path):
    """Newer releases of MuJoCo have polynomials there."""
    path = written(tmp_path, ARM.replace('name="shoulder"', 'name="shoulder" damping="1 2 3"'))
    try:
        mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        pytest.skip('this MuJoCo has no such damping')
    with pytest.warns(UserWarning, match='the nonlinear part of damping: left out at shoulder'):
        assert hd.load_robot(path).friction.viscous[0] == 1.0
