"""Kalman filter and smoother on a chain of integrators, for signals with equal noise parameters.

The motion is a Gaussian process whose fifth derivative is white noise of density σ_w², so the
posterior mean of the position is the smoothing spline of degree 9. The states are the position and
its derivatives to the snap. Positions and velocities are measured at any instants (NaN: missing).
The smoother is Rauch, Tung and Striebel's (RTS); its covariances are sums of positive terms.

States are scaled, x_k = q⁽ᵏ⁾ Tᵏ with T the memory of the filter, so that all are of the size of
the noise at any sampling rate.
"""
import math

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import njit

STATES = 5

_DIVISORS = np.array([
    [(2 * STATES - 1 - i - j) * math.factorial(STATES - 1 - i) * math.factorial(STATES - 1 - j)
     for j in range(STATES)] for i in range(STATES)], dtype=np.float64)
# The prior variances of acceleration, jerk and snap are the density of the driving noise times
# odd powers of this time, which is in units of T.
_PRIOR_MEMORIES = 10.0


@njit()
def memory(step: float, process: float, position_noise: float, velocity_noise: float) -> float:
    """Return T, s: roughly the time over which a sample still influences the estimate.

    `step` is the typical time between samples, s; `process` is σ_w², rad²/s⁹; the noises are
    standard deviations, rad and rad/s, the second infinite if velocities are not measured.
    """
    time = (position_noise ** 2 * step / process) ** (0.5 / STATES)
    if velocity_noise < np.inf:
        time = min(time, (velocity_noise ** 2 * step / process) ** (0.5 / (STATES - 1)))
    return float(max(time, step))


@njit()
def _advance(h: float, rows: Array) -> None:
    """Multiply rows by the transition F over h (in units of T), in place."""
    # Each row needs only lower rows, which are still unchanged.
    for i in range(STATES):
        power = 1.0
        for j in range(i + 1, STATES):
            power *= h / (j - i)
            for c in range(rows.shape[1]):
                rows[i, c] += power * rows[j, c]


@njit()
def _add_noise(h: float, density: float, p: Array) -> None:
    """Add the covariance Q that the driving white noise causes over h (in units of T)."""
    for i in range(STATES):
        for j in range(i, STATES):
            p[i, j] += density * h ** (2 * STATES - 1 - i - j) / _DIVISORS[i, j]
            p[j, i] = p[i, j]


@njit()
def _update(
    state: int, values: Array, variance: float, x: Array, p: Array, gain: Array,
) -> tuple[float, float]:
    """Update by a measured state, in place; return the first innovation and its variance, or 0."""
    if np.isnan(values[0]) or variance == np.inf:
        return 0.0, 0.0
    s = p[state, state] + variance
    first = values[0] - x[state, 0]
    for i in range(STATES):
        gain[i] = p[i, state] / s
    for c in range(len(values)):
        y = values[c] - x[state, c]
        for i in range(STATES):
            x[i, c] += gain[i] * y
    for i in range(STATES):
        if i != state:
            for j in range(i, STATES):
                if j != state:
                    p[i, j] -= gain[i] * s * gain[j]
                    p[j, i] = p[i, j]
    # The measured row p (1 − p_state / s) is computed as p variance / s: the difference would
    # cancel if the noise is far below the prediction's standard deviation.
    for i in range(STATES):
        p[i, state] = p[state, i] = gain[i] * variance
    return first, s


@njit()
def _filter(
    time: Array, position: Array, velocity: Array, velocity_scale: float, unit: float,
    noise: Array, states: Array, covariance: Array,
) -> float:
    """Return the log-likelihood of the first signal; write states if there is room for them."""
    x, p = np.empty((STATES, position.shape[1])), np.empty((STATES, STATES))
    gain = np.empty(STATES)
    density = noise[0] * unit ** (2 * STATES - 1)
    q_variance, v_variance = noise[1] ** 2, (noise[2] * unit) ** 2
    total = 0.0
    x[:] = p[:] = 0.0
    x[0], p[0, 0] = position[0], q_variance
    if np.isnan(velocity[0, 0]):
        p[1, 1] = (velocity_scale * unit) ** 2
    else:
        x[1], p[1, 1] = velocity[0] * unit, v_variance
    for k in range(2, STATES):
        p[k, k] = density * _PRIOR_MEMORIES ** (2 * (STATES - k) - 1)
    for t in range(len(time)):
        if t > 0:
            h = (time[t] - time[t - 1]) / unit
            _advance(h, x)
            _advance(h, p)  # F P, and (F (F P)ᵀ) = F P Fᵀ, as P is symmetric
            _advance(h, p.T)
            _add_noise(h, density, p)
            y, s = _update(0, position[t], q_variance, x, p, gain)
            if s > 0.0:
                total -= 0.5 * (math.log(s) + y * y / s)
            y, s = _update(1, velocity[t] * unit, v_variance, x, p, gain)
            if s > 0.0:
                # The likelihood of the velocity itself, not of its scaled value.
                total -= 0.5 * (math.log(s / unit ** 2) + y * y / s)
        if len(states) > 0:
            states[t], covariance[t] = x, p
    return total


@njit(nogil=True)
def log_likelihood(
    time: Array, position: Array, velocity: Array, velocity_scale: float, noise: Array,
) -> float:
    """Return the log-likelihood of samples, without its constant, for noise σ_w², σ_q, σ_v.

    Times, positions and velocities, (T,), are in s, rad, rad/s; NaN where not recorded.
    `velocity_scale`, rad/s, is the prior standard deviation of the velocity if the first velocity
    is not recorded.
    """
    unit = memory((time[-1] - time[0]) / (len(time) - 1), noise[0], noise[1], noise[2])
    return float(_filter(
        time, position.reshape(-1, 1), velocity.reshape(-1, 1), velocity_scale, unit, noise,
        np.empty((0, STATES, 1)), np.empty((0, STATES, STATES))))


@njit(nogil=True)
def rts_smoother(
    time: Array, position: Array, velocity: Array, velocity_scale: float, step: float,
    noise: Array, motion: Array, covariance: Array,
) -> None:
    """Write the smoothed q … q⁗ of m signals, and their common covariance.

    - `time`, (T,), s; `step`: the typical time between samples, s.
    - `position`, `velocity`, (T, m), rad, rad/s; NaN in whole rows where not recorded. The first
      positions must be recorded.
    - `velocity_scale`, `noise`: as for `log_likelihood`.
    - `motion`, `covariance`, (T, 5, m) and (T, 5, 5): written, rad/sᵏ and rad²/sⁱ⁺ʲ.
    """
    unit = memory(step, noise[0], noise[1], noise[2])
    density = noise[0] * unit ** (2 * STATES - 1)
    _filter(time, position, velocity, velocity_scale, unit, noise, motion, covariance)
    move, added, lower, gain, rest, work = (
        np.empty((STATES, STATES)), np.empty((STATES, STATES)), np.empty((STATES, STATES)),
        np.empty((STATES, STATES)), np.empty((STATES, STATES)), np.empty((STATES, STATES)))
    columns = position.shape[1]
    change = np.empty((STATES, columns))
    for t in range(len(time) - 2, -1, -1):
        x, p, ahead, p_ahead = motion[t], covariance[t], motion[t + 1], covariance[t + 1]
        _transition((time[t + 1] - time[t]) / unit, density, move, added)
        _smoother_gain(p, move, added, lower, gain, work)
        # x + G (x_ahead − F x), and (1 − G F) P (1 − G F)ᵀ + G (P_ahead + Q) Gᵀ, whose terms
        # are both positive.
        for i in range(STATES):
            for c in range(columns):
                change[i, c] = ahead[i, c]
                for j in range(i, STATES):
                    change[i, c] -= move[i, j] * x[j, c]
            for j in range(STATES):
                rest[i, j] = 1.0 if i == j else 0.0
                for k in range(j + 1):
                    rest[i, j] -= gain[i, k] * move[k, j]
                added[i, j] += p_ahead[i, j]
        for i in range(STATES):
            for j in range(STATES):
                for c in range(columns):
                    x[i, c] += gain[i, j] * change[j, c]
        _sandwich(rest, p, work, lower)
        _sandwich(gain, added, work, rest)
        for i in range(STATES):
            for j in range(STATES):
                p[i, j] = lower[i, j] + rest[i, j]
    scale = np.empty(2 * STATES - 1)  # computing them for each sample took a third of the time
    for k in range(len(scale)):
        scale[k] = unit ** -k
    for t in range(len(time)):
        for i in range(STATES):
            for c in range(columns):
                motion[t, i, c] *= scale[i]
            for j in range(STATES):
                covariance[t, i, j] *= scale[i + j]


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
