"""``hodyn convert``."""
from __future__ import annotations

import argparse
from pathlib import Path
import sys

from hodyn_ros.cli.options import Commands, add_force, add_used_robot, check_outputs
from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'convert', help='write a robot as one YAML file, or as URDF; or a log in CSV as a bag',
        description='Reads a robot, changes it by the options below, for example adds springs and '
        'motors to a URDF, and writes it as one file. Or reads a log in CSV '
        '(columns: time in s; NAME, NAME.velocity and NAME.effort for each joint) and writes it '
        'as a bag for hodyn replay and hodyn identify.')
    parser.add_argument(
        'robot', metavar='ROBOT|LOG',
        help='built-in name, or path of a robot file, URDF or MJCF; or path of a log, .csv')
    add_used_robot(parser)
    parser.add_argument(
        '--output', type=Path, required=True, metavar='FILE',
        help='.yaml, with all properties of the robot, or .urdf; for a log, a new bag')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the robot or the bag; return the exit code."""
    if Path(options.robot).suffix.lower() == '.csv':
        return _convert_log(options)
    from hodyn_ros.robot.files import load_robot, save_robot

    check_outputs(options, options.robot)
    robot = load_robot(options.robot)
    save_robot(robot, options.output, force=options.force)
    has = ', '.join(name for name in ('friction', 'actuators') if getattr(robot, name) is not None)
    is_all = options.output.suffix != '.urdf'  # `save_robot` warns of what a URDF leaves out
    print(f'{options.output}: {robot.name}, {robot.n} joints' + (
        f', with {has}' if has and is_all else ''))
    return 0


def _convert_log(options: argparse.Namespace) -> int:
    from hodyn_ros.estimation.csv_log import write_log

    log, bag = Path(options.robot), options.output
    if bag.suffix:
        raise HodynError(f'--output {bag}: a log becomes a bag, a folder without an ending')
    check_outputs(options, log, contents=Contents.of_bag(bag.resolve().name))
    written = write_log(log, bag, force=options.force)
    print(f'{bag}: {written.count} joint states of {", ".join(written.names)}, '
          f'{written.duration:.3f} s, with {", ".join(written.kinds)}')
    for fault in written.faults:
        print(f'hodyn convert: {log}: {fault}', file=sys.stderr)
    return 0
