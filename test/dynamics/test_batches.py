"""Every function takes a batch of motions, which it finds one by one, or in several threads."""
from dataclasses import replace
import sys
import threading
import time

from cases import case_of
from numba.core import config
import numpy as np
from processes import in_threads
import pytest
from random_robots import random_robot

import hodyn_ros as hd
from hodyn_ros import InverseDynamics, load_robot

REPRESENTATIONS = ('spatial', 'body_fixed', 'hybrid')
FORMULATIONS = ('spatial', 'body_fixed')
LINK = 'body7'
ROUNDED = 1e-13
"""Where sums have another order in registers or in numpy's products; else all bits agree."""


def of_motion(function, first=5, **options):
    return lambda case: case.of(function, first=first, **options)


def pushed(function, **options):
    return lambda case: case.pushed(function, **options)


def driven(function, *moved):
    return lambda case: case.driven(
        function, case.velocity[..., 1:, :], *(case.robot.joint_names[joints] for joints in moved))


ANY_BASE = {
    **{f'inverse dynamics, {name}': (pushed(hd.inverse_dynamics, formulation=name), ROUNDED)
       for name in FORMULATIONS},
    'without wrenches': (of_motion(hd.inverse_dynamics), ROUNDED),
    'derivatives': (pushed(hd.inverse_dynamics_derivatives), 0.0),
    'equations of motion': (of_motion(hd.equations_of_motion, 4), 0.0),
    'forward dynamics': (driven(hd.forward_dynamics), 0.0),
    'hybrid dynamics': (driven(hd.hybrid_dynamics, slice(1)), 0.0),
    'its derivatives': (driven(hd.forward_dynamics_derivatives), ROUNDED),
    **{f'wrenches, {name}': (pushed(hd.joint_wrenches, frame=name), 0.0)
       for name in ('body', 'joint', 'world')},
    'weights': (of_motion(hd.gravity_wrenches, 4), 0.0),
    'efforts': (lambda case: case.of(hd.external_efforts, case.wrenches, first=3), 0.0),
    'centre of mass': (of_motion(hd.center_of_mass, 4), 0.0),
    'momentum': (of_motion(hd.momentum, 4), 0.0),
    'energy': (of_motion(hd.energy, 4), 0.0),
    'torque regressor': (of_motion(hd.torque_regressor), ROUNDED),
    'momentum regressor': (of_motion(hd.momentum_regressor, 4), ROUNDED),
    **{f'bodies, {name}': (of_motion(hd.forward_kinematics, 4, representation=name), 0.0)
       for name in REPRESENTATIONS},
    **{f'jacobian, {name}': (of_motion(hd.jacobian, 4, link=LINK, representation=name), 0.0)
       for name in REPRESENTATIONS},
    'wrench on a link': (lambda case: hd.link_wrench(
        case.robot, LINK, case.wrenches[..., 0, :]), ROUNDED),
}
FLOATING_BASE = {
    f'wrench in axes of the {name}': (lambda case, function=function: function(
        case.base['base_pose'], case.base['base_twist'][..., :2, :],
        case.wrenches[..., 0, :]), ROUNDED)
    for name, function in (('world', hd.world_wrench), ('body', hd.body_wrench))}
FIXED_BASE = {
    'closed form': (of_motion(hd.inverse_dynamics, formulation='closed_form'), 0.0),
    'joints from a link': (lambda case: hd.inverse_kinematics(
        case.robot, case.q[..., 0, :], case.wrenches[..., 0, :], LINK), 0.0),
    'with a given joint': (lambda case: hd.inverse_kinematics(
        case.robot, case.q[..., 0, :], case.wrenches[..., 0, :], LINK,
        prescribed={'joint1': case.wrenches[..., 1, 0]}), 0.0),
}


@pytest.mark.parametrize(('name', 'floating', 'coupled'), [
    *((name, floating, coupled) for name in ANY_BASE for floating in (False, True)
      for coupled in (False, True)),
    *((name, True, False) for name in FLOATING_BASE),
    *((name, False, False) for name in FIXED_BASE)])
def test_a_batch_is_its_motions_one_by_one(name, floating, coupled):
    call, tolerance = {**ANY_BASE, **FLOATING_BASE, **FIXED_BASE}[name]
    if coupled and name in ('forward dynamics', 'hybrid dynamics'):
        tolerance = ROUNDED  # numpy solves the equations of motion
    rng = np.random.default_rng(6)
    batch = case_of(rng, random_robot(
        rng, 8, floating=floating, coupled=coupled, serial=name in FIXED_BASE), 2, 3)

    def found(case):
        result = call(case)
        return result if isinstance(result, tuple) else (result,)

    together, nothing = found(batch), found(batch[:0])
    for t in range(3):
        for whole, none, one in zip(together, nothing, found(batch[t]), strict=True):
            assert none.shape == (0, *one.shape)
            np.testing.assert_allclose(
                whole[t], one, rtol=0.0, atol=tolerance * max(1.0, np.abs(one).max()))


def _motions(robot, count, order=2, seed=0):
    return np.random.default_rng(seed).normal(size=(count, order + 3, robot.n))


@pytest.mark.parametrize('formulation', [*FORMULATIONS, 'closed_form'])
@pytest.mark.parametrize('count', [0, 1, 7, 8, 41])
def test_any_number_of_threads_gives_the_same_bits(panda, formulation, count):
    # Angles so large that their eight motions take another sine: who is beside whom matters.
    handle, q = InverseDynamics(panda, 2, formulation), _motions(panda, count)
    q[::5, 0] *= 1e6
    alone = np.empty((count, 3, 7))
    handle.batch(q, alone)
    for threads in (2, 3, 50):
        out = np.full_like(alone, np.nan)
        handle.batch(q, out, threads=threads)
        np.testing.assert_array_equal(out, alone)


@pytest.mark.parametrize(('name', 'order'), [
    ('panda', 3), ('aerial_manipulator', 1), ('aerial_manipulator', 2)])
def test_threads_share_a_batch_with_wrenches_and_of_other_orders_and_bases(name, order):
    batch = case_of(np.random.default_rng(2), load_robot(name), order, 50)
    for case in (batch, replace(batch, wrenches=None)):
        np.testing.assert_array_equal(case.efforts(threads=4), case.efforts())


@pytest.mark.parametrize('floating', [False, True])
def test_any_number_of_threads_gives_the_same_bits_of_derivatives(floating):
    rng = np.random.default_rng(5)
    batch = case_of(rng, random_robot(rng, 7, floating=floating, serial=False), 2, 21)
    found = pushed(hd.inverse_dynamics_derivatives)(batch)
    for t in range(21):
        np.testing.assert_array_equal(
            pushed(hd.inverse_dynamics_derivatives)(batch[t]), found[t])
    for threads in (2, 3, 50):
        np.testing.assert_array_equal(
            pushed(hd.inverse_dynamics_derivatives, threads=threads)(batch), found)


@pytest.mark.parametrize('formulation', FORMULATIONS)
@pytest.mark.parametrize('shared', [True, False])
def test_four_threads_at_once_get_their_own_torques(formulation, shared):
    """On one handle, whose scratch memory they must not share, and on four."""
    robot, interval = load_robot('panda'), sys.getswitchinterval()
    one = InverseDynamics(robot, 2, formulation)
    q = [_motions(robot, 200, seed=k) for k in range(4)]
    expected = [np.empty((200, 3, robot.n)) for _ in q]
    for motions, torques in zip(q, expected, strict=True):
        one.batch(motions, torques)
    wrong, started = [], threading.Barrier(4)

    def work(k):
        handle = one if shared else InverseDynamics(robot, 2, formulation)
        batch, single = np.empty_like(expected[k]), np.empty((3, robot.n))
        started.wait()
        for turn in range(100):
            handle.batch(q[k], batch)
            handle(q[k][turn], single)
            if not (np.array_equal(batch, expected[k]) and np.allclose(
                    single, expected[k][turn], rtol=1e-9, atol=1e-9)):
                wrong.append((k, turn))

    sys.setswitchinterval(1e-5)
    try:
        in_threads(work, range(4))
    finally:
        sys.setswitchinterval(interval)
    assert not wrong


@pytest.mark.skipif(bool(config.DISABLE_JIT), reason='Python keeps the lock')
@pytest.mark.parametrize('formulation', FORMULATIONS)
@pytest.mark.parametrize('order', [2, 3])
def test_another_thread_runs_during_a_batch(formulation, order):
    """Would the kernel keep the interpreter's lock, the other could not go on before its end."""
    robot = load_robot('panda')
    handle, q = InverseDynamics(robot, order, formulation), _motions(robot, 100_000, order)
    out = np.zeros((len(q), order + 1, robot.n))
    handle.batch(q[:8], out[:8])  # compiled
    out[:] = 0.0
    thread = threading.Thread(target=handle.batch, args=(q, out))
    thread.start()
    unfinished = 0
    while thread.is_alive():
        # With the lock kept all of the batch would be seen done at once.
        unfinished += bool(np.any(out[8])) and not np.any(out[-1])
        time.sleep(1e-4)
    assert unfinished
