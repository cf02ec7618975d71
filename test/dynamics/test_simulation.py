"""Simulated motions, of robots on fixed and on floating bases, and on spherical joints."""
from cases import random_case
import numpy as np
import pytest
from random_robots import random_pose, random_robot
from rigid_bodies import one_body
from scipy.special import ellipj
from spherical_robots import HALF, NAMES, QUARTER, ball, some_rotations, with_balls

import hodyn_ros as hd
from hodyn_ros.robot import lie


def no_torque(t, state, *base):
    return np.zeros(state.shape[1])


def tumbling(seed, gravity=True):
    """Return a robot of random limbs, and how its motion starts."""
    case = random_case(seed, 4, -1, floating=True, serial=False)
    robot = case.robot if gravity else case.robot.with_gravity((0.0, 0.0, 0.0))
    return robot, case.q, case.base


@pytest.mark.parametrize('seed', range(3))
def test_a_free_robot_keeps_its_energy(seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 3, serial=False)
    states = hd.simulate(robot, no_torque, rng.normal(size=(2, 3)), np.linspace(0, 1, 5))
    energies = sum(hd.energy(robot, states))[:, 0]
    scale = max(1.0, np.abs(energies).max())
    np.testing.assert_allclose(energies, energies[0], rtol=0, atol=1e-6 * scale)


def test_the_torques_of_a_motion_make_that_motion(panda):
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
    pendulum = one_body(
        'revolute', 3.0, [0, -1, 0], 0.0, gravity=[0, -9.81, 0], axis=[0, 0, 1])
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


SLIDER = one_body('prismatic', axis=[0, 0, 1])


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
    body = one_body('floating', gravity=[0, 0, 0])
    base = {'base_pose': np.eye(4), 'base_twist': [[0.0, 0.0, 0.0, 2e4, 0.0, 0.0]]}
    start = np.zeros((2, 0))
    _, poses, _ = hd.simulate(body, lambda t, *_: [], start, [0.0, 1.0], **base)
    assert poses[-1, 0, 3] == pytest.approx(2e4)
    with pytest.raises(hd.HodynError, match=r'the base of robot .* moves at .* diverges'):
        hd.simulate(
            body, lambda t, *_: [], start, [0.0, 10.0], step=1e-3,
            base_pose=np.eye(4), base_twist=np.zeros((1, 6)),
            base_wrench=lambda t, *_: [0.0, 0.0, 1e6, 0.0, 0.0, 0.0])


def test_a_free_body_turns_as_euler_found():
    """ω of a body of three moments of inertia, by Jacobi's elliptic functions."""
    moments, w = np.array([1.0, 2.0, 3.0]), np.array([0.9, 0.0, 0.7])
    body = one_body('floating', inertia=moments, gravity=[0, 0, 0])
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
    case = random_case(5, 4, 0, floating=True, serial=False)
    robot, wrenches, turns = case.robot, case.wrenches, np.arange(1.0, 4.0)
    home, screw = case.base['base_pose'], case.base['base_twist'][0]

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
    body = one_body('floating')

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


def in_mujoco(joint, placement=''):
    """Return MuJoCo's model and data of a free base with an arm on a joint and a sliding hand."""
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string(f"""<mujoco>
      <option gravity="0 0 -9.81" integrator="RK4" timestep="0.0005"/><worldbody>
      <body name="base"><freejoint name="free"/>
        <inertial pos="0.1 0 0.05" mass="2" diaginertia="0.1 0.2 0.25"/>
        <body name="arm" pos="0 0 0.2" {placement}><joint name="arm" {joint}/>
          <inertial pos="0 0.1 0.3" mass="1" diaginertia="0.02 0.03 0.04"/>
          <body name="hand" pos="0 0 0.5"><joint name="slide" type="slide" axis="1 0 1"/>
            <inertial pos="0.05 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/>
      </body></body></body></worldbody></mujoco>""")
    return hd.load_robot(model), model, mujoco.MjData(model), mujoco.mj_step


def test_a_free_body_with_two_joints_moves_as_in_mujoco():
    """A free body with two joints and torques, by MuJoCo's own Runge-Kutta method."""
    robot, model, data, step = in_mujoco('axis="0 1 0"')
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
        step(model, data)
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


def test_a_top_precesses_steadily_through_the_singularity_of_the_chart():
    """Its axis is level, so that it starts at ±90° of the chart and passes it each half turn."""
    transverse, spin_inertia, mass, length, gravity, spin = 0.05, 0.02, 1.5, 0.2, 9.81, 60.0
    top = one_body(
        'spherical', mass, [0, 0, length], [transverse, transverse, spin_inertia],
        gravity=[0, 0, -gravity], joint='top')
    rate = mass * gravity * length / (spin_inertia * spin)
    times = np.linspace(0.0, 2.0 * np.pi / rate, 25)
    states, rotations = hd.simulate(
        top, no_torque, [np.zeros(3), [-rate, 0.0, spin]], times, rotations={'top': QUARTER},
        tolerance=1e-11)
    expected = np.array([
        lie.rotation_z(rate * t) @ QUARTER @ lie.rotation_z(spin * t) for t in times])
    np.testing.assert_allclose(rotations['top'], expected, atol=1e-8)
    speeds = np.einsum('tji,j->ti', expected, [0.0, 0.0, rate])
    speeds[:, 2] += spin
    np.testing.assert_allclose(states[:, 1], speeds, atol=1e-6)
    assert not states[:, 0].any()


def test_a_pendulum_on_a_floating_base_swings_as_in_mujoco():
    robot, model, data, step = in_mujoco(
        'type="ball" pos="0 0.02 -0.1"', placement='quat="1 2 3 4"')
    assert robot.joint_names == ('arm_x', 'arm_y', 'arm_z', 'slide')
    start, torque = np.zeros((2, 4)), np.array([0.3, 0.5, -0.2, -1.0])
    start[:, 3], start[1, :3] = (0.1, -0.2), (4.0, 8.0, -3.0)
    data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *lie.quaternion(HALF), 0.1]
    data.qvel[6:] = start[1]
    data.qfrc_applied[6:] = torque
    seen = []

    def law(t, state, base_pose, base_twist, rotations):
        seen.append(rotations['arm'])
        return torque

    states, poses, _, rotations = hd.simulate(
        robot, law, start, [0.0, 0.25, 0.5], base_pose=np.eye(4),
        base_twist=np.zeros((1, 6)), rotations={'arm': HALF})
    for _ in range(1000):
        step(model, data)
    joint = hd.SphericalJoint(robot.with_rotation('arm', HALF), 'arm')
    assert np.abs(joint.sine(np.array(seen))).max() > 0.98  # it passed the singularity, 11° away
    np.testing.assert_allclose(
        rotations['arm'][-1], lie.rotation_of_quaternion(data.qpos[7:11]), atol=1e-6)
    np.testing.assert_allclose(states[-1, 1], data.qvel[6:], atol=1e-5)
    np.testing.assert_allclose(states[-1, 0, 3], data.qpos[11], atol=1e-6)
    np.testing.assert_allclose(poses[-1, :3, 3], data.qpos[:3], atol=1e-6)


def test_a_chain_on_spherical_joints_keeps_its_energy():
    rng = np.random.default_rng(12)
    robot = with_balls(rng)
    start = rng.normal(scale=2.0, size=(2, robot.n))
    states, rotations = hd.simulate(
        robot, no_torque, start, np.linspace(0.0, 1.0, 6), rotations=some_rotations(rng),
        tolerance=1e-11)
    energies = []
    for t, state in enumerate(states):
        at, inner = robot, state.copy()
        for name in NAMES:
            at = at.with_rotation(name, rotations[name][t])
            joint = hd.SphericalJoint(at, name)
            inner[:, joint.columns] = joint.coordinates(
                rotations[name][t], state[1:, joint.columns])
        energies.append(sum(hd.energy(at, inner))[0])
        np.testing.assert_allclose(
            rotations[name][t] @ rotations[name][t].T, np.eye(3), atol=1e-14)
    np.testing.assert_allclose(energies, energies[0], rtol=1e-8, atol=1e-8)
    turned = max(np.ptp(rotations[name], axis=0).max() for name in NAMES)
    assert turned > 1.0


@pytest.mark.parametrize('distance', [0.0, 1e-4])
def test_without_its_rotation_a_motion_ends_at_the_singularity(distance):
    start = [[0.0, 0.5 * np.pi - distance, 0.0], np.ones(3)]
    with pytest.raises(hd.HodynError, match=r"where 'ball_y' is ±90°.* give its rotation"):
        hd.simulate(ball(), lambda t, state: np.zeros(3), start, [0.0, 1.0])
