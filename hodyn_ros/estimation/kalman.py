"""Kalman filter and smoother on a chain of integrators, for one joint's samples.

The motion is a Gaussian process whose fifth derivative is white noise of density σ_w², so the
posterior mean of the position is the smoothing spline of degree 9 and its derivatives to the snap
are states. Positions and velocities are measured (NaN where missing), at any instants.
The smoother is Rauch, Tung and Striebel's (RTS); its covariances are sums of positive terms.

States are scaled, x_k = q⁽ᵏ⁾ Tᵏ with T the memory of the filter, so that all are of the size of
the noise at any sampling rate.
"""
import math

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.common.jit import njit

Array = NDArray[np.float64]

STATES = 5
HISTORY = STATES + STATES * STATES
"""Numbers kept for each sample between the two passes."""

_DIVISORS = np.array([
    [(2 * STATES - 1 - i - j) * math.factorial(STATES - 1 - i) * math.factorial(STATES - 1 - j)
     for j in range(STATES)] for i in range(STATES)], dtype=np.float64)
# The driving noise adds the prior variance of acceleration, jerk and snap in this time, in T.
_PRIOR_MEMORIES = 10.0


@njit()
def memory(step: float, process: float, position_noise: float, velocity_noise: float) -> float:
    """Return T, s: roughly the time over which a sample still influences the estimate.

    Parameters
    ----------
    step : float
        Typical time between samples, s.
    process : float
        σ_w², rad²/s⁹.
    position_noise, velocity_noise : float
        Standard deviations, rad and rad/s; the second infinite if velocities are not measured.

    """
    time = (position_noise ** 2 * step / process) ** (0.5 / STATES)
    if velocity_noise < np.inf:
        time = min(time, (velocity_noise ** 2 * step / process) ** (0.5 / (STATES - 1)))
    return float(max(time, step))


@njit()
def _start(
    position: float, velocity: float, velocity_scale: float, step: float, noise: Array,
    x: Array, p: Array,
) -> None:
    """Set state x and covariance p from the first sample."""
    time = memory(step, noise[0], noise[1], noise[2])
    density = noise[0] * time ** (2 * STATES - 1)
    x[:] = 0.0
    p[:] = 0.0
    for k in range(2, STATES):
        p[k, k] = density * _PRIOR_MEMORIES ** (2 * (STATES - k) - 1)
    x[0] = position
    p[0, 0] = noise[1] ** 2
    if np.isnan(velocity):
        p[1, 1] = (velocity_scale * time) ** 2
    else:
        x[1] = velocity * time
        p[1, 1] = (noise[2] * time) ** 2


@njit()
def _predict(h: float, density: float, x: Array, p: Array) -> None:
    """Advance state and covariance by h (in units of T), in place."""
    # Multiplying by F from the left adds scaled lower rows to upper ones, so works in place.
    for i in range(STATES):
        power = 1.0
        for j in range(i + 1, STATES):
            power *= h / (j - i)
            x[i] += power * x[j]
    for c in range(STATES):
        for i in range(STATES):
            power = 1.0
            for j in range(i + 1, STATES):
                power *= h / (j - i)
                p[i, c] += power * p[j, c]
    for r in range(STATES):
        for i in range(r, STATES):
            power = 1.0
            for j in range(i + 1, STATES):
                power *= h / (j - i)
                p[r, i] += power * p[r, j]
            p[i, r] = p[r, i]
    _add_noise(h, density, p)


@njit()
def _add_noise(h: float, density: float, p: Array) -> None:
    """Add the covariance Q that the driving white noise brings over h (in units of T)."""
    for i in range(STATES):
        for j in range(i, STATES):
            p[i, j] += density * h ** (2 * STATES - 1 - i - j) / _DIVISORS[i, j]
            p[j, i] = p[i, j]


@njit()
def _update(
    state: int, value: float, variance: float, x: Array, p: Array, gain: Array,
) -> tuple[float, float]:
    """Measure one state, in place; return innovation and its variance, 0 without a value."""
    if np.isnan(value) or variance == np.inf:
        gain[:] = 0.0
        return 0.0, 0.0
    s = p[state, state] + variance
    y = value - x[state]
    for i in range(STATES):
        gain[i] = p[i, state] / s
    for i in range(STATES):
        x[i] += gain[i] * y
        if i != state:
            for j in range(i, STATES):
                if j != state:
                    p[i, j] -= gain[i] * s * gain[j]
                    p[j, i] = p[i, j]
    # The measured row p (1 − p_state / s) is computed as p variance / s, since the noise may be
    # far below the prediction's and the difference would cancel.
    for i in range(STATES):
        p[i, state] = p[state, i] = gain[i] * variance
    return y, s


@njit(nogil=True)
def log_likelihood(
    time: Array, position: Array, velocity: Array, velocity_scale: float, noise: Array,
) -> float:
    """Return the log-likelihood of samples under σ_w², σ_q, σ_v = noise, less its constant.

    Parameters
    ----------
    time, position, velocity : (T,) arrays
        s, rad, rad/s; NaN where not recorded.
    velocity_scale : float
        Prior standard deviation of the velocity, used if the first is not recorded, rad/s.
    noise : (3,) array
        σ_w², σ_q, σ_v.

    """
    x, p = np.empty(STATES), np.empty((STATES, STATES))
    gain = np.empty(STATES)
    step = (time[-1] - time[0]) / (len(time) - 1)
    unit = memory(step, noise[0], noise[1], noise[2])
    density = noise[0] * unit ** (2 * STATES - 1)
    q_variance, v_variance = noise[1] ** 2, (noise[2] * unit) ** 2
    total = 0.0
    _start(position[0], velocity[0], velocity_scale, step, noise, x, p)
    for t in range(1, len(time)):
        _predict((time[t] - time[t - 1]) / unit, density, x, p)
        y, s = _update(0, position[t], q_variance, x, p, gain)
        if s > 0.0:
            total -= 0.5 * (math.log(s) + y * y / s)
        y, s = _update(1, velocity[t] * unit, v_variance, x, p, gain)
        if s > 0.0:
            # The likelihood of the velocity itself, not of its scaled value.
            total -= 0.5 * (math.log(s / unit ** 2) + y * y / s)
    return total


@njit(nogil=True)
def rts_smoother(
    time: Array, position: Array, velocity: Array, velocity_scale: float, step: float,
    noise: Array, history: Array, motion: Array, covariance: Array,
) -> None:
    """Write the smoothed q … q⁗ of samples, and their covariance.

    Parameters
    ----------
    time, position, velocity : (T,) arrays
        s, rad, rad/s; NaN where not recorded. The first position must be recorded.
    velocity_scale : float
        Prior standard deviation of the velocity, used if the first is not recorded, rad/s.
    step : float
        Typical time between samples, s.
    noise : (3,) array
        σ_w², σ_q, σ_v.
    history : (T, HISTORY) array
        Scratch.
    motion, covariance : (T, 5) and (T, 5, 5) arrays
        Written, rad/sᵏ.

    """
    unit = memory(step, noise[0], noise[1], noise[2])
    density = noise[0] * unit ** (2 * STATES - 1)
    _filter(time, position, velocity, velocity_scale, step, noise, history)
    move, added, lower, gain, rest, work = (
        np.empty((STATES, STATES)), np.empty((STATES, STATES)), np.empty((STATES, STATES)),
        np.empty((STATES, STATES)), np.empty((STATES, STATES)), np.empty((STATES, STATES)))
    change = np.empty(STATES)
    last = len(time) - 1
    scale = np.empty(2 * STATES - 1)  # taking powers for each sample took a third of the time
    for k in range(len(scale)):
        scale[k] = unit ** -k
    for t in range(last, -1, -1):
        x, p = history[t, :STATES], history[t, STATES:].reshape(STATES, STATES)
        if t < last:
            ahead, p_ahead = (
                history[t + 1, :STATES], history[t + 1, STATES:].reshape(STATES, STATES))
            _transition((time[t + 1] - time[t]) / unit, density, move, added)
            _smoother_gain(p, move, added, lower, gain, work)
            # x + G (x_ahead − F x), and (1 − G F) P (1 − G F)ᵀ + G (P_ahead + Q) Gᵀ, whose terms
            # are both positive.
            for i in range(STATES):
                change[i] = ahead[i]
                for j in range(i, STATES):
                    change[i] -= move[i, j] * x[j]
                for j in range(STATES):
                    rest[i, j] = 1.0 if i == j else 0.0
                    for k in range(j + 1):
                        rest[i, j] -= gain[i, k] * move[k, j]
                    added[i, j] += p_ahead[i, j]
            for i in range(STATES):
                for j in range(STATES):
                    x[i] += gain[i, j] * change[j]
            _sandwich(rest, p, work, lower)
            _sandwich(gain, added, work, rest)
            for i in range(STATES):
                for j in range(STATES):
                    p[i, j] = lower[i, j] + rest[i, j]
        for i in range(STATES):
            motion[t, i] = x[i] * scale[i]
            for j in range(STATES):
                covariance[t, i, j] = p[i, j] * scale[i + j]


@njit(nogil=True)
def smooth_signals(
    time: Array, signals: Array, slope_scale: float, step: float, noise: Array, found: Array,
) -> None:
    """Smooth several signals with the same gaps, as `rts_smoother` does positions.

    The gains do not depend on the values, so these are computed once for all signals.

    Parameters
    ----------
    time, slope_scale, step, noise
        As for `rts_smoother`.
    signals, found : (T, m) arrays
        The measured signals, NaN only in whole rows and not in the first; the smoothed signals,
        written.

    """
    unit = memory(step, noise[0], noise[1], noise[2])
    density, variance = noise[0] * unit ** (2 * STATES - 1), noise[1] ** 2
    samples, columns = signals.shape
    unused, p = np.empty(STATES), np.empty((STATES, STATES))
    x, covariance = np.empty((samples, STATES, columns)), np.empty((samples, STATES, STATES))
    gain = np.empty(STATES)
    _start(0.0, np.nan, slope_scale, step, noise, unused, p)
    for t in range(samples):
        if t == 0:
            x[0] = 0.0
            x[0, 0] = signals[0]
        else:
            h = (time[t] - time[t - 1]) / unit
            for i in range(STATES):
                power = 1.0
                x[t, i] = x[t - 1, i]
                for j in range(i + 1, STATES):
                    power *= h / (j - i)
                    for c in range(columns):
                        x[t, i, c] += power * x[t - 1, j, c]
            _predict(h, density, unused, p)
            if not np.isnan(signals[t, 0]):
                _update(0, 0.0, variance, unused, p, gain)
                for c in range(columns):
                    y = signals[t, c] - x[t, 0, c]
                    for i in range(STATES):
                        x[t, i, c] += gain[i] * y
        covariance[t] = p
    move, added, lower, back, work = (
        np.empty((STATES, STATES)), np.empty((STATES, STATES)), np.empty((STATES, STATES)),
        np.empty((STATES, STATES)), np.empty((STATES, STATES)))
    change = np.empty((STATES, columns))
    for t in range(samples - 2, -1, -1):
        _transition((time[t + 1] - time[t]) / unit, density, move, added)
        _smoother_gain(covariance[t], move, added, lower, back, work)
        for i in range(STATES):
            for c in range(columns):
                change[i, c] = x[t + 1, i, c]
            for j in range(i, STATES):
                for c in range(columns):
                    change[i, c] -= move[i, j] * x[t, j, c]
        for i in range(STATES):
            for j in range(STATES):
                for c in range(columns):
                    x[t, i, c] += back[i, j] * change[j, c]
    found[:] = x[:, 0]


@njit()
def _filter(
    time: Array, position: Array, velocity: Array, velocity_scale: float, step: float,
    noise: Array, history: Array,
) -> None:
    """Run the filter; write each sample's state (5) and its covariance (25) to history."""
    x, p = np.empty(STATES), np.empty((STATES, STATES))
    gain = np.empty(STATES)
    unit = memory(step, noise[0], noise[1], noise[2])
    density = noise[0] * unit ** (2 * STATES - 1)
    q_variance, v_variance = noise[1] ** 2, (noise[2] * unit) ** 2
    _start(position[0], velocity[0], velocity_scale, step, noise, x, p)
    for t in range(len(time)):
        if t > 0:
            _predict((time[t] - time[t - 1]) / unit, density, x, p)
            _update(0, position[t], q_variance, x, p, gain)
            _update(1, velocity[t] * unit, v_variance, x, p, gain)
        history[t, :STATES] = x
        history[t, STATES:] = p.ravel()


@njit()
def _transition(h: float, density: float, move: Array, added: Array) -> None:
    """Write the transition F over h (in units of T) and the covariance Q that it adds."""
    for i in range(STATES):
        power = 1.0
        for j in range(STATES):
            move[i, j] = 0.0
            if j >= i:
                move[i, j] = power
                power *= h / (j - i + 1)
    added[:] = 0.0
    _add_noise(h, density, added)


@njit()
def _smoother_gain(
    p: Array, move: Array, added: Array, lower: Array, gain: Array, work: Array,
) -> None:
    """Write G = P Fᵀ (F P Fᵀ + Q)⁻¹ by Cholesky; `lower` and `work` are scratch."""
    for i in range(STATES):
        for j in range(STATES):
            total = 0.0
            for k in range(i, STATES):
                total += move[i, k] * p[k, j]
            work[i, j] = total
    for i in range(STATES):
        for j in range(i + 1):
            total = added[i, j]
            for k in range(j, STATES):
                total += work[i, k] * move[j, k]
            for k in range(j):
                total -= lower[i, k] * lower[j, k]
            lower[i, j] = math.sqrt(total) if i == j else total / lower[j, j]
    for c in range(STATES):
        for i in range(STATES):
            total = work[i, c]
            for k in range(i):
                total -= lower[i, k] * gain[c, k]
            gain[c, i] = total / lower[i, i]
        for i in range(STATES - 1, -1, -1):
            total = gain[c, i]
            for k in range(i + 1, STATES):
                total -= lower[k, i] * gain[c, k]
            gain[c, i] = total / lower[i, i]


@njit()
def _sandwich(a: Array, p: Array, work: Array, out: Array) -> None:
    """Write A P Aᵀ."""
    for i in range(STATES):
        for j in range(STATES):
            total = 0.0
            for k in range(STATES):
                total += a[i, k] * p[k, j]
            work[i, j] = total
    for i in range(STATES):
        for j in range(i, STATES):
            total = 0.0
            for k in range(STATES):
                total += work[i, k] * a[j, k]
            out[i, j] = out[j, i] = total
