"""Confirms the twists of a base: their integral is compared with the displacement of its poses."""
from collections import deque

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import HodynError, lie

WINDOW, LONGEST_STEP = 0.1, 0.25
"""Pose and twist are compared over WINDOW, s; a gap of LONGEST_STEP, s, begins a new window."""
ALLOWED = 0.07
"""Allowed difference of the two displacements, rad and m, in addition to half of the displacement
by poses: filters delay twists, and estimators correct positions."""
LEAST_CONFIRMED = 0.5
"""Share of a velocity that must be confirmed; a steady acceleration from rest confirms more."""
FREE = 0.5, 0.7
"""Angular and linear velocity that need no confirmation, rad/s and m/s."""
HOLD = 0.3
"""How long readings are refused after an angular velocity contradicted the orientation, s."""
PROOF, CLOSE = 0.005, 0.45
"""A linear velocity is confirmed if its displacement is at least PROOF, m, and differs from that
of the poses by at most the share CLOSE."""
CALM = 1.0
"""Time without contradiction or jump before a linear velocity is confirmed again, s."""
LEAP = 1.2
"""A position leaps if it moves by more than this multiple of the integral of the velocity, and by
`ALLOWED` away from this integral."""
FROZEN = 1.0
"""After this time, s, an unchanged position counts as a new one: the base stands still."""
QUICKEST, NOISE = 100.0, 0.5
"""Velocities may change at the rate QUICKEST, rad/s² or m/s², and by NOISE, rad/s or m/s."""
DOUBT = 'odom: {} Until both agree, linear accelerations of the base are taken to be 0'
_HALVES = slice(0, 3), slice(3, 6)


class Displacement:
    """Compares how far a base moved over `WINDOW` with the integral of its twist.

    A driver may give degrees or millimetres per second, a twist in other axes, or a pose that
    stands still while the twist does not.
    """

    def __init__(self) -> None:
        #: `is_confirmed`: whether the position has confirmed the linear velocity, and has not
        #: contradicted it since; `doubt`: log line of a present contradiction, else empty
        self.is_confirmed, self.doubt = False, ''
        self._fault = ''
        self._fault_end = self._calm_begin = 0
        self._last: tuple[Array, Array, int] | None = None
        self._place, self._since = np.zeros(3), 0
        self._ahead = np.zeros(3)
        self._sums = np.zeros((2, 6))
        self._window: deque[tuple[int, Array]] = deque()

    def take(
        self, rotation: Array, position: Array, velocity: Array, stamp: int, *, continues: bool,
    ) -> float:
        """Take a reading, in world axes; `continues` is whether it agrees with the last one.

        Returns the share of the angular velocity that the orientation confirms. Raises HodynError
        if the orientation contradicts the angular velocity.
        """
        last, self._last = self._last, (rotation, velocity, stamp)
        if last is None or not 0.0 < (seconds := (stamp - last[2]) * 1e-9) <= LONGEST_STEP:
            # From readings this far apart no displacement can be integrated.
            self._window = deque([(stamp, self._sums)])
            self._place, self._since, self._ahead = position, stamp, np.zeros(3)
            self._fault = self.doubt = ''
            self.is_confirmed = False
            return 1.0
        window = self._window
        while len(window) > 1 and stamp - window[0][0] > WINDOW * 1e9:
            window.popleft()
        said = 0.5 * seconds * (last[1] + velocity)
        turn = lie.rotation_log(rotation @ last[0].T)
        step = np.zeros((2, 6))
        # The velocity between readings that contradict each other is unknown.
        step[:, :3] = turn, said[:3] if continues else turn
        # Positions may come more rarely than velocities: they are compared when they change.
        self._ahead = self._ahead + said[3:]
        moved = position - self._place
        is_new = bool(moved.any()) or stamp - self._since >= FROZEN * 1e9
        # A leap is a correction of the position: velocities cannot be compared with it.
        leaps = np.linalg.norm(moved - self._ahead) > ALLOWED and (
            np.linalg.norm(moved) > LEAP * np.linalg.norm(self._ahead))
        if is_new:
            if not leaps:
                step[:, 3:] = moved, self._ahead
            self._place, self._since, self._ahead = position, stamp, np.zeros(3)
        self._sums = self._sums + step
        window.append((stamp, self._sums))
        if np.linalg.norm((velocity - last[1])[3:]) > QUICKEST * seconds + NOISE:
            self.is_confirmed, self._calm_begin = False, stamp + round(CALM * 1e9)
        if is_new and not leaps:
            self._judge_linear(velocity[3:], stamp)
        return self._judge_angular(velocity[:3], stamp)

    def _judge_linear(self, velocity: Array, stamp: int) -> None:
        moved, said, share = self._compare(1, velocity)
        self.doubt = ''
        if _contradict(moved, said):
            self.doubt = DOUBT.format(_contradiction(1, moved, said))
        if self.doubt or share < LEAST_CONFIRMED:
            self.is_confirmed, self._calm_begin = False, stamp + round(CALM * 1e9)
        elif stamp >= self._calm_begin and (size := float(np.linalg.norm(said))) >= PROOF and (
                np.linalg.norm(moved - said) <= CLOSE * size):
            self.is_confirmed = True

    def _judge_angular(self, velocity: Array, stamp: int) -> float:
        moved, said, share = self._compare(0, velocity)
        if _contradict(moved, said):
            self._fault = _contradiction(0, moved, said)
            self._fault_end = stamp + round(HOLD * 1e9)
        elif stamp >= self._fault_end:
            self._fault = ''
        if self._fault:
            raise HodynError(self._fault)
        if share < LEAST_CONFIRMED:
            raise HodynError(_contradiction(0, moved, velocity * self._seconds))
        return share

    def _compare(self, half: int, velocity: Array) -> tuple[Array, Array, float]:
        """Return displacements by poses and by twists, and the confirmed share of a velocity."""
        moved, said = (self._window[-1][1] - self._window[0][1])[:, _HALVES[half]]
        most = FREE[half] + 1.5 * float(np.linalg.norm(moved)) / self._seconds
        return moved, said, min(1.0, most / max(float(np.linalg.norm(velocity)), 1e-9))

    @property
    def _seconds(self) -> float:
        return (self._window[-1][0] - self._window[0][0]) * 1e-9


def _contradict(moved: Array, said: Array) -> bool:
    return bool(np.linalg.norm(moved - said) > ALLOWED + 0.5 * np.linalg.norm(moved))


def _contradiction(half: int, moved: Array, said: Array) -> str:
    what, unit, field = (
        ('orientation turned', 'rad', 'angular'), ('position moved', 'm', 'linear'))[half]
    return (
        f'its {what} by {np.linalg.norm(moved):.2g} {unit}, but by {np.linalg.norm(said):.2g} '
        f'according to twist.twist.{field}: is that in {unit}/s, in the axes of child_frame_id?')
