import numpy as np
import pytest
from random_robots import random_robot

import hodyn_ros as hd


def no_torque(t, state):
    return np.zeros(state.shape[1])


@pytest.mark.parametrize('seed', range(3))
def test_a_free_robot_keeps_its_energy(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 3, serial=False)
    states = hd.simulate(robot, no_torque, rng.normal(size=(2, 3)), np.linspace(0, 1, 5))
    energies = sum(hd.energy(robot, states))[:, 0]
    scale = max(1.0, np.abs(energies).max())
    np.testing.assert_allclose(energies, energies[0], rtol=0, atol=1e-6 * scale)


def test_the_torques_of_a_motion_make_that_motion():
    panda = hd.load_robot('panda')
    centre = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])
    turns = np.arange(1.0, 8.0)

    def motion(t):
        return np.array([
            centre + 0.1 * np.sin(turns * t), 0.1 * turns * np.cos(turns * t),
            -0.1 * turns**2 * np.sin(turns * t)])

    def torque(t, state):
        return hd.inverse_dynamics(panda, motion(t))[0]

    times = np.linspace(0.2, 0.7, 6)
    states = hd.simulate(panda, torque, motion(0.2)[:2], times)
    np.testing.assert_allclose(states, [motion(t)[:2] for t in times], atol=1e-6)


def test_a_pendulum_swings_as_it_should():
    """A point mass on a bar of 1 m, small swings: cos √g t."""
    pendulum = hd.load_robot({
        'name': 'pendulum', 'gravity': [0, -9.81, 0], 'bodies': [{
            'name': 'bar', 'parent': -1, 'type': 'revolute', 'placement': np.eye(4),
            'axis': [0, 0, 1], 'mass': 3.0, 'com': [0, -1, 0], 'inertia': np.zeros((3, 3))}]})
    times = np.linspace(0, 2, 9)
    states = hd.simulate(pendulum, no_torque, [[1e-4], [0.0]], times, tolerance=1e-12)
    np.testing.assert_allclose(states[:, 0, 0], 1e-4 * np.cos(np.sqrt(9.81) * times), atol=1e-11)


@pytest.mark.parametrize('order', [3, 5, 8])
def test_other_orders_come_to_the_same_motion(order):
    robot, start = hd.load_robot('twolink'), [[0.3, 0.5], [0.0, 0.0]]
    times = [0.0, 0.1, 0.2]
    exact = hd.simulate(robot, no_torque, start, times, tolerance=1e-12)
    for control in ({'tolerance': 1e-8}, {'step': 0.001}):
        found = hd.simulate(robot, no_torque, start, times, order=order, **control)
        np.testing.assert_allclose(found, exact, atol=1e-6)


SLIDER = hd.load_robot({
    'name': 'slider', 'bodies': [{
        'name': 'cart', 'parent': -1, 'type': 'prismatic', 'placement': np.eye(4),
        'axis': [0, 0, 1], 'mass': 2.0, 'com': [0, 0, 0], 'inertia': np.eye(3)}]})


def test_external_wrenches_act():
    """A force that just holds the weight lets a slider stand still."""
    def lift(t, state):
        return [[0, 0, 0, 0, 0, 2.0 * 9.80665]]

    start = [[0.5], [0.0]]
    states = hd.simulate(SLIDER, no_torque, start, [0, 1], external_wrenches=lift)
    np.testing.assert_allclose(states[-1], start, atol=1e-12)
    states = hd.simulate_by_euler(SLIDER, no_torque, start, 0.1, 10, external_wrenches=lift)
    np.testing.assert_allclose(states[-1], start, atol=1e-12)


def test_euler_is_explicit():
    """Guards the semi-implicit method, whose error falls with the step as well."""
    states = hd.simulate_by_euler(SLIDER, no_torque, [[1.0], [0.5]], 0.1, 2)[:, :, 0]
    g = 9.80665
    np.testing.assert_allclose(
        states, [[1.0, 0.5], [1.05, 0.5 - 0.1 * g], [1.1 - 0.01 * g, 0.5 - 0.2 * g]], rtol=1e-12)


def test_eulers_error_falls_with_the_step():
    robot = hd.load_robot('twolink')
    start = [[0.3, 0.5], [0.0, 0.0]]
    exact = hd.simulate(robot, no_torque, start, [0.0, 0.2])[-1]
    errors = [
        np.abs(hd.simulate_by_euler(robot, no_torque, start, 0.2 / n, n)[-1] - exact).max()
        for n in (50, 100, 200)]
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.15)
    assert errors[1] / errors[2] == pytest.approx(2.0, abs=0.15)


@pytest.mark.parametrize(('call', 'message'), [
    (lambda r: hd.simulate(r, no_torque, np.zeros((1, 2)), [0, 1]), 'start has shape'),
    (lambda r: hd.simulate(r, no_torque, np.zeros((2, 2)), [0, 1, 1]), 'times must increase'),
    (lambda r: hd.simulate(r, no_torque, np.zeros((2, 2)), [0, np.nan]), 'times.*not finite'),
    (lambda r: hd.simulate(r, lambda t, s: [1.0], np.zeros((2, 2)), [0, 1]), r'shape \(1,\)'),
    (lambda r: hd.simulate(r, lambda t, s: np.zeros((3, 2)), np.zeros((2, 2)), [0, 1]),
     r'torque\(t, state\) has shape \(3, 2\); expected \(2,\)'),
    (lambda r: hd.simulate(r, lambda t, s: [1.0, np.nan], np.zeros((2, 2)), [0, 1]), 'not finite'),
    (lambda r: hd.simulate_by_euler(r, no_torque, np.zeros((2, 2)), 0.0, 5), 'step must be above'),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(hd.load_robot('twolink'))


def drive(t, state, *base):
    """Damping of the wrong sign."""
    return 50.0 * state[1]


@pytest.mark.parametrize('control', [{}, {'step': 1e-3}])
def test_a_motion_that_diverges_ends_with_time_and_joint(control):
    start = [[0.3, 0.5], [0.1, 0.0]]
    with pytest.raises(hd.HodynError, match=(
            r"^(at|beyond) 0\.\d+ s: .*joint 'joint[12]'")):
        hd.simulate(hd.load_robot('twolink'), drive, start, [0.0, 10.0], **control)


def test_a_motion_that_diverges_on_a_floating_base_is_named():
    flyer = hd.load_robot('aerial_manipulator')
    with pytest.raises(hd.HodynError, match=(
            r"^at 0\.\d+ s: (joint '\w+'|the base) of robot .* moves at .*the motion diverges")):
        hd.simulate(
            flyer, drive, np.full((2, 6), 0.1), [0.0, 10.0], base_pose=np.eye(4),
            base_twist=np.zeros((1, 6)))


def test_a_base_that_turns_ever_faster_is_named_and_an_orbit_is_not():
    body = hd.load_robot({
        'name': 'body', 'gravity': [0, 0, 0], 'bodies': [{
            'name': 'base', 'joint': 'free', 'parent': -1, 'type': 'floating',
            'placement': np.eye(4), 'mass': 2.0, 'com': np.zeros(3), 'inertia': np.eye(3)}]})
    base = {'base_pose': np.eye(4), 'base_twist': [[0.0, 0.0, 0.0, 2e4, 0.0, 0.0]]}
    start = np.zeros((2, 0))
    _, poses, _ = hd.simulate(body, lambda t, *_: [], start, [0.0, 1.0], **base)
    assert poses[-1, 0, 3] == pytest.approx(2e4)
    with pytest.raises(hd.HodynError, match=r'the base of robot .* moves at .* diverges'):
        hd.simulate(
            body, lambda t, *_: [], start, [0.0, 10.0], step=1e-3,
            base_pose=np.eye(4), base_twist=np.zeros((1, 6)),
            base_wrench=lambda t, *_: [0.0, 0.0, 1e6, 0.0, 0.0, 0.0])
