"""The measured state of a moving base: which readings are believed, and for how long."""
from collections import deque
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward.plausible_state import LONGEST, PERSISTENCE
from hodyn_ros.feedforward.state_arrivals import StateArrivals
from hodyn_ros.feedforward.stream_schedule import SET_BACK
from hodyn_ros.feedforward.torque import ORDER
from hodyn_ros.robot import HodynError, Robot, lie

Array = NDArray[np.float64]
_Found = tuple[Array, Array, int, Array]

NO_ODOMETRY = 'no odometry yet, so its tilt is unknown'
UNLIKE = 'three readings in a row must agree with each other'
UNCONFIRMED = 'its orientation does not turn as its angular velocity says'
FASTEST = 3.0
"""How much faster than twice its reported angular velocity a base may turn, rad/s."""
SLACK = 0.05
"""Error of a rotation from noise and jitter of stamps, rad."""
QUICKEST, VELOCITY_SLACK = 100.0, 0.5
"""How fast velocities may change, rad/s² and m/s², and their noise, rad/s and m/s."""
LARGEST_TURN = 20.0
"""Largest angular velocity that is believed, rad/s."""
LARGEST_ACCELERATION = np.array([50.0, 20.0])
"""Largest angular and linear acceleration used, rad/s² and m/s²; larger ones are cut."""
LARGEST_AGE = 0.5
"""Largest difference between stamps of a reading and of joint states, s, or `base_timeout`."""
WINDOW, MOST_TURN = 0.2, 2.0
"""Time, s, and angle, rad, over which orientation and angular velocity are compared."""
MEAN_TIME = 0.1
"""Time over which the turn of the orientation confirms an angular velocity, s."""
LEAST_CONFIRMED = 0.5
"""Share of an angular velocity that must be confirmed; a steady acceleration confirms as much."""
TURN_SLACK = 0.1
"""Allowed difference of the two, rad, besides half the turn: filters delay."""


@dataclass(frozen=True, eq=False)
class BaseReading:
    """An odometry reading of a frame of the base.

    Attributes
    ----------
    frame, child_frame : str
        The reference frame, with z up, and the moving frame.
    position : (3,) array
        Position of the child frame's origin, m.
    quaternion : (4,) array
        Orientation (w, x, y, z) of the child frame.
    linear, angular : (3,) arrays
        Velocity of the child frame's origin and angular velocity, in the child frame's axes.
    stamp : int
        Stamp of the reading, ns.

    """

    frame: str
    child_frame: str
    position: Array
    quaternion: Array
    linear: Array
    angular: Array
    stamp: int


class BaseInput:
    """The measured base; times of arrival are on a monotonic clock, s.

    Parameters
    ----------
    robot : Robot
        A robot with a floating base.
    timeout : float
        How long readings may stay away, as for `StateArrivals`.
    bandwidth : float
        Bandwidth of the filter of accelerations, rad/s; with 0 they are assumed to be 0.

    Attributes
    ----------
    arrivals : StateArrivals
        When the believed readings came.
    frame : str
        Reference frame of the believed readings.
    stamp : int
        Stamp of the last believed reading, ns.
    rotation : (3, 3) array
        From the axes of the base's body to the world's.
    position : (3,) array
        Position of the origin of the base's body, m.
    hybrid : (4, 6) array
        Angular velocity of the body and velocity of its origin in world axes, with derivatives.
    why : str
        Why the last reading was refused; empty if it was not. Also set by callers that refuse one.
    jumped : bool
        Whether the last believed reading contradicts the one believed before.
    left_out : int
        How many readings were not believed.

    """

    def __init__(self, robot: Robot, timeout: float, bandwidth: float) -> None:
        self.arrivals = StateArrivals(timeout)
        self.frame, self.stamp = '', 0
        self.rotation, self.position = np.eye(3), np.zeros(3)
        self.hybrid = np.zeros((ORDER + 2, 6))
        self.why = NO_ODOMETRY
        self.left_out = 0
        self.jumped = False
        self._robot = robot
        self._bandwidth = bandwidth
        self._oldest = max(LARGEST_AGE, timeout)
        self._last: _Found | None = None
        self._believed: _Found | None = None
        self._agreeing = 0
        self._is_silent = True
        self._turns = _Turns()

    def check_age(self, now: int) -> None:
        """Refuse the last believed reading if it is not of `now`, a stamp of joint states, ns."""
        if self._believed is not None:
            self._check_age(self._believed[2], now)

    def is_known(self, at: float) -> bool:
        """Return whether believed readings are recent enough at a time."""
        return self._believed is not None and not self.arrivals.are_lost(at)

    def take(self, reading: BaseReading, now: int | None, prefix: str, at: float) -> bool:
        """Take a reading; return whether it is believed.

        `now` is the present stamp of the joint states, ns, None without joint states; `prefix` is
        the prefix of the driver's names. Raises HodynError for a reading of another base, or of
        another time.
        """
        rotation, position, velocity = self._of_base(reading, prefix)
        self._check_stamp(reading.stamp, now)
        # An angular velocity counts as far as the orientation has confirmed it.
        share = min(1.0, self._turns.fastest(rotation, reading.stamp) / max(
            float(np.linalg.norm(velocity[:3])), 1e-9))
        used = np.concatenate([share * velocity[:3], velocity[3:]])
        found = rotation, velocity, reading.stamp, used
        last, before = self._last, self._believed
        continues = last is not None and _agree(last, found)
        self._agreeing = self._agreeing + 1 if continues else 1
        self._last = found
        self._turns.take(found, continues=continues)
        is_confirmed = share >= LEAST_CONFIRMED
        if before is None or not is_confirmed or not (
                continues if before is last else _agree(before, found)):
            before = last
            if self._agreeing < PERSISTENCE or not is_confirmed:
                self.why = UNLIKE if is_confirmed else UNCONFIRMED
                self.left_out += 1
                return False
        self.jumped = before is last and last is not self._believed
        self.why, self.frame, self._is_silent = '', reading.frame, False
        self.stamp, self.position = reading.stamp, position
        self.arrivals.arrived(at)
        self._believed, self.rotation, self.hybrid[0] = found, rotation, used
        if self._bandwidth and before is not None:
            seconds = (found[2] - before[2]) * 1e-9
            self._filter((used - before[3]) / seconds, seconds)
        return True

    def fell_silent(self, at: float) -> bool:
        """Return, once, that readings have stayed away for longer than they may."""
        if self._is_silent or not self.arrivals.are_lost(at):
            return False
        self._is_silent = True
        self._forget()
        return True

    def _forget(self) -> None:
        """Forget all readings: three new ones must agree first."""
        self._last = self._believed = None
        self._agreeing = 0
        self.hybrid[:] = 0.0

    def _of_base(self, reading: BaseReading, prefix: str) -> tuple[Array, Array, Array]:
        """Return rotation (3, 3), position and velocities (6,) of the base's body in the world."""
        if self.frame and reading.frame != self.frame:
            raise HodynError(
                f'its frame_id is {reading.frame!r}, and was {self.frame!r}: let one odometry '
                'publish it, or deactivate the node first')
        if (turn := float(np.linalg.norm(reading.angular))) > LARGEST_TURN:
            raise HodynError(
                f'twist.twist.angular is {turn:.4g} rad/s; at most {LARGEST_TURN:g} are believed')
        placement = self.placement(reading.child_frame, prefix, 'child_frame_id')
        turned = lie.rotation_of_quaternion(reading.quaternion)
        rotation = turned @ placement[:3, :3].T
        angular = turned @ reading.angular
        # From the frame's origin to the body's, in world axes.
        lever = -rotation @ placement[:3, 3]
        linear = turned @ reading.linear + np.cross(angular, lever)
        return rotation, reading.position + lever, np.concatenate([angular, linear])

    def placement(self, name: str, prefix: str, field: str) -> Array:
        """Return the pose (4, 4) of a link of the base, named by a field, in the body's axes."""
        robot = self._robot
        links = [robot.bodies[0].name] + [
            link for link, (index, _) in robot.frames.items() if index == 0]
        for link in (name, name.removeprefix(prefix)):
            if link in links:
                return robot.frame(link)[1]
        raise HodynError(
            f'its {field} {name!r} is not a link of the base of robot {robot.name!r}: '
            f'expected {", ".join(links)}')

    def _check_stamp(self, stamp: int, now: int | None) -> None:
        """Refuse a stamp far from now, or not newer than the last unless a clock was set back."""
        if not stamp:
            raise HodynError('it has no stamp')
        if now is not None:
            self._check_age(stamp, now)
        if self._last is not None and stamp <= self._last[2]:
            if self._last[2] - stamp <= SET_BACK:
                raise HodynError('a stamp is not newer than the last')
            self._forget()

    def _check_age(self, stamp: int, now: int) -> None:
        if abs(late := (now - stamp) * 1e-9) > self._oldest:
            raise HodynError(
                f'its stamp is {abs(late):.3f} s {"behind" if late > 0.0 else "ahead of"} that of '
                f'the joint states; at most {self._oldest:g} are taken: let both take one clock')

    def _filter(self, rate: Array, seconds: float) -> None:
        """Filter the rate of the velocities, (6,), over `seconds` by a low pass of order 1."""
        kept: Array = self.hybrid[1]
        kept += -np.expm1(-self._bandwidth * seconds) * (rate - kept)
        for half, most in zip((kept[:3], kept[3:]), LARGEST_ACCELERATION, strict=True):
            half *= min(1.0, float(most) / max(float(np.linalg.norm(half)), 1e-9))


class _Turns:
    """Compares how far the base turned with the integral of its angular velocity.

    A driver may give degrees per second, or the twist with a pose that stands still.
    """

    def __init__(self) -> None:
        self._start: _Found | None = None
        self._last: _Found | None = None
        self._integral = np.zeros(3)
        self._fault = ''
        self._recent: deque[tuple[Array, int]] = deque()

    def fastest(self, rotation: Array, stamp: int) -> float:
        """Return the largest angular velocity that the latest orientations confirm, rad/s.

        Infinite for a reading that comes more than `WINDOW` after the one before.
        """
        recent = self._recent
        while recent and not 0 < stamp - recent[0][1] <= (
                MEAN_TIME if len(recent) > 1 else WINDOW) * 1e9:
            recent.popleft()
        first = recent[0] if recent else None
        recent.append((rotation, stamp))
        if first is None:
            return np.inf
        angle = float(np.linalg.norm(lie.rotation_log(rotation @ first[0].T)))
        return TURN_SLACK / WINDOW + 1.5 * angle / ((stamp - first[1]) * 1e-9)

    def take(self, found: _Found, *, continues: bool) -> None:
        """Take a reading that `continues` the last one or not; refuse it if the two contradict."""
        last, self._last = self._last, found
        if last is not None and (found[2] - last[2]) * 1e-9 > WINDOW:
            self._start, self._fault = None, ''  # readings this far apart determine no turn
        if self._start is None or last is None or not continues:
            self._start, self._integral = found, np.zeros(3)
        else:
            mean = 0.5 * (last[1][:3] + found[1][:3])
            self._integral = self._integral + (found[2] - last[2]) * 1e-9 * mean
            if (found[2] - self._start[2]) * 1e-9 >= WINDOW or (
                    np.linalg.norm(self._integral) > MOST_TURN):
                self._compare(self._start, found)
                self._start, self._integral = found, np.zeros(3)
        if self._fault:
            raise HodynError(self._fault)

    def _compare(self, start: _Found, found: _Found) -> None:
        turn = lie.rotation_log(found[0] @ start[0].T)
        angle, said = (float(np.linalg.norm(each)) for each in (turn, self._integral))
        off = float(np.linalg.norm(turn - self._integral))
        self._fault = '' if off <= TURN_SLACK + 0.5 * angle else (
            f'its orientation turned by {angle:.2g} rad, and by {said:.2g} as '
            'twist.twist.angular says: is that in rad/s, in the axes of child_frame_id?')


def _agree(before: _Found, after: _Found) -> bool:
    """Return whether the reading `after` is possible after `before`."""
    seconds = (after[2] - before[2]) * 1e-9
    if not 0.0 < seconds < LONGEST:
        return False
    change = after[1] - before[1]
    most = QUICKEST * seconds + VELOCITY_SLACK
    if max(np.linalg.norm(change[:3]), np.linalg.norm(change[3:])) > most:
        return False
    fastest = FASTEST + 2.0 * float(np.linalg.norm(after[1][:3]))
    angle = float(np.linalg.norm(lie.rotation_log(before[0].T @ after[0])))
    return angle <= fastest * seconds + SLACK
