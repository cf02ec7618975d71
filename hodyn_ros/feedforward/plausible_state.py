"""Which measured states are believed: one wrong reading must not reach a torque."""
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.robot import Limits, Robot

Array = NDArray[np.float64]
_State = tuple[Array, Array, int]

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
STAY = 0.1
"""So long after the last reading there a place is not given up for another, s: two drivers that
contradict each other must not take turns."""
BEYOND = 1e-3
"""So far beyond its range a joint is not said to be, rad or m."""
UNMEASURED = 0.05
"""So far no joint moves with velocities of 0, rad or m: the driver does not measure them."""
FAR, FAR_TOGETHER = 2.0, 0.1
"""So far beyond its range no joint is, nor several of them at a time, rad or m."""


def beyond_range(
    robot: Robot, names: Sequence[str], position: Array,
) -> tuple[str, bool]:
    """Return which joints a position, (n,), puts beyond their ranges; whether an arm may be so.

    Empty if none is beyond by `BEYOND`. `names` are the joints' in the joint states.
    """
    limits = robot.limits
    low, high = limits.position_min.copy(), limits.position_max.copy()
    beyond = np.maximum(position - high, low - position)
    said = ', '.join(
        f'{names[i]} is at {position[i]:.4g}, {beyond[i]:.3g} beyond its range'
        for i in np.flatnonzero(beyond > BEYOND).tolist())
    if not _is_nowhere(position, low, high):
        return said, True
    in_rad = unit(robot, int(beyond.argmax()), 'position') == 'rad'
    asked = 'rad: are these degrees?' if in_rad else 'm: are these millimetres?'
    return f'{said}: no arm is there; positions are in {asked}', False


class PlausibleState:
    """Judges each measured state by the one before it.

    A joint moves no faster than twice its velocity limit, and as fast as its velocity says. A
    state that contradicts the last one believed is left out, unless it is the third in a row of
    which each agrees with the one before, and none came from where the arm was for `STAY`: then
    the arm is there.

    Parameters
    ----------
    limits : Limits
        Of the robot.

    Attributes
    ----------
    joint : int
        The joint for which the last state was left out; −1 where its stamp is far away.
    is_there : bool
        Whether the last position is believed, whatever its velocity is: a driver may have
        velocities wrong for good.

    """

    def __init__(self, limits: Limits) -> None:
        self._fastest = FACTOR * np.where(
            np.isfinite(limits.velocity), limits.velocity, FREE_VELOCITY / FACTOR)
        # Copies, since limits are read-only, for which another kernel would be compiled.
        self._low, self._high = limits.position_min.copy(), limits.position_max.copy()
        self.joint = 0
        self.forget()

    def forget(self) -> None:
        """Believe nothing of before any more: three readings must agree."""
        self._believed: _State | None = None
        self._last: _State | None = None
        self._there: _State | None = None
        self._agreeing = self._agreeing_positions = 0
        self.is_there = False

    def is_nowhere(self, position: Array) -> bool:
        """Return whether no arm can be at a position, (n,): so far it is beyond the ranges."""
        nowhere: bool = _is_nowhere(position, self._low, self._high)
        return nowhere

    def believe(self, position: Array, velocity: Array | None, stamp: int) -> bool:
        """Return whether a state, (n,) each, of a stamp (ns), is believed."""
        known = velocity is not None
        state = position.copy(), (velocity.copy() if velocity is not None else position), stamp
        last = self._last
        positions, agrees = self._agree(last, state, known)
        self._agreeing_positions = self._agreeing_positions + 1 if positions else 1
        self._agreeing = self._agreeing + 1 if agrees else 1
        self._last = state
        is_left = self._there is None or not 0 <= stamp - self._there[2] <= STAY * 1e9
        # They were the last one, most often.
        self.is_there = (is_left and self._agreeing_positions >= PERSISTENCE) or (
            positions if self._there is last else self._agree(self._there, state, known)[0])
        if self.is_there:
            self._there = state
        is_believed = self.is_there and (self._agreeing >= PERSISTENCE or (
            agrees if self._believed is last else self._agree(self._believed, state, known)[1]))
        if is_believed:
            self._believed = state
        return is_believed

    def _agree(
        self, before: _State | None, after: _State, known: bool,
    ) -> tuple[bool, bool]:
        """Return whether positions agree, and whether velocities, where they are known, do too."""
        if before is None:
            return False, False
        seconds = (after[2] - before[2]) * 1e-9
        if not 0.0 <= seconds < LONGEST:
            self.joint = -1
            return False, False
        leaps, joint = _contradiction(
            before[0], after[0], after[1], known, seconds, self._fastest)
        if joint >= 0:
            self.joint = joint
        return not leaps, joint < 0


class ZeroVelocities:
    """Sees velocities that are 0 for all joints though positions move.

    Attributes
    ----------
    joint : int
        The joint that has moved so, from the last velocity on that was not 0; −1 if none has.

    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Begin anew: where the arm was says nothing any more."""
        self.joint = -1
        self._from: Array | None = None

    def see(self, position: Array, velocity: Array) -> None:
        """Take a state that is believed, (n,) each."""
        if velocity.any():
            self.forget()
        elif self._from is None:
            self._from = position.copy()
        elif self.joint < 0:
            moved = np.abs(position - self._from)
            if moved.max() > UNMEASURED:
                self.joint = int(moved.argmax())


@njit()
def _is_nowhere(position: Array, low: Array, high: Array) -> bool:
    """Return whether a joint is beyond its range by `FAR`, or several by `FAR_TOGETHER`."""
    far = 0
    for i in range(position.size):
        beyond = max(position[i] - high[i], low[i] - position[i])
        if beyond > FAR:
            return True
        far += beyond > FAR_TOGETHER
    return far > 1


@njit()
def _contradiction(
    before: Array, position: Array, velocity: Array, known: bool, seconds: float, fastest: Array,
) -> tuple[bool, int]:
    """Return whether a position leaps, and the first joint at which anything is wrong, or −1."""
    leaps, first = False, -1
    for i in range(position.size):
        change, most = position[i] - before[i], fastest[i] * seconds
        leap = abs(change) > most + SLACK
        leaps = leaps or leap
        if first < 0 and (leap or (known and (abs(velocity[i]) > fastest[i] or (
                abs(change - velocity[i] * seconds) > VELOCITY_SLACK * most + SLACK)))):
            first = i
    return leaps, first
