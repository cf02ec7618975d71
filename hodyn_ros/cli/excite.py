"""``hodyn excite``."""
from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from hodyn_ros.cli.options import Commands, add_force, add_robot, check_outputs
from hodyn_ros.cli.used_robot import for_robot
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.identification.excitation import Excitation
    from hodyn_ros.robot import Robot

_SLOWER = 1.15  # if the check refuses a motion, the next one takes longer by this factor
_ATTEMPTS = 6  # largest number of motions that are tried


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'excite', help='design a motion that identifies the links',
        description='Designs a Fourier series within all limits with the lowest condition number '
        'of the base regressor, checks it as hodyn check does, and writes it as a plan. Obstacles '
        'and self-collision are not checked: look at the motion before it runs.')
    add_robot(parser)
    parser.add_argument(
        '--output', type=Path, default=Path('excitation.yaml'),
        help='plan to write (default: excitation.yaml)')
    parser.add_argument(
        '--period', type=float, default=20.0, metavar='S',
        help='duration of the motion, s, 2 to 600 (default: 20)')
    parser.add_argument(
        '--harmonics', type=int, default=5, metavar='N',
        help='number of harmonics of the series, 3 to 20 (default: 5)')
    parser.add_argument(
        '--share', type=float, default=0.8, metavar='SHARE',
        help='share of the limits that the motion may use, 0.05 to 0.95 (default: 0.8)')
    parser.add_argument(
        '--seed', type=int, default=0,
        help='seed of the search, 0 or more; another seed gives another motion (default: 0)')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Design an exciting motion and write it as a plan; return the exit code."""
    from hodyn_ros.cli.tables import make_console
    from hodyn_ros.common.output_files import replacing
    from hodyn_ros.identification.excitation import MAX_SHARE, MIN_HARMONICS, UNKNOWN, design
    from hodyn_ros.limits.quantities import QUANTITIES
    from hodyn_ros.plans.files import read_trajectory
    from hodyn_ros.plans.plan_request import PlanRequest, PlanSettings
    from hodyn_ros.plans.prepare import prepare_plan
    from hodyn_ros.robot.files import load_robot

    check_outputs(options, options.robot)
    output = options.output
    for name, value, low, high in (
            ('--period', options.period, 2.0, 600.0),
            ('--harmonics', options.harmonics, MIN_HARMONICS, 20),
            ('--share', options.share, 0.05, MAX_SHARE)):
        if not low <= value <= high:
            raise HodynError(f'{name} {value:g}: expected {low:g} to {high:g}')
    if options.seed < 0:
        raise HodynError(f'--seed {options.seed}: expected 0 or more')
    if output.suffix not in ('.yaml', '.yml'):
        raise HodynError(f'--output {output}: expected a file that ends with .yaml')
    robot = load_robot(options.robot)
    with (
        replacing(output, force=options.force) as file,
        make_console(stderr=True).status('searching for a motion') as status,
    ):
        refused = ''
        for attempt in range(_ATTEMPTS):
            found = design(
                robot, period=options.period * _SLOWER ** attempt,
                harmonics=options.harmonics, share=options.share, seed=options.seed)
            status.update(f'checking a motion of {found.times[-1]:.0f} s')
            file.write_text(_plan(robot, found), 'utf-8')
            prepared = prepare_plan(PlanRequest(read_trajectory(file), robot, PlanSettings()))
            if not prepared.refusal:
                break
            refused = refused or prepared.refusal
            status.update('beyond limits: searching for a slower motion')
        else:
            raise HodynError(
                f'robot {robot.name!r}: none of the {_ATTEMPTS} motions tried is within the '
                f'limits: {prepared.refusal}; try a longer --period or a smaller --share')
    limits = robot.limits
    bounds = {
        'position': (*limits.position_min, *limits.position_max),
        **{name: getattr(limits, name) for name in UNKNOWN if name != 'position'}}
    unknown = [name for name, given in bounds.items() if not all(map(math.isfinite, given))]
    print(f'{output}, {for_robot(options, robot)}: {found.times[-1]:.1f} s within all '
          f'{"known " * bool(unknown)}limits, from rest to rest; condition number '
          f'{found.condition:.0f} of {found.base_parameters} base parameters')
    if refused:
        print(f'! The period of {options.period:g} s could not be kept: the first motion that was '
              f'found is beyond limits: {refused}')
    print('It begins and ends at ' + ', '.join(f'{q:.3f}' for q in found.q[0, 0]))
    if unknown:
        print(f'! Some joints have no limit of {" or ".join(unknown)}; used instead: ' + ', '.join(
            f'{name} {"±" * (name == "position")}{UNKNOWN[name]:g} {QUANTITIES[name].unit} '
            f'({QUANTITIES[name].unit_of_prismatic})' for name in unknown) + (
                ': if a joint has a range, write it into the robot file first'
                if 'position' in unknown else ''))
    return 0


def _plan(robot: Robot, found: Excitation) -> str:
    import yaml

    return '# An exciting motion, by hodyn excite.\n' + yaml.safe_dump({
        'joint_names': list(robot.joint_names),
        'points': [
            {'time_from_start': round(float(time), 6),
             'positions': [round(float(value), 6) for value in q[0]]}
            for time, q in zip(found.times, found.q, strict=True)]},
        sort_keys=False, default_flow_style=None, width=99)
