"""``hodyn annotate``."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hodyn_ros.cli.many_files import wants_many
from hodyn_ros.cli.options import Commands, add_force, check_outputs
from hodyn_ros.cli.plan_source import (
    BEYOND_LIMITS,
    WITHIN_LIMITS,
    PlanSource,
    add_plan_options,
    outcome,
)
from hodyn_ros.cli.plans_many import plans_many
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.plans.prepare import StretchMode


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'annotate', help='resample a plan and add the torques that it needs',
        description='Writes the plan for joint_trajectory_controller, which uses the efforts as '
        'feed-forward. A plan beyond limits is not written, nor one whose samples would not pass '
        'the check. Exit codes as for check.')
    add_plan_options(parser)
    parser.add_argument(
        '--output', type=Path, required=True, metavar='FILE',
        help='.yaml, .json or .csv; without an extension a new bag; for many plans a folder')
    parser.add_argument(
        '--period', type=float, default=5e-3,
        help='largest time between points, s (default: 0.005)')
    parser.add_argument(
        '--stretch', choices=('off', 'offer', 'auto', 'retime'), default='offer',
        help='for a plan beyond limits: refuse it, also report the time stretch that fixes it, '
        'or apply this; retime: run the path as fast as the limits allow (default: offer)')
    parser.add_argument(
        '--without-gravity', action='store_true',
        help='leave out gravity, for controllers that add it')
    parser.add_argument(
        '--without-friction', action='store_true',
        help='leave out friction, for controllers that add it')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the plan with its torques, or many."""
    from hodyn_ros.plans.files import annotated_contents

    source = PlanSource.of(options)
    if wants_many(options, options.plans):
        return plans_many(
            options, 'annotate', source.load_robot(), source.settings(
                stretch=options.stretch,
                allow_nonzero_velocity_at_end=options.stretch == 'retime',
                gravity=not options.without_gravity, friction=not options.without_friction),
            period=options.period)
    check_outputs(
        options, source.path, options.robot, contents=annotated_contents(options.output))
    return run_annotate(
        source, options.output, period=options.period, stretch=options.stretch,
        gravity=not options.without_gravity, friction=not options.without_friction,
        force=options.force)


def run_annotate(
    source: PlanSource,
    output: Path,
    *,
    period: float,
    stretch: StretchMode,
    gravity: bool,
    friction: bool,
    force: bool,
) -> int:
    """Write a plan file resampled, with its efforts; nothing if it is beyond limits.

    Parameters
    ----------
    source : PlanSource
        What to resample.
    output : Path
        As for `write_annotated`.
    period : float
        s, at most, between the samples.
    stretch : 'off', 'offer', 'auto' or 'retime'
        What to do when limits are passed, as for `PlanSettings`.
    gravity, friction : bool
        Whether the efforts contain these terms.
    force : bool
        Whether an existing file is replaced.

    Returns
    -------
    int
        0 when written, 1 when beyond limits.

    Raises
    ------
    HodynError, OSError
        On bad input.

    """
    from hodyn_ros.plans.annotated_file import write_annotated_plan

    prepared = write_annotated_plan(
        source.request(
            stretch=stretch, allow_nonzero_velocity_at_end=stretch == 'retime',
            annotate_period=period, gravity=gravity, friction=friction),
        output, force=force)
    if prepared.plan is None:
        raise HodynError(f'{source.path}: {prepared.refusal}')
    if prepared.annotated is None:
        print(outcome(prepared))
        return BEYOND_LIMITS
    slower = '' if prepared.stretch == 1.0 else f', {prepared.stretch} times slower'
    print(f'{output}: {len(prepared.annotated.times)} points, {prepared.plan.duration:.3f} s'
          f'{slower}, {prepared.deviation}')
    if prepared.note:
        print(f'note: {prepared.note}')
    return WITHIN_LIMITS
