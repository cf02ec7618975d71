"""Joints whose positions differ between log and model: by a zero, or by the ratio of a gear."""
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from scipy.optimize import minimize_scalar

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.replay.effort_samples import EffortSamples

_SHOWS, BETTER = 0.004, 0.25
"""Least unexplained share, and greatest part of it that an angle may leave which explains it."""

_QUARTERS = (0.0, 0.5 * np.pi, -0.5 * np.pi, np.pi)
# A turn must lower the sum of the logarithms of the unexplained shares by more than _WORTH, and by
# more than _CERTAIN over the number of samples: noise of efforts that gravity hardly changes, with
# a correlation time of 0.5 s, favours a wrong turn by up to 22.
_WORTH, _CERTAIN = 0.05, 25.0
# Angles, rad, and logarithms of ratios tried for each joint: the minimum of a parabola through 0
# and ± _STEP, limited to ± _FARTHEST, and ± _FAR.
_STEP, _FAR, _FARTHEST = 0.05, 0.4, 0.6
# Least ratio of positions, either way, that is named, and greatest part of the unexplained share
# that it may leave: wrong link masses, which act alike, leave more.
_LEAST_RATIO, _SURE = 1.1, 0.07


@dataclass(frozen=True)
class SmallZero:
    """A zero that is off by a small angle, which explains most of the error."""

    joint: int  #: The joint of the model
    turn: float  #: Angle to add to its positions, rad
    #: `unexplained`, `left`: Share of the variance of the efforts that is unexplained, without and
    #: with the turn
    unexplained: float
    left: float


@dataclass(frozen=True)
class ScaledPosition:
    """Positions of one joint that are a ratio too large, which explains most of the error."""

    joint: int  #: The joint of the model
    ratio: float  #: How many times too large they are
    unexplained: float  #: As of `SmallZero`
    left: float


class ZeroSearch:
    """Searches for turns and ratios of joints with which a model explains recorded efforts.

    Bias and friction of each joint are fitted as well, with `gains` also a gain, for efforts in an
    unknown unit. `gravity` says whether the efforts contain gravity, which determines zeros best.
    """

    def __init__(
        self, feedforward: FeedForward, samples: EffortSamples, *, gains: bool = True,
        gravity: bool = True,
    ) -> None:
        self._feedforward, self._samples = feedforward, samples
        self._gains, self._gravity = gains, gravity

    def unexplained(self, turn: Array) -> Array:
        """Return the unexplained share of the variance of each measured effort.

        `turn`, (n,), rad, is added to the recorded positions.
        """
        return self._samples.unexplained(self._predicted(turn), None if self._gains else 1.0)

    def _predicted(self, turn: Array, ratio: Array | float = 1.0) -> Array:
        q = self._samples.q / ratio
        q[:, 0] += turn
        return self._feedforward.torque(q, gravity=self._gravity, friction=False)[:, 0]

    @property
    def _turnable(self) -> list[int]:
        bodies = self._feedforward.robot.joint_bodies
        return [j for j in np.flatnonzero(self._samples.judged).tolist()
                if bodies[j].type == 'revolute']

    def small(self) -> SmallZero | None:
        """Return the one small angle that explains most of the error, if one does."""
        joints = np.arange(self._feedforward.robot.n)
        found = self._best_change(lambda joint, angle: self._predicted(
            np.where(joints == joint, angle, 0.0)))
        return found and SmallZero(*found)

    def ratio(self) -> ScaledPosition | None:
        """Return the ratio of one joint's positions that explains most of the error, if any."""
        joints = np.arange(self._feedforward.robot.n)
        found = self._best_change(lambda joint, exponent: self._predicted(
            np.zeros(len(joints)), np.where(joints == joint, np.exp(exponent), 1.0)))
        if found is None:
            return None
        joint, exponent, unexplained, left = found
        if abs(exponent) < np.log(_LEAST_RATIO) or left > _SURE * unexplained:
            return None
        return ScaledPosition(joint, float(np.exp(exponent)), unexplained, left)

    def _best_change(
        self, predicted: Callable[[int, float], Array],
    ) -> tuple[int, float, float, float] | None:
        """Return the change of one joint that explains most of the error, if one does.

        `predicted` returns torques for a joint and its change. The results are the joint, the
        change, and the unexplained shares without and with it.
        """
        if not self._turnable:
            return None

        def share(joint: int, change: float) -> float:
            return self._samples.share(predicted(joint, change))

        start = share(self._turnable[0], 0.0)
        if not start > _SHOWS:
            return None
        tried = []
        for joint in self._turnable:
            low, high = share(joint, -_STEP), share(joint, _STEP)
            bend = max(low + high - 2.0 * start, 1e-12)
            angle = float(np.clip(0.5 * _STEP * (low - high) / bend, -_FARTHEST, _FARTHEST))
            tried += [(share(joint, at), joint, at) for at in (angle, -_FAR, _FAR)]
        _, joint, angle = min(tried)
        best = minimize_scalar(
            lambda turn: share(joint, turn), bounds=(angle - 0.2, angle + 0.2), method='bounded',
            options={'xatol': 1e-3})
        # If links are wrong, a change may explain changes of efforts, but contradict their means.
        is_better = best.fun < BETTER * start and self._samples.square(
            predicted(joint, best.x)) < self._samples.square(predicted(joint, 0.0))
        return (joint, float(best.x), start, float(best.fun)) if is_better else None

    def turns(self) -> Array:
        """Return the turns of the joints, (n,), rad.

        They are quarter turns, of two joints at a time, as long as that explains more. A joint
        whose turn explains little more keeps its zero.
        """
        robot, turnable = self._feedforward.robot, self._turnable
        worth = max(_WORTH, _CERTAIN / max(len(self._samples.q), 1))

        def cost(turn: Array) -> float:
            left = np.log(np.maximum(self.unexplained(turn), 1e-12)).sum()
            return float(left) + worth * np.count_nonzero(turn)

        best = np.zeros(robot.n)
        least = cost(best)
        while True:
            tried = []
            for joints in combinations(turnable, min(2, len(turnable))):
                for quarters in product(_QUARTERS, repeat=len(joints)):
                    turn = best.copy()
                    turn[list(joints)] = quarters
                    tried.append((cost(turn), turn))
            value, turn = min(tried, key=lambda each: each[0])
            if not value < least - 1e-9:
                return best
            least, best = value, turn
