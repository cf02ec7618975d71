"""Finds a spring or a counterbalance on one joint, which the model lacks."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.friction_fit import FrictionFit
from hodyn_ros.replay.point_loads import find_load, with_load

# Least unexplained share of the efforts, greatest part of it that a spring may leave, and greatest
# share left: wrong masses of links, which resemble a spring, leave more.
_SHOWS, _SURE, _LEFT = 0.01, 0.1, 0.05
# Greatest ratio of what a spring leaves to what a factor of the effort, of either sign, leaves.
_CLEARER = 0.25


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


def find_joint_spring(
    feedforward: FeedForward, samples: EffortSamples, *, gravity: bool,
) -> JointSpring | None:
    """Return the spring of one joint that explains most of the error, if one does.

    A factor of the joint's effort and a load on a link, which resemble a spring in a small motion,
    must explain less. `gravity` says whether the efforts contain gravity.
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
    torque[:, joint] += stiffness[joint, 0] * position[:, joint]
    is_slide = feedforward.robot.joint_bodies[joint].type == 'prismatic'
    found = JointSpring(
        joint, float(stiffness[joint, 0]), 'N/m' if is_slide else 'N m/rad', unexplained,
        samples.share(torque))
    if found.left > min(_SURE * unexplained, _LEFT) or samples.unexplained(
            torque)[place] > _CLEARER * by_factor[place]:
        return None
    for body in feedforward.robot.bodies:
        load = find_load(
            feedforward, body.name, samples.q, samples.effort, samples.known, gravity=gravity)
        if load is not None and samples.share(FeedForward(with_load(
                feedforward.robot, load)).torque(
                    samples.q, gravity=gravity, friction=False)[:, 0]) < found.left:
            return None
    return found
