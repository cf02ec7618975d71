"""Unwraps joint positions that a driver wraps, for example to ±π."""
from collections.abc import Sequence

import numpy as np

from hodyn_ros.common.arrays import Array, Flags, Stamps

_TURN = 2.0 * np.pi
_NEAR = 1.0  # rad; a change is a jump if it is this close to a whole turn
_SOON = 0.1  # s; no joint makes a whole turn in this time


class WholeTurns:
    """Unwraps the positions of consecutive messages, for the joints in the mask `turns`, (n,)."""

    def __init__(self, turns: Flags) -> None:
        self._turns = turns
        self._jumps = np.zeros(len(turns), dtype=np.intp)
        self._whole, self._change = np.zeros(len(turns)), np.zeros(len(turns))
        self._last: tuple[Array, int, int] | None = None

    def unwrapped(self, position: Array, stamp: Stamps, received: Stamps) -> Array:
        """Return positions, (T, n), unwrapped since the first message.

        Jumps across gaps are kept, since the arm may have turned meanwhile.
        """
        if not len(position):
            return position
        first = position[0], stamp[0], received[0]
        before, stamped, heard = first if self._last is None else self._last
        change = np.diff(position, axis=0, prepend=before[None])
        passed, on_the_way = np.diff(stamp, prepend=stamped), np.diff(received, prepend=heard)
        seconds = 1e-9 * np.where(
            passed > 0, np.minimum(passed, np.abs(on_the_way)), np.abs(on_the_way))
        jumped = self._turns & (np.abs(np.abs(change) - _TURN) < _NEAR) & (
            seconds[:, None] < _SOON)
        # Positions in degrees may also change by 2 π, but do so in several messages in a row.
        around = np.concatenate([self._change[None], change, np.zeros_like(change[:1])])
        small = np.abs(around) < _NEAR
        for beside in (slice(0, -2), slice(2, None)):
            jumped &= small[beside] | (around[beside] * change < -_TURN)
        self._change = change[-1]
        self._jumps += np.count_nonzero(jumped, axis=0)
        whole = self._whole - np.cumsum(np.where(jumped, np.sign(change), 0.0), axis=0)
        self._whole, self._last = whole[-1], (position[-1], stamp[-1], received[-1])
        return position + _TURN * whole if whole.any() else position

    def notes(self, names: Sequence[str]) -> list[str]:
        """Return a note on the joints that jumped, and how often; none if no joint did."""
        jumped = ', '.join(
            f'{name} ({count} times)' if count > 1 else name
            for name, count in zip(names, self._jumps, strict=False) if count)
        return [
            f'Positions jump by a whole turn: {jumped}. The jumps are removed here; but '
            'the driver must not wrap positions: the node would stop the arm'] if jumped else []
