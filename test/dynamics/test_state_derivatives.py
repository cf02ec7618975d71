"""Derivatives of torques of any order by the motion; of accelerations by state and torques."""
from dataclasses import replace
import math

from cases import Case, case_of, random_case
import mpmath as mp
import numpy as np
import pytest
from random_robots import assert_close
from scipy.linalg import expm
from virtual_power import VirtualPower

import hodyn_ros as hd
from hodyn_ros.robot import lie

SEEDS = range(6)
BASES = pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])


def partials(case):
    return case.pushed(hd.inverse_dynamics_derivatives)


REACH = np.arange(-3, 4)
WEIGHTS = np.array([-1 / 60, 0.15, -0.75, 0.0, 0.75, -0.15, 1 / 60])  # of differences of order 6


def changed(case, m, column, steps):
    """Return a batch of cases that differ in one entry of (pose, q), (V, q̇), …."""
    many = case[np.newaxis][[0] * len(steps)]
    column -= 6 * case.robot.floating
    if column >= 0:
        many.q[:, m, column] += steps
    elif m > 0:
        many.base['base_twist'][:, m - 1, column] += steps
    else:
        many.base['base_pose'][:] = [
            expm(step * hat(np.eye(6)[column])) @ case.base['base_pose'] for step in steps]
    return many


def hat(twist):
    matrix = np.zeros((4, 4), dtype=np.asarray(twist).dtype)
    matrix[[2, 0, 1], [1, 2, 0]], matrix[[1, 2, 0], [2, 0, 1]] = twist[:3], -twist[:3]
    matrix[:3, 3] = twist[3:]
    return matrix


def assert_differences(found, function, case, step):
    """Compare found (k, m, i, j) with differences of a function of a batch of cases."""
    for m in range(found.shape[1]):
        for j in range(found.shape[3]):
            values = function(changed(case, m, j, step * REACH))
            assert_close(found[:, m, :, j], np.tensordot(WEIGHTS / step, values, 1), 1e-8)


@BASES
@pytest.mark.parametrize('order', [
    0, 1, *(pytest.param(order, marks=pytest.mark.siege) for order in (2, 3))])
def test_they_are_the_change_of_the_torques_in_many_digits(floating, order):
    """The motion changes in a random direction: q, q̇, … alone, one by one, then all together."""
    rng = np.random.default_rng(order)
    case = random_case(rng, 3, order, floating=floating, serial=False)
    found, step = partials(case), mp.mpf(10) ** -10
    for m in range(order + 4):
        direction = rng.normal(size=(order + 3, found.shape[-1]))
        if m < order + 3:
            direction[np.arange(order + 3) != m] = 0.0
        ends = []
        with mp.workdps(60):
            for sign in (-1, 1):
                change = sign * step * np.vectorize(mp.mpf, otypes=[object])(direction)
                moved, base = case.q.astype(object) + change[:, 6 * floating:], None
                if floating:
                    pose, twist = (part.astype(object) for part in case.base.values())
                    base = pose + hat(change[0, :6]) @ pose, twist + change[1:, :6]
                ends.append(VirtualPower(
                    case.robot, moved, base, case.wrenches).efforts_in_digits(order))
            expected = np.array([
                [float((b - a) / (2 * step)) for a, b in zip(*rows, strict=True)]
                for rows in zip(*ends, strict=True)])
        assert_close(np.einsum('kmij,mj->ki', found, direction), expected, 1e-12)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_they_are_differences_of_the_torques(floating, seed):
    """Of nine bodies in trees or chains, under wrenches; odd seeds have coupled joints."""
    case = random_case(
        seed, 9, seed % 3, floating=floating, serial=seed > 3, coupled=seed % 2 == 1)
    assert_differences(partials(case), Case.efforts, case, 1e-2)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_along_the_motion_they_give_the_next_derivative(floating, seed):
    """Q⁽ᵏ⁺¹⁾ = Σ ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ q⁽ᵐ⁺¹⁾ without external wrenches; the base's twist is its q̇."""
    case = replace(
        random_case(seed, 10, 5, floating=floating, serial=seed % 2 == 0), wrenches=None)
    found = case.of(hd.inverse_dynamics_derivatives, first=-1)
    assert_close(np.einsum('kmij,mj->ki', found, case.velocity), case.efforts()[1:], 1e-12)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_the_mass_matrix_is_before_the_highest_derivative(floating, seed):
    order = 3
    case = random_case(seed, 9, order, floating=floating, serial=False)
    found, terms = partials(case), case.of(hd.equations_of_motion, first=-1)
    for k in range(order + 1):
        np.testing.assert_array_equal(found[k, k + 2], found[0, 2])
        np.testing.assert_array_equal(found[k, k + 3:], 0.0)
    joints = found[0, 2, 6 * floating:, 6 * floating:]
    np.testing.assert_array_equal(joints, joints.T)
    assert_close([found[0, 2]], [found[0, 2].T], 1e-14)
    assert_close([found[0, 2]], terms.mass[:1], 1e-12)
    for k in range(1, order + 1):
        rate = found[k, k + 1] - found[k - 1, k]
        assert_close([rate], [terms.mass[1]], 1e-11)  # ∂Q⁽ᵏ⁾/∂q⁽ᵏ⁺¹⁾ = ∂Q⁽ᵏ⁻¹⁾/∂q⁽ᵏ⁾ + Ṁ


@pytest.mark.parametrize('seed', SEEDS)
def test_at_rest_they_are_symmetric(seed):
    """The stiffness is the curvature of the potential energy."""
    case = random_case(seed, 9, 0, serial=False)
    at_rest = case.q * [[1.0], [0.0], [0.0]]
    stiffness = hd.inverse_dynamics_derivatives(case.robot, at_rest)[0, 0]
    assert_close([stiffness], [stiffness.T], 1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_half_of_the_change_with_the_velocity_are_christoffel_symbols(seed):
    """∂(C q̇)/∂q̇ = 2 C with the matrix C = Σ Γ q̇."""
    case = random_case(seed, 6, 0, serial=False)
    coriolis = hd.christoffel_symbols(case.robot, case.q[0]) @ case.q[1]
    assert_close([partials(case)[0, 1]], [2.0 * coriolis], 1e-12)


@pytest.mark.parametrize('order', [0, 1, 2, 3])
@pytest.mark.parametrize('n_bodies', [1, 2, 3])
def test_batches_of_small_robots_give_the_same_bits_and_write_only_theirs(n_bodies, order):
    """Kernels write `LANES` entries at once: the n² of a matrix may be fewer, or no multiple."""
    robot = random_case(n_bodies, n_bodies, 1, serial=False).robot
    q = np.random.default_rng(0).normal(size=(9, order + 3, n_bodies))
    out = np.full((10, order + 1, order + 3, n_bodies, n_bodies), np.nan)
    hd.InverseDynamicsDerivatives(robot, order).batch(q, out[:9])
    for one, motion in zip(out, q, strict=False):
        np.testing.assert_array_equal(one, hd.inverse_dynamics_derivatives(robot, motion))
    assert np.all(np.isnan(out[9]))


def test_angles_of_many_turns_cost_no_digits_beside_small_ones(panda):
    q = np.random.default_rng(0).normal(size=(9, 3, 7))
    q[4, 0, 2:] *= 1e9
    found = hd.inverse_dynamics_derivatives(panda, q)
    for one, motion in zip(found, q, strict=True):
        assert_close([one[0, 2]], hd.equations_of_motion(panda, motion[:2]).mass[:1], 1e-13)


def test_off_the_way_to_the_base_there_is_nothing():
    """Derivatives between branches are 0; the motion before leaves no numbers in their entries."""
    found = case_of(np.random.default_rng(0), hd.load_robot('aerial_manipulator'), 2, 9).of(
        hd.inverse_dynamics_derivatives)
    np.testing.assert_array_equal(found[..., 6:9, 9:], 0.0)
    np.testing.assert_array_equal(found[..., 9:, 6:9], 0.0)
    assert np.all(found[:, 0, 0, :6].any(axis=1))


def test_a_base_far_away_costs_no_digits():
    """Rows and columns of joints and of the base's translation are the same to the bit.

    Those of the base's rotation are about the world's origin, so they are compared after a change
    of origin.
    """
    case = random_case(2, 6, 1, floating=True, serial=False)
    near, far = np.tile(case.base['base_pose'], (2, 1, 1))
    case.base['base_twist'][:, :3] = 0.0  # its twist is the same about any origin
    near[:3, 3], far[:3, 3] = 0.0, 1e6 * np.array([1.0, -2.0, 0.5])  # exact in doubles
    here, there = (
        partials(replace(case, base={**case.base, 'base_pose': pose})) for pose in (near, far))
    np.testing.assert_array_equal(there[..., 6:, 6:], here[..., 6:, 6:])
    np.testing.assert_array_equal(there[..., 3:, 3:], here[..., 3:, 3:])
    to_base = np.eye(case.robot.n + 6)
    to_base[:6, :6] = lie.adjoint(lie.pose(None, -far[:3, 3]))
    moved = to_base.T @ here @ to_base
    for block in (slice(3), slice(3, None)):
        np.testing.assert_allclose(
            there[..., block, :3], moved[..., block, :3],
            atol=1e-14 * np.abs(moved[..., block, :3]).max())


@BASES
@pytest.mark.parametrize('order', [0, 2])
@pytest.mark.parametrize('seed', SEEDS)
def test_accelerations_change_as_their_differences(floating, order, seed):
    case = random_case(seed, 6, order, floating=floating, serial=False, coupled=seed == 5)
    effort = case.velocity[1:]
    size = effort.shape[-1]

    def accelerations(cases, efforts=effort):
        return cases.accelerations(np.broadcast_to(efforts, (len(cases.q), order + 1, size)))

    found = case.driven(hd.forward_dynamics_derivatives, effort)
    shape = (order + 1,) if order else ()
    by_state = np.stack([found.by_position, found.by_velocity], axis=-3)
    assert by_state.shape == (*shape, 2, size, size)
    by_state = by_state.reshape(order + 1, 2, size, size)
    assert_differences(by_state, accelerations, case, 1e-3)
    assert found.by_torque.shape == (*shape, *shape, size, size)
    by_torque = found.by_torque.reshape(order + 1, order + 1, size, size)
    same = case[np.newaxis][[0] * size]
    for j in range(order + 1):
        # Accelerations to q⁗ are polynomials of degree 2 in the torques: differences are exact.
        moved = np.zeros((size, order + 1, size))
        moved[:, j] = np.eye(size)
        ends = (accelerations(same, effort + sign * moved) for sign in (1.0, -1.0))
        expected = 0.5 * np.subtract(*ends).transpose(1, 2, 0)
        for k in range(order + 1):
            assert_close(by_torque[k, j], expected[k], 1e-9 * max(1.0, np.abs(expected).max()))
    many = same.driven(hd.forward_dynamics_derivatives, np.tile(effort, (size, 1, 1)))
    for batch, one in zip(many, found, strict=True):
        assert_close(batch, [one] * size, 1e-12)


def test_the_planar_arm_of_two_links():
    """τ₂ as any book has it, differentiated by hand."""
    robot = hd.load_robot('twolink')
    last = robot.bodies[1]
    m2, l1, c2, i2 = last.mass, last.placement[0, 3], last.com[0], last.inertia[2, 2]
    q1, q2, v1, v2, a1 = 0.3, -1.1, 0.7, 1.9, -2.3
    q = np.array([[q1, q2], [v1, v2], [a1, 0.0]])
    gravity = np.linalg.norm(robot.gravity)
    found = hd.inverse_dynamics_derivatives(robot, q)[0]
    h = m2 * l1 * c2
    # τ₂ = (I + m c² + h cos q₂) q̈₁ + … q̈₂ + h sin q₂ q̇₁² + m g c cos(q₁ + q₂)
    weight = -m2 * gravity * c2 * math.sin(q1 + q2)
    assert found[2, 1, 0] == pytest.approx(i2 + m2 * c2**2 + h * math.cos(q2))
    assert found[1, 1, 0] == pytest.approx(2.0 * h * math.sin(q2) * v1)
    assert found[1, 1, 1] == pytest.approx(0.0, abs=1e-14)
    assert abs(found[0, 1, 0]) == pytest.approx(abs(weight))
    assert found[0, 1, 1] - found[0, 1, 0] == pytest.approx(
        h * (math.cos(q2) * v1**2 - math.sin(q2) * a1))
