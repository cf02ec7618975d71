"""The result of retiming: the motion, the limits that bind it, and where it stops."""
from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.limit_check import LimitReport
from hodyn_ros.plans.retiming.path import MAX_NAMED, comparable_speed
from hodyn_ros.reference import Plan

# A limit counts as binding if a motion uses at least this share of it.
BINDING = 0.95
# Shares of the largest speed below which the motion stands still, and above which it moves.
STANDSTILL, MOVES = 1e-3, 5e-2
# Number of samples that are drawn, and least number that are searched for binding limits: with
# fewer, a limit could be drawn as reached, but not be named.
SAMPLES = 3000
STOP_SAMPLES = np.linspace(-1.0, 1.0, 101)  # around a slow sample, in spacings of samples


@dataclass(frozen=True)
class Binding:
    """A limit that keeps the motion from being faster, and when."""

    #: `joint`, `quantity`: Joint or motor, and the quantity that is at its limit
    joint: str
    quantity: str
    #: `begin`, `end`: First and last instant, s from the plan's start
    begin: float
    end: float


@dataclass(frozen=True, eq=False)
class Retimed:
    """The fastest motion that was found along a path.

    Attributes
    ----------
    plan : Plan
        The motion, continuous to q⁗, at rest at both ends (or joined to the plan's moving start).
    limit_report : LimitReport
        Margins of the motion to each limit; it is within all.
    uniform_stretch_duration : float or None
        Duration of the given plan, stretched uniformly just until it is within all limits, s; None
        if it starts in motion, or no stretch brings it within the limits.
    missed : (m, n) array, or None
        rad or m by which each joint misses each point; None if the path goes through all points.
    seconds : float
        Time that the search took, s.
    binding : tuple of Binding
        The binding limits, in order of time.
    notes : tuple of str
        Remarks for the user: repeated points, places where the motion stops.

    """

    plan: Plan
    limit_report: LimitReport
    uniform_stretch_duration: float | None
    missed: Array | None
    seconds: float
    binding: tuple[Binding, ...]
    notes: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return one line: the plan and all margins would fill pages."""
        binding = dict.fromkeys(f'{limit.joint} {limit.quantity}' for limit in self.binding)
        return f'<Retimed: {self.duration:.6g} s, bound by {", ".join(binding) or "no limit"}>'

    @property
    def duration(self) -> float:
        """Duration of the plan, s."""
        return self.plan.duration

    @property
    def path_deviation(self) -> float:
        """Largest distance by which a joint misses a point, rad or m."""
        return 0.0 if self.missed is None else float(self.missed.max())


def binding_limits(plan: Plan, table: LimitTable) -> tuple[Binding, ...]:
    """Return, in order of time, the limits that are used most and by at least `BINDING`."""
    instants = np.linspace(0.0, plan.duration, max(SAMPLES, int(plan.duration / 2e-3)))
    taken = np.abs(table.shares(plan.evaluate(instants)))
    if not table.limited.size:
        return ()
    most = np.where(taken.max(axis=1) >= BINDING, taken.argmax(axis=1), -1)
    edges = np.flatnonzero(np.diff(most)) + 1
    found: list[Binding] = []
    for first, last in zip([0, *edges], [*edges, most.size], strict=True):
        if most[first] >= 0:
            column = table.limited_columns[most[first]]
            found.append(Binding(
                column.joint, column.quantity, float(instants[first]),
                float(instants[min(last, instants.size - 1)])))
    return tuple(found)


def momentary_stops(plan: Plan, feedforward: FeedForward) -> tuple[str, ...]:
    """Return a note on the instants between motions at which all joints stand still."""
    speed = comparable_speed(feedforward.robot)

    def share(instants: Array) -> Array:
        taken: Array = (np.abs(plan.evaluate(instants)[:, 1]) / speed).max(axis=1)
        return taken

    instants = np.linspace(0.0, plan.duration, max(1000, int(plan.duration / 1e-3)))
    taken = share(instants)
    moves = np.flatnonzero(taken > MOVES * taken.max())
    stops = []
    # A slow motion at an end, or jitter while the motion is slow, is not a stop.
    for before, after in pairwise(moves.tolist()):
        if after > before + 1:
            slowest = instants[before + 1 + taken[before + 1:after].argmin()]
            around = np.clip(slowest + instants[1] * STOP_SAMPLES, 0.0, plan.duration)
            found = share(around)
            if found.min() < STANDSTILL * taken.max():
                stops.append(float(around[found.argmin()]))
    if not stops:
        return ()
    count, later = ('', '') if len(stops) <= MAX_NAMED else (f' {len(stops)} times,', ' and later')
    places = ', '.join(f'{stop:.3f}' for stop in stops[:MAX_NAMED])
    return (
        f'all joints stop{count} at {places} s{later}: the path turns back there, or a stop was '
        'requested',)
