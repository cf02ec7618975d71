"""Forward dynamics: what rounding costs it, and which joints and bases it moves."""
import contextlib
from dataclasses import replace
import warnings

from cases import case_of
import numpy as np
import pytest
from random_robots import random_mapping, random_robot
from virtual_power import VirtualPower

import hodyn_ros as hd
from hodyn_ros.dynamics.hybrid_dynamics import MAX_ROUND_OFF


def with_light_end(rng, scale, serial):
    """Return a robot whose last body weighs next to nothing, its centre of mass on its axis."""
    mapping = random_mapping(rng, 4, kinds=('revolute',), serial=serial)
    last = mapping['bodies'][-1]
    last['mass'] = 1e-3
    last['com'] = last['point'] + 0.01 * last['axis']
    last['inertia'] = scale * np.eye(3)
    return hd.load_robot(mapping)


@pytest.mark.parametrize('serial', [True, False])
@pytest.mark.parametrize('seed', range(2))
@pytest.mark.parametrize('scale', 10.0 ** np.arange(-18.0, -3.0, 3.0))
def test_what_is_wrong_by_more_than_the_bound_is_warned_of(scale, seed, serial):
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        robot = with_light_end(rng, scale, serial)
    motion = rng.uniform(-1.0, 1.0, (3, robot.n))
    torque = np.array(VirtualPower(robot, motion).derivatives()[0], dtype=float)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter('always')
        found = motion[2]
        # What is lost altogether is refused.
        with contextlib.suppress(*[hd.HodynError] if scale < 1e-12 else []):
            found = hd.forward_dynamics(robot, motion[:2], torque[np.newaxis])[0]
    error = np.abs(found - motion[2])
    # The torque itself is rounded as well.
    if error.max() > 10.0 * MAX_ROUND_OFF:
        [warning] = caught
        assert repr(robot.joint_names[int(error.argmax())]) in str(warning.message)
    if scale >= 1e-6:
        assert not caught


@pytest.mark.parametrize('seed', range(20))
def test_a_joint_that_nothing_resists_is_named(seed):
    robot = random_robot(np.random.default_rng(seed), 3, kinds=('revolute',))
    last = replace(robot.bodies[2], inertia=np.zeros((3, 3)), com=robot.bodies[2].point)
    robot = replace(robot, bodies=(*robot.bodies[:2], last))
    with pytest.raises(hd.HodynError, match=r"mass matrix.*joint 'joint2'"):
        hd.forward_dynamics(robot, np.zeros((2, 3)), np.zeros((1, 3)))
    # Moved by its drive, it needs no torque.
    found = hd.hybrid_dynamics(robot, np.zeros((2, 3)), np.ones((1, 3)), ['joint2'])
    assert abs(found[0, 2]) < 1e-10


def test_the_task_space_dynamics_of_a_robot_without_mass_at_its_end():
    robot = random_robot(np.random.default_rng(1), 7, kinds=('revolute',))
    last = replace(robot.bodies[6], mass=0.0, inertia=np.zeros((3, 3)))
    robot = replace(robot, bodies=(*robot.bodies[:6], last))
    with pytest.raises(hd.HodynError, match="mass matrix of robot 'random' is not positive"):
        hd.task_space_dynamics(robot, np.zeros((2, 7)), last.name)


def test_no_base_wrench_is_a_free_base():
    case = case_of(np.random.default_rng(0), hd.load_robot('aerial_manipulator'), 1, 3)
    for found, right in zip(*(
            case.of(hd.forward_dynamics, case.q[:, 2:], first=2, **wrench)
            for wrench in ({}, {'base_wrench': np.zeros((3, 2, 6))})), strict=True):
        np.testing.assert_array_equal(found, right)


def test_moved_joints_may_be_any_iterable(panda):
    state, given, names = np.zeros((2, 7)), np.ones((1, 7)), panda.joint_names[:3]
    np.testing.assert_array_equal(
        hd.hybrid_dynamics(panda, state, given, (name for name in names)),
        hd.hybrid_dynamics(panda, state, given, names))
