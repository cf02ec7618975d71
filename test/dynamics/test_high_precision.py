"""Against an independent computation from poses alone, with more than a hundred digits."""
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

ORDER = 2


def _efforts(robot, q, formulation, base, wrenches):
    if base is None:
        return hd.inverse_dynamics(
            robot, q, formulation=formulation, external_wrenches=wrenches)
    torque, wrench = hd.inverse_dynamics(
        robot, q, formulation=formulation, base_pose=base[0], base_twist=base[1],
        external_wrenches=wrenches)
    return np.hstack([wrench, torque])


@pytest.mark.parametrize(('floating', 'serial', 'seed'), [
    (False, True, 1), (False, False, 2), (True, False, 3), (True, True, 4)])
def test_second_order_of_all_joint_types(floating, serial, seed):
    rng = np.random.default_rng(seed)
    robot = random_robot(rng, 5, floating=floating, serial=serial)
    q = random_motion(rng, robot, ORDER)
    base = random_base_motion(rng, ORDER) if floating else None
    wrenches = random_wrenches(rng, robot, ORDER)
    expected = VirtualPower(robot, q, base, wrenches).derivatives()
    for formulation in ('spatial', 'body_fixed') if floating else (
            'spatial', 'body_fixed', 'closed_form'):
        assert_close(_efforts(robot, q, formulation, base, wrenches), expected, 1e-13)


@pytest.mark.parametrize('scale', 10.0 ** np.arange(-12, 6, 3))
def test_small_and_large_positions(scale):
    rng = np.random.default_rng(7)
    robot = random_robot(rng, 3, kinds=('revolute', 'helical'), serial=True)
    q = random_motion(rng, robot, ORDER)
    q[0] = scale * rng.uniform(0.1, 1.0, robot.n)
    expected = VirtualPower(robot, q).derivatives()
    # A helical joint far along its axis: the levers grow with q, and their rounding with them.
    tolerance = 1e-13 * max(1.0, scale)
    for formulation in ('spatial', 'body_fixed', 'closed_form'):
        assert_close(_efforts(robot, q, formulation, None, None), expected, tolerance)
