"""The package of ros2_control: the motion and the torque of its controller, and its plugin."""
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from controller_package import built, needs_compilers, numbers, points
from controllers import HOME
from hypothesis import given, settings
from hypothesis import strategies as st
import numpy as np
import pytest
from random_robots import random_robot
import yaml

import hodyn_ros as hd
from hodyn_ros.codegen.ros2_control import generate_ros2_control
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.plans.annotate import annotate
from hodyn_ros.reference import fit_plan
from hodyn_ros.simulation.examples import with_example_actuators

EIGEN = Path('/usr/include/eigen3')
HOLDING, PLAN, CHAIN, STOPPING = range(4)
pytestmark = needs_compilers


def plan_line(times, positions):
    return f'plan {points(times, positions)}'


@pytest.fixture(scope='module')
def panda(tmp_path_factory):
    return built(hd.load_robot('panda'), 'reference', tmp_path_factory.mktemp('panda'))


@pytest.fixture(scope='module')
def arm(tmp_path_factory):
    return built(hd.load_robot('twolink'), 'reference', tmp_path_factory.mktemp('twolink'))


def test_a_plan_goes_through_its_points_with_the_torque_of_the_library(panda):
    times = [0.0, 0.8, 1.1, 2.0]
    random = np.random.default_rng(1)
    places = HOME + np.vstack([np.zeros(7), 0.3 * random.normal(size=(3, 7))])
    modes, q, torque, sent, _ = panda.cycles(
        f'hold {numbers(HOME)}', plan_line(times, places), 'step 0.001 2100')
    for time, point in zip(times[1:], places[1:], strict=True):
        assert q[round(time * 1000) - 1, 0] == pytest.approx(point, abs=1e-10)
    assert modes[-1] == HOLDING
    assert np.array_equal(q[-1, 1:], np.zeros((4, 7)))
    feed_forward = FeedForward(panda.robot)
    for motion, row in zip(q[::60], torque[::60], strict=True):
        expected = feed_forward.torque(motion)
        assert np.abs(row - expected).max(axis=1) == pytest.approx(
            0.0, abs=1e-12 * np.abs(expected).max())
    assert np.array_equal(sent, torque[:, 0])  # the arm is where it is to be: no feedback


def test_an_annotated_plan_is_played_as_it_was_checked(panda):
    """The controller's curve through the samples is the plan's own, torque and rate included."""
    plan = fit_plan([0.0, 0.9, 1.6, 2.5], HOME + np.array([
        [0.0] * 7, [0.4, 0.2, -0.3, 0.3, 0.4, 0.2, 0.5], [-0.2, 0.3, 0.2, -0.1, -0.3, 0.4, -0.3],
        [0.2, 0.1, 0.1, 0.2, 0.2, 0.1, 0.2]]))
    feed_forward = FeedForward(panda.robot)
    samples = annotate(plan, feed_forward)
    _, q, torque, *_ = panda.cycles(
        f'hold {numbers(HOME)}', plan_line(samples.times, samples.motion[:, 0]),
        'step 0.001 2500')
    times = 1e-3 * np.arange(1, 2501)
    expected = feed_forward.torque(plan.evaluate(times))
    assert np.abs(q[:, 0] - plan.evaluate(times)[:, 0]).max() < 1e-9
    for k, share in enumerate((1e-6, 1e-5, 1e-2)):  # of the largest Q, Q̇ and Q̈
        off = np.abs(torque[:, k] - expected[:, k]).max()
        assert off < share * np.abs(expected[:, k]).max(), k


def script(draw, n):
    """Return lines of some seconds in which anything is asked for, and the largest time step."""
    place = draw(st.integers(0, 10**6))
    random = np.random.default_rng(place)
    held = random.normal(size=n)
    lines = [f'hold {numbers(held)}']
    for _ in range(random.integers(1, 5)):
        kind = random.integers(3)
        if kind == 0:
            times = np.cumsum(np.r_[0.0, random.uniform(0.05, 0.8, random.integers(1, 5))])
            places = held + np.vstack([
                random.uniform(-0.009, 0.009, n), random.normal(size=(len(times) - 1, n))])
            lines += [plan_line(times, places), ('step', times[-1] * random.uniform(0.1, 1.0))]
        elif kind == 1:  # a chain that swings about the held place, and falls silent
            width = random.uniform(0.0, 0.009, n)
            lines.append(('swing', held, width, random.uniform(1.0, 5.0), random.uniform(0.1, 1)))
        if kind == 2 or random.integers(2):
            lines.append('stop')
        lines.append(('step', random.uniform(0.05, 1.5)))
    return lines


def at_period(lines, dt):
    """Return the lines with steps of a period."""
    out = []
    for line in lines:
        if isinstance(line, str):
            out.append(line)
        elif line[0] == 'step':
            out.append(f'step {dt!r} {max(1, round(line[1] / dt))}')
        else:
            _, held, width, rate, duration = line
            for k in range(1, round(duration / dt)):
                phase = rate * k * dt + np.arange(5) * np.pi / 2
                swing = np.cos(phase)[:, None] * width * rate ** np.arange(5)[:, None]
                swing[0] += held - width
                out += [f'sample {numbers(swing)}', f'step {dt!r} 1']
    return out


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_whatever_is_asked_for_the_motion_is_continuous_to_the_snap(arm, data):
    """The largest step of each derivative goes to 0 with the period; a jump would not."""
    lines = script(data.draw, 2)
    largest = []
    for dt in (1e-3, 2.5e-4):
        _, q, _, torque, _ = arm.cycles(*at_period(lines, dt), f'step {dt!r} {round(3.0 / dt)}')
        steps = np.abs(np.diff(q, axis=0)).max(axis=(0, 2))
        assert np.isfinite(torque).all()
        for k in range(4):  # each row is the derivative of the one before
            off = np.diff(q[:, k], axis=0) - 0.5 * dt * (q[1:, k + 1] + q[:-1, k + 1])
            assert np.abs(off).max() <= 0.5 * dt * steps[k + 1] + 1e-12
        largest.append(steps)
    assert (largest[1] <= 0.45 * largest[0] + 1e-9).all()
    assert np.array_equal(q[-1, 1:], np.zeros((4, 2)))  # and it comes to rest


@pytest.mark.parametrize(('frequency', 'width'), [(1.0, 0.05), (5.0, 0.01), (10.0, 0.002)])
def test_a_chain_that_falls_silent_comes_to_rest_near_by(arm, frequency, width):
    """Whatever its jerk and snap are: they are not integrated over the whole stop."""
    w = 2.0 * np.pi * frequency
    lines = ['hold 0 0']
    for k in range(1500):
        order = np.arange(5)
        swing = width * w**order * np.cos(w * k * 1e-3 + order * np.pi / 2)
        swing[0] -= width
        lines += [f'sample {numbers(np.repeat(swing, 2))}', 'step 0.001 1']
    modes, q, *_ = arm.cycles(*lines, 'step 0.001 1000')
    assert set(modes[:1500]) == {CHAIN}
    assert modes[-1] == HOLDING
    speed = width * w
    assert np.abs(q[:, 1]).max() < 1.8 * speed
    assert np.abs(q[1500:, 0] - q[1500, 0]).max() < 0.5 * speed + 2.0 * width


def test_one_sample_that_jumps_counts_as_none(arm):
    modes, q, *_ = arm.cycles('hold 0 0', *(
        line for k in range(60) for line in (
            f'sample {numbers(2 * [float(k == 30)], np.zeros((4, 2)))}', 'step 0.001 1')))
    assert set(modes) == {CHAIN}
    assert not q.any()


def test_a_stop_that_was_asked_for_lasts_until_the_chain_pauses(arm):
    cycles = [f'sample {numbers(np.zeros((5, 2)))}', 'step 0.001 1']
    modes, *_ = arm.cycles(
        'hold 0 0', *cycles * 50, 'stop', *cycles * 800, 'step 0.001 30', *cycles * 10)
    assert modes[[49, 849, -1]].tolist() == [CHAIN, HOLDING, CHAIN]


def test_an_arm_that_was_pushed_is_held_where_it_is_without_a_jump(arm):
    _, q, *_ = arm.cycles(
        'hold 0 0', plan_line([0.0, 1.0], [[0.0, 0.0], [1.0, 1.0]]), 'step 0.001 500',
        'yield 0.3 0.8', 'step 0.001 1000')
    assert q[-1, 0] == pytest.approx([0.3, 0.8], abs=1e-12)
    assert not q[-1, 1:].any()
    assert np.abs(np.diff(q[:, 3], axis=0)).max() < 0.2 * np.abs(q[:, 3]).max()


def test_a_plan_that_starts_elsewhere_is_not_followed(arm):
    modes, q, *_ = arm.cycles(
        'hold 0 0', plan_line([0.0, 1.0], [[0.02, 0.0], [1.0, 1.0]]), 'step 0.001 50')
    assert set(modes) == {HOLDING}
    assert not q.any()


def test_the_torque_keeps_its_limits_and_their_rate(arm):
    *_, torque, _ = arm.cycles(
        'limits 12 2 30 30', 'hold 0 0', plan_line([0.0, 0.3], [[0.0, 0.0], [1.0, -1.0]]),
        'step 0.001 600')
    assert np.abs(torque).max(axis=0) == pytest.approx([12.0, 2.0])
    assert np.abs(np.diff(torque, axis=0)).max() <= 0.030 * (1 + 1e-9)


def springy(name, program, folder):
    return built(with_example_actuators(hd.load_robot(name), 'sea', 1000.0), program, folder)


def test_motors_behind_springs_get_the_references_of_the_library(tmp_path):
    program = springy('twolink', 'reference', tmp_path)
    _, q, torque, _, motors = program.cycles(
        'hold 0.3 0.2', plan_line([0.0, 1.0], [[0.3, 0.2], [0.8, -0.4]]), 'step 0.001 1100')
    expected = FeedForward(program.robot).motor_side.along(1e-3 * np.arange(len(q)), q, torque)
    assert motors == pytest.approx(expected, rel=1e-12, abs=1e-12 * np.abs(expected).max())


def test_motors_have_interfaces_of_their_own(tmp_path):
    program = springy('twolink', 'manager', tmp_path)
    *_, names, _ = program.run('init', 'configure', 'names')
    claimed = names.split()[:6]
    assert claimed == [
        f'arm/joint{k}_motor/{quantity}' for k in (1, 2)
        for quantity in ('position', 'velocity', 'effort')]
    description = ElementTree.parse(tmp_path / 'config' / 'robot.urdf')
    commands = {
        f'{part.get("name")}/{one.get("name")}'
        for part in description.find('ros2_control') for one in part.findall('command_interface')}
    assert commands == {name.removeprefix('arm/') for name in claimed}
    # Deactivated in motion, the motors are held, with the torque that this takes.
    lines = program.run(
        'init', 'configure', 'state 0.3 0.2 0 0', 'activate', 'cycle 0.001 2',
        'trajectory 2 joint1 joint2 0 0.3 0.2 0.4 0.8 -0.2', 'cycle 0.001 200', 'deactivate')
    before = np.array(lines[-4].split()[2:], float).reshape(2, 3)
    after = np.array(lines[-2].split(), float).reshape(2, 3)
    assert np.abs(before[:, 1]).max() > 0.5
    assert not after[:, 1].any()
    assert after[:, 0] == pytest.approx(before[:, 0], abs=0.02)


def test_motors_get_gravity_whoever_adds_it_to_a_torque(tmp_path):
    """The spring carries it, also where the controller adds its own; and no torque is cut."""
    program = springy('panda', 'manager', tmp_path)
    lines = program.run(
        'set gravity 0', 'set friction 0', 'set stiffness 900 900 900 900 900 900 900', 'init',
        'configure', f'state {numbers(HOME + 0.5, np.zeros(7))}', 'activate',
        f'state {numbers(HOME + 1.5, np.zeros(7))}', 'cycle 0.001 900')
    sent = np.array(lines[-2].split()[2:], float).reshape(7, 3)
    feed_forward = FeedForward(program.robot)
    motion = np.vstack([HOME + 0.5, np.zeros((4, 7))])
    angle, rate, _, torque = feed_forward.motor_side.evaluate(motion, feed_forward.torque(motion))
    assert np.abs(torque).max() > 10.0
    assert sent == pytest.approx(np.array([angle, rate, torque]).T, abs=1e-12)
    assert not [line for line in lines if line.startswith('error: ')]
    example = (tmp_path / 'config' / 'controllers.yaml').read_text()
    assert 'stiffness' not in example


def example_gains(robot, path):
    generate_ros2_control(robot, path)
    text = (path / 'config' / 'controllers.yaml').read_text()
    given = yaml.safe_load(text)['/**']['feedforward_controller']['ros__parameters']
    return np.array(given['stiffness']), np.array(given['damping'])


def test_the_example_gains_of_the_fr3_are_below_those_of_franka_ros2(tmp_path):
    """That of the last joint was above, and the page said which."""
    gains, _ = example_gains(hd.load_robot('fr3'), tmp_path / 'package')
    assert (gains < [600.0, 600.0, 600.0, 600.0, 250.0, 150.0, 50.0]).all()
    page = (Path(__file__).parents[2] / 'docs' / 'franka.md').read_text()
    ends = (f'{gains[i]:g} N m/rad (joint {i + 1})' for i in (gains.argmax(), gains.argmin()))
    assert f'from {" to ".join(ends)}' in page


@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'ur10e', 'twolink', 'light wrist'])
def test_the_example_gains_hold_an_arm_at_1_khz_with_a_delay_of_two_cycles(tmp_path, name):
    """Those by the effort limits alone threw a wrist of 6e-4 kg m² to its torque limits."""
    robot = hd.load_robot('panda' if name == 'light wrist' else name)
    if name == 'light wrist':
        *others, last = robot.bodies
        robot = replace(robot, bodies=(*others, replace(
            last, mass=0.05, com=np.zeros(3), inertia=6e-5 * np.eye(3))))
    stiffness, damping = map(np.diag, example_gains(robot, tmp_path / 'package'))
    n, step, rng = robot.n, 1e-3, np.random.default_rng(1)
    none, one = np.zeros((n, n)), np.eye(n)
    for _ in range(20):
        q = rng.uniform(-2.0, 2.0, (2, n)) * [[1.0], [0.0]]
        move = step * np.linalg.inv(hd.equations_of_motion(robot, q).mass[0])
        # Position error, velocity, and the torques of the last cycle and of the one before it.
        loop = np.block([
            [one, step * one, none, step * move], [none, one, none, move],
            [-stiffness, -damping, none, none], [none, none, one, none]])
        assert np.abs(np.linalg.eigvals(loop)).max() < 1.0


def test_what_the_controller_cannot_do_is_refused(tmp_path):
    robot = with_example_actuators(hd.load_robot('twolink'), 'vsa', 1000.0)
    with pytest.raises(hd.HodynError, match='variable stiffness'):
        generate_ros2_control(robot, tmp_path / 'package')
    screw = random_robot(np.random.default_rng(0), 3, ('helical',))
    with pytest.raises(hd.HodynError, match=(
            r'cannot have helical joints \(joint0, joint1, joint2\), as its URDF .*--output` ')):
        generate_ros2_control(screw, tmp_path / 'screw')
    with pytest.raises(hd.HodynError, match=r"'aerial_manipulator' has a floating base; .*for a"):
        generate_ros2_control(hd.load_robot('aerial_manipulator'), tmp_path / 'package')
    assert not (tmp_path / 'package').exists()


SOLVER = """\
#pragma once
#include <Eigen/Dense>
#include <memory>
#include <string>
namespace rclcpp::node_interfaces
{
struct NodeParametersInterface {using ConstSharedPtr = std::shared_ptr<const int>;};
}
namespace inverse_dynamics_solver
{
struct InverseDynamicsSolver
{
  using Vector = Eigen::VectorXd;
  virtual ~InverseDynamicsSolver() = default;
  virtual void initialize(
    rclcpp::node_interfaces::NodeParametersInterface::ConstSharedPtr, const std::string &,
    const std::string &) = 0;
  virtual Eigen::MatrixXd getInertiaMatrix(const Vector &) const = 0;
  virtual Vector getCoriolisVector(const Vector &, const Vector &) const = 0;
  virtual Vector getGravityVector(const Vector &) const = 0;
  virtual Vector getFrictionVector(const Vector &) const = 0;
  virtual Vector getTorques(const Vector &, const Vector &, const Vector &) const = 0;
};
}
"""


@pytest.mark.skipif(not EIGEN.is_dir(), reason='no Eigen here')
def test_the_plugin_of_inverse_dynamics_solver_has_the_terms_of_the_library(tmp_path):
    for name, text in (
            ('inverse_dynamics_solver/inverse_dynamics_solver.hpp', SOLVER),
            ('pluginlib/class_list_macros.hpp', '#define PLUGINLIB_EXPORT_CLASS(type, base)\n')):
        (tmp_path / 'stand_ins' / name).parent.mkdir(parents=True)
        (tmp_path / 'stand_ins' / name).write_text(text)
    robot = hd.load_robot('panda')
    program = built(robot, 'solver', tmp_path / 'package', '-I', tmp_path / 'stand_ins',
                    '-I', tmp_path / 'package', '-isystem', EIGEN)
    q = np.random.default_rng(3).normal(size=(3, 7))
    lines = program.run(numbers(q))
    torque, gravity, coriolis, friction, *mass = (
        np.array(line.split(), float) for line in lines[:11])
    terms = hd.equations_of_motion(robot, q[:2])
    assert torque == pytest.approx(hd.inverse_dynamics(robot, q)[0], rel=1e-12)
    assert gravity == pytest.approx(terms.gravity[0], rel=1e-12, abs=1e-12)
    assert np.array(mass) == pytest.approx(terms.mass[0], rel=1e-12, abs=1e-12)
    assert torque == pytest.approx(mass @ q[2] + coriolis + gravity, rel=1e-12)
    assert friction == pytest.approx(
        robot.friction.torque(np.vstack([q, np.zeros((2, 7))]))[0], abs=1e-12)
    assert lines[11] == 'expected 7 joints, got 1'
