"""``hodyn identify``."""
from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from rich.console import Console
from rich.table import Table

from hodyn_ros.cli.options import (
    Commands,
    add_force,
    add_robot,
    check_outputs,
    say_what_is_lost,
)
from hodyn_ros.common.output_files import Contents, replacing
from hodyn_ros.robot import HodynError

if TYPE_CHECKING:
    from hodyn_ros.identification.regression import Estimate
    from hodyn_ros.robot import Robot

TERMS = ('friction', 'payload', 'offsets')


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'identify', help='fit friction, payload and torque offsets to recordings',
        description='Least squares with confidence intervals, checked on held-out motion; writes '
        'a robot file with friction and payload. Of a damaged bag, what can be read is used; the '
        'exit code is 1 when messages are lost.')
    parser.add_argument('bags', type=Path, nargs='+', metavar='BAG', help='with joint efforts')
    add_robot(parser)
    parser.add_argument(
        '--output', type=Path, default=Path('hodyn_identify'),
        help='folder for the results (default: hodyn_identify)')
    parser.add_argument(
        '--terms', nargs='+', choices=TERMS, default=TERMS,
        help='what to fit (default: all)')
    parser.add_argument('--topic', help='joint state topic, when the bags have several')
    parser.add_argument(
        '--joint-prefix', default='', metavar='PREFIX',
        help='prefix of the joint names of one arm, when the bags have several')
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Identify the robot from the bags."""
    from hodyn_ros.robot.files import load_robot

    check_outputs(
        options, *options.bags, options.robot, contents=_contents(load_robot(options.robot)))
    return run_identify(
        options.bags, options.robot, options.output, terms=options.terms, topic=options.topic,
        prefix=options.joint_prefix, force=options.force)


def run_identify(
    bags: Sequence[Path], robot_source: str, output: Path, *, terms: Sequence[str] = TERMS,
    topic: str | None = None, prefix: str = '', force: bool = False,
) -> int:
    """Identify a robot from bags, write and print what was found; return the exit code.

    It is 1 when messages of a bag are lost.

    Parameters
    ----------
    bags : sequence of Path
        Recordings of joint states with efforts.
    robot_source : str
        Built-in name or path of a robot file.
    output : Path
        Folder for ``ROBOT_identified.yaml`` and ``identification.json``.
    terms : sequence of str
        Some of `TERMS`.
    topic : str or None
        Joint state topic, needed when several are recorded.
    prefix : str
        Prefix of the joint names of one arm among several.
    force : bool
        Whether existing files are replaced.

    Raises
    ------
    HodynError, OSError
        One line that says what is wrong.

    """
    from hodyn_ros.identification.recordings import read_data
    from hodyn_ros.identification.regression import identify
    from hodyn_ros.identification.robot_writer import write_robot
    from hodyn_ros.identification.summary import write_summary
    from hodyn_ros.identification.validation import cross_validate
    from hodyn_ros.robot.files import load_robot

    robot = load_robot(robot_source)
    data, recordings = read_data(bags, robot, topic, prefix)
    console = Console()
    try:
        with console.status('identifying'):
            found = identify(robot, data, terms)
            before, after = cross_validate(robot, data, terms)
    except HodynError as error:
        damages = [f'{bag}: {counts.damage}' for bag, counts in recordings if counts.lost]
        raise HodynError('; '.join([str(error), *damages])) from None
    file = output / _robot_file(robot)
    with replacing(output, _contents(robot), force=force) as folder:
        folder.mkdir()
        write_robot(robot_source, robot, found, folder / file.name)
        write_summary(
            robot, found, before, after, recordings, folder / 'identification.json')
    for bag, counts in recordings:
        for sentence in counts.sentences:
            console.print(f'• {bag}: {sentence}', highlight=False)
        say_what_is_lost(f'identify: {bag}', counts)
    _print(console, robot, found, before, after)
    console.print(f'{file} holds the robot with friction and payload', highlight=False)
    if not np.all(after <= before):
        worse = ', '.join(
            name for name, a, b in zip(robot.joint_names, after, before, strict=True) if a > b)
        console.print(f'On held-out motion the fit is worse for {worse}: record longer and more '
                      'varied motion before using it', style='bold')
    return 1 if any(counts.lost for _, counts in recordings) else 0


def _robot_file(robot: Robot) -> str:
    return f'{robot.name}_identified.yaml'


def _contents(robot: Robot) -> Contents:
    return Contents(frozenset({_robot_file(robot), 'identification.json'}))


def _print(
    console: Console, robot: Robot, found: Estimate, before: np.ndarray, after: np.ndarray,
) -> None:
    title = f'{robot.name}: identified, ± 95 % confidence'
    # Two tables: one would be wider than a terminal.
    if found.friction is not None:
        friction = _table(title, 'A, N m', 'slope, s/rad', 'velocity offset, rad/s')
        for i, name in enumerate(robot.joint_names):
            values = (
                found.friction.amplitude, found.friction.slope, found.friction.velocity_offset)
            friction.add_row(name, *(
                _cell(value[i], width)
                for value, width in zip(values, found.friction_interval[:, i], strict=True)))
        console.print(friction)
    residual = _table(title, 'offset, N m', 'held-out RMS before, N m', 'after, N m')
    for i, name in enumerate(robot.joint_names):
        residual.add_row(
            name, _cell(found.offset[i], found.offset_interval[i]), f'{before[i]:.3f}',
            f'{after[i]:.3f}')
    console.print(residual)
    if found.payload is None:
        console.print('No payload that differs from 0 significantly.')
        return
    width = found.payload_interval
    com = ', '.join(
        f'{1e3 * c:.1f} ± {1e3 * w:.1f}'
        for c, w in zip(found.payload.com, width[1:4], strict=True))
    console.print(
        f'Payload {found.payload.mass:.3f} ± {width[0]:.3f} kg at ({com}) mm in the axes of '
        f'{robot.bodies[-1].name}; ' + (
            f'inertia {np.array2string(found.payload.inertia.diagonal(), precision=4)} kg m², '
            'diagonal' if found.inertia_excited else
            'the motion tells nothing of its inertia: a point'), highlight=False)


def _table(title: str, *headings: str) -> Table:
    table = Table('joint', title=title)
    for heading in headings:
        table.add_column(heading, justify='right', no_wrap=True)
    return table


def _cell(value: float, width: float) -> str:
    return f'{value:.3g} (kept)' if np.isnan(width) else (
        f'{value:.3g} ± {float(f"{width:.2g}"):g}')
