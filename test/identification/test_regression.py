"""The robust fit with prior knowledge, of plain problems whose answers are known: fast."""
from types import SimpleNamespace

import numpy as np
import pytest

from hodyn_ros import load_robot
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.regression import NORMAL_90, fit, solve_linear
from hodyn_ros.identification.terms import Terms


class Line:
    """Efforts of one joint that are linear in parameters; the kinds are links, gains, others."""

    def __init__(self, columns, effort, *, block=None, links=0, prior=np.inf, terms=()):
        count, size = columns.shape
        self.columns, self.robot, self.terms = columns, SimpleNamespace(n=1), frozenset(terms)
        self.data = SimpleNamespace(
            q=np.zeros((count, 5, 1)), effort=effort[:, None],
            block=np.arange(count) if block is None else block)
        self.known = np.isfinite(self.data.effort)
        self.free = np.ones(size, bool)
        self.considered, self.curved = np.zeros((2, size), bool)
        self.start = np.zeros(size)
        self.low, self.high = np.full(size, -np.inf), np.full(size, np.inf)
        self.prior = np.full(size, np.inf)
        self.prior[:links] = prior
        self.places = {'links': slice(0, links)}

    def of(self, kind, values):
        return values[self.places.get(kind, slice(0, 0))]

    def evaluate(self, theta, by=None):
        those = self.free if by is None else by
        return (self.columns @ theta)[:, None], self.columns[:, those][:, None]


def line(count=2000, noise=0.3, seed=0, **options):
    rng = np.random.default_rng(seed)
    columns = np.column_stack([np.ones(count), rng.uniform(-1.0, 1.0, count)])
    return Line(columns, columns @ [2.0, -3.0] + noise * rng.standard_normal(count), **options)


def test_a_plain_line_is_that_of_least_squares_with_its_deviations():
    model = line()
    found = fit(model, np.zeros(2))
    plain, (rest,), *_ = np.linalg.lstsq(model.columns, model.data.effort[:, 0], rcond=None)
    deviation = np.sqrt(np.diag(np.linalg.inv(model.columns.T @ model.columns)) * rest / 1998)
    np.testing.assert_allclose(found.theta, plain, atol=0.3 * deviation.max())
    np.testing.assert_allclose(found.deviation, deviation, rtol=0.1)
    # The spread is the deviation of normal errors, and samples count one by one.
    assert found.spread[0] ** -2.0 / found.design[0] == pytest.approx(0.3 ** -2.0, rel=0.15)


def test_some_large_errors_do_not_decide():
    model = line()
    clean = fit(model, np.zeros(2)).theta
    model.data.effort[::20] += 50.0
    np.testing.assert_allclose(fit(model, np.zeros(2)).theta, clean, atol=0.06)
    # Nor what is not known.
    model.data.effort[::20] = np.nan
    model.known = np.isfinite(model.data.effort)
    np.testing.assert_allclose(fit(model, np.zeros(2)).theta, clean, atol=0.03)


def test_intervals_grow_with_errors_that_neighbours_share():
    rng = np.random.default_rng(3)
    count, length = 4000, 50
    block = np.arange(count) // length
    wide, narrow = [], []
    for seed in range(40):
        model = line(count, noise=0.05, seed=seed, block=block)
        narrow.append(fit(model, np.zeros(2)).deviation[0])
        model.data.effort[:, 0] += 0.3 * rng.standard_normal(count // length)[block]
        found = fit(model, np.zeros(2))
        wide.append((found.theta[0], found.deviation[0]))
    offsets, deviations = np.array(wide).T
    assert np.mean(deviations) == pytest.approx(np.std(offsets), rel=0.35)
    assert np.mean(deviations) > 5.0 * np.mean(narrow)
    inside = np.abs(offsets - 2.0) < NORMAL_90 * deviations
    assert 0.75 < inside.mean() <= 1.0


@pytest.mark.parametrize(('bound', 'end'), [(2.5, 2.0), (1.5, 1.5)])
def test_a_bound_is_kept_and_the_others_are_the_best_beside_it(bound, end):
    model = line(noise=1e-3)
    model.high[0] = bound
    found = fit(model, np.zeros(2)).theta
    assert found[0] == pytest.approx(end, abs=1e-3)
    rest = model.data.effort[:, 0] - found[0]
    slope = model.columns[:, 1]
    assert found[1] == pytest.approx(slope @ rest / (slope @ slope), abs=0.01)


@pytest.mark.parametrize('side', ['low', 'high'])
def test_what_begins_at_a_bound_leaves_it_where_that_is_better(side):
    model = line(noise=1e-3)
    model.low[0], model.high[0] = (0.0, 9.0) if side == 'low' else (-9.0, 4.0)
    start = np.array([model.low[0] if side == 'low' else model.high[0], 0.0])
    np.testing.assert_allclose(fit(model, start).theta, [2.0, -3.0], atol=0.05)


@pytest.mark.parametrize(('terms', 'usual'), [((), 0.05), (('links',), 0.2)])
def test_where_the_data_say_nothing_links_are_known_as_well_as_is_usual(terms, usual):
    model = line(links=2, prior=1.0, terms=terms)
    model.columns = np.zeros_like(model.columns)
    found = fit(model, np.zeros(2)).levels
    # The mean of the squares of levels that are normal in their logarithms, up to 1.5.
    grid = np.geomspace(0.003, 1.5, 2001)
    weight = np.exp(-0.5 * np.log(grid / usual) ** 2)
    assert found['links'] == pytest.approx(
        np.sqrt(np.sum(weight * grid ** 2) / weight.sum()), rel=0.06)


@pytest.mark.parametrize('level', [0.02, 0.1, 0.6])
def test_how_well_links_are_known_is_found_from_how_far_they_are_off(level):
    rng = np.random.default_rng(5)
    size, count = 60, 4000
    columns = rng.standard_normal((count, size))
    off = level * rng.standard_normal(size)
    model = Line(
        columns, columns @ off + 0.01 * rng.standard_normal(count), links=size, prior=1.0,
        terms=('links',))
    found = fit(model, np.zeros(size))
    assert found.levels['links'] == pytest.approx(np.sqrt(np.mean(off ** 2)), rel=0.2)


def test_further_columns_are_solved_beside_what_was_fitted():
    model = line(noise=0.1)
    rng = np.random.default_rng(6)
    further = rng.uniform(-1.0, 1.0, (2000, 1)) + 0.5 * model.columns[:, 1:]
    model.data.effort += 0.4 * further
    found = fit(model, np.zeros(2))
    value, covariance = solve_linear(model, found, further[:, None], np.array([np.inf]))
    whole = np.column_stack([further, model.columns])
    plain = np.linalg.lstsq(whole, model.data.effort[:, 0], rcond=None)[0]
    assert value[0] == pytest.approx(plain[0], abs=1e-6)
    inverse = np.linalg.inv(whole.T @ whole)
    assert np.sqrt(covariance[0, 0]) == pytest.approx(
        found.spread[0] * np.sqrt(inverse[0, 0] * found.design[0]), rel=1e-6)


@pytest.mark.parametrize(('terms', 'each_bag'), [
    (('friction', 'viscous', 'rotor', 'gains', 'offsets'), False),
    (('links', 'payload', 'friction', 'offsets'), True), (('zeros', 'gains', 'offsets'), False)])
def test_the_derivatives_of_the_efforts_are_theirs(terms, each_bag):
    robot = load_robot('panda')
    rng = np.random.default_rng(7)
    q = 0.3 * rng.standard_normal((12, 5, 7))
    data = Data(
        q, rng.standard_normal((12, 7)), np.arange(12), bag=np.arange(12) // 6,
        loaded=np.arange(12) % 3 > 0)
    model = Terms(robot, data, terms, each_bag=each_bag)
    if 'payload' in terms:
        model.of('payload', model.free)[:] = True
    theta = model.start.copy()
    theta[model.free] += 0.05 * rng.standard_normal(np.count_nonzero(model.free))
    if 'payload' in terms:
        model.of('payload', theta)[:4] = -0.3, 0.02, 0.03, 0.05
    if 'zeros' in terms:
        model.of('zero', theta)[:] = 0.0  # linearised there
    _, derivative = model.evaluate(theta)
    columns = np.flatnonzero(model.free)
    assert derivative.shape == (12, 7, len(columns))
    scale = np.abs(derivative).max()
    for k, place in enumerate(columns):
        step = np.zeros_like(theta)
        step[place] = 1e-6
        numeric = (model.evaluate(theta + step)[0] - model.evaluate(theta - step)[0]) / 2e-6
        np.testing.assert_allclose(derivative[:, :, k], numeric, atol=1e-7 * scale)
    # Each recording has offsets of its own where that was asked for.
    assert np.count_nonzero(model.of('offset', model.free)) == 7 * (1 + each_bag)
