"""``hodyn annotate``."""
from __future__ import annotations

import argparse

from hodyn_ros.cli.many_files import wants_many
from hodyn_ros.cli.options import Commands, add_force, check_outputs
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


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'annotate', help='resample a plan and add the torques that it needs',
        description='Writes the plan for joint_trajectory_controller, which uses the efforts as '
        'feed-forward. A plan is not written if it is beyond limits or its samples do not pass '
        'the check. Exit codes as for check.')
    add_plan_options(parser)
    add_written_plan_options(parser)
    parser.add_argument(
        '--stretch', choices=('off', 'offer', 'auto', 'retime'), default='offer',
        help='for a plan beyond limits: off refuses it, offer also reports the time stretch that '
        'fixes it, auto applies this; retime gives the path of any plan a timing that is as fast '
        'as the limits allow (default: offer)')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write one plan or many with their torques; return the exit code."""
    from hodyn_ros.plans.files import annotated_contents
    from hodyn_ros.robot.files import load_robot

    settings = plan_settings(
        options, stretch=options.stretch,
        allow_nonzero_velocity_at_end=options.stretch == 'retime')
    robot = load_robot(options.robot)
    if wants_many(options, options.plans):
        return plans_many(options, 'annotate', robot, settings)
    check_outputs(
        options, options.plans[0], options.robot, contents=annotated_contents(options.output))
    request = plan_request(options, robot, settings)
    prepared = written_plan(options, request)
    if prepared.annotated is None:
        print_note(prepared)
        is_offered = options.stretch == 'offer' and (prepared.stretch or 1.0) > 1.0
        way_out = ' (--stretch auto makes it so)' if is_offered else ''
        print(f'{options.plans[0]}, {for_robot(options, robot)}: {outcome(prepared)}{way_out}')
        return BEYOND_LIMITS
    print_written(options, request, prepared)
    print_note(prepared)
    return WITHIN_LIMITS
