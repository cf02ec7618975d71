"""Whether velocities of a streamed reference, or of joint states, are those of the positions."""
import math

import numpy as np

from hodyn_ros.common.arrays import Array

_LONGEST = 1.0  # greatest time between positions that are compared, s
_PAUSE = 5.0  # ratio of successive times from which the longer is a pause: velocities change in it
_JUDGED = 0.5, 10  # least time, s, and least number of steps between positions to judge by
_OPPOSED = -0.5  # correlation of steps and velocities below which they contradict each other
_TURN = 3.0  # ratio of velocities and steps (RMS) from which they contradict each other
_LEAST = 0.02  # least way by the velocities that is judged, rad or m


class ContradictedVelocities:
    """Compares the steps between positions with the velocities around them.

    Velocities of the opposite sign, or in degrees, let a streamed reference sway about its way, so
    slow that no limit is reached, and measured ones turn the friction's torque round. Velocities
    that are filtered, late or rough are not judged, nor are those of a joint that vibrates.
    """

    def __init__(self, joints: int) -> None:
        self._joints = joints
        self.joint = 0  #: The joint whose velocities were last found to contradict its positions
        #: Whether they have contradicted the positions since the last pause
        self.are_wrong = False
        self._time = -math.inf
        self._last: tuple[Array, Array] | None = None
        self._apart = _LONGEST
        self._begin()

    def _begin(self) -> None:
        self._passed, self._count = 0.0, 0
        #: Of the steps and the ways by the velocities: squares, products, and sums
        self._sums = np.zeros((5, self._joints))

    def add(self, time: float, position: Array, velocity: Array | None) -> str:
        """Take a position and a velocity, (n,) each, at a time of the sender's, s.

        Returns how those of `joint` contradict its positions, once until a pause, else ''.
        """
        last, self._last = self._last, None if velocity is None else (position, velocity)
        passed, self._time = time - self._time, time
        is_pause, self._apart = passed > _PAUSE * self._apart, passed
        self.are_wrong = self.are_wrong and passed <= _LONGEST
        if is_pause and passed <= _LONGEST:
            return ''
        if velocity is None or last is None or not 0.0 < passed <= _LONGEST:
            self._begin()
            return ''
        step, way = position - last[0], 0.5 * (velocity + last[1]) * passed
        self._sums += np.array([step * step, step * way, way * way, step, way])
        self._passed += passed
        self._count += 1
        if self._passed < _JUDGED[0] or self._count < _JUDGED[1]:
            return ''
        line = '' if self.are_wrong else self._judged()
        self._begin()
        self.are_wrong = self.are_wrong or bool(line)
        return line

    def _judged(self) -> str:
        steps, products, ways, step, way = self._sums
        sizes = np.sqrt(steps), np.sqrt(ways)
        moves = np.abs(way) > _LEAST
        # Squares are those of a vibration or of noise as well, the whole way is not.
        opposed = moves & (products < _OPPOSED * sizes[0] * sizes[1]) & (
            step * way < _OPPOSED * way ** 2 / _TURN)
        faster = moves & (products > -_OPPOSED * sizes[0] * sizes[1]) & (
            sizes[1] > _TURN * sizes[0]) & (np.abs(way) > _TURN * np.abs(step))
        wrong = opposed | faster
        if not wrong.any():
            return ''
        joint = self.joint = int(np.where(wrong, ways, 0.0).argmax())
        speeds = [float(size[joint]) * math.sqrt(self._count) / self._passed for size in sizes]
        return 'they have ' + ('the opposite sign' if opposed[joint] else (
            f'{speeds[1]:.2g} rad/s or m/s (RMS), but the positions move at {speeds[0]:.2g}'))
