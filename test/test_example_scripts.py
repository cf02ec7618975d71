"""The scripts in examples/ run, and what they print is so."""
from pathlib import Path
import re
import runpy

import numpy as np
import pytest

EXAMPLES = Path(__file__).parents[1] / 'examples'


@pytest.fixture(scope='module')
def jtc():
    return runpy.run_path(str(EXAMPLES / 'jtc_feedforward.py'))


def test_jtc_goes_through_polynomials_of_degree_5_and_lines(jtc):
    rng = np.random.default_rng(1)
    c = rng.uniform(-1.0, 1.0, (6, 3))
    times, instants = np.array([0.0, 0.3, 0.7, 1.5]), np.linspace(0.0, 1.5, 101)

    def motion(t):
        polynomials = [np.polynomial.Polynomial(column) for column in c.T]
        return np.stack([
            np.column_stack([p.deriv(k)(t) for p in polynomials]) for k in range(3)], axis=1)

    found = jtc['jtc_positions'](times, motion(times), instants)
    np.testing.assert_allclose(found, motion(instants)[:, 0], atol=1e-13)
    lines = jtc['jtc_efforts'](times, np.outer(times, [1.0, -2.0]), instants)
    np.testing.assert_allclose(lines, np.outer(instants, [1.0, -2.0]), atol=1e-15)


@pytest.mark.slow
def test_jtc_feedforward_runs_and_its_errors_are_within_what_the_curvature_allows(
        jtc, tmp_path, capsys):
    jtc['main'](str(tmp_path / 'figure.png'))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith('samples')]
    assert len(lines) == 3
    for line in lines:
        found = re.search(r'up to ([\d.e-]+) .*\|Q̈\|: ([\d.e-]+)\)', line)
        error, bound = map(float, found.groups())
        assert 0.5 * bound < error <= 1.01 * bound  # as printed
    assert (tmp_path / 'figure.png').stat().st_size > 10_000
