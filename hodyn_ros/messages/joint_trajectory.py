"""Trajectory messages as bytes and as objects of rosbags: no ROS installation is needed."""
from typing import Any

import numpy as np
from rosbags.typesys import Stores, get_typestore

from hodyn_ros.messages import cdr
from hodyn_ros.plans.annotate import Annotated
from hodyn_ros.plans.waypoints import JointWaypoints
from hodyn_ros.robot import HodynError

TYPE = 'trajectory_msgs/msg/JointTrajectory'
MAX_POINTS = 200_000
TYPES = get_typestore(Stores.ROS2_JAZZY)


def from_message(message: Any) -> JointWaypoints:
    """Return the content of a JointTrajectory, an object of rosbags or of rclpy."""
    points = message.points
    return JointWaypoints(
        tuple(message.joint_names),
        [p.time_from_start.sec + 1e-9 * p.time_from_start.nanosec for p in points],
        [p.positions for p in points],
        [p.velocities for p in points],
        [p.accelerations for p in points])


def decode(data: bytes) -> JointWaypoints:
    """Return the content of a serialized JointTrajectory; raise HodynError if it is none."""
    joints, points = cdr.names_and_points(data)
    if joints > cdr.MAX_JOINTS:
        raise HodynError(f'{joints} joints; at most {cdr.MAX_JOINTS} are read')
    if points > MAX_POINTS:
        raise HodynError(f'{points} points; at most {MAX_POINTS} are read')
    definition = TYPES.get_msgdef(TYPE)
    try:
        read = (
            definition.deserialize_cdr_le if cdr.byte_order(data) == '<'
            else definition.deserialize_cdr_be)
        # What rclpy serializes may end in some bytes too many, which `deserialize_cdr` refuses.
        message, _ = read(memoryview(data)[4:], 0, definition.cls, TYPES)
        return from_message(message)
    except Exception as error:  # rosbags raises what its decoder stumbles over
        raise HodynError(f'not a serialized {TYPE}: {error}') from None


def encode(annotated: Annotated, stamp: int = 0) -> bytes:
    """Return an annotated plan as a serialized JointTrajectory that starts at a stamp, ns."""
    types = TYPES.types
    duration = types['builtin_interfaces/msg/Duration']
    point = types['trajectory_msgs/msg/JointTrajectoryPoint']
    points = []
    for time, motion, torque in zip(
        annotated.times.tolist(), annotated.motion, annotated.torque, strict=True,
    ):
        points.append(point(
            *(np.ascontiguousarray(row) for row in (*motion[:3], torque[0])),
            duration(*divmod(round(time * 1e9), 1_000_000_000))))
    header = types['std_msgs/msg/Header'](
        types['builtin_interfaces/msg/Time'](*divmod(stamp, 1_000_000_000)), '')
    return bytes(TYPES.serialize_cdr(types[TYPE](header, list(annotated.names), points), TYPE))
