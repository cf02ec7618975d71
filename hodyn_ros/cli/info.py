"""``hodyn info``."""
from __future__ import annotations

import argparse
from dataclasses import asdict, fields
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hodyn_ros.cli.options import (
    Commands,
    add_force,
    add_json,
    add_used_robot,
    check_outputs,
    write_results,
)
from hodyn_ros.common.errors import HodynError

if TYPE_CHECKING:
    from rich.console import Console

    from hodyn_ros.robot import Robot

_LIMITS = (
    'position', 'velocity', 'acceleration', 'jerk', 'effort', 'effort_rate', 'tracking_error')
_REPORTED = {'position_min', 'position_max', *_LIMITS[:-1]}


def add_parser(commands: Commands[argparse.ArgumentParser]) -> None:
    """Add the command and its options."""
    parser = commands.add_parser(
        'info', help='show joints, limits and masses of a robot',
        description='Prints the joints of a robot with their limits and masses, and what its file '
                    'lacks.')
    parser.add_argument('robot', help='built-in name, or path of a robot file or URDF')
    add_used_robot(parser)
    parser.add_argument(
        '--repair', dest='output', type=Path, metavar='FILE',
        help='write the robot with impossible inertias replaced by the nearest possible ones, as '
        '.yaml; or a URDF as .urdf, in which only these numbers change')
    add_json(parser)
    add_force(parser)
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the properties of the robot; return the exit code."""
    from hodyn_ros.cli.tables import make_console, make_table
    from hodyn_ros.robot.files import load_robot

    console = make_console()
    check_outputs(options, options.robot)
    repaired = _repair(options, console) if options.output else []
    robot = load_robot(options.output or options.robot)
    results = {**_figures(robot), **({'repaired': repaired} if options.output else {})}
    endless = ', '.join(
        body.joint for body, low, high in zip(
            robot.joint_bodies, robot.limits.position_min, robot.limits.position_max, strict=True)
        if body.type != 'revolute' and not math.isfinite(high - low))
    reach = f'without bound, since no range of {endless} is known' if endless else (
        f'at most {results["reach"]:.4g} m')
    console.print(
        f'{robot.name}: {robot.n} joints, {results["mass"]:.4g} kg in motion, reach {reach}'
        f'{" from its floating base" if robot.floating else ""}')
    table = make_table(
        'joint', 'type', 'link mass\nkg', *(
            f'{name.replace("_", " ")}\n{_unit(name, robot)}' for name in _LIMITS),
        left=('type',))
    for name, joint in results['joints'].items():
        table.add_row(
            name, joint['type'], f'{joint["mass"]:.4g}', *(
                _text(joint[quantity]) for quantity in _LIMITS))
    for body in robot.bodies:
        if body.mimic is not None:
            table.add_row(
                body.joint, body.type, f'{body.mass:.4g}', f'= {body.mimic}',
                *('' for _ in _LIMITS[1:]))
    console.print(table)
    for name, law in results['actuators'].items():
        console.print(f'• {name}: {_in_words(law)}')
    for sentence in results['unknown']:
        console.print(f'• {sentence}')
    write_results(results, options.json, force=options.force)
    return 0


def _repair(options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """Write the repaired robot; print and return the changes."""
    from hodyn_ros.cli.tables import make_table
    from hodyn_ros.robot.files.repair import repairs, write_repaired

    if hasattr(options, 'robot_files'):
        raise HodynError(
            '--repair does not work with --lock, --payload and the like: use these with the '
            'repaired file')
    changes = repairs(options.robot)
    write_repaired(options.robot, changes, options.output, force=options.force)
    if not changes:
        console.print(f'{options.output}: nothing to repair; all inertias are possible')
        return []
    table = make_table(
        'link', 'mass\nkg', 'centre of mass\nm', 'principal values, given\nkg m²',
        'proposed\nkg m²', 'changed by', left=())
    for change in changes:
        table.add_row(
            change.link, f'{change.mass:.4g}', ', '.join(f'{x:.4g}' for x in change.com), *(
                ', '.join(f'{value:.4g}' for value in values)
                for values in (change.given_principal, change.proposed_principal)),
            f'{change.change:.2g}')
    console.print(
        f'{options.output}: impossible inertias: {len(changes)}, replaced by the nearest possible '
        'ones (Frobenius norm); measure those that changed much')
    console.print(table)
    return [{
        'link': change.link, 'mass': change.mass, 'com': change.com, 'given': change.given,
        'proposed': change.proposed, 'axes': change.axes, 'changed_by': change.change,
    } for change in changes]


def _unit(quantity: str, robot: Robot) -> str:
    from hodyn_ros.limits.quantities import QUANTITIES

    row = QUANTITIES['position' if quantity == 'tracking_error' else quantity]
    prismatic = {body.type == 'prismatic' for body in robot.joint_bodies}
    return ' or '.join(row.unit_of_prismatic if sort else row.unit for sort in sorted(prismatic))


def _figures(robot: Robot) -> dict[str, Any]:
    from hodyn_ros.robot.files import robot_mapping
    from hodyn_ros.robot.many_turns import turns_on

    keys = robot_mapping(robot)
    limits = keys['limits']
    return {
        'name': robot.name,
        'mass': sum(body.mass for body in robot.bodies),
        'reach': _reach(robot),
        'gravity': robot.gravity,
        'joint_prefixes': robot.joint_prefixes,
        'links': [*(body.name for body in robot.bodies), *robot.frames],
        'joints': {body.joint: {
            'type': 'continuous' if is_endless and body.type == 'revolute' else body.type,
            'link': body.name, 'mass': body.mass,
            **{quantity: limits.get(quantity, [None] * robot.n)[i] for quantity in _LIMITS},
        } for i, (body, is_endless) in enumerate(
            zip(robot.joint_bodies, turns_on(robot).tolist(), strict=True))},
        'coupled_joints': {body.joint: {
            'type': body.type, 'link': body.name, 'mass': body.mass, 'mimic': asdict(body.mimic),
        } for body in robot.bodies if body.mimic is not None},
        'actuators': keys.get('actuators', {}),
        'unknown': _unknown(robot),
    }


def _in_words(keys: dict[str, Any]) -> str:
    return ', '.join(
        f'{key} as the link sees it ({_in_words(value)})' if isinstance(value, dict) else
        value if key == 'law' else f'{key} {value:.4g}' if isinstance(value, float) else
        f'{key} {value}' for key, value in keys.items()
        if key != 'coulomb_velocity' or keys.get('coulomb'))


def _reach(robot: Robot) -> float:
    """Return a bound, m, on the distances of frames and centres of mass from the first joint.

    The bound is infinite if a sliding joint has no range.
    """
    import numpy as np

    ends = robot.coupling.to_bodies(
        np.array([[robot.limits.position_min], [robot.limits.position_max]]))
    strokes = np.abs(ends).max(axis=(0, 1))
    distances: list[float] = []
    for i, body in enumerate(robot.bodies):
        distance = float(np.linalg.norm(body.point))
        if body.parent >= 0:
            distance += distances[body.parent] + float(np.linalg.norm(
                body.placement[:3, :3] @ body.point + body.placement[:3, 3]))
        if body.type in ('prismatic', 'helical'):
            stroke = float(strokes[i - robot.floating])
            distance += stroke * (1.0 if body.type == 'prismatic' else abs(body.pitch))
        distances.append(distance)
    places = [(i, body.com) for i, body in enumerate(robot.bodies)]
    places += [(index, pose[:3, 3]) for index, pose in robot.frames.values() if index >= 0]
    return max(distances[index] + float(np.linalg.norm(place)) for index, place in places)


def _unknown(robot: Robot) -> list[str]:
    """Return what the file lacks, one sentence each."""
    import numpy as np

    from hodyn_ros.feedforward.limit_table import unit
    from hodyn_ros.robot.many_turns import turns_on

    sentences = []
    for field in fields(robot.limits):
        missing = ~np.isfinite(getattr(robot.limits, field.name))
        if field.name.startswith('position'):
            missing &= ~turns_on(robot)
        if field.name not in {*_REPORTED, 'tracking_error'} or not missing.any():
            continue
        joints = [name for name, gap in zip(robot.joint_names, missing, strict=True) if gap]
        whose = 'any joint' if len(joints) == robot.n else ', '.join(joints)
        if field.name in _REPORTED:
            sentences.append(f'no limit of {field.name.replace("_", " ")} is known for {whose}')
        else:
            defaults = dict.fromkeys(
                f'{robot.tracking_tolerance[joint]:g} {unit(robot, joint, "position")}'
                for joint in np.flatnonzero(missing).tolist())
            sentences.append(
                f'no tracking error is given for {whose}: the default is {", ".join(defaults)}')
    if robot.friction is None:
        sentences.append('no friction: hodyn identify finds it from recordings')
    if robot.actuators is None:
        sentences.append('no actuators: the motors of elastic joints are not computed')
    return sentences


def _text(value: Any) -> str:
    if value is None or value == [None, None]:
        return '–'
    if isinstance(value, list):
        return ' … '.join(_text(entry) for entry in value)
    return f'{value:.0f}' if abs(value) >= 1e4 else f'{value:.4g}'
