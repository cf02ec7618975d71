"""Robust regression with priors, and intervals that allow for correlated errors.

The fit minimises the sum of two terms. One is Huber's loss of the residuals, each divided by its
joint's standard deviation; a few large errors do not dominate it. The other is half the squared
distance of the parameters from their priors, in prior standard deviations. The prior deviations of
links and gains, the levels, are estimated by the evidence of the linearised model (MacKay, Neural
Computation 1992).

Intervals come from the sandwich estimator over blocks of time, since the errors of neighbouring
samples are correlated; see `correlated_errors` for errors that last longer than such blocks. The
intervals include the errors of the priors. 'Considered' parameters are not fitted: they
keep the robot's values. But the offsets would absorb their errors, so the intervals of the offsets
include their prior uncertainty.
"""
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.identification.correlated_errors import design_effects, sums_over_blocks
from hodyn_ros.identification.terms import Terms

NORMAL_90 = 1.6449
"""Half width of an interval of 90 % in standard deviations."""

_HUBER = 2.5  # standard deviations beyond which an error counts linearly
_STEPS, _PRECISION = 60, 2e-5  # greatest number of steps; relative decrease that ends them
_DAMPING, _LESS, _MORE = 0.1, 0.2, 8.0  # first damping; its factors after a good or a bad step
_FLAT = 1e-3  # share of the damping for parameters in which the model is nearly linear
_SETTLED = 0.02  # relative change of deviations and levels below which the rounds end
_ROUNDS, _ROUGH = 5, 2  # greatest number of rounds, with and without `settle`
_LEVELS = np.geomspace(0.003, 1.5, 24)
"""Candidate levels; 1 is ±100 %."""
# Prior of each level: median, and standard deviation of the logarithm. Keys with
# 'asked' hold if the kind is among the terms to fit.
_USUAL = {
    'links asked': (0.2, 1.0), 'links': (0.05, 1.0), 'inverse_gain': (0.01, 1.0),
    'common_gain': (0.01, 1.0), 'inverse_gain asked': (0.2, 1.0)}


@dataclass(frozen=True, eq=False)
class Fit:
    """The minimum of the loss."""

    theta: Array  #: (p,): all parameters
    free: Flags  #: (p,): which of them were fitted
    uncertain: Flags  #: (p,): which of them were fitted or considered
    #: (p, p): covariance of all parameters; 0 for parameters that are not uncertain
    covariance: Array
    #: `curvature`, `precision`: (f, f) and (f,): information of the data and of the priors about
    #: the free parameters
    curvature: Array
    precision: Array
    #: `spread`, `design`: (n,): standard deviation of each joint's errors, and design effect: the
    #: number of samples that count as one
    spread: Array
    design: Array
    levels: dict[str, float]  #: Prior deviations of links and gains; 1 is ±100 %

    @property
    def deviation(self) -> Array:
        """Standard deviations of all parameters, (p,); NaN if not uncertain."""
        return self.deviation_of(np.eye(len(self.theta)))

    def deviation_of(self, rows: Array) -> Array:
        """Return deviations of values with derivatives `rows`, (c, p); NaN if not uncertain."""
        variance = np.einsum('ci,ij,cj->c', rows, self.covariance, rows)
        uncertain = (rows[:, self.uncertain] != 0.0).any(axis=1)
        return np.where(uncertain, np.sqrt(np.maximum(variance, 0.0)), np.nan)

    def uncertain_as(self, wide: 'Fit') -> 'Fit':
        """Return this fit with the uncertainty of `wide`, a fit with more free parameters.

        The covariance is that of `wide` plus the squared difference of the two fits: a parameter
        that is fixed, since it did not differ significantly from its given value, may be wrong.
        """
        change = self.theta - wide.theta
        both = np.outer(self.uncertain, self.uncertain)
        return replace(self, covariance=np.where(
            both, wide.covariance + np.outer(change, change), 0.0))


def fit(terms: Terms, theta: Array, *, settle: bool = True, like: Fit | None = None) -> Fit:
    """Fit the free parameters of terms from a start, (p,).

    Each round fits the parameters, then the deviations of the errors (`spread`, `design`), then
    the levels. Deviations and levels start from those of `like`, a fit to the same data, if given.
    Without `settle`, the levels are kept; if `like` is also given, the deviations too.
    """
    theta = np.clip(theta, terms.low, terms.high)
    if like is None:
        spread, design = _spread(terms, terms.evaluate(theta)[0]), np.ones(terms.robot.n)
        levels = {
            kind: _usual(terms, kind)[0] for kind in ('links', 'inverse_gain', 'common_gain')}
    else:
        spread, design, levels = like.spread, like.design, like.levels
    for round_ in range(_ROUNDS if settle else _ROUGH if like is None else 1):
        theta = _descend(terms, theta, spread, design, _precision(terms, levels))
        if terms.of('zero', terms.free).any():
            terms.move_to(theta)
        value, derivative = terms.evaluate(theta)
        if like is not None and not settle:
            break
        before, spread = spread, _spread(terms, value)
        design = design_effects(_cut(terms, value, spread), terms.data.block)
        former = levels
        if settle:
            levels = _best_levels(
                terms, theta, _weighed(terms, value, derivative, spread, design), levels)
        change = [np.log(spread / before), *(
            np.atleast_1d(np.log(levels[kind] / former[kind])) for kind in levels)]
        if round_ and np.all(np.abs(np.concatenate(change)) < _SETTLED):
            break
    left, slope, inside = _weighed(terms, value, derivative, spread, design)
    precision = _precision(terms, levels)
    curvature = (slope * inside[:, None]).T @ slope
    covariance = np.zeros((len(theta), len(theta)))
    covariance[np.ix_(terms.free, terms.free)] = _covariance(
        terms, left, slope, curvature, precision, design)
    if terms.considered.any():
        covariance += _of_considered(terms, theta, spread, design)
    return Fit(
        theta, terms.free.copy(), terms.free | terms.considered, covariance, curvature, precision,
        spread, design, levels)


def _usual(terms: Terms, kind: str) -> tuple[float, float]:
    asked = {'links': 'links', 'inverse_gain': 'gains'}.get(kind) in terms.terms
    return _USUAL[f'{kind} asked' if asked else kind]


def _prior(terms: Terms, levels: dict[str, float]) -> Array:
    """Return the prior standard deviations of all parameters, (p,)."""
    deviation: Array = terms.prior.copy()
    # The common error of the drives is at least as large as each drive's own.
    together = float(np.hypot(levels['inverse_gain'], levels['common_gain']))
    for kind, level in {**levels, 'common_gain': together}.items():
        terms.of(kind, deviation)[:] *= level
    return deviation


def _precision(terms: Terms, levels: dict[str, float]) -> Array:
    return np.asarray(1.0 / _prior(terms, levels)[terms.free] ** 2)


def _spread(terms: Terms, value: Array) -> Array:
    """Return a robust standard deviation of each joint's errors, (n,), from their median."""
    heard = terms.known.any(axis=0)
    error = np.abs(np.where(terms.known, terms.data.effort - value, np.nan))
    spread = np.ones(terms.robot.n)
    spread[heard] = np.maximum(1.4826 * np.nanmedian(error[:, heard], axis=0), 1e-9)
    return spread


def _cut(terms: Terms, value: Array, spread: Array) -> Array:
    """Return residuals over their standard deviations, (T, n), limited to ±`_HUBER`."""
    left = np.where(terms.known, (value - terms.data.effort) / spread, 0.0)
    return np.clip(left, -_HUBER, _HUBER)


def _weighed(
    terms: Terms, value: Array, derivative: Array, spread: Array, design: Array,
) -> tuple[Array, Array, Flags]:
    """Return weighted residuals, (T n,), their Jacobian, (T n, f), and those in Huber's bound."""
    scale = np.where(terms.known, 1.0 / (spread * np.sqrt(design)), 0.0)
    left = np.nan_to_num(value - terms.data.effort) * scale
    inside = np.abs(left) < _HUBER / np.sqrt(design)
    slope = (derivative * scale[:, :, None]).reshape(left.size, -1)
    return left.ravel(), slope, inside.ravel()


def _bound(terms: Terms, design: Array) -> Array:
    """Return the weighted residual beyond which each error counts linearly, (T n,)."""
    return np.tile(_HUBER / np.sqrt(design), len(terms.data.q))


def _huber(left: Array, bound: Array) -> float:
    error = np.abs(left)
    return float(np.where(
        error < bound, 0.5 * error ** 2, bound * (error - 0.5 * bound)).sum())


def _descend(
    terms: Terms, theta: Array, spread: Array, design: Array, precision: Array,
) -> Array:
    """Minimise within bounds, by Levenberg-Marquardt steps on the normal equations.

    General solvers, which decompose the Jacobian, would take longer: residuals are many.
    """
    free = terms.free
    if not free.any():
        return theta
    low, high, middle = terms.low[free], terms.high[free], terms.start[free]
    bound = _bound(terms, design)

    def at(own: Array) -> tuple[Array, Array, float]:
        whole = theta.copy()
        whole[free] = own
        left, slope, _ = _weighed(terms, *terms.evaluate(whole), spread, design)
        return left, slope, _huber(left, bound) + float(
            0.5 * np.sum(precision * (own - middle) ** 2))

    own = theta[free]
    left, slope, now = at(own)
    damping, share = _DAMPING, np.where(terms.curved[free], 1.0, _FLAT)
    for _ in range(_STEPS):
        weight = np.minimum(1.0, bound / np.maximum(np.abs(left), 1e-300))
        gradient = slope.T @ (weight * left) + precision * (own - middle)
        curvature = slope.T @ (slope * weight[:, None]) + np.diag(precision)
        loose = ~(((own <= low) & (gradient > 0.0)) | ((own >= high) & (gradient < 0.0)))
        diagonal = np.maximum(np.diag(curvature), 1e-12 * np.trace(curvature) + 1e-300)
        improved = False
        while not improved and damping < 1e8:
            damped = curvature + damping * np.diag(share * diagonal)
            step = np.zeros_like(own)
            step[loose] = np.linalg.solve(damped[np.ix_(loose, loose)], -gradient[loose])
            if not np.isfinite(step).all():
                raise np.linalg.LinAlgError('no finite step')
            moved = np.clip(own + step, low, high)
            new_left, new_slope, new = at(moved)
            improved = new < now
            damping *= _LESS if improved else _MORE
        if not improved:
            break
        gain, own, left, slope, now = now - new, moved, new_left, new_slope, new
        if gain < _PRECISION * now:
            break
    theta = theta.copy()
    theta[free] = own
    return theta


def _best_levels(
    terms: Terms, theta: Array, weighed: tuple[Array, Array, Flags], levels: dict[str, float],
) -> dict[str, float]:
    """Return each level as the RMS of its candidates, weighted by their evidence.

    The model is linearised at `theta`.
    """
    free = terms.free
    unsettled = [
        kind for kind in levels
        if (terms.of(kind, free) & np.isfinite(terms.of(kind, terms.prior))).any()]
    if not unsettled:
        return levels
    left, slope, inside = weighed
    slope = slope * inside[:, None]
    curvature = slope.T @ slope
    moment = slope.T @ (slope @ (theta - terms.start)[free] - left)
    usual = {kind: _usual(terms, kind) for kind in unsettled}

    def evidence(levels: dict[str, float]) -> float:
        precision = _precision(terms, levels)
        whole = curvature + np.diag(precision + 1e-12 * np.diag(curvature) + 1e-12)
        factor = np.linalg.cholesky(whole)
        half = np.linalg.solve(factor, moment)
        expected = sum(
            -0.5 * (np.log(levels[kind] / middle) / deviation) ** 2 for kind, (
                middle, deviation) in usual.items())
        known = precision[precision > 0.0]
        return float(
            0.5 * np.log(known).sum() - np.log(np.diag(factor)).sum() + 0.5 * half @ half
            + expected)

    for kind in unsettled:
        weight = np.array([evidence({**levels, kind: float(level)}) for level in _LEVELS])
        weight = np.exp(weight - weight.max())
        levels = {**levels, kind: float(np.sqrt(np.sum(weight * _LEVELS ** 2) / weight.sum()))}
    return levels


def _covariance(
    terms: Terms, left: Array, slope: Array, curvature: Array, precision: Array, design: Array,
) -> Array:
    bound = _bound(terms, design)
    block = terms.data.block
    # Sums over blocks leave out the correlation of errors in neighbouring blocks.
    left = np.clip(left, -bound, bound).reshape(len(block), -1)
    longer = design * np.sum(left ** 2, axis=0) / np.maximum(
        np.sum(sums_over_blocks(left, block) ** 2, axis=0), 1e-300)
    left = left * np.sqrt(np.maximum(longer, 1.0))
    sums = sums_over_blocks(slope * left.reshape(-1, 1), np.repeat(block, terms.robot.n))
    posterior = inverse(curvature + np.diag(precision))
    count = len(sums)
    meat = sums.T @ sums * count / max(count - 1, 1)
    prior = np.diag(precision)
    robust = posterior @ (meat + prior) @ posterior
    # A few blocks may agree by chance: the variance is at least the one that follows from the
    # standard deviations and design effects of the errors.
    classic = posterior @ (curvature + prior) @ posterior
    variance = np.maximum(np.diag(classic), 1e-300)
    grow = np.sqrt(np.maximum(variance / np.maximum(np.diag(robust), 1e-9 * variance), 1.0))
    return np.asarray(robust * np.outer(grow, grow))


def _of_considered(terms: Terms, theta: Array, spread: Array, design: Array) -> Array:
    """Return the covariance of all parameters due to the considered ones, (p, p).

    The offsets absorb an error of a considered parameter: they change by its mean effect.
    """
    offsets = np.zeros_like(terms.free)
    terms.of('offset', offsets)[:] = terms.of('offset', terms.free)
    both = offsets | terms.considered
    _, slope, inside = _weighed(terms, *terms.evaluate(theta, both), spread, design)
    slope *= inside[:, None]
    by_offset, by_considered = slope[:, offsets[both]], slope[:, terms.considered[both]]
    change = np.eye(len(theta))[:, terms.considered]  # of all parameters, per considered one
    change[offsets] = -inverse(by_offset.T @ by_offset) @ (by_offset.T @ by_considered)
    return np.asarray((change * terms.prior[terms.considered] ** 2) @ change.T)


def beside_other_links(terms: Terms, found: Fit) -> Fit:
    """Return a fit whose covariance includes prior errors of links and gains that are not fitted.

    The fitted parameters absorb these errors.
    """
    given = np.zeros_like(terms.free)
    for kind in terms.assumed:
        terms.of(kind, given)[:] = ~terms.of(kind, terms.free)
    both = terms.free | given
    _, slope, inside = _weighed(
        terms, *terms.evaluate(found.theta, both), found.spread, found.design)
    slope *= inside[:, None]
    own, others = slope[:, terms.free[both]], slope[:, given[both]]
    change = np.zeros((len(given), int(given.sum())))  # of all parameters, per given one
    change[terms.free] = -inverse(found.curvature + np.diag(found.precision)) @ (own.T @ others)
    deviation = _prior(terms, found.levels)[given]
    return replace(found, covariance=found.covariance + (change * deviation ** 2) @ change.T)


def beside_given(terms: Terms, found: Fit) -> Fit:
    """Return a fit whose links, and gains that are no term, are as given, with the usual errors.

    Fitted links and gains may have absorbed what the model lacks. Viscous friction, rotors and
    offsets are also free, so that no other term that is missing passes for the one to be tested.
    """
    free = found.free.copy()
    for kind in (*terms.assumed, 'viscous', 'rotor', 'offset'):
        terms.of(kind, free)[:] = True
    levels = {kind: _usual(terms, kind)[0] for kind in found.levels}
    return replace(
        found, theta=terms.as_given(found.theta), free=free, levels=levels,
        precision=1.0 / _prior(terms, levels)[free] ** 2)


def misfit(terms: Terms, theta: Array, like: Fit) -> float:
    """Return Huber's loss at `theta`, (p,), without priors, with the deviations of `like`."""
    left, *_ = _weighed(terms, *terms.evaluate(theta), like.spread, like.design)
    return _huber(left, _bound(terms, like.design))


def solve_linear(
    terms: Terms, found: Fit, columns: Array, deviation: Array,
) -> tuple[Array, Array]:
    """Return the coefficients of added linear columns, (T, n, c), and their covariance, (c, c).

    The coefficients have priors with mean 0 and the given deviations, (c,).
    """
    change, covariance, _ = _solved(terms, found, columns, deviation)
    own = slice(0, columns.shape[2])
    return change[own], covariance[own, own]


def beside_columns(
    terms: Terms, found: Fit, columns: Array, deviation: Array,
) -> tuple[Fit, Array]:
    """Return a fit with the deviations of the errors that added linear columns leave.

    Also return these errors over their deviations, (T, n); NaN where efforts are not known.
    """
    value = _solved(terms, found, columns, deviation)[2]
    spread = _spread(terms, value)
    design = design_effects(_cut(terms, value, spread), terms.data.block)
    errors = np.where(terms.known, (value - terms.data.effort) / spread, np.nan)
    return replace(found, spread=spread, design=design), errors


def _solved(
    terms: Terms, found: Fit, columns: Array, deviation: Array,
) -> tuple[Array, Array, Array]:
    """Return changes of added and free coefficients, their covariance, and efforts, (T, n)."""
    value, derivative = terms.evaluate(found.theta, found.free)
    derivative = np.concatenate([columns, derivative], axis=2)
    left, slope, _ = _weighed(terms, value, derivative, found.spread, found.design)
    precision, away = np.zeros((2, slope.shape[1]))
    added = columns.shape[2]
    precision[:added] = deviation ** -2.0
    precision[added:], away[added:] = found.precision, (found.theta - terms.start)[found.free]
    covariance = inverse(slope.T @ slope + np.diag(precision))
    change = -covariance @ (slope.T @ left + precision * away)
    return change, covariance, value + derivative @ change


def inverse(products: Array) -> Array:
    """Return the pseudo-inverse of a matrix of products, scaled to a diagonal of ones."""
    scale = np.sqrt(np.maximum(np.diag(products), 1e-300))
    scale = np.outer(scale, scale)
    return np.asarray(np.linalg.pinv(products / scale, rcond=1e-12) / scale)
