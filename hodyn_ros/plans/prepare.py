"""Turns a trajectory into a plan that may run: acceptance, fit, limits, stretch, annotation.

It needs no ROS, and its inputs and results can be pickled: the node runs it in a worker process,
the command line in its own.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
import reprlib

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable, unit
from hodyn_ros.limits.margins import LimitMargin, at_limits
from hodyn_ros.plans.deviation import deviation_of
from hodyn_ros.plans.doubtful_points import (
    CONTRADICTION,
    MILLISECONDS,
    contradicted_velocity,
    doubt_of_points,
    hasty_ends,
    in_milliseconds,
    jitter,
    jitter_size,
    left_out_joints,
    steps,
    travel,
    unsmoothed,
)
from hodyn_ros.plans.limit_check import LimitReport, check_limits
from hodyn_ros.plans.plan_request import PlanRequest
from hodyn_ros.plans.prepared_plan import PreparedPlan, refused
from hodyn_ros.plans.reflex_check import reflex_peaks
from hodyn_ros.plans.retiming.path import SMALLEST_STEP, JointPath, allowed_overshoot, path_of
from hodyn_ros.plans.retiming.result import Retimed
from hodyn_ros.plans.retiming.search import (
    Progress,
    even_duration,
    retime_path,
    retime_plan,
)
from hodyn_ros.plans.time_scaling import smallest_time_scaling
from hodyn_ros.plans.waypoints import (
    AcceptedWaypoints,
    accept,
    motion_at_end,
    motion_at_start,
    moves_at,
    with_resting_ends,
)
from hodyn_ros.reference import Plan, fit_plan, overshoot
from hodyn_ros.reference.fit import MAX_SAMPLE_TOLERANCE
from hodyn_ros.robot import HodynError
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.robot.many_turns import too_many_turns, turn_often

MAX_DURATION = 3600.0
"""Largest duration that the node takes, s: the check takes time and memory in proportion."""
SMOOTH_PATH, FASTER = 2.0, 1.1
"""Path tolerance, in jitters of samples, that lets a path be smooth; and how much faster an even
motion along it must be, if a note is to say so."""
FAR_TOO_FAST = 5.0
"""Ratio of speed to limit from which a joint that would turn many times is not slowed down."""
EFFORT_UNUSED = 'the effort of its points is not used: efforts are computed'


@dataclass(frozen=True, eq=False)
class _Fitted:
    """A motion through the points of a trajectory, before it is judged."""

    points: AcceptedWaypoints  # at rest where the plan begins and ends at rest
    plan: Plan
    feedforward: FeedForward
    limit_report: LimitReport
    retimed: Retimed | None
    moving: str  # why the plan is refused for its end in motion; empty if it is not
    hasty: list[str]  # ends that joints cannot reach from rest, or at rest
    begins: str  # how its first velocity differs from that of the start
    resting: str  # what was set to rest at its ends
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class _Verdict:
    """A plan, stretched if that is asked for, and why it must not run: without lines it may."""

    plan: Plan
    limit_report: LimitReport
    reflexes: tuple[LimitMargin, ...]
    stretch: float | None
    lines: list[str]


def prepare_plan(request: PlanRequest, progress: Progress | None = None) -> PreparedPlan:
    """Accept, fit, check and annotate a trajectory; its faults are in the result, not raised.

    `progress` is called during retiming, with the duration reached so far as text.
    """
    if not isinstance(request, PlanRequest):
        raise HodynError(
            f'request: expected PlanRequest(trajectory, robot, …), got {reprlib.repr(request)}')
    robot, joins, contradiction = request.robot, request.start is not None, ''
    try:
        points = accepted_points(request)
        where, contradiction = contradicted_velocity(robot, points)
        fitted = _fitted(request, points, progress)
    except HodynError as error:
        return refused(error, contradiction)
    points, retimed = fitted.points, fitted.retimed
    locked, others, uncoupled = left_out_joints(robot, request.trajectory, points.names)
    moving = '; '.join(filter(None, (locked, fitted.moving)))
    jumps = _jumps(request, fitted)
    verdict = _verdict(request, fitted, moving, contradiction, jumps)
    excess, leaves_range = _overshoot(request, fitted.plan, points.positions)
    unchecked = '' if joins or retimed is not None or not points.times[0] else (
        f'the motion to the first point, in {points.times[0]:.3g} s from wherever the arm is, is '
        'not in the plan and not checked')
    doubt = in_milliseconds(robot, points, request.start)
    turns = too_many_turns(robot, points.names, travel(points, request.start))
    used = EFFORT_UNUSED if any(len(row) for row in request.trajectory.efforts) else ''
    rough = unsmoothed(
        points, request.settings.interpolation, fitted.plan.interpolation,
    ) if request.settings.sample_tolerance > 0.0 else ''
    notes = (
        unchecked, doubt, turns, contradiction, jumps,
        fitted.begins * (retimed is None or not joins), fitted.resting, others, leaves_range,
        rough, used, *fitted.notes)
    lines = verdict.lines
    too_long = (
        f'the node refuses plans of more than {MAX_DURATION:g} s'
        if verdict.plan.duration > MAX_DURATION else '')
    prepared = PreparedPlan(
        '; '.join(lines), verdict.plan, verdict.limit_report, verdict.stretch, overshoot=excess,
        deviation=deviation_of(robot, fitted.plan, points, retimed),
        note='; '.join(note for note in notes if note and note not in lines),
        retimed=None if lines else retimed, reflexes=verdict.reflexes, points=points,
        unchecked=unchecked, fault='joints' if locked else '', doubts=(
            MILLISECONDS if doubt else '', turns, contradiction and f'{CONTRADICTION} ({where})',
            uncoupled, too_long), too_long=too_long)
    if lines or request.annotate_period is None:
        return prepared
    return replace(prepared, annotated=request.annotated(
        verdict.plan, points.names, request.annotate_period))


def accepted_points(request: PlanRequest) -> AcceptedWaypoints:
    """Return the points of a trajectory in the robot's order of joints; HodynError if faulty."""
    settings = request.settings
    joints = JointNames(
        request.robot, prefix=settings.joint_prefix,
        allow_other_model=settings.allow_other_model, driver_prefix=settings.driver_prefix)
    points = accept(
        request.trajectory, joints, leave_out_other_joints=settings.leave_out_other_joints)
    limits = request.robot.limits
    return replace(points, positions=at_limits(
        points.positions, limits.position_min, limits.position_max))


def _fitted(
    request: PlanRequest, points: AcceptedWaypoints, progress: Progress | None,
) -> _Fitted:
    """Return a motion through points that are accepted; HodynError if there is none."""
    settings, start = request.settings, request.start
    begins = motion_at_start(points, start)
    points, resting = with_resting_ends(
        points, first=start is None or not (points.times[0] or start[1:].any()))
    moving, rests = motion_at_end(points), ''
    if settings.allow_nonzero_velocity_at_end:
        moving, rests = '', moving and 'the points end in motion; the plan ends at rest'
    elif moving and settings.stretch == 'retime':
        raise HodynError(moving)
    feedforward = FeedForward(request.robot)
    hasty = hasty_ends(request.robot, points, start)
    retimed = _retimed(request, points, hasty, feedforward, progress)
    plan = _through(request, points, hasty) if retimed is None else retimed.plan
    if retimed and start is None and moves_at(points, 0) and not plan.evaluate(0.0)[1].any():
        begins = 'the points begin in motion; the plan begins at rest'
    return _Fitted(
        points, plan, feedforward, check_limits(plan, feedforward), retimed, moving, hasty,
        begins, resting, () if retimed is None else (rests, *retimed.notes))


def _jumps(request: PlanRequest, fitted: _Fitted) -> str:
    """Return which steps or jitter of the points a plan repeats; empty if it repeats none."""
    points = fitted.points
    # They do harm if a plan goes through all samples, without given accelerations.
    if fitted.plan.interpolation in ('band', 'retimed') or (
            points.accelerations is not None and not fitted.resting):
        return ''
    shakes = not fitted.limit_report.within_limits and jitter(request.robot, points)
    return shakes or steps(request.robot, points)


def _verdict(
    request: PlanRequest, fitted: _Fitted, moving: str, contradiction: str, jumps: str,
) -> _Verdict:
    """Judge a plan by limits and reflexes; if it is beyond them, stretch it or offer a stretch."""
    settings, plan, feedforward = request.settings, fitted.plan, fitted.feedforward
    joins = request.start is not None
    report = fitted.limit_report
    reflexes = reflex_peaks(plan, feedforward, settings.commands, joins=joins)
    tripped = [str(peak) for peak in reflexes if peak.trips]
    # A refusal names the contradiction: neither a ramp nor a stretch mends wrong velocities.
    lines = [line for line in (moving, contradiction) if line]
    if report.within_limits and not tripped:
        return _Verdict(plan, report, reflexes, 1.0, lines if moving else [])
    if fitted.retimed is None and not contradiction:
        lines += fitted.hasty
    if not report.within_limits:
        doubt = doubt_of_points(
            request.robot, fitted.points, request.start).removeprefix('; ')
        lines = [*filter(None, [doubt]), *lines, report.summary]
    lines += [*tripped, *filter(None, [jumps])]
    if settings.stretch == 'off' or moving or contradiction:
        return _Verdict(plan, report, reflexes, None, lines)
    scaling = smallest_time_scaling(plan, LimitTable(feedforward, settings.commands))
    if scaling.factor is None:
        lines.append(scaling.reason)
    elif _are_degrees(request, fitted):
        return _Verdict(plan, report, reflexes, None, lines)
    elif settings.stretch == 'auto':
        slower = plan.stretched(scaling.factor)
        return _Verdict(
            slower, check_limits(slower, feedforward),
            reflex_peaks(slower, feedforward, settings.commands, joins=joins), scaling.factor, [])
    else:
        also = ' and trips no reflex' if tripped else ''
        lines.append(f'{scaling.factor:.4f} times slower it is within all limits{also}')
    return _Verdict(plan, report, reflexes, scaling.factor, lines)


def _are_degrees(request: PlanRequest, fitted: _Fitted) -> bool:
    """Whether a joint would turn many times, far too fast."""
    often = np.array(request.robot.joint_names)[
        turn_often(request.robot, travel(fitted.points, request.start))]
    return any(
        entry.quantity == 'velocity' and entry.joint in often
        and abs(entry.value) > FAR_TOO_FAST * abs(entry.limit)
        for entry in fitted.limit_report.violations)


def _through(request: PlanRequest, points: AcceptedWaypoints, hasty: Sequence[str]) -> Plan:
    settings, limits = request.settings, request.robot.limits
    try:
        return fit_plan(
            points.times, points.positions, points.velocities, points.accelerations,
            start=request.start, interpolation=settings.interpolation,
            overshoot_tolerance=allowed_overshoot(request.robot, settings.overshoot_tolerance),
            position_range=(limits.position_min, limits.position_max),
            start_tolerance=settings.start_tolerance,
            sample_tolerance=settings.sample_tolerance, names=request.robot.joint_names,
            abrupt_ends=bool(hasty))
    except HodynError as error:
        raise HodynError(
            f'{error}{doubt_of_points(request.robot, points, request.start)}') from None


def _retimed(
    request: PlanRequest, points: AcceptedWaypoints, hasty: Sequence[str],
    feedforward: FeedForward, progress: Progress | None,
) -> Retimed | None:
    """Return the fastest motion through the points; None if not requested, or nothing moves."""
    settings = request.settings
    if settings.stretch != 'retime':
        return None
    given = points
    if request.start is not None:
        plan = _through(request, points, hasty)
        if plan.duration and request.start[1:].any():
            return retime_plan(plan, feedforward, settings.commands)
        if not plan.duration or np.abs(points.positions - request.start[0]).max() <= SMALLEST_STEP:
            return None
        # The resting start comes before the first point, or replaces it at time 0.
        delay = points.times[0]
        given = points.chosen([*([0] if delay else []), *range(len(points.times))], {0})
        given.times[0], given.positions[0] = 0.0, request.start[0]

    def path(tolerance: float) -> JointPath:
        return path_of(
            request.robot, given, stop_at=settings.stop_at, tolerance=tolerance,
            interpolation=settings.interpolation,
            overshoot_tolerance=settings.overshoot_tolerance, abrupt_ends=bool(hasty),
            sample_tolerance=settings.sample_tolerance)

    taken = path(settings.path_tolerance)
    found = retime_path(taken, feedforward, settings.smoothness, settings.commands, progress)
    said, size = jitter_size(request.robot, points)
    enough = min(SMOOTH_PATH * max(size, settings.path_tolerance), MAX_SAMPLE_TOLERANCE)
    if said and even_duration(taken, feedforward) > FASTER * even_duration(
            path(enough), feedforward):
        found = replace(found, notes=(
            f'{said}: a path within {settings.path_tolerance:g} of them jitters too, which makes '
            'the motion slower, with more jerk; hodyn retime --path-tolerance '
            f'{enough:g} lets it be smooth', *found.notes))
    if found.missed is None:
        return found
    return replace(found, missed=found.missed[len(found.missed) - len(points.times):])


def _overshoot(request: PlanRequest, plan: Plan, waypoints: Array) -> tuple[float, str]:
    """Return the worst joint's overshoot, rad or m, and a note if it is beyond the tolerance."""
    if request.start is not None:
        waypoints = np.vstack((request.start[:1], waypoints))
    robot = request.robot
    excess = overshoot(plan, waypoints)
    allowed = allowed_overshoot(robot, request.settings.overshoot_tolerance)
    joint = int((excess - allowed).argmax())
    worst = float(excess[joint])
    if worst <= allowed[joint]:
        return worst, ''
    return worst, (
        f'{robot.joint_names[joint]} leaves the range of its points by {worst:.3g} '
        f"{unit(robot, joint, 'position')}")
