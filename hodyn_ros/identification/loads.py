"""Loads on the last body by linear least squares: of all recordings, and of single ones."""
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import chdtrc

from hodyn_ros.common.arrays import Array
from hodyn_ros.identification.payload import COM, EXTENT, MASS, rigid_body
from hodyn_ros.identification.regression import NORMAL_90, Fit, fit, inverse, solve_linear
from hodyn_ros.identification.terms import Terms

_CLEAR = 5.0  # standard deviations from which a difference is certain
_ANOTHER_MASS = 0.1  # least difference of the mass, as a share of the payload's
# Least change of the first moment over the payload's mass, m; errors of the links' parameters
# cause smaller changes from motion to motion.
_ANOTHER_PLACE = 0.03
# Prior deviations of mass, kg, first moment, kg m, and inertia about the link's origin, kg m².
_LARGEST = np.repeat([100.0, 30.0, 10.0], [1, 3, 6])
_FARTHEST = 0.9  # m, largest coordinate of the centre of mass from which a fit starts


@dataclass(frozen=True, eq=False)
class DifferingLoad:
    """How the payload of one recording differs from the payload of the others."""

    bag: int  #: Number of the recording
    mass: float  #: Additional mass, kg
    #: (3,): from the others' centre of mass to its own, m, in the axes of the last body
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


def swapped_payload(model: Terms, bare: Fit) -> LinearPayload:
    """Return the payload that the unloaded recordings seem to carry; its mass is positive if so.

    In `bare`, a fit without a payload, the load is among the errors and makes the mass uncertain.
    So errors count as those of a fit in which the unloaded recordings carry a payload.
    """
    swapped = copy(model)
    swapped.data = replace(model.data, loaded=~model.data.loaded)
    load = linear_payload(swapped, bare)
    if load.mass > load.half:
        theta = bare.theta.copy()
        mass, com = load.start
        model.of('payload', theta)[MASS], model.of('payload', theta)[COM] = np.log(mass), com
        swapped.free = model.free.copy()
        model.of('payload', swapped.free)[:] = True
        found = fit(swapped, theta, like=bare)
        swapped.free = model.free
        load = linear_payload(swapped, replace(bare, spread=found.spread, design=found.design))
    return load


def differing_loads(model: Terms, found: Fit) -> tuple[DifferingLoad, ...]:
    """Return the loaded recordings whose payload differs from the others'.

    They are sorted by the distance of their centre of mass from the others', farthest first.
    """
    bags = np.unique(model.data.bag[model.data.loaded])
    if len(bags) < 2 or not model.of('payload', model.free).any():
        return ()
    payload = rigid_body(model.of('payload', found.theta))
    out = []
    for bag in bags:
        own = model.data.loaded & (model.data.bag == bag)
        more, covariance = solve_linear(
            model, found, model.load_columns(found.theta, own), _LARGEST)
        more = more[:EXTENT.start]
        deviation = np.sqrt(np.maximum(np.diag(covariance)[:EXTENT.start], 0.0))
        least = payload.mass * np.array([_ANOTHER_MASS, *[_ANOTHER_PLACE] * 3])
        if np.any((np.abs(more) > least) & (np.abs(more) > _CLEAR * deviation)):
            mass = payload.mass + more[MASS]
            out.append(DifferingLoad(
                int(bag), float(more[MASS]), (more[COM] - more[MASS] * payload.com) / mass))
    return tuple(sorted(out, key=lambda load: -float(np.linalg.norm(load.com))))
