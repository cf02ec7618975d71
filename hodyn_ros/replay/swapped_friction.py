"""Finds swapped joints whose efforts are mostly friction, so that only the model's friction tells.

Whatever friction such joints have, their efforts fit the model as well in either order.
"""
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.comparison import percent
from hodyn_ros.replay.effort_samples import EffortSamples
from hodyn_ros.replay.reading import Reading, swapped

# Unexplained share of the efforts of each joint with the model's friction from which they may be
# swapped, and greatest part of it that is left then.
_POOR, _BETTER = 0.2, 0.1


def swapped_friction(
    feedforward: FeedForward, samples: EffortSamples, names: Sequence[str], *, gravity: bool,
) -> str:
    """Return a sentence on two joints in each other's place; empty if there are none.

    `gravity` says whether the efforts contain gravity.
    """
    robot = feedforward.robot
    if robot.friction is None or np.count_nonzero(samples.judged) < 2:
        return ''
    effort = np.where(samples.known, samples.effort, np.nan)
    variance = np.nanvar(np.where(samples.judged, effort, 0.0), axis=0)

    def read(reading: Reading) -> tuple[Array, float]:
        """Return the variance that each joint leaves, (n,), and the mean share by any friction."""
        motion, own = reading.motion(samples.q, robot.turns), reading.effort(effort)
        torque, bare = (
            feedforward.torque(motion, gravity=gravity, friction=friction)[:, 0]
            for friction in (True, False))
        error = np.where(samples.judged, torque - own, 0.0)
        return np.nanvar(error, axis=0), float(
            EffortSamples(motion, own).unexplained(bare, gain=None).mean())

    plain = Reading.plain(robot.n)
    before, by_any = read(plain)
    poor = np.flatnonzero(samples.judged & (before > _POOR * variance)).tolist()
    for i, j in combinations(poor, 2):
        reading, *_ = swapped(plain, i, j)
        after, otherwise = read(reading)
        rest = np.setdiff1d(np.flatnonzero(samples.judged), (i, j))
        fits = after[i] < _BETTER * before[j] and after[j] < _BETTER * before[i]
        if fits and otherwise < by_any and after[rest].sum() <= before[rest].sum():
            cause, = reading.causes(tuple(names))
            share = (before[i] + before[j]) / (variance[i] + variance[j])
            left = (after[i] + after[j]) / (variance[i] + variance[j])
            return (
                f'With the friction of the model, {percent(share)} of the efforts of '
                f'{names[i]} and {names[j]} are unexplained, and {percent(left)} would be if '
                f'{cause}: positions, velocities and efforts. {" ".join(reading.remedies)}')
    return ''
