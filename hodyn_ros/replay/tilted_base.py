"""A base that is tilted, while the robot file has it upright."""
from dataclasses import dataclass, replace

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.replay.shifted_zeros import BETTER

_ROUNDS = 4  # the direction of gravity is found by linear steps
_SHOWS = 0.001  # least unexplained share: a tilt of 3 degrees explains some thousandths
_LEAST, _MOST = 0.05, 0.8  # angles that count as a tilt, rad: others are small, or a mounting


@dataclass(frozen=True)
class TiltedBase:
    """A tilt of the base, which explains most of the error."""

    gravity: tuple[float, ...]  #: The acceleration of gravity in the axes of the robot file, m/s²
    angle: float  #: Its angle from the gravity of the robot file, rad
    #: `unexplained`, `left`: Share of the variance of the efforts that is unexplained, without and
    #: with the tilt
    unexplained: float
    left: float


def find_tilt(feedforward: FeedForward, samples: EffortSamples) -> TiltedBase | None:
    """Return the tilt of the base that explains most of the error, if one does.

    Torques are linear in gravity, so each step solves for its change at right angles to itself.
    """
    robot = feedforward.robot
    strength = float(np.linalg.norm(robot.gravity))
    if robot.floating or not strength or not samples.judged.any():
        return None
    q = samples.q
    rest = feedforward.torque(q, gravity=False, friction=False)[:, 0]
    by_axis = [
        FeedForward(replace(robot, gravity=axis)).torque(q, friction=False)[:, 0] - rest
        for axis in np.eye(3)]

    def torque(gravity: Array) -> Array:
        return np.asarray(rest + sum(
            size * one for size, one in zip(gravity, by_axis, strict=True)))

    gravity = np.array(robot.gravity)
    start = samples.share(torque(gravity))
    if not start > _SHOWS:
        return None
    for _ in range(_ROUNDS):
        across = np.linalg.svd(gravity[np.newaxis])[2][1:]
        fit = FrictionFit(robot.n, 2)
        fit.add(
            q[:, 1], [torque(axis) - rest for axis in across], samples.effort - torque(gravity),
            samples.known)
        products = fit.left.sum(axis=0)
        change = np.linalg.lstsq(products[:-1, :-1], products[:-1, -1], rcond=1e-6)[0]
        gravity = gravity + change @ across
        gravity *= strength / np.linalg.norm(gravity)
    angle = float(np.arccos(np.clip(gravity @ robot.gravity / strength ** 2, -1.0, 1.0)))
    left = samples.share(torque(gravity))
    is_better = left < BETTER * start and samples.square(torque(gravity)) < samples.square(
        torque(np.array(robot.gravity)))
    return TiltedBase(tuple(gravity.tolist()), angle, start, left) if (
        is_better and _LEAST < angle < _MOST) else None
