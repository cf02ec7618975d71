"""Finds a spring or a counterbalance on one joint, which the model lacks."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.effort_unit import FAR
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.replay.point_loads import find_load, with_load
from hodyn_ros.replay.scaled_efforts import ScaledEfforts

# Least unexplained share of the efforts, greatest part of it that a spring may leave, and greatest
# share left: wrong masses of links, which resemble a spring, leave more.
_SHOWS, _SURE, _LEFT = 0.01, 0.1, 0.05
# Greatest ratio of what a spring leaves to what a factor of the effort, of either sign, leaves.
_CLEARER = 0.25

SPRING_CHANGES = 2
"""For how many changes of a reading a spring counts: as many as a load."""


@dataclass(frozen=True)
class JointSpring:
    """An effort proportional to the position of one joint, which explains most of the error."""

    joint: int  #: The joint of the model
    stiffness: float  #: Effort over position
    unit: str  #: Its unit, N m/rad or N/m
    #: `unexplained`, `left`: Share of the variance of the efforts that is unexplained, without and
    #: with the spring
    unexplained: float
    left: float
    #: `factor`, `left_by_factor`: The factor of this joint's efforts that explains most of the
    #: error as well, and the share that it leaves; NaN if no factor does
    factor: float = np.nan
    left_by_factor: float = np.nan


def find_joint_spring(
    feedforward: FeedForward, samples: EffortSamples, *, gravity: bool,
    scaled: ScaledEfforts | None = None,
) -> JointSpring | None:
    """Return the spring of one joint that explains most of the error, if one does.

    A factor of the joint's effort, of either sign, must explain far less, and a load on a link
    less; both resemble a spring in a small motion. `gravity` says whether the efforts contain
    gravity. `scaled` is what `find_scaled_efforts` returns: if it names a factor of this joint
    alone, the error is this joint's, and the spring need only leave less than the factor.
    """
    torque = feedforward.torque(samples.q, gravity=gravity, friction=False)[:, 0]
    unexplained = samples.share(torque)
    if not unexplained > _SHOWS:
        return None
    position = samples.q[:, 0]
    fit = FrictionFit(torque.shape[1], 1)
    fit.add(samples.q[:, 1], (position,), samples.effort - torque, samples.known)
    stiffness, _, left = fit.coefficients
    joint = int(np.argmax(fit.left[:, 1, 1] - left))
    place = int(np.count_nonzero(samples.judged[:joint]))
    by_factor = np.minimum(*(samples.unexplained(sign * torque, None) for sign in (1.0, -1.0)))
    gain = _gain(samples, torque)[joint]
    torque[:, joint] += stiffness[joint, 0] * position[:, joint]
    is_slide = feedforward.robot.joint_bodies[joint].type == 'prismatic'
    alone = scaled if scaled is not None and scaled.joints == (joint,) else None
    found = JointSpring(
        joint, float(stiffness[joint, 0]), 'N/m' if is_slide else 'N m/rad', unexplained,
        samples.share(torque), *((alone.factors[0], alone.left) if alone else ()))
    # A spring that cancels gravity leaves so little that a factor near 0 seems to explain it.
    is_rival = 1.0 / FAR < abs(gain) < FAR
    if found.left > min(_SURE * unexplained, _LEFT) or (is_rival and samples.unexplained(
            torque)[place] > (1.0 if alone else _CLEARER) * by_factor[place]):
        return None
    for body in feedforward.robot.bodies:
        load = find_load(
            feedforward, body.name, samples.q, samples.effort, samples.known, gravity=gravity)
        if load is not None and samples.share(FeedForward(with_load(
                feedforward.robot, load)).torque(
                    samples.q, gravity=gravity, friction=False)[:, 0]) < found.left:
            return None
    return found


def _gain(samples: EffortSamples, torque: Array) -> Array:
    """Return the factors of torques, (S, n), that explain the efforts best, (n,)."""
    fit = FrictionFit(torque.shape[1], 1)
    fit.add(samples.q[:, 1], (torque,), samples.effort, samples.known)
    return fit.coefficients[0][:, 0]
