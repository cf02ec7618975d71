"""Fits terms to data; values that are undetermined or not significantly changed stay as given."""
from collections.abc import Collection
from dataclasses import replace

import numpy as np
from scipy.special import chdtrc

from hodyn_ros.identification.data import Data
from hodyn_ros.identification.determined import (
    Masks,
    insignificant,
    is_payload_significant,
    keep,
    steeper,
    undetermined,
)
from hodyn_ros.identification.doubts import common_factor, doubts_of
from hodyn_ros.identification.estimate import Doubt, Estimate, estimate_of
from hodyn_ros.identification.loads import differing_loads, linear_payload, swapped_mass
from hodyn_ros.identification.payload import COM, MASS
from hodyn_ros.identification.recordings import STRETCH
from hodyn_ros.identification.regression import Fit, fit, inverse, misfit
from hodyn_ros.identification.start_values import start_values
from hodyn_ros.identification.terms import Terms
from hodyn_ros.replay.effort_unit import in_another_unit
from hodyn_ros.robot import HodynError, Robot

MIN_BLOCKS = 8  # least number of blocks of time, of 1 s each, with motion

_CLEAR = 3.0  # a load on the arm without a payload is not chance beyond this number of half widths
_CHANCE = 0.05  # probability below which a difference from the given values is not chance


def identify(
    robot: Robot, data: Data, terms: Collection[str], *, each_bag: bool = False,
    begin: Estimate | None = None,
) -> Estimate:
    """Fit terms, some of `TERMS`, to data.

    A payload is found only if its mass differs significantly from 0. It is a point mass if the
    motion does not determine its inertia.

    Parameters
    ----------
    robot : Robot
        The robot as it is known, the mean of the priors.
    data : Data
        Motions and efforts.
    terms : collection of str
        The terms to fit.
    each_bag : bool
        Whether each recording has its own offsets.
    begin : Estimate, optional
        Estimate from other data of the arm, from which the fit starts.

    Raises
    ------
    HodynError
        Too little motion, values too large for a fit, efforts in another unit if neither gains
        nor zeros are a term, or a term (rotor, zeros) that robots with `actuators` do not have.

    """
    for term, motors, key in (
            ('rotor', 'inertias', 'rotor_inertia'),
            ('zeros', 'zeros', 'placements of the joints')):
        if term in terms and robot.actuators is not None:
            raise HodynError(
                f'--terms {term}: the motors under the key `actuators` of robot {robot.name!r} '
                f'have {motors} of their own. Leave this term out, or identify with a copy of the '
                f'robot file without actuators, and take from the result the {key}')
    if np.isfinite(data.factor) and begin is None and not {'gains', 'zeros'} & set(terms):
        raise HodynError(
            f'the efforts are {in_another_unit(data.factor)}. Add gains to the --terms, or state '
            f'effort_gain in the robot file, about {float(f"{1.0 / data.factor:.3g}"):g} for each '
            'joint')
    recorded = np.isfinite(data.effort)
    standing = (recorded & data.stands).sum(axis=0) / np.maximum(recorded.sum(axis=0), 1)
    left_out = 'friction' in terms or robot.friction is not None
    if not left_out:
        data = replace(data, stands=np.zeros_like(data.stands))
    blocks = data.blocks_of_motion
    if blocks < MIN_BLOCKS:
        raise HodynError(
            f'only {blocks} s of motion: at least {MIN_BLOCKS} s are needed to '
            'distinguish parameters from noise. Record at least '
            f'{MIN_BLOCKS + STRETCH} s of motion without a break, since up to {STRETCH} s at a '
            'time are held out to judge the file')
    try:
        doubts = () if begin is None else begin.doubts
        while True:
            silent = np.isin(robot.joint_names, [doubt.joint for doubt in doubts])
            some = replace(data, effort=np.where(silent, np.nan, data.effort))
            found = _identified(Terms(robot, some, terms, each_bag=each_bag), begin)
            more = () if begin is not None else doubts_of(robot, some, found)
            if not more:
                break
            doubts += more
            if len(doubts) == robot.n:
                raise HodynError(_all_doubted(doubts))
    except np.linalg.LinAlgError as error:
        raise HodynError(
            f'the recorded motions or efforts are too large for a fit ({error}): they are not '
            "an arm's") from None
    if begin is None:  # state the common factor of the other gains from the last fit
        determined = np.isfinite(found.intervals.get('effort_gain', np.full(robot.n, np.nan)))
        factor = common_factor(found.gain_factors(robot)[determined])
        doubts = tuple(
            replace(doubt, factor=factor) if np.isfinite(doubt.factor) else doubt
            for doubt in doubts)
    return replace(found, standing=standing, rests_left_out=left_out, doubts=doubts)


def _all_doubted(doubts: Collection[Doubt]) -> str:
    beyond = [
        f'{doubt.joint} {doubt.friction:.3g} N m, limit {doubt.limit:.3g}'
        for doubt in doubts if doubt.limit > 0.0]
    far = [
        f'{doubt.joint} {doubt.recorded:.2g} times'
        for doubt in doubts if not np.isnan(doubt.recorded)]
    coarse = [doubt.joint for doubt in doubts if not np.isnan(doubt.resolution)]
    said = [*filter(None, [
        f'efforts of {", ".join(coarse)} are hardly larger than their resolution'
        if coarse else '',
        'friction is beyond the limits of effort: ' + ', '.join(beyond) if beyond else '',
        "efforts are far from the model's torques: " + ', '.join(far)
        if far else ''])]
    return (
        f'no joint is left to fit to: {"; ".join(said) or "the data determine no gain"}. Check '
        'the unit of the recorded efforts, or add gains to the --terms to find it')


def _identified(model: Terms, begin: Estimate | None) -> Estimate:
    given = model.start.copy()
    # Joints that do not move both ways keep the values that need motion both ways.
    held: Masks = {
        kind: ~model.of(kind, model.free) for term, kind in (
            ('friction', 'amplitude'), ('viscous', 'viscous'), ('rotor', 'rotor'),
            ('gains', 'inverse_gain'))
        if term in model.terms and not model.of(kind, model.free).all()}
    alike: Masks = {}
    model.shares &= ~held.get('inverse_gain', np.zeros(model.robot.n, np.bool_))
    theta, clear = start_values(model, begin)
    payload, bare = model.of('payload', model.free), None
    if 'payload' in model.terms:
        bare = fit(model, theta, settle=False)
        load = linear_payload(model, bare)
        if not model.data.loaded.all():
            extra, half = swapped_mass(model, bare)
            if extra > _CLEAR * half and not differing_loads(model, bare):
                raise HodynError(
                    f'the recordings of --unloaded carry about {extra:.2g} kg more than '
                    'the others: are they swapped? Give the recordings without the payload by '
                    '--unloaded')
        # Free gains and links can absorb a payload's mass, but hardly its first moment.
        payload[:] = load.mass > load.half or (
            bool({'gains', 'links'} & model.terms) and load.chance < _CHANCE)
        theta = bare.theta.copy()
        if payload.any():
            mass, com = load.start
            model.of('payload', theta)[MASS], model.of('payload', theta)[COM] = np.log(mass), com
    found, at_most, given_links = fit(model, theta, like=bare), np.nan, False
    wide: Fit | None = None  # the last fit before values in `alike` were kept
    while True:
        if 'payload' in model.terms and not (payload.any() or given_links):
            load = linear_payload(model, found)
            at_most = max(0.0, load.mass + load.half)
            if at_most and 'links' in model.terms and model.data.loaded.all() and (
                    load.chance < _CHANCE):
                at_most = np.nan  # the last link has absorbed what may be a load
            given_links = 'gains' in model.terms and 'links' not in model.terms
            if given_links:  # without a payload, the written file has the given links
                model.of('links', model.free)[:] = False
                theta = found.theta.copy()
                model.of('links', theta)[:] = model.of('links', model.start)
                found = fit(model, theta, like=found)
        unknown = undetermined(model, found, clear)
        steep = steeper(model, found)
        # The result, if no further value is fixed: its values and intervals are tested.
        stated = found if wide is None else found.uncertain_as(wide)
        drop = payload.any() and not is_payload_significant(model, stated)
        same: Masks = {}
        if not (unknown or drop or steep.any()):
            same = insignificant(model, stated, given)
            if not same and payload.any() and 'links' not in model.terms:
                stated = _with_given_links(model, stated, wide)
                same = insignificant(model, stated, given)
            if not same:
                return estimate_of(model, stated, held, alike, clear, at_most)
            wide = wide or found
        payload[:] &= not drop
        model.leave_out_reversals(steep)
        for masks, more in ((held, unknown), (alike, same)):
            for kind, those in more.items():
                masks[kind] = masks.get(kind, np.zeros_like(those)) | those
        theta = keep(model, found.theta, given, {**unknown, **same})
        found = fit(model, theta, settle=False, like=found)


def _with_given_links(model: Terms, found: Fit, wide: Fit | None) -> Fit:
    """Return a fit with the given links and gains, if these explain the data equally well.

    The written file has the given links, and the given gains if gains are not a term. A payload
    that was fitted together with other links would not suit this file. The uncertainty remains
    that of the free fit, `found`. If the given values explain the data worse, another free fit
    starts from them, as `found` may lie in a flat valley between links and payload. The better of
    the two is returned, with the uncertainty of `wide`.
    """
    free = model.free.copy()
    for kind in model.assumed:
        model.of(kind, model.free)[:] = False
    given = fit(model, model.as_given(found.theta), settle=False, like=found)
    more = 2.0 * (misfit(model, given.theta, found) - misfit(model, found.theta, found))
    others = (free & ~model.free)[free]
    model.free[:] = free
    posterior = inverse(found.curvature + np.diag(found.precision))
    determined = float(np.sum((1.0 - found.precision * np.diag(posterior))[others]))
    if chdtrc(determined, max(more, 0.0)) > _CHANCE:
        return replace(found, theta=given.theta)
    again = fit(model, given.theta, settle=False, like=found)
    again = again if wide is None else again.uncertain_as(wide)
    return min(found, again, key=lambda one: _objective(model, one))


def _objective(model: Terms, found: Fit) -> float:
    away = (found.theta - model.start)[found.free]
    return misfit(model, found.theta, found) + 0.5 * float(np.sum(found.precision * away ** 2))
