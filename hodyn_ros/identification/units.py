"""Efforts that are recorded in another unit than the model's torques, as the motion shows."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation.effort_unit import AGREE, EffortUnit
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

_CLOSELY = 0.5  # of what gains are off together: how far apart they may be to tell another one
_LEAST_SCATTER = 0.1  # of what gains of some drives have to tell of another


@dataclass(frozen=True)
class Doubt:
    """Why the efforts of a joint are left out: in the unit they are taken for, they cannot be.

    Attributes
    ----------
    joint : str
        Name of the joint.
    factor : float
        Where its gain cannot be told: what those of the other joints changed by, NaN where that
        differs from joint to joint, or where its gain is not what is in doubt.
    friction, limit : float
        The friction that it would have, and its limit of effort, N m; NaN where its gain is in
        doubt.
    recorded : float
        Where no gains were looked for, and its own is far off: how many times the model's torques
        its efforts are.

    """

    joint: str
    factor: float = np.nan
    friction: float = np.nan
    limit: float = np.nan
    recorded: float = np.nan


def are_far(factors: Array) -> bool:
    """Whether most factors are far from 1."""
    return bool(len(factors)) and float(np.median(np.abs(np.log(np.abs(factors))))) > np.log(
        AGREE)


def common_factor(factors: Array) -> float:
    """Return the median of factors that are alike; NaN where they are not."""
    if not len(factors) or np.any(factors <= 0.0):
        return np.nan
    middle = float(np.median(factors))
    return middle if np.abs(np.log(factors / middle)).max() < np.log(AGREE) else np.nan


def gain_by_others(factors: Array) -> tuple[float, float]:
    """Return what a joint's gain is likely to be by those of others, and its deviation; else NaN.

    Drives that are off alike are fed by one mistake, of a unit or a scale, and so is one more of
    them. Where they scatter as much as they are off, or are far off, nothing is said of it.

    Parameters
    ----------
    factors : (k,) array
        Gains of other joints, in units of those given.

    """
    middle = common_factor(factors)
    if len(factors) < 2 or np.isnan(middle) or are_far(factors):
        return np.nan, np.nan
    scatter = float(np.sqrt(np.sum(np.log(factors / middle) ** 2) / (len(factors) - 1)))
    if scatter > _CLOSELY * abs(np.log(middle)):
        return np.nan, np.nan
    return middle, middle * max(scatter, _LEAST_SCATTER)


def recorded_factor(robot: Robot, data: Data) -> float:
    """Return how many times the model's torques the efforts are, see `EffortUnit.factor`.

    Parameters
    ----------
    robot : Robot
        The model.
    data : Data
        Motions and efforts.

    """
    feedforward = FeedForward(robot)
    whole, weightless = (
        feedforward.torque(data.q, gravity=gravity, friction=False)[:, 0]
        for gravity in (True, False))
    unit = EffortUnit(robot.n)
    unit.add(
        whole - weightless, weightless, data.q[:, 1], data.effort, data.known, data.block)
    return unit.factor
