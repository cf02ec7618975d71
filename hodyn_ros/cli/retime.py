"""``hodyn retime``."""
from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.many_files import wants_many
from hodyn_ros.cli.options import Commands, add_force, add_json, check_outputs, write_results
from hodyn_ros.cli.plan_source import (
    BEYOND_LIMITS,
    WITHIN_LIMITS,
    add_plan_options,
    add_written_plan_options,
    outcome,
    plan_request,
    plan_settings,
    print_note,
    print_written,
    written_plan,
)
from hodyn_ros.cli.plans_many import plans_many
from hodyn_ros.cli.used_robot import for_robot
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.plans.plan_request import PlanRequest
    from hodyn_ros.plans.prepared_plan import PreparedPlan

MAX_LINES = 12

_KEYS = {
    'motor_velocity': 'max_velocity of the motors', 'motor_effort': 'max_effort of the motors',
    'deflection': 'max_deflection of the springs'}
"""Keys of the limits of motors and springs, by quantity."""
_EVENLY = 'with the timing of the plan, stretched evenly'
_PLAN_FIRST = '; put the plan first: hodyn retime PLAN --limits …'


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'retime', conflict_handler='resolve',
        help='run the path of a plan as fast as all limits allow',
        description='Writes the fastest motion along the path of a plan, from rest to rest, '
        'within all limits of the robot: velocity, acceleration, jerk, torque, torque rate, and '
        'those of motors and springs. If a plan starts in motion, its fitted curve is the path. '
        'Exit codes as for check.')
    add_plan_options(parser)
    add_written_plan_options(parser)
    parser.add_argument(
        '--limits', nargs='+', action=_Limits, metavar='PART|YAML',
        help='largest share to use, up to 1, of all limits (0.8) or of some (velocity=0.5 '
        'jerk=0.1; also acceleration, effort, effort_rate, motor_velocity, motor_effort, '
        'deflection); or a file of limits, as for other commands; or both. Put PLAN before this '
        'option')
    parser.add_argument(
        '--stop-at', type=int, nargs='+', default=[], metavar='POINT',
        help='points, from 0, at which the motion stops')
    parser.add_argument(
        '--path-tolerance', type=float, default=1e-3, metavar='RAD',
        help='distance by which samples of a motion (20 or more points that jitter or are close '
        'together) may be missed, at most 0.01; waypoints are met (default: 0.001)')
    parser.add_argument(
        '--smooth', type=float, default=0.0, metavar='W',
        help='price of jerk, torque rate and motor speed: duration × (1 + W × largest share of '
             'their limits) is minimised; 0 is the fastest (default), 1 gentle')
    parser.add_argument(
        '--picture', type=Path, metavar='IMAGE',
        help='draw to IMAGE which limits bind, and when')
    add_json(parser)
    add_force(parser)
    parser.set_defaults(run=run, limits=None, parts=[])


class _Limits(argparse.Action):
    """Separates the shares of limits from the file of limits."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any,
        option_string: str | None = None,
    ) -> None:
        """Take the words after --limits."""
        files = [text for text in values if text.endswith(('.yaml', '.yml'))]
        if len(files) + (namespace.limits is not None) > 1:
            parser.error(
                f'{option_string}: expected one file of limits, got {", ".join(files)}'
                f'{_PLAN_FIRST}')
        namespace.limits = Path(files[0]) if files else namespace.limits
        namespace.parts = [*namespace.parts, *(text for text in values if text not in files)]


def run(options: argparse.Namespace) -> int:
    """Write one retimed plan or many; return the exit code."""
    from hodyn_ros.cli.tables import make_console
    from hodyn_ros.plans.files import annotated_contents
    from hodyn_ros.plans.retiming.scaled_limits import with_scaled_limits
    from hodyn_ros.robot.files import load_robot

    settings = plan_settings(
        options, stretch='retime', allow_nonzero_velocity_at_end=True,
        stop_at=tuple(options.stop_at), path_tolerance=options.path_tolerance,
        smoothness=options.smooth)
    robot = with_scaled_limits(load_robot(options.robot), parts(options.parts or ['1']))
    if wants_many(options, options.plans):
        return plans_many(options, 'retime', robot, settings)
    if options.picture is not None:
        from hodyn_ros.plans.curves import image_format

        image_format(options.picture)
    check_outputs(
        options, options.plans[0], options.robot, contents=annotated_contents(options.output))
    request = plan_request(options, robot, settings)
    with make_console(stderr=True).status('retiming') as status:
        prepared = written_plan(
            options, request, lambda text: status.update(f'retiming: {text}'))
    plan, retimed = prepared.plan, prepared.retimed
    if plan is None or retimed is None:
        raise HodynError(f'{options.plans[0]}, {for_robot(options, robot)}: {prepared.refusal}')
    if prepared.annotated is None:
        print_note(prepared)
        print(f'{options.plans[0]}, {for_robot(options, robot)}: {outcome(prepared)}')
        return BEYOND_LIMITS
    uniform = retimed.uniform_stretch_duration
    before = (
        _in_motion(prepared, request) if uniform is None
        else f'as fast {_EVENLY}' if plan.duration > uniform else f'{uniform:.3f} s {_EVENLY}')
    print_written(options, request, prepared, before, f'found in {retimed.seconds:.1f} s')
    for line in (*_what_binds(prepared), *_what_has_no_limit(prepared)):
        print(line)
    print_note(prepared)
    if options.picture is not None:
        from hodyn_ros.feedforward import FeedForward
        from hodyn_ros.plans.retiming.picture import draw_margins

        draw_margins(
            plan, FeedForward(robot), options.picture, request.settings.commands,
            force=options.force)
        print(f'margins: {options.picture}')
    write_results(_results(prepared), options.json, force=options.force)
    return WITHIN_LIMITS


def parts(texts: list[str]) -> float | dict[str, float]:
    """Return the shares given by --limits: one number for all limits, or one per quantity."""
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
        share = float(text.rpartition('=')[2])
    except ValueError:
        raise HodynError(
            f'--limits {text}: expected a number, or QUANTITY=NUMBER{_PLAN_FIRST}') from None
    if not 0.0 < share <= 1.0:
        raise HodynError(
            f'--limits {text}: expected a share above 0 and at most 1, for example 0.8')
    return share


def _in_motion(prepared: PreparedPlan, request: PlanRequest) -> str:
    """Return why no uniform stretch brings a plan within the limits, to be printed."""
    import numpy as np

    times = request.trajectory.times
    assert prepared.plan is not None
    if not np.abs(prepared.plan.evaluate(0.0)[1]).any():
        return 'no even slowing brings the plan within the limits'
    if prepared.plan.duration < times[-1] - times[0]:
        return 'it begins in motion, as its points do'
    return (
        'it begins in motion, as its points do, and no faster motion was found from there: let '
        'the first point be at rest')


def _what_binds(prepared: PreparedPlan) -> list[str]:
    """Return a line for each limit that binds, with its time, the longest first."""
    assert prepared.retimed is not None
    total: dict[str, float] = {}
    for binding in prepared.retimed.binding:
        key = f'{binding.joint} {binding.quantity}'
        total[key] = total.get(key, 0.0) + binding.end - binding.begin
    # Limits with equal printed times, as on the way there and back, stay in order of time.
    longest = sorted(total, key=lambda key: -round(total[key], 3))[:MAX_LINES]
    return [f'  within 5 % of the limit for {total[key]:.3f} s: {key}' for key in longest]


def _what_has_no_limit(prepared: PreparedPlan) -> list[str]:
    if prepared.limit_report is None:
        return []
    unknown = prepared.limit_report.unknown_quantities
    keys = {of: key for of, key in _KEYS.items() if any(name.startswith(of) for name in unknown)}
    motors = [name for name in unknown if name.startswith(tuple(keys))]
    others = [name for name in unknown if name not in motors]
    return [
        f'! no limit is known for {", ".join(those)}: only other limits bound the motion; {way}'
        for those, way in (
            (others, 'give limits by --limits FILE'),
            (motors, f'write {" and ".join(keys.values())} in the section `actuators` of the '
             'robot file (or of --actuators)')) if those]


def _results(prepared: PreparedPlan) -> dict[str, Any]:
    retimed, plan = prepared.retimed, prepared.plan
    assert retimed is not None
    assert plan is not None
    return {
        'duration': plan.duration,
        'uniform_stretch_duration': retimed.uniform_stretch_duration,
        'seconds': retimed.seconds,
        'path_deviation': retimed.path_deviation,
        'binding': [asdict(binding) for binding in retimed.binding],
        'notes': retimed.notes,
    }
