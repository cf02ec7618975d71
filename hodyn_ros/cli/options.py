"""Options that several commands share, and the check of their outputs."""
from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
import sys
from typing import TYPE_CHECKING, Any, TextIO

from hodyn_ros.common.errors import HodynError
from hodyn_ros.common.output_files import Contents, check_output, write_text

if TYPE_CHECKING:
    from hodyn_ros.estimation.message_counts import MessageCounts

Commands = argparse._SubParsersAction
ResultsFile = Path | TextIO


class Default(str):
    """A default value, of its own type: commands can tell it from a value that the user gave."""


def add_robot(parser: argparse.ArgumentParser, *, actuators: bool = True) -> None:
    """Add the option --robot and the options of `add_used_robot`."""
    parser.add_argument(
        '--robot', default=Default('panda'),
        help='built-in name, or path of a robot file or URDF (default: panda)')
    add_used_robot(parser, actuators=actuators)


def add_used_robot(parser: argparse.ArgumentParser, *, actuators: bool = True) -> None:
    """Add the options that change the robot, see `used_robot`; `actuators` adds --actuators."""
    group = parser.add_argument_group('options of the robot')
    group.add_argument(
        '--lock', nargs='+', action='extend', default=[], metavar='JOINT=VALUE',
        help='joints that do not move and their positions, rad or m, for example those of a '
             'gripper')
    group.add_argument(
        '--inertia-check', choices=('error', 'warn'),
        help='whether inertias that no rigid body has are refused (error, the default) or only '
        'reported (warn)')
    group.add_argument(
        '--limits', type=Path, metavar='YAML',
        help="limits that replace the robot's: MoveIt's joint_limits.yaml, or a file like "
        '`limits: {JOINT: {velocity: 1.0, effort_rate: 500}}`')
    group.add_argument(
        '--payload', nargs='+', action='append', default=[], metavar=('LINK KG', 'X Y Z'),
        help='load on a link: its mass, and its centre of mass in the axes of the link, m '
             '(default: 0 0 0); repeat the option for several loads')
    if actuators:
        group.add_argument(
            '--actuators', type=Path, metavar='YAML',
            help='springs and motors of the joints, for a robot from a URDF: a file with the key '
            '`actuators` of a robot file')


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option --json."""
    parser.add_argument(
        '--json', type=_results_file, metavar='FILE',
        help='write the results as JSON to FILE; with - they go to the standard output, and '
             'everything else to the standard error')


def _results_file(text: str) -> ResultsFile:
    return sys.stdout if text == '-' else Path(text)


def add_force(parser: argparse.ArgumentParser) -> None:
    """Add the option --force."""
    parser.add_argument(
        '--force', action='store_true', help='replace existing files of the same names')


def refuse_dash(options: argparse.Namespace) -> None:
    """Refuse - as the name of an output: it would become a file or a folder called -."""
    for name in ('output', 'controller', 'picture'):
        if getattr(options, name, None) == Path('-'):
            raise HodynError(
                '-: not the name of an output; give the name of a file or a folder. Only --json '
                'takes - for the standard output')


def check_outputs(
    options: argparse.Namespace, *inputs: Path | str, contents: Contents | None = None,
) -> None:
    """Raise an error before the work if results cannot or must not be written.

    The results are the file --output, or, with `contents`, the folder --output; and the files
    --json and --picture. An input is a path, or the name of a built-in robot.
    """
    output = options.output
    inputs = (*inputs, *getattr(options, 'robot_files', ()))
    from hodyn_ros.robot.files import robot_names

    built_in = robot_names()  # these come from the package, even if a file has the same name
    given = [Path(name) for name in inputs if name not in built_in and Path(name).exists()]
    if output is not None:
        check_output(output, contents, inputs=given, force=options.force)
        if contents is not None and output.is_dir() and contents.is_result(output):
            options.earlier = output, output.stat().st_ino
    results = [] if output is None else [output, *(output / name for name in (
        () if contents is None else (*contents.files, *contents.folders)))]
    for name in ('json', 'picture'):
        if not isinstance(file := getattr(options, name, None), Path):
            continue
        if os.path.realpath(file) in map(os.path.realpath, results):
            raise HodynError(f'--{name} {file}: another output goes to the same place')
        if contents is None or output.exists() or file.parent != output:
            check_output(file, inputs=given, force=options.force)
        # Otherwise the file goes to the new output folder, which does not exist yet.
        results.append(file)


def say_what_was_replaced(options: argparse.Namespace) -> None:
    """Print one line if the results have replaced earlier ones."""
    output, earlier = getattr(options, 'earlier', (None, 0))
    if output is not None and output.exists() and output.stat().st_ino != earlier:
        print(f'{output}: replaced the earlier result')


def write_results(
    results: dict[str, Any], file: ResultsFile | None, *, force: bool = False,
) -> None:
    """Write the results for --json, if this was given; numbers that are not finite are null."""
    from hodyn_ros.robot.files.plain_values import plain

    text = json.dumps(plain(results, finite=True), indent=1) + '\n'
    if isinstance(file, Path):
        write_text(file, text, force=force)
    elif file is not None:
        file.write(text)
        file.flush()


def say_what_is_lost(command: str, counts: MessageCounts) -> None:
    """Print one line to the standard error if messages of a bag are lost."""
    if counts.lost:
        print(f'hodyn {command}: {counts.damage}', file=sys.stderr)
