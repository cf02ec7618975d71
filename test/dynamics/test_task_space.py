"""The dynamics of a link in its own directions, against the joints' and printed formulas."""
from dataclasses import replace

from cases import random_case
import numpy as np
import pytest
from random_robots import (
    random_inertia,
    random_mapping,
    random_pose,
    random_robot,
    regular,
    taylor,
)
from rigid_bodies import mass_matrix

from benchmarks import planar_arm
import hodyn_ros as hd

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')


def working(seed, n):
    """Return a random arm, its last link and a state in which it moves in every direction."""
    rng = np.random.default_rng(seed)
    robot, link = random_robot(rng, n), f'body{n - 1}'
    return rng, robot, link, regular(rng, robot, link, 2)


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize(('seed', 'n'), [(0, 6), (1, 6), (2, 7), (3, 9)])
def test_torques_give_the_acceleration(representation, seed, n):
    rng, robot, link, state = working(seed, n)
    wanted = rng.normal(size=6)
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
    rng, robot, link, state = working(4, 6)
    wanted = rng.normal(size=6)
    task = hd.task_space_dynamics(robot, state, link, representation=representation)
    jacobian, rate = hd.jacobian(robot, state, link, representation=representation)
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
    rng, robot, link, state = working(5, 7)
    tip, motion = rng.normal(size=6), np.concatenate([state, rng.normal(size=(1, 7))])
    task = hd.task_space_dynamics(robot, state, link, representation='body_fixed')
    added = task.torques(np.zeros(6), tip) - task.torques(np.zeros(6))
    felt = hd.inverse_dynamics(
        robot, motion, external_wrenches=hd.link_wrench(robot, link, -tip[None]))
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
    motion = rng.normal(size=(3, robot.n))
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
    bodies[5] |= {'mass': 2.0, 'com': rng.normal(size=3), 'inertia': random_inertia(rng, 2.0)}
    robot = hd.load_robot({'name': 'free', 'bodies': bodies})
    state = np.array([rng.uniform(-0.5, 0.5, size=6), np.zeros(6)])
    task = hd.task_space_dynamics(robot, state, 'b5', representation='body_fixed')
    np.testing.assert_allclose(task.inertia, mass_matrix(robot.bodies[5]), atol=1e-8)


def test_the_planar_arm_of_the_chapter_in_x_and_y():
    """MR9 eqs. (9.97)–(9.99) of its 2R arm, with M and b as printed there, mended."""
    state = np.array([[0.4, 0.9], [0.5, -1.2]])
    task = hd.task_space_dynamics(
        planar_arm.arm(), state, 'tip', representation='hybrid', rows=(3, 4))
    jacobian, _ = planar_arm.tip_jacobian(*state)
    inertia, bias = planar_arm.tip_dynamics(*state)
    np.testing.assert_allclose(task.jacobian, jacobian, atol=1e-14)
    np.testing.assert_allclose(task.jacobian_inverse, np.linalg.inv(jacobian), rtol=1e-12)
    np.testing.assert_allclose(task.inertia, inertia, rtol=1e-12)
    np.testing.assert_allclose(task.bias, bias, rtol=1e-12)


@pytest.mark.parametrize('rows', [(3, 4, 5), (5, 0), (2,), range(6)])
@pytest.mark.parametrize('n', [6, 8])
def test_rows_of_a_task_have_the_acceleration_and_its_rate(n, rows):
    """By forward dynamics: τ makes q̈, whose τ̇ makes the wanted jerk, with the null space moved."""
    rng, robot, link, state = working(n, n)
    rows, free = list(rows), rng.normal(size=(3, n))
    wanted, tip = rng.normal(size=(2, 3, len(rows)))
    task, motion = {'link': link, 'representation': 'hybrid'}, state
    for k in range(3):
        terms = hd.task_space_dynamics(robot, motion, **task, rows=rows)
        place = slice(k + 1) if k else 0
        torque = terms.torques(wanted[place], null_space_torque=free[place])
        torque = torque.reshape(k + 1, n)
        motion = np.concatenate([state, hd.forward_dynamics(robot, state, torque)])
        _, twist = hd.forward_kinematics(robot, motion, **task)
        scale = max(1.0, np.abs(torque[k]).max())
        np.testing.assert_allclose(twist[1:, rows], wanted[:k + 1], rtol=0, atol=1e-8 * scale)
    transmitted = terms.torques(wanted, tip) - terms.torques(wanted)
    jacobian = hd.jacobian(robot, motion, **task)[:, rows]
    np.testing.assert_allclose(transmitted[0], jacobian[0].T @ tip[0], atol=1e-9)
    np.testing.assert_allclose(
        transmitted[1], jacobian[1].T @ tip[0] + jacobian[0].T @ tip[1], atol=1e-8)


def test_derivatives_of_its_terms_are_their_differences():
    rng = np.random.default_rng(9)
    robot, motion = random_robot(rng, 7), rng.normal(size=(4, 7))

    def terms(t, order):
        task = hd.task_space_dynamics(
            robot, taylor(motion, t)[:order + 2], 'body6', representation='body_fixed',
            rows=(1, 3, 4))
        return task.inertia, task.bias, task.jacobian, task.jacobian_inverse

    step = 1e-4
    for found, after, before in zip(
            terms(0.0, 2), terms(step, 1), terms(-step, 1), strict=True):
        for k in range(2):
            np.testing.assert_allclose(
                found[k + 1], (after - before)[k] / (2 * step), rtol=0,
                atol=1e-5 * np.abs(found).max())
    for found, one in zip(terms(0.0, 2), terms(0.0, 0), strict=True):
        np.testing.assert_array_equal(found[0], one)


def test_the_inverse_of_a_redundant_arm_is_that_of_least_kinetic_energy():
    rng, robot, link, state = working(10, 8)
    task = hd.task_space_dynamics(robot, state, link, rows=(0, 4, 5))
    twist, mass = rng.normal(size=3), hd.equations_of_motion(robot, state).mass[0]
    least = task.jacobian_inverse @ twist
    np.testing.assert_allclose(task.jacobian @ least, twist, atol=1e-10)
    assert 0.5 * least @ mass @ least == pytest.approx(0.5 * twist @ task.inertia @ twist)
    others = np.linalg.svd(task.jacobian)[2][3:]  # joint motions that leave the link at rest
    np.testing.assert_allclose(others @ mass @ least, 0.0, atol=1e-9 * np.abs(mass).max())


@pytest.mark.parametrize('representation', REPRESENTATIONS)
@pytest.mark.parametrize('link', ['body0', 'body5'])
def test_a_floating_base_moves_with_its_joints(representation, link):
    """By forward dynamics with the wrench on the base and the torques, to the jerk."""
    rng = np.random.default_rng(11)
    case = replace(random_case(rng, 6, -1, floating=True), wrenches=None)
    task, rows = {'link': link, 'representation': representation}, [1, 3, 4, 5]
    wanted, free, motion = rng.normal(size=(2, 4)), rng.normal(size=(2, 11)), case
    for k in range(2):
        place = slice(2) if k else 0
        terms = motion.of(hd.task_space_dynamics, **task, rows=rows)
        efforts = terms.torques(wanted[place], null_space_torque=free[place]).reshape(k + 1, 11)
        motion = case.accelerated(case.accelerations(efforts))
        _, moved = motion.of(hd.forward_kinematics, **task)
        scale = max(1.0, np.abs(efforts).max())
        np.testing.assert_allclose(moved[1:, rows], wanted[:k + 1], rtol=0, atol=1e-8 * scale)
