"""Poses of the links on a base, in the base and in the world."""
from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot import lie

if TYPE_CHECKING:
    from hodyn_ros.robot.model import Robot


def mounted(robot: Robot, base_pose: Array) -> dict[str, Any]:
    """Return the robot's attributes, by name, that change if its base is put at a pose (4, 4)."""
    placements = {body.name: body.placement for body in robot.bodies if body.parent == -1}
    placements |= {name: pose for name, (index, pose) in robot.frames.items() if index == -1}
    in_base = {name: pose_in_base(robot, name, pose) for name, pose in placements.items()}
    in_world = {name: _product(base_pose, pose) for name, pose in in_base.items()}
    return {
        'base_pose': base_pose, 'in_base': tuple(in_base.items()),
        'bodies': tuple(
            replace(body, placement=in_world.get(body.name, body.placement))
            for body in robot.bodies),
        'frames': {
            name: (index, in_world.get(name, pose))
            for name, (index, pose) in robot.frames.items()}}


def pose_in_base(robot: Robot, name: str, placement: Array) -> Array:
    """Return a link's pose in the base, given its placement in the world.

    If the placement was computed from a pose in `robot.in_base`, exactly this pose is returned:
    through an inverse, a robot that is saved and loaded repeatedly would drift.
    """
    known = dict(robot.in_base).get(name)
    if known is not None and np.array_equal(_product(robot.base_pose, known), placement):
        return known
    if np.array_equal(robot.base_pose, np.eye(4)):
        return placement
    return _product(lie.inverse(robot.base_pose), placement)


def _product(one: Array, other: Array) -> Array:
    # Fixes the order in memory, on which the last bit may depend: `pose_in_base` compares bits.
    return np.ascontiguousarray(one) @ np.ascontiguousarray(other)
