"""Finds joints whose zeros differ between log and model by quarter turns."""
from functools import cache
from itertools import combinations, product

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples

_QUARTERS = (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi)
# A turn must lower the sum of the logarithms of the unexplained shares by more than _WORTH, and by
# more than _CERTAIN over the number of samples. For nearly constant efforts, noise that is
# correlated over 0.5 s lowers it at a wrong turn by up to 22 over this number.
_WORTH, _CERTAIN = 0.05, 25.0


def quarter_turns(
    feedforward: FeedForward, samples: EffortSamples, *, gains: bool = True,
) -> Array:
    """Return the turns of the joints, (n,), rad, with which a model explains recorded efforts.

    Quarter turns of two joints at a time are added as long as these explain more. A joint whose
    turn explains little more keeps its zero. Bias and friction of each joint are fitted as well,
    with `gains` also a gain, for efforts in an unknown unit.
    """
    turnable = turnable_joints(feedforward, samples)
    worth = max(_WORTH, _CERTAIN / max(len(samples.q), 1))

    @cache
    def cost(turn: tuple[float, ...]) -> float:
        q = samples.q.copy()
        q[:, 0] += turn
        left = samples.unexplained(
            feedforward.torque(q, friction=False)[:, 0], None if gains else 1.0)
        return float(np.log(np.maximum(left, 1e-12)).sum()) + worth * np.count_nonzero(turn)

    best = (0.0,) * feedforward.robot.n
    while True:
        tried = [best]
        for joints in combinations(turnable, min(2, len(turnable))):
            for quarters in product(_QUARTERS, repeat=len(joints)):
                turn = np.array(best)
                turn[list(joints)] = quarters
                tried.append(tuple(turn.tolist()))
        least = min(tried, key=cost)
        if not cost(least) < cost(best) - 1e-9:
            return np.array(best)
        best = least


def turnable_joints(feedforward: FeedForward, samples: EffortSamples) -> list[int]:
    """Return the revolute joints whose efforts are judged."""
    bodies = feedforward.robot.joint_bodies
    return [
        joint for joint in np.flatnonzero(samples.judged).tolist()
        if bodies[joint].type == 'revolute']
