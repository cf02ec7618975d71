"""Signals within a bandwidth, without delay: the filter that the motion is estimated with."""
import numpy as np
from numpy.typing import NDArray

from hodyn_ros.estimation import kalman

Array = NDArray[np.float64]

_WIDE = 1e6  # prior of the first slope, in units of the signal's noise: none


def low_pass(time: Array, values: Array, bandwidth: float) -> Array:
    """Return columns filtered by 1/(1 + (ωT)¹⁰), T = 1/(2π bandwidth), the smoothing spline.

    Parameters
    ----------
    time : (S,) array
        s, strictly increasing.
    values : (S, n) array
        NaN where not known; stays NaN before the first known value.
    bandwidth : float
        Hz.

    """
    found = np.full(values.shape, np.nan)
    step = float(time[-1] - time[0]) / max(len(time) - 1, 1)
    memory = max(0.5 / np.pi / bandwidth, step)
    noise = np.array([step / memory ** (2 * kalman.STATES), 1.0, np.inf])
    for column in range(values.shape[1]):
        known = np.flatnonzero(np.isfinite(values[:, column]))
        if len(known) < 2:
            continue
        part = slice(known[0], None)
        signal = values[part, column] - values[known[0], column]
        scale = float(np.nanstd(signal)) or 1.0
        motion = np.empty((len(signal), kalman.STATES))
        kalman.rts_smoother(
            time[part], np.ascontiguousarray(signal / scale), np.full(len(signal), np.nan),
            _WIDE, step, noise, np.empty((len(signal), kalman.HISTORY)), motion,
            np.empty((len(signal), kalman.STATES, kalman.STATES)))
        found[part, column] = values[known[0], column] + scale * motion[:, 0]
    return found
