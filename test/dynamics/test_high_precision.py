"""Against an independent computation from poses alone, with more than a hundred digits."""
from dataclasses import replace

from cases import random_case
from hypothesis import given, settings
from hypothesis import strategies as st
import mpmath as mp
import numpy as np
import pytest
from random_robots import assert_close
from virtual_power import VirtualPower

import hodyn_ros as hd

FORMULATIONS = ('spatial', 'body_fixed', 'closed_form')


@pytest.mark.parametrize(('floating', 'serial', 'seed'), [
    (False, True, 1), (False, False, 2), (True, False, 3), (True, True, 4)])
def test_second_order_of_all_joint_types(floating, serial, seed):
    case = random_case(seed, 5, 2, floating=floating, serial=serial)
    base = tuple(case.base.values()) or None
    expected = VirtualPower(case.robot, case.q, base, case.wrenches).derivatives()
    for formulation in FORMULATIONS[:2 if floating else 3]:
        assert_close(case.efforts(formulation=formulation), expected, 1e-13)


@pytest.mark.parametrize('scale', 10.0 ** np.arange(-12, 6, 3))
def test_small_and_large_positions(scale):
    case = replace(random_case(7, 3, 2, kinds=('revolute', 'helical')), wrenches=None)
    case.q[0] = scale * np.random.default_rng(7).uniform(0.1, 1.0, 3)
    expected = VirtualPower(case.robot, case.q).derivatives()
    # A helical joint far along its axis: the levers grow with q, and their rounding with them.
    tolerance = 1e-13 * max(1.0, scale)
    for formulation in FORMULATIONS:
        assert_close(case.efforts(formulation=formulation), expected, tolerance)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    exponents=st.lists(st.floats(-12, 12), min_size=7, max_size=7),
    seed=st.integers(0, 2**32 - 1))
def test_whole_turns_change_nothing(panda, exponents, seed):
    """Angles log-uniform up to 1e12 rad, against their exact remainders."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(5, 7))
    q[0] = 10.0 ** np.array(exponents) * rng.choice([-1.0, 1.0], size=7)
    reduced = q.copy()
    with mp.workdps(60):
        reduced[0] = [float(mp.fmod(mp.mpf(float(x)), 2 * mp.pi)) for x in q[0]]
    for formulation in FORMULATIONS:
        assert_close(
            hd.inverse_dynamics(panda, q, formulation=formulation),
            hd.inverse_dynamics(panda, reduced, formulation=formulation), 1e-13)
