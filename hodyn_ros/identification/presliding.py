"""What friction that builds up over a displacement would explain of the errors: presliding.

Dahl's law (Aerospace Corporation TOR-0158, 1968): a bristle z of each joint, within ±1, follows
dz/dq = (1 − z sgn q̇) / δ, so that after a reversal the friction turns over some δ and not at once.
It is a matter of the positions alone, and has a memory: what it is at some instant depends on
where the joint turned last, and after a standstill on what was never recorded. The feed-forward,
a function of the present motion with two continuous derivatives, has no place for it (at each
reversal the law's second derivative jumps by 2 q̈/δ of its torque). It is therefore named, not
written.
"""
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit

Array = NDArray[np.float64]

DISPLACEMENTS = np.geomspace(3e-4, 3e-2, 17)
"""Values of δ that are tried, rad."""

_COLUMNS = 4  # bristle, the friction law of the robot, velocity, error


@dataclass(frozen=True, eq=False)
class Presliding:
    """What the bristles of each joint explain, (n,) arrays.

    Attributes
    ----------
    displacement : (n,) array
        δ, rad.
    torque : (n,) array
        What z = 1 is worth, N m.
    held_out : (n,) array
        RMS errors with the bristles, on motion held out from the fit of these, N m.

    """

    displacement: Array
    torque: Array
    held_out: Array


class PreslidingFit:
    """Gathers errors beside bristles; memory does not grow with the recordings.

    Parameters
    ----------
    n : int
        Joints.
    parts : int
        Parts of the motion that are held out one after the other.

    """

    def __init__(self, n: int, parts: int) -> None:
        self._products = np.zeros((parts, n, len(DISPLACEMENTS), _COLUMNS, _COLUMNS))
        self._count = np.zeros((parts, n))
        self.restart()

    def restart(self) -> None:
        """Begin another recording, where the bristles are not known."""
        self._bristles = np.zeros((self._products.shape[1], len(DISPLACEMENTS)))
        self._last: Array | None = None

    def add(self, q: Array, error: Array, law: Array, part: NDArray[np.intp]) -> None:
        """Add consecutive samples.

        Parameters
        ----------
        q : (T, 2 or more, n) array
            Positions and velocities.
        error : (T, n) array
            Recorded effort less predicted, N m; what is not finite is left out.
        law : (T, n) array
            The friction in the prediction, N m.
        part : (T,) int array
            Which part a sample belongs to.

        """
        if not len(q):
            return
        before = q[:1, 0] if self._last is None else self._last
        moved = np.diff(np.concatenate([before, q[:, 0]]), axis=0)
        self._last = q[-1:, 0].copy()
        bristles = np.empty((*moved.shape, len(DISPLACEMENTS)))
        _follow(moved, DISPLACEMENTS, self._bristles, bristles)
        known = np.isfinite(error)
        table = np.empty((*bristles.shape, _COLUMNS))
        table[..., 0] = bristles
        for column, values in enumerate((law, q[:, 1], np.nan_to_num(error)), 1):
            table[..., column] = values[:, :, None]
        table *= known[:, :, None, None]
        for k in np.unique(part):
            mine = table[part == k]
            self._count[k] += known[part == k].sum(axis=0)
            self._products[k] += np.einsum('tjda,tjdb->jdab', mine, mine)

    def held_out(self, part: int) -> Array:
        """Return RMS errors on a part with what the other ones tell, (n,), N m."""
        return np.asarray(np.sqrt(self._square(part) / np.maximum(self._count[part], 1.0)))

    def _square(self, part: int) -> Array:
        square = np.zeros(self._products.shape[1])
        for j, own in enumerate(self._products[part]):
            best, values = _solve(self._products[:, j].sum(axis=0) - own)
            given = np.append(-values, 1.0)
            square[j] = max(float(given @ own[best] @ given), 0.0)
        return square

    def result(self) -> Presliding:
        """Return what was found, each part judged by the other ones."""
        found = [_solve(products) for products in self._products.sum(axis=0)]
        square = sum(self._square(part) for part in range(len(self._products)))
        return Presliding(
            np.array([DISPLACEMENTS[best] for best, _ in found]),
            np.array([values[0] for _, values in found]),
            np.sqrt(square / np.maximum(self._count.sum(axis=0), 1.0)))


def _solve(products: Array) -> tuple[int, Array]:
    """Return which of the displacements leaves least, and the factors of the columns there."""
    least, best, found = np.inf, 0, np.zeros(_COLUMNS - 1)
    for k, matrix in enumerate(products):
        inner, right = matrix[:-1, :-1], matrix[:-1, -1]
        scale = np.sqrt(np.maximum(np.diag(inner), 1e-300))
        values = np.linalg.lstsq(inner / np.outer(scale, scale), right / scale, rcond=1e-6)[0]
        left = matrix[-1, -1] - values @ (right / scale)
        if left < least:
            least, best, found = left, k, values / scale
    return best, np.asarray(found)


@njit()
def _follow(moved: Array, displacement: Array, state: Array, out: Array) -> None:
    for t in range(moved.shape[0]):
        for j in range(moved.shape[1]):
            way = moved[t, j]
            side = np.sign(way)
            for d in range(len(displacement)):
                kept = np.exp(-abs(way) / displacement[d])
                state[j, d] = side + (state[j, d] - side) * kept
                out[t, j, d] = state[j, d]
