"""The command ``hodyn generate``."""
from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from hodyn_ros.cli.options import Commands, add_force, add_robot, check_outputs
from hodyn_ros.cli.used_robot import for_robot
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from hodyn_ros.codegen import GeneratedCode
    from hodyn_ros.robot import Robot

_ORDER = 2


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'generate', help='write C code of the torque for a drive or controller',
        description='Writes C99 of the inverse dynamics of one robot, with its constants folded: '
        'a header, a source, a CMakeLists.txt and a package.xml. The code allocates no memory and '
        'needs only math.h. For a floating base, it also takes the pose and twist of the base, '
        'and returns the wrench on it.')
    add_robot(parser, actuators=False)
    kind = parser.add_mutually_exclusive_group(required=True)
    kind.add_argument(
        '--output', type=Path, metavar='DIR', help='folder to write C to')
    kind.add_argument(
        '--ros2-control', type=Path, dest='controller', metavar='DIR',
        help='folder to write a package of ros2_control to: a controller in C++ around this C, '
        'with friction and motors if the robot has them')
    parser.add_argument(
        '--order', type=int, default=_ORDER, metavar='R',
        help='order of the highest derivative of the torque, 0 to 4 (default: 2)')
    parser.add_argument(
        '--friction', action='store_true', help='also write the friction of the joints')
    parser.add_argument(
        '--actuators', nargs='?', type=Path, const=True, default=False, metavar='YAML',
        help='also write the reference of the motors behind the springs; the actuators are those '
        'of the robot file, or of YAML, a file with the key `actuators`')
    parser.add_argument(
        '--float', action='store_true', dest='single', help='write single precision')
    parser.add_argument(
        '--prefix', default='', metavar='NAME',
        help="prefix of all names in C (default: the robot's name)")
    parser.add_argument(
        '--gravity-argument', action='store_true',
        help='take gravity at run time: for a fixed base that is tilted')
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
    if options.controller is not None:
        return _write_controller(options, robot)
    check_outputs(
        options, options.robot, contents=generated_contents(robot, options.prefix))
    made = generate_c(
        robot, options.output, order=options.order, friction=options.friction,
        actuators=bool(options.actuators), single_precision=options.single, prefix=options.prefix,
        gravity_argument=options.gravity_argument, payload_link=options.payload_argument,
        force=options.force)
    print(f'{options.output}, {for_robot(options, robot)}: '
          + ', '.join(file.name for file in made.files))
    if made.left_out:
        print(f'not in this code: {", ".join(made.left_out)}')
    _print_operations(made)
    return 0


def _write_controller(options: argparse.Namespace, robot: Robot) -> int:
    """Write the package of ros2_control."""
    from hodyn_ros.codegen.ros2_control import controller_contents, generate_ros2_control

    chosen = [option for option, there in (
        ('--order', options.order != _ORDER), ('--friction', options.friction),
        ('--float', options.single),
        ('--gravity-argument', options.gravity_argument),
        ('--payload-argument', options.payload_argument is not None)) if there]
    if chosen:
        raise HodynError(
            f'{", ".join(chosen)}: the controller of --ros2-control has order 2 and double '
            'precision, and no payload argument; friction and gravity are its parameters')
    options.output = options.controller
    check_outputs(options, options.robot, contents=controller_contents(robot, options.prefix))
    made = generate_ros2_control(
        robot, options.controller, prefix=options.prefix, force=options.force)
    print(f'{options.controller}, {for_robot(options, robot)}: a package of ros2_control, '
          f'{len(made.files)} files')
    _print_operations(made)
    print(f'put {options.controller} into a workspace, build it, and see its README.md')
    return 0


def _print_operations(made: GeneratedCode) -> None:
    for name, count in made.operations.items():
        print(f'{name}: {count} operations')
