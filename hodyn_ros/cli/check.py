"""``hodyn check``."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.many_files import wants_many
from hodyn_ros.cli.options import Commands, add_force, add_json, check_outputs, write_results
from hodyn_ros.cli.plan_source import (
    BEYOND_LIMITS,
    WITHIN_LIMITS,
    add_plan_options,
    outcome,
    plan_request,
    plan_settings,
    print_note,
)
from hodyn_ros.cli.plans_many import plans_many
from hodyn_ros.cli.used_robot import for_robot
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.limits.margins import LimitMargin
    from hodyn_ros.plans.limit_check import LimitReport


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'check', help='check a plan against the limits of the robot before it runs',
        description='Fits the plan as the node would and prints the worst position, velocity, '
        'acceleration, jerk, torque and torque rate of each joint. Exit code: 0 within limits, 1 '
        'beyond (with the time stretch that fixes it) or refused by the node, 2 bad input.')
    add_plan_options(parser)
    parser.add_argument(
        '--output', type=Path, metavar='IMAGE',
        help='draw the curves to IMAGE; for many plans, the folder of the summary (default: '
        'hodyn_check)')
    parser.add_argument(
        '--brief', action='store_true', help='print only whether the plan is within limits')
    add_json(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Check one plan or many; return the exit code."""
    from hodyn_ros.feedforward import FeedForward
    from hodyn_ros.plans.prepare import prepare_plan
    from hodyn_ros.robot.files import load_robot

    robot, settings = load_robot(options.robot), plan_settings(options)
    if wants_many(options, options.plans):
        return plans_many(options, 'check', robot, settings)
    file = options.plans[0]
    check_outputs(options, file, options.robot)
    if options.output is not None:
        from hodyn_ros.plans.curves import draw_curves, image_format

        image_format(options.output)
    request = plan_request(options, robot, settings)
    prepared = prepare_plan(request)
    plan, limit_report = prepared.plan, prepared.limit_report
    refusal = prepared.refusal or prepared.too_long
    heading = f'{file}, {for_robot(options, robot)}'
    if plan is None or limit_report is None:
        raise HodynError(f'{heading}: {prepared.refusal}')
    if not options.brief:
        print(f'{heading}: {len(request.trajectory.times)} points, {plan.duration:.3f} s, '
              f'{plan.interpolation} interpolation, {prepared.deviation}')
        _print_worst(limit_report)
        print_note(prepared)
        if prepared.reflexes and not prepared.reflexes[0].trips:
            nearest = prepared.reflexes[0]
            print(
                f'nearest reflex: {nearest.reflex}, {100 * nearest.share:.0f} % of its limit '
                f'({nearest.joint} at {nearest.time:.4g} s)')
    print(f'{heading}: {outcome(prepared)}' if options.brief else outcome(prepared))
    if options.output is not None:
        draw_curves(plan, FeedForward(robot), options.output, force=options.force)
        print(f'curves: {options.output}')
    write_results({
        'robot': robot.name,
        'within_limits': limit_report.within_limits,
        'refusal': refusal,
        'stretch': prepared.stretch,
        'duration': plan.duration,
        'interpolation': plan.interpolation,
        'unchecked': prepared.unchecked,
        'overshoot': prepared.overshoot,
        'deviation': prepared.deviation and prepared.deviation.value,
        'worst': [
            {key: getattr(entry, key) for key in (
                'joint', 'quantity', 'unit', 'time', 'value', 'lower', 'upper', 'exceeded')}
            for entry in limit_report.worst],
        'reflexes': [_reflex(peak) for peak in prepared.reflexes],
    }, options.json, force=options.force)
    return BEYOND_LIMITS if refusal else WITHIN_LIMITS


def _print_worst(limit_report: LimitReport) -> None:
    from hodyn_ros.cli.tables import make_console, make_table
    from hodyn_ros.limits.margins import both

    table = make_table(
        'joint', 'quantity', 'worst', 'limit', 'unit', 'margin', 'time (s)',
        left=('quantity', 'unit'))
    previous = ''
    for entry in limit_report.worst:
        if previous not in ('', entry.joint):
            table.add_section()
        known = entry.is_known
        value, limit = both(entry.value, entry.limit, 4) if entry.exceeded else (
            f'{entry.value:.4g}', f'{entry.limit:.4g}')
        table.add_row(
            '' if entry.joint == previous else entry.joint, entry.quantity,
            value, limit if known else 'none' if entry.is_needless else 'unknown', entry.unit,
            f'{entry.margin:.3g}' if known else '', f'{entry.time:.3f}',
            style='bold red' if entry.exceeded else None)
        previous = entry.joint
    make_console().print(table)


def _reflex(peak: LimitMargin) -> dict[str, Any]:
    return {
        'name': peak.reflex, 'commands': peak.commands, 'joint': peak.joint,
        'quantity': peak.quantity, 'unit': peak.unit, 'time': peak.time,
        'value': abs(peak.value), 'limit': abs(peak.limit), 'tripped_at': peak.tripped_at,
        'tripped_by': peak.tripped_by, 'trips': peak.trips}
