"""A torque that is published: what the model asks for, and the stage that it goes over by."""
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.motion_limits import EffortExcess
from hodyn_ros.feedforward.output_stage import OutputStage
from hodyn_ros.feedforward.torque import FeedForward

Array = NDArray[np.float64]


QUANTITIES = ('torque', 'torque rate', "torque's second derivative")


class Terms(TypedDict, total=False):
    """Which terms a torque contains."""

    gravity: bool
    friction: bool


class TorqueOutput:
    """Q, Q̇, Q̈ with some of their terms, as the model has them and as they are published.

    Attributes
    ----------
    wanted : (3, n) array
        What the model asks for.
    stage : OutputStage
        What is published.

    """

    def __init__(
        self, feedforward: FeedForward, motion: Array, terms: Terms, *, fade: float,
        margin: float, strict: bool,
    ) -> None:
        """Take the motion, (5, n), at whose torque it begins, and how `OutputStage` goes over."""
        limits = feedforward.robot.limits
        self.wanted = feedforward.torque(motion, **terms)
        self.stage = OutputStage(
            self.wanted, limits.effort, limits.effort_rate, fade, margin, strict=strict)
        self._terms = terms
        self._bounds = limits.effort, limits.effort_rate
        self._most = limits.effort * (1.0 + margin)
        self._there = np.zeros_like(self.wanted)
        self._deviates = False
        self._kept: Array | None = None

    @property
    def refused(self) -> EffortExcess | None:
        """What the gate refused in the last cycle."""
        if self.stage.refused is None:
            return None
        value, row, joint = self.stage.refused
        bound = self._bounds[row][joint] if row < len(self._bounds) else np.inf
        return EffortExcess(
            joint, QUANTITIES[row], value, float(bound), is_refused=True)

    def want(self, feedforward: FeedForward, motion: Array, wrenches: Array | None) -> None:
        """Evaluate what should be published for a motion, (5, n)."""
        feedforward.torque(motion, self.wanted, wrenches=wrenches, **self._terms)

    def go_over(self) -> None:
        """Go over to what is wanted, which a cause has changed."""
        # What is kept goes over when there are numbers again.
        if self._kept is None and is_finite(self.wanted):
            self.stage.go_over(self.wanted)

    def keep(self, interval: float) -> None:
        """Want what was published last, at rest, instead of what is no number.

        `interval` is the time, s, since the last cycle.
        """
        begins = self._kept is None
        if self._kept is None:
            self._kept = self.stage.published[0].copy()
        self.wanted[0], self.wanted[1:] = self._kept, 0.0
        if begins:
            self.stage.go_over(self.wanted, ahead=interval)

    def resume(self, interval: float) -> None:
        """Go over to what is wanted again, if something was kept."""
        if self._kept is not None:
            self._kept = None
            self.stage.go_over(self.wanted, ahead=interval)

    def deviate(
        self, feedforward: FeedForward, point: Array | None, wrenches: Array | None,
    ) -> None:
        """Add what the torque differs by at another point, (5, n); None for nothing."""
        added = np.zeros(self.wanted.shape[1])
        if point is not None and self._kept is None:
            feedforward.torque(point, self._there, wrenches=wrenches, **self._terms)
            if is_finite(self._there):
                # No more than may be published: it would take as long to come back.
                added = np.clip(self._there[0], -self._most, self._most) - self.wanted[0]
        fades = (point is not None) != self._deviates
        self._deviates = point is not None
        if fades or self._deviates:
            self.stage.set_target(added, fades=fades)


@njit()
def is_finite(values: Array) -> bool:
    """Return whether all of an array, (rows, n), are numbers."""
    for row in values:
        for value in row:
            if not np.isfinite(value):
                return False
    return True
