"""What is identified, term by term, with intervals; and what the data cannot tell."""
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.dynamics.regressor import PARAMETERS, torque_regressor
from hodyn_ros.estimation.effort_unit import AGREE
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.differing_loads import DifferingLoad, differing_loads
from hodyn_ros.identification.joint_zeros import nearest_zeros
from hodyn_ros.identification.payload import COM, EXTENT, MASS, Payload, listed_slope, rigid_body
from hodyn_ros.identification.regression import NORMAL_90, Fit, fit, solve_linear
from hodyn_ros.identification.terms import Terms
from hodyn_ros.identification.units import Doubt, are_far, common_factor, recorded_factor
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]

MIN_BLOCKS = 8

_ALIKE = 30.0  # how often its variance grows by the other parameters: beyond, a term is held
_UNTOLD = 0.8  # of what was known before: beyond, the data say next to nothing
_EXCITED = 0.5  # of what was known of a payload's extent: below, the motion told its inertia
_WIDE = 0.5  # half an interval of a gain, in units of that given: beyond, it is not told
_DISTINCT = 5.0  # standard deviations of a gain that is looked for from nothing

PARTS = {
    'friction': ('amplitude', 'slope', 'velocity_offset'), 'viscous': ('viscous',),
    'rotor': ('rotor_inertia',), 'gains': ('effort_gain',), 'zeros': ('zero',)}
"""The values, one a joint, that a term has."""

_HELD_FIRST = ('asymmetry', 'slope', 'zero', 'viscous', 'rotor', 'offset', 'inverse_gain')
_NAMES = {'rotor': 'rotor_inertia', 'inverse_gain': 'effort_gain'}


@dataclass(frozen=True, eq=False)
class Estimate:
    """What was identified; intervals are half widths at 90 % confidence.

    Attributes
    ----------
    joints, intervals : dict of str to (n,) array
        `amplitude`, `slope`, `velocity_offset`, `viscous`, `rotor_inertia`, `effort_gain`, `zero`,
        as far as they were asked for; the interval is NaN for joints that keep what they had.
        A gain is what the file has: times that of the robot as it was.
    offset, offset_interval : (n,) or (bags, n) arrays
        Constant offset of the recorded efforts, in their unit.
    links, links_interval : tuple of Payload and (n_bodies, 10) array
        The links; empty where they were not asked for.
    payload : Payload or None
        Load on the last body, None where none was found.
    payload_interval : (10,) array
        Intervals of mass, centre of mass and inertia (xx yy zz xy xz yz): kg, m, kg m².
    inertia_excited : bool
        Whether the motion told the payload's inertia, which is a point's otherwise.
    payload_at_most : float
        Where none was found: the upper end of the interval of its mass, kg; NaN otherwise.
    differing_loads : tuple of DifferingLoad
        Loaded recordings whose payload is another than that of the other ones.
    link_level, gain_level : float
        How far links and gains are off, as shares, by the evidence; NaN where not looked for.
    base_parameters, told_parameters : int
        How many combinations of the links' parameters any motion tells, and this one.
    held : tuple of (str, tuple of str)
        Values that the data cannot tell from others, with their joints; they kept what they were.
    alike : tuple of (str, tuple of str)
        Values that do not differ significantly from those the robot has, and are kept.
    bounded : tuple of (str, float, tuple of str)
        Values that lie at the bound up to which they are looked for.
    parameters : dict of str to array
        All parameters, as `Terms` has them: where a fit to other data of the arm may begin.
    doubts : tuple of Doubt
        Joints whose efforts were left out, for they are in no known unit; they keep what they had.
    standing : (n,) array
        Share of the efforts at which the joint stands.
    rests_left_out : bool
        Whether these efforts are left out: those that friction is in which is known or fitted.

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
    payload_at_most: float = np.nan
    differing_loads: tuple[DifferingLoad, ...] = ()
    link_level: float = np.nan
    gain_level: float = np.nan
    base_parameters: int = 0
    told_parameters: int = 0
    held: tuple[tuple[str, tuple[str, ...]], ...] = ()
    alike: tuple[tuple[str, tuple[str, ...]], ...] = ()
    bounded: tuple[tuple[str, float, tuple[str, ...]], ...] = ()
    parameters: dict[str, Array] = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()
    standing: Array = field(default_factory=lambda: np.zeros(0))
    rests_left_out: bool = False

    @property
    def is_of_the_robot(self) -> bool:
        """Whether anything was found that a robot file holds: offsets are the sensors'."""
        return bool(self.links) or self.payload is not None or any(
            np.isfinite(width).any() for width in self.intervals.values())

    def gain_factors(self, robot: Robot) -> Array:
        """Return the gains found as factors of those that the robot has, (n,); 1 of none."""
        if 'effort_gain' not in self.joints:
            return np.ones(robot.n)
        given = 1.0 if robot.effort_gain is None else robot.effort_gain
        return np.asarray(self.joints['effort_gain'] / given)


def identify(
    robot: Robot, data: Data, terms: Collection[str], *, each_bag: bool = False,
    begin: Estimate | None = None,
) -> Estimate:
    """Fit terms, some of `TERMS`, to data.

    The payload is taken to be there only when its mass differs from 0 significantly, and to have
    an inertia only when the motion told it.

    Parameters
    ----------
    robot : Robot
        What is known before.
    data : Data
        Motions and efforts.
    terms : collection of str
        What to fit.
    each_bag : bool
        Whether each recording has offsets of its own.
    begin : Estimate, optional
        What was found from other data of the arm: a nearer start.

    Raises
    ------
    HodynError
        When there are too few samples, or their numbers are too large for a fit, or the efforts
        are in another unit and no gains are looked for.

    """
    for term, motors in (('rotor', 'inertias'), ('zeros', 'zeros')):
        if term in terms and robot.actuators is not None:
            raise HodynError(
                f'--terms {term}: the motors in key actuators of robot {robot.name!r} have '
                f'{motors} of their own: leave it out')
    recorded = np.isfinite(data.effort)
    standing = (recorded & data.stands).sum(axis=0) / np.maximum(recorded.sum(axis=0), 1)
    left_out = 'friction' in terms or robot.friction is not None
    if not left_out:
        data = replace(data, stands=np.zeros_like(data.stands))
    blocks = data.blocks_of_motion
    if blocks < MIN_BLOCKS:
        raise HodynError(
            f'only {blocks} s of motion: at least {MIN_BLOCKS} s are needed to tell '
            'parameters from noise')
    try:
        if begin is None and not {'gains', 'zeros'} & set(terms):
            _check_unit(robot, data)
        doubts = () if begin is None else begin.doubts
        while True:
            some = _without(data, [robot.joint_names.index(doubt.joint) for doubt in doubts])
            found = _identified(Terms(robot, some, terms, each_bag=each_bag), begin)
            more = () if begin is not None else _doubts(robot, data, found, doubts)
            if not more:
                break
            doubts += more
            if len(doubts) == robot.n:
                raise HodynError(
                    'friction beyond the limits of effort of all joints: '
                    + ', '.join(f'{doubt.joint} {doubt.friction:.3g} N m of {doubt.limit:.3g}'
                                for doubt in doubts if doubt.limit > 0.0)
                    + '; see in which unit efforts are recorded: with gains among the --terms it '
                    'would be found')
    except np.linalg.LinAlgError as error:
        raise HodynError(
            f'the recorded motions or efforts are too large for a fit ({error}): they are not '
            "an arm's") from None
    factor = _common_gain_factor(robot, found)
    return replace(
        found, standing=standing, rests_left_out=left_out, doubts=tuple(
            replace(doubt, factor=factor) if np.isfinite(doubt.factor) else doubt
            for doubt in doubts) if begin is None else doubts)


def _common_gain_factor(robot: Robot, found: Estimate) -> float:
    """Return by what the gains found differ from those given, all alike, else NaN."""
    told = np.isfinite(found.intervals.get('effort_gain', np.full(robot.n, np.nan)))
    return common_factor(found.gain_factors(robot)[told])


def _check_unit(robot: Robot, data: Data) -> None:
    factor = recorded_factor(robot, data)
    if np.isfinite(factor):
        raise HodynError(
            f"the efforts are about {factor:.3g} times the model's torques, of all joints alike: "
            'they seem to be in another unit than N m. Add gains to the --terms, or state '
            f'effort_gain in the robot file, about {1.0 / factor:.3g} for each joint')


def _without(data: Data, joints: list[int]) -> Data:
    if not joints:
        return data
    effort = data.effort.copy()
    effort[:, joints] = np.nan
    return replace(data, effort=effort)


def _doubts(
    robot: Robot, data: Data, found: Estimate, former: tuple[Doubt, ...],
) -> tuple[Doubt, ...]:
    """Return further joints whose efforts cannot be in the unit that they are taken for."""
    names = robot.joint_names
    heard = np.isfinite(data.effort).any(axis=0) & ~np.isin(names, [one.joint for one in former])
    if 'effort_gain' in found.joints:
        held, alike = (dict(some).get('effort_gain', ()) for some in (found.held, found.alike))
        told = np.isfinite(found.intervals['effort_gain']) | np.isin(names, alike)
        untold = np.flatnonzero(np.isin(names, held) & heard)
        factors = found.gain_factors(robot)[told]
        if untold.size and are_far(factors):
            return tuple(Doubt(names[j], common_factor(factors)) for j in untold)
    else:
        # Beside a payload they may be off a little; one in another unit would widen that of all.
        recorded = found.parameters['inverse_gain'] * found.parameters['common_gain']
        far = heard & ~((recorded > 1.0 / AGREE) & (recorded < AGREE))
        if far.any():
            return tuple(
                Doubt(names[j], recorded=float(recorded[j])) for j in np.flatnonzero(far))
    keys = [key for key in ('amplitude', 'viscous') if key in found.joints]
    if not keys:
        return ()
    given = robot.friction or SigmoidFriction(
        np.zeros(robot.n), np.full(robot.n, 10.0), np.zeros(robot.n))
    law = replace(given, **{
        key: found.joints[key] for key in PARTS['friction'] + PARTS['viscous']
        if key in found.joints})
    largest = np.maximum(law.amplitude, np.abs(law.torque(data.q)[:, 0]).max(axis=0))
    fitted = np.any([np.isfinite(found.intervals[key]) for key in keys], axis=0)
    return tuple(
        Doubt(names[j], friction=float(largest[j]), limit=float(robot.limits.effort[j]))
        for j in np.flatnonzero(heard & fitted & (largest > robot.limits.effort)))


def _identified(model: Terms, begin: Estimate | None) -> Estimate:
    given = model.start.copy()
    theta, held = _start(model, begin)
    kept = given.copy()
    if are_far(model.of('inverse_gain', theta)[model.of('inverse_gain', model.free)]):
        model.of('inverse_gain', kept)[:] = model.of('inverse_gain', model.start)
    found = fit(model, theta, settle=False)
    back = found.theta.copy()
    for kind in _HELD_FIRST:
        if kind == 'inverse_gain' and 'gains' not in model.terms:
            continue
        untold = _untold(model, found, kind)
        if untold.any():
            held[kind] = held.get(kind, np.zeros(model.robot.n, np.bool_)) | untold
            place = model.of(kind, model.free)
            place &= ~np.tile(untold, len(place) // len(untold))
            # Of a zero, its quarters of a turn.
            model.of(kind, back)[~place] = model.of(kind, theta if kind == 'zero' else kept)[
                ~place]
    if 'zeros' in model.terms:
        model.move_to(back)
    found = fit(model, back, settle='payload' not in model.terms)
    if 'payload' in model.terms:
        mass, half, com = _linear_payload(model, found)
        place = model.of('payload', model.free)
        if mass > half:
            place[:] = True
            theta = found.theta.copy()
            model.of('payload', theta)[MASS] = np.log(mass)
            model.of('payload', theta)[COM] = np.clip(com, -0.9, 0.9)
            found = fit(model, theta)
            deviation = found.deviation()[model.places['payload'].start + MASS]
            place[:] = NORMAL_90 * deviation < 1.0
        if not place.any():
            found = fit(model, found.theta)
    alike: dict[str, np.ndarray] = {}
    for kind in ('rotor', 'viscous', 'inverse_gain', 'amplitude'):
        if kind == 'inverse_gain' and 'gains' not in model.terms:
            continue
        those = _alike(model, found, kind, given)
        if those.any():
            alike[kind] = those
            if kind == 'inverse_gain':  # alike for being anything
                wide = those & (NORMAL_90 * model.of(kind, found.deviation()) > _WIDE)
                held[kind] = held.get(kind, np.zeros(model.robot.n, np.bool_)) | wide
                alike[kind] = those & ~wide
            theta = found.theta.copy()
            for other in ('amplitude', 'slope', 'asymmetry') if kind == 'amplitude' else (kind,):
                model.of(other, model.free)[those] = False
                model.of(other, theta)[those] = model.of(other, given)[those]
            found = fit(model, theta)
    return _estimate(model, found, held, alike)


def _alike(model: Terms, found: Fit, kind: str, given: Array) -> np.ndarray:
    """Return the joints whose value of a kind is not significantly another than given, (n,)."""
    half = NORMAL_90 * model.of(kind, found.deviation())
    value = model.of(kind, found.theta)
    alike = np.abs(value - model.of(kind, given)) <= half
    if kind == 'amplitude':  # a friction that is there is fitted, however well it was known
        alike &= half > value
    return np.asarray(alike)


def _bounded(model: Terms, found: Fit) -> list[tuple[str, float, np.ndarray]]:
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


def _start(
    model: Terms, begin: Estimate | None,
) -> tuple[Array, dict[str, np.ndarray]]:
    """Return where to begin, (p,), and what the data cannot tell of which joints."""
    theta, n = model.start.copy(), model.robot.n
    # What needs motion to both sides is told of no joint that does not move so.
    held: dict[str, np.ndarray] = {
        kind: ~model.of(kind, model.free) for term, kind in (
            ('friction', 'amplitude'), ('viscous', 'viscous'), ('rotor', 'rotor'),
            ('gains', 'inverse_gain'))
        if term in model.terms and not model.of(kind, model.free).all()}
    if 'zeros' in model.terms:
        quarters = nearest_zeros(model) if begin is None else (
            np.round(begin.joints['zero'] / (0.5 * np.pi)) * 0.5 * np.pi)
        model.of('zero', theta)[:] = quarters
        model.of('zero', model.start)[:] = model.of('zero', theta)
        model.move_to(theta)
    rigid = (model.regressor @ np.concatenate([
        rigid_body(row).parameters
        for row in model.of('links', theta).reshape(-1, PARAMETERS)])).reshape(-1, n)
    if 'gains' in model.terms:
        gain, clear = _rough_gains(model, rigid) if begin is None else (
            begin.parameters['inverse_gain'], np.isfinite(begin.intervals['effort_gain']))
        unclear = model.of('inverse_gain', model.free) & ~clear
        if unclear.any():
            held['inverse_gain'] = held.get('inverse_gain', False) | unclear
            model.of('inverse_gain', model.free)[unclear] = False
        those = model.of('inverse_gain', model.free)
        if begin is None and are_far(gain[those]):
            # At 1, one that cannot be told would draw links and the other gains along.
            gain[~those] = np.median(gain[those])
            those = model.known.any(axis=0)
        for values in (theta, model.start):
            model.of('inverse_gain', values)[those] = gain[those]
    k = model.effort_per_torque(theta)
    rest = np.where(model.known, model.data.effort / k - rigid, np.nan)
    some = 0.1 * np.array([np.nanstd(c) if np.isfinite(c).any() else 0.0 for c in rest.T])
    those = model.of('amplitude', model.free)
    amplitude = model.of('amplitude', theta)
    amplitude[those] = np.maximum(amplitude, some)[those]
    if begin is not None:
        for kind in ('links', 'amplitude', 'slope', 'viscous', 'rotor'):
            those = model.of(kind, model.free)
            model.of(kind, theta)[those] = begin.parameters[kind][those]
    return theta, held


def _rough_gains(model: Terms, rigid: Array) -> tuple[Array, np.ndarray]:
    """Return effort per N m by least squares beside friction, (n,), and whether it is clear."""
    n = model.robot.n
    gain, clear = np.ones(n), np.zeros(n, np.bool_)
    velocity = model.data.q[:, 1]
    for j in range(n):
        known = model.known[:, j]
        if not known.any():
            continue
        v = velocity[known, j]
        table = np.stack([rigid[known, j], np.tanh(v / 0.05), v, np.ones(len(v))], axis=1)
        scale = np.maximum(np.linalg.norm(table, axis=0), 1e-12)
        effort = model.data.effort[known, j]
        found = np.linalg.lstsq(table / scale, effort, rcond=1e-8)[0]
        left = effort - table / scale @ found
        # Blocks of a second, not samples, count as independent.
        freedom = max(len(np.unique(model.data.block[known])) - 4, 1)
        inverse = np.linalg.pinv((table / scale).T @ (table / scale), rcond=1e-10)
        deviation = np.sqrt(left @ left / freedom * inverse[0, 0])
        gain[j] = found[0] / scale[0]
        clear[j] = abs(found[0]) > _DISTINCT * deviation
    return gain, clear


def _untold(model: Terms, found: Fit, kind: str) -> np.ndarray:
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


def _linear_payload(model: Terms, found: Fit) -> tuple[float, float, Array]:
    """Return the mass of a payload and half its interval, kg, and its centre, (3,) m."""
    value, deviation = solve_linear(
        model, found, model.load_columns(found.theta, model.data.loaded))
    return (float(value[MASS]), NORMAL_90 * float(deviation[MASS]),
            value[COM] / (value[MASS] or np.nan))


def _estimate(
    model: Terms, found: Fit, held: dict[str, np.ndarray], alike: dict[str, np.ndarray],
) -> Estimate:
    robot, n = model.robot, model.robot.n
    theta, half = found.theta, NORMAL_90 * found.deviation()
    joints: dict[str, Array] = {}
    intervals: dict[str, Array] = {}

    def put(term: str, name: str, kind: str) -> None:
        if term in model.terms:
            joints[name], intervals[name] = (
                model.of(kind, theta).copy(), model.of(kind, half).copy())

    put('friction', 'amplitude', 'amplitude')
    if 'friction' in model.terms:
        joints['slope'] = np.exp(model.of('slope', theta))
        intervals['slope'] = model.of('slope', half) * joints['slope']
        joints['velocity_offset'], intervals['velocity_offset'] = _velocity_offset(model, found)
        if robot.friction is not None:  # to the last digit, where they are kept
            kept = np.isnan(intervals['slope'])
            joints['slope'][kept] = robot.friction.slope[kept]
            kept &= np.isnan(intervals['velocity_offset'])
            joints['velocity_offset'][kept] = robot.friction.velocity_offset[kept]
    put('viscous', 'viscous', 'viscous')
    put('rotor', 'rotor_inertia', 'rotor')
    put('gains', 'effort_gain', 'inverse_gain')
    if 'effort_gain' in joints:
        joints['effort_gain'] = (
            1.0 if robot.effort_gain is None else robot.effort_gain) / joints['effort_gain']
        intervals['effort_gain'] = (
            intervals['effort_gain'] * np.abs(joints['effort_gain'] / model.of(
                'inverse_gain', theta)))
    put('zeros', 'zero', 'zero')
    offset, offset_interval = (
        model.of('offset', values).reshape(-1, n) if len(
            model.of('offset', values)) > n else model.of('offset', values).copy()
        for values in (theta, half))
    links: list[Payload] = []
    links_interval = np.zeros((0, PARAMETERS))
    own = np.flatnonzero(found.free)

    def listed_interval(begin: int) -> Array:
        """Half widths of mass, com and inertia of the body whose ten numbers begin there."""
        these = np.flatnonzero((own >= begin) & (own < begin + PARAMETERS))
        by = listed_slope(theta[begin:begin + PARAMETERS])[:, own[these] - begin]
        covariance = found.covariance[np.ix_(these, these)]
        return NORMAL_90 * np.sqrt(np.maximum(np.diag(by @ covariance @ by.T), 0.0))

    begin = model.places['links'].start
    if 'links' in model.terms:
        links = [rigid_body(row) for row in model.of('links', theta).reshape(-1, PARAMETERS)]
        links_interval = np.array([
            listed_interval(begin + PARAMETERS * b) for b in range(len(links))])
    payload, payload_interval, excited = None, np.full(PARAMETERS, np.nan), False
    if model.of('payload', model.free).any():
        place = model.places['payload'].start
        payload = rigid_body(theta[place:place + PARAMETERS])
        payload_interval = listed_interval(place)
        extent = slice(place + EXTENT.start, place + EXTENT.stop)
        excited = bool(np.all(found.deviation()[extent] < _EXCITED * model.prior[extent]))
        if not excited:
            payload = Payload(payload.mass, payload.com, np.zeros((3, 3)))

    def named(those: np.ndarray) -> tuple[str, ...]:
        return tuple(robot.joint_names[j] for j in np.flatnonzero(those))

    at_most = np.nan
    if 'payload' in model.terms and payload is None:
        mass, width, _ = _linear_payload(model, found)
        at_most = max(0.0, mass + width)
    base, told = _ranks(model, found)
    return Estimate(
        joints=joints, intervals=intervals, offset=offset, offset_interval=offset_interval,
        links=tuple(links), links_interval=links_interval, payload=payload,
        payload_interval=payload_interval, inertia_excited=excited,
        payload_at_most=at_most, differing_loads=differing_loads(model, found),
        link_level=found.levels['links'] if model.of('links', model.free).any() else np.nan,
        gain_level=float(np.hypot(found.levels['inverse_gain'], found.levels['common_gain'])) if (
            model.of('inverse_gain', model.free).any() and 'gains' not in model.terms) else np.nan,
        base_parameters=base, told_parameters=told,
        parameters={kind: model.of(kind, theta).copy() for kind in model.places},
        held=tuple((_NAMES.get(kind, kind), named(those)) for kind, those in held.items()
            if those.any()),
        alike=tuple((_NAMES.get(kind, kind), named(those)) for kind, those in alike.items()
            if those.any()),
        bounded=tuple(
            (_NAMES.get(kind, kind), bound, named(those))
            for kind, bound, those in _bounded(model, found)))


def _velocity_offset(model: Terms, found: Fit) -> tuple[Array, Array]:
    """Return the velocity offsets of friction, asymmetry / slope, and their intervals, (n,)."""
    slope = np.exp(model.of('slope', found.theta))
    value = model.of('asymmetry', found.theta) / slope
    column = np.cumsum(found.free) - 1
    variance = np.full(model.robot.n, np.nan)
    by_kind = {'asymmetry': 1.0 / slope, 'slope': -value}
    for j in range(model.robot.n):
        moved = [kind for kind, by in by_kind.items() if model.of(kind, found.free)[j] and by[j]]
        if moved:
            these = [model.of(kind, column)[j] for kind in moved]
            by = np.array([by_kind[kind][j] for kind in moved])
            variance[j] = by @ found.covariance[np.ix_(these, these)] @ by
    return value, NORMAL_90 * np.sqrt(np.maximum(variance, 0.0))


def _ranks(model: Terms, found: Fit) -> tuple[int, int]:
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

