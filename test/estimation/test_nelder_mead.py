import numpy as np
import pytest
from scipy.optimize import minimize

from hodyn_ros.estimation.nelder_mead import minimise


def rosenbrock(x):
    return float(np.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1.0 - x[:-1]) ** 2))


def steps(x):
    """Return what has edges: corners are shrunk there."""
    return float(np.sum(np.floor(5.0 * np.abs(x - 0.3))) + np.sum(np.abs(x)))


@pytest.mark.parametrize('cost', [rosenbrock, steps])
@pytest.mark.parametrize('evaluations', [3, *range(17, 30), 60, 240, 2000])
@pytest.mark.parametrize('n', [2, 3, 4])
def test_finds_the_same_numbers_as_scipy(cost, evaluations, n):
    for seed in range(5):
        simplex = np.random.default_rng(seed).uniform(-2.0, 2.0, (n + 1, n))
        found = minimise(
            cost, simplex, x_tolerance=1e-3, cost_tolerance=1e-3, max_evaluations=evaluations)
        expected = minimize(cost, simplex[0], method='Nelder-Mead', options={
            'initial_simplex': simplex, 'xatol': 1e-3, 'fatol': 1e-3, 'maxfev': evaluations}).x
        np.testing.assert_array_equal(found, expected)
