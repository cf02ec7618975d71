"""What the data of a fit can tell: of which joints, and apart from what."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.dynamics.regressor import torque_regressor
from hodyn_ros.identification.regression import NORMAL_90, Fit
from hodyn_ros.identification.terms import Terms

Array = NDArray[np.float64]

_ALIKE = 30.0  # how often its variance grows by the other parameters: beyond, a term is held
_UNTOLD = 0.8  # of what was known before: beyond, the data say next to nothing


def are_untold(model: Terms, found: Fit, kind: str) -> np.ndarray:
    """Return which joints' values of a kind the data cannot tell from the other ones, (n,)."""
    place = model.places[kind]
    # Links are held to the given ones by what is known of them: they pass for nothing else.
    fitted = np.flatnonzero(found.free)
    kept = model.free[fitted] & (fitted >= model.places['links'].stop)
    own = fitted[kept]
    among = np.isin(own, np.arange(place.start, place.stop))
    out = np.zeros(place.stop - place.start, np.bool_)
    if among.any():
        precision = found.precision[kept]
        curvature = found.curvature[np.ix_(kept, kept)]
        whole = curvature + np.diag(precision)
        scale = np.sqrt(np.maximum(np.diag(whole), 1e-200))
        # A pseudoinverse would pass over what is exactly alike.
        inverse = np.linalg.inv(whole / np.outer(scale, scale) + 1e-9 * np.eye(len(whole)))
        grown = np.diag(inverse)[among]
        # What only the knowledge from before tells is not told by the data.
        before = precision[among]
        after = np.diag(inverse / np.outer(scale, scale))[among]
        silent = np.diag(curvature)[among] <= 1e-9 * np.maximum(before, 1e-12)
        known = (before > 0.0) & (np.sqrt(after * before) > _UNTOLD)
        known &= kind not in ('slope', 'asymmetry')  # whose error counts in others' intervals
        out[own[among] - place.start] = (grown > _ALIKE) | silent | known
    groups = len(out) // model.robot.n
    return np.asarray(out.reshape(groups, -1).any(axis=0))


def are_alike(model: Terms, found: Fit, kind: str, given: Array) -> np.ndarray:
    """Return the joints whose value of a kind is not significantly another than given, (n,)."""
    half = NORMAL_90 * model.of(kind, found.deviation())
    value = model.of(kind, found.theta)
    alike = np.abs(value - model.of(kind, given)) <= half
    if kind == 'amplitude':  # a friction that is there is fitted, however well it was known
        alike &= half > value
    return np.asarray(alike)


def at_bounds(model: Terms, found: Fit) -> list[tuple[str, float, np.ndarray]]:
    """Return kinds, bounds and the joints whose value was looked for no further, (n,)."""
    out = []
    for kind in ('amplitude', 'slope', 'asymmetry', 'viscous', 'rotor'):
        value, free = model.of(kind, found.theta), model.of(kind, model.free)
        for bounds in (model.low, model.high):
            bound = model.of(kind, bounds)
            those = free & (value == bound)
            if those.any():
                one = float(bound[0])
                out.append((kind, np.exp(one) if kind == 'slope' else one, those))
    return out


def link_ranks(model: Terms, found: Fit) -> tuple[int, int]:
    """Return how many combinations of the links' parameters any motion tells, and this one."""
    if 'links' not in model.terms:
        return 0, 0
    rng = np.random.default_rng(0)
    q = rng.uniform(-np.pi, np.pi, (200, 3, model.robot.n))
    table = torque_regressor(model.robot, q, gravity=model.data.gravity)
    table = table.reshape(200 * model.robot.n, -1)
    values = np.linalg.svd(table, compute_uv=False)
    base = int(np.sum(values > 1e-9 * values[0]))
    # Told are those that the data know better than what was known before.
    those = np.isin(np.flatnonzero(model.free), np.arange(
        model.places['links'].start, model.places['links'].stop))
    unit = np.sqrt(found.precision[those])
    whole = found.curvature
    rest = ~those
    inner = whole[np.ix_(those, those)]
    if rest.any():
        cross = whole[np.ix_(those, rest)]
        inner = inner - cross @ np.linalg.pinv(
            whole[np.ix_(rest, rest)] + np.diag(found.precision[rest])) @ cross.T
    told = np.linalg.eigvalsh(inner / np.outer(unit, unit))
    return base, min(base, int(np.sum(told > 1.0)))
