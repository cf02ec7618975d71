"""``hodyn convert``."""
from __future__ import annotations

import argparse
from pathlib import Path

from hodyn_ros.cli.options import Commands, add_force, add_used_robot, check_outputs


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'convert', help='write a robot as one YAML file, or as URDF',
        description='Reads a robot, with all that the options below add to it, and writes it as '
        'one file, for example a URDF and the springs and motors of its joints as YAML.')
    parser.add_argument('robot', help='built-in name, or path of a robot file, URDF or MJCF')
    add_used_robot(parser)
    parser.add_argument(
        '--output', type=Path, required=True, metavar='FILE',
        help='.yaml, with all that is known of the robot, or .urdf')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the robot."""
    from hodyn_ros.robot.files import load_robot, save_robot

    check_outputs(options, options.robot)
    robot = load_robot(options.robot)
    save_robot(robot, options.output, force=options.force)
    has = ', '.join(name for name in ('friction', 'actuators') if getattr(robot, name) is not None)
    is_all = options.output.suffix != '.urdf'  # of what a URDF leaves out, `save_robot` warns
    print(f'{options.output}: {robot.name}, {robot.n} joints' + (
        f', with {has}' if has and is_all else ''))
    return 0
