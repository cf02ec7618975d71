"""The path of a plan, run as fast as every limit allows."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
import time

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.plans.limit_check import LimitReport, check_limits, worst_margins
from hodyn_ros.plans.retiming.linear_step import MAX_RATE, StepSettings, fastest_rate
from hodyn_ros.plans.retiming.path import MAX_NAMED, SMALLEST_STEP, JointPath, path_of, points_of
from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits
from hodyn_ros.plans.retiming.time_law import TimeLaw
from hodyn_ros.plans.time_scaling import (
    MAX_FACTOR,
    smallest_time_scaling,
    starts_and_ends_at_rest,
)
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.given import check_robot
from hodyn_ros.robot.reflexes import Commands

Array = NDArray[np.float64]
Progress = Callable[[str], None]

PATH_TOLERANCE = 1e-3
PIECE = 5e-3
"""s, of the plan that is returned."""
# Pieces of the rate: from coarse to fine, because steps of many pieces go astray from far off.
_COARSE = (40, 40, 60)
KNOT_SPACING, MIN_KNOTS, MAX_KNOTS = 0.02, 60, 120
# However long a motion is, s.
MAX_KNOT_SPACING = 0.07
# Of each step: the highest order of the limits that it minds, and the largest rate. The first is
# toppra's problem, which is convex; the others begin from there.
_STEPS = ((2, 30.0), *5 * ((4, MAX_RATE),))
CONVERGED = 2e-3
COST_SAMPLES = 4000
WAY_SAMPLES = 200
# What joins a moving start cannot be stretched for what the steps miss.
MOVING_SHARE = 0.97
# The plan is first run so much faster than it is that it surely is beyond a limit.
FAST = 1e-2
BINDING = 0.95  # of a limit: what is beyond keeps a motion from being faster
# Of the largest speed, as shares of the limits: slower it stands still, faster it moves.
STANDSTILL, MOVES = 1e-3, 5e-2
STOP_SAMPLES = np.linspace(-1.0, 1.0, 101)


@dataclass(frozen=True)
class Binding:
    """A limit that keeps the motion from being faster, and when.

    Attributes
    ----------
    joint, quantity : str
        What is at its limit.
    begin, end : float
        s, from the plan's zero.

    """

    joint: str
    quantity: str
    begin: float
    end: float


@dataclass(frozen=True, eq=False)
class Retimed:
    """The fastest motion that was found along a path.

    Attributes
    ----------
    plan : Plan
        It, continuous to q⁗, at rest at both ends (or joined to the plan's moving start).
    limit_report : LimitReport
        How far it is from each limit; within all.
    uniform_stretch_duration : float or None
        s that the plan takes with its own timing, at the smallest stretch within all limits;
        None where it starts or ends in motion, which no stretch keeps.
    missed : (m, n) array, or None
        rad or m by which each joint misses each point; None where the path goes through all.
    seconds : float
        s that the search took.
    binding : tuple of Binding
        What binds when, in order.
    notes : tuple of str
        What to know: points that were left out, places where it stops.

    """

    plan: Plan
    limit_report: LimitReport
    uniform_stretch_duration: float | None
    missed: Array | None
    seconds: float
    binding: tuple[Binding, ...]
    notes: tuple[str, ...] = ()

    @property
    def duration(self) -> float:
        """Duration of the plan, s."""
        return self.plan.duration

    def as_written(
        self, plan: Plan, report: LimitReport, missed: Array, feedforward: FeedForward,
        note: str = '',
    ) -> Retimed:
        """Return the same of the motion that the samples of a file give, with one more note."""
        stops = _momentary_stops(plan, feedforward)
        kept = self.notes[:len(self.notes) - len(_momentary_stops(self.plan, feedforward))]
        return replace(
            self, plan=plan, limit_report=report, missed=missed,
            binding=binding_limits(plan, feedforward),
            notes=(*kept, *filter(None, (note,)), *stops))

    @property
    def path_deviation(self) -> float:
        """By how much the worst joint misses the worst point, rad or m."""
        return 0.0 if self.missed is None else float(self.missed.max())


def retime(
    robot: Robot,
    positions: ArrayLike,
    times: ArrayLike | None = None,
    *,
    limits: float | Mapping[str, float] = 1.0,
    stop_at: Sequence[int] = (),
    path_tolerance: float = PATH_TOLERANCE,
    smoothness: float = 0.0,
    commands: Commands = 'effort',
) -> Retimed:
    """Return the fastest motion through points, from rest to rest, within all limits of a robot.

    Velocity, acceleration, jerk, torque, torque rate; of the motors of elastic joints speed,
    torque and deflection. Friction and payload count as in every plan. No reflex of the vendor's
    controller is tripped.

    Parameters
    ----------
    robot : Robot
        The arm, with its limits.
    positions : (m, n) array
        Points, m ≥ 2, rad or m.
    times : (m,) array, optional
        s at which they were planned. They shape the path between waypoints as `fit_plan` does;
        without them the points are as far apart in time as the slowest joint needs.
    limits : float or mapping of str to float
        Which part of the limits is used, above 0 and at most 1: of all, or by quantity
        ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'motor_velocity',
        'motor_effort', 'deflection').
    stop_at : sequence of int
        Points, from 0, at which the motion rests.
    path_tolerance : float
        rad or m by which the path may miss points that are samples of a motion (20 or more, no
        more than 20 ms apart); waypoints are met.
    smoothness : float
        Which part of the duration may be given for using none of the limits of jerk and torque
        rate (and of motor speed, which depends on it), in proportion to what is used at the
        worst instant. 0 is as fast as can be.
    commands : 'effort' or 'position'
        What the arm is commanded: the reflexes that its vendor's controller has for it count.

    Raises
    ------
    HodynError
        What is no robot and no part of its limits; a single point, points that are all the same,
        and paths that no timing brings within the limits: out of range, too heavy to hold.

    """
    check_robot(robot)
    scaled = with_scaled_limits(robot, limits)
    path = path_of(
        points_of(scaled, positions, times), stop_at=stop_at, tolerance=path_tolerance)
    return retime_path(path, FeedForward(scaled), smoothness, commands)


def retime_plan(
    plan: Plan, feedforward: FeedForward, commands: Commands = 'effort',
) -> Retimed:
    """Return the fastest motion along the path of a plan; one in motion at first stays joined.

    Its errors are those of `retime`.
    """
    return retime_path(JointPath((plan,)), feedforward, commands=commands)


def retime_path(
    path: JointPath, feedforward: FeedForward, smoothness: float = 0.0,
    commands: Commands = 'effort', progress: Progress | None = None,
) -> Retimed:
    """Return the fastest motion along a path, section by section from rest to rest.

    `smoothness` and `commands` are as of `retime`; `progress` is told how far the search has come.
    """
    if not 0.0 <= smoothness < np.inf:
        raise HodynError(f'smoothness {smoothness:g}: must not be negative')
    table = LimitTable(feedforward, commands)
    _refuse_without_limits(path, table)
    begin = time.perf_counter()
    plans: list[Plan] = []
    uniform: float | None = 0.0
    for section in path.sections:
        found, slow = _retime_section(section, table, smoothness, progress)
        plans.append(found)
        uniform = None if uniform is None or slow is None else uniform + slow
    plan = _joined(plans)
    if path.timed is not None:
        timed = _smallest_stretch(path.timed, table)
        uniform = timed.duration
        plan = plan if plan.duration < uniform else timed
    report = check_limits(plan, feedforward)
    return Retimed(
        plan, report, uniform, path.missed, time.perf_counter() - begin,
        binding_limits(plan, feedforward), (*path.notes, *_momentary_stops(plan, feedforward)))


def _refuse_without_limits(path: JointPath, table: LimitTable) -> None:
    """Raise HodynError where joints move that nothing keeps from any speed."""
    moves = np.any([
        np.ptp(section.evaluate(np.linspace(0.0, section.duration, WAY_SAMPLES))[:, 0], axis=0)
        > SMALLEST_STEP for section in path.sections], axis=0)
    limited = [column.place for column in table.limited_columns]
    free = np.flatnonzero(moves & ~np.isin(np.arange(moves.size), limited))
    if free.size:
        names = ', '.join(table.feedforward.robot.joint_names[i] for i in free)
        raise HodynError(
            f'{names}: no limit of velocity, acceleration, jerk, effort or effort rate, so any '
            'motion would do; give limits, of velocity and effort at least, in a file: '
            '--limits FILE, or the parameter limits_file')


def _retime_section(
    path: Plan, table: LimitTable, smoothness: float, progress: Progress | None,
) -> tuple[Plan, float | None]:
    """Return the fastest motion along a section, and how long it takes at a uniform stretch."""
    ends = path.evaluate(path.times[[0, -1]])
    moving = bool(np.abs(ends[0, 1:]).max() > 0.0) and not starts_and_ends_at_rest(path)
    if path.duration == 0.0:
        raise HodynError('its points are all the same: there is no path to retime')
    uniform: float | None = None
    slow: Plan | None = None
    law = TimeLaw.uniform(path.duration, path.duration, (False, False))
    if not moving:
        slow = _smallest_stretch(path, table)
        uniform = slow.duration
        law = TimeLaw.uniform(path.duration, slow.duration, (False, False))
    else:
        slow = _within_limits(path, table, moving)
    best = slow
    cost = np.inf if slow is None else _cost(slow, table, smoothness)
    for i, (order, max_rate) in enumerate(_STEPS):
        knots = _knots(law.duration) if i >= len(_COARSE) else _COARSE[i]
        rate = fastest_rate(path, law, table, StepSettings(
            knots, order, max_rate, i >= len(_COARSE),
            (1.0, MOVING_SHARE)[moving], smoothness, moving))
        if rate is not None:
            law = law.at_rate(rate)
        elif not moving:
            # The present motion is so far beyond a limit that no rate leads back.
            mended = _within_limits(_motion(path, law), table, moving)
            law = law.stretched(1.0 if mended is None else mended.duration / law.duration)
        if progress is not None:
            progress(f'{law.duration:.4f} s')
        if i < len(_COARSE):
            continue
        found = _within_limits(_motion(path, law), table, moving)
        if found is None:
            continue
        value = _cost(found, table, smoothness)
        converged = cost * (1.0 - CONVERGED) < value < cost
        if value < cost:
            best, cost = found, value
        if converged:
            break
    if best is None:
        raise HodynError(
            'no motion within all limits was found from the moving start; start from rest')
    return best, uniform


def _cost(plan: Plan, table: LimitTable, smoothness: float) -> float:
    """Return a duration, longer by what the use of jerk and torque rate is worth."""
    if smoothness == 0.0 or not (table.orders == 3).any():
        return plan.duration
    instants = np.linspace(0.0, plan.duration, COST_SAMPLES)
    used = np.abs(table.shares(plan.evaluate(instants))[:, table.orders == 3]).max()
    return plan.duration * (1.0 + smoothness * float(used))


def _knots(duration: float) -> int:
    fine = int(np.clip(duration / KNOT_SPACING, MIN_KNOTS, MAX_KNOTS))
    return max(fine, int(duration / MAX_KNOT_SPACING))


def _smallest_stretch(path: Plan, table: LimitTable) -> Plan:
    """Return the path at its own timing, as fast as the limits allow.

    Raises HodynError where no timing is within them, with joint, place and limit.
    """
    slow = path.stretched(max(1.0, 1.0 / path.duration))
    found = smallest_time_scaling(slow, table)
    if found.factor == 1.0:
        slow = slow.stretched(FAST)
        found = smallest_time_scaling(slow, table)
    if found.factor is None:
        raise HodynError(_why_not(slow, table) or found.reason)
    return slow.stretched(found.factor)


def _why_not(path: Plan, table: LimitTable) -> str:
    """Return which limit a path is beyond however slowly it is run."""
    report = LimitReport(worst_margins(path.stretched(MAX_FACTOR), table))
    if report.within_limits:
        return ''
    worst = report.violations[0]
    place = 100.0 * worst.time / (MAX_FACTOR * path.duration)
    what = {'position': 'it is out of range', 'effort': 'this is the weight or the friction'}
    return (
        f'no timing mends it: {worst.joint}: {worst.quantity} {worst.value:.6g} {worst.unit} at '
        f'{place:.0f} % of the path, limit {worst.limit:.6g} {worst.unit}, even '
        f'{MAX_FACTOR:g} times slower: {what.get(worst.quantity, "it may not move there")}')


def _within_limits(plan: Plan, table: LimitTable, moving: bool) -> Plan | None:
    """Return a plan as much slower as its peaks between the samples ask for."""
    if moving:
        return plan if LimitReport(worst_margins(plan, table)).within_limits else None
    factor = smallest_time_scaling(plan, table).factor
    return None if factor is None else plan.stretched(factor)


def _motion(path: Plan, law: TimeLaw) -> Plan:
    """Return the path run by a law, as a plan."""
    times = np.linspace(0.0, law.duration, max(2, int(np.ceil(law.duration / PIECE))) + 1)
    knots = law.motion(path, times)
    for side in (0, -1):
        if not np.abs(path.evaluate(path.times[[0, -1]])[side, 1:]).any():
            knots[side, 1:] = 0.0
    return Plan.hermite(times, knots, 'retimed')


def _joined(plans: Sequence[Plan]) -> Plan:
    """Return plans from rest to rest one after the other."""
    if len(plans) == 1:
        return plans[0]
    starts = np.cumsum([0.0, *(plan.duration for plan in plans[:-1])])
    times = np.concatenate(
        [[0.0], *(plan.times[1:] + start for plan, start in zip(plans, starts, strict=True))])
    return Plan(
        times, np.concatenate([plan.coefficients for plan in plans]),
        np.array([plans[0].ends[0], plans[-1].ends[1]]), 'retimed')


def binding_limits(plan: Plan, feedforward: FeedForward) -> tuple[Binding, ...]:
    """Return which limit a plan takes most of, from when to when, where it is near one."""
    table = LimitTable(feedforward)
    instants = np.linspace(0.0, plan.duration, max(200, int(plan.duration / 2e-3)))
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


def _momentary_stops(plan: Plan, feedforward: FeedForward) -> tuple[str, ...]:
    """Return in one line where within the plan all joints stand still between motions."""
    limits = feedforward.robot.limits
    speed = np.where(np.isfinite(limits.velocity), limits.velocity, 1.0)

    def share(instants: Array) -> Array:
        taken: Array = (np.abs(plan.evaluate(instants)[:, 1]) / speed).max(axis=1)
        return taken

    instants = np.linspace(0.0, plan.duration, max(1000, int(plan.duration / 1e-3)))
    taken = share(instants)
    moves = np.flatnonzero(taken > MOVES * taken.max())
    stops = []
    # What is slow at an end, or jitters while it is slow, is no stop.
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
        'asked for',)
