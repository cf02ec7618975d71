"""Whatever arrays public functions are given, kernels read no entry that is not there.

And nothing but the first call compiles: a list or a strided view in a loop would stop it for
seconds.
"""
import sys

import numpy as np
import pytest
from random_robots import random_mapping

import hodyn_ros as hd
from hodyn_ros.actuators import LinkSide, SigmoidFriction
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.reference import MotionLimits, SmoothingFilter, Stream, fit_plan
from hodyn_ros.simulation.examples import with_example_actuators

RNG = np.random.default_rng(0)
PANDA = hd.load_robot('panda')
TREE = hd.load_robot('aerial_manipulator')
COUPLED_KEYS = random_mapping(np.random.default_rng(1), 9)
for follower in (3, 5):
    COUPLED_KEYS['bodies'][follower]['mimic'] = {'joint': 'joint1', 'multiplier': -0.5}
COUPLED = hd.load_robot(COUPLED_KEYS)
ELASTIC = with_example_actuators(PANDA, 'sea', 1000.0)
N, T = PANDA.n, 3
BASE = {
    'base_pose': np.tile(np.eye(4), (T, 1, 1)), 'base_twist': RNG.normal(size=(T, 4, 6)),
    'base_wrench': np.zeros((T, 3, 6))}
PLAN = fit_plan([0.0, 1.0], [np.zeros(N), np.ones(N)])
FRICTION = SigmoidFriction(np.ones(N), np.ones(N), np.zeros(N))
LIMITS = {name: np.full(N, sign * size) for name, sign, size in (
    ('lower', -1, 3.0), ('upper', 1, 3.0), ('velocity', 1, 2.0), ('acceleration', 1, 10.0),
    ('jerk', 1, 100.0))}


def motion(*shape):
    return RNG.uniform(-1.0, 1.0, shape)


def filtered(target):
    made = SmoothingFilter(np.zeros(N), 10.0)
    made.set_target(target)
    return made.advance(0.01)


def streamed(position, velocity, out):
    stream = Stream(np.zeros(N), 0, 50.0, MotionLimits(**LIMITS))
    stream.set_target(0, position, velocity, 10**9, MotionLimits(**LIMITS))
    stream.evaluate(10**7, out)


def limits(**given):
    return Stream(np.zeros(N), 0, 50.0, MotionLimits(**{**LIMITS, **given}))


def floating_batch(q, base_pose, base_twist, out, base_wrench):
    hd.InverseDynamics(TREE).floating_batch(q, base_pose, base_twist, out, base_wrench)


# Each with what it takes: arrays whose shapes are given by robot, order and the other arrays.
CASES = {
    **{f'handle, {formulation}, order {order}': (
        hd.InverseDynamics(PANDA, order, formulation),
        {'q': motion(order + 3, N), 'out': np.zeros((order + 1, N))})
       for formulation in ('spatial', 'body_fixed', 'closed_form') for order in (2, 3)},
    **{f'handle of a batch, {formulation}, order {order}': (
        hd.InverseDynamics(PANDA, order, formulation).batch,
        {'q': motion(T, order + 3, N), 'out': np.zeros((T, order + 1, N))})
       for formulation in ('spatial', 'body_fixed', 'closed_form') for order in (2, 3)},
    'handle, coupled joints': (
        hd.InverseDynamics(COUPLED), {'q': motion(5, N), 'out': np.zeros((3, N))}),
    'handle of a batch, coupled joints': (
        hd.InverseDynamics(COUPLED).batch,
        {'q': motion(T, 5, N), 'out': np.zeros((T, 3, N))}),
    **{f'{name}, derivatives': (
        hd.InverseDynamicsDerivatives(robot, 1),
        {'q': motion(4, N), 'out': np.zeros((2, 4, N, N))})
       for name, robot in (('handle', PANDA), ('handle, coupled joints', COUPLED))},
    'handle of a batch, derivatives': (
        hd.InverseDynamicsDerivatives(PANDA, 1).batch,
        {'q': motion(T, 4, N), 'out': np.zeros((T, 2, 4, N, N)),
         'wrenches': motion(T, 2, len(PANDA.bodies), 6)}),
    'floating handle, derivatives': (
        hd.InverseDynamicsDerivatives(TREE, 1).floating_batch,
        {'q': motion(T, 4, TREE.n), 'out': np.zeros((T, 2, 4, 6 + TREE.n, 6 + TREE.n)),
         'base_pose': BASE['base_pose'], 'base_twist': motion(T, 3, 6)}),
    'inverse_dynamics_derivatives': (
        lambda q, wrenches: hd.inverse_dynamics_derivatives(
            PANDA, q, external_wrenches=wrenches),
        {'q': motion(4, N), 'wrenches': motion(2, len(PANDA.bodies), 6)}),
    'forward_dynamics_derivatives': (
        lambda q, efforts: hd.forward_dynamics_derivatives(PANDA, q, efforts),
        {'q': motion(2, N), 'efforts': motion(1, N)}),
    'forward_dynamics, coupled joints': (
        lambda q, efforts: hd.forward_dynamics(COUPLED, q, efforts),
        {'q': motion(2, N), 'efforts': motion(3, N)}),
    'handle with wrenches': (
        hd.InverseDynamics(PANDA).batch,
        {'q': motion(T, 5, N), 'out': np.zeros((T, 3, N)),
         'wrenches': motion(T, 3, len(PANDA.bodies), 6)}),
    'floating handle': (
        floating_batch, {'q': motion(T, 5, TREE.n), 'out': np.zeros((T, 3, TREE.n)), **BASE}),
    'inverse_dynamics, out': (
        lambda out: hd.inverse_dynamics(PANDA, motion(5, N), out=out), {'out': np.zeros((3, N))}),
    'inverse_dynamics': (lambda q: hd.inverse_dynamics(PANDA, q), {'q': motion(5, N)}),
    'inverse_dynamics, wrenches': (
        lambda wrenches: hd.inverse_dynamics(
            PANDA, np.zeros((5, N)), external_wrenches=wrenches),
        {'wrenches': motion(3, len(PANDA.bodies), 6)}),
    'forward_kinematics': (lambda q: hd.forward_kinematics(PANDA, q), {'q': motion(3, N)}),
    'jacobian': (lambda q: hd.jacobian(PANDA, q, 'link7'), {'q': motion(3, N)}),
    'joint_wrenches': (
        lambda q, wrenches: hd.joint_wrenches(PANDA, q, external_wrenches=wrenches),
        {'q': motion(4, N), 'wrenches': motion(2, len(PANDA.bodies), 6)}),
    'joint_wrenches, floating': (
        lambda q, base_pose, base_twist: hd.joint_wrenches(
            TREE, q, base_pose=base_pose, base_twist=base_twist),
        {'q': motion(T, 5, TREE.n), 'base_pose': BASE['base_pose'],
         'base_twist': BASE['base_twist']}),
    'closed_form': (
        lambda q, wrenches: hd.closed_form(PANDA, q, external_wrenches=wrenches),
        {'q': motion(4, N), 'wrenches': motion(3, len(PANDA.bodies), 6)}),
    'equations_of_motion': (lambda q: hd.equations_of_motion(PANDA, q), {'q': motion(4, N)}),
    'center_of_mass': (lambda q: hd.center_of_mass(PANDA, q), {'q': motion(3, N)}),
    'momentum': (lambda q: hd.momentum(PANDA, q), {'q': motion(3, N)}),
    'energy': (lambda q: hd.energy(PANDA, q), {'q': motion(3, N)}),
    'torque_regressor': (lambda q: hd.torque_regressor(PANDA, q), {'q': motion(4, N)}),
    'momentum_regressor': (
        lambda q, base_pose, base_twist: hd.momentum_regressor(
            TREE, q, base_pose=base_pose, base_twist=base_twist),
        {'q': motion(T, 4, TREE.n), 'base_pose': BASE['base_pose'],
         'base_twist': motion(T, 3, 6)}),
    'task_space_dynamics': (
        lambda q: hd.task_space_dynamics(PANDA, q, 'link7', rows=(3,)), {'q': motion(3, N)}),
    'forward_dynamics': (
        lambda q, efforts: hd.forward_dynamics(PANDA, q, efforts),
        {'q': motion(2, N), 'efforts': motion(3, N)}),
    'hybrid_dynamics': (
        lambda q, known: hd.hybrid_dynamics(PANDA, q, known, PANDA.joint_names[::2]),
        {'q': motion(2, N), 'known': motion(2, N)}),
    'inverse_kinematics': (
        lambda q, twist: hd.inverse_kinematics(PANDA, q, twist, 'link7'),
        {'q': motion(N), 'twist': motion(3, 6)}),
    'gravity_wrenches': (lambda q: hd.gravity_wrenches(PANDA, q), {'q': motion(3, N)}),
    'external_efforts': (
        lambda q, wrenches: hd.external_efforts(PANDA, q, wrenches),
        {'q': motion(3, N), 'wrenches': motion(3, len(PANDA.bodies), 6)}),
    'feed-forward': (
        lambda q, out: FeedForward(PANDA).torque(q, out),
        {'q': motion(5, N), 'out': np.zeros((3, N))}),
    'feed-forward with wrenches': (
        lambda q, wrenches: FeedForward(PANDA).torque(q, wrenches=wrenches),
        {'q': motion(5, N), 'wrenches': motion(3, len(PANDA.bodies), 6)}),
    'friction': (FRICTION.torque, {'q': motion(5, N)}),
    'friction in place': (
        lambda q, out: FRICTION.add_to(q, out), {'q': motion(5, N), 'out': np.zeros((3, N))}),
    'friction of a batch': (
        lambda q, out: FRICTION.add_to(q, out),
        {'q': motion(T, 5, N), 'out': np.zeros((T, 3, N))}),
    'motor side': (
        lambda q, torque: FeedForward(ELASTIC).motor_side.evaluate(q, torque),
        {'q': motion(5, N), 'torque': motion(3, N)}),
    'motor side, stiffness': (
        lambda stiffness: FeedForward(ELASTIC).motor_side.evaluate(
            np.zeros((3, N)), np.zeros((3, N)), stiffness),
        {'stiffness': np.ones((3, N))}),
    'motor side along': (
        lambda times, q, torque: FeedForward(ELASTIC).motor_side.along(times, q, torque),
        {'times': np.arange(T) * 0.1, 'q': motion(T, 5, N), 'torque': motion(T, 3, N)}),
    'link side': (
        lambda q, qd, theta, theta_rate: LinkSide(ELASTIC.actuators).evaluate(
            q, qd, theta, theta_rate),
        {name: motion(N) for name in ('q', 'qd', 'theta', 'theta_rate')}),
    'plan, out': (lambda out: PLAN.evaluate(0.5, out), {'out': np.zeros((5, N))}),
    'plan, many, out': (
        lambda out: PLAN.evaluate(np.zeros(T), out), {'out': np.zeros((T, 5, N))}),
    'filter': (filtered, {'target': motion(N)}),
    'stream': (streamed, {
        'position': motion(N), 'velocity': motion(N), 'out': np.zeros((5, N))}),
    'limits of a stream': (limits, LIMITS),
}
# Arguments with a row for each derivative, as many as there are, and how many there must be.
ANY_ORDER = {
    'inverse_dynamics': {'q': 3}, 'forward_kinematics': {'q': 1}, 'jacobian': {'q': 1},
    'center_of_mass': {'q': 1}, 'momentum': {'q': 2}, 'energy': {'q': 2},
    'torque_regressor': {'q': 3}, 'task_space_dynamics': {'q': 2}, 'equations_of_motion': {'q': 2},
    'forward_dynamics': {'efforts': 1}, 'forward_dynamics_derivatives': {'efforts': 1},
    'forward_dynamics, coupled joints': {'efforts': 1},
    'hybrid_dynamics': {'known': 1}, 'inverse_kinematics': {'twist': 1},
    'gravity_wrenches': {'q': 1}, 'friction': {'q': 4}, 'friction in place': {'q': 4},
    'friction of a batch': {'q': 4}, 'motor side': {'q': 3}, 'motor side along': {'q': 3},
}


def compiled():
    """Return how many kernels are compiled, or read from the cache, for how many types."""
    found = {
        id(thing): len(thing.signatures) for name, module in list(sys.modules.items())
        if name.startswith('hodyn_ros') for thing in vars(module).values()
        if hasattr(thing, 'signatures') and not isinstance(thing, type)}
    return sum(found.values())


def misaligned(array):
    memory = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:]
    made = memory.view(np.float64).reshape(array.shape)
    made[...] = array
    return made


def read_only(array):
    made = array.copy()
    made.setflags(write=False)
    return made


# What holds the same numbers.
DISGUISES = {
    'list': lambda array: array.tolist(),
    'strided': lambda array: np.repeat(array, 2, axis=-1)[..., ::2],
    'reversed': lambda array: array[::-1].copy()[::-1],
    'Fortran': lambda array: np.asfortranarray(array) if array.ndim > 1 else array,
    'big-endian': lambda array: array.astype('>f8'),
    'misaligned': misaligned,
    'read-only': read_only,
    'object': lambda array: array.astype(object),
    'longdouble': lambda array: array.astype(np.longdouble),
}


def wrong_shapes(shape):
    """Yield shapes that differ in one axis, in their number of axes, or in everything."""
    for axis, size in enumerate(shape):
        yield from ((*shape[:axis], other, *shape[axis + 1:]) for other in (0, size - 1, size + 1))
    yield from ((), shape[1:], (1, 1, *shape), (*shape, 1), (0,), tuple(reversed(shape)))
    yield (*shape[:-1], 50 * shape[-1])


@pytest.mark.parametrize('name', CASES)
def test_no_array_of_another_shape_is_read_beyond_its_end(name):
    function, arrays = CASES[name]
    for changed, array in arrays.items():
        for shape in set(wrong_shapes(array.shape)) - {array.shape}:
            least = ANY_ORDER.get(name, {}).get(changed)
            if least and len(shape) == array.ndim and shape[-2] >= least and (
                    shape[:-2], shape[-1]) == (array.shape[:-2], array.shape[-1]):
                continue
            if least == 1 and changed == 'q' and shape == (N,):
                continue  # positions alone
            with pytest.raises((ValueError, TypeError)):
                function(**{**arrays, changed: np.ones(shape)})
    # All of one robot that has more joints, or fewer.
    for other in (N - 1, N + 1):
        sizes = {
            key: np.ones([other if size == N else size for size in array.shape])
            for key, array in arrays.items()}
        if name not in ('limits of a stream', 'floating handle') and any(
                sizes[key].shape != arrays[key].shape for key in arrays):
            with pytest.raises((ValueError, TypeError)):
                function(**sizes)


@pytest.mark.parametrize('name', CASES)
def test_the_same_numbers_in_another_array_compile_nothing(name):
    function, arrays = CASES[name]
    expected = function(**arrays)
    before = compiled()
    for changed, array in arrays.items():
        for disguise, dress in DISGUISES.items():
            try:
                result = function(**{**arrays, changed: dress(array)})
            except (TypeError, ValueError):
                pass
            else:
                _assert_same(result, expected, disguise)
            assert compiled() == before, f'{changed}, {disguise}'
    _assert_same(function(**arrays), expected, 'as before')


def _assert_same(result, expected, message):
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(result, expected, err_msg=message)


@pytest.mark.parametrize('order', [2, 3])
@pytest.mark.parametrize('wrong', [
    None, 'text', 3.0, [[0.0] * N] * 5, np.zeros((5, N), dtype=np.float32),
    np.zeros((5, N), dtype=int), np.zeros((10, N))[::2], np.zeros((N, 5)).T],
    ids=['None', 'text', 'number', 'list', 'float32', 'int', 'strided', 'transposed'])
def test_a_handle_says_which_arrays_it_takes(wrong, order):
    handle = hd.InverseDynamics(PANDA, order)
    with pytest.raises(TypeError):
        handle(wrong, np.zeros((order + 1, N)))
    with pytest.raises(TypeError):
        handle(np.zeros((order + 3, N)), wrong)


def test_a_handle_of_one_robot_refuses_the_motion_of_another():
    arm = hd.load_robot('twolink')
    handle = hd.InverseDynamics(arm)
    for _ in range(1000):
        with pytest.raises(ValueError, match='number of joints'):
            handle(np.zeros((5, 7)), np.zeros((1, 7)))
    motion_of_arm, out = motion(5, 2), np.zeros((3, 2))
    handle(motion_of_arm, out)
    np.testing.assert_array_equal(out, hd.inverse_dynamics(arm, motion_of_arm))


def test_masked_entries_are_not_taken_for_what_is_behind_the_mask():
    q = motion(5, N)
    with pytest.raises(hd.HodynError, match=r'^q has masked entries'):
        hd.inverse_dynamics(PANDA, np.ma.masked_greater(q, 0.0))
    expected = hd.inverse_dynamics(PANDA, q)
    np.testing.assert_array_equal(hd.inverse_dynamics(PANDA, np.ma.array(q)), expected)


@pytest.mark.fast
def test_parts_of_kernels_are_not_for_python():
    """Numba has no entry for them that Python could call, and would call address 0."""
    from hodyn_ros.dynamics.kernels.newton_euler import row3

    hd.inverse_dynamics(PANDA, motion(5, N))
    with pytest.raises(TypeError, match='row3 is only for compiled code'):
        row3(motion(4, 3), 1)
