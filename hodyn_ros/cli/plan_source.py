"""Code that ``hodyn check``, ``annotate`` and ``retime`` share: options, requests, results."""
from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.many_files import add_many_options
from hodyn_ros.cli.options import add_robot
from hodyn_ros.cli.used_robot import for_robot
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
    from hodyn_ros.plans.prepared_plan import PreparedPlan
    from hodyn_ros.robot import Robot

WITHIN_LIMITS, BEYOND_LIMITS = 0, 1
"""Exit codes."""


def add_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add the plan and the options for reading it."""
    parser.add_argument(
        'plans', nargs='+', type=Path, metavar='PLAN',
        help='bag with a JointTrajectory, or .yaml, .json, .csv (see docs/references.md, '
        '"References" on the site); or several of these, folders of plans, or a pattern')
    add_robot(parser)
    parser.add_argument('--topic', help='trajectory topic, if the bag has several')
    parser.add_argument(
        '--number', type=int, metavar='N',
        help='number of the trajectory on the topic, from 1, if there are several')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='prefix of the joint names in the plan')
    parser.add_argument(
        '--interpolation', choices=('auto', 'global', 'bounded', 'local'), default='auto',
        help='interpolation between the points (default: auto)')
    parser.add_argument(
        '--sample-tolerance', type=float, default=0.0, metavar='RAD',
        help='distance by which the plan may miss samples that are at most 20 ms apart, to smooth '
        'their jitter; at most 0.01 (default: 0)')
    parser.add_argument(
        '--commands', choices=('effort', 'position'), default='effort',
        help='kind of commands that the arm receives; its reflexes depend on it (default: effort)')
    add_many_options(parser)


def add_written_plan_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for writing a plan."""
    parser.add_argument(
        '--output', type=Path, required=True, metavar='FILE',
        help='.yaml, .json or .csv; a new bag without an extension; a folder for many plans')
    parser.add_argument(
        '--period', type=float, default=5e-3,
        help='largest time between points, s (default: 0.005)')
    parser.add_argument(
        '--without-gravity', action='store_true',
        help='leave out gravity, for controllers that add it')
    parser.add_argument(
        '--without-friction', action='store_true',
        help='leave out friction, for controllers that add it')


def plan_settings(options: argparse.Namespace, **settings: Any) -> PlanSettings:
    """Return the settings of plans from the options above and from further `settings`."""
    from hodyn_ros.plans.plan_request import PlanSettings

    for term in ('gravity', 'friction'):
        if hasattr(options, f'without_{term}'):
            settings[term] = not getattr(options, f'without_{term}')
    return PlanSettings(
        joint_prefix=options.joint_prefix, interpolation=options.interpolation,
        sample_tolerance=options.sample_tolerance, commands=options.commands,
        leave_out_other_joints=True, **settings)


def plan_request(
    options: argparse.Namespace, robot: Robot, settings: PlanSettings,
) -> PlanRequest:
    """Return the request to prepare the only plan in the options."""
    from hodyn_ros.plans.files import read_trajectory
    from hodyn_ros.plans.plan_request import PlanRequest

    return PlanRequest(
        read_trajectory(options.plans[0], topic=options.topic, index=options.number), robot,
        settings, annotate_period=getattr(options, 'period', None))


def written_plan(
    options: argparse.Namespace, request: PlanRequest,
    progress: Callable[[str], None] | None = None,
) -> PreparedPlan:
    """Write a plan with its torques unless it is beyond limits; HodynError if no plan results."""
    from hodyn_ros.plans.annotated_file import write_annotated_plan

    prepared = write_annotated_plan(
        request, options.output, force=options.force, progress=progress)
    if prepared.plan is None:
        raise HodynError(
            f'{options.plans[0]}, {for_robot(options, request.robot)}: {prepared.refusal}')
    return prepared


def print_written(
    options: argparse.Namespace, request: PlanRequest, prepared: PreparedPlan, *parts: str,
) -> None:
    """Print the file and the robot of a written plan, and its properties."""
    assert prepared.plan is not None
    assert prepared.annotated is not None
    is_as_planned = prepared.stretch == 1.0 or prepared.retimed is not None
    slower = '' if is_as_planned else f', {prepared.stretch} times slower'
    print('; '.join([
        f'{options.output}, {for_robot(options, request.robot)}: '
        f'{len(prepared.annotated.times)} points, {prepared.plan.duration:.3f} s{slower}, '
        f'{prepared.deviation}', *parts]))


def print_note(prepared: PreparedPlan) -> None:
    """Print the remarks on a plan, if there are any."""
    if prepared.note:
        print(f'note: {prepared.note}')


def outcome(prepared: PreparedPlan) -> str:
    """Return the last line of the output: whether the plan is within limits, or the refusal."""
    if prepared.refusal:
        report = prepared.limit_report
        kept = report is not None and report.within_limits
        return f'{"refused" if kept else "beyond limits"}: {prepared.refusal}'
    report, but = prepared.limit_report, prepared.reservations
    if report is not None and not report.knows_limits:
        return f'within all limits (none is known){but}'
    unknown = [] if report is None else report.unknown_quantities
    if unknown:
        return f'within all known limits; no limit is known for {", ".join(unknown)}{but}'
    return f'within all limits{but}'
