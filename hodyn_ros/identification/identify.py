"""Terms fitted to data: what the data cannot tell, or does not change, is kept as it was."""
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.actuators.friction import SigmoidFriction
from hodyn_ros.estimation.effort_unit import AGREE
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.estimate import PARTS, Estimate, estimate_of
from hodyn_ros.identification.identifiability import are_alike, are_untold
from hodyn_ros.identification.loads import linear_payload
from hodyn_ros.identification.payload import COM, MASS
from hodyn_ros.identification.regression import NORMAL_90, Fit, fit
from hodyn_ros.identification.start_values import start_values, tell_by_others
from hodyn_ros.identification.terms import Terms
from hodyn_ros.identification.units import Doubt, are_far, common_factor, recorded_factor
from hodyn_ros.robot import HodynError, Robot

Array = NDArray[np.float64]

MIN_BLOCKS = 8

_WIDE = 0.5  # half an interval of a gain, in units of that given: beyond, it is not told
_HELD_FIRST = ('asymmetry', 'slope', 'zero', 'viscous', 'rotor', 'offset', 'inverse_gain')


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
    theta, held = start_values(model, begin)
    theta = _hold_untold(model, theta, given, held)
    if 'zeros' in model.terms:
        model.move_to(theta)
    found = fit(model, theta, settle='payload' not in model.terms)
    if 'payload' in model.terms:
        found = _with_payload(model, found)
    found, alike = _keep_alike(model, found, given, held)
    return estimate_of(model, found, held, alike)


def _hold_untold(
    model: Terms, theta: Array, given: Array, held: dict[str, np.ndarray],
) -> Array:
    """Fit once, and hold what the data cannot tell; return where to begin the next fit, (p,)."""
    kept = given.copy()
    if are_far(model.of('inverse_gain', theta)[model.of('inverse_gain', model.free)]):
        model.of('inverse_gain', kept)[:] = model.of('inverse_gain', model.start)
    found = fit(model, theta, settle=False)
    back = found.theta.copy()
    for kind in _HELD_FIRST:
        if kind == 'inverse_gain' and 'gains' not in model.terms:
            continue
        untold = are_untold(model, found, kind)
        if kind == 'inverse_gain':
            untold &= np.isinf(model.of(kind, model.prior))
            untold &= ~_told_by_others(model, back, untold)
        if untold.any():
            held[kind] = held.get(kind, np.zeros(model.robot.n, np.bool_)) | untold
            place = model.of(kind, model.free)
            place &= ~np.tile(untold, len(place) // len(untold))
            # Of a zero, its quarters of a turn.
            model.of(kind, back)[~place] = model.of(kind, theta if kind == 'zero' else kept)[
                ~place]
    return np.asarray(back)


def _told_by_others(model: Terms, theta: Array, untold: np.ndarray) -> np.ndarray:
    """Return which gains of those that the data cannot tell, (n,), other joints' tell instead."""
    gain = model.of('inverse_gain', theta)
    from_others = ~np.isinf(model.of('inverse_gain', model.prior))
    return untold & bool(untold.any() and tell_by_others(model, gain, untold | from_others))


def _with_payload(model: Terms, found: Fit) -> Fit:
    """Fit with a payload where its mass differs from 0, without one where it does not."""
    mass, half, com = linear_payload(model, found)
    place = model.of('payload', model.free)
    if mass > half:
        place[:] = True
        theta = found.theta.copy()
        model.of('payload', theta)[MASS] = np.log(mass)
        model.of('payload', theta)[COM] = np.clip(com, -0.9, 0.9)
        found = fit(model, theta)
        deviation = found.deviation()[model.places['payload'].start + MASS]
        place[:] = NORMAL_90 * deviation < 1.0
    return found if place.any() else fit(model, found.theta)


def _keep_alike(
    model: Terms, found: Fit, given: Array, held: dict[str, np.ndarray],
) -> tuple[Fit, dict[str, np.ndarray]]:
    """Fit with values kept that are not significantly others than given; return these too."""
    alike: dict[str, np.ndarray] = {}
    for kind in ('rotor', 'viscous', 'inverse_gain', 'amplitude'):
        if kind == 'inverse_gain' and 'gains' not in model.terms:
            continue
        those = are_alike(model, found, kind, given)
        if kind == 'inverse_gain':  # what other joints tell is another than given
            those &= np.isinf(model.of(kind, model.prior))
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
    return found, alike
