"""Which values a fit determines, which of them differ from the given ones, which terms it lacks.

A parameter keeps the robot's value if the data do not determine it, or if the fitted value does
not differ significantly from the robot's.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.dynamics.regressor import base_parameters
from hodyn_ros.identification.payload import MASS
from hodyn_ros.identification.regression import (
    NORMAL_90,
    Fit,
    beside_given,
    inverse,
    solve_linear,
)
from hodyn_ros.identification.terms import Terms

Masks = dict[str, Flags]

UNDETERMINED = 0.8  # share of the prior's deviation above which a value is undetermined
_WIDE = 0.5  # half width of a gain's interval, over the gain, above which it is undetermined
_CERTAIN = 3.5  # standard deviations from which a term that was not fitted is significant
_TOGETHER = {'amplitude': ('amplitude', 'slope', 'asymmetry')}  # kinds that are fixed together


def missing_terms(model: Terms, found: Fit) -> Masks:
    """Return terms that would change a fit significantly (a score test), with masks of joints.

    Viscous friction is tested if friction is fitted, and rotors if links or a payload are fitted,
    which would absorb their inertia. Zeros are tested with the given links and gains, since fitted
    ones may have absorbed their effect. If viscous friction is fitted though it is not a term, its
    fitted change is tested.
    """
    out: Masks = {}
    for term, takers, order in (
            ('viscous', {'friction'}, 1), ('rotor', {'links', 'payload'}, 2)):
        if term in model.terms or not takers & model.terms or (
                term == 'rotor' and model.robot.actuators is not None):
            continue
        columns = np.einsum(
            'ti,ij->tij', model.data.q[:, order], np.diag(model.effort_per_torque(found.theta)))
        change, covariance = solve_linear(model, found, columns, model.of(term, model.prior))
        deviation = np.sqrt(np.diag(covariance))
        fitted = model.of(term, model.free)
        change[fitted] = (model.of(term, found.theta) - model.of(term, model.start))[fitted]
        deviation[fitted] = model.of(term, found.deviation)[fitted]
        possible = model.of(term, model.start) + change > -NORMAL_90 * deviation  # may be ≥ 0
        those = model.moving & possible & (np.abs(change) > _CERTAIN * deviation)
        if those.any():
            out[term] = those
    if 'zeros' not in model.terms and model.robot.actuators is None:
        given, heard = beside_given(model, found), np.asarray(model.known.any(axis=0))
        columns = model.turned_by(heard) * model.effort_per_torque(
            given.theta)[:, None]
        change, covariance = solve_linear(model, given, columns, model.of('zero', model.prior))
        off = np.abs(change) > _CERTAIN * np.sqrt(np.diag(covariance))
        if off.any():
            out['zeros'] = off
    return out


def undetermined(model: Terms, found: Fit, clear: Flags) -> Masks:
    """Return which values of each kind the data do not determine, (n,) or (bags n,) masks.

    `clear`, (n,), says which joints' own efforts determine their gains. The other gains follow
    from these, and are also undetermined if the gains do not agree well enough.
    """
    out = {
        kind: model.of(kind, model.free) & (
            model.of(kind, found.deviation) > UNDETERMINED * model.of(kind, model.prior))
        for kind in model.stated('amplitude', 'viscous', 'rotor', 'zero', 'offset')}
    out['zero'] &= model.of('zero', model.start) == 0.0  # quarter turns were found by the search
    if 'gains' in model.terms:
        half = NORMAL_90 * found.deviation_of(model.by_gain(found.theta))
        out['inverse_gain'] = model.of('inverse_gain', model.free) & (
            (half > _WIDE * np.abs(model.effort_per_torque(found.theta)))
            | (~clear & (NORMAL_90 * found.levels['inverse_gain'] > _WIDE)))
    return {kind: those for kind, those in out.items() if those.any()}


def steeper(model: Terms, found: Fit) -> Flags:
    """Return for which joints the free slope of friction is at its upper bound, (n,)."""
    at_bound = model.of('slope', found.theta) == model.of('slope', model.high)
    return np.asarray(model.of('slope', model.free) & at_bound)


def insignificant(model: Terms, found: Fit, given: Array) -> Masks:
    """Return which values of each kind do not differ significantly from the given, (n,) masks.

    Kinds are tested in turn. Values that do not differ are set to the given ones, and those of
    later kinds are adjusted by their covariance with these.
    """
    out: Masks = {}
    mean, covariance = found.theta, found.covariance
    for kind in model.stated('rotor', 'viscous', 'inverse_gain', 'amplitude'):
        rows = model.by_gain(found.theta) if kind == 'inverse_gain' else np.eye(len(mean))[
            model.places[kind]]
        value = model.effort_per_torque(mean) if kind == 'inverse_gain' else model.of(kind, mean)
        away = value - model.of(kind, given)
        half = NORMAL_90 * np.sqrt(np.maximum(np.einsum(
            'ci,ij,cj->c', rows, covariance, rows), 0.0))
        # The gain 1 / k is compared with the given gain 1; its interval is half / k².
        far = np.abs(away * value) if kind == 'inverse_gain' else np.abs(away)
        those = model.of(kind, model.free) & (far <= half)
        if kind == 'amplitude':  # friction that differs significantly from 0 stays fitted
            those &= half > value
        if those.any():
            out[kind] = those
            by = covariance @ rows[those].T
            pull = by @ np.linalg.pinv(rows[those] @ by, hermitian=True)
            mean = mean - pull @ away[those]
            covariance = covariance - pull @ by.T
    return out


def is_payload_significant(model: Terms, found: Fit) -> bool:
    """Whether the mass of the fitted payload differs significantly from 0."""
    return bool(NORMAL_90 * model.of('payload', found.deviation)[MASS] < 1.0)


def keep(model: Terms, theta: Array, given: Array, those: Masks) -> Array:
    """Fix values at the given ones; return the start of the next fit, (p,)."""
    theta = theta.copy()
    for kind, mask in those.items():
        for one in _TOGETHER.get(kind, (kind,)):
            model.of(one, model.free)[mask] = model.of(one, model.considered)[mask] = False
            model.of(one, theta)[mask] = model.of(one, given)[mask]
        if kind == 'inverse_gain':
            model.shares &= ~mask
        elif kind == 'zero':
            model.move_to(theta)
    return theta


def at_bounds(model: Terms, found: Fit) -> list[tuple[str, float, Flags]]:
    """Return kinds with a bound, and which joints have their value at this bound, (n,)."""
    out = []
    for kind in model.stated('amplitude', 'slope', 'asymmetry', 'viscous', 'rotor'):
        value, free = model.of(kind, found.theta), model.of(kind, model.free)
        if kind == 'slope':
            free = free | model.steep & model.of('amplitude', model.free)
        for bounds in (model.low, model.high):
            bound = model.of(kind, bounds)
            at = free & (value == bound)
            for one in np.unique(bound[at]).tolist():
                out.append((
                    kind, float(np.exp(one)) if kind == 'slope' else one, at & (bound == one)))
    return out


def link_ranks(model: Terms, found: Fit) -> tuple[int, int]:
    """Return the number of base parameters of the links, and of those that the data determine."""
    if 'links' not in model.terms:
        return 0, 0
    base = base_parameters(model.robot, gravity=model.data.gravity).shape[1]
    # A combination is determined if the data have more information about it than the prior.
    those = np.isin(np.flatnonzero(model.free), np.arange(
        model.places['links'].start, model.places['links'].stop))
    unit = np.sqrt(found.precision[those])
    rest = ~those
    whole = found.curvature
    inner, cross = whole[np.ix_(those, those)], whole[np.ix_(those, rest)]
    inner = inner - cross @ inverse(
        whole[np.ix_(rest, rest)] + np.diag(found.precision[rest])) @ cross.T
    ratios = np.linalg.eigvalsh(inner / np.outer(unit, unit))
    return base, min(base, int(np.sum(ratios > 1.0)))
