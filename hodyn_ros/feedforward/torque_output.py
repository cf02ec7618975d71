"""A published torque: the model's torque, and the stage through which it is published."""
from typing import TypedDict

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.moving_base import BaseMotion, MovingBaseFeedForward
from hodyn_ros.feedforward.output_stage import OutputStage
from hodyn_ros.feedforward.torque import FeedForward

QUANTITIES = ('torque', 'torque rate', "torque's second derivative")


class Terms(TypedDict, total=False):
    """Which terms a torque contains."""

    gravity: bool
    friction: bool


class TorqueOutput:
    """Q, Q̇, Q̈ with chosen terms, as the model gives them and as they are published.

    Arrays have m columns: m = n, or n + 6 with a moving base, for the wrench on it.
    """

    def __init__(
        self, feedforward: FeedForward, motion: Array, terms: Terms, *, fade: float,
        margin: float, strict: bool, base: BaseMotion | None = None,
    ) -> None:
        """Begin at the torque of a motion of the joints, (5, n), and of the base.

        `fade`, `margin` and `strict` are as for `OutputStage`.
        """
        limits, self._n = feedforward.robot.limits, feedforward.robot.n
        # The wrench on a base has no limit.
        effort, rate = np.full((2, feedforward.columns), np.inf)
        effort[:self._n], rate[:self._n] = limits.effort, limits.effort_rate
        self.wanted = np.empty((3, feedforward.columns))  #: (3, m): the model's values
        self._terms = terms
        self.want(feedforward, motion, None, base)
        self.stage = OutputStage(self.wanted, effort, rate, fade, margin, strict=strict)
        published, n = self.stage.published, self._n
        #: (3, 6) or (3, 0): the published wrench on the base, with its derivatives
        self.base_wrench: Array = published[:, n:]
        # Kernels need contiguous arrays, hence the copy.
        #: (3, n): the published Q, Q̇, Q̈
        self.torque: Array = published[:, :n].copy() if self.base_wrench.size else published
        self._bounds = effort, rate
        self._most = effort * (1.0 + margin)
        self._there = np.zeros_like(self.wanted)
        self._deviates = False
        self._kept: Array | None = None

    @property
    def refused(self) -> EffortExcess | None:
        """The value that the stage refused in the last cycle, if any."""
        if self.stage.refused is None:
            return None
        value, row, joint = self.stage.refused
        bound = self._bounds[row][joint] if row < len(self._bounds) else np.inf
        return EffortExcess(
            joint, QUANTITIES[row], value, float(bound), is_refused=True)

    def advance(self, interval: float) -> None:
        """Compute the values to publish, an `interval` (s) after the last ones."""
        self.stage.advance(self.wanted, interval)
        if self.base_wrench.size:
            self.torque[:] = self.stage.published[:, :self._n]

    def want(
        self, feedforward: FeedForward, motion: Array, wrenches: Array | None,
        base: BaseMotion | None = None,
    ) -> None:
        """Evaluate the wanted values for motions of the joints, (5, n), and of the base."""
        self._evaluate(feedforward, motion, wrenches, base, self.wanted)

    def _evaluate(
        self, feedforward: FeedForward, motion: Array, wrenches: Array | None,
        base: BaseMotion | None, out: Array,
    ) -> None:
        if base is None:
            feedforward.torque(motion, out, wrenches=wrenches, **self._terms)
        else:
            assert isinstance(feedforward, MovingBaseFeedForward)
            feedforward.on_base(motion, base, out, wrenches=wrenches, **self._terms)

    def go_over(self) -> None:
        """Start the transition to the wanted values after an event has changed them."""
        # While values are kept, `resume` starts it once the wanted values are finite again.
        if self._kept is None and is_finite(self.wanted):
            self.stage.go_over(self.wanted)

    def keep(self, interval: float) -> None:
        """Hold the last published values, with derivatives 0, if no others can be published.

        `interval` is the time since the last cycle, s.
        """
        begins = self._kept is None
        if self._kept is None:
            self._kept = self.stage.published[0].copy()
        self.wanted[0], self.wanted[1:] = self._kept, 0.0
        if begins:
            self.stage.go_over(self.wanted, ahead=interval)

    def resume(self, interval: float) -> None:
        """Return to the wanted values, if values were kept."""
        if self._kept is not None:
            self._kept = None
            self.stage.go_over(self.wanted, ahead=interval)

    def deviate(
        self, feedforward: FeedForward, point: Array | None, wrenches: Array | None,
        base: BaseMotion | None = None, *, is_measured: bool = True, fades: bool = False,
    ) -> None:
        """Shift Q to its value at another motion, `point`, (5, n), and base; None ends the shift.

        The change takes the time `fade` if `fades`, or if `is_measured` has changed; without a
        `point`, `is_measured` counts as False.
        """
        added = np.zeros(self.wanted.shape[1])
        if point is not None and self._kept is None:
            self._evaluate(feedforward, point, wrenches, base, self._there)
            if is_finite(self._there):
                # Cut to what may be published: a larger addition would take longer to undo.
                added = np.clip(self._there[0], -self._most, self._most) - self.wanted[0]
        is_measured = is_measured and point is not None
        fades = fades or is_measured != self._deviates
        self._deviates = is_measured
        if fades or point is not None:
            self.stage.set_target(added, fades=fades)


@njit()
def is_finite(values: Array) -> bool:
    """Return whether all values of an array, (rows, n), are finite."""
    for row in values:
        for value in row:
            if not np.isfinite(value):
                return False
    return True
