"""Which measured states are believed: one wrong reading must not reach a torque."""
from collections.abc import Callable, Sequence

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit
from hodyn_ros.feedforward.limit_table import question_of_units, unit
from hodyn_ros.feedforward.state_arrivals import SLOW
from hodyn_ros.robot import Robot

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
"""The arm is believed elsewhere only after this time, s, without a state from its former place, so
that two contradicting drivers do not alternate. An arm is also assumed to move no longer than this
from one state to the next."""
RISE = 0.1
"""Time in which a joint may come from rest to the largest believed velocity, s."""
JITTER = 0.02
"""Time by which stamps and arrivals of states may be wrong, s."""
PAUSE = 0.2
"""In a longer time without any state, s, the arm may have moved anywhere."""
RESTART = 1.0
"""After a longer time without any state, s, a driver may have been restarted."""
SETTLED = 0.5
"""Time, s, for which states must agree at a place to which the arm may have moved unseen."""
KNOWN = 1.0
"""An arm cannot have leapt from a place at which it was measured for longer than this, s. If its
position stays the same for longer, the arm rests: its driver is not merely repeating a state."""
BEYOND = 1e-3
"""A joint is reported beyond its range only by more than this, rad or m."""
UNMEASURED = 0.05
"""If a joint moves further than this, rad or m, while all velocities are 0, the driver does not
measure velocities."""
_FADES = 0.8  # factor by which the largest of the last speeds and periods decays with each state
FAR, FAR_TOGETHER = 2.0, 0.1
"""No arm can have one joint beyond its range by FAR, or several by FAR_TOGETHER, rad or m. A slide
with a short range cannot be beyond it by more than the range and FAR_TOGETHER."""
_LARGE = 10.0  # greatest position of a slide, m, that may be that of a turning joint, rad


def beyond_range(
    robot: Robot, names: Sequence[str], position: Array,
) -> tuple[str, bool]:
    """Return which joints are beyond their ranges at a position, and whether an arm can be there.

    The text is empty if no joint is beyond by `BEYOND`. `position` is (n,); `names` are the names
    in the joint states.
    """
    low, high, far = _range(robot)
    beyond = np.maximum(position - high, low - position)
    said = '; '.join(
        f"{names[i]} is at {position[i]:.4g} {(si := unit(robot, i, 'position'))}, which is "
        f'{beyond[i]:.3g} {si} beyond its range'
        for i in np.flatnonzero(beyond > BEYOND).tolist())
    if not _is_nowhere(position, low, high, far, FAR_TOGETHER):
        return said, True
    mistaken = np.flatnonzero(beyond > FAR_TOGETHER).tolist()
    question = question_of_units(
        {unit(robot, i, 'position') for i in mistaken},
        ', or are the names in another order than the positions' if any(
            abs(position[i]) < _LARGE and not robot.turns[i] for i in mistaken) else '')
    return f'{said}: no arm can be there; {question}', False


class PlausibleState:
    """Judges each measured state by the previous states.

    A joint can move no faster than twice its velocity limit, and moves about as fast as measured.
    Unless the caller expects the arm at a place, no joint may have accelerated abruptly to come
    there. A state that contradicts the last believed one is left out. If no state comes from the
    former place for `STAY`, states are astray, until three in a row come from there again. States
    from another place are believed in two cases: if three in a row agree where the caller expects
    the arm, or if they agree for `SETTLED` where the arm may have moved unseen (after a silence,
    if it was measured at the former place for less than `KNOWN`, or while a driver repeated a
    state).
    """

    def __init__(self, robot: Robot) -> None:
        self._fastest = _fastest(robot.limits.velocity)
        self._range = low, *_ = _range(robot)
        #: The joint for which a state was last left out; −1 if its stamp was far from the last
        self.joint = 0
        self._believed: _State | None = None
        self._last: _State | None = None
        self._there: _State | None = None
        # The largest of the last velocities of the positions, and of the last periods, s.
        self._speed: Array = np.zeros_like(low)
        self._period = 0.0
        self._agreeing = self._agreeing_positions = 0
        # For how long, ns, states have agreed, and the arm has been believed at this place.
        self._agreed_for = self._believed_for = 0
        # Stamps of the last state, of the first at this position, and of the first at this
        # position and velocity: a driver may repeat states.
        self._heard = self._moved = self._repeated = 0
        self._is_unseen = self._is_refused = False
        self._first: _State = low, low, 0  # the first since states have agreed
        #: `is_astray`: whether positions have contradicted the former place for over `STAY`;
        #: `may_settle`: whether these positions are believed once they agree for `SETTLED`
        self.is_astray = self.may_settle = False
        #: Whether the last position is believed, whatever its velocity: a driver's velocities may
        #: be wrong permanently
        self.is_there = False

    def lose(self) -> None:
        """Take account of a silence, unless impossible states came in it."""
        if not self._is_refused:
            self.restart()

    def restart(self) -> None:
        """Take account of a silence: the arm may have moved, and three states must agree."""
        self._is_unseen, self._last = True, None
        self.is_astray = self._is_refused = False

    def leave_out(self, stamp: int) -> None:
        """Take account of an impossible state with a stamp in ns."""
        self._heard, self._is_refused = stamp, True
        if self._there is not None:
            self.is_astray = not 0 <= stamp - self._there[2] <= STAY * 1e9

    def is_nowhere(self, position: Array) -> bool:
        """Return whether a joint is far beyond its range at a position, (n,).

        Several joints may be beyond by less: a running arm may be pushed there.
        """
        nowhere: bool = _is_nowhere(position, *self._range, np.inf)
        return nowhere

    def believe(
        self, position: Array, velocity: Array | None, stamp: int,
        expects: Callable[[Array], bool],
    ) -> bool:
        """Return whether a state, (n,) each, with a stamp in ns is believed.

        `expects` returns whether the arm may be at a position to which it must have leapt.
        """
        has_velocity = velocity is not None
        given = np.zeros_like(position) if velocity is None else velocity.copy()
        state = position.copy(), given, stamp
        last = self._last
        since, self._heard = stamp - self._heard, stamp
        if 0 < since < PAUSE * 1e9:
            self._period = max(since * 1e-9, _FADES * self._period)
        was_unseen = self._is_unseen
        # Once states are astray, neither a pause nor a clock that was set explains them.
        if not (0 <= since <= PAUSE * 1e9 or self.is_astray):
            self._is_unseen = True
        positions, agrees = self._agree(last, state, has_velocity)
        there = self._there
        if positions and there is not None and there is last and self._is_abrupt(
                there, state, state) and not expects(position):
            positions = agrees = False
        self._agreeing_positions = self._agreeing_positions + 1 if positions else 1
        self._agreeing = self._agreeing + 1 if agrees else 1
        if positions and was_unseen == self._is_unseen:
            self._agreed_for += since
        else:
            self._first, self._agreed_for = state, 0
        self._last, self.is_astray = state, False
        # Usually the last state is also the last one believed: then `positions` is the answer.
        self.is_there = (
            positions if self._there is last and not self._is_unseen
            else self._is_back(state, since * 1e-9, expects))
        self._is_refused = self.is_astray
        if self.is_there:
            if there is not None:
                self._believed_for += min(max(0, stamp - there[2]), round(STAY * 1e9))
            if there is None or (position != there[0]).any():
                self._speed *= _FADES
                if there is not None and positions:  # a driver may repeat states
                    seconds = max((stamp - self._moved) * 1e-9, SLACK)
                    self._speed = np.maximum(np.abs(position - there[0]) / seconds, self._speed)
                self._moved = self._repeated = stamp
            elif has_velocity and (given != there[1]).any():
                self._repeated = stamp
            self._there, self._is_unseen = state, False
        is_believed = self.is_there and (self._agreeing >= PERSISTENCE or (
            agrees if self._believed is last
            else self._agree(self._believed, state, has_velocity)[1]))
        if is_believed:
            self._believed = state
        return is_believed

    def _is_back(self, state: _State, since: float, expects: Callable[[Array], bool]) -> bool:
        """Return whether the arm can have come from the former place, or has leapt from there.

        The last state came `since` seconds before this one.
        """
        position, _, stamp = state
        there, agree = self._there, self._agreeing_positions >= PERSISTENCE
        if there is None:
            return agree
        is_expected, elapsed = expects(position), (stamp - there[2]) * 1e-9
        if self._is_unseen:
            if agree and (is_expected or self._reaches(there, position, JITTER)):
                return True
        elif agree or not self._is_refused:  # one state amid false ones may come near by chance
            most = STAY if is_expected else JITTER + since
            if self._reaches(there, position, min(elapsed, most)) and (
                    is_expected or not self._is_abrupt(there, self._first, state)):
                return True
        if 0.0 <= elapsed <= STAY:
            return False
        if is_expected:
            return agree
        # The arm must have had time to reach the first of the agreeing states.
        still = (self._first[2] - self._moved) * 1e-9
        began = 0.0 if still > KNOWN else min(still, STAY) / FACTOR
        # While a driver repeats a state, the arm may go on at the velocity of this state.
        seconds = min((self._first[2] - self._repeated) * 1e-9, LONGEST)
        way = FACTOR * self._speed_at(there) * seconds
        went_on = way.max() > UNMEASURED and (np.abs(self._first[0] - there[0]) <= np.maximum(
            way + UNMEASURED, self._fastest * began)).all()
        self.may_settle = bool(
            self._is_unseen or self._believed_for < KNOWN * 1e9 or went_on
            or self._reaches(there, self._first[0], began))
        has_settled = self.may_settle and self._agreed_for >= SETTLED * 1e9
        if has_settled:
            self._believed_for = 0
        self.is_astray = not has_settled
        return has_settled

    def _reaches(self, there: _State, position: Array, seconds: float) -> bool:
        """Return whether the arm can move to a position within a time, at most `STAY`."""
        leaps, joint = _contradiction(
            there[0], position, position, False, min(seconds, STAY), 0.0, self._fastest)
        if joint >= 0:
            self.joint = joint
        return not leaps

    def _is_abrupt(self, there: _State, began: _State, now: _State) -> bool:
        """Return whether a joint must have accelerated impossibly to come from `there`.

        States agree with each other from `began` until `now`.
        """
        seconds = max((began[2] - there[2]) * 1e-9, 0.0)
        joint: int = _abrupt(
            there[0], self._speed_at(there), began[0], now[0], now[1], (now[2] - began[2]) * 1e-9,
            seconds + JITTER,
            min((began[2] - self._moved) * 1e-9, PAUSE) + JITTER + self._period, self._fastest)
        if joint >= 0:
            self.joint = joint
        return joint >= 0

    def _speed_at(self, there: _State) -> Array:
        """Return how fast joints moved lately, (n,), by velocities and positions."""
        rests = there[2] - self._moved > PAUSE * 1e9
        return np.abs(there[1]) if rests else np.maximum(np.abs(there[1]), self._speed)

    def _agree(
        self, before: _State | None, after: _State, has_velocity: bool,
    ) -> tuple[bool, bool]:
        """Return whether positions agree, and whether velocities, if any, agree as well."""
        if before is None:
            return False, False
        seconds = (after[2] - before[2]) * 1e-9
        if not 0.0 <= seconds < LONGEST:
            self.joint = -1
            return False, False
        leaps, joint = _contradiction(
            before[0], after[0], after[1], has_velocity, min(seconds, STAY), seconds,
            self._fastest)
        if joint >= 0:
            self.joint = joint
        return not leaps, joint < 0


class ZeroVelocities:
    """Detects velocities that are 0 for all joints although positions move.

    `velocity`, (n,), are the velocity limits of the joints. A leap of a position, for instance to
    other units or to another place after a silence, is no motion.
    """

    def __init__(self, velocity: Array) -> None:
        self._fastest, self._stamp = _fastest(velocity), 0
        self.forget()

    def forget(self) -> None:
        """Forget the last positions and the joint."""
        #: A joint that has moved since the last velocity that was not 0; −1 if none has
        self.joint = -1
        self._from: Array | None = None  # where it began to move
        self._last: Array | None = None

    def leave_out(self, velocity: Array | None) -> Array | None:
        """Return a velocity, (n,), or None in place of one that positions contradict."""
        is_wrong = self.joint >= 0 and velocity is not None and not velocity.any()
        return None if is_wrong else velocity

    def see(self, position: Array, velocity: Array | None, stamp: int) -> None:
        """Take a state that is used, (n,) each, with its stamp in ns."""
        if velocity is None:
            return
        since, self._stamp = (stamp - self._stamp) * 1e-9, stamp
        if velocity.any() or abs(since) > SLOW:
            self.forget()  # nothing is known about the velocities in a silence
            if velocity.any():
                return
        last, self._last = self._last, position.copy()
        if self._from is None or last is None or (
                # Stamps may jitter, so small steps are no leaps.
                np.abs(position - last) > np.maximum(self._fastest * since, UNMEASURED)).any():
            self._from = self._last
        elif self.joint < 0:
            moved = np.abs(position - self._from)
            if moved.max() > UNMEASURED:
                self.joint = int(moved.argmax())


def _fastest(velocity: Array) -> Array:
    """Return the largest velocities that are believed, by the velocity limits, (n,)."""
    return FACTOR * np.where(np.isfinite(velocity), velocity, FREE_VELOCITY / FACTOR)


def _range(robot: Robot) -> tuple[Array, Array, Array]:
    """Return the limits of positions, and how far beyond these a joint cannot be, (n,) each."""
    # Copies, as limits are read-only arrays, for which another kernel would be compiled.
    low, high = robot.limits.position_min.copy(), robot.limits.position_max.copy()
    return low, high, np.where(
        robot.turns, FAR, np.minimum(FAR, np.maximum(high - low, FAR_TOGETHER)))


@njit()
def _is_nowhere(position: Array, low: Array, high: Array, far: Array, together: float) -> bool:
    """Return whether a joint is `far` beyond its range, or several by `together`."""
    count = 0
    for i in range(position.size):
        beyond = max(position[i] - high[i], low[i] - position[i])
        if beyond > far[i]:
            return True
        count += beyond > together
    return count > 1


@njit()
def _contradiction(
    before: Array, position: Array, velocity: Array, has_velocity: bool, reach: float,
    seconds: float, fastest: Array,
) -> tuple[bool, int]:
    """Return whether any position leaps, and the first joint with a contradiction, or −1.

    Joints may move for the time `reach`, s; velocities, if any, are compared over `seconds`.
    """
    leaps, first = False, -1
    for i in range(position.size):
        change, most = position[i] - before[i], fastest[i] * seconds
        leap = abs(change) > fastest[i] * reach + SLACK
        leaps = leaps or leap
        if first < 0 and (leap or (has_velocity and (abs(velocity[i]) > fastest[i] or (
                abs(change - velocity[i] * seconds) > VELOCITY_SLACK * most + SLACK)))):
            first = i
    return leaps, first


@njit()
def _abrupt(
    before: Array, speed_before: Array, began: Array, now: Array, velocity: Array, lasted: float,
    seconds: float, moved: float, fastest: Array,
) -> int:
    """Return the first joint that was too slow, before and after, to come so far, or −1.

    Joints came from `before` to `began`, and went on to `now` in the time `lasted`. A joint may
    have accelerated for `seconds`, and moved at its speed for the time `moved`; all in s.
    """
    for i in range(before.size):
        speed = max(speed_before[i], abs(velocity[i]))
        if lasted > 0.0:
            speed = max(speed, abs(now[i] - began[i]) / lasted)
        most = min(speed, fastest[i]) * moved + 0.25 * fastest[i] / RISE * seconds ** 2
        if abs(began[i] - before[i]) > most + UNMEASURED:
            return i
    return -1
