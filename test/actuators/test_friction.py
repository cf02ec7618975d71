"""The smooth friction law and its rates along a motion, to 50 digits."""
from laws_and_motions import Wave
import mpmath as mp
import numpy as np
import pytest

from hodyn_ros.actuators import SigmoidFriction
from hodyn_ros.robot import HodynError

mp.mp.dps = 50
A = np.array([0.54615, 0.30301, 1.2794])
S = np.array([0.039533, -0.021047, 0.036194])
VISCOUS = np.array([0.0, 1.5, 0.4])
ALPHA = np.array([5.1181, 17.133, 5.5903])


def test_torque_and_its_rates_are_the_derivatives_of_the_law():
    friction = SigmoidFriction(A, ALPHA, S, VISCOUS)
    waves = [Wave(i, 0.4) for i in range(3)]
    times = np.array([0.1, 0.9, 2.3])
    q = np.stack([wave.derivatives(times, 4) for wave in waves], axis=2)
    torque = friction.torque(q)
    for joint, wave in enumerate(waves):
        a, s, alpha, d = (mp.mpf(float(v[joint])) for v in (A, S, ALPHA, VISCOUS))

        def law(t, wave=wave, a=a, s=s, alpha=alpha, d=d):
            rate = mp.diff(wave.exact, t)
            return a / (1 + mp.exp(-alpha * (rate + s))) - a / (
                1 + mp.exp(-alpha * s)) + d * rate

        for k, t in enumerate(times):
            for order in range(3):
                exact = float(mp.diff(law, t, order))
                assert abs(torque[k, order, joint] - exact) < 1e-10 * max(1.0, abs(exact))


def test_there_is_none_at_rest_and_no_overflow_at_any_speed():
    friction = SigmoidFriction(A, ALPHA, S)
    assert not friction.torque(np.zeros((5, 3))).any()
    q = np.zeros((5, 3))
    q[1] = [1e5, -1e5, 1e200]
    torque = friction.torque(q)
    assert np.all(np.isfinite(torque))
    limit = A / (1 + np.exp(ALPHA * S))
    assert np.allclose(torque[0, [0, 2]], limit[[0, 2]])
    assert np.allclose(torque[0, 1], limit[1] - A[1])


@pytest.mark.parametrize('wrong', [np.nan, np.inf])
@pytest.mark.parametrize('place', range(4))
def test_what_is_not_finite_is_named(place, wrong):
    given = [A, ALPHA, S, VISCOUS]
    given[place] = np.array([0.1, wrong, 0.2])
    name = ('amplitude', 'slope', 'velocity_offset', 'viscous')[place]
    with pytest.raises(HodynError, match=f'^{name} must be finite'):
        SigmoidFriction(*given)
