"""Efforts that are recorded in another unit than the model's torques, as the motion shows."""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.data import Data
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

_FAR = 5.0  # no load of an arm and no error of its model is this many times the efforts
_AGREE = 3.0  # factor about the median: wrong links and loads are no more
_CLEAR = 5.0  # standard deviations
_EXPLAINS = 0.5  # of the variance that friction and a constant leave


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

    """

    joint: str
    factor: float = np.nan
    friction: float = np.nan
    limit: float = np.nan


def are_far(factors: Array) -> bool:
    """Whether most factors are far from 1."""
    return bool(len(factors)) and float(np.median(np.abs(np.log(np.abs(factors))))) > np.log(
        _AGREE)


def common_factor(factors: Array) -> float:
    """Return the median of factors that are alike; NaN where they are not."""
    if not len(factors) or np.any(factors <= 0.0):
        return np.nan
    middle = float(np.median(factors))
    return middle if np.abs(np.log(factors / middle)).max() < np.log(_AGREE) else np.nan


def recorded_factor(robot: Robot, data: Data) -> float:
    """Return how many times the model's torques the efforts are, if far from 1 alike; else NaN.

    Each joint's effort is fitted by its torques of gravity and of inertia, apart, beside a
    friction and a constant: a driver that subtracts gravity records no other unit.

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
    factors = []
    for j in range(robot.n):
        known = data.known[:, j]
        if np.count_nonzero(known) < 2 * _CLEAR or not np.ptp(whole[known, j]):
            continue
        v, effort = data.q[known, 1, j], data.effort[known, j]
        rest = np.linalg.qr(np.stack([np.tanh(v / 0.05), v, np.ones_like(v)], axis=1))[0]
        left, *both = (values - rest @ (rest.T @ values) for values in (
            effort, (whole - weightless)[known, j], weightless[known, j]))
        table = np.stack(both, axis=1)
        scale = np.maximum(np.linalg.norm(table, axis=0), 1e-12)
        found = np.linalg.lstsq(table / scale, left, rcond=1e-8)[0]
        error = left - table / scale @ found
        # Blocks of time, not samples, count as independent.
        freedom = max(len(np.unique(data.block[known])) - 5, 1)
        inverse = np.linalg.pinv((table / scale).T @ (table / scale), rcond=1e-10)
        deviation = np.sqrt(error @ error / freedom * np.diag(inverse))
        gravity, inertia = np.abs(found) > _CLEAR * deviation
        of_gravity, of_inertia = found / scale
        if inertia and 1.0 / _AGREE < of_inertia < _AGREE:
            return np.nan
        if gravity and error @ error < (1.0 - _EXPLAINS) * (left @ left):
            factors.append(of_gravity)
    factor = common_factor(np.array(factors)) if len(factors) > 1 else np.nan
    return factor if abs(np.log(factor)) > np.log(_FAR) else np.nan
