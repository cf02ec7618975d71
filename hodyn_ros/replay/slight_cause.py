"""The one change of recording or model that explains most of a small misfit.

Wrong masses or inertias of links may have the same effect, so a recording with such a cause does
not count as misread.
"""
from collections.abc import Collection, Sequence

import numpy as np

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.comparison import percent
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.reading import rounded
from hodyn_ros.replay.scaled_efforts import ScaledEfforts, find_scaled_efforts
from hodyn_ros.replay.shifted_zeros import ScaledPosition, SmallZero, ZeroSearch
from hodyn_ros.replay.tilted_base import TiltedBase, find_tilt

SlightCause = SmallZero | ScaledPosition | TiltedBase | ScaledEfforts
_ALIKE = 1.2  # ratio of factors of efforts up to which they are said as one
_CLEARER = 0.5  # a tilt is chosen only if it leaves less than this part of what others leave


def find_slight_cause(
    feedforward: FeedForward, samples: EffortSamples, *, gravity: bool, tilt: bool,
) -> SlightCause | None:
    """Return the best of the changes that explain most of the error; None if none does.

    It leaves least unexplained. A tilt is chosen only if it leaves far less than all others.
    `gravity` says whether the efforts contain gravity, `tilt` whether a tilt may be the cause.
    """
    search = ZeroSearch(feedforward, samples, gains=False, gravity=gravity)
    found = [
        search.small(), search.ratio(), find_tilt(feedforward, samples) if tilt else None,
        find_scaled_efforts(feedforward, samples, gravity=gravity)]
    # A tilt changes two numbers, and the others one: it must explain more.
    return min(
        (one for one in found if one is not None), default=None,
        key=lambda one: one.left / (_CLEARER if isinstance(one, TiltedBase) else 1.0))


def is_of_terms(cause: SlightCause, terms: Collection[str]) -> bool:
    """Whether these terms of ``hodyn identify`` find the cause."""
    return (isinstance(cause, SmallZero) and 'zeros' in terms) or (
        isinstance(cause, ScaledEfforts) and 'gains' in terms)


def sentence(cause: SlightCause, names: Sequence[str], *, has_springs: bool) -> str:
    """Return what the cause may be, and what to do about it."""
    instead = (
        f'{percent(cause.left)} of the efforts would be unexplained instead of '
        f'{percent(cause.unexplained)}')
    if isinstance(cause, TiltedBase):
        return (
            f'The base seems to be tilted by {np.degrees(cause.angle):.2g} degrees: with gravity '
            f'along {rounded(cause.gravity)}, {instead}. Write this gravity, or the base_pose, to '
            'the robot file; wrong masses or inertias of links may have the same effect.')
    if isinstance(cause, SmallZero):
        return (
            f'The zero of {names[cause.joint]} seems to be off: with {cause.turn:+.2g} rad added '
            f'to its positions, {instead}. `hodyn identify --terms zeros friction` finds the '
            f'angle{"; give it a robot file without actuators" * has_springs}. Wrong masses or '
            'inertias of links, or a tilted base, may have the same effect.')
    if isinstance(cause, ScaledPosition):
        return (
            f'Positions of {names[cause.joint]} seem to be {cause.ratio:.3g} times the true ones: '
            f'divided by this, {instead}. Check the gear ratio by which the driver divides the '
            'angle of the motor; wrong masses or inertias of links may have the same effect.')
    if len(cause.joints) == 1:
        return (
            f'Efforts of {names[cause.joints[0]]} are about {cause.factors[0]:.3g} times the '
            f"model's torques, unlike those of other joints: with this factor {instead}. Check "
            'the gear ratio and the torque constant of this joint; wrong masses or inertias of '
            'links may have the same effect. `hodyn identify --terms gains` finds the factor.')
    each = ', '.join(f'{names[joint]} {factor:.2g}' for joint, factor in zip(
        cause.joints, cause.factors, strict=True))
    what = (
        f'The efforts are about {float(np.median(cause.factors)):.2g} times'
        if max(cause.factors) < _ALIKE * min(cause.factors)
        else 'The efforts of each joint are a different multiple of')
    return (
        f"{what} the model's torques ({each}): with these factors {instead}. Are they motor "
        'currents, or in another unit? Let the driver send N m (or N), or find `effort_gain` by '
        '`hodyn identify --terms gains` and write it to the robot file.')
