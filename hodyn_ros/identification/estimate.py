"""What was identified, term by term, with intervals, and what the data do not determine."""
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
from hodyn_ros.identification.regression import NORMAL_90, Fit
from hodyn_ros.identification.terms import Terms
from hodyn_ros.robot import Robot

# A payload's inertia is determined if its extent is known to this share of the prior deviation.
_EXCITED = 0.5

_NAMES = {'rotor': 'rotor_inertia', 'inverse_gain': 'effort_gain'}


@dataclass(frozen=True)
class Doubt:
    """Why the efforts of a joint are left out: they seem to be in another unit, or are coarse.

    Attributes
    ----------
    joint : str
        Name of the joint.
    factor : float
        If its gain is undetermined: the common factor by which the other gains changed. NaN if
        these changes differ, or the gain is not in doubt.
    friction, limit : float
        If its fitted friction is beyond the limit of effort: both, N m. NaN otherwise.
    recorded : float
        If gains were not fitted and its own is far off: the ratio of its efforts to the model's
        torques. NaN otherwise.
    resolution : float
        If efforts are hardly larger than their resolution, and the given robot predicts them
        within it: this resolution. NaN otherwise.

    """

    joint: str
    factor: float = np.nan
    friction: float = np.nan
    limit: float = np.nan
    recorded: float = np.nan
    resolution: float = np.nan


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was identified; intervals are half widths at 90 % confidence.

    Attributes
    ----------
    joints, intervals : dict of str to (n,) array
        `amplitude`, `slope`, `velocity_offset`, `viscous`, `rotor_inertia`, `effort_gain`, `zero`,
        as far as their terms were fitted; intervals are NaN for joints that keep their value.
        Gains are those for the robot file: they include the earlier gain of the robot.
    offset, offset_interval : (n,) or (bags, n) arrays
        Constant offset of the recorded efforts, in their unit.
    links, links_interval : tuple of Payload and (n_bodies, 10) array
        The links; empty if they were not fitted.
    payload : Payload or None
        Load on the last body, None if none was found.
    payload_interval : (10,) array
        Intervals of mass, centre of mass and inertia (xx yy zz xy xz yz): kg, m, kg m².
    inertia_excited : bool
        Whether the motion determines the payload's inertia; if not, the payload is a point.
    com_determined : (3,) bool array
        Which coordinates of the payload's centre the motion determines; the others are near 0.
    payload_at_most : float
        If no payload was found: the upper end of the interval of its mass, kg; else NaN. Also NaN
        if the last link has taken up what may be a payload, so that nothing bounds it.
    differing_loads : tuple of DifferingLoad
        Loaded recordings whose payload differs from the others'.
    link_level, gain_level : float
        Typical relative errors of links and gains, by the evidence; NaN if not estimated.
    base_parameters, told_parameters : int
        Numbers of combinations of link parameters: all that can be determined, and those that
        this motion determines.
    held : tuple of (str, tuple of str)
        Values that the data do not determine, with their joints; the robot's values are kept.
    alike : tuple of (str, tuple of str)
        Values that do not differ significantly from the robot's, which are kept.
    gains_by_others : tuple of str
        Joints whose gain the data hardly determine: it follows from the other joints' gains.
    bounded : tuple of (str, float, tuple of str)
        Values at the bound of the search.
    missing : tuple of (str, tuple of str)
        Terms that were not fitted and are significant, with their joints; none beside `changes`.
    changes : tuple of Change
        Parts of the recordings whose efforts do not fit.
    friction : SigmoidFriction or None
        The fitted law; `joints` has those of its values whose terms were fitted.
    parameters : dict of str to array
        All parameters, as in `Terms`: a start for a fit to other data of the arm.
    doubts : tuple of Doubt
        Joints whose efforts were left out, since their unit is unknown; they keep the robot's
        values.
    standing : (n,) array
        Share of the efforts that were recorded while the joint stood.
    rests_left_out : bool
        Whether these efforts are left out, since friction is known or fitted.

    """

    joints: dict[str, Array] = field(default_factory=dict)
    intervals: dict[str, Array] = field(default_factory=dict)
    offset: Array = field(default_factory=lambda: np.zeros(0))
    offset_interval: Array = field(default_factory=lambda: np.zeros(0))
    links: tuple[Payload, ...] = ()
    links_interval: Array = field(default_factory=lambda: np.zeros((0, PARAMETERS)))
    payload: Payload | None = None
    payload_interval: Array = field(default_factory=lambda: np.full(PARAMETERS, np.nan))
    inertia_excited: bool = False
    com_determined: Flags = field(default_factory=lambda: np.ones(3, np.bool_))
    payload_at_most: float = np.nan
    differing_loads: tuple[DifferingLoad, ...] = ()
    link_level: float = np.nan
    gain_level: float = np.nan
    base_parameters: int = 0
    told_parameters: int = 0
    held: tuple[tuple[str, tuple[str, ...]], ...] = ()
    alike: tuple[tuple[str, tuple[str, ...]], ...] = ()
    gains_by_others: tuple[str, ...] = ()
    bounded: tuple[tuple[str, float, tuple[str, ...]], ...] = ()
    missing: tuple[tuple[str, tuple[str, ...]], ...] = ()
    changes: tuple[Change, ...] = ()
    friction: SigmoidFriction | None = None
    parameters: dict[str, Array] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()
    standing: Array = field(default_factory=lambda: np.zeros(0))
    rests_left_out: bool = False

    @property
    def is_of_the_robot(self) -> bool:
        """Whether anything was found for a robot file, which does not hold sensor offsets."""
        return bool(self.links) or self.payload is not None or any(
            np.isfinite(width).any() for width in self.intervals.values())

    def gain_factors(self, robot: Robot) -> Array:
        """Return the gains found over those of the robot, (n,); 1 if none were found."""
        if 'effort_gain' not in self.joints:
            return np.ones(robot.n)
        given = 1.0 if robot.effort_gain is None else robot.effort_gain
        return np.asarray(self.joints['effort_gain'] / given)


def estimate_of(
    model: Terms, found: Fit, held: Masks, alike: Masks, clear: np.ndarray, at_most: float,
) -> Estimate:
    """Return the estimate of a fit; `held` and `alike` are masks by kind of parameter.

    `clear`, (n,), says which gains their own efforts determine; `at_most` is the upper end of the
    interval of the payload's mass if no payload was found.
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

    base, told = link_ranks(model, found)
    changed = changes(model, found)
    parameters = {kind: model.of(kind, theta).copy() for kind in model.places}
    parameters['inverse_gain'] = model.effort_per_torque(theta) / parameters['common_gain']
    return Estimate(
        joints=joints, intervals=intervals, offset=offset, offset_interval=offset_interval,
        links=tuple(links), links_interval=links_interval, payload=payload,
        payload_interval=payload_interval, inertia_excited=excited, com_determined=placed,
        payload_at_most=at_most if payload is None else np.nan,
        differing_loads=differing_loads(model, found),
        link_level=found.levels['links'] if model.of('links', model.free).any() else np.nan,
        gain_level=float(np.hypot(found.levels['inverse_gain'], found.levels['common_gain'])) if (
            model.of('inverse_gain', model.free).any() and 'gains' not in model.terms) else np.nan,
        base_parameters=base, told_parameters=told,
        missing=tuple(
            (term, named(those)) for term, those in missing_terms(model, found).items()
            if not changed),
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
        kept = np.isnan(intervals['amplitude'])  # the law is kept or fitted whole
        for key in ('slope', 'velocity_offset'):  # kept values stay the same to the last digit
            joints[key][kept] = getattr(robot.friction, key)[kept]
    return joints, intervals


def _listed_interval(found: Fit, begin: int) -> Array:
    """Return half widths of mass, com and inertia of the body with its ten numbers at `begin`."""
    own = slice(begin, begin + PARAMETERS)
    rows = np.zeros((PARAMETERS, len(found.theta)))
    rows[:, own] = listed_slope(found.theta[own])
    return NORMAL_90 * found.deviation_of(rows)
