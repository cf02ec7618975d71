"""Spherical joints of a robot: each is three revolute ones about x, y and z through one point.

The body is at C = C_parent · placement · T(p) Rx(q₁) Ry(q₂) Rz(q₃) R₀ T(−p), with the joint's
point p in the body's frame. So the three positions are a chart of SO(3), singular at q₂ = ±90°.
They are 0 at the rotation R₀, which the placement of the last of the three bodies contains. Any
three revolute joints of this form, named NAME_x, NAME_y and NAME_z, are a spherical joint.
"""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.common.errors import HodynError
from hodyn_ros.robot import lie

if TYPE_CHECKING:
    from hodyn_ros.robot.model import Body, Robot


_FORM = 1e-9
"""Tolerance of axes (unit vectors) and points (m) in this form, as files round numbers."""
_NEAR_SINGULAR = 1e-2
"""If dynamics fail or lose digits at |cos q₂| up to this, the chart is named as the cause."""


def spherical_joints(robot: Robot) -> Mapping[str, int]:
    """Return, by name of each spherical joint, the index of the first of its three bodies."""
    found = {}
    for i, body in enumerate(robot.bodies[:-2]):
        name = body.joint.removesuffix('_x')
        if name != body.joint and _has_form(name, i, robot.bodies[i:i + 3]):
            found[name] = i
    return found


def first_body(robot: Robot, joint: str) -> int:
    """Return the index of a spherical joint's first body; HodynError for any other joint."""
    known = spherical_joints(robot)
    if joint not in known:
        names = f'it has {", ".join(known)}' if known else 'it has none'
        raise HodynError(f'robot {robot.name!r} has no spherical joint {joint!r}; {names}')
    return known[joint]


def recentred(robot: Robot, joint: str, rotation: Array) -> tuple[Body, ...]:
    """Return the robot's bodies with the joint's coordinates 0 at this rotation (3, 3)."""
    fault = lie.pose_fault(lie.pose(rotation))
    if fault:
        raise HodynError(f'rotation of joint {joint!r}: {fault}')
    last = first_body(robot, joint) + 2
    body, turn = robot.bodies[last], lie.nearest_rotation(rotation)
    moved = replace(
        body, axis=turn[2].copy(), placement=lie.pose(turn, body.point - turn @ body.point))
    return (*robot.bodies[:last], moved, *robot.bodies[last + 1:])


def singular_chart(robot: Robot, joint: str, positions: Array) -> str | None:
    """Return the fault and what to do if `joint` is a coordinate of a singular chart, or None.

    `positions` (n,) are those of the robot's joints.
    """
    name = joint[:-2]
    if name not in spherical_joints(robot):
        return None
    middle = positions[robot.joint_names.index(f'{name}_y')]
    if abs(np.cos(middle)) > _NEAR_SINGULAR:
        return None
    return (
        f'the coordinates of spherical joint {name!r} of robot {robot.name!r} are singular where '
        f"'{name}_y' is ±90° (here {np.degrees(middle):.4f}°): give its rotation (rotations=…), "
        'or re-centre them (Robot.with_rotation)')


def _has_form(name: str, index: int, bodies: tuple[Body, ...]) -> bool:
    first, second, last = bodies
    turn = last.placement[:3, :3]
    return (
        (second.joint, last.joint) == (f'{name}_y', f'{name}_z')
        and (second.parent, last.parent) == (index, index + 1)
        and all(body.type == 'revolute' and body.mimic is None for body in bodies)
        and not any(body.mass or body.inertia.any() for body in (first, second))
        and all(np.allclose(a, b, rtol=0.0, atol=_FORM) for a, b in (
            (first.axis, (1.0, 0.0, 0.0)), (second.axis, (0.0, 1.0, 0.0)),
            (turn @ last.axis, (0.0, 0.0, 1.0)), (second.placement, np.eye(4)),
            (second.point, first.point), (last.point, first.point),
            (turn @ last.point + last.placement[:3, 3], first.point))))
