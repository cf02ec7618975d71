"""Joints whose recordings are likely misread, so that results are in doubt."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.identification.data import Data
from hodyn_ros.identification.estimate import Estimate
from hodyn_ros.identification.validation import Validation
from hodyn_ros.robot import Robot

_MOSTLY = 0.5  # share of a joint's samples; sound ones exceed limits only for moments
_WORSE_THAN_NONE = 1.2  # errors over the deviation of efforts; noise causes no larger ones


@dataclass(frozen=True)
class DoubtfulJoints:
    """Names of joints whose recordings are likely misread.

    Attributes
    ----------
    misplaced : tuple of str
        Mostly outside their limits of position.
    overloaded : tuple of str
        Their efforts, with the gains found, are mostly beyond their limits.
    unexplained : tuple of str
        Their held-out efforts are predicted worse than by a constant.

    """

    misplaced: tuple[str, ...] = ()
    overloaded: tuple[str, ...] = ()
    unexplained: tuple[str, ...] = ()


def doubtful_joints(
    robot: Robot, data: Data, found: Estimate, validation: Validation,
) -> DoubtfulJoints:
    """Return the joints in doubt, less those that are left out as doubts of the estimate."""
    left_out = {doubt.joint for doubt in found.doubts}

    def others(names: list[str]) -> tuple[str, ...]:
        return tuple(name for name in names if name not in left_out)

    return DoubtfulJoints(
        tuple(misplaced_joints(robot, data)), others(overloaded_joints(robot, data, found)),
        others(unexplained_joints(robot, data, found, validation)))


def misplaced_joints(robot: Robot, data: Data) -> list[str]:
    """Return the joints that are mostly outside their limits of position."""
    position, limits = data.q[:, 0], robot.limits
    outside = ((position < limits.position_min) | (position > limits.position_max)).mean(axis=0)
    return [
        name for name, share in zip(robot.joint_names, outside, strict=True) if share > _MOSTLY]


def overloaded_joints(robot: Robot, data: Data, found: Estimate) -> list[str]:
    """Return the joints whose efforts, with the gains found, are mostly beyond limits."""
    known = np.isfinite(data.effort)
    effort = np.abs(np.where(known, data.effort, 0.0) * found.gain_factors(robot))
    beyond = (known & (effort > robot.limits.effort)).sum(axis=0)
    return [name for name, some, all_ in zip(
        robot.joint_names, beyond, known.sum(axis=0), strict=True) if some > _MOSTLY * all_]


def unexplained_joints(
    robot: Robot, data: Data, found: Estimate, validation: Validation,
) -> list[str]:
    """Return the joints whose held-out efforts are predicted worse than by a constant."""
    heard = np.isfinite(data.effort).any(axis=0)
    spread = np.nanstd(data.effort[:, heard], axis=0)
    return [
        robot.joint_names[j] for j, value in zip(
            np.flatnonzero(heard), spread * np.abs(found.gain_factors(robot))[heard], strict=True)
        if validation.held_out_less_mean[j] > _WORSE_THAN_NONE * value]
