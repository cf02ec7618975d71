"""How many samples count as one if errors of neighbouring samples are correlated.

The sum of N errors of variance σ² and autocorrelation ρₖ has the variance D N σ², with the design
effect D = 1 + 2 Σ ρₖ. To estimate D, the autocorrelations are weighed by a flat-top window
(Politis and Romano, Journal of Time Series Analysis 1995): 1 up to lag m, then falling to 0 at lag
2 m. m is the lag beyond which several successive autocorrelations are insignificant (Politis,
Econometric Theory 2003). Sums of the errors over blocks of length L would correspond to a window
that falls from lag 0 on: with errors of correlation time τ, they miss a share τ/L of the variance.
"""
import numpy as np

from hodyn_ros.common.arrays import Array, Indices
from hodyn_ros.identification.data import BLOCK

_LONGEST = 2.0  # largest m, s
_SUCCESSIVE = 5  # number of successive autocorrelations that must be insignificant
_INSIGNIFICANT = 2.0  # an autocorrelation is insignificant below this multiple of √(log₁₀ N / N)


def design_effects(errors: Array, block: Indices) -> Array:
    """Return the design effects: how many samples of each joint count as one, (n,), at least 1.

    `errors`, (T, n), are 0 where they are unknown; `block`, (T,), is as in `Data`.
    """
    per_block = float(np.median(np.unique(block, return_counts=True)[1]))
    longest = max(1, round(_LONGEST / BLOCK * per_block))
    correlation = _autocorrelations(errors, block, 2 * longest)
    known = np.maximum((errors != 0.0).sum(axis=0), 2)
    bound = _INSIGNIFICANT * np.sqrt(np.log10(known) / known)
    lags = np.arange(1, len(correlation) + 1)
    found = np.ones(errors.shape[1])
    for joint, own in enumerate(correlation.T):
        small = np.abs(own) < bound[joint]
        runs = np.lib.stride_tricks.sliding_window_view(
            np.append(small, np.ones(_SUCCESSIVE - 1, np.bool_)), _SUCCESSIVE).all(axis=1)
        flat = min(int(np.argmax(runs)) if runs.any() else longest, longest)
        if flat:
            window = np.clip(2.0 - lags / flat, 0.0, 1.0)
            found[joint] += 2.0 * float(window @ own)
    return np.maximum(found, 1.0)


def _autocorrelations(errors: Array, block: Indices, count: int) -> Array:
    """Return the autocorrelations at lags of 1 to `count` samples, (count, n)."""
    reach = int(np.ceil(2.0 * _LONGEST / BLOCK))
    squares = np.maximum(np.sum(errors ** 2, axis=0), 1e-300)
    found = np.zeros((count, errors.shape[1]))
    for lag in range(1, min(count, len(errors) - 1) + 1):
        near = np.abs(block[lag:] - block[:-lag]) <= reach
        found[lag - 1] = np.sum(
            (errors[lag:] * errors[:-lag])[near], axis=0) / squares
    return found


def sums_over_blocks(values: Array, block: Indices) -> Array:
    """Return the sums of values, (T, c), over each block, (b, c)."""
    order = np.unique(block, return_inverse=True)[1]
    sums = np.zeros((order.max() + 1, values.shape[1]))
    np.add.at(sums, order, values)
    return sums
