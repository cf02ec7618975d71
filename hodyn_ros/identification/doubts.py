"""Joints whose efforts are left out, or whose results are in doubt."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array, Flags
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.identification.estimate import Doubt, Estimate
from hodyn_ros.replay.effort_unit import AGREE
from hodyn_ros.replay.position_ranges import mostly_outside
from hodyn_ros.robot import Robot

_MOSTLY = 0.5  # a larger share of efforts beyond limits is in doubt: correct efforts rarely are
# If most other joints' gains changed by more than this ratio, an undetermined gain is not kept.
_OTHER_GAINS = 1.2
_COARSE = 1.5  # ratio of RMS effort to resolution below which efforts may be too coarse
_DIGITS = 9  # decimals kept of efforts over their range; smaller differences are round-off
# RMS error, over the standard deviation of the efforts, above which a constant predicts the
# efforts better. It is more than 1 since noise causes ratios up to about 1.
_WORSE_THAN_NONE = 1.2


@dataclass(frozen=True)
class DoubtfulJoints:
    """Names of joints whose recordings are likely misread."""

    #: Joints with positions, corrected by the zeros found, mostly outside their limits
    misplaced: tuple[str, ...] = ()
    #: Joints with efforts, converted by the gains found, mostly beyond their limits
    overloaded: tuple[str, ...] = ()
    #: Joints whose held-out efforts a constant would predict better
    unexplained: tuple[str, ...] = ()


def are_far(factors: Array, ratio: float = AGREE) -> bool:
    """Whether most factors, either way, differ from 1 by more than a ratio."""
    return bool(len(factors)) and float(np.median(np.abs(np.log(np.abs(factors))))) > np.log(
        ratio)


def common_factor(factors: Array) -> float:
    """Return the median of similar factors; NaN if they differ."""
    if not len(factors) or np.any(factors <= 0.0):
        return np.nan
    middle = float(np.median(factors))
    return middle if np.abs(np.log(factors / middle)).max() < np.log(AGREE) else np.nan


def doubts_of(robot: Robot, data: Data, found: Estimate) -> tuple[Doubt, ...]:
    """Return the joints whose efforts are too coarse, or cannot be in the assumed unit.

    `robot` is the one before identification, `found` the estimate from `data`.
    """
    names = robot.joint_names
    coarse = _coarse(robot, data)
    if np.isfinite(coarse).any():
        return tuple(
            Doubt(names[j], resolution=float(coarse[j]))
            for j in np.flatnonzero(np.isfinite(coarse)))
    heard = np.isfinite(data.effort).any(axis=0)
    if 'effort_gain' in found.joints:
        kept = heard & np.isin(names, dict(found.held).get('effort_gain', ()))
        by_others = heard & np.isin(names, found.gains_by_others)
        factors = found.gain_factors(robot)[heard & ~kept & ~by_others]
        unknown = kept & are_far(factors, _OTHER_GAINS) | by_others & are_far(factors)
        if unknown.any():
            return tuple(
                Doubt(names[j], common_factor(factors)) for j in np.flatnonzero(unknown))
    else:
        # If gains are fitted only because a payload is, all have one narrow prior. A single joint
        # with efforts in another unit would widen it for all joints, so it is left out.
        recorded = found.parameters['inverse_gain'] * found.parameters['common_gain']
        far = heard & ~((recorded > 1.0 / AGREE) & (recorded < AGREE))
        if far.any():
            return tuple(
                Doubt(names[j], recorded=float(recorded[j])) for j in np.flatnonzero(far))
    keys = [key for key in ('amplitude', 'viscous') if key in found.joints]
    if not keys or found.friction is None:
        return ()
    largest = np.maximum(
        found.friction.amplitude, np.abs(found.friction.torque(data.q)[:, 0]).max(axis=0))
    fitted = np.any([np.isfinite(found.intervals[key]) for key in keys], axis=0)
    return tuple(
        Doubt(names[j], friction=float(largest[j]), limit=float(robot.limits.effort[j]))
        for j in np.flatnonzero(heard & fitted & (largest > robot.limits.effort)))


def _coarse(robot: Robot, data: Data) -> Array:
    """Return the resolution of efforts that are too coarse for a fit, (n,); NaN for others.

    Such efforts are hardly larger than their resolution, and the given robot predicts them to
    within it. Gains and friction fitted to them would be wrong, as rounding is not noise.
    """
    predicted = FeedForward(robot).torque(data.q, gravity=data.gravity)[:, 0]
    found = np.full(robot.n, np.nan)
    for j in range(robot.n):
        known = np.isfinite(data.effort[:, j])
        effort, error = data.effort[known, j], (predicted - data.effort)[known, j]
        extent = np.ptp(effort) if len(effort) else 0.0
        if extent > 0.0:
            step = extent * np.median(np.diff(np.unique(np.round(effort / extent, _DIGITS))))
            is_coarse = _rms(effort) < _COARSE * step and _rms(error) < step
            found[j] = step if is_coarse else np.nan
    return found


def _rms(values: Array) -> float:
    return float(np.sqrt(np.mean(values ** 2)))


def doubtful_joints(
    robot: Robot, data: Data, found: Estimate, held_out: Array,
) -> DoubtfulJoints:
    """Return the joints whose results are in doubt.

    Joints in `found.doubts` have no fitted efforts: only their positions are checked. `held_out`,
    (n,), are the errors of held-out efforts, see `Validation.held_out_less_mean`.
    """
    limits, known = robot.limits, np.isfinite(data.effort)
    position = data.q[:, 0] + found.joints.get('zero', 0.0)
    heard = known.any(axis=0)
    effort = data.effort * found.gain_factors(robot)
    beyond = known & (np.abs(effort) > limits.effort)
    worse = heard & (held_out > _WORSE_THAN_NONE * np.nanstd(np.where(heard, effort, 0.0), axis=0))
    judged = ~np.isin(robot.joint_names, [doubt.joint for doubt in found.doubts])

    def named(those: Flags) -> tuple[str, ...]:
        return tuple(robot.joint_names[j] for j in np.flatnonzero(those))

    return DoubtfulJoints(
        named(mostly_outside(robot, position)),
        named(judged & (beyond.sum(axis=0) > _MOSTLY * known.sum(axis=0))), named(judged & worse))
