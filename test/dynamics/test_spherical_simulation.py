"""Motions on spherical joints: a top and a chain, and a pendulum of MuJoCo."""
import numpy as np
import pytest
from spherical_robots import HALF, NAMES, QUARTER, ball, some_rotations, with_balls

import hodyn_ros as hd
from hodyn_ros.robot import lie


def no_torque(t, state, rotations):
    return np.zeros(state.shape[1])


def test_a_top_precesses_steadily_through_the_singularity_of_the_chart():
    """Its axis is level, so that it starts at ±90° of the chart and passes it each half turn."""
    transverse, spin_inertia, mass, length, gravity, spin = 0.05, 0.02, 1.5, 0.2, 9.81, 60.0
    top = hd.load_robot({'name': 'top', 'gravity': [0, 0, -gravity], 'bodies': [{
        'name': 'top', 'parent': -1, 'type': 'spherical', 'placement': np.eye(4), 'mass': mass,
        'com': [0, 0, length],
        'inertia': np.diag([transverse, transverse, spin_inertia])}]})
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
    mujoco = pytest.importorskip('mujoco')
    model = mujoco.MjModel.from_xml_string("""<mujoco>
      <option gravity="0 0 -9.81" integrator="RK4" timestep="0.0005"/><worldbody>
      <body name="base"><freejoint name="free"/>
        <inertial pos="0.1 0 0.05" mass="2" diaginertia="0.1 0.2 0.25"/>
        <body name="arm" pos="0 0 0.2" quat="1 2 3 4">
          <joint name="ball" type="ball" pos="0 0.02 -0.1"/>
          <inertial pos="0 0.1 0.3" mass="1" diaginertia="0.02 0.03 0.04"/>
          <body name="hand" pos="0 0 0.5"><joint name="slide" type="slide" axis="1 0 1"/>
            <inertial pos="0.05 0 0" mass="0.5" diaginertia="0.01 0.01 0.01"/>
      </body></body></body></worldbody></mujoco>""")
    robot, data = hd.load_robot(model), mujoco.MjData(model)
    assert robot.joint_names == ('ball_x', 'ball_y', 'ball_z', 'slide')
    start, torque = np.zeros((2, 4)), np.array([0.3, 0.5, -0.2, -1.0])
    start[:, 3], start[1, :3] = (0.1, -0.2), (4.0, 8.0, -3.0)
    data.qpos[:] = [0, 0, 0, 1, 0, 0, 0, *lie.quaternion(HALF), 0.1]
    data.qvel[6:] = start[1]
    data.qfrc_applied[6:] = torque
    seen = []

    def law(t, state, base_pose, base_twist, rotations):
        seen.append(rotations['ball'])
        return torque

    states, poses, _, rotations = hd.simulate(
        robot, law, start, [0.0, 0.25, 0.5], base_pose=np.eye(4),
        base_twist=np.zeros((1, 6)), rotations={'ball': HALF})
    for _ in range(1000):
        mujoco.mj_step(model, data)
    joint = hd.SphericalJoint(robot.with_rotation('ball', HALF), 'ball')
    assert np.abs(joint.sine(np.array(seen))).max() > 0.98  # it passed the singularity, 11° away
    np.testing.assert_allclose(
        rotations['ball'][-1], lie.rotation_of_quaternion(data.qpos[7:11]), atol=1e-6)
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
