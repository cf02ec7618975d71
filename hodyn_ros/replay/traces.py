"""Curves for plots: every sample of a short recording, the envelope of a long one."""
import numpy as np

from hodyn_ros.common.arrays import Array

MAX_BINS = 1024


class Trace:
    """Curves (T, m) gathered chunk by chunk, in at most 2 × MAX_BINS bins of equal sizes."""

    def __init__(self, curves: int) -> None:
        self.bin = 1  #: Samples in a bin; 1 if the trace has every sample
        self.time: Array = np.empty(0)  #: (bins,): first instants of the bins, s
        self.lower: Array = np.empty((0, curves))  #: (bins, m): least values in the bins
        self.upper: Array = np.empty((0, curves))  #: (bins, m): greatest values in the bins
        self._rest: tuple[Array, Array] = (np.empty(0), np.empty((0, curves)))

    def add(self, time: Array, values: Array) -> None:
        """Append samples at instants (T,), s; NaN breaks the curves."""
        time = np.concatenate([self._rest[0], time])
        values = np.concatenate([self._rest[1], values])
        whole = len(time) // self.bin * self.bin
        self._rest = time[whole:], values[whole:]
        self._append_bins(time[:whole], values[:whole], self.bin)
        while len(self.time) >= 2 * MAX_BINS:
            even = len(self.time) // 2 * 2
            tail = slice(even, None)
            last = self.time[tail], self.lower[tail], self.upper[tail]
            self.time = self.time[:even:2]
            self.lower, self.upper = (
                extreme(values[:even].reshape(-1, 2, values.shape[1]), axis=1)
                for extreme, values in ((np.min, self.lower), (np.max, self.upper)))
            self.bin *= 2
            # The odd last bin is kept as one of the new width, though it covers half the time.
            self._append(*last)

    def end(self) -> None:
        """Append the last samples, too few for a bin, as one."""
        if len(self._rest[0]):
            self._append_bins(*self._rest, len(self._rest[0]))

    def _append_bins(self, time: Array, values: Array, size: int) -> None:
        self._append(time.reshape(-1, size)[:, 0], *(
            extreme(values.reshape(-1, size, values.shape[1]), axis=1)
            for extreme in (np.min, np.max)))

    def _append(self, time: Array, lower: Array, upper: Array) -> None:
        self.time = np.concatenate([self.time, time])
        self.lower = np.concatenate([self.lower, lower])
        self.upper = np.concatenate([self.upper, upper])
