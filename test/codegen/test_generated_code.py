"""Generated C, compiled by the machine's compiler, gives what the kernels give."""
import ctypes
from dataclasses import replace
import hashlib
import re
import shutil
import subprocess

from compiled_c import CC, STRICT, compiled, furthest
from laws_and_motions import LAWS, MOTOR
import numpy as np
import pytest
from random_robots import random_mapping

import hodyn_ros as hd
from hodyn_ros.actuators import Actuators, JointActuator, LinearSpring, TabulatedSpring
from hodyn_ros.actuators.motor_side import MEMORY, MotorSide
from hodyn_ros.codegen.files import files
from hodyn_ros.codegen.self_test import PERIOD, samples
from hodyn_ros.codegen.settings import Settings

PANDA, TWOLINK = hd.load_robot('panda'), hd.load_robot('twolink')
DOUBLE, SINGLE = 1e-12, 1e-4
"""Shares of the largest entry of each order."""
MOTIONS = 300

needs_compiler = pytest.mark.skipif(CC is None, reason='no C compiler here')


def tree(n, seed=5, **changes):
    """Return a random tree with joints of all kinds, and other things that robots have."""
    robot = hd.load_robot(random_mapping(np.random.default_rng(seed), n, serial=False))
    assert n < 3 or len({body.parent for body in robot.bodies}) < n
    return replace(robot, **changes)


COUPLED = hd.load_robot(
    random_mapping(np.random.default_rng(6), 7, serial=False, coupled=True) | {'name': 'coupled'})


def with_laws(*laws):
    """Return a tree whose joints have these laws."""
    robot = tree(len(laws))
    return replace(robot, actuators=Actuators(
        robot.joint_names, tuple(JointActuator(law, MOTOR) for law in laws)))


UNDAMPED = with_laws(*LAWS.values())
# Of the dampers one is slower than the cycle, one faster.
ALL_LAWS = with_laws(*LAWS.values(), LinearSpring(1000.0, 3.0), LinearSpring(50.0, 0.01))


@needs_compiler
@pytest.mark.parametrize('single', [False, True], ids=['double', 'float'])
@pytest.mark.parametrize('robot', [TWOLINK, PANDA, COUPLED], ids=lambda robot: robot.name)
def test_c_gives_the_torques_of_the_library(robot, single, tmp_path):
    rng = np.random.default_rng(1)
    code = compiled(
        tmp_path, robot, single=single, friction=robot.friction is not None,
        flags=('-O0' if single else '-O2',))
    q = rng.normal(size=(MOTIONS, 5, robot.n)) * np.array([[1.5], [1], [5], [30], [200]])
    q = q.astype(code.number).astype(float)
    torque, _ = code.call('inverse_dynamics', q, out=np.zeros((MOTIONS, 3, robot.n)))
    right = hd.inverse_dynamics(robot, q)
    bound = SINGLE if single else DOUBLE
    assert furthest(torque, right) < bound
    if robot.friction is not None:
        friction, _ = code.call('friction', q, out=np.zeros((MOTIONS, 3, robot.n)))
        assert furthest(friction, robot.friction.torque(q)) < bound
        total, _ = code.call('feed_forward', q, out=np.zeros((MOTIONS, 3, robot.n)))
        assert furthest(total, right + robot.friction.torque(q)) < bound
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
@pytest.mark.parametrize('order', [0, 1, 3, 4])
def test_c_of_a_tree_to_each_order(order, tmp_path):
    robot = tree(4)
    code = compiled(tmp_path, robot, order=order, flags=('-O0',))
    q = np.random.default_rng(2).normal(size=(MOTIONS, order + 3, robot.n))
    torque, _ = code.call('inverse_dynamics', q, out=np.zeros((MOTIONS, order + 1, robot.n)))
    assert furthest(torque, hd.inverse_dynamics(robot, q)) < DOUBLE
    assert code.self_test() == 0


@needs_compiler
def test_gravity_payload_and_rotors_are_those_of_the_call(tmp_path):
    """A payload on a link that is merged into another, turned and away from it."""
    link = np.eye(4)
    link[:3, 3] = 0.1, -0.2, 0.3
    link[:3, :3] = [[0, 0, 1], [1, 0, 0], [0, 1, 0]]
    robot = tree(4, frames={'tool': (3, link)}, rotor_inertia=np.array([0.1, 0.0, 0.3, 0.4]))
    code = compiled(
        tmp_path, robot, gravity_argument=True, payload_link='tool', flags=('-O0',))
    given = samples(code.settings, 50, seed=3)
    arguments = given.q, given.gravity, given.payload
    torque, _ = code.call('inverse_dynamics', *arguments, out=np.zeros_like(given.torque))
    assert furthest(torque, given.torque) < DOUBLE
    total, _ = code.call('feed_forward', *arguments, out=np.zeros_like(given.torque))
    assert furthest(total, given.torque + robot.rotor_inertia * given.q[:, 2:]) < DOUBLE
    without = np.zeros_like(given.payload)
    torque, _ = code.call(
        'inverse_dynamics', given.q, np.tile(robot.gravity, (len(without), 1)), without,
        out=np.zeros_like(given.torque))
    assert furthest(torque, hd.inverse_dynamics(robot, given.q)) < DOUBLE
    assert code.self_test() == 0


@needs_compiler
@pytest.mark.parametrize(
    ('robot', 'single'), [(ALL_LAWS, False), (UNDAMPED, True)], ids=['double', 'float'])
def test_c_gives_the_motors_of_the_library(robot, single, tmp_path):
    """One instant after another, joints that cannot do it among them: dampers and holds go on."""
    code = compiled(tmp_path, robot, actuators=True, single=single, flags=('-O0',))
    given = samples(code.settings, MOTIONS, seed=4)
    assert 0.05 < np.mean(given.stuck > 0) < 0.95
    assert set(given.stuck.tolist()) == {0, 4, 5, 7, 8, 9}  # those with bounds
    assert_motors_agree(code, given)


def assert_motors_agree(code, given):
    """Compare the motors one instant after the other, and run the self-test."""
    settings = code.settings
    state = np.zeros((MEMORY, settings.robot.n), code.number)
    one = np.zeros((1, *given.motor.shape[1:]))
    motor, stuck = np.empty_like(given.motor), np.empty_like(given.stuck)
    for t in range(len(motor)):
        inputs = [given.q[t:t + 1], given.load[t:t + 1]]
        if settings.has_stiffness:
            inputs.append(given.stiffness[t:t + 1])
        if settings.has_dampers:
            inputs += (PERIOD, ctypes.c_void_p(state.ctypes.data))[t == 0:]
        one, (stuck[t],) = code.call(
            'motor_start' if t == 0 else 'motor_reference', *inputs, out=one)
        motor[t] = one[0]
    np.testing.assert_array_equal(stuck, given.stuck)
    scale = np.abs(given.motor).max(axis=0)
    assert (np.abs(motor - given.motor) / np.where(scale > 0, scale, 1)).max() < (
        SINGLE if settings.single else DOUBLE)
    assert code.self_test() == 0


@needs_compiler
def test_c_holds_the_motors_where_values_are_not_finite(tmp_path):
    """It says the joint, and each cycle after it is that of the library, dampers among them."""
    code = compiled(tmp_path, ALL_LAWS, actuators=True, flags=('-O2',))
    given = samples(code.settings, 24, seed=4)
    rng = np.random.default_rng(0)
    state = np.zeros((MEMORY, ALL_LAWS.n))
    one = np.zeros((1, *given.motor.shape[1:]))
    side = MotorSide(ALL_LAWS.actuators)
    for t in range(24):
        q, load, stiffness = given.q[t:t + 1], given.load[t:t + 1], given.stiffness[t:t + 1]
        if t % 2:
            joint = int(rng.integers(ALL_LAWS.n))
            (q, load)[t // 2 % 2][0, int(rng.integers(3)), joint] = rng.choice(
                [np.nan, np.inf, -np.inf])
        before = state.copy()
        right = side.evaluate(q[0], np.ascontiguousarray(load[0]), stiffness[0], PERIOD)
        one, (stuck,) = code.call(
            'motor_start' if t == 0 else 'motor_reference', q, load, stiffness,
            *(PERIOD, ctypes.c_void_p(state.ctypes.data))[t == 0:], out=one)
        assert stuck == (0 if side.feasible.all() else 1 + int(np.argmin(side.feasible)))
        assert np.isfinite(one).all()
        if t % 2:
            assert not side.feasible[joint]
            np.testing.assert_array_equal(state[:4, joint], before[:4, joint])
        scale = np.maximum(np.abs(right), 1.0)
        assert (np.abs(one[0] - right) / scale).max() < 1e-9


def long_table():
    """Return a spring as it is measured: many points, uneven and rounded."""
    rng = np.random.default_rng(3)
    x = np.linspace(-0.3, 0.3, 500) + rng.uniform(-2e-4, 2e-4, 500)
    torque = 400.0 * x + 2e3 * x**3 + 8.0 * np.sin(9.0 * x) + rng.uniform(-0.01, 0.01, 500)
    return TabulatedSpring(x.round(6), torque.round(3))


@needs_compiler
@pytest.mark.parametrize('single', [False, True], ids=['double', 'float'])
def test_c_finds_the_torque_on_tables_of_any_shape(single, tmp_path):
    """Next to their points, to both ends on either side, and where the slope nearly vanishes."""
    x = np.linspace(-1.0, 1.0, 9)
    robot = with_laws(
        long_table(), TabulatedSpring(x, 100.0 * x**3 + x),
        TabulatedSpring(0.1 * x, 20.0 + 5.0 * np.exp(2.5 * x)), long_table())
    code = compiled(tmp_path, robot, actuators=True, single=single, flags=('-O0',))
    given = samples(code.settings, MOTIONS, seed=4)
    for i, joint in enumerate(robot.actuators.joints):
        points = joint.law.torque
        away = np.abs(given.load[:, :1, i] - points).min(axis=1)
        assert (away < 1.1e-5 * np.abs(points).max()).sum() > MOTIONS // 3
        assert (given.load[:, 0, i] < points[0]).any()
        assert (given.load[:, 0, i] > points[-1]).any()
    assert_motors_agree(code, given)


def test_a_long_table_makes_no_longer_code():
    """And joints with the same table share it."""
    def source(*laws):
        return files(Settings(with_laws(*laws), 'arm', actuators=True))['arm.c']

    def lines(text):
        return re.sub(r'static const double table.*?};', '', text, flags=re.DOTALL).count('\n')

    long, short = source(long_table(), long_table()), source(LAWS['table'], LAWS['table'])
    assert lines(long) == lines(short)
    assert long.count('static const double table') == 1
    assert '/* joint0, joint1 */' in long


def test_the_motors_of_the_samples_are_those_of_the_motor_side():
    """The other side of the test above: what it takes for right is right."""
    given = samples(Settings(ALL_LAWS, actuators=True), 20)
    side = MotorSide(ALL_LAWS.actuators)
    for t in range(20):
        motor = side.evaluate(given.q[t], given.load[t], given.stiffness[t], PERIOD)
        np.testing.assert_array_equal(given.motor[t], motor)


@needs_compiler
def test_the_self_test_finds_a_wrong_constant(tmp_path):
    """A compiler's fault, or a hand in the code, would else go unseen."""
    (tmp_path / 'right').mkdir()
    code = compiled(tmp_path / 'right', TWOLINK)
    source = (tmp_path / 'right' / 'twolink.c').read_text()
    assert source.count(' 13.734 * ') > 1
    (tmp_path / 'twolink.c').write_text(source.replace(' 13.734 * ', ' 13.734001 * ', 1))
    code.library = tmp_path / 'twolink.so'
    subprocess.run(
        [CC, '-shared', '-fPIC', '-I', tmp_path / 'right', '-o', code.library,
         tmp_path / 'twolink.c', '-lm'], check=True)
    assert code.self_test() == 1


def printed_joint_names(folder, prefix):
    """Return what a program finds in the header of a folder."""
    names = f'{prefix.upper()}_JOINT_NAMES'
    (folder / 'names.c').write_text(
        f'#include "{prefix}.h"\n#include <stdio.h>\nint main(void) {{\n'
        f'    const char *const names[] = {names};\n    int i;\n'
        f'    for (i = 0; i < {prefix.upper()}_JOINTS; ++i) {{ printf("%s%c", names[i], 0); }}\n'
        '    return 0;\n}\n')
    subprocess.run(
        [CC, *STRICT, '-trigraphs', '-o', folder / 'names', folder / 'names.c'], check=True)
    printed = subprocess.run([folder / 'names'], capture_output=True, check=True).stdout
    return printed.decode().split('\0')[:-1]


@needs_compiler
def test_names_of_a_robot_cannot_become_code(tmp_path):
    names = ('a"; */ int x;', 'b\n#error\\', '??/ /* \t∂')
    bodies = [
        {**body, 'name': name, 'joint': name} for body, name in zip(
            random_mapping(np.random.default_rng(0), 3)['bodies'], names, strict=True)]
    robot = hd.load_robot({'name': '*/ 1 ??/', 'bodies': bodies})
    robot = replace(robot, actuators=Actuators(
        robot.joint_names, 3 * (JointActuator(LAWS['softening'], MOTOR),)))
    code = compiled(tmp_path, robot, actuators=True, flags=('-O0', '-trigraphs'))
    assert code.settings.prefix == 'robot_1'
    assert code.self_test() == 0
    assert printed_joint_names(tmp_path, code.settings.prefix) == list(names)


@needs_compiler
def test_names_keep_their_spaces_where_lines_are_broken(tmp_path):
    names = [f'left arm  joint number {i} ' for i in range(6)] + ['long ' * 30]
    bodies = random_mapping(np.random.default_rng(0), len(names))['bodies']
    robot = hd.load_robot({'name': 'arm', 'bodies': [
        {**body, 'joint': name} for body, name in zip(bodies, names, strict=True)]})
    (tmp_path / 'arm.h').write_text(files(Settings(robot, order=0))['arm.h'])
    assert printed_joint_names(tmp_path, 'arm') == names


@needs_compiler
@pytest.mark.skipif(shutil.which('c++') is None, reason='no C++ compiler here')
def test_the_header_serves_cpp(tmp_path):
    for name, text in files(Settings(TWOLINK, payload_link='link2')).items():
        (tmp_path / name).write_text(text)
    (tmp_path / 'user.cpp').write_text("""\
#include "twolink.h"
void use(double q[5][2], const double c[5][2], double t[3][2]) {
  const twolink_payload none{};
  twolink_inverse_dynamics(TWOLINK_CONST(q), &none, t);
  twolink_inverse_dynamics(c, &none, t);
}
""")
    subprocess.run(
        ['c++', '-std=c++17', '-Wall', '-Wextra', '-Wconversion', '-pedantic', '-Werror',
         '-fsyntax-only', tmp_path / 'user.cpp'], check=True)


def test_the_same_robot_gives_the_same_bytes():
    def texts(robot):
        return files(Settings(robot, prefix='arm', actuators=True, gravity_argument=True))

    laws = LAWS['softening'], LAWS['exponential'], LAWS['variable']
    assert texts(with_laws(*laws)) == texts(with_laws(*laws))
    assert texts(with_laws(*laws)) != texts(with_laws(*reversed(laws)))


@pytest.mark.parametrize('robot', [PANDA, UNDAMPED], ids=['panda', 'tree'])
def test_the_fingerprint_is_that_of_the_saved_robot(robot, tmp_path):
    hd.save_robot(robot, tmp_path / 'robot.yaml')
    saved = hashlib.sha256((tmp_path / 'robot.yaml').read_bytes()).hexdigest()
    header = files(Settings(robot, 'arm', order=0))['arm.h']
    assert re.search(r'#define ARM_ROBOT_SHA256 \\\n *"(\w+)"', header)[1] == saved


def test_nothing_that_changes_is_kept():
    for name, text in files(Settings(ALL_LAWS, actuators=True)).items():
        assert all(
            line.split()[1] == 'const' or '(' in line for line in text.splitlines()
            if line.split()[:1] == ['static']), name
        assert 'malloc' not in text


def test_a_robot_without_friction_or_actuators_is_told_what_it_lacks():
    one_in_float = TabulatedSpring([1.0, 1.0 + 1e-9, 2.0, 3.0], [0.0, 1e-9, 1.0, 2.0])
    far_from_0 = TabulatedSpring([0.0, 0.1, 0.2, 0.3], [1000.0, 1001.0, 1002.0, 1003.0])
    x = np.linspace(-1.0, 1.0, 9)
    flat = TabulatedSpring(x, x**3 + 3.5e-3 * x)
    for robot, settings, match in (
        (TWOLINK, {'friction': True}, 'no friction'),
        (TWOLINK, {'actuators': True}, 'no actuators'),
        *((with_laws(LAWS['linear'], law), {'actuators': True, 'single': True},
           "table of joint 'joint1' has points") for law in (one_in_float, far_from_0, flat)),
        (ALL_LAWS, {'actuators': True, 'order': 1}, 'order 2 or more'),
        (ALL_LAWS, {'actuators': True, 'single': True}, "damper at joint 'joint9'"),
        (PANDA, {'friction': True, 'order': 3}, 'order 3 was requested'),
        (PANDA, {'order': 5}, 'expected 0 to 4'),
        (PANDA, {'order': True}, 'expected 0 to 4'),
        (PANDA, {'payload_link': 'hand'}, "no link 'hand'"),
        (PANDA, {'prefix': 'a-b'}, "prefix 'a-b'"),
        (PANDA, {'prefix': 'x' * 41}, '40 characters'),
        *((PANDA, {'prefix': name}, f"for example 'robot_{name}'") for name in (
            'math', 'Math', 'm', 'stdio', 'string', 'features', 'all', 'test', 'ZERO_CHECK')),
    ):
        with pytest.raises(hd.HodynError, match=match):
            Settings(robot, **settings)


@pytest.mark.parametrize(('name', 'prefix'), [
    ('Prüfstand Süd', 'Prufstand_Sud'), ('réplique-2', 'replique_2'), ('ＵＲ５ｅ', 'UR5e'),
    ('ロボット', 'robot'), ('机器人 7', 'robot_7'), ('__my  robot__', 'my_robot'),
    ('a' * 50, 'a' * 40), ('a' * 39 + ' b', 'a' * 39), ('7' * 50, 'robot_' + '7' * 34)])
def test_the_prefix_is_what_c_can_have_of_a_name(name, prefix):
    settings = Settings(replace(TWOLINK, name=name), order=0)
    assert settings.prefix == prefix
    assert Settings(TWOLINK, prefix, order=0).prefix == prefix


def test_a_robot_with_the_name_of_a_header_gets_another_prefix():
    """math.h would include itself, and no target of CMake may be `test`."""
    for name in ('math', 'test'):
        assert Settings(replace(TWOLINK, name=name)).prefix == f'robot_{name}'


def test_a_constant_beyond_single_precision_is_refused():
    heavy = hd.load_robot({
        'name': 'heavy', 'bodies': [{
            'name': 'a', 'parent': -1, 'type': 'revolute', 'placement': np.eye(4),
            'axis': [0, 0, 1], 'mass': 1e15, 'com': [1e14, 0, 0], 'inertia': np.zeros((3, 3))}]})
    with pytest.raises(hd.HodynError, match='does not fit into float'):
        files(Settings(heavy, single=True))
