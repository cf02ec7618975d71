import numpy as np
import pytest
from random_robots import (
    random_inertia,
    random_mapping,
    random_motion,
    random_pose,
    random_robot,
)

import hodyn_ros as hd
from hodyn_ros.robot import lie

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')


def regular_state(rng, robot, link):
    for state in rng.normal(size=(1000, 2, robot.n)):
        if np.linalg.cond(hd.jacobian(robot, state, link)[0]) < 50:
            return state
    raise AssertionError('never regular')


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize(('seed', 'n'), [(0, 6), (1, 6), (2, 7), (3, 9)])
def test_torques_give_the_acceleration(representation, seed, n):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, n)
    link = robot.bodies[-1].name
    state, wanted = regular_state(rng, robot, link), rng.normal(size=6)
    task = hd.task_space_dynamics(robot, state, link, representation=representation)
    acceleration = hd.forward_dynamics(robot, state, task.torques(wanted)[None])[0]
    _, twist = hd.forward_kinematics(
        robot, np.concatenate([state, acceleration[None]]), link, representation=representation)
    np.testing.assert_allclose(twist[1], wanted, atol=1e-8)
    np.testing.assert_array_equal(task.inertia, task.inertia.T)
    assert np.linalg.eigvalsh(task.inertia)[0] > 0.0


@pytest.mark.parametrize('representation', REPRESENTATIONS)
def test_six_joints_give_the_printed_formulas(representation):
    """MR9 eqs. (9.98) and (9.99) as they stand, and the torques of inverse dynamics."""
    rng = np.random.default_rng(4)
    robot = random_robot(rng, 6)
    state, wanted = regular_state(rng, robot, 'body5'), rng.normal(size=6)
    task = hd.task_space_dynamics(robot, state, 'body5', representation=representation)
    jacobian, rate = hd.jacobian(robot, state, 'body5', representation=representation)
    inverse = np.linalg.inv(jacobian)
    mass = hd.equations_of_motion(robot, state).mass[0]
    bias = hd.inverse_dynamics(robot, np.concatenate([state, np.zeros((1, 6))]))[0]
    inertia = inverse.T @ mass @ inverse
    np.testing.assert_allclose(task.inertia, inertia, atol=1e-9 * np.abs(inertia).max())
    twist = jacobian @ state[1]
    expected = inverse.T @ bias - inertia @ rate @ inverse @ twist
    np.testing.assert_allclose(task.bias, expected, atol=1e-9 * np.abs(inertia).max())
    motion = np.array([*state, inverse @ (wanted - rate @ state[1])])
    torques = hd.inverse_dynamics(robot, motion)[0]
    np.testing.assert_allclose(
        task.torques(wanted), torques, atol=1e-9 * np.abs(torques).max())


def test_a_tip_wrench_is_what_the_environment_feels():
    """τ = M q̈ + c + g + Jᵀ F_tip (MR9 eq. 9.81), against external wrenches."""
    rng = np.random.default_rng(5)
    robot = random_robot(rng, 7)
    state, tip = regular_state(rng, robot, 'body6'), rng.normal(size=6)
    motion = np.concatenate([state, rng.normal(size=(1, 7))])
    task = hd.task_space_dynamics(robot, state, 'body6', representation='body_fixed')
    added = task.torques(np.zeros(6), tip) - task.torques(np.zeros(6))
    felt = hd.inverse_dynamics(
        robot, motion, external_wrenches=hd.link_wrench(robot, 'body6', -tip[None]))
    np.testing.assert_allclose(felt[0] - hd.inverse_dynamics(robot, motion)[0], added, atol=1e-11)


@pytest.mark.parametrize('batch', [False, True])
def test_a_wrench_on_a_tool_is_one_on_its_body(batch):
    rng = np.random.default_rng(6)
    mapping, placement = random_mapping(rng, 4), random_pose(rng)
    mapping['tool'] = {'link': 'body2', 'placement': placement}
    robot = hd.load_robot(mapping)
    wrench = rng.normal(size=(5, 3, 6) if batch else (3, 6))
    found = hd.link_wrench(robot, 'tool', wrench)
    assert found.shape == (*wrench.shape[:-1], 4, 6)
    rotation, position = placement[:3, :3], placement[:3, 3]
    force = wrench[..., 3:] @ rotation.T
    np.testing.assert_allclose(found[..., 2, 3:], force, atol=1e-13)
    np.testing.assert_allclose(
        found[..., 2, :3], wrench[..., :3] @ rotation.T + np.cross(position, force), atol=1e-13)
    assert not found[..., [0, 1, 3], :].any()
    # Power: the tool's wrench on the tool's twist.
    motion = random_motion(rng, robot, 0)
    _, twist = hd.forward_kinematics(robot, motion, 'tool', representation='body_fixed')
    _, of_body = hd.forward_kinematics(robot, motion, 'body2', representation='body_fixed')
    first = (0, 0) if batch else 0
    assert found[first][2] @ of_body[0] == pytest.approx(wrench[first] @ twist[0])


def test_a_body_free_in_space_has_its_own_inertia():
    """Six joints without mass to speak of carry a body: Λ is the body's mass matrix."""
    rng = np.random.default_rng(7)
    bodies = [{
        'name': f'b{i}', 'parent': i - 1, 'type': 'prismatic' if i < 3 else 'revolute',
        'placement': np.eye(4), 'axis': np.eye(3)[i % 3], 'mass': 1e-12, 'com': np.zeros(3),
        'inertia': 1e-12 * np.eye(3)} for i in range(6)]
    mass, com, inertia = 2.0, rng.normal(size=3), random_inertia(rng, 2.0)
    bodies[5] |= {'mass': mass, 'com': com, 'inertia': inertia}
    robot = hd.load_robot({'name': 'free', 'bodies': bodies})
    state = np.array([rng.uniform(-0.5, 0.5, size=6), np.zeros(6)])
    task = hd.task_space_dynamics(robot, state, 'b5', representation='body_fixed')
    lever = mass * lie.skew(com)
    expected = np.block([
        [inertia - mass * lie.skew(com) @ lie.skew(com), lever], [-lever, mass * np.eye(3)]])
    np.testing.assert_allclose(task.inertia, expected, atol=1e-8)


@pytest.mark.parametrize(('call', 'message'), [
    (lambda r: hd.task_space_dynamics(r, np.zeros((2, 7)), 'link7'), "link 'link7'.*every dir"),
    (lambda r: hd.task_space_dynamics(r, np.ones((2, 7)), 'link4'), "link 'link4'.*every dir"),
    (lambda r: hd.task_space_dynamics(r, np.zeros((3, 7)), 'link7'), r'q has shape \(3, 7\)'),
    (lambda r: hd.task_space_dynamics(r, np.zeros((2, 7)), 'x'), "no link 'x'"),
    (lambda r: hd.link_wrench(r, 'x', np.zeros((1, 6))), "no link 'x'"),
    (lambda r: hd.link_wrench(r, 'link7', np.zeros(6)), r'wrench has shape \(6,\)'),
    (lambda r: hd.link_wrench(r, 'link7', np.full((1, 6), np.nan)), 'not finite'),
    (lambda r: hd.task_space_dynamics(r, np.ones((2, 7)), 'link7').torques(np.ones(5)),
     'acceleration has shape'),
])
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(hd.load_robot('panda'))


def test_few_joints_and_floating_bases_are_refused():
    with pytest.raises(ValueError, match='every direction'):
        hd.task_space_dynamics(hd.load_robot('twolink'), np.ones((2, 2)), 'link2')
    floating = random_robot(np.random.default_rng(0), 8, floating=True)
    with pytest.raises(ValueError, match='floating base'):
        hd.task_space_dynamics(floating, np.ones((2, 7)), 'body7')
