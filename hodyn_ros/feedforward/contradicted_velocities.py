"""Detects velocities of a streamed reference, or of joint states, that contradict positions."""
import math

import numpy as np

from hodyn_ros.common.arrays import Array

LONGEST = 1.0
"""Greatest time between positions that are compared, s."""
# An interval this many times longer than the one before is a gap, in which velocities may change.
_GAP = 5.0
_STEPS = 10  # velocities are judged after each so many steps ...
# ... and at least this time, s; sooner only if they are 180/π times too large, within a fraction.
_JUDGED, _DEGREES = 0.5, 0.25
_OPPOSED = -0.5  # correlation of steps and velocities below which they contradict each other
_RATIO = 3.0  # ratio of velocities to steps (RMS) above which they contradict each other
_LEAST = 0.02  # least displacement by the velocities that is judged, rad or m


class ContradictedVelocities:
    """Compares the steps between positions with the velocities around them.

    Streamed velocities of the opposite sign, or in degrees, make a slow reference sway about its
    path without reaching a limit. Measured velocities of the opposite sign reverse the friction
    torque. Velocities that are filtered, delayed or noisy, and velocities of a vibrating joint, do
    not count as contradictions.
    """

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self.joint = 0  #: The joint whose velocities were last found to contradict its positions
        #: Whether velocities have contradicted positions since the last pause of more than 1 s
        self.are_wrong = False
        self._time = -math.inf
        self._last: tuple[Array, Array] | None = None
        self._apart = LONGEST
        self._begin()

    def _begin(self) -> None:
        self._passed, self._count = 0.0, 0
        # Sums of step², step × way, way², step and way: a step is a change of position, its way
        # the integral of the velocity over the same time.
        self._sums = np.zeros((5, self._joints))

    def add(self, time: float, position: Array, velocity: Array | None) -> str:
        """Take a position and a velocity, (n,) each, at a time on the sender's clock, s.

        Returns how the velocities of `joint` contradict its positions, only once until a pause of
        more than 1 s; else ''.
        """
        last, self._last = self._last, None if velocity is None else (position, velocity)
        passed, self._time = time - self._time, time
        is_gap, self._apart = passed > _GAP * self._apart, passed
        self.are_wrong = self.are_wrong and passed <= LONGEST
        if is_gap and passed <= LONGEST:
            return ''
        if velocity is None or last is None or not 0.0 < passed <= LONGEST:
            self._begin()
            return ''
        step, way = position - last[0], 0.5 * (velocity + last[1]) * passed
        self._sums += np.array([step * step, step * way, way * way, step, way])
        self._passed += passed
        self._count += 1
        if self._count % _STEPS:
            return ''
        is_early = self._passed < _JUDGED
        line = '' if self.are_wrong else self._judged(is_early=is_early)
        if line or not is_early:
            self._begin()
        self.are_wrong = self.are_wrong or bool(line)
        return line

    def _judged(self, *, is_early: bool) -> str:
        steps, products, ways, step, way = self._sums
        sizes = np.sqrt(steps), np.sqrt(ways)
        moves = np.abs(way) > _LEAST
        # Vibration and noise increase the squares, but hardly the whole displacement.
        opposed = moves & (products < _OPPOSED * sizes[0] * sizes[1]) & (
            step * way < _OPPOSED * way ** 2 / _RATIO)
        faster = moves & (products > -_OPPOSED * sizes[0] * sizes[1]) & (
            sizes[1] > _RATIO * sizes[0]) & (np.abs(way) > _RATIO * np.abs(step))
        degrees = np.abs(np.deg2rad(sizes[1]) - sizes[0]) < _DEGREES * sizes[0]
        wrong = faster & degrees if is_early else opposed | faster
        if not wrong.any():
            return ''
        joint = self.joint = int(np.where(wrong, ways, 0.0).argmax())
        speeds = [float(size[joint]) * math.sqrt(self._count) / self._passed for size in sizes]
        return 'they have the opposite sign' if opposed[joint] else (
            f'they are {speeds[1]:.2g} rad/s or m/s (RMS), but the positions move at '
            f'{speeds[0]:.2g}{", as if in deg/s" if degrees[joint] else ""}')
