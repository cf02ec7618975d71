"""Curves for plots: every sample of a short recording, the envelope of a long one."""
import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MAX_BINS = 1024


class Trace:
    """Curves (T, m) gathered chunk by chunk, in at most 2 × MAX_BINS bins of equal sample numbers.

    Attributes
    ----------
    bin : int
        Samples in a bin; 1 if the trace has every sample.

    """

    def __init__(self, curves: int) -> None:
        self.bin = 1
        self._time: Array = np.empty(0)
        self._lower: Array = np.empty((0, curves))
        self._upper: Array = np.empty((0, curves))
        self._rest: tuple[Array, Array] = (np.empty(0), np.empty((0, curves)))

    def add(self, time: Array, values: Array) -> None:
        """Append samples at instants (T,), s; NaN breaks the curves."""
        time = np.concatenate([self._rest[0], time])
        values = np.concatenate([self._rest[1], values])
        whole = len(time) // self.bin * self.bin
        self._rest = time[whole:], values[whole:]
        self._append(time[:whole].reshape(-1, self.bin)[:, 0], *(
            extreme(values[:whole].reshape(-1, self.bin, values.shape[1]), axis=1)
            for extreme in (np.min, np.max)))
        while len(self._time) >= 2 * MAX_BINS:
            even = len(self._time) // 2 * 2
            tail = slice(even, None)
            last = self._time[tail], self._lower[tail], self._upper[tail]
            self._time = self._time[:even:2]
            self._lower, self._upper = (
                extreme(values[:even].reshape(-1, 2, values.shape[1]), axis=1)
                for extreme, values in ((np.min, self._lower), (np.max, self._upper)))
            self.bin *= 2
            # The odd last bin is kept as one of the new width, though it covers half the time.
            self._append(*last)

    def _append(self, time: Array, lower: Array, upper: Array) -> None:
        self._time = np.concatenate([self._time, time])
        self._lower = np.concatenate([self._lower, lower])
        self._upper = np.concatenate([self._upper, upper])

    @property
    def time(self) -> Array:
        """Beginnings of the bins, s."""
        return self._time

    @property
    def lower(self) -> Array:
        """Least values in the bins, (bins, m)."""
        return self._lower

    @property
    def upper(self) -> Array:
        """Greatest values in the bins, (bins, m)."""
        return self._upper
