"""Opens a recording of a robot."""
from pathlib import Path

import numpy as np

from hodyn_ros.messages.joint_state_bag import JointStateBag
from hodyn_ros.robot import Robot
from hodyn_ros.robot.joint_names import JointNames


def open_recording(
    path: Path, robot: Robot, *, prefix: str = '', topic: str | None = None,
) -> JointStateBag:
    """Return an open bag with joint states in the robot's order of joints and efforts in N m.

    Positions that the driver wraps, for example to ±π, are unwrapped. `path` is the folder of a
    rosbag2, or its lone ``.db3`` or ``.mcap`` file; `prefix` is the prefix of the joint names of
    one arm among several; `topic` is needed if several topics have joint states. HodynError or
    OSError: there is no such bag or topic, or it cannot be read.
    """
    return JointStateBag(
        path, JointNames(robot, prefix=prefix), topic, effort_gain=robot.effort_gain,
        turns=np.array([body.type != 'prismatic' for body in robot.joint_bodies]))
