"""Annotated plans written as files that pass the check of plans.

Between the samples of a file, the motion that a reader interpolates has other peaks than the plan
that was sampled. So the file is read back and checked before it replaces the output, in two ways:
as the smooth curve that the check of plans makes of it, and as the quintics that
joint_trajectory_controller plays.
"""
from dataclasses import dataclass, replace
from pathlib import Path
import shutil

import numpy as np

from hodyn_ros.common.output_files import replacing
from hodyn_ros.feedforward import FeedForward
from hodyn_ros.feedforward.limit_table import LimitTable
from hodyn_ros.limits.quantities import MOTOR_QUANTITIES, QUANTITIES, SCALABLE
from hodyn_ros.plans.annotate import MAX_PERIOD, PERIOD, sample_count
from hodyn_ros.plans.deviation import THROUGH, largest_deviation
from hodyn_ros.plans.doubtful_points import in_milliseconds
from hodyn_ros.plans.files import MAX_BYTES, annotated_contents, read_trajectory, write_annotated
from hodyn_ros.plans.limit_check import LimitReport, check_limits
from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
from hodyn_ros.plans.prepare import accepted_points, prepare_plan
from hodyn_ros.plans.prepared_plan import PreparedPlan
from hodyn_ros.plans.retiming import Progress
from hodyn_ros.plans.retiming.path import missed_by
from hodyn_ros.plans.retiming.result import binding_limits, momentary_stops
from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits
from hodyn_ros.plans.time_scaling import RESOLUTION, rounded, starts_and_ends_at_rest
from hodyn_ros.plans.waypoints import AcceptedWaypoints
from hodyn_ros.reference import Plan
from hodyn_ros.robot import HodynError

SLOWER = ('auto', 'retime')
"""Values of `stretch` with which a plan may be made slower."""
MAX_EXTRA = 4.0
"""Largest additional stretch: a plan whose samples do not pass even with it is refused."""
ROOM, LEAST_SHARE = 0.98, 0.5
"""If the samples of a retimed motion from a moving start exceed a limit, the next search may use a
smaller share of this limit: ROOM times the share that would bring the peak just to the limit. The
searches end if a share is not above LEAST_SHARE."""
FINE = 1.002
"""Bisection ends when the least passing stretch is at most FINE times the largest failing one."""


# Numbers per joint and sample: position, velocity, acceleration, effort. Least number of bytes of
# each: in text for a joint that moves, in text for one that rests, and in a bag.
_NUMBERS = 4
_OF_MOVING, _OF_RESTING, _IN_BAG = 20, 4, 8
# Ratio of a proposed period to the estimate of the shortest one that fits: a number may take 25
# bytes of text.
_MORE_SPACE = 1.3
_BY_SPLINE = 'between the samples, by the spline of hodyn check'
_BY_QUINTICS = 'between the samples, by the quintics of joint_trajectory_controller'
WAYPOINT_TOLERANCE = 1e-3
"""Largest distance, rad or m, by which a retimed plan as written may miss its waypoints."""
NOTED_COST = 0.02
"""Share by which sampling may lengthen a retimed plan without a note."""


def write_annotated_plan(
    request: PlanRequest, path: Path, *, force: bool = False, progress: Progress | None = None,
) -> PreparedPlan:
    """Prepare a plan and write it with its torques, so that the file itself passes the check.

    The file is read back and checked with the settings of the request, then with the defaults,
    then as quintics through its samples. If it fails, and the stretch is 'auto' or 'retime', the
    plan is written again and again, each time slower by a larger step (the first is at least
    1e-4), until it passes; bisection then finds a smaller stretch that passes. A retimed motion
    from a moving start cannot be slowed down evenly: the fastest motion is searched again with
    lower limits instead. A retimed plan must also go through its points as it is read back; the
    result contains the plan that was read back, not the one that was sampled.

    Parameters
    ----------
    request : PlanRequest
        The trajectory, robot and settings; an `annotate_period` of None means 0.005 s.
    path : Path
        Path of the file, as for `write_annotated`.
    force : bool
        Whether an existing file is replaced.
    progress : callable, optional
        As for `prepare_plan`.

    Returns
    -------
    PreparedPlan
        The written plan; if it fails a check, nothing is written, and the result has a refusal.

    Raises
    ------
    HodynError, OSError
        As in `write_annotated`.

    """
    period = PERIOD if request.annotate_period is None else request.annotate_period
    request = replace(request, annotate_period=period)
    try:
        _refuse_too_many(request, path, period)
        prepared = prepare_plan(request, progress)
        if prepared.annotated is None:
            return prepared
        with replacing(path, annotated_contents(path), force=force) as unfinished:
            result = _written(prepared, _Output(unfinished, request, period), progress)
            if result.refusal:
                # `replacing` leaves `path` as it was if the unfinished file is gone.
                shutil.rmtree(unfinished) if unfinished.is_dir() else unfinished.unlink()
            return result
    except _TooManyError as error:
        return PreparedPlan(str(error), fault='other')


class _TooManyError(HodynError):
    """A file cannot hold all samples of a plan."""


@dataclass(frozen=True, eq=False)
class _Attempt:
    """A plan that was written, and what was read back and judged; with the stretch of the plan."""

    written: PreparedPlan
    judged: PreparedPlan
    stretch: float


@dataclass(frozen=True, eq=False)
class _Output:
    """The file to which plans are written, one after the other, until one passes."""

    path: Path
    request: PlanRequest
    period: float

    def attempt(self, prepared: PreparedPlan) -> _Attempt:
        """Write a plan, and judge the file; raise _TooManyError if it is too large to be read."""
        annotated, points, stretch = prepared.annotated, prepared.points, prepared.stretch
        assert annotated is not None
        assert points is not None
        assert stretch is not None
        write_annotated(annotated, self.path, force=True)
        if self.path.is_file() and (size := self.path.stat().st_size) > MAX_BYTES:
            times = annotated.times
            raise _TooManyError(_too_many(
                self.request, points, float(times[-1]), self.period,
                len(times) * MAX_BYTES // size))
        return _Attempt(prepared, _judge(self.path, self.request), stretch)

    def attempt_slower(self, first: _Attempt, stretch: float) -> _Attempt:
        """Write the plan of the first attempt with another stretch, sampled again."""
        prepared = first.written
        assert prepared.plan is not None
        assert prepared.annotated is not None
        plan = prepared.plan.stretched(stretch / first.stretch)
        return self.attempt(replace(
            prepared, plan=plan, stretch=stretch,
            annotated=self.request.annotated(plan, prepared.annotated.names, self.period)))


def _written(
    prepared: PreparedPlan, output: _Output, progress: Progress | None,
) -> PreparedPlan:
    """Write a plan so that its file passes; return it, or a refusal if no file passes."""
    assert prepared.plan is not None
    request, period = output.request, output.period
    first = output.attempt(prepared)
    if not first.judged.refusal:
        return _as_written(first, None, prepared, output)
    may_stretch = request.settings.stretch in SLOWER and starts_and_ends_at_rest(prepared.plan)
    if may_stretch:
        passing, failed = _slowed_down(first, output)
    elif prepared.retimed is not None:
        passing, failed = _searched_again(first, output, progress)
    else:
        passing, failed = None, first
    if passing is not None:
        return _as_written(passing, failed, prepared, output)
    slower = f', even {failed.stretch:.4f} times slower' if may_stretch else ''
    ways_out = []
    if request.settings.stretch not in SLOWER:
        ways_out.append("take stretch 'auto', which slows it down until it passes")
    own = np.diff(request.trajectory.times)
    if not len(own) or np.median(own) > period:  # else the samples are the points themselves
        ways_out.append('take a shorter period, which changes the plan less')
    return replace(prepared if may_stretch else failed.written, annotated=None, refusal=(
        f'its samples every {period:g} s do not pass the check{slower}: {failed.judged.refusal}'
        f'{"; " if ways_out else ""}{", or ".join(ways_out)}'))


def _slowed_down(first: _Attempt, output: _Output) -> tuple[_Attempt | None, _Attempt]:
    """Return the fastest slower attempt that passes, None if none does; and the last that failed.

    The steps double until an attempt passes; bisection follows. The output has the plan of the
    attempt that passes.
    """
    attempt, failed, step = first, first, RESOLUTION
    passing: _Attempt | None = None
    while passing is None or passing.stretch > FINE * failed.stretch:
        if passing is not None:
            stretch = 0.5 * (failed.stretch + passing.stretch)
        else:
            report = failed.judged.limit_report
            if failed.stretch >= MAX_EXTRA * first.stretch or report is None:
                return None, failed
            stretch = failed.stretch * (1.0 + max(step, _smallest_step(report)))
            step *= 2.0
        attempt = output.attempt_slower(first, rounded(stretch))
        if attempt.judged.refusal:
            failed = attempt
        else:
            passing = attempt
    if attempt is not passing:  # it has overwritten the file of the one that passes
        assert passing.written.annotated is not None
        write_annotated(passing.written.annotated, output.path, force=True)
    return passing, failed


def _searched_again(
    first: _Attempt, output: _Output, progress: Progress | None,
) -> tuple[_Attempt | None, _Attempt]:
    """Search a retimed motion from a moving start with lower limits, until it passes.

    Such a motion cannot be slowed down evenly. Returns as `_slowed_down` does.
    """
    failed, shares, robot = first, dict[str, float](), output.request.robot
    while _lower(shares, failed.judged.limit_report):
        again = prepare_plan(
            replace(output.request, robot=with_scaled_limits(robot, shares)), progress)
        if again.annotated is None:
            break
        attempt = output.attempt(again)
        if not attempt.judged.refusal:
            return attempt, failed
        failed = attempt
    return None, failed


def _lower(shares: dict[str, float], report: LimitReport | None) -> bool:
    """Lower the shares of the limits that a retimed plan exceeds, for another search.

    Returns False if no other search is worthwhile: the plan exceeds no limit that can be lowered,
    or a share is not above `LEAST_SHARE`.
    """
    largest: dict[str, float] = {}
    for entry in () if report is None else report.violations:
        if entry.quantity in (*SCALABLE, *MOTOR_QUANTITIES):
            largest[entry.quantity] = max(largest.get(entry.quantity, 0.0), entry.share)
    for quantity, used in largest.items():
        shares[quantity] = shares.get(quantity, 1.0) * ROOM / used
    return bool(largest) and min(shares.values()) > LEAST_SHARE


def _refuse_too_many(request: PlanRequest, path: Path, period: float) -> None:
    """Raise HodynError before the work if a plan file cannot hold the samples in any case.

    The duration of a retimed plan is not known yet: its size is checked once it is written.
    """
    if request.settings.stretch == 'retime':
        return
    try:
        points = accepted_points(request)
    except HodynError:
        return  # `prepare_plan` says why
    moves = np.ptp(points.positions, axis=0) > 0.0
    sizes = np.where(moves, _OF_MOVING, _OF_RESTING) if annotated_contents(path) is None else (
        np.full(len(moves), _IN_BAG))
    most = MAX_BYTES // (_NUMBERS * int(sizes.sum()))
    duration = float(points.times[-1])
    if sample_count(duration, period) > most:
        raise _TooManyError(_too_many(request, points, duration, period, most))


def _too_many(
    request: PlanRequest, points: AcceptedWaypoints, duration: float, period: float, most: int,
) -> str:
    """Return a message that the samples do not fit into a file, and what to do."""
    longer = _MORE_SPACE * duration / most
    return '; '.join(filter(None, (
        f'{duration:.6g} s are {sample_count(duration, period)} samples every {period:g} s, and '
        f'a plan file holds about {most} samples of {request.robot.n} joints',
        in_milliseconds(request.robot, points),
        f'take a period of {longer:.2g} s or more (--period)'
        if longer < MAX_PERIOD else 'split the plan')))


def _as_written(
    passing: _Attempt, failed: _Attempt | None, unsampled: PreparedPlan, output: _Output,
) -> PreparedPlan:
    """Return the result for a file that passes; a retimed plan that misses its points is refused.

    A retimed plan is returned as read from its file. `failed` is the last attempt that did not
    pass, if any, and `unsampled` the plan before it was slowed down for its samples.
    """
    written, judged = passing.written, passing.judged
    request, period = output.request, output.period
    found, points, plan = written.retimed, written.points, judged.plan
    if found is None:
        return replace(written, limit_report=judged.limit_report)
    assert points is not None
    assert plan is not None
    assert judged.limit_report is not None
    assert unsampled.plan is not None
    missed = missed_by([plan], points.positions)
    allowed = WAYPOINT_TOLERANCE if found.missed is None else request.settings.path_tolerance
    worst = largest_deviation(request.robot, points, missed)
    if worst.value > max(allowed, THROUGH):
        return replace(written, annotated=None, deviation=worst, refusal=(
            f'sampled every {period:g} s it {worst}, more than {allowed:g}; take a shorter '
            'period' + ('' if found.missed is None else ', or a larger path tolerance')))
    cost, note = plan.duration / unsampled.plan.duration - 1.0, ''
    if cost > NOTED_COST and failed is not None:
        read = request.settings.interpolation
        note = (
            f'sampling every {period:g} s makes the plan {100.0 * cost:.0f} % slower: otherwise '
            f'{_cause(failed.judged)}; for a faster plan take a shorter period' + (
                '' if read == 'auto' else f', or another interpolation than {read}'))
    feedforward = FeedForward(request.robot)
    table = LimitTable(feedforward, request.settings.commands)
    stops = momentary_stops(found.plan, feedforward)
    retimed = replace(
        found, plan=plan, limit_report=judged.limit_report, missed=missed,
        binding=binding_limits(plan, table), notes=(
            *found.notes[:len(found.notes) - len(stops)], *filter(None, [note]),
            *momentary_stops(plan, feedforward)))
    others = written.note.removesuffix('; '.join(found.notes)).removesuffix('; ')
    return replace(
        written, plan=plan, limit_report=judged.limit_report, retimed=retimed,
        deviation=worst if worst.value > THROUGH else replace(worst, value=0.0),
        note='; '.join(filter(None, (others, *retimed.notes))))


def _judge(path: Path, request: PlanRequest) -> PreparedPlan:
    """Return the plan in a file, checked with the settings of a request and with the defaults.

    It is also refused if the quintics through its samples exceed limits. Two things are not
    checked for the quintics: reflexes, and the impulses of motor torque at the samples, where
    their jerk jumps.
    """
    given = request.settings
    default = PlanSettings(
        joint_prefix=given.joint_prefix, allow_other_model=given.allow_other_model,
        driver_prefix=given.driver_prefix)
    trajectory = read_trajectory(path)
    for settings in dict.fromkeys(replace(one, stretch='off', gravity=True, friction=True)
                                  for one in (given, default)):
        judged = prepare_plan(PlanRequest(trajectory, request.robot, settings))
        if judged.refusal:
            return judged if judged.limit_report is None else replace(
                judged, refusal=f'{_BY_SPLINE}: {judged.refusal}')
    points = judged.points
    assert points is not None
    assert points.velocities is not None
    assert points.accelerations is not None
    quintics = Plan.quintic(points.times, np.stack(
        [points.positions, np.array(points.velocities), np.array(points.accelerations)], axis=1))
    report = check_limits(quintics, FeedForward(request.robot))
    return judged if report.within_limits else replace(
        judged, refusal=f'{_BY_QUINTICS}: {report.summary}', limit_report=report)


def _cause(failed: PreparedPlan) -> str:
    """Return which quantity of a plan is beyond its limit, and by which interpolation."""
    report = failed.limit_report
    if report is None or report.within_limits:
        return failed.refusal
    worst, by = report.violations[0], failed.refusal.split(':', 1)[0]
    return f'{worst.quantity} of {worst.joint} is beyond its limit {by}'


def _smallest_step(report: LimitReport) -> float:
    """Return the least share by which a plan must become slower to be within its limits.

    In a motion f times slower, velocities … jerks and torque rates are at least 1/f³ of their
    values, and motor torques at least 1/f⁴. Only a torque that gravity opposes may fall further:
    then this step is too long, and the bisection that follows finds the smaller stretch.
    """
    return max((
        (1.0 - entry.margin / abs(entry.limit)) ** (1.0 / max(3, QUANTITIES[entry.quantity].order))
        - 1.0 for entry in report.violations if entry.quantity != 'position' and entry.limit),
        default=0.0)
