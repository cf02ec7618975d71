"""The unrolled kernels of orders 0 to 2 against the kernel of any order."""
from cases import case_of
from hypothesis import given, settings
from hypothesis import strategies as st
import mpmath
import numpy as np
from processes import in_threads, printed_by
import pytest
from random_robots import assert_close, random_robot
from rigid_bodies import one_body

import hodyn_ros as hd
from hodyn_ros.dynamics.formulations import any_order_kernels
from hodyn_ros.dynamics.kernels.decorators import kernel
from hodyn_ros.dynamics.kernels.unrolled.joint_polynomials import MAX_ANGLE, sine_cosine

FAST = ('spatial', 'body_fixed')
NO_WRENCHES = np.zeros((1, 0, 0, 0))


@kernel
def compiled_sine_cosine(x):
    return sine_cosine(x)


def by_any_order(robot, q, formulation, wrenches=NO_WRENCHES, base=()):
    """Return the torques of motions (T, r + 3, n) by the kernel of any order."""
    general = any_order_kernels(formulation)
    order = q.shape[1] - 3
    out = np.empty((len(q), order + 1, robot.n))
    model = robot.kernel_model
    general.inverse_dynamics(
        model.parent, model.body_table, model.body_in_kernel, robot.gravity,
        general.workspace(len(robot.bodies), order), base, wrenches, q, out)
    return out


def one_by_one(robot, q, formulation):
    """Return the torques by a handle, motion by motion."""
    handle = hd.InverseDynamics(robot, q.shape[1] - 3, formulation)
    out = np.full((len(q), q.shape[1] - 2, robot.n), np.nan)
    for motion, torque in zip(q, out, strict=True):
        handle(motion, torque)
    return out


def assert_all_close(actual, expected, tolerance):
    for a, e in zip(actual, expected, strict=True):
        assert_close(a, e, tolerance)


def assert_as_any_order(robot, q, formulation, other):
    """Compare motions one by one and in a batch with the kernel of any order of another name."""
    expected, batch = by_any_order(robot, q, other), np.full((*q.shape[:1], 3, robot.n), np.nan)
    hd.InverseDynamics(robot, 2, formulation).batch(q, batch)
    assert_all_close(batch, expected, 1e-13)
    assert_all_close(one_by_one(robot, q, formulation), expected, 1e-13)


@pytest.mark.parametrize(('formulation', 'kind'), [
    ('spatial', 'arm'), ('body_fixed', 'arm'), ('spatial', 'tree'), ('spatial', 'floating')])
@given(
    seed=st.integers(0, 2**32), bodies=st.integers(1, 15), samples=st.integers(1, 20),
    order=st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_equals_any_order(formulation, kind, seed, bodies, samples, order):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, bodies, floating=kind == 'floating', serial=kind == 'arm')
    case = case_of(rng, robot, order, samples)
    q = case.q
    handle = hd.InverseDynamics(robot, order, formulation)
    for acting in (case.wrenches, None):  # of which nothing is left for the next batch
        out, base = np.full((samples, order + 1, robot.n), np.nan), ()
        if robot.floating:
            found, expected = np.full((2, samples, order + 1, 6), np.nan)
            base = *case.base.values(), expected
            handle.floating_batch(q, *base[:2], out, found, acting)
        else:
            handle.batch(q, out, acting)
        torques = by_any_order(
            robot, q, formulation, NO_WRENCHES if acting is None else acting, base)
        assert_all_close(out, torques, 1e-12)
        if base:
            assert_all_close(found, expected, 1e-12)
    if not base:
        assert_all_close(one_by_one(robot, q, formulation), torques, 1e-12)


@pytest.mark.parametrize('formulation', FAST)
@pytest.mark.parametrize('axis', [(0, 0, 1), (0, 0, -1), (1e-9, 0, 1), (1, 0, 0)])
def test_parallel_and_nearly_parallel_axes(formulation, axis):
    bodies = [{
        'name': f'body{i}', 'parent': i - 1, 'type': 'revolute',
        'placement': [[1, 0, 0, 0.3 * i], [0, 1, 0, 0.1], [0, 0, 1, -0.2], [0, 0, 0, 1]],
        'axis': (0, 0, 1) if i % 2 == 0 else np.array(axis) / np.linalg.norm(axis),
        'mass': 1.0 + i, 'com': [0.1, -0.2, 0.05 * i],
        'inertia': np.diag([0.02, 0.03, 0.04]),
    } for i in range(5)]
    robot = hd.load_robot({'name': 'planar', 'gravity': [1.0, -3.0, -9.0], 'bodies': bodies})
    q = np.random.default_rng(5).normal(size=(3, 5, 5))
    assert_as_any_order(robot, q, formulation, 'spatial')


@pytest.mark.parametrize('formulation', FAST)
@pytest.mark.parametrize('size', [1e5, 4e5, 1e9, 1e15])
def test_huge_angles(panda, formulation, size):
    """The angle of one sample in a register must not cost the others their digits."""
    rng = np.random.default_rng(7)
    q = rng.normal(size=(13, 5, 7))
    q[3, 0, 2] = size * 1.234
    q[9, 0] = size * rng.normal(size=7)
    assert_as_any_order(panda, q, formulation, formulation)


@given(x=st.floats(-MAX_ANGLE, MAX_ANGLE) | st.integers(-318309, 318309).map(
    lambda quarters: quarters * np.pi / 2) | st.floats(-12, 0).map(lambda e: 10.0**e))
@settings(max_examples=1000, deadline=None)
def test_sine_and_cosine_to_one_ulp(x):
    with mpmath.workprec(200):
        exact = mpmath.sin(mpmath.mpf(x)), mpmath.cos(mpmath.mpf(x))
        for value, true in zip(compiled_sine_cosine(x), exact, strict=True):
            assert abs(mpmath.mpf(value) - true) <= np.spacing(abs(value))


@pytest.mark.parametrize('formulation', FAST)
def test_accuracy_against_many_digits(formulation):
    """A pendulum whose torque is known in closed form: Q = J q̈ + m g c sin q."""
    robot = one_body('revolute', 2.0, [0.0, 0.0, -0.4], [0.1, 0.1, 0.02], axis=[0, 1, 0],
                     gravity=[0, 0, -9.81])
    q, v, a, j, s = 0.7, 1.3, -2.1, 0.9, 4.2
    arm, swing = 0.1 + 2.0 * 0.4**2, 2.0 * 9.81 * 0.4
    expected = np.array([
        [arm * a + swing * np.sin(q)],
        [arm * j + swing * np.cos(q) * v],
        [arm * s + swing * (np.cos(q) * a - np.sin(q) * v**2)]])
    actual = one_by_one(robot, np.array([[[q], [v], [a], [j], [s]]]), formulation)[0]
    np.testing.assert_allclose(actual, expected, rtol=4e-15)


@pytest.mark.parametrize('formulation', FAST)
def test_single_motions_and_batches_agree_whatever_the_layout(panda, formulation):
    q = np.random.default_rng(4).normal(size=(11, 5, 7))
    expected = by_any_order(panda, q, formulation)
    strided = np.zeros((11, 10, 14))
    strided[:, ::2, ::2] = q
    for motions in (q, strided[:, ::2, ::2], np.asfortranarray(q), q.tolist()):
        assert_all_close(
            hd.inverse_dynamics(panda, motions, formulation=formulation), expected, 1e-13)
    for motion, torque in zip(strided[:, ::2, ::2], expected, strict=True):
        assert_close(hd.inverse_dynamics(panda, motion, formulation=formulation), torque, 1e-13)
    assert hd.inverse_dynamics(panda, q[:0], formulation=formulation).shape == (0, 3, 7)


def test_threads_have_handles_of_their_own(panda):
    q = np.random.default_rng(8).normal(size=(4, 5, 7))
    expected = [hd.inverse_dynamics(panda, motion) for motion in q]
    wrong = []

    def work(k):
        for _ in range(200):
            if not np.array_equal(hd.inverse_dynamics(panda, q[k]), expected[k]):
                wrong.append(k)

    in_threads(work, range(4))
    assert not wrong


@pytest.mark.slow
def test_four_motions_side_by_side_as_without_avx512():
    code = (
        'import llvmlite.binding as b; b.get_host_cpu_features = b.FeatureMap; '
        'import numpy as np, hodyn_ros as hd; '
        'from hodyn_ros.dynamics.kernels.unrolled.taylor import LANES; '
        "robot = hd.load_robot('panda'); "
        'q = np.random.default_rng(4).normal(size=(7, 5, 7)); '
        'assert LANES == 4; print(repr(hd.inverse_dynamics(robot, q).tolist()))')
    robot, q = hd.load_robot('panda'), np.random.default_rng(4).normal(size=(7, 5, 7))
    assert_all_close(np.array(eval(printed_by(code))), by_any_order(robot, q, 'spatial'), 1e-12)


@pytest.mark.slow
def test_importing_compiles_nothing():
    code = (
        'import hodyn_ros; from hodyn_ros.dynamics.kernels.unrolled import '
        'body_fixed, spatial; print([len(k.signatures) for k in '
        '(spatial.single(2), spatial.batch(2), body_fixed.single(2))])')
    assert printed_by(code) == '[0, 0, 0]\n'
