"""What the parts of the feed-forward are worth on an elastic arm in MuJoCo."""
from dataclasses import replace
import json

import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros import cli
from hodyn_ros.actuators.joint_actuators import Actuators, JointActuator
from hodyn_ros.actuators.laws import LinearSpring, Rigid
from hodyn_ros.actuators.motors import Motor
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import fit_plan
from hodyn_ros.simulation.elastic_tracking import (
    METHODS,
    Conditions,
    motor_references,
    simulate_tracking,
)
from hodyn_ros.simulation.examples import fast_motion, with_example_actuators

pytest.importorskip('mujoco')


def sea(stiffness, name='panda'):
    return with_example_actuators(hd.load_robot(name), 'sea', stiffness)


def fast(robot, duration=3.0, speed=0.8):
    return fit_plan(*fast_motion(robot, duration, speed))


@pytest.mark.slow
@pytest.mark.parametrize(('stiffness', 'bandwidth'), [
    (1000.0, 50.0), pytest.param(3000.0, 20.0, marks=pytest.mark.siege)])
def test_each_derivative_earns_its_place(stiffness, bandwidth):
    robot = sea(stiffness)
    runs = simulate_tracking(robot, fast(robot), bandwidth=bandwidth)
    rms = {method: run.rms for method, run in runs.items()}
    assert rms['full'] <= 5e-6
    assert rms['rigid'] / rms['full'] >= 5000
    assert rms['torque_rate'] / rms['full'] >= 30
    assert rms['torque'] > 3 * rms['torque_rate']
    peak = np.abs(np.gradient(runs['full'].measured, runs['full'].times, axis=0)).max(axis=0)
    assert np.allclose(peak, 0.8 * robot.limits.velocity, rtol=1e-3)


@pytest.mark.slow
def test_a_wrong_model_leaves_what_its_statics_leave():
    robot = sea(1000.0)
    plan = fast(robot, duration=1.0, speed=0.4)
    runs = simulate_tracking(
        robot, plan, conditions=Conditions(stiffness=0.8), methods=['rigid', 'full'])
    # Q (1/0.8 - 1)/K, less what the motor loop gives back as the weight moves.
    sag = 0.25 * np.abs(FeedForward(robot).torque(plan.evaluate(0.0))[0]).max() / 1000.0
    assert np.abs(runs['full'].error[0]).max() == pytest.approx(sag, rel=0.3)
    assert runs['rigid'].rms > 3 * runs['full'].rms


@pytest.mark.slow
def test_late_references_cost_what_the_lookahead_gives_back():
    robot = sea(1000.0)
    plan = fast(robot, duration=1.0)
    late = simulate_tracking(
        robot, plan, conditions=Conditions(reference_delay=5e-3), methods=['full'])['full']
    ahead = simulate_tracking(
        robot, plan, conditions=Conditions(reference_delay=5e-3, lookahead=5e-3),
        methods=['full'])['full']
    speed = np.sqrt(np.mean(plan.evaluate(late.times)[:, 1] ** 2, axis=0)).max()
    assert late.rms == pytest.approx(5e-3 * speed, rel=0.01)
    assert ahead.rms < 5e-6


@pytest.mark.slow
@pytest.mark.parametrize('conditions', [
    Conditions(mass=1.1), Conditions(loop_delay=2e-3),
    Conditions(position_noise=1e-4), Conditions(velocity_noise=1e-2),
])
def test_every_disturbance_disturbs(conditions):
    robot = sea(1000.0)
    plan = fast(robot, duration=0.5, speed=0.4)
    good, bad = (
        simulate_tracking(robot, plan, conditions=c, methods=['full'])['full'].rms
        for c in (Conditions(), conditions))
    assert bad > 10 * good


@pytest.mark.slow
def test_position_and_stiffness_follow_plans_of_their_own():
    robot = with_example_actuators(hd.load_robot('panda'), 'vsa', 2000.0)
    plan = fast(robot, duration=1.0)
    wanted = 1500.0 + 300.0 * np.arange(7)
    stiffness = fit_plan([0, 0.4, 1.0], np.array([wanted, wanted[::-1], wanted + 500.0]))
    run = simulate_tracking(robot, plan, stiffness=stiffness, methods=['full'])['full']
    assert run.motor_torque.shape[1] == 14
    assert run.rms < 1e-5
    error = np.abs(run.stiffness - stiffness.evaluate(run.times)[:, 0])
    assert error.max() < 1e-4 * wanted.max()


def test_an_arm_that_feedback_drives_to_where_its_tendons_cannot_pull_is_lost():
    robot = with_example_actuators(hd.load_robot('twolink'), 'vsa', 2000.0)
    plan = fit_plan([0.0, 0.5], [[0.0, 0.0], [0.3, -0.2]])
    runs = simulate_tracking(
        robot, plan, conditions=Conditions(stiffness=0.8), methods=['full', 'flatness'],
        bandwidth=20.0)
    assert runs['flatness'].rms == np.inf
    assert runs['full'].rms < 1e-2


def test_an_impossible_stiffness_plan_is_refused_with_joint_time_margin():
    robot = with_example_actuators(hd.load_robot('panda'), 'vsa', 2000.0)
    plan = fast(robot, duration=1.0)
    stiffness = fit_plan([0, 1.0], np.array([[2000.0] * 7, [2000.0] * 3 + [40.0] + [2000.0] * 3]))
    with pytest.raises(ValueError, match=r"joint 'joint4' at [\d.]+ s: .* short by [\d.]+ N m/r"):
        simulate_tracking(robot, plan, stiffness=stiffness, methods=['full'])


def test_methods_are_what_they_say():
    robot = sea(1000.0)
    robot = replace(robot, actuators=Actuators(robot.joint_names, (
        *(JointActuator(LinearSpring(1000.0), Motor(0.5)),) * 6,
        JointActuator(Rigid(), Motor(0.5)))))
    plan, times = fast(robot), np.array([0.8, 1.3])
    q = plan.evaluate(times)
    torque = FeedForward(robot).torque(q)
    expected = {
        'rigid': (q[:, 0], q[:, 1], 0.5 * q[:, 2] + torque[:, 0]),
        'torque': (q[:, 0] + torque[:, 0] / 1000, q[:, 1], 0.5 * q[:, 2] + torque[:, 0]),
        'torque_rate': (
            q[:, 0] + torque[:, 0] / 1000, q[:, 1] + torque[:, 1] / 1000,
            0.5 * q[:, 2] + torque[:, 0]),
        'full': (
            q[:, 0] + torque[:, 0] / 1000, q[:, 1] + torque[:, 1] / 1000,
            0.5 * (q[:, 2] + torque[:, 2] / 1000) + torque[:, 0]),
    }
    assert {*expected, 'flatness'} == set(METHODS)  # which has no references of its own
    for method in expected:
        got = motor_references(FeedForward(robot), plan, times, method)
        for row, value in zip((0, 1, 3), expected[method], strict=True):
            assert np.allclose(got[:, row, :6], value[:, :6], rtol=1e-12, atol=1e-12), method
        assert np.allclose(got[:, 0, 6], q[:, 0, 6], rtol=1e-15)
        assert np.allclose(got[:, 3, 6], 0.5 * q[:, 2, 6] + torque[:, 0, 6], rtol=1e-12)


@pytest.mark.slow
def test_the_command_prints_plots_and_writes_figures(tmp_path, capsys):
    file = tmp_path / 'figures.json'
    code = cli.main([
        'demo', '--compare', '--actuator', 'vsa', '--duration', '0.3',
        '--json', str(file), '--output', str(tmp_path / 'out')])
    assert code == 0
    assert (tmp_path / 'out' / 'comparison.png').stat().st_size > 10_000
    figures = json.loads(file.read_text())
    assert set(figures['comparison']) == set(METHODS)
    assert figures['comparison']['rigid'] > 100 * figures['comparison']['full'] > 0
    assert figures['stiffness_error'] < 1.0
    assert 'torque_rate' in capsys.readouterr().out


@pytest.mark.parametrize(('arguments', 'message'), [
    (['--actuator', 'sea', '--duration', '60'], "joint 'joint1' would leave its range"),
    ([], "robot 'panda' has no actuators section in its file: give --actuator"),
])
def test_a_wrong_request_is_one_line(arguments, message, capsys, tmp_path):
    assert cli.main(
        ['demo', '--compare', '--output', str(tmp_path), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count('\n') == 1
