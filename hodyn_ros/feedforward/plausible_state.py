"""Which measured states are believed: one wrong reading must not reach a torque."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.robot import Limits

Array = NDArray[np.float64]

PERSISTENCE = 3
"""So many readings that agree with each other are believed, whatever was before."""
FACTOR = 2.0
"""How much faster than its velocity limit an arm may be measured."""
FREE_VELOCITY = 50.0
"""What is believed of a joint without a velocity limit, rad/s or m/s."""
SLACK = 1e-3
"""What resolution and jitter of stamps make of a position, rad or m."""
VELOCITY_SLACK = 0.5
"""By which a velocity may differ from that of the positions: filters of drivers; of its limit."""
LONGEST = 2.0
"""An interval that is longer says nothing, s."""


class PlausibleState:
    """Judges each measured state by the one before it.

    A joint moves no faster than twice its velocity limit, and as fast as its velocity says. A
    state that contradicts the last one believed is left out, unless it is the third in a row of
    which each agrees with the one before: then the arm is there.

    Parameters
    ----------
    limits : Limits
        Of the robot.

    Attributes
    ----------
    joint : int
        The joint for which the last state was left out; −1 where its stamp is far away.
    persists : bool
        Whether the last three positions agree with each other, whatever their velocities are: then
        the arm is there, also if its driver has velocities wrong for good.

    """

    def __init__(self, limits: Limits) -> None:
        self._fastest = FACTOR * np.where(
            np.isfinite(limits.velocity), limits.velocity, FREE_VELOCITY / FACTOR)
        self._believed: tuple[Array, Array, int] | None = None
        self._last: tuple[Array, Array, int] | None = None
        self._agreeing = self._agreeing_positions = 0
        self.persists = False
        self.joint = 0

    def forget(self) -> None:
        """Believe nothing of before any more: three readings must agree."""
        self._believed = self._last = None
        self._agreeing = self._agreeing_positions = 0
        self.persists = False

    def believe(self, position: Array, velocity: Array | None, stamp: int) -> bool:
        """Return whether a state, (n,) each, of a stamp (ns), is believed."""
        known = velocity is not None
        state = position.copy(), (velocity.copy() if velocity is not None else position), stamp
        positions, agrees = self._agree(self._last, state, known)
        self._agreeing_positions = self._agreeing_positions + 1 if positions else 1
        self.persists = self._agreeing_positions >= PERSISTENCE
        self._agreeing = self._agreeing + 1 if agrees else 1
        self._last = state
        is_believed = self._agreeing >= PERSISTENCE or self._agree(self._believed, state, known)[1]
        if is_believed:
            self._believed = state
        return is_believed

    def _agree(
        self, before: tuple[Array, Array, int] | None, after: tuple[Array, Array, int],
        known: bool,
    ) -> tuple[bool, bool]:
        """Return whether positions agree, and whether velocities, where they are known, do too."""
        if before is None:
            return False, False
        seconds = (after[2] - before[2]) * 1e-9
        if not 0.0 <= seconds < LONGEST:
            self.joint = -1
            return False, False
        change = after[0] - before[0]
        leaps = np.abs(change) > self._fastest * seconds + SLACK
        wrong = leaps
        if known:
            velocity = after[1]
            wrong = leaps | (np.abs(velocity) > self._fastest) | (
                np.abs(change - velocity * seconds) > (
                    VELOCITY_SLACK * self._fastest * seconds + SLACK))
        if wrong.any():
            self.joint = int(wrong.argmax())
        return not leaps.any(), not wrong.any()
