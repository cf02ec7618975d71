"""When joints stand: then friction can have any value up to the breakaway friction."""
import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Stamps

MIN_REST = 0.3
"""Least duration of a rest, s; shorter stops are reversals."""

SLOW = 0.005
"""Share of a joint's RMS velocity; below it, the joint is slow, however small the noise is."""

JITTER = 2e-3
"""Velocity below which a joint that only jitters is slow, rad/s or m/s."""

_DEVIATIONS = 3.0  # a velocity of fewer standard deviations is slow
_CERTAIN = 5.0  # a velocity of more standard deviations is not noise
# A joint jitters if it keeps one direction for `MIN_REST` on at most this share of its path.
_DIRECTED = 0.9


class Pace:
    """How each of n joints moves in a recording, from sums over its samples."""

    def __init__(self, n: int) -> None:
        self._sums = np.zeros((3, n))
        self._count = 0

    def add(self, instants: Stamps, velocity: Array) -> None:
        """Add consecutive samples: instants, (T,), ns, and velocities, (T, n)."""
        directed = _lasting(instants, velocity > 0.0) | _lasting(instants, velocity < 0.0)
        way = np.abs(velocity)
        self._sums += [
            np.sum(velocity ** 2, axis=0), way.sum(axis=0), (way * directed).sum(axis=0)]
        self._count += len(velocity)

    @property
    def rms(self) -> Array:
        """RMS velocity of each joint, (n,), rad/s or m/s."""
        return np.asarray(np.sqrt(self._sums[0] / max(self._count, 1)))

    @property
    def slow(self) -> Array:
        """Velocity below which each joint is slow, (n,), however small the noise is.

        It is the share `SLOW` of the joint's RMS velocity, as no fixed velocity is slow for every
        joint. If the joint only jitters, as when a controller holds it, the velocity is at least
        `JITTER`.
        """
        _, way, directed = self._sums
        slow = SLOW * self.rms
        return np.where(directed > _DIRECTED * way, slow, np.maximum(slow, JITTER))


def standing(instants: Stamps, velocity: Array, deviation: Array, slow: Array) -> Flags:
    """Return whether each joint stands, (T, n): slow without a break for `MIN_REST`.

    A velocity, rad/s or m/s, is slow if its size is below three standard deviations, (T, n), or
    below `slow`, (n,), see `Pace.slow`. The instants, (T,), are in ns.
    """
    return _lasting(instants, np.abs(velocity) < np.maximum(_DEVIATIONS * deviation, slow))


def moving(velocity: Array, deviation: Array) -> Flags:
    """Return which velocities, (T, n), are certainly not 0, by their standard deviations."""
    return np.asarray(np.abs(velocity) > _CERTAIN * deviation)


def _lasting(instants: Stamps, flags: Flags) -> Flags:
    """Return the flags, (T, n), that last for `MIN_REST` without a break."""
    out = np.zeros_like(flags)
    edges = np.diff(np.pad(flags, ((1, 1), (0, 0))).astype(np.int8), axis=0)
    for j, edge in enumerate(edges.T):
        for begin, end in zip(*(np.flatnonzero(edge == sign) for sign in (1, -1)), strict=True):
            out[begin:end, j] = instants[end - 1] - instants[begin] >= 1e9 * MIN_REST
    return out
