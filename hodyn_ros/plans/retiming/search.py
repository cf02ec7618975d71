"""The search for the fastest motion along the path of a plan within all limits."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
import time

import numpy as np
from numpy.typing import ArrayLike

from hodyn_ros.common.arrays import number
from hodyn_ros.common.errors import check_choice
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.margins import both
from hodyn_ros.plans.limit_check import LimitReport, check_limits, doubt_of_units, worst_margins
from hodyn_ros.plans.retiming.linear_step import fastest_rate
from hodyn_ros.plans.retiming.path import SMALLEST_STEP, JointPath, path_of, points_of
from hodyn_ros.plans.retiming.result import Retimed, binding_limits, momentary_stops
from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits
from hodyn_ros.plans.retiming.time_law import at_rate, run_by, uniform_law
from hodyn_ros.plans.time_scaling import (
    MAX_FACTOR,
    kinematic_factor,
    out_between_points,
    smallest_time_scaling,
    starts_and_ends_at_rest,
)
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.reflexes import COMMANDS, Commands
from hodyn_ros.robot.robot_check import check_robot

Progress = Callable[[str], None]

PATH_TOLERANCE = 1e-3
"""Default distance by which a path may miss samples, rad or m."""
PIECE, MIN_PIECES = 1e-2, 480
"""Largest duration of a piece of the returned plan, s, and least number of pieces: four for each
of 120 pieces of the rate."""
# Number of pieces of the rate, the spline (du/dt)² that a step solves for, in the first steps: a
# step with many pieces fails far from the optimum.
_COARSE = (40, 40, 60)
# Spacing of the rate's knots in later steps, s, and bounds of their number: a file of samples 5 ms
# apart could not follow a finer rate.
KNOT_SPACING, MIN_KNOTS, MAX_KNOTS = 0.0075, 60, 120
# Largest spacing of the knots in long motions, s, and largest number of knots.
MAX_KNOT_SPACING, MOST_KNOTS = 0.07, 4000
# For each step: the highest order of the limits that it considers, and the largest rate. The first
# step is toppra's problem, which is convex; the others start from its solution.
_STEPS = ((2, 30.0), *5 * ((4, 4.0),))
# Relative gain of a step below which the search ends.
CONVERGED = 2e-3
# A step is too coarse if peaks between its samples need a larger stretch than this.
LOST = 1.005
COST_SAMPLES = 4000  # of a motion, for its largest used share
WAY_SAMPLES, JITTER_SAMPLES = 400, 2000  # of a path, and of one that may jitter
# Bounds of the duration of the first motion, s, before it is compared with the limits.
SHORTEST, LONGEST = 0.01, 1000.0
# A plan within all limits is shortened by this factor until it exceeds a limit.
FAST = 1e-2


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

    Limits of velocity, acceleration, jerk, torque and torque rate count, and the motors' limits of
    speed, torque and deflection. Torques contain friction and payload. The motion trips no reflex
    of the vendor's controller.

    Parameters
    ----------
    robot : Robot
        The arm, with its limits.
    positions : (m, n) array
        Points, m ≥ 2, rad or m.
    times : (m,) array, optional
        Planned times, s; by default the times that the slowest joint needs at its top speed. The
        result is compared with a uniform stretch of them. The path depends on the times only if
        the path that ignores them is not within limits at any speed.
    limits : float or mapping of str to float
        Share of the limits that may be used, above 0 and at most 1: of all, or per quantity
        ('velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'motor_velocity',
        'motor_effort', 'deflection').
    stop_at : sequence of int
        Points, from 0, at which the motion rests.
    path_tolerance : float
        Distance, rad or m, by which the path may miss samples of a motion: 20 or more points that
        jitter or are close together. The path goes through all other points.
    smoothness : float
        Price of using the limits of jerk, torque rate and motor speed: the search minimises
        duration × (1 + smoothness × largest share used of these). 0 gives the fastest motion.
    commands : 'effort' or 'position'
        Kind of commands that the arm is sent, on which its reflexes depend.

    Raises
    ------
    HodynError
        The robot, a share or an option is not valid; a single point, or points that are all the
        same; or the path exceeds a limit at any speed, for example of position or effort.

    """
    check_robot(robot)
    check_choice(commands, 'commands', COMMANDS)
    scaled = with_scaled_limits(robot, limits)
    path = path_of(
        scaled, points_of(scaled, positions, times), stop_at=stop_at, tolerance=path_tolerance)
    return retime_path(path, FeedForward(scaled), smoothness, commands)


def retime_plan(
    plan: Plan, feedforward: FeedForward, commands: Commands = 'effort',
) -> Retimed:
    """Return the fastest motion along the path of a plan.

    If the plan starts in motion, so does the result. Raises as `retime`.
    """
    return retime_path(JointPath((plan,), (plan,)), feedforward, commands=commands)


def retime_path(
    path: JointPath, feedforward: FeedForward, smoothness: float = 0.0,
    commands: Commands = 'effort', progress: Progress | None = None,
) -> Retimed:
    """Return the fastest motion along a path, section by section from rest to rest.

    `smoothness` and `commands` are as in `retime`; `progress` is called with the duration reached.
    """
    smoothness = number(smoothness, 'smoothness')
    if not 0.0 <= smoothness < np.inf:
        raise HodynError(f'smoothness {smoothness:g}: must be finite and at least 0')
    table = LimitTable(feedforward, commands)
    _refuse_without_limits(path, table)
    begin = time.perf_counter()
    plans: list[Plan] = []
    uniform: float | None = 0.0
    for section, timed in zip(path.sections, path.timed, strict=True):
        found, slow = _retime_section(section, timed, table, smoothness, progress)
        plans.append(found)
        uniform = None if uniform is None or slow is None else uniform + slow
    plan = _joined(plans)
    report = check_limits(plan, feedforward)
    return Retimed(
        plan, report, uniform, path.missed, time.perf_counter() - begin,
        binding_limits(plan, table), (*path.notes, *momentary_stops(plan, feedforward)))


def _refuse_without_limits(path: JointPath, table: LimitTable) -> None:
    """Raise HodynError if moving joints have no limits except of position."""
    moves = np.any([
        np.ptp(section.evaluate(np.linspace(0.0, section.duration, WAY_SAMPLES))[:, 0], axis=0)
        > SMALLEST_STEP for section in path.sections], axis=0)
    limited = [column.place for column in table.limited_columns]
    free = np.flatnonzero(moves & ~np.isin(np.arange(moves.size), limited))
    if free.size:
        names = ', '.join(table.feedforward.robot.joint_names[i] for i in free)
        raise HodynError(
            f'{names}: no limit of velocity, acceleration, jerk, effort or effort rate, so no '
            'motion is the fastest; give limits, at least of velocity and effort, in a file: '
            '--limits FILE, or the parameter limits_file')


def _retime_section(
    path: Plan, timed: Plan, table: LimitTable, smoothness: float, progress: Progress | None,
) -> tuple[Plan, float | None]:
    """Return the fastest motion along a section, and the duration of its uniform stretch, s."""
    if path.duration == 0.0:
        raise HodynError('its points are all the same: there is no path to retime')
    moving = path is timed and not starts_and_ends_at_rest(path)
    law: Plan | None
    if moving:
        law = uniform_law(path.duration, path.duration, (False, False))
        slow = _within_limits(path, table, moving)
    else:
        slow, law = _stretched(timed, table), _from_rest(path, table)
        if law is None and slow is not None and path is not timed:
            # No timing of the path is within limits, but one of the timed plan's curve is.
            path, law = timed, _from_rest(timed, table)
        if law is None:
            raise HodynError(_why_not(path, table))
    uniform = None if moving or slow is None else slow.duration
    best = slow
    cost = np.inf if slow is None else _cost(slow, table, smoothness)
    finer = 1
    for i, (order, max_rate) in enumerate(_STEPS):
        knots = finer * _knots(law.duration) if i >= len(_COARSE) else _COARSE[i]
        rate = fastest_rate(
            path, law, table, knots, highest_order=order, max_rate=max_rate,
            between=i >= len(_COARSE), smoothness=smoothness, moving=moving)
        if rate is not None:
            law = at_rate(law, rate)
        elif not moving:
            # The step found no rate, as the present motion exceeds a limit by far: it is stretched
            # for the next step.
            slower = _within_limits(_motion(path, law, moving), table, moving)
            law = law.stretched(1.0 if slower is None else slower.duration / law.duration)
        if progress is not None:
            progress(f'{law.duration:.4f} s')
        if i < len(_COARSE):
            continue
        found = _within_limits(_motion(path, law, moving), table, moving)
        if found is None:
            continue
        value = _cost(found, table, smoothness)
        is_coarse = found.duration > LOST * law.duration
        finer = 2 if is_coarse else finer
        converged = not is_coarse and cost * (1.0 - CONVERGED) < value < cost
        if value < cost:
            best, cost = found, value
        if converged:
            break
    if best is None:
        raise HodynError(
            'no motion within all limits was found from the moving start; start from rest')
    return best, uniform


def _cost(plan: Plan, table: LimitTable, smoothness: float) -> float:
    """Return duration × (1 + smoothness × largest share of jerk, torque rate and motor speed)."""
    if smoothness == 0.0 or not (table.orders == 3).any():
        return plan.duration
    instants = np.linspace(0.0, plan.duration, COST_SAMPLES)
    used = np.abs(table.shares(plan.evaluate(instants))[:, table.orders == 3]).max()
    return plan.duration * (1.0 + smoothness * float(used))


def _knots(duration: float) -> int:
    fine = int(np.clip(duration / KNOT_SPACING, MIN_KNOTS, MAX_KNOTS))
    return max(fine, min(int(duration / MAX_KNOT_SPACING), MOST_KNOTS))


def _even_law(path: Plan) -> Plan:
    """Return a law of 1 s, at rest at each end at which p' of the path is not 0."""
    return uniform_law(
        path.duration, 1.0, path.evaluate(path.times[[0, -1]])[:, 1].any(axis=1))


def even_duration(path: JointPath, feedforward: FeedForward) -> float:
    """Return the time, s, of even motions along a path: limits of torque do not count."""
    table = LimitTable(feedforward)
    return sum(_even_duration(section, table, JITTER_SAMPLES) for section in path.sections)


def _even_duration(path: Plan, table: LimitTable, count: int = WAY_SAMPLES) -> float:
    motion = run_by(_even_law(path), path, np.linspace(0.0, 1.0, count))
    return kinematic_factor(motion, table)


def _from_rest(path: Plan, table: LimitTable) -> Plan | None:
    """Return the law of an even motion from rest to rest, about as fast as the limits allow.

    Returns None if no timing is within the limits.
    """
    law = _even_law(path).stretched(
        float(np.clip(_even_duration(path, table), SHORTEST, LONGEST)))
    factor = smallest_time_scaling(_motion(path, law, False), table).factor
    return None if factor is None else law.stretched(factor)


def _stretched(path: Plan, table: LimitTable) -> Plan | None:
    """Return the smallest uniform stretch of a motion within the limits; None if none is."""
    slow = path.stretched(max(1.0, 1.0 / path.duration))
    found = smallest_time_scaling(slow, table)
    while found.factor == 1.0 and slow.duration > SHORTEST:
        slow = slow.stretched(FAST)
        found = smallest_time_scaling(slow, table)
    return None if found.factor is None else slow.stretched(found.factor)


def _why_not(path: Plan, table: LimitTable) -> str:
    """Return which limit a path exceeds even when it is run very slowly."""
    law = _even_law(path)
    motion = _motion(path, law, False).stretched(MAX_FACTOR)
    report = LimitReport(worst_margins(motion, table))
    if report.within_limits:
        return f'no timing up to {MAX_FACTOR:g} times slower fixes it'
    worst = report.violations[0]
    place = 100.0 * float(law.evaluate(worst.time / MAX_FACTOR)[0, 0]) / path.duration
    what = {
        'position': 'it is out of range', 'effort': 'this is the weight or the friction',
        'motor_effort': 'this is the weight or the friction',
        'deflection': 'the weight, or the stiffness of tendons, needs this: write a larger '
        'max_deflection if the spring stands it, or take another path'}
    cause = worst.quantity == 'position' and out_between_points(path, table, worst)
    value, limit = both(worst.value, worst.limit)
    return (
        f'no timing fixes it: {worst.joint}: {worst.quantity} {value} {worst.unit} at '
        f'{place:.0f} % of the path, limit {limit} {worst.unit}, even {MAX_FACTOR:g} '
        f'times slower: {cause or what.get(worst.quantity, "it may not move there")}'
        f'{doubt_of_units(table.feedforward.robot, path.evaluate(path.times)[:, 0])}')


def _within_limits(plan: Plan, table: LimitTable, moving: bool) -> Plan | None:
    """Return a plan, stretched if needed to be within limits; None if it cannot be.

    A plan from a moving start is not stretched.
    """
    if moving:
        return plan if LimitReport(worst_margins(plan, table)).within_limits else None
    factor = smallest_time_scaling(plan, table).factor
    return None if factor is None else plan.stretched(factor)


def _motion(path: Plan, law: Plan, moving: bool) -> Plan:
    """Return the plan of a path run by a law, at rest at its end and, unless moving, its start."""
    pieces = max(MIN_PIECES, int(np.ceil(law.duration / PIECE)))
    times = np.linspace(0.0, law.duration, pieces + 1)
    knots = run_by(law, path, times)
    knots[-1, 1:] = 0.0
    if not moving:
        knots[0, 1:] = 0.0
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
