"""Finds the one change of recording or model that explains most of a small misfit.

Wrong masses or inertias of links may have the same effect, so a recording with such a cause does
not count as misread.
"""
from collections.abc import Collection, Sequence

import numpy as np

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.comparison import percent
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.joint_springs import JointSpring, find_joint_spring
from hodyn_ros.replay.reading import rounded
from hodyn_ros.replay.scaled_efforts import ScaledEfforts, find_scaled_efforts
from hodyn_ros.replay.small_changes import ScaledPosition, SmallChanges, SmallZero, TiltedBase

SlightCause = SmallZero | ScaledPosition | TiltedBase | ScaledEfforts | JointSpring
_ALIKE = 1.2  # ratio of the largest to the least factor below which their median stands for all
# A tilt or a spring is chosen only if it leaves less than this part of what others leave: a tilt
# changes two numbers, and the others one; a spring resembles many wrong models.
_CLEARER = 0.5


def find_slight_cause(
    feedforward: FeedForward, samples: EffortSamples, *, gravity: bool, tilt: bool,
) -> SlightCause | None:
    """Return the change that leaves least unexplained; None if none explains most of the error.

    A tilt or a spring must leave far less than the others; but of a spring and a factor of the
    same joint, which are one number each, the one that leaves less is taken. `gravity` says
    whether the efforts contain gravity, `tilt` whether a tilt may be the cause.
    """
    changes = SmallChanges(feedforward, samples, gravity=gravity)
    scaled = find_scaled_efforts(feedforward, samples, gravity=gravity)
    spring = find_joint_spring(feedforward, samples, gravity=gravity, scaled=scaled)
    if spring is not None and np.isfinite(spring.factor):
        scaled = None  # the spring leaves less than the factor of its joint
    found = [
        changes.zero(), changes.ratio(), changes.tilt() if tilt else None, scaled, spring]
    return min(
        (one for one in found if one is not None), default=None,
        key=lambda one: one.left / (
            _CLEARER if isinstance(one, TiltedBase | JointSpring) else 1.0))


def is_of_terms(cause: SlightCause, terms: Collection[str]) -> bool:
    """Whether these terms of ``hodyn identify`` find the cause."""
    return (isinstance(cause, SmallZero) and 'zeros' in terms) or (
        isinstance(cause, ScaledEfforts) and 'gains' in terms)


def sentence(cause: SlightCause, names: Sequence[str], *, has_springs: bool) -> str:
    """Return a statement of what the cause may be, and what to do about it."""
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
    if isinstance(cause, JointSpring):
        return (
            f'Efforts of {names[cause.joint]} seem to contain {cause.stiffness:+.3g} {cause.unit} '
            f'times its position: with this, {instead}. Does a spring or a counterbalance act on '
            'this joint? A robot file cannot describe it: subtract its effort from the recorded '
            'ones. Wrong masses of links may have the same effect' + (
                '.' if np.isnan(cause.factor) else
                f', and a factor of {cause.factor:.3g} of its efforts (gear ratio, torque '
                f'constant) a similar one, which would leave {percent(cause.left_by_factor)}.'))
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
