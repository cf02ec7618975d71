"""``hodyn retime``."""
from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, replace
import os
from pathlib import Path
import sys
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.many_files import wants_many
from hodyn_ros.cli.options import (
    Commands,
    FiguresFile,
    add_force,
    add_json,
    check_outputs,
    write_figures,
)
from hodyn_ros.cli.plan_source import (
    BEYOND_LIMITS,
    WITHIN_LIMITS,
    PlanSource,
    add_plan_options,
    outcome,
)
from hodyn_ros.cli.plans_many import plans_many
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import check_output

if TYPE_CHECKING:
    from hodyn_ros.plans.prepare import PlanRequest, PreparedPlan

MAX_LINES = 12

_PLAN_FIRST = '; put the plan first: hodyn retime PLAN --limits …'


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'retime', conflict_handler='resolve',
        help='run the path of a plan as fast as every limit allows',
        description='Writes the fastest motion along the path of a plan, from rest to rest, '
        'within all limits of the robot: velocity, acceleration, jerk, torque, torque rate, and '
        'those of motors and springs. A plan that starts in motion keeps its curve in time. Exit '
        'codes as for check.')
    add_plan_options(parser)
    parser.add_argument(
        '--output', type=Path, required=True, metavar='FILE',
        help='.yaml, .json or .csv; without an extension a new bag; for many plans a folder')
    parser.add_argument(
        '--period', type=float, default=5e-3,
        help='largest time between points, s (default: 0.005)')
    parser.add_argument(
        '--limits', nargs='+', action=_Limits, metavar='PART|YAML',
        help='part (up to 1) of all limits (0.8), or of some: velocity=0.5 jerk=0.1; also of '
        'acceleration, effort, effort_rate, motor_velocity, motor_effort, deflection; and a file '
        'of limits, as with other commands. Put PLAN before this option')
    parser.add_argument(
        '--stop-at', type=int, nargs='+', default=[], metavar='POINT',
        help='points, from 0, at which the motion stops')
    parser.add_argument(
        '--path-tolerance', type=float, default=1e-3, metavar='RAD',
        help='samples of a motion (20 points or more that jitter or are close together) may be '
        'missed by this much, at most 0.01; waypoints are met (default: 0.001)')
    parser.add_argument(
        '--smooth', type=float, default=0.0, metavar='W',
        help='share of the duration that may be spent to reduce jerk and torque rate: 0 is the '
             'fastest (default), 1 gentle')
    parser.add_argument(
        '--without-gravity', action='store_true',
        help='leave out gravity, for controllers that add it')
    parser.add_argument(
        '--without-friction', action='store_true',
        help='leave out friction, for controllers that add it')
    parser.add_argument(
        '--picture', type=Path, metavar='IMAGE', help='draw which limit binds when to IMAGE')
    add_json(parser)
    add_force(parser)
    parser.set_defaults(run=run, limits=None, parts=[])


class _Limits(argparse.Action):
    """Tells the parts of the limits from the file of limits that other commands take."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take the words after --limits."""
        files = [text for text in values if text.endswith(('.yaml', '.yml'))]
        if len(files) + (namespace.limits is not None) > 1:
            parser.error(
                f'{option_string}: one file of limits only, got {", ".join(files)}{_PLAN_FIRST}')
        namespace.limits = Path(files[0]) if files else namespace.limits
        namespace.parts = [*namespace.parts, *(text for text in values if text not in files)]


def run(options: argparse.Namespace) -> int:
    """Write the retimed plan, or many."""
    from hodyn_ros.plans.files import annotated_contents
    from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits

    source = PlanSource.of(options)
    if wants_many(options, options.plans):
        robot = with_scaled_limits(source.load_robot(), parts(options.parts or ['1']))
        return plans_many(
            options, 'retime', robot, source.settings(
                stretch='retime', allow_nonzero_velocity_at_end=True,
                gravity=not options.without_gravity,
                friction=not options.without_friction, stop_at=tuple(options.stop_at),
                path_tolerance=options.path_tolerance, smoothness=options.smooth),
            period=options.period)
    check_outputs(
        options, source.path, options.robot, contents=annotated_contents(options.output))
    _check_picture(options)
    return run_retime(
        source, options.output, period=options.period,
        limits=parts(options.parts or ['1']), stop_at=tuple(options.stop_at),
        path_tolerance=options.path_tolerance, smoothness=options.smooth,
        gravity=not options.without_gravity,
        friction=not options.without_friction, picture=options.picture, json_file=options.json,
        force=options.force)


def parts(texts: list[str]) -> float | dict[str, float]:
    """Return the shares given by --limits: one number for all, or one by quantity."""
    numbers = [_number_of(text) for text in texts]
    found: dict[str, float] = {}
    for text, number in zip(texts, numbers, strict=True):
        quantity, is_named, _ = text.rpartition('=')
        if not is_named and len(texts) == 1:
            return number
        if not is_named or quantity in found:
            raise HodynError(
                f'--limits {text}: give one number for all limits, or QUANTITY=NUMBER once for '
                'each quantity')
        found[quantity] = number
    return found


def _number_of(text: str) -> float:
    try:
        return float(text.rpartition('=')[2])
    except ValueError:
        raise HodynError(
            f'--limits {text}: expected a number, or QUANTITY=NUMBER{_PLAN_FIRST}') from None


def run_retime(
    source: PlanSource,
    output: Path,
    *,
    period: float,
    limits: float | Mapping[str, float],
    stop_at: tuple[int, ...],
    path_tolerance: float,
    smoothness: float,
    gravity: bool,
    friction: bool,
    picture: Path | None,
    json_file: FiguresFile | None,
    force: bool,
) -> int:
    """Write the fastest motion along the path of a plan file, with its efforts.

    Parameters
    ----------
    source : PlanSource
        What to retime.
    output : Path
        As for `write_annotated`.
    period : float
        s, at most, between the samples.
    limits, stop_at, path_tolerance, smoothness
        As for `plans.retiming.retime`.
    gravity, friction : bool
        Whether the efforts contain these terms.
    picture, json_file : Path or None
        For the picture of the margins, and for the figures.
    force : bool
        Whether existing files are replaced.

    Returns
    -------
    int
        0 when written, 1 when no timing is within the limits.

    Raises
    ------
    HodynError, OSError
        On bad input.

    """
    from hodyn_ros.feedforward import FeedForward
    from hodyn_ros.plans.annotated_file import write_annotated_plan
    from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits

    request = source.request(
        stretch='retime', allow_nonzero_velocity_at_end=True, annotate_period=period,
        gravity=gravity, friction=friction,
        stop_at=stop_at, path_tolerance=path_tolerance, smoothness=smoothness)
    request = replace(request, robot=with_scaled_limits(request.robot, limits))
    with _Progress() as progress:
        prepared = write_annotated_plan(request, output, force=force, progress=progress.show)
    plan, retimed = prepared.plan, prepared.retimed
    if plan is None or retimed is None:
        raise HodynError(f'{source.path}: {prepared.refusal}')
    if prepared.annotated is None:
        print(outcome(prepared))
        return BEYOND_LIMITS
    uniform = retimed.uniform_stretch_duration
    before = _in_motion(prepared, request) if uniform is None else (
        f'{uniform:.3f} s if slowed evenly')
    print(
        f'{output}: {len(prepared.annotated.times)} points, {plan.duration:.3f} s, '
        f'{prepared.deviation}; {before}; found in {retimed.seconds:.1f} s')
    for line in _what_binds(prepared):
        print(line)
    for line in _what_has_no_limit(prepared):
        print(line)
    if prepared.note:
        print(f'note: {prepared.note}')
    if picture is not None:
        from hodyn_ros.plans.retiming.picture import draw_margins

        draw_margins(plan, FeedForward(request.robot), picture, force=force)
        print(f'margins: {picture}')
    write_figures(_figures(prepared), json_file, force=force)
    return WITHIN_LIMITS


def _in_motion(prepared: PreparedPlan, request: PlanRequest) -> str:
    """Return a sentence about a plan that no uniform stretch brings within the limits."""
    import numpy as np

    times = request.trajectory.times
    assert prepared.plan is not None
    if not np.abs(prepared.plan.evaluate(0.0)[1]).any():
        return 'no even slowing brings the plan within the limits'
    if prepared.plan.duration < times[-1] - times[0]:
        return 'it begins in motion as its points do'
    return (
        'it begins in motion as its points do, and no faster one was found from there: let the '
        'first point be at rest')


def _check_picture(options: argparse.Namespace) -> None:
    if options.picture is None:
        return
    from hodyn_ros.plans.curves import image_format

    image_format(options.picture)
    others = [path for path in (options.output, options.json) if isinstance(path, Path)]
    if os.path.realpath(options.picture) in map(os.path.realpath, others):
        raise HodynError(f'--picture {options.picture}: another output goes to the same place')
    given = (options.plans[0], options.robot, *getattr(options, 'robot_files', ()))
    inputs = [Path(name) for name in given if Path(name).exists()]
    check_output(options.picture, inputs=inputs, force=options.force)


def _what_binds(prepared: PreparedPlan) -> list[str]:
    """Return for each limit that binds how long it does, the longest first."""
    assert prepared.retimed is not None
    total: dict[str, float] = {}
    for binding in prepared.retimed.binding:
        key = f'{binding.joint} {binding.quantity}'
        total[key] = total.get(key, 0.0) + binding.end - binding.begin
    # What is equal as printed, on the way there and back say, stays in its order in time.
    longest = sorted(total, key=lambda key: -round(total[key], 3))[:MAX_LINES]
    return [f'  within 5 % of the limit for {total[key]:.3f} s: {key}' for key in longest]


def _what_has_no_limit(prepared: PreparedPlan) -> list[str]:
    from hodyn_ros.limits.quantities import MOTOR_QUANTITIES

    if prepared.limit_report is None:
        return []
    unknown = prepared.limit_report.unknown_quantities
    motors = [quantity for quantity in unknown if quantity.startswith(MOTOR_QUANTITIES)]
    others = [quantity for quantity in unknown if quantity not in motors]
    return [
        f'! no limit is known of {", ".join(those)}: these are as large as the others let them '
        f'be; {way}' for those, way in (
            (others, '--limits FILE gives limits'),
            (motors, 'max_velocity and max_effort of a motor, and max_deflection, in `actuators` '
             'are limits')) if those]


def _figures(prepared: PreparedPlan) -> dict[str, Any]:
    retimed, plan = prepared.retimed, prepared.plan
    assert retimed is not None
    assert plan is not None
    return {
        'duration': plan.duration,
        'uniform_stretch_duration': retimed.uniform_stretch_duration,
        'seconds': retimed.seconds,
        'path_deviation': retimed.path_deviation,
        'binding': [asdict(binding) for binding in retimed.binding],
        'notes': list(retimed.notes),
    }


class _Progress:
    """One line on a terminal, overwritten as the search goes on, and gone when it ends."""

    def __init__(self) -> None:
        self._is_shown = sys.stderr.isatty()
        self._width = 0

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._width:
            print('\r' + self._width * ' ' + '\r', end='', file=sys.stderr, flush=True)

    def show(self, text: str) -> None:
        """Show a line in place of the one before."""
        if self._is_shown:
            line = f'retiming: {text}'.ljust(self._width)
            self._width = len(line)
            print('\r' + line, end='', file=sys.stderr, flush=True)
