"""The motors of generated C are those of the library; what the settings refuse, and its text."""
import ctypes
from dataclasses import replace
import re
import subprocess

from compiled_c import CC, compiled, needs_compiler
from laws_and_motions import LAWS, with_laws
import numpy as np
import pytest
from random_robots import random_mapping, random_robot
from rigid_bodies import link

import hodyn_ros as hd
from hodyn_ros.actuators import LinearSpring, TabulatedSpring
from hodyn_ros.actuators.motor_side import MEMORY, MotorSide
from hodyn_ros.codegen.files import files
from hodyn_ros.codegen.self_test import PERIOD, samples
from hodyn_ros.codegen.settings import Settings

PANDA, TWOLINK = hd.load_robot('panda'), hd.load_robot('twolink')
MOTIONS = 300
BOTH = pytest.mark.parametrize('single', [False, True], ids=['double', 'float'])


def tree(*laws, floating=False):
    """Return a random tree whose joints have these laws."""
    return with_laws(random_robot(
        np.random.default_rng(5), len(laws) + floating, floating=floating, serial=False), *laws)


UNDAMPED = tree(*LAWS.values())
# Of the dampers one is slower than the cycle, one faster.
ALL_LAWS = tree(*LAWS.values(), LinearSpring(1000.0, 3.0), LinearSpring(50.0, 0.01))


class Motors:
    """The C functions of the motors, one instant after the other."""

    def __init__(self, code):
        self.code, self.word = code, 'start'
        self.state = np.zeros((MEMORY, code.settings.robot.n), code.number)
        self.motor = np.zeros((1, 4, code.settings.robot.actuators.n_motors))

    def step(self, q, load, stiffness, dt=PERIOD):
        """Return the reference (4, m), and the number of the joint that is stuck."""
        settings, arguments = self.code.settings, [q[np.newaxis], load[np.newaxis]]
        if settings.has_stiffness:
            arguments.append(stiffness[np.newaxis])
        if settings.has_dampers:
            arguments += (dt, ctypes.c_void_p(self.state.ctypes.data))[self.word == 'start':]
        self.motor, (stuck,) = self.code.call(
            f'motor_{self.word}', *arguments, out=self.motor)
        self.word = 'reference'
        return self.motor[0].copy(), stuck  # the next call writes into it


def assert_motors_agree(code, given):
    """Compare the motors one instant after the other, and run the self-test."""
    motors = Motors(code)
    found, stuck = zip(*map(motors.step, given.q, given.load, given.stiffness), strict=True)
    np.testing.assert_array_equal(stuck, given.stuck)
    scale = np.abs(given.motor).max(axis=0)
    assert (np.abs(found - given.motor) / np.where(scale > 0, scale, 1)).max() < (
        1e-4 if code.settings.single else 1e-12)
    assert code.self_test() == 0


@needs_compiler
@pytest.mark.parametrize(('robot', 'single', 'bounded'), [
    (ALL_LAWS, False, {4, 5, 7, 8, 9}), (UNDAMPED, True, {4, 5, 7, 8, 9}),
    (tree(*map(LAWS.get, ('rigid', 'hardening', 'softening')), floating=True), False, {3})],
    ids=['double', 'float', 'floating'])
def test_c_gives_the_motors_of_the_library(robot, single, bounded, tmp_path):
    """One instant after another, joints that cannot do it among them: dampers and holds go on."""
    code = compiled(tmp_path, robot, actuators=True, single=single, flags=('-O0',))
    given = samples(code.settings, MOTIONS, seed=4)
    assert 0.05 < np.mean(given.stuck > 0) < 0.95
    assert set(given.stuck.tolist()) == {0} | bounded
    assert_motors_agree(code, given)


@needs_compiler
def test_c_holds_the_motors_where_values_are_not_finite(tmp_path):
    """It says the joint, and each cycle after it is that of the library, dampers among them.

    A time that is none, in such a cycle, stayed in the damper's state for good.
    """
    code = compiled(tmp_path, ALL_LAWS, actuators=True, flags=('-O2',))
    given = samples(code.settings, 24, seed=4)
    rng = np.random.default_rng(0)
    motors, side = Motors(code), MotorSide(ALL_LAWS.actuators)
    for t, (q, load, stiffness) in enumerate(
            zip(given.q, given.load, given.stiffness, strict=True)):
        if t % 2:
            joint = int(rng.integers(ALL_LAWS.n))
            (q, load)[t // 2 % 2][int(rng.integers(3)), joint] = rng.choice(
                [np.nan, np.inf, -np.inf])
        before = motors.state.copy()
        dt = rng.choice([PERIOD, np.nan, -1.0, 0.0]) if t % 2 else PERIOD
        right = side.evaluate(
            q, np.ascontiguousarray(load), stiffness, dt if dt > 0.0 else 0.0, check=False)
        found, stuck = motors.step(q, load, stiffness, dt)
        assert stuck == (0 if side.feasible.all() else 1 + int(np.argmin(side.feasible)))
        assert np.isfinite(found).all()
        if t % 2:
            assert not side.feasible[joint]
            np.testing.assert_array_equal(motors.state[:4, joint], before[:4, joint])
        assert (np.abs(found - right) / np.maximum(np.abs(right), 1.0)).max() < 1e-9


@needs_compiler
@pytest.mark.parametrize(('flag', 'actuators', 'is_refused'), [
    ('-ffast-math', True, True), ('-ffinite-math-only', True, True), ('-Ofast', True, True),
    ('-O2', True, False), ('-fno-math-errno', True, False), ('-ffast-math', False, False)])
def test_flags_that_remove_the_checks_of_motors_are_refused(
        tmp_path, flag, actuators, is_refused):
    for name, content in files(Settings(
            with_laws(TWOLINK, *2 * [LAWS['linear']]), 'arm', actuators=actuators)).items():
        (tmp_path / name).write_text(content, 'utf-8')
    told = subprocess.run(
        [CC, '-std=c99', flag, '-fsyntax-only', tmp_path / 'arm.c'],
        capture_output=True, text=True, check=False, timeout=60)
    assert (told.returncode != 0) == is_refused
    assert ('-ffast-math, -Ofast and /fp:fast remove the checks' in told.stderr) == is_refused


def long_table():
    """Return a spring as it is measured: many points, uneven and rounded."""
    rng = np.random.default_rng(3)
    x = np.linspace(-0.3, 0.3, 500) + rng.uniform(-2e-4, 2e-4, 500)
    torque = 400.0 * x + 2e3 * x**3 + 8.0 * np.sin(9.0 * x) + rng.uniform(-0.01, 0.01, 500)
    return TabulatedSpring(x.round(6), torque.round(3))


@needs_compiler
@BOTH
def test_c_finds_the_torque_on_tables_of_any_shape(single, tmp_path):
    """Next to their points, to both ends on either side, and where the slope nearly vanishes."""
    x = np.linspace(-1.0, 1.0, 9)
    robot = tree(
        long_table(), TabulatedSpring(x, 100.0 * x**3 + x),
        TabulatedSpring(0.1 * x, 20.0 + 5.0 * np.exp(2.5 * x)), long_table())
    code = compiled(tmp_path, robot, actuators=True, single=single, flags=('-O0',))
    given = samples(code.settings, MOTIONS, seed=4)
    for load, joint in zip(given.load[:, 0].T, robot.actuators.joints, strict=True):
        points = joint.law.torque
        away = np.abs(load[:, np.newaxis] - points).min(axis=1)
        assert (away < 1.1e-5 * np.abs(points).max()).sum() > MOTIONS // 3
        assert load.min() < points[0]
        assert load.max() > points[-1]
    assert_motors_agree(code, given)


def text(robot, **options):
    return files(Settings(robot, 'arm', actuators=True, **options))['arm.c']


def test_a_long_table_makes_no_longer_code():
    """And joints with the same table share it."""
    long, short = text(tree(long_table(), long_table())), text(tree(*2 * [LAWS['table']]))
    lines = [
        re.sub(r'static const double table.*?};', '', source, flags=re.DOTALL).count('\n')
        for source in (long, short)]
    assert lines[0] == lines[1]
    assert long.count('static const double table') == 1
    assert '/* joint0, joint1 */' in long


def test_the_motors_of_the_samples_are_those_of_the_motor_side():
    """The other side of the test above: what it takes for right is right."""
    given = samples(Settings(ALL_LAWS, actuators=True), 20)
    side = MotorSide(ALL_LAWS.actuators)
    for t in range(20):
        motor = side.evaluate(given.q[t], given.load[t], given.stiffness[t], PERIOD)
        np.testing.assert_array_equal(given.motor[t], motor)


def test_the_same_robot_gives_the_same_bytes():
    laws = LAWS['softening'], LAWS['exponential'], LAWS['variable']
    one, same, other = (
        files(Settings(tree(*order), prefix='arm', actuators=True, gravity_argument=True))
        for order in (laws, laws, laws[::-1]))
    assert one == same != other


def test_nothing_that_changes_is_kept():
    for name, source in files(Settings(ALL_LAWS, actuators=True)).items():
        assert all(
            line.split()[1] == 'const' or '(' in line for line in source.splitlines()
            if line.split()[:1] == ['static']), name
        assert 'malloc' not in source


X = np.linspace(-1.0, 1.0, 9)
TOO_FINE = {  # a table in float whose points are one, far from 0, or too flat
    'one': TabulatedSpring([1.0, 1.0 + 1e-9, 2.0, 3.0], [0.0, 1e-9, 1.0, 2.0]),
    'far': TabulatedSpring([0.0, 0.1, 0.2, 0.3], [1000.0, 1001.0, 1002.0, 1003.0]),
    'flat': TabulatedSpring(X, X**3 + 3.5e-3 * X)}
BASE_ALONE = hd.load_robot(random_mapping(np.random.default_rng(0), 1, floating=True))
HEAVY = hd.load_robot({'name': 'heavy', 'bodies': [
    link('a', mass=1e15, com=[1e14, 0, 0], inertia=np.zeros((3, 3)))]})


@pytest.mark.parametrize(('robot', 'settings', 'words'), [
    (TWOLINK, {'friction': True}, 'no friction'),
    (TWOLINK, {'actuators': True}, 'no actuators'),
    *((tree(LAWS['linear'], law), {'actuators': True, 'single': True},
       "table of joint 'joint1' has points") for law in TOO_FINE.values()),
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
    (BASE_ALONE, {}, "robot 'random' has no joint"),
    (HEAVY, {'single': True}, 'does not fit into float'),
])
def test_what_c_cannot_have_is_refused_by_name(robot, settings, words):
    with pytest.raises(hd.HodynError, match=words):
        files(Settings(robot, **settings))


@pytest.mark.parametrize(('name', 'prefix'), [
    ('Prüfstand Süd', 'Prufstand_Sud'), ('réplique-2', 'replique_2'), ('ＵＲ５ｅ', 'UR5e'),
    ('ロボット', 'robot'), ('机器人 7', 'robot_7'), ('__my  robot__', 'my_robot'),
    ('a' * 50, 'a' * 40), ('a' * 39 + ' b', 'a' * 39), ('7' * 50, 'robot_' + '7' * 34),
    ('math', 'robot_math'), ('test', 'robot_test')])  # math.h includes itself; CMake has a `test`
def test_the_prefix_is_what_c_can_have_of_a_name(name, prefix):
    assert Settings(replace(TWOLINK, name=name), order=0).prefix == prefix
    assert Settings(TWOLINK, prefix, order=0).prefix == prefix
