"""Positions, velocities, accelerations, jerks and snaps from samples, with their uncertainty.

Each joint's motion is estimated by the Kalman smoother of `kalman`: a chain of five integrators
driven by white noise, measured by the recorded positions and velocities at their own instants.
Its three parameters, the density of the driving noise and the noise of positions and velocities,
are the values under which these samples are most likely (maximum likelihood); the bandwidth
follows from them. Recorded efforts are not used.
"""
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.jit import threads
from hodyn_ros.estimation import kalman
from hodyn_ros.robot import HodynError

_FLOOR = 1e-12  # least scale, noise or density, in SI units
# Numbers count as rounded if their steps are multiples of the least step, up to this share of it.
_MULTIPLE = 0.01
_MAX_EVALUATIONS = 240  # greatest number of evaluations of a joint's likelihood


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of all joints within one run."""

    time: Array  #: (S,), s, strictly increasing
    #: `position`, `velocity`: (S, n), rad, rad/s; velocities NaN where not recorded
    position: Array
    velocity: Array


@dataclass(frozen=True, eq=False)
class Noise:
    """The parameters of the smoother, one entry per joint."""

    process: Array  #: (n,): density σ_w² of the fifth derivative, rad²/s⁹
    #: `position`, `velocity`: (n,): standard deviations of the samples, rad, rad/s; infinite where
    #: not recorded
    position: Array
    velocity: Array
    velocity_scale: Array  #: (n,): typical velocity, rad/s
    step: float  #: Typical time between samples, s

    @property
    def memory(self) -> Array:
        """Time before and after a sample over which it influences the estimate, (n,), s."""
        return np.array([kalman.memory(self.step, *row) for row in self.rows])

    @property
    def bandwidth(self) -> Array:
        """Bandwidth of each joint's estimate, (n,), Hz."""
        return np.asarray(0.5 / np.pi / self.memory)

    def with_bandwidth(self, bandwidth: float) -> 'Noise':
        """Return parameters with the same noise of samples and this bandwidth, Hz."""
        memory = 0.5 / np.pi / bandwidth
        process = self.step * np.minimum(
            self.position ** 2 / memory ** (2 * kalman.STATES),
            self.velocity ** 2 / memory ** (2 * kalman.STATES - 2))
        return replace(self, process=process)

    @property
    def rows(self) -> Array:
        """The parameters as the kernels take them, (n, 3)."""
        return np.column_stack([self.process, self.position, self.velocity])


@dataclass(frozen=True, eq=False)
class Motion:
    """A motion estimated from samples."""

    q: Array  #: (S, 5, n): positions and derivatives to the snap, rad/sᵏ
    #: (S, n, 5, 5): covariance of each joint's q … q⁗; joints are estimated independently
    covariance: Array

    @property
    def deviation(self) -> Array:
        """Standard deviations of q, (S, 5, n)."""
        variance = np.diagonal(self.covariance, axis1=2, axis2=3)
        return np.asarray(np.sqrt(np.maximum(variance, 0.0)).transpose(0, 2, 1))


def fit_noise(runs: Sequence[Samples]) -> Noise:
    """Return the most likely parameters of the smoother for these samples."""
    if not runs:
        raise HodynError('no run of samples is long enough to estimate derivatives')
    steps = np.concatenate([np.diff(run.time) for run in runs])
    step = float(np.median(steps))

    def fit(joint: int) -> tuple[Array, float]:
        return _fit_joint([
            (run.time, run.position[:, joint] - run.position[0, joint],
             np.ascontiguousarray(run.velocity[:, joint])) for run in runs], step)

    with ThreadPoolExecutor(threads()) as pool:  # the likelihood releases the GIL
        parameters, scales = zip(*pool.map(fit, range(runs[0].position.shape[1])), strict=True)
    rows = np.array(parameters)
    return Noise(rows[:, 0], rows[:, 1], rows[:, 2], np.array(scales), step)


def _fit_joint(series: list[tuple[Array, Array, Array]], step: float) -> tuple[Array, float]:
    slopes = np.concatenate([np.diff(q) / np.diff(t) for t, q, _ in series])
    scale = max(float(np.sqrt(np.mean(slopes ** 2))), _FLOOR)
    measured = not any(np.isnan(v).all() for _, _, v in series)
    position = max(_scatter(series, 1), _resolution(series, 1), _FLOOR)
    velocity = np.inf
    if measured:
        misfit = np.concatenate([
            np.diff(q) / np.diff(t) - 0.5 * (v[1:] + v[:-1]) for t, q, v in series])
        velocity = max(float(np.nanstd(misfit)), _resolution(series, 2), _FLOOR)
    floor = np.log([_FLOOR, _resolution(series, 1) + _FLOOR, _resolution(series, 2) + _FLOOR])

    def parameters(logs: Array) -> Array:
        values = np.exp(np.maximum(logs, floor[:len(logs)]))
        return values if measured else np.append(values, np.inf)

    def cost(logs: Array) -> float:
        noise = parameters(logs)
        total = -sum(kalman.log_likelihood(*run, scale, noise) for run in series)
        return total if np.isfinite(total) else 1e300

    starts = []
    for factor in (1.5, 5.0, 15.0):
        process = position ** 2 * step / (factor * step) ** (2 * kalman.STATES)
        start = [process, position, velocity] if measured else [process, position]
        starts.append(np.log(start))
    best = min(starts, key=cost)
    simplex = np.vstack([best, best + 2.0 * np.eye(len(best))])
    simplex[1, 0] += 4.0
    found = minimize(cost, best, method='Nelder-Mead', options={
        'initial_simplex': simplex, 'xatol': 0.02, 'fatol': 0.05, 'maxfev': _MAX_EVALUATIONS})
    return parameters(found.x), scale


def _scatter(series: list[tuple[Array, Array, Array]], column: int) -> float:
    """Return the noise of recorded numbers, from their fourth differences.

    It is 0 if more than half of the differences are 0, as for rounded numbers that hardly change.
    """
    fourth = np.concatenate([
        np.diff(entry[column], 4) for entry in series if len(entry[column]) > 4] or [np.zeros(1)])
    # White noise of standard deviation 1 has a median absolute fourth difference of 5.6.
    return float(np.median(np.abs(np.nan_to_num(fourth)))) / 5.6


def _resolution(series: list[tuple[Array, Array, Array]], column: int) -> float:
    """Return the rounding noise of recorded numbers: their least step over √12.

    If the numbers are not rounded, the result is at most their scatter: the least step of a joint
    that always moves is motion, not resolution.
    """
    steps = np.abs(np.concatenate([np.diff(entry[column]) for entry in series]))
    moves = steps[steps > 0.0]
    if not len(moves):
        return 0.0
    multiples = moves / moves.min()
    is_rounded = np.median(np.abs(multiples - np.round(multiples))) < _MULTIPLE and (
        bool(np.any(steps == 0.0)) or multiples.max() > 1.5)
    resolution = float(moves.min()) / np.sqrt(12.0)
    return float(resolution if is_rounded else min(
        resolution, _scatter(series, column) or np.inf))


def smooth(samples: Samples, noise: Noise) -> Motion:
    """Estimate the motion at the instants of the samples.

    Raises HodynError when the samples are so large that their squares overflow, or positions and
    velocities contradict each other.
    """
    count, n = samples.position.shape
    q = np.empty((count, kalman.STATES, n))
    covariance = np.empty((count, n, kalman.STATES, kalman.STATES))

    def smooth_joint(joint: int) -> None:
        own = slice(joint, joint + 1)
        origin = samples.position[0, joint]
        kalman.rts_smoother(
            samples.time, samples.position[:, own] - origin, samples.velocity[:, own].copy(),
            noise.velocity_scale[joint], noise.step, noise.rows[joint], q[:, :, own],
            covariance[:, joint])
        q[:, 0, joint] += origin

    try:
        with ThreadPoolExecutor(threads()) as pool:
            for _ in pool.map(smooth_joint, range(n)):
                pass
        known = bool(np.isfinite(q).all() and np.isfinite(covariance).all())
    except ZeroDivisionError:
        known = False
    if not known:
        raise HodynError(
            'the recorded positions and velocities cannot be a motion: they are too large, '
            'or contradict each other')
    return Motion(q, covariance)
