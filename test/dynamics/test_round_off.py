"""Where rounding costs forward dynamics its digits, it says so."""
import contextlib
import warnings

import numpy as np
import pytest
from random_robots import random_mapping
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
