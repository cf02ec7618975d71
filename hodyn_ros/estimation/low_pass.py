"""A low-pass filter without delay, the same that estimates the motion."""
import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.estimation import kalman

_WIDE = 1e6  # prior standard deviation of the first slope: so wide that it has no effect


def low_pass(time: Array, values: Array, bandwidth: float) -> Array:
    """Return columns filtered by 1/(1 + (ωT)¹⁰), T = 1/(2π bandwidth), the smoothing spline.

    `time`, (S,), s, increases strictly; `values`, (S, n), are NaN where not known; `bandwidth` is
    in Hz. The result is NaN before the first known value, and in columns with fewer than two.
    """
    found = np.full(values.shape, np.nan)
    step = float(time[-1] - time[0]) / max(len(time) - 1, 1)
    memory = max(0.5 / np.pi / bandwidth, step)
    noise = np.array([step / memory ** (2 * kalman.STATES), 1.0, np.inf])
    known = np.isfinite(values)
    alike: dict[bytes, list[int]] = {}  # columns that are known at the same instants
    for column in np.flatnonzero(np.count_nonzero(known, axis=0) >= 2):
        alike.setdefault(known[:, column].tobytes(), []).append(int(column))
    for columns in alike.values():
        first = int(np.argmax(known[:, columns[0]]))
        signals = np.ascontiguousarray(values[first:, columns] - values[first, columns])
        scale = np.array([float(np.nanstd(signal)) or 1.0 for signal in signals.T.copy()])
        smooth = np.empty((len(signals), kalman.STATES, len(columns)))
        kalman.rts_smoother(
            time[first:], signals / scale, np.full(signals.shape, np.nan), _WIDE, step, noise,
            smooth, np.empty((len(signals), kalman.STATES, kalman.STATES)))
        found[first:, columns] = values[first, columns] + scale * smooth[:, 0]
    return found
