"""Handles, which prepare an algorithm for loops: the functions' numbers, copies and refusals."""
import copy
import pickle

from cases import case_of, random_case
import numpy as np
from processes import in_threads
import pytest
from random_robots import assert_close, random_robot

import hodyn_ros as hd
from hodyn_ros.robot import lie

FAST = ('spatial', 'body_fixed')
ARM, FLYER = hd.load_robot('panda'), hd.load_robot('aerial_manipulator')
COUPLED = random_case(3, 8, 1, serial=False, coupled=True).robot


def zeros(*shape):
    return np.zeros(shape)


@pytest.mark.parametrize('name', ['panda', 'twolink', 'aerial_manipulator'])
@pytest.mark.parametrize('order', [0, 1, 4])
def test_forward_dynamics_are_those_of_the_function(name, order):
    case = case_of(np.random.default_rng(order), hd.load_robot(name), order)
    robot, q, tau = case.robot, case.q[:2], case.q[2:]
    out, base = np.empty((order + 1, robot.n)), np.empty((order + 1, 6))
    handle = hd.ForwardDynamics(robot, order)
    if not robot.floating:
        handle(q, tau, out)
        assert np.array_equal(out, hd.forward_dynamics(robot, q, tau))
        return
    pose, (twist, wrench) = np.eye(4), np.split(case.base['base_twist'], [1])
    handle(q, tau, out, pose, twist, wrench, base)
    expected = hd.forward_dynamics(
        robot, q, tau, base_pose=pose, base_twist=twist, base_wrench=wrench)
    assert np.array_equal(out, expected[0])
    assert np.array_equal(base, expected[1])


@pytest.mark.parametrize('distance', [1e3, 5e6])
def test_a_base_far_from_the_origin_costs_forward_dynamics_few_digits(distance):
    rng = np.random.default_rng(2)
    q, tau = rng.normal(size=(2, 6)), rng.normal(size=(3, 6))
    twist, wrench, shift = rng.normal(size=(1, 6)), rng.normal(size=(3, 6)), np.eye(4)
    shift[:3, 3] = distance, -0.3 * distance, 400.0
    handle, found = hd.ForwardDynamics(FLYER, 2), []
    for pose in (np.eye(4), shift):
        there, back = lie.adjoint(pose), lie.adjoint(lie.inverse(pose))
        out, base = np.empty((2, 3, 6))
        handle(q, tau, out, pose, twist @ there.T, wrench @ back, base)
        found.append((out, base @ back.T))
    for near, far in zip(*found, strict=True):
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-14 * distance * np.abs(near).max())


@pytest.mark.parametrize('distance', [1e3, 5e6])
def test_a_far_base_of_coupled_joints_costs_forward_dynamics_few_digits(distance):
    rng = np.random.default_rng(4)
    robot = random_robot(rng, 7, floating=True, serial=False, coupled=True)
    q, tau = rng.normal(size=(2, robot.n)), rng.normal(size=(3, robot.n))
    twist, wrench, shift = rng.normal(size=(1, 6)), rng.normal(size=(3, 6)), np.eye(4)
    shift[:3, 3] = distance, -0.3 * distance, 400.0
    found = []
    for pose in (np.eye(4), shift):
        there, back = lie.adjoint(pose), lie.adjoint(lie.inverse(pose))
        out, base = hd.forward_dynamics(
            robot, q, tau, base_pose=pose, base_twist=twist @ there.T, base_wrench=wrench @ back)
        found.append((out, base @ back.T))
    for near, far in zip(*found, strict=True):
        np.testing.assert_allclose(far, near, rtol=0, atol=1e-13 * distance * np.abs(near).max())


@pytest.mark.parametrize('formulation', FAST)
def test_a_handle_may_be_pickled_and_copied(formulation):
    q = np.random.default_rng(1).normal(size=(5, 7))
    handle = hd.InverseDynamics(ARM, 2, formulation)
    out, again = np.empty((2, 3, 7))
    handle(q, out)
    assert (handle.robot, handle.order, handle.formulation) == (ARM, 2, formulation)
    for twin in (pickle.loads(pickle.dumps(handle)), copy.deepcopy(handle)):
        twin(q, again)
        np.testing.assert_array_equal(again, out)


@pytest.mark.parametrize(('robot', 'order'), [(ARM, 0), (ARM, 1), (ARM, 2), (COUPLED, 1)])
def test_derivatives_are_those_of_the_function_also_once_pickled(robot, order):
    handle = pickle.loads(pickle.dumps(hd.InverseDynamicsDerivatives(robot, order)))
    q = np.random.default_rng(order).normal(size=(order + 3, robot.n))
    found = hd.inverse_dynamics_derivatives(robot, q)
    out, many = np.full_like(found, np.nan), np.full((1, *found.shape), np.nan)
    handle(q, out)
    # Code that is compiled in another process may fuse other multiplications and additions.
    np.testing.assert_allclose(out, found, rtol=0.0, atol=1e-14 * np.abs(found).max())
    handle.batch(q[np.newaxis], many)
    np.testing.assert_array_equal(found, many[0])


def test_a_handle_of_coupled_joints_may_be_pickled_and_shared_by_threads():
    handle = pickle.loads(pickle.dumps(hd.InverseDynamics(COUPLED)))
    q = np.random.default_rng(8).normal(size=(200, 5, COUPLED.n))
    expected, found = hd.inverse_dynamics(COUPLED, q), np.zeros((200, 3, COUPLED.n))

    def compute(part):
        for t in part:
            handle(q[t], found[t])

    in_threads(compute, (range(i, 200, 4) for i in range(4)))
    assert_close(found.swapaxes(0, 1), expected.swapaxes(0, 1), 1e-11)


WRONG = [
    *((hd.InverseDynamics(ARM, order, formulation).floating_batch,
       [zeros(1, order + 3, 7), np.eye(4)[None], zeros(1, order + 2, 6), zeros(1, order + 1, 7),
        zeros(1, order + 1, 6)], hd.HodynError, "'panda' has a fixed base: use batch")
      for formulation in FAST for order in (1, 2)),
    *((call, [zeros(*batch, order + 3, 6), zeros(*batch, order + 1, 6)], hd.HodynError,
       "'aerial_manipulator'.*floating_batch")
      for formulation in FAST for order in (1, 2)
      for handle in [hd.InverseDynamics(FLYER, order, formulation)]
      for call, batch in ((handle, ()), (handle.batch, (2,)))),
    *((hd.InverseDynamics(COUPLED), [zeros(*shape), zeros(3, COUPLED.n)], ValueError, 'q')
      for shape in ((5, COUPLED.n - 1), (4, COUPLED.n), (5, len(COUPLED.bodies)))),
    (hd.InverseDynamics(COUPLED), [zeros(5, COUPLED.n).tolist(), zeros(3, COUPLED.n)],
     TypeError, 'q must be a writeable'),
    (hd.ForwardDynamics(ARM, 1), [zeros(2, 7), zeros(1, 7), zeros(2, 7)], hd.HodynError, 'tau'),
    (hd.ForwardDynamics(ARM, 1), [zeros(2, 7), zeros(2, 7), np.zeros((2, 7), np.float32)],
     TypeError, 'out'),
    (hd.ForwardDynamics(FLYER), [zeros(2, 6), zeros(1, 6), zeros(1, 6)], hd.HodynError,
     'base_pose'),
    (hd.InverseDynamicsDerivatives(ARM, 0), [zeros(4, 7), zeros(2, 4, 7, 7)], ValueError,
     'with r the order'),
    (hd.InverseDynamicsDerivatives(ARM, 0), [np.zeros((3, 7), np.float32), zeros(1, 3, 7, 7)],
     TypeError, 'float64'),
    (hd.InverseDynamicsDerivatives(ARM, 0).floating_batch, [zeros(1, 1)] * 4, hd.HodynError,
     'fixed base: use batch'),
    *((call, [zeros(1, 3, 6), zeros(1, 1, 3, 6, 6)], hd.HodynError,
       'floating base: use floating_batch') for handle in [hd.InverseDynamicsDerivatives(FLYER, 0)]
      for call in (handle, handle.batch)),
]


@pytest.mark.parametrize(('call', 'arrays', 'error', 'words'), WRONG, ids=(
    lambda value: value if isinstance(value, str) else ''))
def test_other_orders_bases_and_arrays_are_refused(call, arrays, error, words):
    with pytest.raises(error, match=words):
        call(*arrays)


@pytest.mark.parametrize(('q', 'count', 'error', 'words'), [
    (zeros(40, 5, 7), 39, hd.HodynError, 'out has shape'),
    (np.zeros((40, 5, 7), np.float32), 40, TypeError, 'float64')])
def test_a_wrong_array_is_refused_in_threads_too(q, count, error, words):
    with pytest.raises(error, match=words):
        hd.InverseDynamics(ARM).batch(q, zeros(count, 3, 7), threads=2)
