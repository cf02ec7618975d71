"""Batches in several threads, and several threads at one handle."""
import sys
import threading
import time

from numba.core import config
import numpy as np
from processes import in_threads
import pytest

from hodyn_ros import HodynError, InverseDynamics, inverse_dynamics, load_robot

FORMULATIONS = ('spatial', 'body_fixed')


def _motions(robot, count, order=2, seed=0):
    return np.random.default_rng(seed).normal(size=(count, order + 3, robot.n))


@pytest.mark.parametrize('formulation', [*FORMULATIONS, 'closed_form'])
@pytest.mark.parametrize('count', [0, 1, 7, 8, 41])
def test_any_number_of_threads_gives_the_same_bits(formulation, count):
    # Angles so large that their eight motions take another sine: who is beside whom matters.
    robot = load_robot('panda')
    handle, q = InverseDynamics(robot, 2, formulation), _motions(robot, count)
    q[::5, 0] *= 1e6
    alone = np.empty((count, 3, robot.n))
    handle.batch(q, alone)
    for threads in (2, 3, 50):
        out = np.full_like(alone, np.nan)
        handle.batch(q, out, threads=threads)
        np.testing.assert_array_equal(out, alone)


def test_threads_share_a_batch_with_wrenches_and_of_other_orders():
    robot = load_robot('panda')
    q = _motions(robot, 50, order=3)
    wrenches = np.random.default_rng(1).normal(size=(50, 4, 7, 6))
    np.testing.assert_array_equal(
        inverse_dynamics(robot, q, external_wrenches=wrenches, threads=4),
        inverse_dynamics(robot, q, external_wrenches=wrenches))


@pytest.mark.parametrize('order', [1, 2])
def test_threads_share_a_batch_on_a_floating_base(order):
    robot, rng = load_robot('aerial_manipulator'), np.random.default_rng(2)
    q, pose = _motions(robot, 50, order), np.tile(np.eye(4), (50, 1, 1))
    pose[:, :3, 3] = rng.normal(size=(50, 3))
    twist = rng.normal(size=(50, order + 2, 6))
    for alone, shared in zip(*(
            inverse_dynamics(robot, q, base_pose=pose, base_twist=twist, threads=threads)
            for threads in (1, 4)), strict=True):
        np.testing.assert_array_equal(shared, alone)


@pytest.mark.parametrize('threads', [0, -1, 1.5, True, '2', None])
def test_what_is_no_number_of_threads_is_refused(threads):
    robot = load_robot('panda')
    for q in (_motions(robot, 1)[0], _motions(robot, 9)):
        with pytest.raises(HodynError, match='threads must be an integer of at least 1'):
            inverse_dynamics(robot, q, threads=threads)


def test_a_wrong_array_is_refused_in_threads_too():
    robot = load_robot('panda')
    handle, q = InverseDynamics(robot), _motions(robot, 40)
    with pytest.raises(HodynError, match='out has shape'):
        handle.batch(q, np.empty((39, 3, robot.n)), threads=2)
    with pytest.raises(TypeError, match='float64'):
        handle.batch(q.astype(np.float32), np.empty((40, 3, robot.n)), threads=2)


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
