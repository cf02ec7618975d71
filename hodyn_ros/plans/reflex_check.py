"""Whether a plan trips the reflexes of the vendor's controller, sampled as that does it."""
from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import unit
from hodyn_ros.limits.quantities import ORDERS
from hodyn_ros.plans.limit_check import TOLERANCE
from hodyn_ros.reference import Plan
from hodyn_ros.robot.model import Robot
from hodyn_ros.robot.reflexes import Commands, Reflex

Array = NDArray[np.float64]

BLOCK = 20_000
# Samples that the third difference of the positions goes back.
BACK = 3


@dataclass(frozen=True)
class ReflexPeak:
    """Where a motion comes closest to a reflex.

    Attributes
    ----------
    name, commands : str
        As of `Reflex`.
    joint, quantity, unit : str
        Which joint comes closest, and in what.
    time : float
        s, from the motion's zero.
    value, limit : float
        Magnitude there, and what is allowed there.
    tripped_at, tripped_by : float and str, or None
        When it is tripped first, and by which joint; None where it is not.

    """

    name: str
    commands: str
    joint: str
    quantity: str
    unit: str
    time: float
    value: float
    limit: float
    tripped_at: float | None = None
    tripped_by: str | None = None

    @property
    def share(self) -> float:
        """Part of what is allowed."""
        return self.value / self.limit if self.limit > 0.0 else np.inf

    @property
    def trips(self) -> bool:
        """Whether it is beyond, by more than round-off."""
        return self.tripped_at is not None

    def __str__(self) -> str:
        return (
            f'would trip {self.name} at {self.tripped_at:.4g} s, {self.tripped_by}: '
            f'{self.quantity} up to {self.value:.6g} {self.unit} ({self.joint} at '
            f'{self.time:.4g} s), {self.limit:.6g} {self.unit} allowed')


def reflex_peaks(
    plan: Plan, feedforward: FeedForward, commands: Commands, *, joins: bool = False,
) -> tuple[ReflexPeak, ...]:
    """Return how close a plan comes to each reflex under these commands, the closest first.

    The arm holds before and after the plan, unless the plan `joins` a motion.
    """
    reflexes = feedforward.robot.reflexes
    if reflexes is None or not plan.duration:
        return ()
    first = 0 if joins else -BACK
    last = int(np.ceil(plan.duration / reflexes.period)) + BACK
    best: dict[Reflex, ReflexPeak] = {}
    watched = [stop for stop in reflexes.stops if stop.commands == commands]
    for begin in range(first, last, BLOCK):
        instants = plan.times[0] + reflexes.period * np.arange(
            max(begin - BACK, first), min(begin + BLOCK, last) + 1)
        motion = plan.evaluate(instants)
        effort = feedforward.torque(motion)[:, 0]
        commanded = (
            effort if reflexes.gravity else feedforward.torque(motion, gravity=False)[:, 0])
        samples = _Samples(instants, reflexes.period, motion, effort, commanded)
        for stop, peak in _peaks(watched, feedforward.robot, samples):
            before = best.setdefault(stop, peak)
            tripped = before if before.trips else peak
            worst = max(before, peak, key=lambda one: one.share)
            best[stop] = replace(
                worst, tripped_at=tripped.tripped_at, tripped_by=tripped.tripped_by)
    return tuple(sorted(best.values(), key=lambda peak: -peak.share))


@dataclass(frozen=True)
class _Samples:
    """What the controller gets at even instants (T,): motions (T, 5, n) and efforts (T, n)."""

    instants: Array
    period: float
    motion: Array
    effort: Array
    commanded_effort: Array


def _peaks(
    watched: list[Reflex], robot: Robot, samples: _Samples,
) -> Iterator[tuple[Reflex, ReflexPeak]]:
    stopping = robot.limits.stopping_range(samples.motion[:, 0])
    for stop in watched:
        if not np.isfinite(stop.limit).any():
            continue
        values = _values(stop, samples)
        late = samples.instants.size - len(values)
        limits = stop.limit_at(samples.motion[:, 1], stopping)
        # A commanded step of the position is held to the limits of where it comes from.
        before = stop.quantity == 'velocity' and stop.commands == 'position'
        limits = limits[late - 1:-1] if before else limits[late:]
        with np.errstate(divide='ignore', invalid='ignore'):
            shares = np.where(np.abs(values) > 0.0, np.abs(values) / limits, 0.0)
        sample, joint = np.unravel_index(int(shares.argmax()), shares.shape)
        beyond = np.abs(values) > limits + TOLERANCE * np.maximum(1.0, limits)
        first = int(beyond.any(axis=1).argmax())
        trips = bool(beyond[first].any())
        yield stop, ReflexPeak(
            stop.name, stop.commands, robot.joint_names[joint], stop.quantity,
            unit(robot, int(joint), stop.quantity), float(samples.instants[late + sample]),
            float(abs(values[sample, joint])), float(limits[sample, joint]),
            float(samples.instants[late + first]) if trips else None,
            robot.joint_names[shares[first].argmax()] if trips else None)


def _values(stop: Reflex, samples: _Samples) -> Array:
    """Return what a reflex looks at, one row for each of the last samples."""
    if stop.quantity == 'effort':
        return samples.effort
    if stop.quantity == 'effort_rate':
        rate: Array = np.diff(samples.commanded_effort, axis=0) / samples.period
        return rate
    order = ORDERS[stop.quantity]
    if stop.commands == 'effort':
        return samples.motion[:, order]
    difference: Array = np.diff(samples.motion[:, 0], n=order, axis=0) / samples.period**order
    return difference
