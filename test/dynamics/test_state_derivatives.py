"""How torques of any order change with the motion, and accelerations with state and torques."""
import math
import pickle

import mpmath as mp
import numpy as np
import pytest
from random_robots import (
    assert_close,
    random_base_motion,
    random_motion,
    random_robot,
    random_wrenches,
)
from virtual_power import VirtualPower

import hodyn_ros as hd

SEEDS = range(6)
BASES = pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])


def partials(robot, q, base=None, wrenches=None):
    """Return (r + 1, r + 3, n or 6 + n, n), the base's wrench first."""
    if base is None:
        return hd.inverse_dynamics_derivatives(robot, q, external_wrenches=wrenches)
    torque, wrench = hd.inverse_dynamics_derivatives(
        robot, q, base_pose=base[0], base_twist=base[1], external_wrenches=wrenches)
    return np.concatenate([wrench, torque], axis=-2)


def efforts(robot, q, base=None, wrenches=None):
    if base is None:
        return hd.inverse_dynamics(robot, q, external_wrenches=wrenches)
    torque, wrench = hd.inverse_dynamics(
        robot, q, base_pose=base[0], base_twist=base[1], external_wrenches=wrenches)
    return np.concatenate([wrench, torque], axis=-1)


def difference(function, values, place, step):
    """Return the derivative of a smooth function by one of its values, by differences of order 6.

    The function takes all the values that are needed at once.
    """
    moved = np.tile(values, (6, *(1,) * values.ndim))
    reach = np.array([-3, -2, -1, 1, 2, 3])
    moved[(slice(None), *place)] += step * reach
    weights = np.array([-1 / 60, 0.15, -0.75, 0.75, -0.15, 1 / 60]) / step
    return np.tensordot(weights, function(moved), 1)


def repeated(count, base):
    return base and tuple(np.tile(part, (count, 1, 1)) for part in base)


def moving(seed, n_bodies, order, *, floating=False, serial=False, coupled=False):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, n_bodies, floating=floating, serial=serial, coupled=coupled)
    base = random_base_motion(rng, order) if floating else None
    wrenches = random_wrenches(rng, robot, order)
    return rng, robot, random_motion(rng, robot, order), base, wrenches


@BASES
@pytest.mark.parametrize('order', [
    0, 1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)])
def test_they_are_the_change_of_the_torques_in_many_digits(floating, order):
    """In a random direction of all positions and derivatives, and in that of each of them."""
    rng, robot, q, base, wrenches = moving(order, 3, order, floating=floating)
    found, step = partials(robot, q, base, wrenches), mp.mpf(10) ** -10
    for m in range(order + 4):
        direction = rng.normal(size=q.shape)
        if m < order + 3:
            direction[np.arange(order + 3) != m] = 0.0
        with mp.workdps(60):
            ends = [
                VirtualPower(robot, np.array([
                    [mp.mpf(x) + sign * step * mp.mpf(d) for x, d in zip(*rows, strict=True)]
                    for rows in zip(q, direction, strict=True)]), base, wrenches,
                ).efforts_in_digits(order)
                for sign in (-1, 1)]
            expected = np.array([
                [float((b - a) / (2 * step)) for a, b in zip(*rows, strict=True)]
                for rows in zip(*ends, strict=True)])
        assert_close(np.einsum('kmij,mj->ki', found, direction), expected, 1e-12)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_they_are_differences_of_the_torques(floating, seed):
    """Of larger trees, under wrenches"""
    order = seed % 3
    _, robot, q, base, wrenches = moving(seed, 9, order, floating=floating, serial=seed > 3)
    found = partials(robot, q, base, wrenches)
    for m in range(order + 3):
        for j in range(robot.n):
            expected = difference(lambda moved: efforts(
                robot, moved, repeated(6, base), np.tile(wrenches, (6, 1, 1, 1))), q, (m, j), 1e-2)
            assert_close(found[:, m, :, j], expected, 1e-8)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_along_the_motion_they_give_the_next_derivative(floating, seed):
    """Q⁽ᵏ⁺¹⁾ = Σ ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ q⁽ᵐ⁺¹⁾, where the base stays and nobody pushes."""
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 10, floating=floating, serial=seed % 2 == 0)
    order = 4
    q = random_motion(rng, robot, order + 1)
    base = (random_base_motion(rng, 0)[0], np.zeros((order + 3, 6))) if floating else None
    found = partials(robot, q[:-1], base and (base[0], base[1][:-1]))
    assert_close(
        np.einsum('kmij,mj->ki', found, q[1:]), efforts(robot, q, base)[1:], 1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_they_hang_together(seed):
    """M is before the highest derivative of each order, and to the bit symmetric."""
    order = 3
    _, robot, q, _, wrenches = moving(seed, 9, order)
    found = partials(robot, q, None, wrenches)
    terms = hd.equations_of_motion(robot, q[:order + 2])
    for k in range(order + 1):
        np.testing.assert_array_equal(found[k, k + 2], found[0, 2])
        np.testing.assert_array_equal(found[k, k + 3:], 0.0)
    np.testing.assert_array_equal(found[0, 2], found[0, 2].T)
    assert_close([found[0, 2]], terms.mass[:1], 1e-12)
    for k in range(1, order + 1):
        rate = found[k, k + 1] - found[k - 1, k]
        assert_close([rate], [terms.mass[1]], 1e-11)  # ∂Q⁽ᵏ⁾/∂q⁽ᵏ⁺¹⁾ = ∂Q⁽ᵏ⁻¹⁾/∂q⁽ᵏ⁾ + Ṁ
    rest = np.zeros((3, robot.n))
    rest[0] = q[0]
    stiffness = partials(robot, rest)[0, 0]
    assert_close([stiffness], [stiffness.T], 1e-12)  # of the potential energy


@pytest.mark.parametrize('seed', SEEDS)
def test_half_of_the_change_with_the_velocity_are_christoffel_symbols(seed):
    """∂(C q̇)/∂q̇ = 2 C with the matrix C = Σ Γ q̇."""
    _, robot, q, _, _ = moving(seed, 6, 0)
    coriolis = hd.christoffel_symbols(robot, q[0]) @ q[1]
    assert_close([partials(robot, q)[0, 1]], [2.0 * coriolis], 1e-12)


@BASES
def test_batches_of_any_size_in_any_number_of_threads_give_the_same_bits(floating):
    order, count = 2, 21
    rng, robot, _, _, _ = moving(5, 7, order, floating=floating)
    q = rng.normal(size=(count, order + 3, robot.n))
    wrenches = rng.normal(size=(count, order + 1, len(robot.bodies), 6))
    base = None
    if floating:
        pairs = [random_base_motion(rng, order) for _ in range(count)]
        base = tuple(np.array(part) for part in zip(*pairs, strict=True))
    batch = partials(robot, q, base, wrenches)
    for t in range(count):
        single = partials(robot, q[t], base and (base[0][t], base[1][t]), wrenches[t])
        np.testing.assert_array_equal(single, batch[t])
    options = {'base_pose': base[0], 'base_twist': base[1]} if floating else {}
    for threads in (2, 3, 50):
        shared = hd.inverse_dynamics_derivatives(
            robot, q, external_wrenches=wrenches, threads=threads, **options)
        torque = shared[0] if floating else shared
        np.testing.assert_array_equal(torque, batch[..., 6 * floating:, :])
    assert partials(robot, q[:0], base and (base[0][:0], base[1][:0]), wrenches[:0]).shape == (
        0, order + 1, order + 3, robot.n + 6 * floating, robot.n)


@pytest.mark.parametrize('order', [0, 1, 2])
def test_a_handle_writes_the_same_bits_and_can_be_pickled(order):
    robot = hd.load_robot('panda')
    handle = pickle.loads(pickle.dumps(hd.InverseDynamicsDerivatives(robot, order)))
    q = np.random.default_rng(order).normal(size=(order + 3, 7))
    out = np.full((order + 1, order + 3, 7, 7), np.nan)
    handle(q, out)
    np.testing.assert_array_equal(out, hd.inverse_dynamics_derivatives(robot, q))
    many = np.full((1, *out.shape), np.nan)
    handle.batch(q[np.newaxis], many)
    np.testing.assert_array_equal(out, many[0])


def test_off_the_way_to_the_base_there_is_nothing():
    """And no numbers of the motion before remain where branches do not meet."""
    robot = hd.load_robot('aerial_manipulator')
    rng = np.random.default_rng(0)
    torque, wrench = hd.inverse_dynamics_derivatives(
        robot, rng.normal(size=(9, 5, 6)), base_pose=np.tile(np.eye(4), (9, 1, 1)),
        base_twist=rng.normal(size=(9, 4, 6)))
    np.testing.assert_array_equal(torque[..., :3, 3:], 0.0)
    np.testing.assert_array_equal(torque[..., 3:, :3], 0.0)
    assert np.all(wrench[:, 0, 0].any(axis=1))


def test_a_base_far_away_costs_no_digits():
    """The wrench is about the world's origin; the moment about the base's stays what it was."""
    _, robot, q, (pose, twist), wrenches = moving(2, 6, 1, floating=True)
    near = pose.copy()
    near[:3, 3] = 0.0
    far = near.copy()
    far[:3, 3] = 1e6 * np.array([1.0, -2.0, 0.5])  # numbers that doubles hold
    still = np.zeros_like(twist)
    still[:, 3:] = twist[:, 3:]
    here, there = (
        hd.inverse_dynamics_derivatives(
            robot, q, base_pose=place, base_twist=still, external_wrenches=wrenches)
        for place in (near, far))
    np.testing.assert_array_equal(there[0], here[0])
    np.testing.assert_array_equal(there[1][..., 3:, :], here[1][..., 3:, :])
    lever = np.cross(far[:3, 3], here[1][..., 3:, :], axisb=-2, axisc=-2)
    scale = np.abs(lever).max()
    np.testing.assert_allclose(
        there[1][..., :3, :], here[1][..., :3, :] + lever, atol=1e-14 * scale)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_coupled_joints_have_the_sums_of_the_torques_they_take(floating, seed):
    order = 1
    _, robot, q, base, wrenches = moving(seed, 8, order, floating=floating, coupled=True)
    found = partials(robot, q, base, wrenches)
    for m in range(order + 3):
        for j in range(robot.n):
            expected = difference(lambda moved: efforts(
                robot, moved, repeated(6, base), np.tile(wrenches, (6, 1, 1, 1))), q, (m, j), 1e-2)
            assert_close(found[:, m, :, j], expected, 1e-8)
    if not floating:
        out = np.empty_like(found)
        hd.InverseDynamicsDerivatives(robot, order)(q, out)
        unloaded = partials(robot, q)
        np.testing.assert_array_equal(out, unloaded)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_accelerations_change_as_their_differences(floating, seed):
    rng, robot, q, base, wrenches = moving(seed, 6, 0, floating=floating, coupled=seed == 5)
    size = robot.n + 6 * floating

    def options(count=None):
        place = {'base_pose': base[0], 'base_twist': base[1][:1]} if floating else {}
        given = {**place, 'external_wrenches': wrenches}
        return given if count is None else {
            name: np.tile(value, (count, *(1,) * value.ndim)) for name, value in given.items()}

    def driven(effort):
        wrench = {'base_wrench': effort[..., None, :6]} if floating else {}
        return effort[..., None, size - robot.n:], wrench

    def accelerations(state):  # rows of positions, velocities, and (wrench and) torques
        tau, wrench = driven(state[:, 2])
        found = hd.forward_dynamics(
            robot, state[:, :2, :robot.n].copy(), tau, **wrench, **options(len(state)))
        return np.concatenate(found[::-1], axis=-1)[:, 0] if floating else found[:, 0]

    state = np.zeros((3, size))
    state[:2, :robot.n], state[2] = q[:2], rng.normal(size=size)
    tau, wrench = driven(state[2])
    found = hd.forward_dynamics_derivatives(robot, q[:2], tau, **wrench, **options())
    for row, values in enumerate(found):
        assert values.shape == (size, size if row == 2 else robot.n)
        for j in range(values.shape[1]):
            assert_close([values[:, j]], [difference(accelerations, state, (row, j), 1e-3)], 1e-8)
    tau, wrench = driven(np.tile(state[2], (3, 1)))
    many = hd.forward_dynamics_derivatives(
        robot, np.tile(q[:2], (3, 1, 1)), tau, **wrench, **options(3))
    for batch, one in zip(many, found, strict=True):
        assert_close(batch, [one] * 3, 1e-12)


@pytest.mark.parametrize(('arguments', 'message'), [
    ({'q': np.zeros((2, 7))}, r'q has shape \(2, 7\)'),
    ({'q': np.full((3, 7), np.nan)}, 'not finite'),
    ({'q': np.zeros((3, 7)), 'base_pose': np.eye(4)}, 'fixed base'),
    ({'q': np.zeros((3, 7)), 'threads': 0}, 'threads'),
    ({'q': np.zeros((3, 7)), 'external_wrenches': np.zeros((2, 7, 6))}, 'external_wrenches'),
])
def test_what_makes_no_sense_is_refused(arguments, message):
    with pytest.raises(hd.HodynError, match=message):
        hd.inverse_dynamics_derivatives(hd.load_robot('panda'), **arguments)


def test_handles_refuse_other_orders_and_bases():
    panda, drone = hd.load_robot('panda'), hd.load_robot('aerial_manipulator')
    with pytest.raises(hd.HodynError, match='order must be'):
        hd.InverseDynamicsDerivatives(panda, -1)
    handle = hd.InverseDynamicsDerivatives(panda, 0)
    with pytest.raises(ValueError, match='with r the order'):
        handle(np.zeros((4, 7)), np.zeros((2, 4, 7, 7)))
    with pytest.raises(TypeError, match='float64'):
        handle(np.zeros((3, 7), dtype=np.float32), np.zeros((1, 3, 7, 7)))
    with pytest.raises(hd.HodynError, match='fixed base: use batch'):
        handle.floating_batch(*(np.zeros((1, 1)),) * 5)
    floating = hd.InverseDynamicsDerivatives(drone, 0)
    for call in (floating, floating.batch):
        with pytest.raises(hd.HodynError, match='floating base: use floating_batch'):
            call(np.zeros((1, 3, 6)), np.zeros((1, 1, 3, 6, 6)))
    with pytest.raises(hd.HodynError, match='of order 0'):
        hd.forward_dynamics_derivatives(panda, np.zeros((2, 7)), np.zeros((2, 7)))


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
