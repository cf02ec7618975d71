from hypothesis import given, settings
from hypothesis import strategies as st
import mpmath as mp
import numpy as np
from random_robots import assert_close

import hodyn_ros as hd

ARM = hd.load_robot('panda')


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    exponents=st.lists(st.floats(-12, 12), min_size=7, max_size=7),
    seed=st.integers(0, 2**32 - 1))
def test_whole_turns_change_nothing(exponents, seed):
    """Angles log-uniform up to 1e12 rad, against their exact remainders."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(5, 7))
    q[0] = 10.0 ** np.array(exponents) * rng.choice([-1.0, 1.0], size=7)
    reduced = q.copy()
    with mp.workdps(60):
        reduced[0] = [float(mp.fmod(mp.mpf(float(x)), 2 * mp.pi)) for x in q[0]]
    for formulation in ('spatial', 'body_fixed', 'closed_form'):
        assert_close(
            hd.inverse_dynamics(ARM, q, formulation=formulation),
            hd.inverse_dynamics(ARM, reduced, formulation=formulation), 1e-13)
