"""A robot whose floating base is held still."""
from dataclasses import replace

import numpy as np

from hodyn_ros.common.arrays import Array
from hodyn_ros.robot.model import Body, Robot


def with_base_held(robot: Robot, rotation: Array | None = None) -> Robot:
    """Return a floating robot with its base held still at a rotation (3, 3), default I.

    The result's base has the world's origin and axes: instead of the base, gravity is turned, by
    the inverse rotation. Joints, limits, friction and actuators stay.
    """
    def held(body: Body) -> Body:
        return replace(body, parent=body.parent - 1 if body.parent > 0 else -1)

    turn = np.eye(3) if rotation is None else rotation
    return replace(
        robot, gravity=turn.T @ robot.gravity, base_pose=np.eye(4),
        bodies=tuple(held(body) for body in robot.bodies[1:]),
        frames={
            robot.bodies[0].name: (-1, np.eye(4)),
            **{name: (index - 1, pose) for name, (index, pose) in robot.frames.items()
               if index >= 0}})
