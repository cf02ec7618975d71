"""The least-squares solve behind the global spline, against 60 digits."""
from mpmath import lu_solve, matrix, mp, mpf
import numpy as np
import pytest

from hodyn_ros.reference.pieces import ENDS
from hodyn_ros.reference.spline import smoothest_knots


def exact_knots(times, fixed, knots):
    """Solve the normal equations of one joint at 60 digits; return (m + 1, 5)."""
    with mp.workdps(60):
        count = len(times)
        places = [(i, k) for i in range(count) for k in range(5) if not fixed[i, k]]
        index = {place: p for p, place in enumerate(places)}
        hessian, right = matrix(len(places), len(places)), matrix(len(places), 1)
        legendre = matrix(ENDS.tolist())
        for r, k in np.ndindex(5, 10):
            # Entries are integers times sqrt(2 r + 1).
            root = mp.sqrt(2 * r + 1)
            legendre[r, k] = root * mp.nint(legendre[r, k] / root)
        for i in range(count - 1):
            h = mpf(times[i + 1]) - mpf(times[i])
            ends = [(i, k) for k in range(5)] + [(i + 1, k) for k in range(5)]
            for r in range(5):
                row = [legendre[r, c] * h ** (k - mpf(9) / 2) for c, (_, k) in enumerate(ends)]
                known = sum(
                    row[c] * mpf(knots[place]) for c, place in enumerate(ends) if fixed[place])
                for a, one in enumerate(ends):
                    if one in index:
                        right[index[one]] -= row[a] * known
                        for b, other in enumerate(ends):
                            if other in index:
                                hessian[index[one], index[other]] += row[a] * row[b]
        solution = lu_solve(hessian, right)
        result = np.array(knots)
        for place, p in index.items():
            result[place] = float(solution[p])
        return result


@pytest.mark.parametrize('given', [1, 2, 3])
@pytest.mark.parametrize('ratio', [3, 100, 1e4])
def test_knots_equal_those_of_60_digits(given, ratio):
    rng = np.random.default_rng(int(ratio) + given)
    for _ in range(3):
        spacings = 1e-3 * ratio ** rng.permutation(np.linspace(0.0, 1.0, 5))
        times = np.concatenate(([0.0], np.cumsum(spacings)))
        knots = np.zeros((6, 5))
        knots[:, :given] = rng.normal(size=(6, given))
        fixed = np.zeros((6, 5), dtype=bool)
        fixed[:, :given] = True
        fixed[[0, -1]] = True
        expected = exact_knots(times, fixed, knots)
        found = knots[:, :, None].copy()
        smoothest_knots(times, fixed, np.empty((6, 0, 5)), np.empty((6, 0, 1)), found)
        # In each knot's own unit of time: the shorter of its neighbouring spacings.
        unit = np.minimum(np.append(np.inf, spacings), np.append(spacings, np.inf))
        scale = unit[:, None] ** np.arange(5)
        error = np.abs(found[:, :, 0] - expected) * scale
        assert error.max() <= 1e-10 * np.abs(expected * scale).max()
