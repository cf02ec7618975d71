"""One joint whose efforts are a factor times the model's, while those of the others fit."""
from dataclasses import dataclass

import numpy as np

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.effort_unit import FAR
from hodyn_ros.replay.friction_fit import FrictionFit

_SHOWS = 0.01  # least share of the variance of efforts that the factor explains
_BETTER = 0.25  # greatest part of the unexplained share that may be left
_CARRIES = 0.01  # least variance of its efforts, as a share of the largest of any joint
_LEAST = 1.15  # least factor, either way
_OTHERS = 0.002  # greatest share that a factor explains in another joint: by about 4 %


@dataclass(frozen=True)
class ScaledEffort:
    """A factor of one joint's efforts, which explains most of the error."""

    joint: int  #: The joint of the model
    factor: float  #: How many times as large as the model's torques the efforts are
    #: `unexplained`, `left`: Share of the variance of this joint's efforts that is unexplained,
    #: without and with the factor
    unexplained: float
    left: float
    left_of_all: float  #: Share of the variance of all efforts that is unexplained with the factor


def find_scaled_effort(
    feedforward: FeedForward, samples: EffortSamples, *, gravity: bool,
) -> ScaledEffort | None:
    """Return the one joint whose efforts differ from the model's torques by a factor, if any.

    `gravity` says whether the efforts contain gravity. Wrong links of a wrist act alike, and show
    in no other joint: joints that carry little are left out.
    """
    torque = feedforward.torque(samples.q, gravity=gravity, friction=False)[:, 0]
    judged = np.flatnonzero(samples.judged)
    if len(judged) < 3:
        return None
    fit = FrictionFit(torque.shape[1], 1)
    fit.add(samples.q[:, 1], (torque,), samples.effort, samples.known)
    unexplained, left = (fit.unexplained(gain=gain) for gain in (1.0, None))
    gained = (unexplained - left)[judged]
    joint = int(judged[np.argmax(gained)])
    factor = float(fit.coefficients[0][joint, 0])
    if not (gained.max() > max(_SHOWS, (1.0 - _BETTER) * unexplained[joint])
            and np.sort(gained)[-2] < _OTHERS
            and fit.variance[joint] > _CARRIES * np.nanmax(fit.variance)
            and 1.0 / FAR < factor < FAR and max(factor, 1.0 / factor) > _LEAST):
        return None
    torque[:, joint] *= factor
    return ScaledEffort(
        joint, factor, float(unexplained[joint]), float(left[joint]), samples.share(torque))
