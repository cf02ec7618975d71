"""What fades: the weight, and outputs that go from one to the other, with their derivatives."""
import numpy as np
import pytest

from hodyn_ros.feedforward.blending import MeasurementWeight, Ramp

S = 10**9


def test_a_blend_is_its_own_derivative_between_two_motions():
    """Guards the terms of the second derivative, the factor 2 among them."""
    ramp, h = Ramp(S, 0.8), 10**5

    def polynomial(t, a, b, c):
        return np.array([[a + b * t + c * t * t], [b + 2 * c * t], [2 * c]])

    def blended(now):
        out, t = np.empty((3, 1)), now * 1e-9
        ramp.blend(now, polynomial(t, 1.0, -2.0, 3.0), polynomial(t, 0.5, 4.0, -5.0), out)
        return out[:, 0]

    for now in range(S + S // 10, S + 7 * S // 10, S // 20):
        low, middle, high = blended(now - h), blended(now), blended(now + h)
        np.testing.assert_allclose((high - low)[:2] / (2e-9 * h), middle[1:], rtol=1e-5, atol=1e-4)
    np.testing.assert_allclose(blended(S), polynomial(1.0, 1.0, -2.0, 3.0)[:, 0], atol=1e-12)
    end = S + 8 * S // 10
    np.testing.assert_allclose(blended(end), polynomial(1.8, 0.5, 4.0, -5.0)[:, 0], atol=1e-9)
    assert not ramp.done(end - 1)
    assert ramp.done(end)


def test_the_weight_of_a_measurement_goes_on_from_where_it_is():
    weight = MeasurementWeight(1.0)
    assert weight.weight(0, is_there=True) == 1.0
    assert not weight.is_changing
    assert weight.weight(S, is_there=False) == 1.0
    half = weight.weight(S + S // 2, is_there=False)
    assert half == pytest.approx(0.5)
    assert weight.is_changing
    assert weight.weight(S + S // 2, is_there=True) == half
    assert weight.weight(2 * S, is_there=True) == pytest.approx(0.75)
    assert weight.weight(3 * S, is_there=True) == 1.0
    assert not weight.is_changing
