"""Compares the measured position of the arm with the reference."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.plausible_state import PERSISTENCE
from hodyn_ros.reference.limits import largest_ratio
from hodyn_ros.robot import Robot

WARN_FRACTION = 0.5  # share of its tolerance beyond which an error is reported
# A joint's motion shows why it departs if the reference moved by at least _MOVED times its
# tolerance meanwhile. The joint moved the other way if by 1/_ALIKE to _ALIKE times as much.
_MOVED, _ALIKE = 0.2, 1.5
STANDS = 'it has not moved at all: is a brake on, or did its encoder fail?'
OPPOSES = 'it moves against its reference: is its sign reversed?'


class TrackingWatch:
    """Judges each joint's distance from the reference by its tolerance."""

    def __init__(self, tolerance: Array, robot: Robot | None = None) -> None:
        #: (n,): how far each joint may be from the reference, rad or m; infinite for any distance
        self.tolerance = tolerance
        self.joint = 0  #: The joint whose error is the largest in units of its tolerance
        #: `error`: measured minus reference position of this joint, rad or m; `ratio`: its
        #: magnitude in units of the tolerance
        self.error = self.ratio = 0.0
        self._beyond, self._half_turn = 0, np.full(len(tolerance), np.inf)
        if robot is not None and robot.actuators is not None:
            self._half_turn[robot.turns] = np.pi
        #: Whether a joint with motors is more than half a turn away: its driver wraps positions
        self.is_turned = False
        #: A question about the cause, from the joint's motion while it departed; may be empty
        self.question = ''
        # Measured and reference positions when no joint was notably away.
        self._near = np.zeros((2, len(tolerance)))

    @property
    def is_beyond(self) -> bool:
        """Whether a joint was beyond its tolerance at the last comparison."""
        return self.ratio > 1.0

    @property
    def is_notable(self) -> bool:
        """Whether a joint is far enough from the reference to be reported."""
        return self.ratio > WARN_FRACTION

    @property
    def has_departed(self) -> bool:
        """Whether a joint was beyond its tolerance in each of the last three comparisons."""
        return self._beyond >= PERSISTENCE

    def compare(self, measured: Array, reference: Array, readings: int = 1) -> None:
        """Compare positions, (n,) each, at an instant; this counts as `readings` comparisons."""
        error, self.question = measured - reference, ''
        self.joint, self.ratio = largest_ratio(error, self.tolerance)
        self.error = error.item(self.joint)
        self._beyond = self._beyond + readings if self.ratio > 1.0 else 0
        self.is_turned = self.ratio > 1.0 and bool((np.abs(error) > self._half_turn).any())
        if self.ratio > 1.0:
            began = self._near[:, self.joint]
            self.question = self._asked(
                measured.item(self.joint) - began[0], reference.item(self.joint) - began[1])
        elif not self.is_notable:
            self._near[0], self._near[1] = measured, reference

    def _asked(self, moved: float, wanted: float) -> str:
        """Return a question about how a joint moved, and not its reference; may be empty."""
        if abs(wanted) < _MOVED * self.tolerance[self.joint]:
            return ''
        return STANDS if moved == 0.0 else OPPOSES if (
            1.0 / _ALIKE < -moved / wanted < _ALIKE) else ''

    def forget(self) -> None:
        """Forget the comparisons so far."""
        self._beyond, self.ratio = 0, 0.0

    def forget_motion(self) -> None:
        """Forget also how joints moved: in a silence, nobody knows."""
        self.forget()
        self._near[:] = np.nan
