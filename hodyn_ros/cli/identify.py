"""``hodyn identify``: the typed function behind the command, and what it prints."""
from collections.abc import Sequence
import json
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from hodyn_ros.identification.recordings import read_data
from hodyn_ros.identification.regression import Estimate, identify
from hodyn_ros.identification.robot_writer import write_robot
from hodyn_ros.identification.validation import cross_validate
from hodyn_ros.robot import Robot
from hodyn_ros.robot.files.loader import load_robot

TERMS = ('friction', 'payload', 'offsets')


def run_identify(
    bags: Sequence[Path], robot_source: str, output: Path, *, terms: Sequence[str] = TERMS,
    topic: str | None = None, prefix: str = '',
) -> int:
    """Identify a robot from bags, write and print what was found; return the exit code.

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
    topic, prefix
        As in `run_replay`.

    Raises
    ------
    HodynError, OSError
        One line that says what is wrong.

    """
    robot = load_robot(robot_source)
    data = read_data(bags, robot, topic, prefix)
    console = Console()
    with console.status('identifying'):
        found = identify(robot, data, terms)
        before, after = cross_validate(robot, data, terms)
    output.mkdir(parents=True, exist_ok=True)
    file = output / f'{robot.name}_identified.yaml'
    write_robot(robot_source, robot, found, file)
    _write_json(robot, found, before, after, output / 'identification.json')
    _print(console, robot, found, before, after)
    console.print(f'{file} holds the robot with friction and payload', highlight=False)
    if not np.all(after <= before):
        worse = ', '.join(
            name for name, a, b in zip(robot.joint_names, after, before, strict=True) if a > b)
        console.print(f'On held-out motion the fit is worse for {worse}: record longer and more '
                      'varied motion before using it', style='bold')
    return 0


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


def _write_json(
    robot: Robot, found: Estimate, before: np.ndarray, after: np.ndarray, path: Path,
) -> None:
    friction, payload = found.friction, found.payload
    summary = {
        'robot': robot.name,
        'joints': [{
            'name': name,
            'friction': None if friction is None else {
                key: _entry(getattr(friction, key)[i], found.friction_interval[k, i])
                for k, key in enumerate(('amplitude', 'slope', 'velocity_offset'))},
            'offset': _entry(found.offset[i], found.offset_interval[i]),
            'held_out_rms_before': float(before[i]),
            'held_out_rms_after': float(after[i]),
        } for i, name in enumerate(robot.joint_names)],
        'payload': None if payload is None else {
            'mass': _entry(payload.mass, found.payload_interval[0]),
            'com': [_entry(c, w) for c, w in zip(
                payload.com, found.payload_interval[1:4], strict=True)],
            'inertia': payload.inertia.tolist(),
            'inertia_excited': found.inertia_excited,
        },
    }
    path.write_text(json.dumps(summary, indent=2, allow_nan=False) + '\n', 'utf-8')


def _entry(value: float, width: float) -> dict[str, float | None]:
    return {'value': float(value), 'interval': float(width) if np.isfinite(width) else None}
