import math

from hypothesis import given
from hypothesis import strategies as st
import numpy as np
import pytest

import hodyn_ros as hd
from hodyn_ros.limits.velocity_bounds import velocity_bounds_of

FR3 = hd.load_robot('fr3')
# Of libfranka's robot_model for the FR3: constant limit, deceleration (half of the factor under
# its root), offset, and the ends that it stops before.
FR3_JOINT_1 = {'limit': 2.62, 'factor': 12.0, 'offset': 0.30, 'end': 2.75010}
finite = st.floats(-10.0, 10.0)
laws = st.tuples(
    st.floats(0.0, 10.0), finite, finite, st.floats(0.0, 50.0) | st.just(math.inf),
    st.floats(0.0, 2.0))


def bounds(position, law):
    out = np.empty((2, 2, len(position)))
    velocity_bounds_of(np.array([position, position]), np.array(law).T.copy(), out)
    np.testing.assert_array_equal(*out)
    return out[1]


@pytest.mark.parametrize('position', [-3.0, 0.0, 2.2, 2.6, 2.7, 2.744, 2.75, 2.9])
def test_towards_the_upper_end_it_is_the_law_of_libfranka(position):
    left = max(0.0, FR3_JOINT_1['end'] - position)
    stopping = math.sqrt(FR3_JOINT_1['factor'] * left) - FR3_JOINT_1['offset']
    expected = min(FR3_JOINT_1['limit'], max(0.0, stopping))
    q = np.zeros((1, 7))
    q[0, 0] = position
    assert FR3.limits.velocity_range(q)[1][0, 0] == pytest.approx(expected, rel=1e-12)


@given(st.lists(st.tuples(finite, laws), min_size=1, max_size=5))
def test_the_range_holds_rest_and_never_passes_the_constant_limit(joints):
    lower, upper = bounds([q for q, _ in joints], [law for _, law in joints])
    constant = np.array([law[0] for _, law in joints])
    assert np.all((-constant <= lower) & (lower <= 0.0) & (upper >= 0.0) & (upper <= constant))


@given(laws, finite, finite)
def test_nearer_to_an_end_the_speed_towards_it_is_no_larger(law, one, other):
    low, high = sorted((one, other))
    assert bounds([high], [law])[1] <= bounds([low], [law])[1]
    assert bounds([low], [law])[0] >= bounds([high], [law])[0]


@given(laws, finite)
def test_mirrored_it_is_the_same(law, position):
    constant, low, high, deceleration, offset = law
    here = bounds([position], [law])
    there = bounds([-position], [(constant, -high, -low, deceleration, offset)])
    assert np.array_equal(here, -there[::-1])


def test_without_a_deceleration_the_constant_limit_is_all():
    panda = hd.load_robot('panda').limits
    q = np.full((3, 7), 100.0)
    assert np.array_equal(panda.velocity_range(q)[1], np.tile(panda.velocity, (3, 1)))
    assert np.isinf(panda.stopping_range(q)[1]).all()
