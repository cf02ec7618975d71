"""Plans of one piece: those that hold, go from rest to rest, and stop a motion."""
from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.jit import njit
from hodyn_ros.reference.argument_checks import numbers
from hodyn_ros.reference.pieces import DEGREE, ENDS, Array, hermite_coefficients
from hodyn_ros.reference.plan import Plan

MIN_DURATION, MAX_DURATION, STEPS = 2e-3, 30.0, 240
SAMPLES = 64
# Peaks between samples exceed the sampled ones by less than this.
SAMPLING = 1.002


def hold_plan(position: ArrayLike) -> Plan:
    """Return the plan that stays at `position` (n,)."""
    held = numbers(position, 'position').reshape(-1)
    if not np.isfinite(held).all():
        raise HodynError(f'hold: position {held.tolist()} is not finite')
    empty = np.empty((0, DEGREE + 1, held.size))
    return Plan(np.zeros(1), empty, np.array([held, held]), 'hold')


def move_plan(start: ArrayLike, goal: ArrayLike, duration: float) -> Plan:
    """Return the smoothest motion from rest at `start` to rest at `goal`, (n,), in a time, s."""
    ends = numbers([start, goal], 'start and goal')
    knots = np.zeros((2, 5, ends.shape[1]))
    knots[:, 0] = ends
    times = np.array([0.0, duration])
    coefficients = np.empty((1, DEGREE + 1, ends.shape[1]))
    hermite_coefficients(times, knots, coefficients)
    return Plan(times, coefficients, ends, 'move')


def stop_plan(
    state: Array,
    *,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    jerk: ArrayLike | None = None,
) -> Plan:
    """Return the fastest stop from `state` (5, n) to rest, continuous with it to q⁗.

    All joints take the same time, with the smoothest motion (least integral of (q⁽⁵⁾)²) that
    ends at rest wherever it may. The time is the shortest within the limits given, each a scalar
    or (n,); where none is (with a state at a limit and on its way beyond), the one that breaks
    them least, in proportion. A quantity that starts past its limit need not be brought below it
    at once. Ranges of position are not looked at: a slower stop would only reach further.
    """
    start = numbers(state, 'state')
    if start.ndim != 2 or start.shape[0] != 5 or not np.isfinite(start).all():
        raise HodynError('stop: the state must be q … q⁗, finite, shape (5, n)')
    if acceleration is None and jerk is None:
        raise HodynError('stop: give a limit of acceleration or jerk, or no stop is too fast')
    n = start.shape[1]
    limits = np.empty((3, n))
    for row, limit in zip(limits, (velocity, acceleration, jerk), strict=True):
        values = numbers(np.inf if limit is None else limit, 'limit')
        if values.shape not in ((), (1,), (n,)):
            raise HodynError(f'stop: a limit has shape {values.shape}; must be a scalar or ({n},)')
        row[:] = values
    if not (limits > 0.0).all():
        raise HodynError('stop: limits of velocity, acceleration and jerk must be positive')
    if not start[1:].any():
        return hold_plan(start[0])
    duration = _stop_time(start, limits)
    knots = np.zeros((2, 5, n))
    knots[0] = start
    knots[1, 0] = start[0] + _stop_distance(start, duration)
    times = np.array([0.0, duration])
    coefficients = np.empty((1, DEGREE + 1, n))
    hermite_coefficients(times, knots, coefficients)
    return Plan(times, coefficients, knots[:, 0], 'stop')


@njit()
def _stop_distance(start: Array, duration: float) -> Array:
    """Return how far the smoothest stop goes, (n,): its highest Legendre coefficient vanishes."""
    # Joint by joint: what assigns whole arrays takes numba seconds to compile.
    distance = np.zeros(start.shape[1])
    power = 1.0
    for k in range(1, 5):
        power *= duration
        for joint in range(distance.size):
            distance[joint] -= ENDS[4, k] * power * start[k, joint] / ENDS[4, 5]
    return distance


@njit()
def _excess(start: Array, limits: Array, duration: float) -> float:
    """Return the largest ratio of a stop's peaks to its limits."""
    n = start.shape[1]
    knots = np.zeros((2, 5, n))
    distance = _stop_distance(start, duration)
    for joint in range(n):
        for k in range(5):
            knots[0, k, joint] = start[k, joint]
        knots[1, 0, joint] = start[0, joint] + distance[joint]
    coefficients = np.empty((1, DEGREE + 1, n))
    times = np.zeros(2)
    times[1] = duration
    hermite_coefficients(times, knots, coefficients)
    worst = 0.0
    for joint in range(n):
        for i in range(1, SAMPLES + 1):
            s = i / SAMPLES
            d0 = coefficients[0, DEGREE, joint]
            d1 = d2 = d3 = 0.0
            for k in range(DEGREE - 1, -1, -1):
                d3 = d3 * s + d2
                d2 = d2 * s + d1
                d1 = d1 * s + d0
                d0 = d0 * s + coefficients[0, k, joint]
            for k in range(3):
                peak = abs((d1, 2.0 * d2, 6.0 * d3)[k]) / duration ** (k + 1)
                allowed = max(limits[k, joint] / SAMPLING, abs(start[k + 1, joint]))
                worst = max(worst, peak / allowed)
    return worst


@njit()
def _stop_time(start: Array, limits: Array) -> float:
    """Scan the durations, then bisect to the shortest within limits."""
    ratio = (MAX_DURATION / MIN_DURATION) ** (1.0 / STEPS)
    duration = MIN_DURATION
    least, best = np.inf, MAX_DURATION
    for _ in range(STEPS + 1):
        excess = _excess(start, limits, duration)
        if excess < least:
            least, best = excess, duration
        if excess <= 1.0:
            break
        duration *= ratio
    if least > 1.0 or best == MIN_DURATION:
        return best
    low, high = best / ratio, best
    for _ in range(20):
        middle = 0.5 * (low + high)
        if _excess(start, limits, middle) <= 1.0:
            high = middle
        else:
            low = middle
    return high
