"""Simulation of robots on floating bases."""
import numpy as np
import pytest
from random_robots import random_pose, random_robot, random_wrenches
from scipy.special import ellipj

import hodyn_ros as hd
from hodyn_ros.robot import lie


def no_torque(t, state, base_pose, base_twist):
    return np.zeros(state.shape[1])


def tumbling(seed, gravity=True):
    """Return a robot of random limbs, and how its motion starts."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 4, floating=True, serial=False)
    if not gravity:
        robot = robot.with_gravity((0.0, 0.0, 0.0))
    base = {'base_pose': random_pose(rng), 'base_twist': rng.normal(size=(1, 6))}
    return robot, rng.normal(size=(2, robot.n)), base


def test_a_free_body_turns_as_euler_found():
    """ω of a body of three moments of inertia, by Jacobi's elliptic functions."""
    moments, w = np.array([1.0, 2.0, 3.0]), np.array([0.9, 0.0, 0.7])
    body = hd.load_robot({'name': 'top', 'gravity': [0, 0, 0], 'bodies': [{
        'name': 'top', 'parent': -1, 'type': 'floating', 'placement': np.eye(4), 'mass': 2.0,
        'com': np.zeros(3), 'inertia': np.diag(moments)}]})
    a, b, c = moments
    twice_energy, square = moments @ w**2, moments**2 @ w**2  # 2 T and L² > 2 T b
    rate = np.sqrt((c - b) * (square - twice_energy * a) / (a * b * c))
    rest = twice_energy * c - square
    times = np.linspace(0.0, 20.0, 9)
    sn, cn, dn, _ = ellipj(
        rate * times, (b - a) * rest / ((c - b) * (square - twice_energy * a)))
    expected = np.array([w[0] * cn, np.sqrt(rest / (b * (c - b))) * sn, w[2] * dn]).T
    _, poses, twists = hd.simulate(
        body, no_torque, np.zeros((2, 0)), times, base_pose=np.eye(4),
        base_twist=[[*w, 0.0, 0.0, 0.0]], tolerance=1e-12)
    turns = np.einsum('tji,tj->ti', poses[:, :3, :3], twists[:, 0, :3])
    np.testing.assert_allclose(turns, expected, atol=1e-9)
    np.testing.assert_allclose(
        np.einsum('tij,tj->ti', poses[:, :3, :3], moments * turns),
        np.tile(moments * w, (9, 1)), atol=1e-9)


@pytest.mark.parametrize(('order', 'steps'), [(3, 80), (5, 20), (8, 3)])
def test_the_error_falls_with_the_order_of_the_method(order, steps):
    robot, start, base = tumbling(2)  # whose errors are far above rounding
    exact = hd.simulate(robot, no_torque, start, [0.0, 0.5], **base, tolerance=3e-14)
    errors = []
    for count in (steps, 2 * steps):
        found = hd.simulate(
            robot, no_torque, start, [0.0, 0.5], **base, order=order, step=0.5 / count)
        errors.append(max(np.abs(a - b)[-1].max() for a, b in zip(found, exact, strict=True)))
    assert errors[0] / errors[1] == pytest.approx(2.0**order, rel=0.3)


@pytest.mark.parametrize('seed', range(3))
def test_a_robot_in_free_fall_keeps_energy_and_momentum(seed):
    """Its centre of mass falls; energy, and momentum about that point, stay."""
    robot, start, base = tumbling(seed)
    times = np.linspace(0.0, 1.0, 5)
    states, poses, twists = hd.simulate(
        robot, no_torque, start, times, **base, tolerance=1e-11)
    moving = {'base_pose': poses, 'base_twist': twists}
    com = hd.center_of_mass(robot, states, **moving)
    fallen = com[0, 0] + times[:, None] * com[0, 1] + 0.5 * times[:, None]**2 * robot.gravity
    np.testing.assert_allclose(com[:, 0], fallen, atol=1e-8)
    momentum = hd.momentum(robot, states, **moving)[:, 0]
    spin = momentum[:, :3] - np.cross(com[:, 0], momentum[:, 3:])
    np.testing.assert_allclose(spin, np.tile(spin[0], (5, 1)), atol=1e-8 * np.abs(spin).max())
    energy = sum(hd.energy(robot, states, **moving))[:, 0]
    np.testing.assert_allclose(energy, energy[0], rtol=0, atol=1e-8 * np.abs(energy).max())


def test_without_gravity_the_momentum_stays():
    robot, start, base = tumbling(3, gravity=False)
    states, poses, twists = hd.simulate(robot, no_torque, start, np.linspace(0.0, 1.0, 4), **base)
    momentum = hd.momentum(robot, states, base_pose=poses, base_twist=twists)[:, 0]
    np.testing.assert_allclose(momentum, np.tile(momentum[0], (4, 1)), atol=1e-7)


def test_the_pose_stays_one_however_many_steps():
    robot, start, base = tumbling(4, gravity=False)
    _, poses, _ = hd.simulate(robot, no_torque, start, [0.0, 3.0], **base, order=3, step=0.002)
    rotation = poses[-1, :3, :3]
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=2e-15)
    np.testing.assert_array_equal(poses[-1, 3], [0, 0, 0, 1])


def test_the_efforts_of_a_motion_make_that_motion():
    """A base on a screw about a fixed axis, Ċ = [X] ṡ C, with wrenches on all bodies."""
    rng = np.random.default_rng(5)
    robot = random_robot(rng, 4, floating=True, serial=False)
    home, screw, turns = random_pose(rng), rng.normal(size=6), np.arange(1.0, 4.0)
    wrenches = random_wrenches(rng, robot, 0)

    def motion(t):
        q = np.array([np.sin(turns * t), turns * np.cos(turns * t), -turns**2 * np.sin(turns * t)])
        twist = np.array([screw * np.cos(t), -screw * np.sin(t)])
        return q, lie.exp(screw * np.sin(t)) @ home, twist

    def efforts(t):
        q, pose, twist = motion(t)
        return hd.inverse_dynamics(
            robot, q, base_pose=pose, base_twist=twist, external_wrenches=wrenches)

    times = np.linspace(0.2, 0.7, 4)
    q, pose, twist = motion(times[0])
    states, poses, twists = hd.simulate(
        robot, lambda t, *_: efforts(t)[0][0], q[:2], times, base_pose=pose, base_twist=twist[:1],
        base_wrench=lambda t, *_: efforts(t)[1][0], external_wrenches=lambda *_: wrenches[0])
    for k, t in enumerate(times):
        q, pose, twist = motion(t)
        np.testing.assert_allclose(states[k], q[:2], atol=1e-6)
        np.testing.assert_allclose(poses[k], pose, atol=1e-6)
        np.testing.assert_allclose(twists[k], twist[:1], atol=1e-6)


def test_laws_are_given_the_state_of_the_base():
    """A thruster at the base's origin that holds the weight and brakes: it stops where it is."""
    body = hd.load_robot({'name': 'drone', 'bodies': [{
        'name': 'drone', 'parent': -1, 'type': 'floating', 'placement': np.eye(4), 'mass': 2.0,
        'com': np.zeros(3), 'inertia': np.eye(3)}]})

    def hover(t, state, base_pose, base_twist):
        position = base_pose[:3, 3]
        velocity = base_twist[0, 3:] + np.cross(base_twist[0, :3], position)
        force = -2.0 * body.gravity - 4.0 * velocity
        return np.concatenate([np.cross(position, force), force])

    pose, times = lie.pose(None, [1.0, 2.0, 3.0]), np.linspace(0.0, 3.0, 4)
    _, poses, _ = hd.simulate(
        body, no_torque, np.zeros((2, 0)), times, base_pose=pose,
        base_twist=[[0.0, 0.0, 0.0, 0.5, 0.0, 0.0]], base_wrench=hover)
    expected = np.tile([1.0, 2.0, 3.0], (4, 1))
    expected[:, 0] += 0.25 * (1.0 - np.exp(-2.0 * times))
    np.testing.assert_allclose(poses[:, :3, 3], expected, atol=1e-8)


def test_against_mujoco():
    """A free body with two joints and torques, by MuJoCo's own Runge-Kutta method."""
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string("""<mujoco>
      <option gravity="0 0 -9.81" integrator="RK4" timestep="0.0005"/><worldbody>
      <body name="base"><freejoint name="free"/>
        <inertial pos="0.1 0 0.05" mass="2" diaginertia="0.1 0.2 0.25"/>
        <body name="arm" pos="0 0 0.2"><joint name="turn" axis="0 1 0"/>
          <inertial pos="0 0.1 0.3" mass="1" diaginertia="0.02 0.03 0.04"/>
          <body name="hand" pos="0 0 0.5"><joint name="slide" type="slide" axis="1 0 1"/>
            <inertial pos="0.05 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/>
      </body></body></body></worldbody></mujoco>""")
    robot, data = hd.load_robot(model), mujoco.MjData(model)
    rng = np.random.default_rng(6)
    pose, torque = random_pose(rng), np.array([0.5, -1.0])
    start, hybrid = rng.normal(size=(2, 2)), rng.normal(size=6)
    data.qpos[:] = [*pose[:3, 3], *lie.quaternion(pose[:3, :3]), *start[0]]
    data.qvel[:] = [*hybrid[3:], *(pose[:3, :3].T @ hybrid[:3]), *start[1]]
    data.qfrc_applied[6:] = torque
    spatial = hybrid + np.concatenate([np.zeros(3), np.cross(pose[:3, 3], hybrid[:3])])
    states, poses, twists = hd.simulate(
        robot, lambda *_: torque, start, [0.0, 0.4], base_pose=pose, base_twist=[spatial])
    for _ in range(800):
        mujoco.mj_step(model, data)
    np.testing.assert_allclose(states[-1], [data.qpos[7:], data.qvel[6:]], atol=1e-7)
    np.testing.assert_allclose(poses[-1, :3, 3], data.qpos[:3], atol=1e-7)
    np.testing.assert_allclose(
        poses[-1, :3, :3], lie.rotation_of_quaternion(data.qpos[3:7]), atol=1e-7)
    turn = poses[-1, :3, :3].T @ twists[-1, 0, :3]
    np.testing.assert_allclose(turn, data.qvel[3:6], atol=1e-7)


def test_a_motion_does_not_depend_on_the_place():
    robot, start, base = tumbling(7)
    here = hd.simulate(robot, no_torque, start, [0.0, 0.5], **base)
    shift = lie.pose(None, [300.0, -200.0, 100.0])
    base = {'base_pose': shift @ base['base_pose'],
            'base_twist': base['base_twist'] @ lie.adjoint(shift).T}
    there = hd.simulate(robot, no_torque, start, [0.0, 0.5], **base)
    np.testing.assert_allclose(there[0], here[0], rtol=0, atol=1e-8)
    np.testing.assert_allclose(lie.inverse(shift) @ there[1], here[1], rtol=0, atol=1e-8)


START = {'base_pose': np.eye(4), 'base_twist': np.zeros((1, 6))}


@pytest.mark.parametrize(('changes', 'message'), [
    ({'base_pose': None}, 'floating base: give its base_pose'),
    ({'base_pose': 2.0 * np.eye(4)}, 'base_pose: its rotation is not orthonormal'),
    ({'base_twist': np.zeros(6)}, r'base_twist has shape \(6,\); expected \(1, 6\)'),
    ({'base_wrench': lambda *_: np.zeros(3)},
     r'base_wrench\(t, state, base_pose, base_twist\) has shape \(3,\); expected \(6,\)'),
    ({'order': 4}, 'order 4: expected one of 3, 5, 8'),
    ({'step': 0.0}, 'step must be above 0'),
    ({'step': np.nan}, 'step.* not finite'),
    ({'step': 'fast'}, 'step'),
    ({'tolerance': -1.0}, 'tolerance must be above 0'),
])
def test_bad_input_is_named(changes, message):
    robot, start, _ = tumbling(0)
    with pytest.raises(ValueError, match=message):
        hd.simulate(robot, no_torque, start, [0, 1], **START | changes)


def test_a_base_that_does_not_fit_the_function_is_refused():
    arm, state = hd.load_robot('twolink'), np.zeros((2, 2))
    with pytest.raises(ValueError, match='fixed base: leave out base_pose'):
        hd.simulate(arm, lambda *_: np.zeros(2), state, [0, 1], **START)
    with pytest.raises(ValueError, match='fixed base: leave out base_wrench'):
        hd.simulate(arm, lambda *_: np.zeros(2), state, [0, 1], base_wrench=lambda *_: None)
    robot, start, _ = tumbling(0)
    with pytest.raises(ValueError, match='floating base: use simulate'):
        hd.simulate_by_euler(robot, no_torque, start, 0.1, 1)
