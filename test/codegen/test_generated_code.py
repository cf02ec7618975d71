"""Generated C, compiled by the machine's compiler, gives what the library and Pinocchio give."""
from dataclasses import replace
import hashlib
import re
import shutil

from cases import case_of
from compiled_c import STRICT, compile_with, compiled, furthest, needs_compiler, printed
from laws_and_motions import LAWS, with_laws
import numpy as np
import pytest
from random_robots import random_mapping, random_robot
from robot_texts import inertial, joined_link, urdf

import hodyn_ros as hd
from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.codegen.files import files
from hodyn_ros.codegen.self_test import samples
from hodyn_ros.codegen.settings import Settings
from hodyn_ros.robot import lie

PANDA, TWOLINK = hd.load_robot('panda'), hd.load_robot('twolink')
DOUBLE, SINGLE = 1e-12, 1e-4
"""Shares of the largest entry of each order."""
MOTIONS = 100
SIZES = np.array([1.5, 1.0, 5.0, 30.0, 200.0, 1e3, 1e4])[:, np.newaxis]
CPP = ('-std=c++17', *STRICT[1:])


def tree(bodies, seed=5, **kind):
    """Return a random tree with joints of all kinds."""
    return random_robot(np.random.default_rng(seed), bodies, serial=False, **kind)


COUPLED = tree(7, 6, coupled=True)
FLYING = replace(
    tree(4, 9, floating=True), rotor_inertia=np.array([0.1, 0.0, 0.3]),
    friction=SigmoidFriction(np.ones(3), np.full(3, 5.0), np.full(3, 0.1)))


def random_motions(code, seed=1):
    """Return many motions, exact in the numbers of the code."""
    def exact(array):
        return array.astype(code.number).astype(float)

    robot, order = code.settings.robot, code.settings.order
    case = case_of(np.random.default_rng(seed), robot, order, MOTIONS)
    sizes = {'base_pose': 1.0, 'base_twist': SIZES[1:order + 3]}
    return replace(case, wrenches=None, q=exact(case.q * SIZES[:order + 3]), base={
        name: exact(array * sizes[name]) for name, array in case.base.items()})


def parts(result):
    return result if isinstance(result, tuple) else (result,)


def assert_gives(code, name, arguments, *right):
    """Compare what a function of the code writes with the library's arrays (T, …)."""
    found, _ = code.call(name, *arguments, out=tuple(map(np.zeros_like, right)))
    for ours, theirs in zip(found, right, strict=True):
        assert furthest(ours, theirs) < (SINGLE if code.settings.single else DOUBLE)


@needs_compiler
@pytest.mark.parametrize(('robot', 'order', 'single'), [
    *((robot, 2, single) for robot in (TWOLINK, PANDA, COUPLED, FLYING)
      for single in (False, True)),
    *((tree(4), order, False) for order in (0, 1, 3, 4)),
    *((tree(6, order, floating=True), order, False) for order in (0, 1, 2, 4)),
    (tree(6, 0, floating=True), 0, True), (tree(6, 2, floating=True, coupled=True), 2, False)])
def test_c_gives_torques_and_base_wrench_of_the_library(robot, order, single, tmp_path):
    code = compiled(
        tmp_path, robot, order=order, single=single, friction=robot.friction is not None,
        flags=('-O2' if robot is PANDA and not single else '-O0',))
    motions = random_motions(code)
    q, arguments = motions.q, [motions.q, *motions.base.values()]
    for formulation in ('spatial', 'body_fixed'):
        torque, *wrench = parts(motions.of(hd.inverse_dynamics, formulation=formulation))
        assert_gives(code, 'inverse_dynamics', arguments, torque, *wrench)
    if robot.friction is not None:
        friction = robot.friction.torque(q)
        assert_gives(code, 'friction', [q], friction)
        rotors = 0.0 if robot.rotor_inertia is None else robot.rotor_inertia * q[:, 2:]
        assert_gives(code, 'feed_forward', arguments, torque + friction + rotors, *wrench)
    assert code.self_test() == 0


@needs_compiler
@pytest.mark.parametrize(('slope', 'off'), [(10.0, 5e-6), (100.0, 6e-5), (300.0, 2e-3)])
def test_steep_friction_in_float_is_as_accurate_as_the_page_says(slope, off, tmp_path):
    """Of Q̈ at the same instant: compared with the largest of all motions it seems to be exact."""
    friction = replace(PANDA.friction, slope=np.full(7, slope))
    robot = replace(PANDA, friction=friction)
    code = compiled(tmp_path, robot, single=True, friction=True, flags=('-O0',))
    rng = np.random.default_rng(0)
    q = rng.uniform(-1.0, 1.0, (2000, 5, 7)) * np.array([[2.0], [2.0], [5.0], [20.0], [100.0]])
    slow = rng.random((2000, 7)) < 0.5
    q[:, 1][slow] *= 10.0 ** rng.uniform(-4.0, 0.0, slow.sum())
    q = q.astype(np.float32).astype(float)
    found, _ = code.call('feed_forward', q, out=np.zeros((2000, 3, 7)))
    right = hd.inverse_dynamics(robot, q) + friction.torque(q)
    error = (np.abs(found - right) / np.abs(right).max(axis=2, keepdims=True)).max(axis=(0, 2))
    assert error[:2].max() < 2e-5
    assert 0.1 * off < error[2] < 1.5 * off
    assert furthest(found, right) < SINGLE


@needs_compiler
def test_a_base_far_away_costs_digits_with_its_distance_only(tmp_path):
    """The shift is exact, in the twist too, so the torques are those of the base at the origin."""
    robot = tree(6, 7, floating=True)
    code = compiled(tmp_path, robot, flags=('-O2',))
    motions = random_motions(code)
    q, (pose, twist) = motions.q, motions.base.values()
    twist = np.round(twist * 1024.0) / 1024.0
    pose[:, :3, 3] = np.round(pose[:, :3, 3] * 1024.0) / 1024.0
    right, wrench = hd.inverse_dynamics(robot, q, base_pose=pose, base_twist=twist)
    shift = 2.0**20 * np.array([1.0, -0.5, 0.25])  # m
    pose[:, :3, 3] += shift
    twist[..., 3:] -= np.cross(twist[..., :3], shift)
    (torque, _), _ = code.call('inverse_dynamics', q, pose, twist, out=(right, wrench))
    assert furthest(torque, right) < 1e-9  # with its square: 1e-4


@needs_compiler
@pytest.mark.parametrize('floating', [False, True])
def test_gravity_payload_and_rotors_are_those_of_the_call(floating, tmp_path):
    """A payload on a base, and on a link that is merged into another, turned and away from it."""
    link = lie.pose([[0, 0, 1], [1, 0, 0], [0, 1, 0]], [0.1, -0.2, 0.3])
    robot, order = (FLYING, 1) if floating else (replace(
        tree(4), frames={'tool': (3, link)}, rotor_inertia=np.array([0.1, 0.0, 0.3, 0.4])), 2)
    code = compiled(
        tmp_path, robot, order=order, gravity_argument=True, flags=('-O0',),
        payload_link=robot.bodies[0].name if floating else 'tool')
    given = samples(code.settings, 50, seed=3)
    base = {'base_pose': given.base_pose, 'base_twist': given.base_twist} if floating else {}
    motion, wrench = [given.q, *base.values()], [given.base_wrench] * floating
    arguments = [*motion, given.gravity, given.payload]
    assert_gives(code, 'inverse_dynamics', arguments, given.torque, *wrench)
    rotors = robot.rotor_inertia * given.q[:, 2:order + 3]
    assert_gives(code, 'feed_forward', arguments, given.torque + rotors, *wrench)
    plain = parts(hd.inverse_dynamics(robot, given.q, **base))
    assert furthest(given.torque, plain[0]) > 0.01
    assert_gives(code, 'inverse_dynamics', [
        *motion, np.tile(robot.gravity, (50, 1)), np.zeros_like(given.payload)], *plain)
    assert code.self_test() == 0


def legged_urdf():
    """Return a trunk with four legs of three joints."""
    return urdf(*(
        joined_link(
            f'{part}{leg}', f'{parent}{leg}' if parent != 'trunk' else parent, 'continuous',
            origin=f'xyz="{place}"', axis=axis, inertial=inertial(
                1.0 + 0.1 * leg, 0.005, 0.006, 0.002, 'xyz="0.01 0 -0.1" rpy="0.1 0 0"'))
        for leg, (x, y) in enumerate([(0.2, 0.1), (0.2, -0.1), (-0.2, 0.1), (-0.2, -0.1)])
        for part, parent, axis, place in (
            ('hip', 'trunk', '1 0 0', f'{x} {y} 0'), ('thigh', 'hip', '0 1 0', f'0 {0.8 * y} 0'),
            ('shank', 'thigh', '0 1 0', '0 0 -0.21'))),
        base=f'<link name="trunk">{inertial(6, 0.02, 0.06, 0.07)}</link>')


@needs_compiler
def test_c_of_a_legged_robot_gives_the_torques_of_pinocchio(tmp_path):
    """Its free-flyer has position and quaternion, body-fixed twists, and linear parts first."""
    pin = pytest.importorskip('pinocchio')
    robot = hd.load_robot(legged_urdf(), floating_base=True)
    model = pin.buildModelFromXML(legged_urdf(), pin.JointModelFreeFlyer())
    model.gravity.linear, data = robot.gravity, model.createData()
    joints = [model.joints[model.getJointId(name)] for name in robot.joint_names]
    rates = [joint.idx_v for joint in joints]
    code = compiled(tmp_path, robot, order=0, flags=('-O2',))
    motions = random_motions(code)
    q, (pose, twist) = motions.q, motions.base.values()
    torque, wrench = np.zeros((MOTIONS, 1, robot.n)), np.zeros((MOTIONS, 1, 6))
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
    assert_gives(code, 'inverse_dynamics', [q, pose, twist], torque, wrench)


@needs_compiler
@pytest.mark.parametrize(('robot', 'right', 'wrong'), [
    (TWOLINK, ' 13.734 * ', ' 13.734001 * '),
    (tree(2, 10, floating=True), 'base_wrench[0][2] = ', 'base_wrench[0][2] = 0.0001 + ')])
def test_the_self_test_finds_a_wrong_number(robot, right, wrong, tmp_path):
    """A compiler's fault, or a hand in the code, would else go unseen."""
    assert compiled(tmp_path, robot, order=0, spoil=(right, wrong)).self_test() == 1


def named(joints, name='arm'):
    """Return a robot with these names of joints and links."""
    bodies = random_mapping(np.random.default_rng(0), len(joints))['bodies']
    return hd.load_robot({'name': name, 'bodies': [
        body | {'name': joint, 'joint': joint} for body, joint in zip(
            bodies, joints, strict=True)]})


def printed_joint_names(folder, prefix):
    """Return what a program finds in the header of a folder."""
    names = f'{prefix.upper()}_JOINT_NAMES'
    (folder / 'names.c').write_text(
        f'#include "{prefix}.h"\n#include <stdio.h>\nint main(void) {{\n'
        f'    const char *const names[] = {names};\n    int i;\n'
        f'    for (i = 0; i < {prefix.upper()}_JOINTS; ++i) {{ printf("%s%c", names[i], 0); }}\n'
        '    return 0;\n}\n')
    return printed(folder / 'names', folder / 'names.c', flags=['-trigraphs']).split('\0')[:-1]


@needs_compiler
def test_names_of_a_robot_cannot_become_code(tmp_path):
    names = ['a"; */ int x;', 'b\n#error\\', '??/ /* \t∂']
    robot = named(names, '*/ 1 ??/')
    robot = with_laws(robot, *3 * [LAWS['softening']])
    code = compiled(tmp_path, robot, actuators=True, flags=('-O0', '-trigraphs'))
    assert code.settings.prefix == 'robot_1'
    assert code.self_test() == 0
    assert printed_joint_names(tmp_path, 'robot_1') == names


@needs_compiler
def test_names_keep_their_spaces_where_lines_are_broken(tmp_path):
    names = [f'left arm  joint number {i} ' for i in range(6)] + ['long ' * 30]
    (tmp_path / 'arm.h').write_text(files(Settings(named(names), order=0))['arm.h'])
    assert printed_joint_names(tmp_path, 'arm') == names


@pytest.mark.parametrize(('compiler', 'flags'), [('cc', STRICT), ('c++', CPP)])
def test_the_headers_calls_compile_in_c_and_cpp(compiler, flags, tmp_path):
    """Of a floating base as the header shows it; and with motions that are const or not."""
    if shutil.which(compiler) is None:
        pytest.skip(f'no {compiler} here')
    texts = files(Settings(tree(3, 11, floating=True), 'drone', order=1)) | files(
        Settings(TWOLINK, payload_link='link2'))
    for name in ('drone.h', 'twolink.h'):
        (tmp_path / name).write_text(texts[name])
    call = re.search(r'^ \*   double q.*?;\n \*$', texts['drone.h'], re.DOTALL | re.MULTILINE)[0]
    assert 'DRONE_CONST_TWIST(base_twist)' in call
    user = tmp_path / ('user.c' if compiler == 'cc' else 'user.cpp')
    user.write_text("""\
#include "drone.h"
#include "twolink.h"
void use(double q[5][2], const double c[5][2], const twolink_payload *none, double t[3][2]);
void use(double q[5][2], const double c[5][2], const twolink_payload *none, double t[3][2])
{
  twolink_inverse_dynamics(TWOLINK_CONST(q), none, t);
  twolink_inverse_dynamics(c, none, t);
  {
""" + re.sub(r'^ \*', '', call, flags=re.MULTILINE) + '\n  }\n}\n')
    compile_with(compiler, *flags, '-fsyntax-only', user)


@pytest.mark.parametrize('robot', [
    PANDA, with_laws(tree(9), *LAWS.values())], ids=['panda', 'springs'])
def test_the_fingerprint_is_that_of_the_saved_robot(robot, tmp_path):
    hd.save_robot(robot, tmp_path / 'robot.yaml')
    saved = hashlib.sha256((tmp_path / 'robot.yaml').read_bytes()).hexdigest()
    header = files(Settings(robot, 'arm', order=0))['arm.h']
    assert re.search(r'#define ARM_ROBOT_SHA256 \\\n *"(\w+)"', header)[1] == saved
