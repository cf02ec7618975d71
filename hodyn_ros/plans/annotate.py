"""Samples a plan with its torques, for a controller that plays the samples."""
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.messages.joint_trajectory import encode
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError

# Default and bounds of the largest time between samples, s.
PERIOD = 5e-3
MIN_PERIOD, MAX_PERIOD = 1e-3, 1.0


@dataclass(frozen=True, eq=False)
class Annotated:
    """Samples of a plan; joint_trajectory_controller joins their efforts by straight lines."""

    names: tuple[str, ...]  #: Joint names of the controller that plays the samples
    times: Array  #: (T,), s, from the plan's zero
    #: `motion`, `torque`: q … q⁗, (T, 5, n), and Q, Q̇, Q̈, (T, 3, n)
    motion: Array
    torque: Array

    def message(self, stamp: int = 0) -> bytes:
        """Return the samples as a serialized JointTrajectory that starts at `stamp`, ns."""
        return encode(self.names, self.times, self.motion, self.torque[:, 0], stamp)


def annotate(
    plan: Plan,
    feedforward: FeedForward,
    period: float = PERIOD,
    *,
    names: tuple[str, ...] | None = None,
    gravity: bool = True,
    friction: bool = True,
) -> Annotated:
    """Sample a plan at most `period` seconds apart, evenly from one stop to the next.

    Each stop has a sample: without it, the sampled motion would not rest there, and be slower.

    Parameters
    ----------
    plan : Plan
        The plan.
    feedforward : FeedForward
        Feed-forward of the robot that follows the plan.
    period : float
        Largest time between samples, s, from `MIN_PERIOD` to `MAX_PERIOD`.
    names : tuple of str, optional
        Joint names of the controller that plays the plan; the robot's by default.
    gravity, friction : bool
        False leaves the term out of the torques, for a controller that adds the term itself.

    """
    # Times are rounded before positions are computed: messages store whole nanoseconds, and
    # positions of other instants would be played with jerk.
    parts = [
        np.linspace(*ends, sample_count(ends[1] - ends[0], period))[1:]
        for ends in pairwise(_stops(plan, period))]
    times = np.concatenate([[0.0], *parts]).round(9)
    motion = plan.evaluate(np.append(times[:-1], plan.duration))
    torque = feedforward.torque(motion, gravity=gravity, friction=friction)
    return Annotated(names or feedforward.robot.joint_names, times, motion, torque)


def _stops(plan: Plan, apart: float) -> list[float]:
    """Return start, stops and end of a plan, s, without stops within `apart` of another."""
    rests = ~np.asarray(plan.evaluate(plan.times)[:, 1:].any(axis=(1, 2)))
    begins_or_ends = rests[1:-1] & ~(rests[:-2] & rests[2:])  # not in the middle of a rest
    stops = [0.0]
    for stop in plan.times[1:-1][begins_or_ends].tolist():
        if stops[-1] + apart <= stop <= plan.duration - apart:
            stops.append(stop)
    return [*stops, plan.duration]


def sample_count(duration: float, period: float) -> int:
    """Return the number of samples of a duration, s, at most `period` seconds apart."""
    if not MIN_PERIOD <= period <= MAX_PERIOD:
        raise HodynError(
            f'period {period} s: must be between {MIN_PERIOD:g} and {MAX_PERIOD:g} s')
    return max(1, int(np.ceil(duration / period - 1e-9))) + 1 if duration > 0.0 else 1
