"""The identified values of each term with their intervals, and values left undetermined."""
from dataclasses import dataclass, field

import numpy as np

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.dynamics.regressor import PARAMETERS
from hodyn_ros.identification.changes import Change, changes
from hodyn_ros.identification.determined import (
    UNDETERMINED,
    Masks,
    at_bounds,
    link_ranks,
    missing_terms,
)
from hodyn_ros.identification.loads import DifferingLoad, differing_loads
from hodyn_ros.identification.payload import COM, EXTENT, Payload, listed_slope, rigid_body
from hodyn_ros.identification.regression import NORMAL_90, Fit, beside_other_links
from hodyn_ros.identification.terms import Terms
from hodyn_ros.robot import Robot

# A payload's inertia is determined if the standard deviations of its extents are below this share
# of those of the prior.
_EXCITED = 0.5

_NAMES = {'rotor': 'rotor_inertia', 'inverse_gain': 'effort_gain'}


@dataclass(frozen=True)
class Doubt:
    """Why the efforts of a joint are left out: they seem to be in another unit, or are coarse."""

    joint: str  #: Name of the joint
    #: If the joint's gain is undetermined: the common factor by which the other gains changed.
    #: NaN if these changes differ, or if the gain is not the reason.
    factor: float = np.nan
    #: `friction`, `limit`: If its fitted friction is beyond its limit of effort: both, N m. NaN
    #: otherwise.
    friction: float = np.nan
    limit: float = np.nan
    #: If gains are not a term and its efforts differ from the model's torques by a large factor:
    #: this factor. NaN otherwise.
    recorded: float = np.nan
    #: If its efforts are hardly larger than their resolution, and the given robot predicts them to
    #: within it: this resolution. NaN otherwise.
    resolution: float = np.nan


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was identified; intervals are half widths at 90 % confidence."""

    #: `joints`, `intervals`: dict of str to (n,) array: `amplitude`, `slope`, `velocity_offset`,
    #: `viscous`, `rotor_inertia`, `effort_gain`, `zero`, each if its term was fitted; intervals
    #: are NaN for joints that keep their value. `effort_gain` replaces the robot's former gain.
    joints: dict[str, Array] = field(default_factory=dict)
    intervals: dict[str, Array] = field(default_factory=dict)
    #: `offset`, `offset_interval`: (n,) or (bags, n): constant offset of the recorded efforts, in
    #: their unit
    offset: Array = field(default_factory=lambda: np.zeros(0))
    offset_interval: Array = field(default_factory=lambda: np.zeros(0))
    #: `links`, `links_interval`: tuple of Payload and (n_bodies, 10) array: the links; empty if
    #: they were not fitted
    links: tuple[Payload, ...] = ()
    links_interval: Array = field(default_factory=lambda: np.zeros((0, PARAMETERS)))
    payload: Payload | None = None  #: Load on the last body, None if none was found
    #: (10,): intervals of mass, centre of mass and inertia (xx yy zz xy xz yz): kg, m, kg m²
    payload_interval: Array = field(default_factory=lambda: np.full(PARAMETERS, np.nan))
    #: Whether the motion determines the payload's inertia; if not, the payload is a point
    inertia_excited: bool = False
    #: (3,): which coordinates of the payload's centre the motion determines; the others are near 0
    com_determined: Flags = field(default_factory=lambda: np.ones(3, np.bool_))
    #: If no payload was found: the upper end of the interval of its mass, kg; NaN otherwise, and
    #: if the last link may have absorbed a payload, or loads differ: the data give no bound
    payload_at_most: float = np.nan
    #: Recordings whose load differs from that of the others, loaded or unloaded
    differing_loads: tuple[DifferingLoad, ...] = ()
    #: `link_level`, `gain_level`: Typical relative errors of links and gains, estimated from the
    #: data; NaN if not estimated
    link_level: float = np.nan
    gain_level: float = np.nan
    #: Largest factor by which intervals grow if the given links are off by the usual 5 %, and
    #: given gains by 1 %; NaN if links were fitted: the intervals then allow for their errors
    factor_beside_other_links: float = np.nan
    #: `base_parameters`, `told_parameters`: Number of combinations of link parameters that any
    #: motion can determine, and number of those that this motion determines
    base_parameters: int = 0
    told_parameters: int = 0
    #: tuple of (str, tuple of str): values that the data do not determine, with their joints,
    #: which keep the robot's values
    held: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: tuple of (str, tuple of str): values that do not differ significantly from the robot's, with
    #: their joints, which keep the robot's values
    alike: tuple[tuple[str, tuple[str, ...]], ...] = ()
    #: Joints whose gain the data hardly determine: it follows from the other joints' gains
    gains_by_others: tuple[str, ...] = ()
    #: tuple of (str, float, tuple of str): values at a bound of the search, the bound, the joints
    bounded: tuple[tuple[str, float, tuple[str, ...]], ...] = ()
    #: tuple of (str, tuple of str): terms that were not fitted but would be significant, with
    #: their joints; none if there are `changes` or `differing_loads`, which may pass for any
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    changes: tuple[Change, ...] = ()  #: Parts of the recordings whose efforts do not fit
    #: The law with all its values, fitted or given
    friction: SigmoidFriction | None = None
    #: All parameters, as in `Terms`: a start for a fit to other data of the arm
    parameters: dict[str, Array] = field(default_factory=dict)
    #: Joints whose efforts were left out, since they are coarse or in an unknown unit; these
    #: joints keep the robot's values
    doubts: tuple[Doubt, ...] = ()
    #: (n,): share of the efforts that were recorded while the joint stood
    standing: Array = field(default_factory=lambda: np.zeros(0))
    #: Whether efforts of standing joints are left out, since friction is given or fitted
    rests_left_out: bool = False

    @property
    def is_of_the_robot(self) -> bool:
        """Whether anything was found for a robot file, which has no offsets of sensors."""
        return bool(self.links) or self.payload is not None or any(
            np.isfinite(width).any() for width in self.intervals.values())

    def gain_factors(self, robot: Robot) -> Array:
        """Return the ratios of the found gains to the robot's, (n,); 1 if none were found."""
        if 'effort_gain' not in self.joints:
            return np.ones(robot.n)
        given = 1.0 if robot.effort_gain is None else robot.effort_gain
        return np.asarray(self.joints['effort_gain'] / given)


def estimate_of(
    model: Terms, found: Fit, held: Masks, alike: Masks, clear: np.ndarray, at_most: float,
) -> Estimate:
    """Return the estimate of a fit.

    `held` and `alike` are masks by kind of parameter, see `Estimate`. `clear`, (n,), says which
    joints' own efforts determine their gains. `at_most` is `Estimate.payload_at_most`.
    """
    n = model.robot.n
    theta, half = found.theta, NORMAL_90 * found.deviation
    joints, intervals = _joint_values(model, found)
    offset, offset_interval = (
        model.of('offset', values).reshape(-1, n) if len(
            model.of('offset', values)) > n else model.of('offset', values).copy()
        for values in (theta, half))
    links: list[Payload] = []
    links_interval = np.zeros((0, PARAMETERS))
    begin = model.places['links'].start
    if 'links' in model.terms:
        links = [rigid_body(row) for row in model.of('links', theta).reshape(-1, PARAMETERS)]
        links_interval = np.array([
            _listed_interval(found, begin + PARAMETERS * b) for b in range(len(links))])
    payload, payload_interval, excited = None, np.full(PARAMETERS, np.nan), False
    placed = np.ones(3, np.bool_)
    if model.of('payload', model.free).any():
        payload = rigid_body(model.of('payload', theta))
        payload_interval = _listed_interval(found, model.places['payload'].start)
        share = model.of('payload', found.deviation) / model.of('payload', model.prior)
        excited = bool(np.all(share[EXTENT] < _EXCITED))
        placed = share[COM] < UNDETERMINED
        if not excited:
            payload = Payload(payload.mass, payload.com, np.zeros((3, 3)))

    def named(those: np.ndarray) -> tuple[str, ...]:
        return tuple(
            model.robot.joint_names[j]
            for j in np.flatnonzero(those.reshape(-1, n).any(axis=0)))

    factor = np.nan
    if model.free.any() and not model.of('links', model.free).any():
        narrow, wide = (
            np.concatenate([*_joint_values(model, each)[1].values(), NORMAL_90 * model.of(
                'offset', each.deviation)])
            for each in (found, beside_other_links(model, found)))
        stated = np.isfinite(narrow)
        factor = float(np.max(wide[stated] / narrow[stated], initial=1.0))
    base, determined = link_ranks(model, found)
    changed, differing = changes(model, found), differing_loads(model, found)
    parameters = {kind: model.of(kind, theta).copy() for kind in model.places}
    parameters['inverse_gain'] = model.effort_per_torque(theta) / parameters['common_gain']
    return Estimate(
        joints=joints, intervals=intervals, offset=offset, offset_interval=offset_interval,
        links=tuple(links), links_interval=links_interval, payload=payload,
        payload_interval=payload_interval, inertia_excited=excited, com_determined=placed,
        payload_at_most=at_most if payload is None and not differing else np.nan,
        differing_loads=differing,
        link_level=found.levels['links'] if model.of('links', model.free).any() else np.nan,
        gain_level=float(np.hypot(found.levels['inverse_gain'], found.levels['common_gain'])) if (
            model.of('inverse_gain', model.free).any() and 'gains' not in model.terms) else np.nan,
        factor_beside_other_links=factor,
        base_parameters=base, told_parameters=determined,
        missing=() if changed or differing else tuple(
            (term, named(those)) for term, those in missing_terms(model, found).items()),
        changes=changed,
        friction=model.friction(theta), parameters=parameters,
        held=tuple((_NAMES.get(kind, kind), named(those)) for kind, those in held.items()),
        alike=tuple((_NAMES.get(kind, kind), named(those)) for kind, those in alike.items()),
        gains_by_others=named(model.of('inverse_gain', model.free) & ~clear),
        bounded=tuple(
            (_NAMES.get(kind, kind), bound, named(those))
            for kind, bound, those in at_bounds(model, found)))


def _joint_values(model: Terms, found: Fit) -> tuple[dict[str, Array], dict[str, Array]]:
    """Return the joints' values of the fitted terms, and their intervals."""
    robot, theta = model.robot, found.theta
    half = NORMAL_90 * found.deviation
    joints: dict[str, Array] = {}
    intervals: dict[str, Array] = {}

    def put(term: str, name: str, value: Array, width: Array) -> None:
        if term in model.terms:
            joints[name], intervals[name] = value.copy(), width.copy()

    law = model.friction(theta)
    slope, asymmetry = (model.places[kind] for kind in ('slope', 'asymmetry'))
    by_offset = np.zeros((robot.n, len(theta)))
    by_offset[:, asymmetry] = np.diag(1.0 / law.slope)
    by_offset[:, slope] = np.diag(-law.velocity_offset)
    put('friction', 'amplitude', law.amplitude, model.of('amplitude', half))
    put('friction', 'slope', law.slope, model.of('slope', half) * law.slope)
    put('friction', 'velocity_offset', law.velocity_offset,
        NORMAL_90 * found.deviation_of(by_offset))
    put('viscous', 'viscous', law.viscous, model.of('viscous', half))
    put('rotor', 'rotor_inertia', model.of('rotor', theta), model.of('rotor', half))
    put('zeros', 'zero', model.of('zero', theta), model.of('zero', half))
    k = model.effort_per_torque(theta)
    gain = (1.0 if robot.effort_gain is None else robot.effort_gain) / k
    put('gains', 'effort_gain', gain, NORMAL_90 * found.deviation_of(
        model.by_gain(theta)) * np.abs(gain / k))
    if 'friction' in model.terms and robot.friction is not None:
        kept = np.isnan(intervals['amplitude'])  # these joints keep all values of the given law
        for key in ('slope', 'velocity_offset'):  # the logarithm of the slope has rounded these
            joints[key][kept] = getattr(robot.friction, key)[kept]
    return joints, intervals


def _listed_interval(found: Fit, begin: int) -> Array:
    """Return half widths, (10,), for mass, centre of mass and inertia of the body at `begin`."""
    own = slice(begin, begin + PARAMETERS)
    rows = np.zeros((PARAMETERS, len(found.theta)))
    rows[:, own] = listed_slope(found.theta[own])
    return NORMAL_90 * found.deviation_of(rows)
