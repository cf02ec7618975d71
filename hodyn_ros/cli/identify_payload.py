"""The payload that ``hodyn identify`` prints."""
from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

    from hodyn_ros.identification.estimate import Estimate
    from hodyn_ros.identification.payload import Payload
    from hodyn_ros.robot import Robot


def print_payload(
    console: Console, robot: Robot, found: Estimate, *, is_compared: bool,
) -> None:
    """Print the payload on the last body or its bound, and on which other tips none is fitted.

    `is_compared` is whether there are recordings without the payload.
    """
    if found.payload is None:
        _print_bound(console, robot, found, is_compared=is_compared)
    else:
        _print_found(console, robot, found, found.payload)
    _print_other_tips(console, robot)


def _print_bound(
    console: Console, robot: Robot, found: Estimate, *, is_compared: bool,
) -> None:
    last = robot.bodies[-1]
    is_in_link = bool(found.links) and math.isnan(found.payload_at_most)
    if found.differing_loads:
        console.print(
            f'No payload on {last.name} (the last body) fits all recordings: see above.')
    elif is_in_link:
        console.print(
            f'A payload on {last.name}, the last body, cannot be separated from the link: '
            'with the link as given, these recordings show one, but the fit has changed the '
            f'link ({found.links[-1].mass:.3g} kg instead of {last.mass:.3g} kg). Nothing '
            'bounds the payload: record the arm without it (--unloaded), or leave links out '
            'of the --terms.')
    else:
        bound = (
            'its mass does not differ significantly from 0, and is at most '
            f'{found.payload_at_most:.2g} kg (90 % confidence)'
            if found.payload_at_most else 'the mass that fits best is below 0. So the model '
            'does not explain these recordings, and there may be a payload')
        console.print(f'No payload found on {last.name} (the last body): {bound}' + (
            '.' if is_compared else '; if there is one, a recording without it (--unloaded) '
            'determines it far better.'))
    if 'effort_gain' in found.joints and not (
            is_compared or is_in_link or found.differing_loads):
        console.print(
            '• The gains are those of an arm without a payload: a payload below this bound '
            'could change them by more than their intervals. Recordings with --unloaded '
            'determine both.')
    joint = last.joint if last.mimic is None else last.mimic.joint
    if (last.type == 'prismatic' or any(
            body.parent == last.parent for body in robot.bodies[:-1])) and (
            _carries_no_other_joint(robot, joint)):
        console.print(
            '• A payload is only searched for on the last body: if that is a finger, fix the '
            f'joints of the gripper, for example by --lock {joint}=…')


def _print_found(
    console: Console, robot: Robot, found: Estimate, payload: Payload,
) -> None:
    import numpy as np

    last = robot.bodies[-1]
    width = found.payload_interval
    com = ', '.join(
        f'{1e3 * c:.1f} ± {1e3 * w:.1f}'
        for c, w in zip(payload.com, width[1:4], strict=True))
    console.print(
        f'Payload {payload.mass:.3f} ± {width[0]:.3f} kg at ({com}) mm in the axes of '
        f'{last.name}; ' + (
            f'inertia {np.array2string(payload.inertia.diagonal(), precision=4)} kg m², '
            'diagonal' if found.inertia_excited else
            'the motion does not determine its inertia: taken as a point mass'))
    if not found.com_determined.all():
        unknown = ' and '.join(
            axis for axis, is_known in zip('xyz', found.com_determined, strict=True)
            if not is_known)
        console.print(
            f'• The motion does not determine {unknown} of its centre of mass: values close to 0 '
            'are assumed, which does not change the torques predicted for these recordings.')
    links = float(f'{100 * found.link_level:.1g}')
    console.print(
        f'• The interval allows for links that are off by {links:g}%'
        + ('' if math.isnan(found.gain_level)
           else f' and gains of drives by {found.gain_level:.1%}')
        + ', which the recordings do not rule out.')


def _carries_no_other_joint(robot: Robot, joint: str) -> bool:
    """Whether no other joint is beyond this one and its followers, as is so for a gripper's."""
    moved: set[int] = set()
    for i, body in enumerate(robot.bodies):
        is_own = joint == (body.joint if body.mimic is None else body.mimic.joint)
        if is_own:
            moved.add(i)
        elif body.parent in moved:
            return False
    return True


def _print_other_tips(console: Console, robot: Robot) -> None:
    """Name the tips of a tree on which no payload is fitted, and say how to fit one there."""
    from hodyn_ros.replay.tips import tips

    last = robot.bodies[-1]
    others = ', '.join(body.name for body in tips(robot) if body.name != last.name)
    if others:
        console.print(
            f'• A payload on another tip ({others}) is not fitted: friction, offsets and the '
            f'payload on {last.name} would absorb it. To fit one there, list the bodies '
            'of that arm last in a copy of the robot file (in a URDF, its joints).')
