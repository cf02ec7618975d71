"""Stops of a plan along its path: the plan's time slows down until it stands still."""
from __future__ import annotations

from typing import Any

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.reference.limits import MotionLimits
from hodyn_ros.reference.plan import Plan

# Bounds of the duration of a stop, s. A shorter stop would change the torque rate from one limit
# to the other within a few cycles.
MIN_DURATION, MAX_DURATION = 0.05, 20.0
# Ratio of successive durations that are tried.
RATIO = 1.25
SAMPLES = 256
EFFORT_SAMPLES = 48
# If a plan exceeds limits, this multiple of its own acceleration and jerk bounds a stop instead.
OWN_EXCESS = 1.05
# Shares by which a stop may exceed limits. A larger share is only chosen if the stop then takes
# less than MUCH_SOONER of the time of a stop with a smaller share.
EXCESSES, MUCH_SOONER = (0.0, 0.1, 0.25), 0.6
# Limits of 0 count as this, rad/s² and rad/s³, so that each has a ratio.
LEAST_LIMIT = 1e-9
# Shares by which limits may be exceeded at samples, and between them.
ROUND_OFF, BETWEEN = 1e-9, 1e-5


class Stop:
    """A plan that comes to rest along its path: q(s(t)), where ṡ falls from 1 to 0.

    ṡ = 1 − x⁴ (35 − 84 x + 70 x² − 20 x³), with x the fraction of the duration, so that s and the
    motion are continuous to the fourth derivative. The stop begins at the time `begin` of the
    plan, s, and takes `duration`, s; its own time starts from 0.
    """

    interpolation = 'stop'

    def __init__(self, plan: Plan, begin: float, duration: float) -> None:
        self._plan = plan
        self._begin = begin
        self._braking = duration
        # If the plan ends first, the stop is over, as the plan ends at rest.
        self.duration = duration if begin + 0.5 * duration < plan.duration else _when_at(
            plan.duration - begin, duration)

    def evaluate(self, t: float, out: Array | None = None) -> Array:
        """Return q … q⁗, (5, n), at t, s, in `out` if given; after the stop it is at rest."""
        if out is None:
            out = np.empty((5, self._plan.n))
        x = min(max(t / self._braking, 0.0), 1.0)
        time, *rates = _slowed(x, self._braking)
        if t < 0.0:
            time = t
        self._plan.evaluate(self._begin + time, out)
        change_time(out, *rates)
        return out

    def samples(self, count: int) -> Array:
        """Return q … q⁗, (count, 5, n), at evenly spaced instants from start to end."""
        x = np.linspace(0.0, 1.0, count)
        time, *rates = _slowed(x, self._braking)
        motion = self._plan.evaluate(self._begin + time)
        change_time(motion.swapaxes(0, 1), *(rate[:, None] for rate in rates))
        return motion


def stop_along(plan: Plan, begin: float, limits: MotionLimits) -> Stop | None:
    """Return an early stop of a plan from its time `begin`, s, on, within limits or hardly beyond.

    A plan that uses its limits up can hardly slow down within them: a stop would take seconds, or
    end with the plan. So a stop may exceed acceleration, jerk and effort by one of `EXCESSES`. A
    larger excess is only chosen if the stop then takes less than `MUCH_SOONER` of the time.
    Velocities are not checked, as they never exceed the plan's. If the plan itself exceeds limits
    after `begin`, `OWN_EXCESS` times its own largest values are the limits. Returns None if every
    stop exceeds acceleration or jerk by more than the largest excess: the plan then goes on.
    """
    left = plan.duration - begin
    if left <= 0.0:
        return Stop(plan, begin, MIN_DURATION)
    rest = plan.evaluate(np.linspace(begin, plan.duration, SAMPLES))
    own = np.abs(rest[:, 2:4]).max(axis=0)
    greatest = np.maximum(np.vstack((limits.acceleration, limits.jerk)), LEAST_LIMIT)
    greatest = np.where(own > greatest, OWN_EXCESS * own, greatest)
    own_ratio = limits.effort_ratio(
        plan.evaluate(np.linspace(begin, plan.duration, EFFORT_SAMPLES)))
    effort = 1.0 if own_ratio <= 1.0 else OWN_EXCESS * own_ratio
    best: tuple[float, Stop] | None = None
    duration = MIN_DURATION
    # A stop that takes twice the plan's remaining time ends together with the plan.
    while duration <= min(2.0 * left * RATIO, MAX_DURATION):
        stop = Stop(plan, begin, duration)
        if best is not None and MUCH_SOONER * stop.duration > best[1].duration:
            break
        excess = _excess(stop.samples(SAMPLES), duration / (SAMPLES - 1), greatest)
        if excess <= EXCESSES[-1]:
            ratio = limits.effort_ratio(stop.samples(EFFORT_SAMPLES)) / effort
            excess = next((
                one for one in EXCESSES if one >= max(excess, ratio - 1.0)), ratio)
            if best is None or excess < best[0]:
                best = excess, stop
            if excess == 0.0:
                break
        duration *= RATIO
    return None if best is None else best[1]


def _slowed(x: Any, duration: float) -> tuple[Any, ...]:
    """Return s, ṡ, s̈, s⃛ and s⁗ of a stop at fractions of its duration (s)."""
    y = 1.0 - x
    s = duration * (x - x**5 * (7.0 - 14.0 * x + 10.0 * x**2 - 2.5 * x**3))
    # The first derivative of 1 − ṡ is 140 x³ y³.
    slope = 140.0 * (x * y) ** 3
    bend = 420.0 * (x * y) ** 2 * (y - x)
    third = 840.0 * x * y * ((y - x) ** 2 - x * y)
    rate = 1.0 - x**4 * (35.0 - 84.0 * x + 70.0 * x**2 - 20.0 * x**3)
    return s, rate, -slope / duration, -bend / duration**2, -third / duration**3


def _when_at(way: float, duration: float) -> float:
    """Return when a stop of this duration (s) has advanced the plan's time by `way`, s."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if _slowed(middle, duration)[0] < way:
            low = middle
        else:
            high = middle
    return high * duration


def change_time(motion: Array, rate: Array, second: Array, third: Array, fourth: Array) -> None:
    """Convert a motion's derivatives, (5, …), in its own time s to derivatives in t, in place.

    `rate` … `fourth` are ṡ … s⁗, the derivatives of s in t.
    """
    p1, p2, p3, p4 = motion[1:].copy()
    motion[1] = p1 * rate
    motion[2] = p2 * rate**2 + p1 * second
    motion[3] = p3 * rate**3 + 3.0 * p2 * rate * second + p1 * third
    motion[4] = (
        p4 * rate**4 + 6.0 * p3 * rate**2 * second + p2 * (3.0 * second**2 + 4.0 * rate * third)
        + p1 * fourth)


def _excess(motion: Array, interval: float, greatest: Array) -> float:
    """Return the share by which q̈ and q⃛ exceed limits, (2, n), at and between samples (T, 5, n).

    Between two samples at a distance h a function exceeds the larger one by at most h²/8 times its
    second derivative.
    """
    values, jounce = np.abs(motion[:, 2:4]), motion[:, 4]
    change = np.diff(jounce, axis=0, prepend=jounce[:1])
    between = np.stack([interval**2 / 8.0 * np.abs(jounce), interval / 8.0 * np.abs(change)], 1)
    # A plan that runs at its limits must be able to stop, so tiny excesses are allowed.
    return max(
        0.0, float((values / greatest).max()) - 1.0 - ROUND_OFF,
        float(((values + between) / greatest).max()) - 1.0 - BETWEEN)
