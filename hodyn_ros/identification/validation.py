"""Cross-validation: what a fit is worth on motion that it has not seen."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.identification.regression import Data, identify
from hodyn_ros.robot import Robot

Array = NDArray[np.float64]

FOLDS = 4
_STRETCH = 4  # blocks in a row that are held out together


def cross_validate(robot: Robot, data: Data, terms: Sequence[str]) -> tuple[Array, Array]:
    """Return the RMS errors of the robot as it is and as identified, (n,), N m.

    The recording is cut into stretches of some seconds. Each quarter of them is predicted by what
    is identified from the other three.
    """
    fold = data.block // _STRETCH % FOLDS
    before, after = np.zeros(robot.n), np.zeros(robot.n)
    count = np.zeros(robot.n)
    for held in range(FOLDS):
        part, rest = data[fold == held], data[fold != held]
        if not len(part.q):
            continue
        found = identify(robot, rest, terms)
        former = FeedForward(robot).torque(part.q, gravity=part.gravity)[:, 0]
        known = np.isfinite(part.effort)
        for total, predicted in ((before, former), (after, found.predict(robot, part))):
            total += np.where(known, (predicted - part.effort) ** 2, 0.0).sum(axis=0)
        count += known.sum(axis=0)
    count = np.maximum(count, 1)
    return np.sqrt(before / count), np.sqrt(after / count)
