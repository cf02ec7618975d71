"""Loads on the last body by linear least squares: a common one, and those of single recordings."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.identification.payload import COM, MASS, rigid_body
from hodyn_ros.identification.regression import NORMAL_90, Fit, solve_linear
from hodyn_ros.identification.terms import Terms

Array = NDArray[np.float64]

_CLEAR = 5.0  # standard deviations from which a difference is certain
_ANOTHER_MASS = 0.1  # least difference of the mass, as a share of the payload's
# m; errors of the links' parameters shift the payload's centre by less from motion to motion.
_ANOTHER_PLACE = 0.03


@dataclass(frozen=True, eq=False)
class DifferingLoad:
    """How the payload of one recording differs from that of the others.

    Attributes
    ----------
    bag : int
        Number of the recording.
    mass : float
        Additional mass, kg.
    com : (3,) array
        From the others' centre of mass to its own, m, in the axes of the last body.

    """

    bag: int
    mass: float
    com: Array


def linear_payload(model: Terms, found: Fit) -> tuple[float, float, Array]:
    """Return the mass of a payload, half the width of its 90 % interval, kg, and its centre, m."""
    value, deviation = solve_linear(
        model, found, model.load_columns(found.theta, model.data.loaded))
    return (float(value[MASS]), NORMAL_90 * float(deviation[MASS]),
            value[COM] / (value[MASS] or np.nan))


def differing_loads(model: Terms, found: Fit) -> tuple[DifferingLoad, ...]:
    """Return the loaded recordings whose payload differs from the others'.

    Those whose centre of mass is farthest away come first.
    """
    bags = np.unique(model.data.bag[model.data.loaded])
    if len(bags) < 2 or not model.of('payload', model.free).any():
        return ()
    payload = rigid_body(model.of('payload', found.theta))
    out = []
    for bag in bags:
        own = model.data.loaded & (model.data.bag == bag)
        more, deviation = solve_linear(model, found, model.load_columns(found.theta, own))
        least = payload.mass * np.array([_ANOTHER_MASS, *[_ANOTHER_PLACE] * 3])
        if np.any((np.abs(more) > least) & (np.abs(more) > _CLEAR * deviation)):
            mass = payload.mass + more[MASS]
            out.append(DifferingLoad(
                int(bag), float(more[MASS]), (more[COM] - more[MASS] * payload.com) / mass))
    return tuple(sorted(out, key=lambda load: -float(np.linalg.norm(load.com))))
