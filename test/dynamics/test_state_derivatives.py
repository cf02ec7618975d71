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
from scipy.linalg import expm
from virtual_power import VirtualPower

import hodyn_ros as hd
from hodyn_ros.robot import lie

SEEDS = range(6)
BASES = pytest.mark.parametrize('floating', [False, True], ids=['fixed', 'floating'])


def options_of(base, wrenches):
    place = {} if base is None else {'base_pose': base[0], 'base_twist': base[1]}
    return {**place, 'external_wrenches': wrenches}


def partials(robot, q, base=None, wrenches=None, **options):
    return hd.inverse_dynamics_derivatives(robot, q, **options_of(base, wrenches), **options)


def efforts(robot, q, base=None, wrenches=None):
    found = hd.inverse_dynamics(robot, q, **options_of(base, wrenches))
    return found if base is None else np.concatenate(found[::-1], axis=-1)


def assert_same_but_for_rounding(found, expected):
    """Code that is compiled in another process may fuse other multiplications and additions."""
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-14 * np.abs(expected).max())


REACH = np.arange(-3, 4)
WEIGHTS = np.array([-1 / 60, 0.15, -0.75, 0.0, 0.75, -0.15, 1 / 60])  # of differences of order 6


def changed(q, base, m, column, steps):
    """Return motions and bases (T, …) that differ in one entry of (pose, q), (V, q̇), …."""
    motions = np.tile(q, (len(steps), 1, 1))
    bases = base and [np.tile(part, (len(steps), 1, 1)) for part in base]
    column -= 6 * (base is not None)
    if column >= 0:
        motions[:, m, column] += steps
    elif m > 0:
        bases[1][:, m - 1, column] += steps
    else:
        bases[0] = np.array([expm(step * hat(np.eye(6)[column])) @ base[0] for step in steps])
    return motions, bases


def hat(twist):
    matrix = np.zeros((4, 4), dtype=np.asarray(twist).dtype)
    matrix[[2, 0, 1], [1, 2, 0]], matrix[[1, 2, 0], [2, 0, 1]] = twist[:3], -twist[:3]
    matrix[:3, 3] = twist[3:]
    return matrix


def assert_differences(found, function, q, base, step):
    """Compare found (k, m, i, j) with differences of a function of motions and bases (T, …)."""
    for m in range(found.shape[1]):
        for j in range(found.shape[3]):
            values = function(*changed(q, base, m, j, step * REACH))
            assert_close(found[:, m, :, j], np.tensordot(WEIGHTS / step, values, 1), 1e-8)


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
        direction = rng.normal(size=(order + 3, found.shape[-1]))
        if m < order + 3:
            direction[np.arange(order + 3) != m] = 0.0
        ends = []
        with mp.workdps(60):
            for sign in (-1, 1):
                change = sign * step * np.vectorize(mp.mpf, otypes=[object])(direction)
                moved = q.astype(object) + change[:, 6 * floating:]
                pushed = base
                if floating:
                    pose, twist = (part.astype(object) for part in base)
                    pushed = pose + hat(change[0, :6]) @ pose, twist + change[1:, :6]
                ends.append(VirtualPower(robot, moved, pushed, wrenches).efforts_in_digits(order))
            expected = np.array([
                [float((b - a) / (2 * step)) for a, b in zip(*rows, strict=True)]
                for rows in zip(*ends, strict=True)])
        assert_close(np.einsum('kmij,mj->ki', found, direction), expected, 1e-12)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_they_are_differences_of_the_torques(floating, seed):
    """Of larger trees, under wrenches, and with coupled joints."""
    _, robot, q, base, wrenches = moving(
        seed, 9, seed % 3, floating=floating, serial=seed > 3, coupled=seed % 2 == 1)

    def function(motions, bases):
        return efforts(robot, motions, bases, np.tile(wrenches, (len(motions), 1, 1, 1)))

    assert_differences(partials(robot, q, base, wrenches), function, q, base, 1e-2)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_along_the_motion_they_give_the_next_derivative(floating, seed):
    """Q⁽ᵏ⁺¹⁾ = Σ ∂Q⁽ᵏ⁾/∂q⁽ᵐ⁾ q⁽ᵐ⁺¹⁾, where nobody pushes; the base is displaced by its twist."""
    rng, order = np.random.default_rng(seed), 4
    robot = random_robot(rng, 10, floating=floating, serial=seed % 2 == 0)
    q = random_motion(rng, robot, order + 1)
    base = random_base_motion(rng, order + 1) if floating else None
    rates = np.hstack([base[1], q[1:]]) if floating else q[1:]
    found = partials(robot, q[:-1], base and (base[0], base[1][:-1]))
    assert_close(
        np.einsum('kmij,mj->ki', found, rates), efforts(robot, q, base)[1:], 1e-12)


@BASES
@pytest.mark.parametrize('seed', SEEDS)
def test_the_mass_matrix_is_before_the_highest_derivative(floating, seed):
    order = 3
    _, robot, q, base, wrenches = moving(seed, 9, order, floating=floating)
    found = partials(robot, q, base, wrenches)
    place = {'base_pose': base[0], 'base_twist': base[1][:-1]} if floating else {}
    terms = hd.equations_of_motion(robot, q[:order + 2], **place)
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
    _, robot, q, _, _ = moving(seed, 9, 0)
    stiffness = partials(robot, np.vstack([q[:1], np.zeros((2, robot.n))]))[0, 0]
    assert_close([stiffness], [stiffness.T], 1e-12)


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
    for threads in (2, 3, 50):
        np.testing.assert_array_equal(
            partials(robot, q, base, wrenches, threads=threads), batch)
    nothing = partials(robot, q[:0], base and (base[0][:0], base[1][:0]), wrenches[:0])
    assert nothing.shape == (0, *batch.shape[1:])


@pytest.mark.parametrize('order', [0, 1, 2, 3])
@pytest.mark.parametrize('n_bodies', [1, 2, 3])
def test_batches_of_small_robots_give_the_same_bits_and_write_only_theirs(n_bodies, order):
    """Whose matrices have fewer entries than motions are side by side, or not a multiple."""
    _, robot, _, _, _ = moving(n_bodies, n_bodies, 1)
    q = np.random.default_rng(0).normal(size=(9, order + 3, n_bodies))
    out = np.full((10, order + 1, order + 3, n_bodies, n_bodies), np.nan)
    hd.InverseDynamicsDerivatives(robot, order).batch(q, out[:9])
    for one, motion in zip(out, q, strict=False):
        np.testing.assert_array_equal(one, partials(robot, motion))
    assert np.all(np.isnan(out[9]))


def test_angles_of_many_turns_cost_no_digits_beside_small_ones():
    robot = hd.load_robot('panda')
    q = np.random.default_rng(0).normal(size=(9, 3, 7))
    q[4, 0, 2:] *= 1e9
    found = partials(robot, q)
    for one, motion in zip(found, q, strict=True):
        assert_close([one[0, 2]], hd.equations_of_motion(robot, motion[:2]).mass[:1], 1e-13)


@pytest.mark.parametrize('order', [0, 1, 2])
def test_a_handle_writes_the_same_and_can_be_pickled(order):
    robot = hd.load_robot('panda')
    handle = pickle.loads(pickle.dumps(hd.InverseDynamicsDerivatives(robot, order)))
    q = np.random.default_rng(order).normal(size=(order + 3, 7))
    out = np.full((order + 1, order + 3, 7, 7), np.nan)
    handle(q, out)
    found = hd.inverse_dynamics_derivatives(robot, q)
    assert_same_but_for_rounding(out, found)
    many = np.full((1, *out.shape), np.nan)
    handle.batch(q[np.newaxis], many)
    np.testing.assert_array_equal(found, many[0])


def test_off_the_way_to_the_base_there_is_nothing():
    """And no numbers of the motion before remain where branches do not meet."""
    robot = hd.load_robot('aerial_manipulator')
    rng = np.random.default_rng(0)
    found = hd.inverse_dynamics_derivatives(
        robot, rng.normal(size=(9, 5, 6)), base_pose=np.tile(np.eye(4), (9, 1, 1)),
        base_twist=rng.normal(size=(9, 4, 6)))
    np.testing.assert_array_equal(found[..., 6:9, 9:], 0.0)
    np.testing.assert_array_equal(found[..., 9:, 6:9], 0.0)
    assert np.all(found[:, 0, 0, :6].any(axis=1))


def test_a_base_far_away_costs_no_digits():
    """What concerns the joints alone is the same to the bit; else it is about another origin."""
    _, robot, q, (pose, twist), wrenches = moving(2, 6, 1, floating=True)
    near, far, still = pose.copy(), pose.copy(), twist.copy()
    still[:, :3] = 0.0  # its twist is the same about any origin
    near[:3, 3], far[:3, 3] = 0.0, 1e6 * np.array([1.0, -2.0, 0.5])  # which doubles hold
    here, there = (partials(robot, q, (place, still), wrenches) for place in (near, far))
    np.testing.assert_array_equal(there[..., 6:, 6:], here[..., 6:, 6:])
    np.testing.assert_array_equal(there[..., 3:, 3:], here[..., 3:, 3:])
    to_base = np.eye(robot.n + 6)
    to_base[:6, :6] = lie.adjoint(lie.pose(None, -far[:3, 3]))
    moved = to_base.T @ here @ to_base
    for block in (slice(3), slice(3, None)):
        np.testing.assert_allclose(
            there[..., block, :3], moved[..., block, :3],
            atol=1e-14 * np.abs(moved[..., block, :3]).max())


def test_a_handle_sums_up_coupled_joints():
    _, robot, q, _, _ = moving(3, 8, 1, coupled=True)
    assert robot.n < len(robot.bodies)
    found = partials(robot, q)
    out = np.empty_like(found)
    hd.InverseDynamicsDerivatives(robot, 1)(q, out)
    assert_same_but_for_rounding(out, found)


@BASES
@pytest.mark.parametrize('order', [0, 2])
@pytest.mark.parametrize('seed', SEEDS)
def test_accelerations_change_as_their_differences(floating, order, seed):
    rng, robot, q, base, wrenches = moving(seed, 6, order, floating=floating, coupled=seed == 5)
    base = base and (base[0], base[1][:1])
    size = robot.n + 6 * floating
    effort = rng.normal(size=(order + 1, size))

    def driven(efforts, base, wrenches):
        wrench = {'base_wrench': efforts[..., :6]} if floating else {}
        return {'tau': efforts[..., size - robot.n:], **wrench, **options_of(base, wrenches)}

    def accelerations(motions, bases, efforts=effort):
        acting = np.tile(wrenches, (len(motions), 1, 1, 1))
        pushed = np.broadcast_to(efforts, (len(motions), order + 1, size))
        found = hd.forward_dynamics(robot, motions, **driven(pushed, bases, acting))
        return np.concatenate(found[::-1], axis=-1) if floating else found

    found = hd.forward_dynamics_derivatives(robot, q[:2], **driven(effort, base, wrenches))
    shape = (order + 1,) if order else ()
    by_state = np.stack([found.by_position, found.by_velocity], axis=-3)
    assert by_state.shape == (*shape, 2, size, size)
    by_state = by_state.reshape(order + 1, 2, size, size)
    assert_differences(by_state, accelerations, q[:2], base, 1e-3)
    assert found.by_torque.shape == (*shape, *shape, size, size)
    by_torque = found.by_torque.reshape(order + 1, order + 1, size, size)
    unit = np.tile(q[:2], (size, 1, 1)), base and [np.tile(x, (size, 1, 1)) for x in base]
    for j in range(order + 1):
        # Q̈ is quadratic in q̈ and has no higher power, so that these differences are exact.
        moved = np.zeros((size, order + 1, size))
        moved[:, j] = np.eye(size)
        ends = (accelerations(*unit, effort + sign * moved) for sign in (1.0, -1.0))
        expected = 0.5 * np.subtract(*ends).transpose(1, 2, 0)
        for k in range(order + 1):
            assert_close(by_torque[k, j], expected[k], 1e-9 * max(1.0, np.abs(expected).max()))
    many = hd.forward_dynamics_derivatives(robot, unit[0], **driven(
        np.tile(effort, (size, 1, 1)), unit[1], np.tile(wrenches, (size, 1, 1, 1))))
    for batch, one in zip(many, found, strict=True):
        assert_close(batch, [one] * size, 1e-12)


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
        handle.floating_batch(*(np.zeros((1, 1)),) * 4)
    floating = hd.InverseDynamicsDerivatives(drone, 0)
    for call in (floating, floating.batch):
        with pytest.raises(hd.HodynError, match='floating base: use floating_batch'):
            call(np.zeros((1, 3, 6)), np.zeros((1, 1, 3, 6, 6)))


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
