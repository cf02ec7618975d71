"""Whether the velocities of a streamed reference are those of its positions."""
from collections.abc import Sequence
import math

import numpy as np

from hodyn_ros.common.arrays import Array

_LONGEST = 1.0  # greatest time between samples of one stream that are compared, s
_JUDGED = 0.5, 10  # least time, s, and least number of steps between samples to judge by
_OPPOSED = -0.5  # correlation of steps and velocities below which they contradict each other
_TURN = 3.0  # ratio of velocities and steps (RMS) from which they contradict each other
_LEAST = 0.02  # least way by the velocities that is judged, rad or m


class StreamedVelocities:
    """Compares the steps between streamed positions with the velocities around them.

    Velocities of the opposite sign, or in degrees, let the reference sway about its way, so slow
    that no limit is reached. Velocities that are filtered, late or rough are not judged.
    """

    def __init__(self, joints: Sequence[str]) -> None:
        self._joints = joints
        self._is_said = False
        self._last: tuple[float, Array, Array] | None = None
        self._begin()

    def _begin(self) -> None:
        self._passed, self._count = 0.0, 0
        #: Of the steps between samples and the ways by the velocities: squares and products
        self._sums = np.zeros((3, len(self._joints)))

    def add(self, time: float, position: Array, velocity: Array | None) -> str:
        """Take a sample, (n,) each, at a time of the sender's, s.

        Returns how the velocities contradict the positions, once in a stream, else ''.
        """
        last, self._last = self._last, None if velocity is None else (time, position, velocity)
        passed = time - last[0] if last else math.inf
        if velocity is None or last is None or not 0.0 < passed <= _LONGEST:
            self._begin()
            self._is_said = self._is_said and passed <= _LONGEST
            return ''
        step, way = position - last[1], 0.5 * (velocity + last[2]) * passed
        self._sums += np.array([step * step, step * way, way * way])
        self._passed += passed
        self._count += 1
        if self._passed < _JUDGED[0] or self._count < _JUDGED[1]:
            return ''
        line = self._judged()
        self._begin()
        if self._is_said or not line:
            return ''
        self._is_said = True
        return line

    def _judged(self) -> str:
        steps, products, ways = self._sums
        sizes = np.sqrt(steps), np.sqrt(ways)
        moves = np.sqrt(self._count * ways) > _LEAST
        opposed = moves & (products < _OPPOSED * sizes[0] * sizes[1])
        faster = moves & (sizes[1] > _TURN * sizes[0])
        wrong = opposed | faster
        if not wrong.any():
            return ''
        joint = int(np.where(wrong, ways, 0.0).argmax())
        speeds = [float(size[joint]) * math.sqrt(self._count) / self._passed for size in sizes]
        how = 'the opposite sign' if opposed[joint] else (
            f'{speeds[1]:.2g} rad/s or m/s (RMS), but the positions move at {speeds[0]:.2g}')
        return (
            f'streamed velocities of {self._joints[joint]} contradict its positions: they have '
            f'{how}. The reference sways about its way. Correct sign and unit of the velocities, '
            'or leave them out')
