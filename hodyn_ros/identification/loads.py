"""Loads on the last body by linear least squares: of all recordings, and of single ones."""
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from hodyn_ros.common.arrays import Array, Flags, Indices
from hodyn_ros.dynamics.regressor import PARAMETERS
from hodyn_ros.identification.payload import COM, EXTENT, MASS, rigid_body
from hodyn_ros.identification.regression import (
    NORMAL_90,
    Fit,
    beside_columns,
    inverse,
    solve_linear,
)
from hodyn_ros.identification.terms import Terms

_CLEAR = 5.0  # standard deviations from which a difference is certain
_ANOTHER_MASS = 0.1  # least difference of the mass, as a share of the payload's
_OF_ARM = 0.1  # mass of a usual payload, as a share of the arm's, if none is found
# Ratio of the mean squares of errors beyond which another link carries the load, or none does.
_ELSEWHERE = 4.0
_GAIN = 0.05  # usual deviation of the gain of all efforts of a recording: motors get warm
# Least change of the first moment over the payload's mass, m; errors of the links' parameters
# cause smaller changes from motion to motion.
_ANOTHER_PLACE = 0.03
# Prior deviations of mass, kg, first moment, kg m, and inertia about the link's origin, kg m².
_LARGEST = np.repeat([100.0, 30.0, 10.0], [1, 3, 6])
_FARTHEST = 0.9  # m, largest coordinate of the centre of mass from which a fit starts


@dataclass(frozen=True, eq=False)
class DifferingLoad:
    """How the load of one recording differs from that of the others of its kind."""

    bag: int  #: Number of the recording
    is_loaded: bool  #: Whether it is compared with the other loaded recordings, or the unloaded
    mass: float  #: Additional mass, kg
    #: (3,): from the others' centre of mass to its own, m, in the axes of the last body; NaN if
    #: one of the two loads is far lighter than the other
    com: Array


@dataclass(frozen=True, eq=False)
class LinearPayload:
    """The mass and first moment of a payload, by linear least squares.

    Its inertia is fitted with them: without it, links would have to change in order to explain the
    torques of acceleration, and their changed gravity would hide that of the payload. The inertia
    itself is no evidence of a payload, since rotors and errors of friction resemble it.
    """

    #: `mass`, `half`: Mass and half the width of its 90 % interval, kg
    mass: float
    half: float
    moment: Array  #: (3,): mass times centre of mass, kg m, in the axes of the last body
    chance: float  #: Probability of a mass and first moment this far from 0 without a payload

    @property
    def start(self) -> tuple[float, Array]:
        """Mass, kg, and centre of mass, (3,), m, from which a fit starts.

        If the mass does not differ significantly from 0, the start is the larger of two masses:
        the upper end of the interval, and the least mass whose centre, by the first moment, has no
        coordinate beyond `_FARTHEST`.
        """
        mass = self.mass if self.mass > self.half else max(
            self.mass + self.half, float(np.abs(self.moment).max()) / _FARTHEST)
        return mass, np.clip(self.moment / mass, -_FARTHEST, _FARTHEST)


def linear_payload(model: Terms, found: Fit) -> LinearPayload:
    """Return a payload by linear least squares, estimated with the free parameters of a fit.

    The model is linearised at the given links, and at the given gains if these are not a term: in
    a fit without a payload, fitted links and gains may have absorbed the load. As priors are
    relative to the values, the increased mass of the last link would then seem less certain than
    the given one.
    """
    found = replace(found, theta=model.as_given(found.theta))
    value, covariance = solve_linear(
        model, found, model.load_columns(found.theta, model.data.loaded), _LARGEST)
    value, covariance = value[:EXTENT.start], covariance[:EXTENT.start, :EXTENT.start]
    distance = float(value @ inverse(covariance) @ value)
    return LinearPayload(
        float(value[MASS]), NORMAL_90 * float(np.sqrt(max(covariance[MASS, MASS], 0.0))),
        value[COM], float(chdtrc(len(value), max(distance, 0.0))))


def swapped_mass(model: Terms, bare: Fit) -> tuple[float, float]:
    """Return how much more the unloaded recordings carry, and half its 90 % interval, kg.

    `bare` is a fit without a payload.
    """
    carried = _loads(model, bare)
    unloaded = ~np.isin(carried.bags, model.data.bag[model.data.loaded])
    _, more, deviation = carried.apart(np.ones_like(unloaded), unloaded)
    return float(more[MASS]), NORMAL_90 * float(deviation[MASS])


def differing_loads(model: Terms, found: Fit) -> tuple[DifferingLoad, ...]:
    """Return the recordings whose load differs from that of the others of their kind.

    They are sorted by the distance of their centre of mass from the others', farthest first, and
    those with an unknown distance come last. Of unloaded recordings, only those that are heavier
    than the others are returned.
    """
    data = model.data
    if 'payload' not in model.terms or len(np.unique(data.bag)) < 2:
        return ()
    carried, fitted = _loads(model, found), np.zeros(EXTENT.start)
    mass = _OF_ARM * sum(body.mass for body in model.robot.bodies)
    if model.of('payload', model.free).any():
        payload = rigid_body(model.of('payload', found.theta))
        mass, fitted = payload.mass, payload.mass * np.array([1.0, *payload.com])
    least = mass * np.array([_ANOTHER_MASS, *[_ANOTHER_PLACE] * 3])
    is_loaded = np.isin(carried.bags, data.bag[data.loaded])
    fits = carried.left < _ELSEWHERE * np.quantile(carried.left, 0.5, method='lower')
    out = []
    for bag, loaded in zip(carried.bags, is_loaded, strict=True):
        among, own = fits & (is_loaded == loaded), carried.bags == bag
        if among.sum() < 2 or not among[own].all():
            continue
        others, more, deviation = carried.apart(among, own)
        clear = (np.abs(more) > least) & (np.abs(more) > _CLEAR * deviation)
        if clear.any() if loaded else clear[MASS] and more[MASS] > 0.0:
            former = others + loaded * fitted
            masses = former[MASS] + np.array([0.0, more[MASS]])
            com = (more[COM] - more[MASS] * former[COM] / former[MASS]) / masses[1]
            out.append(DifferingLoad(
                int(bag), bool(loaded), float(more[MASS]),
                com if masses.min() > _ANOTHER_MASS * masses.max() else np.full(3, np.nan)))
    return tuple(sorted(
        out, key=lambda load: -float(np.nan_to_num(np.linalg.norm(load.com)))))


@dataclass(frozen=True, eq=False)
class _Loads:
    """What each recording carries besides the fitted payload, and the covariance."""

    bags: Indices  #: (b,): numbers of the recordings
    #: `values`, `covariance`: (10 b,) and (10 b, 10 b): parameters of the loads
    values: Array
    covariance: Array
    left: Array  #: (b,): mean squares of the errors that are left

    def apart(self, among: Flags, own: Flags) -> tuple[Array, Array, Array]:
        """Return the load of the others, how much more `own` recordings carry, and its deviation.

        Each has mass and first moment, (4,). `among`, (b,), are the recordings to compare; those
        of `own`, (b,), carry one load, and the others another.
        """
        kept = np.repeat(among, PARAMETERS)
        alike = np.kron(np.stack([among, own], axis=1)[among], np.eye(PARAMETERS))
        weight = inverse(self.covariance[np.ix_(kept, kept)])
        covariance = inverse(alike.T @ weight @ alike)
        both = covariance @ (alike.T @ weight @ self.values[kept])
        more = slice(PARAMETERS, PARAMETERS + EXTENT.start)
        return both[:EXTENT.start], both[more], np.sqrt(np.maximum(np.diag(covariance)[more], 0.0))


def _loads(model: Terms, found: Fit) -> _Loads:
    """Return the load of each recording by linear least squares, with the errors that these leave.

    In a fit with one load for all, different loads are among the errors and seem uncertain.
    """
    bags, free = np.unique(model.data.bag), found.free.copy()
    model.of('payload', free)[:] = False  # its changes are among the loads
    found = replace(found, free=free, precision=found.precision[free[found.free]])
    of_bag = model.data.bag[:, np.newaxis] == bags
    torque = model.evaluate(found.theta, found.free)[0][:, :, np.newaxis]
    columns = np.concatenate([
        *(model.load_columns(found.theta, rows) for rows in of_bag.T),
        torque * of_bag[:, np.newaxis]], axis=2)
    largest = np.concatenate([np.tile(_LARGEST, len(bags)), np.full(len(bags), _GAIN)])
    found, errors = beside_columns(model, found, columns, largest)
    of_bags = [errors[rows] for rows in of_bag.T]
    left = np.array([
        np.nansum(own ** 2) / max(np.isfinite(own).sum(), 1) for own in of_bags])
    value, covariance = solve_linear(model, found, columns, largest)
    own = slice(len(bags) * PARAMETERS)
    return _Loads(bags, value[own], covariance[own, own], left)
