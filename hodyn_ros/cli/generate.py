"""``hodyn generate``."""
from __future__ import annotations

import argparse
from pathlib import Path

from hodyn_ros.cli.options import Commands, add_force, add_robot, check_outputs


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'generate', help='write C code of the torque for a drive or controller',
        description='Writes C99 of the inverse dynamics of one robot, with its constants folded: '
        'a header, a source, a CMakeLists.txt and a package.xml. It allocates nothing, and needs '
        'only math.h.')
    add_robot(parser, actuators=False)
    parser.add_argument(
        '--output', type=Path, required=True, metavar='DIR', help='folder to write to')
    parser.add_argument(
        '--order', type=int, default=2, metavar='R',
        help='of the highest derivative of the torque, 0 to 4 (default: 2)')
    parser.add_argument(
        '--friction', action='store_true', help='the friction of the joints as well')
    parser.add_argument(
        '--actuators', nargs='?', type=Path, const=True, default=False, metavar='YAML',
        help='the reference of the motors behind the springs as well, of the robot file or of '
        'YAML, a file with its key `actuators`')
    parser.add_argument(
        '--float', action='store_true', dest='single', help='in single precision')
    parser.add_argument(
        '--prefix', default='', metavar='NAME',
        help="prefix of all names in C (default: the robot's name)")
    parser.add_argument(
        '--gravity-argument', action='store_true',
        help='take gravity at run time: for a base that is tilted')
    parser.add_argument(
        '--payload-argument', metavar='LINK',
        help='take the payload of this link at run time: mass, centre of mass, inertia')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write the code."""
    from hodyn_ros.codegen import generate_c, generated_contents
    from hodyn_ros.robot.files import load_robot

    robot = load_robot(options.robot)
    check_outputs(
        options, options.robot, contents=generated_contents(robot, options.prefix))
    made = generate_c(
        robot, options.output, order=options.order, friction=options.friction,
        actuators=bool(options.actuators), single_precision=options.single, prefix=options.prefix,
        gravity_argument=options.gravity_argument, payload_link=options.payload_argument,
        force=options.force)
    print(f'{options.output}: {", ".join(file.name for file in made.files)}')
    for name, count in made.operations.items():
        print(f'{name}: {count} operations')
    return 0
