"""Which measured states are believed: one wrong reading must not reach a torque."""
from collections.abc import Callable, Sequence
import math

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.limit_table import question_of_units, unit
from hodyn_ros.robot import Limits, Robot

_State = tuple[Array, Array, int]

PERSISTENCE = 3
"""Number of agreeing readings in a row that are believed, whatever readings came before."""
FACTOR = 2.0
"""Largest measured velocity that is believed, as a multiple of the velocity limit."""
FREE_VELOCITY = 50.0
"""Largest velocity that is believed for a joint without a velocity limit, rad/s or m/s."""
SLACK = 1e-3
"""Allowed error of a position, from resolution and jitter of stamps, rad or m."""
VELOCITY_SLACK = 0.5
"""Allowed difference between a velocity, which drivers filter, and the rate of the positions, as
a share of the largest believed velocity."""
LONGEST = 2.0
"""Readings that are further apart than this are not compared, s."""
STAY = 0.1
"""Time without a reading at a place before the arm may be believed elsewhere, s: otherwise two
contradicting drivers would alternate."""
JITTER = 0.02
"""Time by which stamps and arrivals of states may be wrong, s."""
PAUSE = 0.5
"""After a longer time without any reading, s, the arm may be anywhere."""
KNOWN = 1.0
"""An arm that was measured at a place for longer than this, s, cannot have leapt from there."""
BEYOND = 1e-3
"""A joint is reported beyond its range only by more than this, rad or m."""
UNMEASURED = 0.05
"""If a joint moves further than this while all velocities are 0, rad or m, the driver does not
measure them."""
FAR, FAR_TOGETHER = 2.0, 0.1
"""Impossible distances beyond the range: for one joint, and for several at a time, rad or m."""


def beyond_range(
    robot: Robot, names: Sequence[str], position: Array,
) -> tuple[str, bool]:
    """Return which joints are beyond their ranges at a position, and whether an arm can be there.

    The text is empty if no joint is beyond by `BEYOND`. `position` is (n,); `names` are the names
    in the joint states.
    """
    limits = robot.limits
    low, high = limits.position_min.copy(), limits.position_max.copy()
    beyond = np.maximum(position - high, low - position)
    said = ', '.join(
        f'{names[i]} is at {position[i]:.4g}, {beyond[i]:.3g} beyond its range'
        for i in np.flatnonzero(beyond > BEYOND).tolist())
    if not _is_nowhere(position, low, high, FAR_TOGETHER):
        return said, True
    units = {
        unit(robot, i, 'position') for i in np.flatnonzero(beyond > FAR_TOGETHER).tolist()}
    return f'{said}: no arm can be there; {question_of_units(units)}', False


class PlausibleState:
    """Judges each measured state by the previous states.

    A joint can move no faster than twice its velocity limit, and moves about as fast as measured.
    A state that contradicts the last believed one is left out. The arm is believed to be at
    another place if three states in a row agree with each other, no state has come from the former
    place for `STAY`, and the arm may have leapt: no state came for `PAUSE`, the former place was
    measured for less than `KNOWN`, or the caller expects it. Else the states are astray until they
    come from the former place again.
    """

    def __init__(self, limits: Limits) -> None:
        self._fastest = FACTOR * np.where(
            np.isfinite(limits.velocity), limits.velocity, FREE_VELOCITY / FACTOR)
        # Limits are read-only arrays, for which another kernel would be compiled: hence copies.
        self._low, self._high = limits.position_min.copy(), limits.position_max.copy()
        #: The joint for which a state was last left out; −1 if its stamp was far from the last
        self.joint = 0
        self.forget()

    def forget(self) -> None:
        """Forget all states: three new ones must agree first."""
        self._believed: _State | None = None
        self._last: _State | None = None
        self._there: _State | None = None
        self._agreeing = self._agreeing_positions = 0
        #: Stamp of the first believed state since the arm was not where it was expected, ns
        self.came = 0
        #: Whether positions have contradicted those of a known place for longer than `STAY`
        self.is_astray = False
        #: Whether the last position is believed, whatever its velocity: a driver's velocities may
        #: be wrong permanently
        self.is_there = False

    def is_nowhere(self, position: Array) -> bool:
        """Return whether a position, (n,), has a joint beyond its range by `FAR`.

        Several joints may be less far beyond their ranges: a running arm may be pushed there.
        """
        nowhere: bool = _is_nowhere(position, self._low, self._high, np.inf)
        return nowhere

    def believe(
        self, position: Array, velocity: Array | None, stamp: int,
        expects: Callable[[Array], bool],
    ) -> bool:
        """Return whether a state, (n,) each, with a stamp in ns is believed.

        `expects` returns whether the arm may be at a position even if it must have leapt there.
        """
        known = velocity is not None
        state = position.copy(), (velocity.copy() if velocity is not None else position), stamp
        last = self._last
        positions, agrees = self._agree(last, state, known)
        self._agreeing_positions = self._agreeing_positions + 1 if positions else 1
        self._agreeing = self._agreeing + 1 if agrees else 1
        self._last = state
        # The last state is most often also the last one believed: then nothing is recomputed.
        self.is_there, self.is_astray = positions, False
        if not (positions and self._there is last):
            since = 0 if last is None else stamp - last[2]
            self.is_there = self._has_returned(state, known, since, expects)
            if not self.is_there and not 0 <= since <= PAUSE * 1e9:
                self._there = None
            self.is_there = self.is_there or self._has_leapt(state, expects)
        if self.is_there:
            self._there = state
        is_believed = self.is_there and (self._agreeing >= PERSISTENCE or (
            agrees if self._believed is last else self._agree(self._believed, state, known)[1]))
        if is_believed:
            self._believed = state
        return is_believed

    def _has_returned(
        self, state: _State, known: bool, since: int, expects: Callable[[Array], bool],
    ) -> bool:
        """Return whether the arm can have moved here from where it was, `since` ns before."""
        there = self._there
        if there is None:
            return False
        return self._agree(there, state, known, JITTER + since * 1e-9)[0] or (
            expects(state[0]) and self._agree(there, state, known, STAY)[0])

    def _has_leapt(self, state: _State, expects: Callable[[Array], bool]) -> bool:
        """Return whether the arm is believed to have leapt; else set whether states are astray."""
        is_expected = expects(state[0])
        if self._there is not None:
            left = self._there[2]
            if state[2] - left <= STAY * 1e9:
                return False
            self.is_astray = left - self.came > KNOWN * 1e9 and not is_expected
        has_leapt = not self.is_astray and self._agreeing_positions >= PERSISTENCE
        if has_leapt and not is_expected:
            self.came = state[2]
        return has_leapt

    def _agree(
        self, before: _State | None, after: _State, known: bool, most: float = math.inf,
    ) -> tuple[bool, bool]:
        """Return whether positions agree, and whether velocities, if `known`, agree with them.

        The arm has had at most `most` seconds to move.
        """
        if before is None:
            return False, False
        seconds = min((after[2] - before[2]) * 1e-9, most)
        if not 0.0 <= seconds < LONGEST:
            self.joint = -1
            return False, False
        leaps, joint = _contradiction(
            before[0], after[0], after[1], known, seconds, self._fastest)
        if joint >= 0:
            self.joint = joint
        return not leaps, joint < 0


class ZeroVelocities:
    """Detects velocities that are 0 for all joints although positions move."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget the last position and the joint."""
        #: A joint that has moved since the last velocity other than 0; −1 if none has
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
def _is_nowhere(position: Array, low: Array, high: Array, together: float) -> bool:
    """Return whether a joint is beyond its range by `FAR`, or several by `together`."""
    far = 0
    for i in range(position.size):
        beyond = max(position[i] - high[i], low[i] - position[i])
        if beyond > FAR:
            return True
        far += beyond > together
    return far > 1


@njit()
def _contradiction(
    before: Array, position: Array, velocity: Array, known: bool, seconds: float, fastest: Array,
) -> tuple[bool, int]:
    """Return whether any position leaps, and the first joint with a contradiction, or −1."""
    leaps, first = False, -1
    for i in range(position.size):
        change, most = position[i] - before[i], fastest[i] * seconds
        leap = abs(change) > most + SLACK
        leaps = leaps or leap
        if first < 0 and (leap or (known and (abs(velocity[i]) > fastest[i] or (
                abs(change - velocity[i] * seconds) > VELOCITY_SLACK * most + SLACK)))):
            first = i
    return leaps, first
