"""The scripts in examples/ run, and what they print is so."""
import ast
import json
from pathlib import Path
import re
import runpy

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from hodyn_ros.common import plot_style

EXAMPLES = Path(__file__).parents[1] / 'examples'
GALLERY = sorted(EXAMPLES.glob('[0-9][0-9]_*.py'))
LONG = {  # 2 s and more
    '07_from_springs_to_motors.py', '08_what_each_derivative_is_worth.py',
    '09_a_bag_against_the_model.py', '10_a_model_corrected_by_its_bag.py'}
MAX_LINES = 60


@pytest.fixture
def drawn(monkeypatch):
    """Return the figures that are drawn in a test; they go with it, and so does their style."""
    with mpl.rc_context():
        plt.switch_backend('agg')
        monkeypatch.setattr(plt, 'show', lambda: None)
        plt.close('all')
        yield lambda: [plt.figure(number) for number in plt.get_fignums()]
        plt.close('all')


def test_there_is_a_gallery():
    assert len(GALLERY) >= 12
    assert {path.name for path in GALLERY} >= LONG


@pytest.mark.parametrize('path', [
    pytest.param(path, marks=[pytest.mark.slow] if path.name in LONG else [], id=path.name)
    for path in GALLERY])
def test_an_example_of_the_gallery_runs_alone_and_draws_what_can_be_read(path, drawn, monkeypatch):
    """Anybody's first look: short, one picture, with units on its axes."""
    assert len(path.read_text('utf-8').splitlines()) < MAX_LINES
    if 'simulation' in path.read_text('utf-8'):
        pytest.importorskip('mujoco', reason='mujoco is not installed')
    monkeypatch.chdir(EXAMPLES)
    runpy.run_path(path.name)
    figure, = drawn()
    figure.canvas.draw()
    labels = [text for axis in figure.axes for text in (axis.get_xlabel(), axis.get_ylabel())]
    assert any(re.search(r'\(.+\)', label) for label in labels), labels
    for axis in figure.axes:
        assert axis.has_data() or not axis.axison
        for line in axis.lines:
            assert np.isfinite(line.get_ydata()).any()


def test_the_notebook_has_the_code_of_its_example():
    """`sphinx_gallery_py2jupyter examples/07_from_springs_to_motors.py` writes it."""
    notebook, = EXAMPLES.glob('*.ipynb')
    cells = json.loads(notebook.read_text('utf-8'))['cells']
    code = ast.parse('\n'.join(
        ''.join(cell['source']) for cell in cells if cell['cell_type'] == 'code'))
    script = ast.parse(notebook.with_suffix('.py').read_text('utf-8'))
    assert ast.dump(code) == ast.dump(ast.Module(script.body[1:], []))


def lightness(color):
    """Return the relative luminance of a colour, as a grey print has it."""
    rgb = np.array(mpl.colors.to_rgb(color))
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4) @ (
        0.2126, 0.7152, 0.0722)


def test_curves_are_told_apart_without_colours():
    """In print, and by the colour-blind: two curves differ in lightness, or in their dashes."""
    looks = [(lightness(one['color']), str(one['linestyle'])) for one in
             plot_style.STYLE['axes.prop_cycle']]
    assert len(looks) == 16
    for i, (light, dashes) in enumerate(looks):
        for other, others in looks[:i]:
            assert dashes != others or abs(light - other) > 0.08
    assert abs(lightness(plot_style.COMPUTED) - lightness(plot_style.RECORDED)) > 0.08
    assert abs(lightness(plot_style.LIMIT) - lightness(plot_style.COMPUTED)) > 0.08


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
def test_jtc_feedforward_runs_with_errors_within_the_bound_by_curvature(
        jtc, tmp_path, capsys):
    jtc['main'](str(tmp_path / 'figure.png'))
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith('samples')]
    assert len(lines) == 3
    for line in lines:
        found = re.search(r'up to ([\d.e-]+) .*\|Q̈\|: ([\d.e-]+)\)', line)
        error, bound = map(float, found.groups())
        assert 0.5 * bound < error <= 1.01 * bound  # as printed
    assert (tmp_path / 'figure.png').stat().st_size > 10_000
