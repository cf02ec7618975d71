"""Generated C of robots on floating bases gives what the library and Pinocchio give."""
from dataclasses import replace
import re
import shutil
import subprocess

from compiled_c import CC, STRICT, compiled, furthest
from laws_and_motions import LAWS, MOTOR
import numpy as np
import pytest
from random_robots import random_mapping, random_pose, random_robot

import hodyn_ros as hd
from hodyn_ros.actuators import Actuators, JointActuator
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.codegen.files import files
from hodyn_ros.codegen.self_test import samples
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.robot import lie

DOUBLE, SINGLE = 1e-12, 1e-4
"""Shares of the largest entry of each order."""
MOTIONS = 100
SIZES = np.array([1.5, 1.0, 5.0, 30.0, 200.0, 1e3, 1e4])[:, np.newaxis]

pytestmark = pytest.mark.skipif(CC is None, reason='no C compiler here')


def tree(seed, bodies=6, **options):
    """Return a random tree with joints of all kinds on a floating base."""
    rng = np.random.default_rng(seed)
    return random_robot(rng, bodies, floating=True, serial=False, **options)


def random_motions(code, seed=1):
    """Return q, base_pose and base_twist of many motions, exact in the numbers of the code."""
    rng, order, n = np.random.default_rng(seed), code.settings.order, code.settings.robot.n
    q = rng.normal(size=(MOTIONS, order + 3, n)) * SIZES[:order + 3]
    pose = np.array([random_pose(rng, 1.0) for _ in range(MOTIONS)])
    twist = rng.normal(size=(MOTIONS, order + 2, 6)) * SIZES[1:order + 3]
    return [array.astype(code.number).astype(float) for array in (q, pose, twist)]


def results(code):
    """Return where torque and base wrench of many motions go."""
    order, n = code.settings.order, code.settings.robot.n
    return np.zeros((MOTIONS, order + 1, n)), np.zeros((MOTIONS, order + 1, 6))


@pytest.mark.parametrize(('order', 'single', 'coupled'), [
    (0, False, False), (1, False, False), (2, False, False), (4, False, False),
    (2, False, True), (0, True, False), (2, True, False)])
def test_c_gives_torque_and_base_wrench_of_the_library(order, single, coupled, tmp_path):
    robot = tree(order, coupled=coupled)
    code = compiled(tmp_path, robot, order=order, single=single, flags=('-O0',))
    q, pose, twist = random_motions(code)
    found, _ = code.call('inverse_dynamics', q, pose, twist, out=results(code))
    for formulation in ('spatial', 'body_fixed'):
        right = hd.inverse_dynamics(
            robot, q, base_pose=pose, base_twist=twist, formulation=formulation)
        for ours, theirs in zip(found, right, strict=True):
            assert furthest(ours, theirs) < (SINGLE if single else DOUBLE)
    assert code.self_test() == 0


def test_a_base_far_away_costs_digits_with_its_distance_only(tmp_path):
    """The shift is exact, in the twist too, so the torques are those of the base at the origin."""
    robot = tree(7)
    code = compiled(tmp_path, robot, flags=('-O2',))
    q, pose, twist = random_motions(code)
    twist = np.round(twist * 1024.0) / 1024.0
    pose[:, :3, 3] = np.round(pose[:, :3, 3] * 1024.0) / 1024.0
    right, _ = hd.inverse_dynamics(robot, q, base_pose=pose, base_twist=twist)
    shift = 2.0**20 * np.array([1.0, -0.5, 0.25])  # m
    pose[:, :3, 3] += shift
    twist[..., 3:] -= np.cross(twist[..., :3], shift)
    (torque, _), _ = code.call('inverse_dynamics', q, pose, twist, out=results(code))
    assert furthest(torque, right) < 1e-9  # with its square: 1e-4


def test_gravity_and_the_payload_of_the_base_are_those_of_the_call(tmp_path):
    robot = tree(8, 4)
    code = compiled(
        tmp_path, robot, order=1, gravity_argument=True, payload_link=robot.bodies[0].name,
        flags=('-O0',))
    given = samples(code.settings, MOTIONS, seed=3)
    found, _ = code.call(
        'inverse_dynamics', given.q, given.base_pose, given.base_twist, given.gravity,
        given.payload, out=results(code))
    assert furthest(found[0], given.torque) < DOUBLE
    assert furthest(found[1], given.base_wrench) < DOUBLE
    without, _ = hd.inverse_dynamics(
        robot, given.q, base_pose=given.base_pose, base_twist=given.base_twist)
    assert furthest(found[0], without) > 0.01
    assert code.self_test() == 0


def test_friction_rotors_and_motors_are_those_of_the_joints(tmp_path):
    robot, n = tree(9, 4), 3
    rotors = np.array([0.1, 0.0, 0.3])
    friction = SigmoidFriction(np.ones(n), np.full(n, 5.0), np.full(n, 0.1))
    laws = LAWS['rigid'], LAWS['hardening'], LAWS['softening']
    code = compiled(
        tmp_path,
        replace(robot, friction=friction, rotor_inertia=rotors), friction=True, flags=('-O0',))
    q, pose, twist = random_motions(code)
    right, wrench = hd.inverse_dynamics(robot, q, base_pose=pose, base_twist=twist)
    found, _ = code.call('feed_forward', q, pose, twist, out=results(code))
    assert furthest(found[0], right + friction.torque(q) + rotors * q[:, 2:]) < DOUBLE
    assert furthest(found[1], wrench) < DOUBLE
    assert code.self_test() == 0
    (tmp_path / 'elastic').mkdir()
    elastic = replace(robot, actuators=Actuators(
        robot.joint_names, tuple(JointActuator(law, MOTOR) for law in laws)))
    code = compiled(tmp_path / 'elastic', elastic, actuators=True, flags=('-O0',))
    assert code.self_test() == 0


def legged_urdf():
    """Return a trunk with four legs of three joints, as URDF."""
    parts = []
    for leg, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)]):
        parent = 'trunk'
        for part, axis, place in (
                ('hip', '1 0 0', f'{x} {y} 0'), ('thigh', '0 1 0', f'0 {0.8 * y} 0'),
                ('shank', '0 1 0', '0 0 -0.21')):
            name = f'{part}{leg}'
            parts.append(
                f'<link name="{name}"><inertial><origin xyz="0.01 0 -0.1" rpy="0.1 0 0"/>'
                f'<mass value="{1.0 + 0.1 * leg}"/><inertia ixx="0.005" iyy="0.006" izz="0.002" '
                'ixy="0" ixz="0" iyz="0"/></inertial></link>'
                f'<joint name="{name}_joint" type="continuous"><origin xyz="{place}"/>'
                f'<parent link="{parent}"/><child link="{name}"/><axis xyz="{axis}"/></joint>')
            parent = name
    return (
        '<robot name="legged"><link name="trunk"><inertial><origin xyz="0.02 0 0.01"/>'
        '<mass value="6"/><inertia ixx="0.02" iyy="0.06" izz="0.07" ixy="0" ixz="0.001" iyz="0"/>'
        f'</inertial></link>{"".join(parts)}</robot>')


def test_c_of_a_legged_robot_gives_the_torques_of_pinocchio(tmp_path):
    """Its free-flyer has position and quaternion, body-fixed twists, and linear parts first."""
    pin = pytest.importorskip('pinocchio')
    robot = hd.load_robot(legged_urdf(), floating_base=True)
    model = pin.buildModelFromXML(legged_urdf(), pin.JointModelFreeFlyer())
    model.gravity.linear, data = robot.gravity, model.createData()
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    rates = [joint.idx_v for joint in joints]
    code = compiled(tmp_path, robot, order=0, flags=('-O2',))
    q, pose, twist = random_motions(code)
    torque, wrench = results(code)
    linear_first = np.r_[3:6, 0:3]
    for t in range(MOTIONS):
        place, moved = pin.neutral(model), np.zeros((2, model.nv))
        place[:7] = pin.SE3ToXYZQUAT(pin.SE3(pose[t]))
        for joint, angle in zip(joints, q[t, 0], strict=True):
            place[joint.idx_q:joint.idx_q + 2] = np.cos(angle), np.sin(angle)
        to_body = lie.adjoint(lie.inverse(pose[t]))
        moved[:, :6] = (twist[t] @ to_body.T)[:, linear_first]
        moved[:, rates] = q[t, 1:]
        effort = pin.rnea(model, data, place, *moved)
        torque[t], wrench[t] = effort[rates], to_body.T @ effort[:6][linear_first]
    found, _ = code.call('inverse_dynamics', q, pose, twist, out=results(code))
    assert furthest(found[0], torque) < DOUBLE
    assert furthest(found[1], wrench) < DOUBLE


def test_the_self_test_finds_a_wrong_wrench(tmp_path):
    (tmp_path / 'right').mkdir()
    code = compiled(tmp_path / 'right', tree(10, 2), order=0)
    source = (tmp_path / 'right' / 'random.c').read_text()
    assert source.count('base_wrench[0][2] = ') == 1
    (tmp_path / 'random.c').write_text(
        source.replace('base_wrench[0][2] = ', 'base_wrench[0][2] = 0.0001 + '))
    code.library = tmp_path / 'random.so'
    subprocess.run(
        [CC, '-shared', '-fPIC', '-I', tmp_path / 'right', '-o', code.library,
         tmp_path / 'random.c', '-lm'], check=True)
    assert code.self_test() == 1


@pytest.mark.parametrize(('compiler', 'flags'), [
    ('cc', STRICT), ('c++', ('-std=c++17', '-Wall', '-Wextra', '-Wconversion', '-Werror'))])
def test_the_call_in_the_header_compiles(compiler, flags, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f'no {compiler} here')
    texts = files(Settings(tree(11, 3), 'drone', order=1))
    (tmp_path / 'drone.h').write_text(texts['drone.h'])
    call = re.search(r'^ \*   double q.*?;\n \*$', texts['drone.h'], re.DOTALL | re.MULTILINE)[0]
    user = tmp_path / ('user.c' if compiler == 'cc' else 'user.cpp')
    user.write_text(
        '#include "drone.h"\nvoid use(void);\nvoid use(void)\n{\n'
        + re.sub(r'^ \*', '', call, flags=re.MULTILINE) + '\n}\n')
    assert 'DRONE_CONST_TWIST(base_twist)' in user.read_text()
    subprocess.run([compiler, *flags, '-fsyntax-only', user], check=True)


def test_a_base_without_joints_is_refused():
    mapping = random_mapping(np.random.default_rng(0), 1, floating=True)
    with pytest.raises(hd.HodynError, match="robot 'random' has no joint"):
        Settings(hd.load_robot(mapping))
