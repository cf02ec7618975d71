"""Finds efforts that are a multiple of the model's: of one joint, or of most joints."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.effort_unit import FAR
from hodyn_ros.replay.friction_fit import FrictionFit

_SHOWS = 0.01  # least share of the variance of efforts that the factor explains
_BETTER = 0.25  # greatest part of the unexplained share that may be left
_CARRIES = 0.01  # least variance of one joint's efforts, as a share of the largest of all joints
_LEAST = 1.15  # least factor of one joint, either way
_OTHERS = 0.002  # greatest share that a factor explains in another joint: a factor of 1.04
# The efforts of most joints are scaled if at least the share _MOST of them have a factor of _CLEAR
# or more, either way, that leaves less than the part _LITTLE of the unexplained share.
_MOST, _CLEAR, _LITTLE = 0.7, 1.5, 0.1


@dataclass(frozen=True)
class ScaledEfforts:
    """Factors of the efforts of one joint or of most, which explain most of the error."""

    joints: tuple[int, ...]  #: The joints of the model
    factors: tuple[float, ...]  #: How many times as large as the model's torques the efforts are
    #: `unexplained`, `left`: Share of the variance of the efforts that is unexplained, without and
    #: with the factors
    unexplained: float
    left: float


def find_scaled_efforts(
    feedforward: FeedForward, samples: EffortSamples, *, gravity: bool,
) -> ScaledEfforts | None:
    """Return factors of one joint's efforts, or of most joints', that explain the error, if any.

    `gravity` says whether the efforts contain gravity. Wrong masses of a wrist's links look like a
    factor of the wrist alone: a single joint that carries little is left out.
    """
    torque = feedforward.torque(samples.q, gravity=gravity, friction=False)[:, 0]
    judged = np.flatnonzero(samples.judged)
    if len(judged) < 3:
        return None
    fit = FrictionFit(torque.shape[1], 1)
    fit.add(samples.q[:, 1], (torque,), samples.effort, samples.known)
    unexplained, left = (fit.unexplained(gain=gain)[judged] for gain in (1.0, None))
    factor = fit.coefficients[0][judged, 0]
    size = np.exp(np.abs(np.log(np.maximum(factor, 1e-9))))
    scaled = (left < _LITTLE * unexplained) & (size > _CLEAR) & (factor > 0.0)
    if np.mean(scaled) < _MOST:
        gained = unexplained - left
        scaled = gained == gained.max()
        alone = int(np.argmax(gained))
        if not (gained[alone] > max(_SHOWS, (1.0 - _BETTER) * unexplained[alone])
                and np.sort(gained)[-2] < _OTHERS and _LEAST < size[alone] < FAR
                and fit.variance[judged[alone]] > _CARRIES * np.nanmax(fit.variance)):
            return None
    start = samples.share(torque)
    torque[:, judged[scaled]] *= factor[scaled]
    return ScaledEfforts(
        tuple(judged[scaled].tolist()), tuple(factor[scaled].tolist()), start,
        samples.share(torque))
