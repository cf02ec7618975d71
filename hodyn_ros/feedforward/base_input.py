"""The measured state of a moving base: which readings are believed, and for how long."""
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward.displacement import NOISE, QUICKEST, Displacement
from hodyn_ros.feedforward.plausible_state import LONGEST, PERSISTENCE
from hodyn_ros.feedforward.state_arrivals import StateArrivals
from hodyn_ros.feedforward.stream_schedule import SET_BACK
from hodyn_ros.feedforward.torque import ORDER
from hodyn_ros.robot import HodynError, Robot, lie

NO_ODOMETRY = 'no odometry yet, so its tilt is unknown'
UNLIKE = 'three readings in a row must agree with each other'
TILT_JUMPED = 'the odometry of the base has jumped: the torque fades to the new tilt'
TURN_JUMPED = 'the angular velocity of the base has jumped: the torque fades to it'
FASTEST = 3.0
"""The rotation between two readings is believed up to this rate, plus twice the reported angular
velocity, rad/s."""
SLACK = 0.05
"""Allowed error of the rotation between two readings, from noise and jitter of stamps, rad."""
LARGEST_TILT = 1.0
"""Largest believed change of tilt since the last believed reading, rad, while an arm is held."""
LARGEST_TURN, LARGEST_VELOCITY = 20.0, 100.0
"""Largest angular and linear velocity that are believed, rad/s and m/s."""
LARGEST_ACCELERATION = np.array([50.0, 20.0])
"""Largest angular and linear acceleration used, rad/s² and m/s²; larger ones are scaled down."""
LARGEST_AGE = 0.5
"""Allowed difference between the stamps of a reading and of the joint states, s; a longer
`base_timeout` replaces it."""


@dataclass(frozen=True, eq=False)
class BaseReading:
    """An odometry reading of a frame of the base."""

    #: `frame`, `child_frame`: The reference frame, with z up, and the moving frame
    frame: str
    child_frame: str
    position: Array  #: (3,): position of the child frame's origin, m
    quaternion: Array  #: (4,): orientation (w, x, y, z) of the child frame
    #: `linear`, `angular`: (3,): velocity of the child frame's origin and angular velocity, in the
    #: child frame's axes
    linear: Array
    angular: Array
    stamp: int  #: Stamp of the reading, ns


class _Found(NamedTuple):
    """Rotation, position and velocities (6,) of the base's body in the world, and a stamp.

    `used` are the velocities, with only the share of the angular velocity that the orientation
    confirms; NaN if the orientation contradicts it.
    """

    rotation: Array
    position: Array
    velocity: Array
    stamp: int
    used: Array


class BaseInput:
    """The measured base; times of arrival are on a monotonic clock, s.

    `timeout`, s, is as for `StateArrivals`; `bandwidth`, rad/s, is that of the low pass for
    accelerations, which are assumed to be 0 with a `bandwidth` of 0.
    """

    def __init__(self, robot: Robot, timeout: float, bandwidth: float) -> None:
        #: When the believed readings came; odometry may be slow
        self.arrivals = StateArrivals(timeout, may_be_slow=True)
        #: `frame`, `stamp`: reference frame of the believed readings, and stamp, ns, of the last
        self.frame, self.stamp = '', 0
        #: `rotation`: (3, 3), from the axes of the base's body to the world's; `position`: (3,),
        #: the body's origin, m
        self.rotation, self.position = np.eye(3), np.zeros(3)
        #: (4, 6): angular velocity of the body and velocity of its origin in world axes, with
        #: derivatives
        self.hybrid = np.zeros((ORDER + 2, 6))
        #: Why the last reading was refused, also if a caller refused it; empty if it was not
        self.why = NO_ODOMETRY
        self.left_out = 0  #: How many readings were not believed
        #: `jumped`: log line if the last believed reading does not continue the one before it;
        #: `doubt`: log line if the linear velocity contradicts the position; else both are empty
        self.jumped = self.doubt = ''
        #: Change of the tilt, rad, across the last gap or jump: from the believed reading before
        #: the gap to the believed reading after it
        self.tilted = 0.0
        self._robot = robot
        self._bandwidth = bandwidth
        self._oldest = max(LARGEST_AGE, timeout)
        self._last: _Found | None = None
        self._believed: _Found | None = None
        self._agreeing = 0
        self._is_silent = True
        self._displacement = Displacement()

    def check_age(self, now: int) -> None:
        """Raise HodynError if the last believed reading is far from a stamp `now`, ns."""
        if self._believed is not None:
            self._check_age(self._believed.stamp, now)

    def is_known(self, at: float) -> bool:
        """Return whether the last believed reading is recent enough at the time `at`, s."""
        return self._believed is not None and not self.arrivals.are_lost(at)

    def take(self, reading: BaseReading, now: int | None, prefix: str, at: float) -> bool:
        """Take a reading; return whether it is believed.

        `now` is the present stamp of the joint states, ns, None without joint states; `prefix` is
        the prefix of the driver's names. Raises HodynError if the frames, velocities or stamp are
        wrong, if the orientation contradicts the angular velocity, or if the base has tilted by
        more than `LARGEST_TILT` since the last believed reading while an arm is held.
        """
        rotation, position, velocity = self._of_base(reading, prefix)
        self._check_stamp(reading.stamp, now)
        last, before = self._last, self._believed
        found = _Found(
            rotation, position, velocity, reading.stamp, np.full(6, np.nan))
        continues = last is not None and _agree(last, found)
        self._agreeing = self._agreeing + 1 if continues else 1
        self._last = found
        share = self._displacement.take(
            rotation, position, velocity, reading.stamp, continues=continues)
        found.used[:3], found.used[3:] = share * velocity[:3], velocity[3:]
        self.doubt = self._displacement.doubt
        if before is None or not (continues if before is last else _agree(before, found)):
            before = last
            if self._agreeing < PERSISTENCE:
                self.why = UNLIKE
                self.left_out += 1
                return False
        tilted = _angle_between(self.rotation[2], rotation[2])
        # The age of the last believed reading does not matter: a wrong tilt stays wrong.
        if tilted > LARGEST_TILT and now is not None:
            raise HodynError(
                f'the base has tilted by {tilted:.3g} rad since the last reading that was '
                f'believed; at most {LARGEST_TILT:g} rad are believed. Is its quaternion in the '
                'order x, y, z, w? If this tilt is real, activate the node again')
        self.jumped = ''
        if before is last and last is not self._believed:
            self.tilted = tilted
            self.jumped = TURN_JUMPED if self._believed is not None and _turn_agrees(
                self._believed, found) else TILT_JUMPED
        self.why, self.frame, self._is_silent = '', reading.frame, False
        self.stamp, self.position = reading.stamp, position
        self.arrivals.arrived(at)
        self._believed, self.rotation, self.hybrid[0] = found, rotation, found.used
        if self._bandwidth and before is not None and np.isfinite(before.used).all():
            seconds = (found.stamp - before.stamp) * 1e-9
            self._filter((found.used - before.used) / seconds, seconds)
        return True

    def fell_silent(self, at: float) -> bool:
        """Return True, once, if no reading has come for the timeout, and forget all readings."""
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
                f'its frame_id is {reading.frame!r}, and was {self.frame!r}: let only one source '
                'publish odom, or deactivate the node first')
        if (turn := float(np.linalg.norm(reading.angular))) > LARGEST_TURN:
            raise HodynError(
                f'twist.twist.angular is {turn:.4g} rad/s; at most {LARGEST_TURN:g} are believed')
        if (speed := float(np.linalg.norm(reading.linear))) > LARGEST_VELOCITY:
            raise HodynError(
                f'twist.twist.linear is {speed:.4g} m/s; at most {LARGEST_VELOCITY:g} are '
                'believed: is it in mm/s?')
        placement = self.placement(reading.child_frame, prefix, 'child_frame_id')
        turned = lie.rotation_of_quaternion(reading.quaternion)
        rotation = turned @ placement[:3, :3].T
        angular = turned @ reading.angular
        # From the frame's origin to the body's, in world axes.
        lever = -rotation @ placement[:3, 3]
        linear = turned @ reading.linear + np.cross(angular, lever)
        return rotation, reading.position + lever, np.concatenate([angular, linear])

    def placement(self, name: str, prefix: str, field: str) -> Array:
        """Return the pose (4, 4) of a link, which a message's field names, in the base's axes."""
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
        """Refuse a stamp far from `now`, and one not newer than the last if no clock was set."""
        if not stamp:
            raise HodynError('it has no stamp')
        if now is not None:
            self._check_age(stamp, now)
        if self._last is not None and stamp <= self._last.stamp:
            if self._last.stamp - stamp <= SET_BACK:
                raise HodynError('a stamp is not newer than the last')
            self._forget()
            self._displacement = Displacement()

    def _check_age(self, stamp: int, now: int) -> None:
        if abs(late := (now - stamp) * 1e-9) > self._oldest:
            raise HodynError(
                f'its stamp is {abs(late):.3f} s {"behind" if late > 0.0 else "ahead of"} that of '
                f'the joint states; at most {self._oldest:g} s is allowed: use one clock for both')

    def _filter(self, rate: Array, seconds: float) -> None:
        """Filter the rate of the velocities, (6,), over `seconds` by a low pass of order 1."""
        kept: Array = self.hybrid[1]
        kept += -np.expm1(-self._bandwidth * seconds) * (rate - kept)
        if not self._displacement.is_confirmed:
            kept[3:] = 0.0
        for half, most in zip((kept[:3], kept[3:]), LARGEST_ACCELERATION, strict=True):
            half *= min(1.0, float(most) / max(float(np.linalg.norm(half)), 1e-9))


def _angle_between(one: Array, other: Array) -> float:
    """Return the angle between two unit vectors, (3,), rad."""
    return float(np.arctan2(np.linalg.norm(np.cross(one, other)), one @ other))


def _agree(before: _Found, after: _Found) -> bool:
    """Return whether the reading `after` is possible after `before`."""
    seconds = (after.stamp - before.stamp) * 1e-9
    if not 0.0 < seconds < LONGEST:
        return False
    change = float(np.linalg.norm((after.velocity - before.velocity)[:3]))
    return change <= QUICKEST * seconds + NOISE and _turn_agrees(before, after)


def _turn_agrees(before: _Found, after: _Found) -> bool:
    """Return whether the rotation between two readings is possible at the later velocity."""
    fastest = FASTEST + 2.0 * float(np.linalg.norm(after.velocity[:3]))
    angle = float(np.linalg.norm(lie.rotation_log(before.rotation.T @ after.rotation)))
    return angle <= fastest * (after.stamp - before.stamp) * 1e-9 + SLACK
