"""The smoother against the same posterior written as one large linear system, in many digits."""
import mpmath
import numpy as np
import pytest

from hodyn_ros.estimation import kalman


def posterior(time, position, velocity, noise, start, start_variance):
    """Return mean (T, 5) and covariance (5 T, 5 T) of the process given all measurements."""
    with mpmath.workdps(60):
        n = kalman.STATES
        size = n * len(time)
        precision, vector = mpmath.zeros(size), mpmath.zeros(size, 1)
        for k in range(n):
            precision[k, k] = 1 / mpmath.mpf(start_variance[k])
            vector[k] = start[k] / mpmath.mpf(start_variance[k])
        for t in range(1, len(time)):
            step = mpmath.mpf(time[t]) - mpmath.mpf(time[t - 1])
            move, spread = mpmath.zeros(n, 2 * n), mpmath.zeros(n)
            for i in range(n):
                move[i, n + i] = 1
                for j in range(n):
                    if j >= i:
                        move[i, j] = -step ** (j - i) / mpmath.factorial(j - i)
                    power = 2 * n - 1 - i - j
                    spread[i, j] = noise[0] * step ** power / (
                        power * mpmath.factorial(n - 1 - i) * mpmath.factorial(n - 1 - j))
            added = move.T * spread ** -1 * move
            first = n * (t - 1)
            for i in range(2 * n):
                for j in range(2 * n):
                    precision[first + i, first + j] += added[i, j]
            for k, value in ((0, position[t]), (1, velocity[t])):
                if not np.isnan(value):
                    weight = 1 / mpmath.mpf(noise[1 + k]) ** 2
                    precision[n * t + k, n * t + k] += weight
                    vector[n * t + k] += weight * mpmath.mpf(value)
        covariance = precision ** -1
        mean = covariance * vector
        return (np.array([float(x) for x in mean]).reshape(-1, n),
                np.array(covariance.tolist(), dtype=float))


def smoothed(time, position, velocity, scale, step, noise):
    """Return the smoothed motion of one signal, (T, 5), and its covariance."""
    motion, covariance = np.empty((len(time), 5, 1)), np.empty((len(time), 5, 5))
    kalman.rts_smoother(
        time, position[:, None], velocity[:, None], scale, step, noise, motion, covariance)
    return motion[:, :, 0], covariance


@pytest.mark.parametrize('case', ['both', 'positions only', 'some missing'])
def test_mean_and_covariance(case):
    rng = np.random.default_rng(0)
    count = 10
    time = np.cumsum(rng.uniform(0.5, 1.5, count)) * 0.01
    position, velocity = 1e-3 * rng.standard_normal(count), 0.1 * rng.standard_normal(count)
    noise = np.array([1e5, 1e-3, 1e-1])
    if case == 'positions only':
        velocity[:] = np.nan
        noise[2] = np.inf
    if case == 'some missing':
        velocity[3] = position[6] = velocity[6] = np.nan
    step = float(np.mean(np.diff(time)))
    motion, covariance = smoothed(time, position, velocity, 1.0, step, noise)
    unit = kalman.memory(step, *noise)
    density = noise[0] * unit ** 9
    variance = [noise[1] ** 2, noise[2] ** 2 if np.isfinite(noise[2]) else 1.0,
                density * 1e5 / unit ** 4, density * 1e3 / unit ** 6, density * 10 / unit ** 8]
    start = [position[0], 0.0 if np.isnan(velocity[0]) else velocity[0], 0.0, 0.0, 0.0]
    mean, joint = posterior(time, position, velocity, noise, start, variance)
    for k in range(5):
        np.testing.assert_allclose(
            motion[:, k], mean[:, k], rtol=0.0, atol=1e-10 * np.abs(mean[:, k]).max())
    for t in range(count):
        expected = joint[5 * t:5 * t + 5, 5 * t:5 * t + 5]
        scale = np.sqrt(np.diag(expected))
        np.testing.assert_allclose(
            covariance[t] / np.outer(scale, scale), expected / np.outer(scale, scale), rtol=0.0,
            atol=1e-9)
