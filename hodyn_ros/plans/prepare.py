"""Turns a trajectory into a plan that may run: acceptance, fit, limits, stretch, annotation.

It needs no ROS, and its inputs and results can be pickled: the node runs it in a worker process,
the command line in its own.
"""
from collections.abc import Sequence
from dataclasses import dataclass, replace
import reprlib
from typing import Literal, get_args

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import check_choice
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable, unit
from hodyn_ros.limits.margins import LimitMargin
from hodyn_ros.messages.joint_trajectory import JointWaypoints
from hodyn_ros.plans.annotate import Annotated, annotate
from hodyn_ros.plans.deviation import Deviation, deviation_of
from hodyn_ros.plans.doubtful_points import (
    CONTRADICTION,
    MILLISECONDS,
    contradicted_velocity,
    doubt_of_points,
    hasty_ends,
    in_milliseconds,
    jitter,
    left_out_joints,
    steps,
)
from hodyn_ros.plans.limit_check import LimitReport, check_limits
from hodyn_ros.plans.reflex_check import reflex_peaks
from hodyn_ros.plans.retiming.path import SMALLEST_STEP, allowed_overshoot, path_of
from hodyn_ros.plans.retiming.result import Retimed
from hodyn_ros.plans.retiming.search import PATH_TOLERANCE, Progress, retime_path, retime_plan
from hodyn_ros.plans.time_scaling import smallest_time_scaling
from hodyn_ros.plans.waypoints import (
    AcceptedWaypoints,
    EndedError,
    OtherJointsError,
    accept,
    motion_at_end,
    motion_at_start,
    with_resting_ends,
)
from hodyn_ros.reference import Plan, fit_plan, overshoot
from hodyn_ros.reference.fit import INTERPOLATIONS, OVERSHOOT_TOLERANCE, START_TOLERANCE
from hodyn_ros.robot import HodynError, Robot
from hodyn_ros.robot.joint_names import JointNames
from hodyn_ros.robot.reflexes import COMMANDS, Commands
from hodyn_ros.robot.robot_check import check_robot

StretchMode = Literal['off', 'offer', 'auto', 'retime']
Fault = Literal['', 'joints', 'past', 'other']

EFFORT_UNUSED = 'the effort of its points is not used: efforts are computed'


@dataclass(frozen=True)
class PlanSettings:
    """Settings for making plans from trajectories.

    Attributes
    ----------
    joint_prefix, allow_other_model, driver_prefix : str, bool, and str or None
        How joint names are mapped, see `robot.joint_names.JointNames`.
    interpolation : str
        See `reference.fit_plan`.
    overshoot_tolerance : float
        See `retiming.path.allowed_overshoot`.
    start_tolerance, sample_tolerance : float
        See `reference.fit_plan`.
    stretch : 'off', 'offer', 'auto' or 'retime'
        What to do with a plan beyond limits: 'off' refuses it, 'offer' refuses it and gives the
        stretch that fixes it, 'auto' stretches it. 'retime' runs the path of any plan as fast as
        the limits allow.
    stop_at, path_tolerance, smoothness : tuple of int, float, float
        With 'retime': as for `retiming.retime`.
    allow_nonzero_velocity_at_end : bool
        Whether a trajectory may end in motion. If not, it is refused, with 'retime' even before
        its check. Retimed plans always end at rest.
    leave_out_other_joints : bool
        Whether joints besides the robot's, such as a gripper's, are left out instead of refused.
    gravity, friction : bool
        Whether the annotated efforts contain these terms.
    commands : 'effort' or 'position'
        Kind of commands that the arm is sent, on which its reflexes depend.

    """

    joint_prefix: str = ''
    allow_other_model: bool = False
    driver_prefix: str | None = None
    interpolation: str = 'auto'
    overshoot_tolerance: float = OVERSHOOT_TOLERANCE
    start_tolerance: float = START_TOLERANCE
    sample_tolerance: float = 0.0
    stretch: StretchMode = 'offer'
    stop_at: tuple[int, ...] = ()
    path_tolerance: float = PATH_TOLERANCE
    smoothness: float = 0.0
    allow_nonzero_velocity_at_end: bool = False
    leave_out_other_joints: bool = False
    gravity: bool = True
    friction: bool = True
    commands: Commands = 'effort'

    def __post_init__(self) -> None:
        for name, choices in (
            ('interpolation', INTERPOLATIONS), ('stretch', get_args(StretchMode)),
            ('commands', COMMANDS),
        ):
            check_choice(getattr(self, name), name, choices)


@dataclass(frozen=True, eq=False)
class PlanRequest:
    """A trajectory, the robot that is to follow it, and the settings for its plan.

    Attributes
    ----------
    trajectory : JointWaypoints
        The waypoints, unchecked.
    robot : Robot
        The robot.
    settings : PlanSettings
        How the plan is made.
    start : (5, n) array or None
        q … q⁗ of the active reference at the trajectory's time 0; with None the plan starts at
        the first point, at rest unless this has a velocity.
    elapsed : float
        Time since the trajectory's start, s: a trajectory that has ended is refused.
    annotate_period : float or None
        Largest time between annotated samples, s; None for no samples.

    """

    trajectory: JointWaypoints
    robot: Robot
    settings: PlanSettings = PlanSettings()
    start: Array | None = None
    elapsed: float = 0.0
    annotate_period: float | None = None

    def __post_init__(self) -> None:
        check_robot(self.robot)
        if not isinstance(self.trajectory, JointWaypoints):
            raise HodynError(
                'trajectory: expected JointWaypoints(names, times, positions), got '
                f'{reprlib.repr(self.trajectory)}')


@dataclass(frozen=True, eq=False)
class PreparedPlan:
    """The plan made from a trajectory, or the reason why it is refused.

    Attributes
    ----------
    refusal : str
        Why the plan must not run; empty if it may.
    fault : 'joints', 'past', 'other' or ''
        Kind of the refusal, if the trajectory could not be accepted: it names other joints, ended
        before it could begin, or is otherwise wrong.
    plan, limit_report : Plan and LimitReport, or None
        The fitted plan, stretched with 'auto' if necessary, and its margins to the limits; None if
        the trajectory was not accepted.
    stretch : float or None
        Factor on the duration that brings the plan within limits ('auto' has applied it); 1 if
        none is needed, None if none was found or searched for.
    annotated : Annotated or None
        The plan with efforts, if this was requested and the plan is not refused.
    overshoot : float
        Distance, rad or m, by which the worst joint leaves the range of its points.
    deviation : Deviation or None
        Where the plan misses its points most; None if the trajectory was not accepted.
    note : str
        Remarks that do not refuse the plan, such as an overshoot or unused efforts.
    seconds : float
        Time that a `PlanWorker` took to prepare the plan, s; else 0.
    message : bytes
        The annotated plan as a serialized JointTrajectory, from a `PlanWorker`; else empty.
    traceback : str
        Traceback of a bug in this program for which the plan is refused; else empty.
    retimed : Retimed or None
        With the stretch 'retime', the result of the search.
    reflexes : tuple of LimitMargin
        How close the plan comes to each reflex of the vendor's controller, the closest first.
    doubts : tuple of str
        Probable errors of the points: times in milliseconds, velocities that contradict positions,
        positions that contradict the coupling of joints.
    unchecked : str
        The motion to the first point, if it is not in the plan and not checked; else empty.
    points : AcceptedWaypoints or None
        Points of the plan, in the robot's order of joints; None if they were not accepted.

    """

    refusal: str
    plan: Plan | None = None
    limit_report: LimitReport | None = None
    stretch: float | None = None
    annotated: Annotated | None = None
    overshoot: float = 0.0
    deviation: Deviation | None = None
    note: str = ''
    seconds: float = 0.0
    message: bytes = b''
    traceback: str = ''
    retimed: Retimed | None = None
    reflexes: tuple[LimitMargin, ...] = ()
    points: AcceptedWaypoints | None = None
    fault: Fault = ''
    unchecked: str = ''
    doubts: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        """Summary of the plan in a line: its refusal, or its size and its note."""
        if self.refusal or self.plan is None:
            return self.refusal
        kind = self.plan.interpolation
        how = kind if kind == 'retimed' else f'{kind} interpolation'
        line = (
            f'{self.plan.times.size} knots, {self.plan.duration:.3f} s, {how}, '
            f'prepared in {self.seconds * 1e3:.0f} ms')
        if self.stretch is not None and self.stretch > 1.0:
            line += f', made {self.stretch:.4f} times slower'
        return f'{line}; {self.note}' if self.note else line

    @property
    def reservations(self) -> str:
        """Exceptions to add to 'within all limits': missed points, unchecked motion, doubts."""
        unchecked = 'the motion to the first point is not in the plan and not checked'
        missed = str(self.deviation) if self.deviation and self.deviation.value else ''
        return ''.join(f', but {what}' for what in (
            missed, unchecked if self.unchecked else '', *self.doubts) if what)


def prepare_plan(request: PlanRequest, progress: Progress | None = None) -> PreparedPlan:
    """Accept, fit, check and annotate a trajectory; its faults are in the result, not raised.

    `progress` is called during retiming, with the duration reached so far as text.
    """
    if not isinstance(request, PlanRequest):
        raise HodynError(
            f'request: expected PlanRequest(trajectory, robot, …), got {reprlib.repr(request)}')
    robot, settings, contradiction = request.robot, request.settings, ''
    try:
        points = accepted_points(request)
        where, contradiction = contradicted_velocity(robot, points)
        starts = request.start is None or not (points.times[0] or request.start[1:].any())
        begins = motion_at_start(points, request.start)
        points, resting = with_resting_ends(points, first=starts)
        moving, rests = motion_at_end(points), ''
        if settings.allow_nonzero_velocity_at_end:
            moving, rests = '', moving and 'the points end in motion; the plan ends at rest'
        elif moving and settings.stretch == 'retime':
            raise HodynError(moving)
        feedforward = FeedForward(robot)
        hasty = hasty_ends(robot, points, request.start)
        retimed = _retimed(request, points, hasty, feedforward, progress)
        plan = _fitted(request, points, hasty) if retimed is None else retimed.plan
        limit_report = check_limits(plan, feedforward)
    except HodynError as error:
        return refused(error, contradiction)
    joins = request.start is not None
    excess, note = _overshoot(request, plan, points.positions)
    deviation = deviation_of(robot, plan, points, retimed)
    used = EFFORT_UNUSED if any(len(row) for row in request.trajectory.efforts) else ''
    notes = () if retimed is None else (rests, *retimed.notes)
    locked, others, uncoupled = left_out_joints(robot, request.trajectory, points.names)
    moving = '; '.join(filter(None, (locked, moving)))
    unchecked = '' if joins or retimed is not None or not points.times[0] else (
        f'the motion to the first point, in {points.times[0]:.3g} s from wherever the arm is, is '
        'not in the plan and not checked')
    # Steps and jitter do harm if a plan goes through all samples, without given accelerations.
    meets_samples = settings.sample_tolerance == 0.0 and settings.stretch != 'retime' and (
        points.accelerations is None or resting)
    doubt = in_milliseconds(robot, points, request.start)
    doubts = (
        MILLISECONDS if doubt else '', contradiction and f'{CONTRADICTION} ({where})', uncoupled)
    jumps = steps(robot, points) if meets_samples else ''
    if meets_samples and not limit_report.within_limits:
        jumps = jitter(robot, points) or jumps
    reflexes = reflex_peaks(plan, feedforward, settings.commands, joins=joins)
    tripped = [str(peak) for peak in reflexes if peak.trips]
    is_beyond = bool(tripped) or not limit_report.within_limits
    # A refusal names the contradiction: neither a ramp nor a stretch mends wrong velocities.
    lines = [line for line in (moving, contradiction) if line] if moving or is_beyond else []
    factor: float | None = None if is_beyond else 1.0
    if is_beyond:
        lines += hasty if retimed is None and not contradiction else []
        if not limit_report.within_limits:
            lines.append(limit_report.summary + doubt_of_points(robot, points))
        lines += [*tripped, *filter(None, [jumps])]
        if settings.stretch != 'off' and not moving and not contradiction:
            scaling = smallest_time_scaling(plan, LimitTable(feedforward, settings.commands))
            factor = scaling.factor
            if factor is None:
                lines.append(scaling.reason)
            elif settings.stretch == 'auto':
                plan = plan.stretched(factor)
                limit_report = check_limits(plan, feedforward)
                reflexes = reflex_peaks(plan, feedforward, settings.commands, joins=joins)
                lines = []
            else:
                also = ' and trips no reflex' if tripped else ''
                lines.append(f'{factor:.4f} times slower it is within all limits{also}')
    note = '; '.join(filter(None, (
        unchecked, doubt, '' if lines else contradiction, '' if lines and is_beyond else jumps,
        begins * (retimed is None or not joins), resting, others, note, used, *notes)))
    prepared = PreparedPlan(
        '; '.join(lines), plan, limit_report, factor, overshoot=excess, deviation=deviation,
        note=note, retimed=None if lines else retimed, reflexes=reflexes, points=points,
        unchecked=unchecked, fault='joints' if locked else '', doubts=doubts)
    if lines or request.annotate_period is None:
        return prepared
    return replace(prepared, annotated=annotate(
        plan, feedforward, request.annotate_period, names=points.names,
        gravity=settings.gravity, friction=settings.friction))


def accepted_points(request: PlanRequest) -> AcceptedWaypoints:
    """Return the points of a trajectory in the robot's order of joints; HodynError if faulty."""
    settings = request.settings
    joints = JointNames(
        request.robot, prefix=settings.joint_prefix,
        allow_other_model=settings.allow_other_model, driver_prefix=settings.driver_prefix)
    return accept(
        request.trajectory, joints, elapsed=request.elapsed,
        leave_out_other_joints=settings.leave_out_other_joints)


def refused(error: HodynError, contradiction: str = '') -> PreparedPlan:
    """Return the refusal of a faulty trajectory, with a contradiction of its points."""
    fault: Fault = (
        'joints' if isinstance(error, OtherJointsError)
        else 'past' if isinstance(error, EndedError) else 'other')
    return PreparedPlan('; '.join(filter(None, (str(error), contradiction))), fault=fault)


def _fitted(request: PlanRequest, points: AcceptedWaypoints, hasty: Sequence[str]) -> Plan:
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
        raise HodynError(f'{error}{doubt_of_points(request.robot, points)}') from None


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
        plan = _fitted(request, points, hasty)
        if plan.duration and request.start[1:].any():
            return retime_plan(plan, feedforward, settings.commands)
        if not plan.duration or np.abs(points.positions - request.start[0]).max() <= SMALLEST_STEP:
            return None
        # The resting start comes before the first point, or replaces it at time 0.
        delay = points.times[0]
        given = points.chosen([*([0] if delay else []), *range(len(points.times))], {0})
        given.times[0], given.positions[0] = 0.0, request.start[0]
    found = retime_path(path_of(
        request.robot, given, stop_at=settings.stop_at, tolerance=settings.path_tolerance,
        interpolation=settings.interpolation,
        overshoot_tolerance=settings.overshoot_tolerance, abrupt_ends=bool(hasty)),
        feedforward, settings.smoothness, settings.commands, progress)
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
